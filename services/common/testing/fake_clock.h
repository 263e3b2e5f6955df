#pragma once

#include "services/common/clock.h"
#include "services/common/mutex.h"

namespace muster {

// A clock that stands still until it is moved. For tests and simulations. Thread-safe.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::FromUnixSeconds(1'750'000'000)) : now_(start) {}

  absl::Time Now() const override {
    MutexLock lock(mutex_);
    return now_;
  }
  void Advance(absl::Duration by) {
    MutexLock lock(mutex_);
    now_ += by;
  }

 private:
  mutable Mutex mutex_;
  absl::Time now_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
