#pragma once

#include <functional>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "services/common/deadline.h"
#include "services/common/mutex.h"

namespace muster {

// Runs a job on a thread of its own, which rests after each run: all requests that come while it
// runs or rests are served by one more run. For work that is cheap to do for many requests at once,
// and dear to wake a thread for. Thread-safe.
class CoalescedJob {
 public:
  CoalescedJob(absl::Duration rest, std::function<void()> run)
      : rest_(rest), run_(std::move(run)), thread_([this] { Work(); }) {}
  ~CoalescedJob() { Stop(); }
  CoalescedJob(const CoalescedJob&) = delete;
  CoalescedJob& operator=(const CoalescedJob&) = delete;

  // A run begins after this call: at once after a quiet time, else when the rest is over.
  void Request() {
    MutexLock lock(mutex_);
    if (!std::exchange(requested_, true)) wakes_.Signal();
  }

  // Serves what was requested before, without a rest, and ends the thread; later requests do
  // nothing. Idempotent.
  void Stop() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      wakes_.Signal();
      stops_.Signal();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Work() {
    while (true) {
      {
        MutexLock lock(mutex_);
        while (!requested_ && !stopping_) wakes_.Wait(mutex_);
        if (!std::exchange(requested_, false)) return;
      }
      run_();
      MutexLock lock(mutex_);
      const Deadline end(rest_);
      while (!stopping_ && end.WaitFor(stops_, mutex_)) {
      }
    }
  }

  const absl::Duration rest_;
  const std::function<void()> run_;
  Mutex mutex_;
  CondVar wakes_;
  CondVar stops_;
  bool requested_ MUSTER_GUARDED_BY(mutex_) = false;
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster
