#pragma once

#include "absl/strings/string_view.h"
#include "services/common/faults.h"
#include "services/configuration/core/commands.h"

namespace muster::configuration {

// What is wrong with a request in any state is added to `faults`, with the field's path as the
// caller wrote it; `path` is that of the message, e.g. `configurations[3]`. Reads only what stands
// in the request.
void Validate(const SyncPool& request, absl::string_view path, error::Faults& faults);

// The same of what an order or an EnableRevision asks for; their fields stand at the top.
void Validate(const OrderPool& order, error::Faults& faults);
void Validate(const EnableRevision& request, error::Faults& faults);

}  // namespace muster::configuration
