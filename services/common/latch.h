#pragma once

#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "services/common/deadline.h"
#include "services/common/mutex.h"

namespace muster {

// What comes of something that others do, for one who waits for it. Shared with them where the wait
// may end first. Thread-safe.
template <class T>
class Awaited {
 public:
  // The first counts.
  void Set(T what) {
    MutexLock lock(mutex_);
    if (!what_) what_ = std::move(what);
    comes_.SignalAll();
  }
  // Once.
  T Wait() { return *WaitFor(absl::InfiniteDuration()); }
  // Likewise, for at most so long; nullopt: it has not come.
  std::optional<T> WaitFor(absl::Duration most) {
    const Deadline end(most);
    MutexLock lock(mutex_);
    while (!what_ && end.WaitFor(comes_, mutex_)) {
    }
    return std::move(what_);
  }

 private:
  Mutex mutex_;
  CondVar comes_;
  std::optional<T> what_ MUSTER_GUARDED_BY(mutex_);
};

// Counts what is under way, for one who waits until nothing is. Shared as above. Thread-safe.
class Latch {
 public:
  void Begin() {
    MutexLock lock(mutex_);
    ++under_way_;
  }
  void End() {
    MutexLock lock(mutex_);
    if (--under_way_ == 0) none_.SignalAll();
  }
  // For at most so long.
  void Wait(absl::Duration most) {
    const Deadline end(most);
    MutexLock lock(mutex_);
    while (under_way_ > 0 && end.WaitFor(none_, mutex_)) {
    }
  }

 private:
  Mutex mutex_;
  CondVar none_;
  int under_way_ MUSTER_GUARDED_BY(mutex_) = 0;
};

}  // namespace muster
