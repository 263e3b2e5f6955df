#pragma once

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "services/common/coalesced_job.h"
#include "services/common/mutex.h"
#include "storage/postgres/watch.h"

namespace muster::storage {

// Wakes the readers of watches on a thread of its own, so that no stream is written by whoever
// commits; then it rests for a moment. What is committed meanwhile reaches a reader together, as
// one bundle and by one wake. Thread-safe.
class WatchWaker {
 public:
  using Watchers = std::vector<std::shared_ptr<Watcher>>;

  explicit WatchWaker(absl::Duration rest);

  // They are woken soon, at once after a quiet time. One that was added twice is woken twice: the
  // second time for nothing.
  void Add(Watchers watchers);
  // Wakes all that were added, then ends the thread; to be called after the last Add. Idempotent.
  void Stop() { job_.Stop(); }

 private:
  void Run();

  Mutex mutex_;
  Watchers waiting_ MUSTER_GUARDED_BY(mutex_);
  CoalescedJob job_;
};

}  // namespace muster::storage
