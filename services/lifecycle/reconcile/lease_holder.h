#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/lifecycle/core/lease.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/store/lane.h"
#include "services/lifecycle/store/lease_store.h"

namespace muster::lifecycle {

// Holds the lease of the reconcile loop or waits for it, in a thread of its own: proves that this
// replica can commit, beats, commits takeovers. All decisions are core/lease.h's. Thread-safe.
// Callbacks of commands that are under way keep it alive.
class LeaseHolder : public std::enable_shared_from_this<LeaseHolder> {
 public:
  struct Options {
    Lane* lane = nullptr;                  // outlives Stop()
    storage::ConnectOptions connect = {};  // for the heartbeat
    absl::Duration ttl = absl::Seconds(5);
    // Called from the thread when this replica begins or ceases to lead.
    std::function<void(bool leads)> changed = [](bool) {};
    size_t most_raised = kMaxRaisedPools;  // see TakeLease
  };
  explicit LeaseHolder(Options options);

  void Start();
  // Ends the thread, gives up the lease. Idempotent. Waits for the database to answer the statement
  // under way, and the one that gives up the lease: each lasts a ttl at most, and if the server
  // hangs as long as ConnectOptions lets it besides.
  void Stop();

  // Names this process; random.
  const std::string& holder() const { return holder_; }
  // The epoch under which this replica leads; 0: it does not.
  int64_t epoch() const { return epoch_; }
  // Whether anybody leads, and this replica could.
  LoopFacts facts() {
    MutexLock lock(mutex_);
    return keeper_.Facts(clock_.Now());
  }

  // A plan that was submitted at `submitted`, of the steady clock, ended with `status`.
  void PlanEnded(const absl::Status& status, absl::Duration submitted);
  // A plan that was submitted under `epoch` was refused as a stale leader's.
  void Refused(int64_t epoch);

 private:
  // A takeover under way.
  struct Taking {
    int64_t epoch = 0;
    std::string incarnation = {};
    std::string raised_through = {};  // see TakeLease
  };

  void Hold();
  // Submits a probe unless one is under way, and waits for its end, at most for `most`.
  void Probe(absl::Duration most);
  void RenewLease();
  // Looks whether another replica has the lease, when this one may not ask for it or got no answer.
  void Look();
  // Takes over as far as it gets until the next beat; leads if that is all of it.
  void Lead(int64_t epoch, const std::string& incarnation);
  // False: there is more to do, after another beat, so that the lease does not run out meanwhile.
  absl::StatusOr<bool> TakeOver(int64_t epoch, const std::string& incarnation);
  // One command of it. Waits for its end, at most for a ttl, or until Stop.
  absl::Status TakeOverSome();
  // Makes the keeper's epoch known if it has changed: to epoch(), the log and Options::changed.
  void Tell();
  // Logs, once in a while, why the lease was not written; the thread's alone.
  void Complain(const absl::Status& status);
  bool stopping() {
    MutexLock lock(mutex_);
    return stopping_;
  }

  const Options options_;
  const std::string holder_;
  const SteadyClock& clock_;
  storage::LeaseStore store_;
  std::thread thread_;
  absl::Duration complained_at_ = -absl::InfiniteDuration();  // the thread's
  Taking taking_;                                             // the thread's
  std::atomic<int64_t> epoch_ = 0;                            // the keeper's, as it was told
  Mutex mutex_;
  CondVar wakes_;
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  bool probing_ MUSTER_GUARDED_BY(mutex_) = false;
  LeaseKeeper keeper_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::lifecycle
