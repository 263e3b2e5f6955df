#pragma once

#include <optional>
#include <utility>

#include "services/common/stopper.h"

namespace muster {

// What a background thread that hands jobs to others and awaits each waits by: it is woken, a job
// is done, or it is to stop. To be held by a shared_ptr by all who call it: a late answer may
// outlive the thread. Thread-safe.
class WorkerSignal : public Stopper {
 public:
  void JobDone(bool ok) {
    MutexLock lock(mutex_);
    done_ = ok;
    wakes_.SignalAll();
  }
  // Waits for JobDone, and returns its `ok`. False, too, when the thread is to stop.
  bool AwaitJob() {
    MutexLock lock(mutex_);
    while (!done_ && !stopped_) wakes_.Wait(mutex_);
    return std::exchange(done_, std::nullopt).value_or(false) && !stopped_;
  }

 private:
  std::optional<bool> done_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
