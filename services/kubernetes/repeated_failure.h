#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "services/common/mutex.h"

namespace muster::kubernetes {

// Which failures of one thing that is tried again and again, or of many that fail at once, are
// told: the first, then one a minute. Thread-safe.
class RepeatedFailure {
 public:
  static constexpr absl::Duration kTellAgain = absl::Minutes(1);

  // It has failed, at `now` of a steady clock. nullopt: it is not to be told. Else how many
  // failures were not told since the last one that was.
  std::optional<int64_t> Tell(absl::Duration now) {
    MutexLock lock(mutex_);
    if (now - told_ < kTellAgain) {
      ++untold_;
      return std::nullopt;
    }
    told_ = now;
    return std::exchange(untold_, 0);
  }

 private:
  Mutex mutex_;
  absl::Duration told_ MUSTER_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  int64_t untold_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster::kubernetes
