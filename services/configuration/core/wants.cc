#include "services/configuration/core/wants.h"

#include "services/configuration/core/version.h"

namespace muster::configuration {
namespace {

std::vector<int64_t> Numbers(const std::string& text) {
  auto version = ParseVersion(text);
  return version ? std::move(version->numbers) : std::vector<int64_t>();
}

}  // namespace

Wants WantsOf(const Spec& spec) {
  const bool named = !spec.image_name.empty();
  Wants wants = {.channel = named ? Channel::kStable : spec.release_train,
                 .image_name = spec.image_name,
                 .kernel = named ? "" : spec.image_kernel,
                 .gpu = spec.gpu,
                 .kubernetes = Numbers(spec.kubernetes)};
  const bool image = named || !wants.kernel.empty() || wants.channel != Channel::kStable;
  if (spec.gpu && !image) wants.gpu_driver = Numbers(spec.gpu_version);
  return wants;
}

bool Follows(const Wants& wants, const Release& release) {
  if (release.channel != wants.channel) return false;
  const auto version = ParseVersion(release.version);
  if (!version) return false;
  switch (release.component) {
    case Component::kGpuDriver:
      return wants.gpu && Fits(*version, wants.gpu_driver);
    case Component::kNcoreImage:
      return wants.image_name.empty();
    case Component::kKubernetes:
      return Fits(*version, wants.kubernetes);
  }
  return false;
}

}  // namespace muster::configuration
