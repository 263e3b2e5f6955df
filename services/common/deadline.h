#pragma once

#include <algorithm>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"

namespace muster {

// The time by which the deadlines of calls are judged: what the wall clock showed when the process
// first asked, moved on by the steady clock. Whoever sets the clock neither ends such calls early
// nor makes them wait.
inline absl::Time NowForDeadlines() {
  static const absl::Time origin = absl::Now() - TheSteadyClock()->Now();
  return origin + TheSteadyClock()->Now();
}

// The end of a wait, by a clock that never jumps.
//
//   Deadline deadline(most);
//   while (!done_ && deadline.WaitFor(wakes_, mutex_)) {
//   }
class Deadline {
 public:
  explicit Deadline(absl::Duration most) : end_(TheSteadyClock()->Now() + most) {}

  // Waits for a signal, a spurious wake-up, or the end. False: the time is over, and nothing was
  // waited for.
  bool WaitFor(CondVar& wakes, Mutex& mutex) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const absl::Duration left = end_ - TheSteadyClock()->Now();
    if (left <= absl::ZeroDuration()) return false;
    // No clock of the system's can count to infinity.
    wakes.WaitFor(mutex, std::min(left, absl::Hours(1)));
    return true;
  }

 private:
  const absl::Duration end_;
};

}  // namespace muster
