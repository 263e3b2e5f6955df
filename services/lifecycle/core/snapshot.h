#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/types.h"
#include "services/lifecycle/core/validate.h"

// One consistent snapshot of a pool and of what the other services said: all that Plan looks at.
namespace muster::lifecycle {

class State;

// What the catalogue says that matters to one pool.
struct CatalogueFacts {
  bool known = false;                  // false: the catalogue could not be read yet
  std::optional<TypeFacts> type = {};  // nullopt: there is no such type
  bool offered = false;                // the zone exists and offers the type
  bool general_access = false;         // the zone serves all customers
  // 0: the type is not granted by racks, or is not known.
  int64_t nodes_per_rack() const { return type ? type->nodes_per_rack : 0; }
  bool operator==(const CatalogueFacts&) const = default;
};

// What another service said. An answer that did not come is a fact too, and so is a refusal.
template <class T>
struct PeerReply {
  enum class State { kNotAsked, kAway, kRefused, kHere };
  State state = State::kNotAsked;
  T value = {};
  std::string error = {};       // kAway, kRefused: why, for people
  std::string reason = {};      // kRefused: the service's word for it, as GENERATION_TOO_OLD
  int64_t last_generation = 0;  // kRefused: the newest that the service knows; 0: not told

  bool here() const { return state == State::kHere; }
  // There is nothing new to go by.
  bool away() const { return state == State::kAway || state == State::kRefused; }
  bool refused(absl::string_view why) const { return state == State::kRefused && reason == why; }
  // The pool's uid was released there: from then on nothing but a release is taken, so there is no
  // use in asking again.
  bool released() const { return refused("POOL_RELEASED"); }
};

struct HoldingFacts {
  enum class Verdict { kUnder, kOver, kNotSet };
  Verdict verdict = Verdict::kUnder;
  int64_t nodes = 0;         // charged after the request
  int64_t limit = 0;         // in force
  int64_t held = 0;          // by all pools on the key
  std::string holders = {};  // kOver: who holds the rest, for people
};

// A machine that is to be given back, and since when.
struct MachineReclaim {
  std::string machine = {};
  absl::Time time = kNever;
  bool operator==(const MachineReclaim&) const = default;
};

// What is being reclaimed from spot for a claim.
struct ReclaimedFor {
  int64_t machines = 0;
  std::vector<MachineReclaim> oldest = {};  // of them, perhaps not all
  absl::Time last = kNever;                 // when the last of all began
  bool operator==(const ReclaimedFor&) const = default;
};

// Where a claim stands in the queue.
struct QueuePlace {
  int64_t place = 0;
  int64_t nodes_ahead = 0;
  // How long it will take; both kNever-like when not known.
  std::optional<absl::Duration> earliest = {};
  std::optional<absl::Duration> latest = {};
};

struct ClaimFacts {
  enum class Reason {
    kSufficient,
    kQueued,
    kPartial,
    kNoneAvailable,
    kPartialNodeAffinity,
    kNoneAvailableNodeAffinity
  };
  Reason reason = Reason::kSufficient;
  int64_t nodes = 0;                       // that the claim wants in all, as capacity knows it
  std::vector<std::string> machines = {};  // held, sorted
  // Of these: Nodes of another pool, by lifecycle's own rows (AddTaken).
  std::vector<std::string> taken = {};
  int64_t outstanding = 0;
  int64_t in_service = 0;
  int64_t matching = 0;                                  // of these: match the node affinity
  int64_t matching_in_repair = 0;                        // of those in repair
  std::map<std::string, std::string> racks = {};         // of the machines, where known
  std::map<std::string, absl::Time> request_times = {};  // likewise
  std::vector<MachineReclaim> reclaims = {};             // by machine
  std::optional<QueuePlace> queue = {};
  ReclaimedFor reclaimed = {};  // for what is outstanding; only explanations ask
};

// The machines that the pool's claim holds, sorted; null: not known. One that was released holds
// none.
inline const std::vector<std::string>* HeldMachines(const PeerReply<ClaimFacts>& claim) {
  static const auto& none = *new std::vector<std::string>();
  return claim.here() ? &claim.value.machines : claim.released() ? &none : nullptr;
}

// A promote or rollback, as the configuration service remembers it.
struct ConfigurationOrder {
  enum class Kind { kPromote, kRollback };
  enum class Outcome { kWaiting, kDone, kNoPending, kRollbackFailed, kConflict, kReplaced };
  int64_t number = 0;
  Kind kind = Kind::kPromote;
  std::string node_profile = {};
  Outcome outcome = Outcome::kDone;
  std::string message = {};
};

struct ConfigurationFacts {
  std::string active = {};
  std::optional<NodeConfiguration> pending = {};
  std::vector<NodeConfiguration> revisions = {};
  std::string problem = {};      // why the spec resolves to nothing; empty: it resolves
  bool problem_of_spec = false;  // it is about what the spec names
  std::optional<NodeConfiguration> waiting = {};  // becomes active once Nodes are delivered
  std::vector<ConfigurationOrder> orders = {};    // the last ones, by number
};

struct PeerReplies {
  PeerReply<HoldingFacts> holding = {};
  PeerReply<ClaimFacts> claim = {};
  PeerReply<ConfigurationFacts> configuration = {};
};

// Of the reconcile loop, as the replica knows it that is asked.
struct LoopFacts {
  bool leaderless = false;  // no replica has the lease, nor had for a while: nothing is reconciled
  bool can_commit = true;   // this replica can, as far as it has tried
  bool operator==(const LoopFacts&) const = default;
};

// The rows must outlive it, unless `keeps` has them.
struct Snapshot {
  const Cluster* cluster = nullptr;
  const Pool* pool = nullptr;
  std::vector<const Node*> nodes = {};  // by name
  int64_t version = 0;                  // State::VersionOf
  CatalogueFacts catalogue = {};
  PeerReplies answers = {};
  Policy policy = {};
  absl::Time now = kNever;
  // Of an autoscaled pool: machines that it could hold (MachineMirror::Obtainable); nullopt: not known.
  std::optional<int64_t> obtainable = {};
  LoopFacts loop = {};  // only explanations ask
  // The rows go on from a past (a restore): what they do not know of may be under way.
  bool restored = false;
  std::vector<std::shared_ptr<const void>> keeps = {};
};

// The rows of a pool as they are now, which it keeps: catalogue, answers, policy and time are for
// the caller to fill in. nullopt: there is no such pool. Cheap: for within a lane's Peek or Read.
std::optional<Snapshot> SnapshotOf(const State& state, const std::string& pool);

// Adds to what capacity answered which machines are Nodes of another pool: of those that may become
// Nodes of this one.
void AddTaken(const State& state, Snapshot& snapshot);

}  // namespace muster::lifecycle
