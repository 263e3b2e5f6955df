#include "services/configuration/core/profile.h"

#include "absl/strings/str_cat.h"
#include "services/common/sha256.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/names.h"
#include "services/configuration/core/version.h"

namespace muster::configuration {
namespace {

// The length keeps one value from running into the next.
std::string Field(absl::string_view name, absl::string_view value) {
  return absl::StrCat(name, ":", value.size(), ":", value, "\n");
}

// `unset`: what an empty value stands for, once there was another.
void AddFact(std::vector<std::string>& facts, absl::string_view label, absl::string_view before,
             absl::string_view after, absl::string_view unset) {
  if (before.empty() && after.empty()) return;
  if (after.empty()) {
    facts.push_back(absl::StrCat(label, " ", before, " → ", unset));
  } else if (before.empty() || before == after) {
    facts.push_back(absl::StrCat(label, " ", after));
  } else {
    facts.push_back(absl::StrCat(label, " ", before, " → ", after));
  }
}

// A version is that of the ncore image; anything else is the name of some other.
bool IsNcore(const NodeProfile& profile) {
  return profile.image.empty() || ParseVersion(profile.image).has_value();
}

}  // namespace

std::string ProfileId(const NodeProfile& profile) {
  const std::string content = absl::StrCat(
      Field("image", profile.image), Field("kernel", profile.kernel),
      Field("release_train", Print(profile.release_train)), Field("gpu_driver", profile.gpu_driver),
      Field("kubernetes", profile.kubernetes));
  return absl::StrCat("np-", Sha256Hex(content).substr(0, kProfileIdDigits));
}

std::vector<std::string> Summary(const NodeProfile* before, const NodeProfile& after) {
  const NodeProfile none;
  const NodeProfile& old = before == nullptr ? none : *before;
  std::vector<std::string> facts;
  const bool ncore = IsNcore(old) && IsNcore(after);
  AddFact(facts, ncore ? "ncore image" : "image", old.image, after.image, "none");
  AddFact(facts, "kernel", old.kernel, after.kernel, "the image's own");
  if (old.release_train != after.release_train || after.release_train != Channel::kStable) {
    AddFact(facts, "release train", before == nullptr ? "" : Print(old.release_train),
            Print(after.release_train), "");
  }
  AddFact(facts, "GPU driver", old.gpu_driver, after.gpu_driver, "none");
  AddFact(facts, "Kubernetes", old.kubernetes, after.kubernetes, "none");
  return facts;
}

}  // namespace muster::configuration
