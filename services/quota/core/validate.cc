#include "services/quota/core/validate.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "services/quota/core/limits.h"

namespace muster::quota {
namespace {

using Faults = std::vector<error::FieldViolation>;

void CheckNodes(int64_t nodes, absl::string_view field, Faults& faults) {
  if (nodes >= 0 && nodes <= kMaxNodes) return;
  faults.push_back(
      {std::string(field), absl::StrCat("is ", nodes, "; allowed are 0 to ", kMaxNodes, ".")});
}

// Texts for people. Postgres keeps no NUL, and nobody wants to read the other control characters.
void CheckText(const std::string& text, size_t most, absl::string_view field, Faults& faults) {
  if (text.size() > most) {
    faults.push_back(
        {std::string(field), absl::StrCat("has ", text.size(), " bytes; at most ", most, ".")});
  }
  if (std::any_of(text.begin(), text.end(), absl::ascii_iscntrl))
    faults.push_back({std::string(field), "must have no control characters."});
}

void CheckOverrides(const std::vector<LimitOverride>& overrides, absl::string_view prefix,
                    Faults& faults) {
  if (overrides.size() > kMaxOverrides) {
    faults.push_back(
        {absl::StrCat(prefix, "overrides"),
         absl::StrCat("has ", overrides.size(), " entries; at most ", kMaxOverrides, ".")});
    return;
  }
  for (size_t i = 0; i < overrides.size(); ++i) {
    const LimitOverride& override = overrides[i];
    const std::string path = absl::StrCat(prefix, "overrides[", i, "].");
    CheckNodes(override.limit, path + "limit", faults);
    CheckText(override.reason, kMaxReasonBytes, path + "reason", faults);
    if (override.expire_time <= override.effective_time)
      faults.push_back({path + "expire_time", "must be after `effective_time`."});
    if (i > 0 && override.effective_time < overrides[i - 1].expire_time) {
      faults.push_back({path + "effective_time",
                        "must not be before the `expire_time` of the override before it: they are "
                        "in order of time and do not overlap."});
    }
  }
}

}  // namespace

Faults Validate(const CreateQuota& command, absl::string_view prefix) {
  Faults faults;
  CheckNodes(command.limit, absl::StrCat(prefix, "limit"), faults);
  CheckOverrides(command.overrides, prefix, faults);
  return faults;
}

Faults Validate(const UpdateQuota& command, absl::string_view prefix) {
  Faults faults;
  if (command.limit) CheckNodes(*command.limit, absl::StrCat(prefix, "limit"), faults);
  if (command.overrides) CheckOverrides(*command.overrides, prefix, faults);
  return faults;
}

Faults Validate(const SyncHolding& command, absl::string_view prefix) {
  Faults faults;
  CheckNodes(command.nodes, absl::StrCat(prefix, "nodes"), faults);
  if (command.generation < 1) {
    faults.push_back({absl::StrCat(prefix, "generation"),
                      absl::StrCat("is ", command.generation, "; at least 1.")});
  }
  CheckText(command.pool, kMaxPoolNameBytes, absl::StrCat(prefix, "pool"), faults);
  if (command.release && command.nodes != 0) {
    faults.push_back({absl::StrCat(prefix, "nodes"), "must be 0 with `release`."});
  }
  return faults;
}

}  // namespace muster::quota
