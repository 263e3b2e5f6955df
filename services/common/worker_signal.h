#pragma once

#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "services/common/mutex.h"

namespace muster {

// What a background thread waits for that hands jobs to others and awaits each: that something
// changed, that a job is done, that it is to stop. To be shared by whoever calls it: a late answer
// may outlive the thread. Thread-safe.
class WorkerSignal {
 public:
  void Changed() {
    MutexLock lock(mutex_);
    changed_ = true;
    wakes_.SignalAll();
  }
  void Stop() {
    MutexLock lock(mutex_);
    stopping_ = true;
    wakes_.SignalAll();
  }
  void JobDone(bool ok) {
    MutexLock lock(mutex_);
    done_ = ok;
    wakes_.SignalAll();
  }

  // Until something changes, for at most `most`. False: the thread is to stop.
  bool Wait(absl::Duration most) {
    MutexLock lock(mutex_);
    while (!changed_ && !stopping_ && most == absl::InfiniteDuration()) wakes_.Wait(mutex_);
    if (!changed_ && !stopping_) wakes_.WaitFor(mutex_, most);
    changed_ = false;
    return !stopping_;
  }
  // Until JobDone was called: what it said. False too when the thread is to stop.
  bool AwaitJob() {
    MutexLock lock(mutex_);
    while (!done_ && !stopping_) wakes_.Wait(mutex_);
    return std::exchange(done_, std::nullopt).value_or(false) && !stopping_;
  }

 private:
  Mutex mutex_;
  CondVar wakes_;
  bool changed_ MUSTER_GUARDED_BY(mutex_) = false;
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  std::optional<bool> done_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
