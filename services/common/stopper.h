#pragma once

#include "absl/time/time.h"
#include "services/common/deadline.h"
#include "services/common/mutex.h"

namespace muster {

// Lets a background thread wait, and be told to stop at any moment. Waits go by a clock that never
// jumps. Thread-safe.
class Stopper {
 public:
  void Stop() {
    MutexLock lock(mutex_);
    stopped_ = true;
    wakes_.SignalAll();
  }
  bool stopped() const {
    MutexLock lock(mutex_);
    return stopped_;
  }
  // Ends the present Wait, or else the next one.
  void Wake() {
    MutexLock lock(mutex_);
    woken_ = true;
    wakes_.SignalAll();
  }

  // Waits for `time`. False: stopped.
  bool Sleep(absl::Duration time) {
    MutexLock lock(mutex_);
    const Deadline end(time);
    while (!stopped_ && end.WaitFor(wakes_, mutex_)) {
    }
    return !stopped_;
  }
  // Waits until Wake is called, or was since the last Wait; at most for `most`. False: stopped.
  bool Wait(absl::Duration most) {
    MutexLock lock(mutex_);
    const Deadline end(most);
    while (!stopped_ && !woken_ && end.WaitFor(wakes_, mutex_)) {
    }
    woken_ = false;
    return !stopped_;
  }

 protected:
  mutable Mutex mutex_;
  CondVar wakes_;
  bool stopped_ MUSTER_GUARDED_BY(mutex_) = false;

 private:
  bool woken_ MUSTER_GUARDED_BY(mutex_) = false;
};

}  // namespace muster
