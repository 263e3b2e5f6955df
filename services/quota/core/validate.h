#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "services/common/error.h"
#include "services/quota/core/decide.h"

// What is wrong with a command in any state. Every fault at once; fields are named as the caller
// wrote them, after `prefix` (e.g. `holdings[3].`).
namespace muster::quota {

std::vector<error::FieldViolation> Validate(const CreateQuota& command, absl::string_view prefix);
std::vector<error::FieldViolation> Validate(const UpdateQuota& command, absl::string_view prefix);
std::vector<error::FieldViolation> Validate(const SyncHolding& command, absl::string_view prefix);

}  // namespace muster::quota
