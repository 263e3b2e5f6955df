#pragma once

#include "absl/time/time.h"

namespace muster::kubernetes {

// Limits a rate to so many a minute; after a rest as many as in ten seconds may go at once, at least
// one. `now`: of a SteadyClock.
class Pace {
 public:
  explicit Pace(int a_minute);

  // How long one more that is asked for now has to wait. It counts from now on.
  absl::Duration Take(absl::Duration now);

 private:
  const double a_second_;
  const double at_once_;
  double left_;  // below 0: so many wait
  absl::Duration time_ = -absl::InfiniteDuration();
};

}  // namespace muster::kubernetes
