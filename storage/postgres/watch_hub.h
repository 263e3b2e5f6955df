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

// The watchers that are sent changes: each is sent, and woken for, only those that it wants.
// Thread-safe.
class WatchHub {
 public:
  // Wakes the readers that are still to be woken; to be called after the last Send. Idempotent.
  void Stop() { waker_.Stop(); }

  // Held from before memory shows a change until watchers were sent it: a watcher that is given the
  // contents of memory and joins under it finds the change there or is sent it, never both. Taken
  // before the memory's mutex.
  Mutex& mutex() const ABSL_LOCK_RETURNED(mutex_) { return mutex_; }
  // Held by whoever publishes: taken before `mutex`, and for as long.
  Mutex& publishing() const ABSL_LOCK_RETURNED(publishing_) { return publishing_; }
  // To be called by a thread that holds `mutex` for long again and again, in between: lets a
  // publisher that waits go first, as a mutex may go again to the thread that has just had it.
  void LetPublish() const ABSL_LOCKS_EXCLUDED(publishing_, mutex_) { MutexLock lock(publishing_); }

  void Join(std::shared_ptr<Watcher> watcher) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Send(const std::vector<JournalRow>& rows) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndAll(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // To be called again and again, with the time of a steady clock: ends the watches whose readers
  // took nothing for `late` of much that waited (Watcher::EndIfLate). Of a caller's watches for
  // which more than kFewChanges wait, `most_waiting` for all, it ends the newest.
  void EndLate(absl::Duration now, absl::Duration late, size_t most_waiting);
  // Forgets the watchers that are gone, and tells the others that they have come to `at`: all of
  // them or, if they are many, the next part of them at each call.
  void Tend(const Position& at);
  // How many watchers are sent changes.
  int64_t Count() const;

 private:
  using Watchers = WatchWaker::Watchers;

  // How much later than the first of several changes a reader may hear of the others.
  static constexpr absl::Duration kWakeRest = absl::Milliseconds(4);

  // The watchers that are to be told of progress now.
  Watchers TakeTurn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex publishing_;
  mutable Mutex mutex_;
  WatchIndex watchers_ MUSTER_GUARDED_BY(mutex_);
  size_t next_told_ MUSTER_GUARDED_BY(mutex_) = 0;  // of the index's watchers
  WatchWaker waker_{kWakeRest};
};

}  // namespace muster::storage
