#pragma once

#include <algorithm>

#include "absl/time/time.h"
#include "services/common/pace.h"

namespace muster::kubernetes {

// Limits to so many a minute how many events are written; after a rest as many as in ten seconds
// may go at once, at least one. Not thread-safe. `now`: of a SteadyClock.
class EventPace {
 public:
  explicit EventPace(int a_minute)
      : takes_(absl::Minutes(1) / a_minute), at_once_(std::max(takes_, absl::Seconds(10))) {}

  // How long one more that is asked for now has to wait. It counts from now on.
  absl::Duration Take(absl::Duration now) {
    pace_.Add(takes_, now);
    return pace_.Wait(now, at_once_);
  }

 private:
  const absl::Duration takes_;
  const absl::Duration at_once_;
  Pace pace_;
};

}  // namespace muster::kubernetes
