#pragma once

#include "services/quota/store/lane.h"
#include "services/rpc/due_timer.h"

namespace muster::quota {

// Lets overrides come into force and lapse: submits ApplyOverrides when the next one does.
class OverrideTimer final : public rpc::DueTimer<Lane, State> {
 public:
  // See DueTimer.
  explicit OverrideTimer(Lane* lane);
};

}  // namespace muster::quota
