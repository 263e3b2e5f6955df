#pragma once

#include <algorithm>
#include <chrono>

#include "absl/time/time.h"
#include "services/common/clock.h"
#include "services/common/mutex.h"
#include "storage/postgres/history.h"

namespace muster::storage {

// The database's time, as a replica knows it between two looks at the head: what all replicas
// decide by, so that no machine's own clock matters. Thread-safe.
class LaneClock final : public Clock {
 public:
  // `instead`, unless null, stands in for the database's clock (tests); must outlive this.
  explicit LaneClock(const Clock* instead) : instead_(instead) {}

  // Takes in a head that was just read. Returns the time of a batch that is decided under it: never
  // before the last commit's.
  absl::Time Take(const Head& head) {
    MutexLock lock(mutex_);
    last_commit_ = head.commit_time;
    if (instead_ != nullptr) return std::max(instead_->Now(), last_commit_);
    base_ = TimeUnder(head.commit_time, head.now, Estimate());
    base_at_ = std::chrono::steady_clock::now();
    return base_;
  }

  // The time of the last head, and what has passed since by a steady clock.
  absl::Time Now() const override {
    MutexLock lock(mutex_);
    return instead_ != nullptr ? std::max(instead_->Now(), last_commit_) : Estimate();
  }

 private:
  absl::Time Estimate() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // Whole microseconds, as Postgres keeps them.
    return base_ + absl::Microseconds(std::chrono::duration_cast<std::chrono::microseconds>(
                                          std::chrono::steady_clock::now() - base_at_)
                                          .count());
  }

  const Clock* const instead_;
  mutable Mutex mutex_;
  absl::Time last_commit_ MUSTER_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time base_ MUSTER_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::chrono::steady_clock::time_point base_at_ MUSTER_GUARDED_BY(mutex_) = {};
};

}  // namespace muster::storage
