#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "storage/postgres/history.h"
#include "storage/postgres/journal.h"
#include "storage/postgres/watch.h"
#include "storage/postgres/watch_index.h"
#include "storage/postgres/watch_waker.h"

namespace muster::storage {

// The watchers that are sent changes: each those that it wants, and nobody is woken for others'.
// Thread-safe.
class WatchHub {
 public:
  // Wakes who is still to be woken; to be called after the last Send. Idempotent.
  void Stop() { waker_.Stop(); }

  // Held from before memory shows a change until watchers were sent it: who looks at memory and
  // joins under it sees the change there or is sent it, never both. Taken before the memory's
  // mutex.
  Mutex& mutex() const ABSL_LOCK_RETURNED(mutex_) { return mutex_; }
  // For who publishes, before `mutex` and as long.
  Mutex& publishing() const ABSL_LOCK_RETURNED(publishing_) { return publishing_; }
  // Who holds `mutex` for long again and again lets a publisher that waits go first: a mutex itself
  // may go again to who has just had it.
  void LetPublish() const ABSL_LOCKS_EXCLUDED(publishing_, mutex_) { MutexLock lock(publishing_); }

  void Join(std::shared_ptr<Watcher> watcher) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Send(const std::vector<JournalRow>& rows) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndAll(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Forgets those who are gone, and tells others that they have come to `at`: all of them, or where
  // they are many a part, the next ones the next time.
  void Tend(const Position& at);
  // How many are being served.
  int64_t Count() const;

 private:
  using Watchers = WatchWaker::Watchers;

  // How much later than the first of several changes a reader may hear of the others.
  static constexpr absl::Duration kWakeRest = absl::Milliseconds(4);

  // Who is to be told of progress now.
  Watchers TakeTurn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex publishing_;
  mutable Mutex mutex_;
  WatchIndex watchers_ MUSTER_GUARDED_BY(mutex_);
  size_t next_told_ MUSTER_GUARDED_BY(mutex_) = 0;  // of the index's watchers
  WatchWaker waker_{kWakeRest};
};

}  // namespace muster::storage
