#include "services/configuration/core/validate.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/common/generation.h"
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

using error::Below;
using error::Faults;

void ValidateFailures(const BootFailures& failures, const std::string& path, Faults& faults) {
  faults.Require(IsProfileId(failures.node_profile), Below(path, "node_profile"), kProfileIdShape);
  faults.Require(failures.enable_count >= 0, Below(path, "enable_count"), "must be at least 0.");
  if (failures.machines.size() > kMaxFailedMachines) {
    return faults.Add(Below(path, "machines"),
                      absl::StrCat("has ", failures.machines.size(),
                                   " entries; allowed are at most ", kMaxFailedMachines, "."));
  }
  std::set<absl::string_view> seen;
  for (size_t i = 0; i < failures.machines.size(); ++i) {
    const std::string field = error::At(Below(path, "machines"), i);
    if (!IsDnsLabel(failures.machines[i])) {
      faults.Add(field,
                 "must be 1 to 63 of lower-case letters, digits and \"-\", first and last no "
                 "\"-\".");
    } else if (!seen.insert(failures.machines[i]).second) {
      faults.Add(field, "stands in the list twice.");
    }
  }
}

}  // namespace

void Validate(const SyncPool& request, absl::string_view path, Faults& faults) {
  const auto require = [&](bool holds, absl::string_view field, absl::string_view description) {
    faults.Require(holds, Below(path, field), description);
  };
  require(IsPoolUid(request.pool_uid), "pool_uid",
          "must be 1 to 64 of lower-case letters, digits and \"-\".");
  require(IsGeneration(request.generation), "generation", kGenerationShape);
  if (request.release) return;

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
  require(request.running_profiles.size() <= kMostRevisions, "running_profiles",
          absl::StrCat("must be at most ", kMostRevisions, "."));
  for (size_t i = 0; i < std::min(request.running_profiles.size(), kMostRevisions); ++i) {
    require(IsProfileId(request.running_profiles[i]), absl::StrCat("running_profiles[", i, "]"),
            kProfileIdShape);
  }
  require(request.orders_told >= 0, "orders_told", "must be at least 0.");
  require(request.pool.size() <= kMaxPoolNameBytes, "pool",
          absl::StrCat("must be at most ", kMaxPoolNameBytes, " bytes."));
  require(std::none_of(request.pool.begin(), request.pool.end(),
                       [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); }),
          "pool", "must have no control characters.");
  if (request.boot_failures) {
    ValidateFailures(*request.boot_failures, Below(path, "boot_failures"), faults);
  }
}

void Validate(const OrderPool& order, Faults& faults) {
  const absl::string_view word = order.kind == OrderKind::kPromote ? kPendingWord : kPreviousWord;
  faults.Require(order.requested == word || IsProfileId(order.requested), "node_profile",
                 absl::StrCat("must be empty, `", word, "` or `np-{12 hex}`."));
  faults.Require(
      order.rollback.empty() || order.rollback == kPreviousWord || IsProfileId(order.rollback),
      "rollback", absl::StrCat("must be empty, `", kPreviousWord, "` or `np-{12 hex}`."));
}

void Validate(const EnableRevision& request, Faults& faults) {
  faults.Require(IsProfileId(request.node_profile), "node_profile", kProfileIdShape);
}

}  // namespace muster::configuration
