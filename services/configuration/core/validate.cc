#include "services/configuration/core/validate.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/common/resource_name.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/version.h"

namespace muster::configuration {
namespace {

bool IsImageText(absl::string_view text) {
  return text.size() <= kMaxImageBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isprint(static_cast<unsigned char>(c));
         });
}

bool IsBareMajor(absl::string_view text) {
  const auto version = ParseVersion(text);
  return version && version->numbers.size() == 1;
}

}  // namespace

std::vector<error::FieldViolation> Validate(const SyncPool& request, absl::string_view prefix) {
  std::vector<error::FieldViolation> faults;
  const auto require = [&](bool holds, absl::string_view field, std::string description) {
    if (!holds) faults.push_back({absl::StrCat(prefix, field), std::move(description)});
  };
  require(IsPoolUid(request.pool_uid), "pool_uid",
          "must be 1 to 64 of lower-case letters, digits and \"-\".");
  require(request.generation >= 1, "generation", "must be at least 1.");
  if (request.release) return faults;

  const Spec& spec = request.spec;
  const std::string image =
      absl::StrCat("must be at most ", kMaxImageBytes, " bytes of printable ASCII.");
  require(IsImageText(spec.image_name), "spec.image_name", image);
  require(IsImageText(spec.image_kernel), "spec.image_kernel", image);
  require(spec.gpu_version.empty() || IsBareMajor(spec.gpu_version), "spec.gpu_version",
          "must be empty or a bare major number such as \"570\".");
  require(spec.kubernetes.empty() || ParseVersion(spec.kubernetes), "spec.kubernetes",
          "must be empty or a version such as \"1.33\".");
  return faults;
}

}  // namespace muster::configuration
