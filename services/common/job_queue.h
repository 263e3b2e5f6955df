#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "services/common/mutex.h"
#include "services/common/turn_queue.h"

namespace muster {

// Runs jobs on threads of its own: owners take turns (TurnQueue), and the jobs of one owner begin
// in the order of their arrival. Thread-safe.
template <class Job>
class JobQueue {
 public:
  static constexpr size_t kUnbounded = std::numeric_limits<size_t>::max();

  // `run` is called by one of the threads. At most `most` jobs wait.
  JobQueue(int threads, std::function<void(Job&)> run, size_t most = kUnbounded)
      : run_(std::move(run)), most_(most) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~JobQueue() { Stop(); }

  // False, and `job` is left as it is: too many wait, or the queue is stopping.
  bool Add(uint64_t owner, Job&& job) {
    MutexLock lock(mutex_);
    if (stopping_ || jobs_.size() >= most_) return false;
    jobs_.Push(owner, std::move(job));
    wakes_.Signal();
    return true;
  }

  // Waits for the jobs that run; returns those that had not begun. Idempotent.
  std::vector<Job> Stop() {
    std::vector<Job> left;
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      left = jobs_.TakeAll();
      wakes_.SignalAll();
    }
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return left;
  }

 private:
  void Work() {
    while (true) {
      std::vector<Job> job;
      {
        MutexLock lock(mutex_);
        while (jobs_.empty() && !stopping_) wakes_.Wait(mutex_);
        if (stopping_) return;
        job = jobs_.Take(1);
      }
      run_(job.front());
    }
  }

  const std::function<void(Job&)> run_;
  const size_t most_;
  Mutex mutex_;
  CondVar wakes_;
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  TurnQueue<Job> jobs_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace muster
