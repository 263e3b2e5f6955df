#pragma once

#include <optional>

#include "absl/time/time.h"
#include "services/capacity/core/rows.h"

namespace muster::capacity {

// How long the Node was waited for to which this change of a machine's row granted the machine;
// nullopt: the change grants nothing.
inline std::optional<absl::Duration> WaitOf(const MachineRow& before, const MachineRow& after) {
  if (after.claim.empty() || after.claim == before.claim || !after.request_time.has_value())
    return std::nullopt;
  return after.state_time - *after.request_time;
}

}  // namespace muster::capacity
