#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/pace.h"
#include "services/common/steady_clock.h"

namespace muster {

// Limits how fast one account changes things: so many changes a minute on average, and as many at
// once. How many a request makes is known only when it is done, so one may exceed the limit: then
// the account waits until that is made up for. Thread-safe.
class ChangePace {
 public:
  // `per_minute` > 0. `clock` must outlive it.
  explicit ChangePace(double per_minute, const SteadyClock* clock = TheSteadyClock())
      : apart_(absl::Minutes(1) / per_minute), clock_(*clock) {}

  void Add(int64_t changes) {
    MutexLock lock(mutex_);
    pace_.Add(apart_ * changes, clock_.Now());
  }
  // How long until the account may go on; zero: it may now.
  absl::Duration Wait() const {
    MutexLock lock(mutex_);
    return pace_.Wait(clock_.Now(), kAtOnce);
  }
  // Whether there is nothing to remember: it is as one that was never used.
  bool IsIdle() const {
    MutexLock lock(mutex_);
    return pace_.IsIdle(clock_.Now());
  }

  // As how many a change counts that takes so many bytes in the journal: one for each kBytesAChange
  // of them that are begun, at least one.
  static constexpr size_t kBytesAChange = 4'096;
  static int64_t ChangesOf(size_t bytes) {
    return std::max<int64_t>(1, static_cast<int64_t>((bytes + kBytesAChange - 1) / kBytesAChange));
  }

  // How many changes may be made at once, as the time in which the average pace makes them.
  static constexpr absl::Duration kAtOnce = absl::Minutes(1);

 private:
  const absl::Duration apart_;
  const SteadyClock& clock_;
  mutable Mutex mutex_;
  Pace pace_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
