#pragma once

#include "absl/time/time.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/rows.h"

namespace muster::capacity {

// Whether this change of a machine's row granted the machine to a claim.
inline bool IsGrant(const MachineRow& before, const MachineRow& after) {
  return !after.claim.empty() && after.claim != before.claim && after.request_time.has_value();
}

// How long the Node was waited for that got the machine by a grant. `claim`: who has it now, as it
// was before it got it.
inline absl::Duration WaitOf(const MachineRow& granted, const ClaimRow& claim) {
  return granted.state_time - WaitedForSince(claim, *granted.request_time);
}

}  // namespace muster::capacity
