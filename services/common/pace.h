#pragma once

#include <algorithm>

#include "absl/time/time.h"

namespace muster {

// Limits how often something is done: so often on average, and some of it at once. It keeps the
// time when the next would be due if all were dealt out evenly. `now`: of a SteadyClock. Not
// thread-safe.
class Pace {
 public:
  // Something was done; at the average pace it takes `takes`.
  void Add(absl::Duration takes, absl::Duration now) { due_ = std::max(due_, now) + takes; }
  // How long until more may be done, if what takes `at_once` at the average pace may be done at
  // once; zero: now.
  absl::Duration Wait(absl::Duration now, absl::Duration at_once) const {
    return std::max(absl::ZeroDuration(), due_ - now - at_once);
  }
  // Whether there is nothing to remember: it is as one that was never used.
  bool IsIdle(absl::Duration now) const { return due_ <= now; }

 private:
  absl::Duration due_ = -absl::InfiniteDuration();
};

}  // namespace muster
