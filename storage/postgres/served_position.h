#pragma once

#include <atomic>
#include <cstdint>

#include "services/common/mutex.h"
#include "storage/postgres/history.h"

namespace muster::storage {

// Where in the history the memory is that readers see: what of a StateCell does not depend on its
// State. Thread-safe.
class ServedPosition {
 public:
  int64_t served_revision() const { return revision_; }
  Position served_at() const {
    ReaderLock lock(served_mutex_);
    return at_;
  }

  // As long as it is held for reading, what is shown stays as it is.
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
