#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/kubernetes/core/brake.h"
#include "services/kubernetes/history.h"
#include "services/kubernetes/metrics.h"
#include "services/kubernetes/repeated_failure.h"

namespace muster::kubernetes {

// Decides whether removals that follow from what one side does not know pass, or are held until an
// operator says how many may go (core/brake.h). It decides on all that would go, never on one
// object: whoever asks for an object that was not among them yet has to ask again. Thread-safe.
class Brake {
 public:
  // A NodePool or a v1 Node that would go.
  struct Candidate {
    std::string uid = {};
    std::string name = {};      // of the v1 Node, of the pool
    std::string pool = {};      // at which it is shown
    std::string pool_uid = {};  // of the NodePool object if there is one, else of the one there was
    int64_t nodes = 0;          // of the pool; of a v1 Node: 1
  };
  // All that would go, beside all there is.
  struct PendingRemovals {
    std::vector<Candidate> node_pools = {};
    std::vector<Candidate> nodes = {};
    Removals all_pools = {};
    Removals all_nodes = {};
  };
  // An operator's order: what is left of it.
  struct Order {
    Removals allowed = {};
    absl::Time expire_time = absl::InfinitePast();
    std::string etag = {};  // of where it is kept
  };
  struct Parts {
    std::string cluster = {};  // its whole name, for the order that is shown
    BrakeLimits limits = {};
    Metrics* metrics = nullptr;
    const History* history = nullptr;
    // What would go now, in the history that Muster is in.
    std::function<PendingRemovals()> look = {};
    std::function<absl::StatusOr<Order>()> order = {};
    // Takes `going` off the order, so that no process lets others go by it; returns what is left.
    // Not OK: the order has changed, or it is not known whether it has.
    std::function<absl::StatusOr<Order>(const Order& order, const Removals& going)> take = {};
    // To be called soon: somebody asked for what was not among the pending removals.
    std::function<void()> wake = {};
    // What is shown at a pool changes to `message` (empty: nothing); `begins`: nothing was shown so
    // far.
    std::function<void(const Candidate& of, const std::string& message, bool begins)> show = {};
    // These are to be reconciled again: names of v1 Nodes, and of pools.
    std::function<void(const std::vector<std::string>& nodes,
                       const std::vector<std::string>& node_pools)>
        again = {};
  };

  explicit Brake(Parts parts) : parts_(std::move(parts)) {}

  // What is to become of an object, by its uid, that the other side does not know. The history is
  // asked first: its verdict stands unless it is kObey.
  History::Verdict Judge(const std::string& uid);
  // What is held of the pool of that name, for its condition; nullopt: nothing.
  std::optional<std::string> HeldAt(const std::string& pool) const;
  // Whether it has looked once: until then it is not known what is held, and what an earlier
  // process showed stays.
  bool decided() const;
  // Finds what would go and decides on it, at the first time, if somebody asked, or something is
  // held or was let go; not while a snapshot of Muster is taken, then all stays as it was decided.
  // `now`: time of day, as orders have it; `steady`: of a SteadyClock, for what went. Called by one
  // thread.
  void Look(absl::Time now, absl::Duration steady);

 private:
  // What was decided of one kind.
  struct Kind {
    absl::flat_hash_set<std::string> cleared = {};              // uids
    absl::flat_hash_set<std::string> held = {};                 // uids
    std::deque<std::pair<absl::Duration, Removals>> went = {};  // when, by the steady clock
    Removals holds = {};
  };

  // What is held at one pool.
  struct Shown {
    Candidate of = {};
    bool gone = false;  // its object
    int64_t nodes = 0;  // v1 Nodes that Muster does not know
  };
  struct Change {
    Candidate of = {};
    std::string message = {};
    bool begins = false;
  };
  // What there is to decide of one kind.
  struct Question {
    BrakeFacts facts = {};
    absl::flat_hash_set<std::string> there = {};  // uids
    absl::flat_hash_set<std::string> fresh = {};  // those that were not let go before
  };

  struct Moment {
    absl::Time now = absl::InfinitePast();
    absl::Duration steady = absl::ZeroDuration();
  };

  Question Ask(Kind Brake::*which, const std::vector<Candidate>& candidates, const Removals& all,
               absl::Duration steady);
  // Returns whether candidates were let go that had not been before. `order`: read at most once a
  // look.
  bool Decide(Kind Brake::*which, const std::vector<Candidate>& candidates, const Removals& all,
              const Moment& moment, std::optional<Order>& order);
  Removals AllowedBy(std::optional<Order>& order, const Moment& moment);
  // False: they may not go by it.
  bool TakeOff(Order& order, const Removals& going, absl::Duration steady);
  static std::string MessageOf(const Shown& shown, const Removals& all, const std::string& command);
  void Show(const PendingRemovals& pending);
  // By pool.
  std::map<std::string, Shown> Collect(const PendingRemovals& pending) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Parts parts_;
  // Used by the thread that calls Look alone.
  RepeatedFailure unread_;
  RepeatedFailure unused_;
  mutable Mutex mutex_;
  Kind pools_ MUSTER_GUARDED_BY(mutex_);
  Kind nodes_ MUSTER_GUARDED_BY(mutex_);
  bool asked_ MUSTER_GUARDED_BY(mutex_) = true;  // by whoever starts
  bool decided_ MUSTER_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::string> shown_ MUSTER_GUARDED_BY(mutex_);  // pool -> message
};

}  // namespace muster::kubernetes
