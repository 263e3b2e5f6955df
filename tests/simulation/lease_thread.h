#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "services/lifecycle/core/lease.h"
#include "storage/postgres/lane_clock.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/cloud.h"
#include "tests/simulation/network.h"
#include "tests/simulation/options.h"
#include "tests/simulation/random.h"

namespace muster::simulation {

// What is wrong with a replica, or with its way to the database.
enum class Trouble {
  kNone,
  kFrozen,       // it does nothing
  kNoCommits,    // none of its transactions is committed
  kNoChanges,    // only those that change nothing are committed
  kCommitsHang,  // no commit ends before the trouble does
  kNoBeats,      // the heartbeat's connection is gone
};

// How one process gets, keeps and loses the lead: services/lifecycle/reconcile/lease_holder.cc
// without threads, by the same rules of services/lifecycle/core/lease.h.
class LeaseThread {
 public:
  // All but `hang` must outlive it. `hang` takes a commit that hangs and is to be made later.
  struct Surroundings {
    Cloud& cloud;
    Random& random;
    const Weather& weather;
    InvariantChecker& checker;
    const Bug bug;
    std::function<void(Network::Message)> hang;
  };
  LeaseThread(std::string holder, std::shared_ptr<storage::LaneClock> clock, Surroundings around)
      : holder_(std::move(holder)), clock_(std::move(clock)), around_(std::move(around)) {}

  // Names the process, not the replica.
  const std::string& holder() const { return holder_; }
  int64_t epoch() const { return keeper_.epoch(); }
  // Whether its next probe writes: a command of its own failed since the last one was committed.
  bool failing() const { return keeper_.probe_writes(); }

  // To be called four times a ttl.
  void Beat(Trouble trouble);
  // An orderly stop: gives the lease back.
  void Resign();
  void PlanEnded(const absl::Status& status, absl::Duration submitted);
  void Refused(int64_t epoch) { keeper_.Refused(epoch); }

 private:
  void Probe(Trouble trouble);
  void EndProbe(bool works);
  void Ask(Trouble trouble);
  absl::StatusOr<int64_t> Write(absl::Duration length);
  void TakeOver(int64_t epoch, Trouble trouble);
  // One command of it. False: that was all for now.
  bool TakeOverSome(Trouble trouble);
  void Release();
  absl::Duration Now() const { return around_.cloud.steady.Now(); }
  absl::Time DatabaseNow() const { return around_.cloud.lifecycle.DatabaseTime(around_.cloud.now); }

  // A takeover under way.
  struct Taking {
    int64_t epoch = 0;
    int64_t incarnation = 0;
    std::string raised_through = {};  // see lifecycle::TakeLease
  };

  const std::string holder_;
  const std::shared_ptr<storage::LaneClock> clock_;
  const Surroundings around_;
  lifecycle::LeaseKeeper keeper_{Cloud::kLeaseTtl};
  Taking taking_;
  // A probe that is under way: since when, and whether it writes.
  std::optional<std::pair<absl::Duration, bool>> probe_;
  // Until then it waits for a takeover that hangs.
  absl::Duration waits_until_ = -absl::InfiniteDuration();
};

}  // namespace muster::simulation
