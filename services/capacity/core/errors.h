#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "services/capacity/core/rows.h"

// The errors of the capacity domain, beside those of services/common/error.h. All
// FAILED_PRECONDITION; the reason is the function's name in UPPER_SNAKE.
namespace muster::capacity::error {

absl::Status UnknownZone(absl::string_view zone);
absl::Status UnknownInstanceType(absl::string_view instance_type);
// The machine is registered in another zone than `zone`, which the message does not name, as the
// caller may not see it; or as another type.
absl::Status MachineMoved(const MachineRow& machine, absl::string_view zone);
absl::Status MachineHeld(const MachineRow& machine);
absl::Status MachineRetired(const MachineRow& machine);
absl::Status MachineNotRetired(const MachineRow& machine);
// The zone or type cannot be removed while these exist; `zones`: how many offer the type.
absl::Status ZoneInUse(absl::string_view zone, int64_t machines, int64_t claims);
absl::Status InstanceTypeInUse(absl::string_view instance_type, int64_t zones, int64_t machines,
                               int64_t claims);
// Zone, type, class or organization of a claim cannot change.
absl::Status ClaimChanged(const ClaimRow& claim);
absl::Status ClaimHoldsMachines(const ClaimRow& claim, int64_t held);
// The claim's generation was sent again, with other returns or with a release.
absl::Status GenerationReused(const ClaimRow& claim);

}  // namespace muster::capacity::error
