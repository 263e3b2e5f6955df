#pragma once

#include <algorithm>

#include "absl/time/time.h"
#include "services/common/clock.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "storage/postgres/history.h"

namespace muster::storage {

// The database's time, as a replica knows it between two looks at the head: what all replicas
// decide by, so that no machine's own clock matters. If the database's clock is set back, this one
// goes on steadily, so that what was planned at a time is not committed at an earlier one, whether
// or not anything was committed in between. Thread-safe.
class LaneClock final : public Clock {
 public:
  // `instead`, unless null, stands in for the database's clock (tests); must outlive this.
  // `steady` must outlive this, too.
  explicit LaneClock(const Clock* instead, const SteadyClock* steady = TheSteadyClock())
      : instead_(instead), steady_(*steady) {}

  // Takes in a head that was just read. Returns the time of a batch that is decided under it: never
  // before the last commit's.
  absl::Time Take(const Head& head) {
    MutexLock lock(mutex_);
    last_commit_ = head.commit_time;
    const absl::Time estimate = Estimate();
    base_at_ = steady_.Now();
    if (instead_ != nullptr) return std::max(instead_->Now(), last_commit_);
    // The database's clock was set back since: this one goes on steadily.
    const bool set_back = head.now < said_ - kStep;
    base_ = std::max(set_back ? estimate : said_, TimeUnder(head.commit_time, head.now, estimate));
    said_ = base_;
    return base_;
  }

  // Takes in that a batch was committed at `time`, which Now() had returned.
  void Committed(absl::Time time) {
    MutexLock lock(mutex_);
    last_commit_ = std::max(last_commit_, time);
  }
  // How long ago Take was last called.
  absl::Duration SinceHead() const {
    MutexLock lock(mutex_);
    return steady_.Now() - base_at_;
  }

  // The time of the last head, and what has passed since by a steady clock.
  absl::Time Now() const override {
    MutexLock lock(mutex_);
    if (instead_ != nullptr) return std::max(instead_->Now(), last_commit_);
    said_ = Estimate();
    return said_;
  }

 private:
  // A head whose time is behind by less was only long on its way: then this goes on from what it
  // said last.
  static constexpr absl::Duration kStep = absl::Seconds(1);

  absl::Time Estimate() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // Whole microseconds, as Postgres keeps them.
    return base_ + absl::Trunc(steady_.Now() - base_at_, absl::Microseconds(1));
  }

  const Clock* const instead_;
  const SteadyClock& steady_;
  mutable Mutex mutex_;
  absl::Time last_commit_ MUSTER_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time base_ MUSTER_GUARDED_BY(mutex_) = absl::InfinitePast();
  mutable absl::Time said_ MUSTER_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Duration base_at_ MUSTER_GUARDED_BY(mutex_) = absl::ZeroDuration();
};

}  // namespace muster::storage
