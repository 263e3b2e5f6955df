#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/lifecycle/lane.h"

namespace muster::lifecycle {

// When this replica was last seen to be able to commit: who cannot must not lead. A probe is an
// empty command that goes the whole way of every command (the lane's queue, its connection, the
// head's lock, the history's continuation, the commit), so that a quiet fleet writes nothing. Once
// plans fail in a way that an empty command does not show, the probe writes as well. Thread-safe;
// kept by the callbacks of what is under way.
class CommitProof : public std::enable_shared_from_this<CommitProof> {
 public:
  explicit CommitProof(const SteadyClock* clock) : clock_(*clock) {}

  // Submits a probe unless one is under way, and waits for its end, at most for `most`.
  void Show(Lane& lane, absl::Duration most);
  // Nobody waits any more.
  void Stop();

  // A command of ours that writes ended so; it was submitted at `since` of the steady clock.
  void Ended(const absl::Status& status, absl::Duration since);
  // For how long nothing showed that this replica can commit.
  absl::Duration age() const;

 private:
  void ProbeEnded(const absl::Status& status, absl::Duration since, bool wrote);

  const SteadyClock& clock_;
  mutable Mutex mutex_;
  CondVar ends_;
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  bool under_way_ MUSTER_GUARDED_BY(mutex_) = false;
  bool failing_ MUSTER_GUARDED_BY(mutex_) = false;  // the last that wrote could not be committed
  absl::Duration proven_ MUSTER_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
};

}  // namespace muster::lifecycle
