#pragma once

#include "absl/strings/string_view.h"
#include "services/common/faults.h"
#include "services/quota/core/decide.h"

// What is wrong with a command in any state is added to `faults`, with the field's path as the
// caller wrote it; `path` is that of the message, e.g. `holdings[3]`.
namespace muster::quota {

void Validate(const CreateQuota& command, absl::string_view path, error::Faults& faults);
void Validate(const UpdateQuota& command, absl::string_view path, error::Faults& faults);
void Validate(const SyncHolding& command, absl::string_view path, error::Faults& faults);

}  // namespace muster::quota
