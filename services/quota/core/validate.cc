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

}  // namespace

Faults Validate(const CreateQuota& command, absl::string_view prefix) {
  Faults faults;
  CheckNodes(command.limit, absl::StrCat(prefix, "limit"), faults);
  return faults;
}

Faults Validate(const UpdateQuota& command, absl::string_view prefix) {
  Faults faults;
  if (command.limit) CheckNodes(*command.limit, absl::StrCat(prefix, "limit"), faults);
  return faults;
}

Faults Validate(const SyncHolding& command, absl::string_view prefix) {
  Faults faults;
  CheckNodes(command.nodes, absl::StrCat(prefix, "nodes"), faults);
  if (command.generation < 1) {
    faults.push_back({absl::StrCat(prefix, "generation"),
                      absl::StrCat("is ", command.generation, "; at least 1.")});
  }
  if (command.pool.size() > kMaxPoolNameBytes) {
    faults.push_back(
        {absl::StrCat(prefix, "pool"),
         absl::StrCat("has ", command.pool.size(), " bytes; at most ", kMaxPoolNameBytes, ".")});
  }
  // Postgres keeps no NUL, and nobody wants to read the others.
  if (std::any_of(command.pool.begin(), command.pool.end(), absl::ascii_iscntrl)) {
    faults.push_back({absl::StrCat(prefix, "pool"), "must have no control characters."});
  }
  if (command.release && command.nodes != 0) {
    faults.push_back({absl::StrCat(prefix, "nodes"), "must be 0 with `release`."});
  }
  return faults;
}

}  // namespace muster::quota
