#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/pace.h"
#include "services/common/steady_clock.h"

namespace muster::rpc {

// Bounds how many lines are logged, whatever comes and on however many threads: so many a second on
// average, and as many at once. Those that are left out are counted. Thread-safe.
class LinePace {
 public:
  // `per_second` > 0. `clock` must outlive it.
  explicit LinePace(int per_second, const SteadyClock* clock = TheSteadyClock())
      : apart_(absl::Seconds(1) / per_second), clock_(*clock) {}

  // The number of lines that were left out since the last one; nullopt: this one is left out, too.
  std::optional<int64_t> Admit() {
    const absl::Duration now = clock_.Now();
    MutexLock lock(mutex_);
    if (pace_.Wait(now, absl::Seconds(1) - apart_) > absl::ZeroDuration()) {
      ++left_out_;
      return std::nullopt;
    }
    pace_.Add(apart_, now);
    return std::exchange(left_out_, 0);
  }

 private:
  const absl::Duration apart_;
  const SteadyClock& clock_;
  Mutex mutex_;
  Pace pace_ MUSTER_GUARDED_BY(mutex_);
  int64_t left_out_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster::rpc
