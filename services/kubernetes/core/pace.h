#pragma once

#include "absl/time/time.h"

namespace muster::kubernetes {

// So many a minute, and after a rest as many at once as ten seconds of that; one at least.
class Pace {
 public:
  explicit Pace(int a_minute);

  // Of one more that is asked for now: how long it has to wait. It counts from now on.
  absl::Duration Take(absl::Time now);

 private:
  const double a_second_;
  const double at_once_;
  double left_;  // below 0: so many wait
  absl::Time time_ = absl::InfinitePast();
};

}  // namespace muster::kubernetes
