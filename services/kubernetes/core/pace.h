#pragma once

#include "absl/time/time.h"

namespace muster::kubernetes {

// So many a minute, and after a rest as many at once as ten seconds of that; one at least. `now`: of
// a SteadyClock.
class Pace {
 public:
  explicit Pace(int a_minute);

  // Of one more that is asked for now: how long it has to wait. It counts from now on.
  absl::Duration Take(absl::Duration now);

 private:
  const double a_second_;
  const double at_once_;
  double left_;  // below 0: so many wait
  absl::Duration time_ = -absl::InfiniteDuration();
};

}  // namespace muster::kubernetes
