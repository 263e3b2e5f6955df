#pragma once

#include "absl/strings/string_view.h"
#include "services/capacity/core/commands.h"
#include "services/capacity/core/finder.h"
#include "services/common/faults.h"

// What is wrong with a command in whatever state. Each function adds to `faults`, with the field's
// path as the caller wrote it; `path` is that of the message, e.g. `claims[3]`. Names and enums
// that do not parse are the wire's to tell.
namespace muster::capacity {

using Faults = muster::error::Faults;

void Validate(const ZoneRow& zone, absl::string_view path, Faults& faults);
void Validate(const InstanceTypeRow& type, absl::string_view path, Faults& faults);
void Validate(const MachineRow& machine, absl::string_view path, Faults& faults);
void Validate(const SetMachineState& command, Faults& faults);
void Validate(const SyncClaim& claim, absl::string_view path, Faults& faults);
void Validate(const PlacementQuery& query, Faults& faults);

}  // namespace muster::capacity
