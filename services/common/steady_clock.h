#pragma once

#include <chrono>

#include "absl/time/time.h"
#include "services/common/mutex.h"

namespace muster {

// How much time has gone by since a moment of the clock's own. It never jumps, whatever is done to
// the time of day: what is due in memory goes by it. Thread-safe.
class SteadyClock {
 public:
  virtual ~SteadyClock() = default;
  virtual absl::Duration Now() const = 0;
};

class SystemSteadyClock final : public SteadyClock {
 public:
  absl::Duration Now() const override {
    return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }
};

// The process's own.
inline const SteadyClock* TheSteadyClock() {
  static const SystemSteadyClock clock;
  return &clock;
}

// One that stands still until it is moved. For tests.
class FakeSteadyClock final : public SteadyClock {
 public:
  absl::Duration Now() const override {
    MutexLock lock(mutex_);
    return now_;
  }
  void Advance(absl::Duration by) {
    MutexLock lock(mutex_);
    now_ += by;
  }

 private:
  mutable Mutex mutex_;
  absl::Duration now_ MUSTER_GUARDED_BY(mutex_) = absl::Hours(1);
};

}  // namespace muster
