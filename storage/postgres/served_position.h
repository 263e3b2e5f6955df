#pragma once

#include <atomic>
#include <cstdint>

#include "services/common/mutex.h"
#include "storage/postgres/history.h"

namespace muster::storage {

// The position in the history of the memory that readers see: the part of StateCell that does not
// depend on its State. Thread-safe.
class ServedPosition {
 public:
  int64_t served_revision() const { return revision_; }
  Position served_at() const {
    ReaderLock lock(served_mutex_);
    return at_;
  }

  // While it is held for reading, what readers see does not change.
  SharedMutex& served_mutex() const ABSL_LOCK_RETURNED(served_mutex_) { return served_mutex_; }
  const Position& held_at() const ABSL_SHARED_LOCKS_REQUIRED(served_mutex_) { return at_; }

 protected:
  void MoveTo(const Position& at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(served_mutex_) {
    at_ = at;
    revision_ = at.revision;
  }

  mutable SharedMutex served_mutex_;

 private:
  Position at_ MUSTER_GUARDED_BY(served_mutex_);
  std::atomic<int64_t> revision_ = 0;
};

}  // namespace muster::storage
