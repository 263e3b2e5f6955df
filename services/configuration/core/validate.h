#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/common/error.h"
#include "services/configuration/core/commands.h"

namespace muster::configuration {

// What is wrong with a request in any state: one violation a fault, the field's path after `prefix`
// (such as `configuration.` or `configurations[3].`). Empty: nothing. Reads only what stands in the
// request.
std::vector<error::FieldViolation> Validate(const SyncPool& request, absl::string_view prefix);

// What is wrong with what an order asks for. Empty: nothing.
std::vector<error::FieldViolation> ValidateRequested(OrderKind kind, absl::string_view requested);

}  // namespace muster::configuration
