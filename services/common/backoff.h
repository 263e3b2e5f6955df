#pragma once

#include <algorithm>

#include "absl/random/random.h"
#include "absl/time/time.h"

namespace muster {

// How long to wait after so many failures in a row: `first`, doubled by each, at most `last`.
inline absl::Duration PauseAfter(int failures, absl::Duration first, absl::Duration last) {
  constexpr int kMostDoublings = 20;
  const int doublings = std::clamp(failures - 1, 0, kMostDoublings);
  return std::min(first * static_cast<double>(1 << doublings), last);
}

// `pause` less up to half of it, so that those who failed together do not come back together. Never
// less than `at_least`; where that is more, it plus up to half of it.
template <class Random>
absl::Duration Jittered(absl::Duration pause, Random& random,
                        absl::Duration at_least = absl::ZeroDuration()) {
  const double share = absl::Uniform(random, 0.5, 1.0);
  return std::max(pause * share, at_least * (share + 0.5));
}

// The pauses between attempts at one thing: they grow and are jittered. Not thread-safe.
class Backoff {
 public:
  Backoff(absl::Duration first, absl::Duration last) : first_(first), last_(last) {}

  // The pause after another failure; never less than `at_least`.
  absl::Duration Next(absl::Duration at_least = absl::ZeroDuration()) {
    return Jittered(PauseAfter(++failures_, first_, last_), random_, at_least);
  }
  // The next pause before it is jittered.
  absl::Duration longest_next() const { return PauseAfter(failures_ + 1, first_, last_); }
  // It succeeded.
  void Reset() { failures_ = 0; }

 private:
  const absl::Duration first_;
  const absl::Duration last_;
  int failures_ = 0;
  absl::BitGen random_;
};

}  // namespace muster
