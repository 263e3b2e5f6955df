#include "services/quota/core/validate.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/common/generation.h"
#include "services/quota/core/limits.h"

namespace muster::quota {
namespace {

using error::Below;
using error::Faults;

void CheckNodes(int64_t nodes, absl::string_view field, Faults& faults) {
  faults.Require(nodes >= 0 && nodes <= kMaxNodes, field,
                 absl::StrCat("is ", nodes, "; allowed are 0 to ", kMaxNodes, "."));
}

// Texts for people. Postgres keeps no NUL, and nobody wants to read the other control characters.
void CheckText(const std::string& text, size_t most, absl::string_view field, Faults& faults) {
  faults.Require(text.size() <= most, field,
                 absl::StrCat("has ", text.size(), " bytes; at most ", most, "."));
  faults.Require(std::none_of(text.begin(), text.end(), absl::ascii_iscntrl), field,
                 "must have no control characters.");
}

void CheckOverrides(const std::vector<LimitOverride>& overrides, absl::string_view path,
                    Faults& faults) {
  if (overrides.size() > kMaxOverrides) {
    return faults.Add(
        Below(path, "overrides"),
        absl::StrCat("has ", overrides.size(), " entries; at most ", kMaxOverrides, "."));
  }
  for (size_t i = 0; i < overrides.size(); ++i) {
    const LimitOverride& override = overrides[i];
    const std::string at = error::At(Below(path, "overrides"), i);
    CheckNodes(override.limit, Below(at, "limit"), faults);
    CheckText(override.reason, kMaxReasonBytes, Below(at, "reason"), faults);
    faults.Require(override.expire_time > override.effective_time, Below(at, "expire_time"),
                   "must be after `effective_time`.");
    faults.Require(i == 0 || override.effective_time >= overrides[i - 1].expire_time,
                   Below(at, "effective_time"),
                   "must not be before the `expire_time` of the override before it: they are in "
                   "order of time and do not overlap.");
  }
}

}  // namespace

void Validate(const CreateQuota& command, absl::string_view path, Faults& faults) {
  CheckNodes(command.limit, Below(path, "limit"), faults);
  CheckOverrides(command.overrides, path, faults);
}

void Validate(const UpdateQuota& command, absl::string_view path, Faults& faults) {
  CheckNodes(command.limit.value_or(command.first_limit), Below(path, "limit"), faults);
  CheckOverrides(command.overrides ? *command.overrides : command.first_overrides, path, faults);
}

void Validate(const SyncHolding& command, absl::string_view path, Faults& faults) {
  CheckNodes(command.nodes, Below(path, "nodes"), faults);
  faults.Require(IsGeneration(command.generation), Below(path, "generation"), kGenerationShape);
  CheckText(command.pool, kMaxPoolNameBytes, Below(path, "pool"), faults);
  faults.Require(!command.release || command.nodes == 0, Below(path, "nodes"),
                 "must be 0 with `release`.");
}

}  // namespace muster::quota
