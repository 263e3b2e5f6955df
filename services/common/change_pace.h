#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/pace.h"
#include "services/common/steady_clock.h"

namespace muster {

// How fast somebody changes things: so many a minute on average, and as many at once. How many one request changes is known only when
// it is done, so that it may go beyond: then he waits until that is made up for. Thread-safe.
class ChangePace {
 public:
  // `per_minute` > 0. `clock` must outlive it.
  explicit ChangePace(double per_minute, const SteadyClock* clock = TheSteadyClock())
      : apart_(absl::Minutes(1) / per_minute), clock_(*clock) {}

  void Add(int64_t changes) {
    MutexLock lock(mutex_);
    pace_.Add(apart_ * changes, clock_.Now());
  }
  // Until he may go on; zero: he may now.
  absl::Duration Wait() const {
    MutexLock lock(mutex_);
    return pace_.Wait(clock_.Now(), kAtOnce);
  }
  // Nothing is left to be remembered.
  bool IsIdle() const {
    MutexLock lock(mutex_);
    return pace_.IsIdle(clock_.Now());
  }

  // What may be changed at once, in time of its pace.
  static constexpr absl::Duration kAtOnce = absl::Minutes(1);

 private:
  const absl::Duration apart_;
  const SteadyClock& clock_;
  mutable Mutex mutex_;
  Pace pace_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
