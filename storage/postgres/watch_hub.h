#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "services/common/mutex.h"
#include "storage/postgres/history.h"
#include "storage/postgres/journal.h"
#include "storage/postgres/watch.h"

namespace muster::storage {

// The watchers that are sent changes. Thread-safe.
class WatchHub {
 public:
  // Held from before memory shows a change until watchers were sent it: who looks at memory and
  // joins under it sees the change there or is sent it, never both. Taken before the memory's
  // mutex.
  Mutex& mutex() const ABSL_LOCK_RETURNED(mutex_) { return mutex_; }

  void Join(std::shared_ptr<Watcher> watcher) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Send(const std::vector<JournalRow>& rows) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndAll(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Forgets those who are gone, and tells the others that they have come to `at`.
  void Tend(const Position& at);
  // How many are being served.
  int64_t Count() const;

 private:
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<Watcher>> watchers_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::storage
