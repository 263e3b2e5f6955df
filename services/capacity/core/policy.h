#pragma once

#include "absl/time/time.h"
#include "services/capacity/core/limits.h"
#include "services/common/released_pool.h"

namespace muster::capacity {

// What an operator may set.
struct Policy {
  absl::Duration released_keep = kReleasedKeep;  // how long the uid of a released pool is refused
  // How long a waiting gang keeps what is free from default claims behind it; 0: never.
  absl::Duration gang_keep = kGangKeep;
  // From the decision to reclaim a spot machine to its drain: until then it can be taken back. At
  // least kMinSpotNotice.
  absl::Duration preemption_notice = kSpotNotice;

  // Gangs that asked then or before keep nothing from default claims.
  absl::Time KeepsAfter(absl::Time now) const {
    return gang_keep > absl::ZeroDuration() ? now - gang_keep : absl::InfiniteFuture();
  }
};

}  // namespace muster::capacity
