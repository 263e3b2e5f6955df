#pragma once

#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "services/common/deadline.h"
#include "services/common/mutex.h"

namespace muster {

// A result that other threads set and one thread waits for. Hold it by a shared_ptr where the wait
// may end first. Thread-safe.
template <class T>
class Awaited {
 public:
  // Only the first call counts.
  void Set(T what) {
    MutexLock lock(mutex_);
    if (!what_) what_ = std::move(what);
    comes_.SignalAll();
  }
  // To be called once.
  T Wait() { return *WaitFor(absl::InfiniteDuration()); }
  // The same, for at most `most`; nullopt: it has not come.
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

// Counts what is under way, and lets a thread wait until nothing is. To be shared as above.
// Thread-safe.
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
  // Waits until nothing is under way, for at most `most`.
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
