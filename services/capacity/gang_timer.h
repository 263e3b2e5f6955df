#pragma once

#include "services/capacity/core/policy.h"
#include "services/capacity/store/lane.h"
#include "services/rpc/due_timer.h"

namespace muster::capacity {

// Submits EndKeeps when a gang has waited for the policy's gang_keep, so that those behind it are
// served.
class GangTimer final : public rpc::DueTimer<Lane, State> {
 public:
  // See DueTimer.
  GangTimer(Lane* lane, const Policy& policy);
};

}  // namespace muster::capacity
