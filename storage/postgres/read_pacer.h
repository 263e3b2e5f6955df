#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace muster::storage {

// When readers ask for the journal's head again. A question for each of many readers would cost
// more than their answers, so while several share one, the next comes no sooner than kGap after it;
// a lone reader never waits. Not thread-safe.
class ReadPacer {
 public:
  // A question goes out for so many readers.
  void Asking(size_t readers) { next_ = readers > 1 ? Clock::now() + kGap : Clock::time_point(); }
  // How long to wait before the readers of the next question are gathered.
  std::chrono::nanoseconds Pause() const {
    return std::max<std::chrono::nanoseconds>(next_ - Clock::now(), std::chrono::nanoseconds(0));
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kGap{500};

  Clock::time_point next_ = {};
};

}  // namespace muster::storage
