#pragma once

#include <algorithm>

#include "absl/time/time.h"

namespace muster {

// How fast something is done that may be done so often on average, and some of it at once. As if it
// were dealt out evenly: when the next is due. `now`: of a SteadyClock. Not thread-safe.
class Pace {
 public:
  // Something was done that is dealt out in so much time.
  void Add(absl::Duration takes, absl::Duration now) { due_ = std::max(due_, now) + takes; }
  // Until more may be done, where what is dealt out in `at_once` may be done at once; zero: now.
  absl::Duration Wait(absl::Duration now, absl::Duration at_once) const {
    return std::max(absl::ZeroDuration(), due_ - now - at_once);
  }
  // Nothing is left to be remembered.
  bool IsIdle(absl::Duration now) const { return due_ <= now; }

 private:
  absl::Duration due_ = -absl::InfiniteDuration();
};

}  // namespace muster
