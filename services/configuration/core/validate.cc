#include "services/configuration/core/validate.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/common/resource_name.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/names.h"
#include "services/configuration/core/orders.h"
#include "services/configuration/core/version.h"

namespace muster::configuration {
namespace {

constexpr char kProfileIdShape[] = "must be `np-{12 hex}`.";

bool IsImageText(absl::string_view text) {
  return text.size() <= kMaxImageBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isprint(static_cast<unsigned char>(c));
         });
}

bool IsBareMajor(absl::string_view text) {
  const auto version = ParseVersion(text);
  return version && version->numbers.size() == 1;
}

using Faults = std::vector<error::FieldViolation>;

void ValidateFailures(const BootFailures& failures, const std::string& prefix, Faults& faults) {
  if (!IsProfileId(failures.node_profile)) {
    faults.push_back({prefix + "node_profile", kProfileIdShape});
  }
  if (failures.enable_count < 0) {
    faults.push_back({prefix + "enable_count", "must be at least 0."});
  }
  if (failures.machines.size() > kMaxFailedMachines) {
    faults.push_back({prefix + "machines",
                      absl::StrCat("has ", failures.machines.size(),
                                   " entries; allowed are at most ", kMaxFailedMachines, ".")});
    return;
  }
  std::set<absl::string_view> seen;
  for (size_t i = 0; i < failures.machines.size(); ++i) {
    const std::string field = absl::StrCat(prefix, "machines[", i, "]");
    if (!IsDnsLabel(failures.machines[i])) {
      faults.push_back(
          {field,
           "must be 1 to 63 of lower-case letters, digits and \"-\", first and last no \"-\"."});
    } else if (!seen.insert(failures.machines[i]).second) {
      faults.push_back({field, "stands in the list twice."});
    }
  }
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
  require(request.nodes_in_delivery >= 0 && request.nodes_in_delivery <= kMaxNodes,
          "nodes_in_delivery", absl::StrCat("must be 0 to ", kMaxNodes, "."));
  if (request.boot_failures) {
    ValidateFailures(*request.boot_failures, absl::StrCat(prefix, "boot_failures."), faults);
  }
  return faults;
}

std::vector<error::FieldViolation> ValidateRequested(OrderKind kind, absl::string_view requested) {
  const bool promote = kind == OrderKind::kPromote;
  const absl::string_view word = promote ? kPendingWord : kPreviousWord;
  if (requested == word || IsProfileId(requested)) return {};
  return {{"node_profile", absl::StrCat("must be empty, `", word, "` or `np-{12 hex}`.")}};
}

}  // namespace muster::configuration
