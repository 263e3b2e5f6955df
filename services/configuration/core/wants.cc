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

}  // namespace muster::configuration
