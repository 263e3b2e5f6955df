#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/error_reasons.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/types.h"
#include "services/lifecycle/core/validate.h"

// One consistent snapshot of a pool and of what the other services said: all that Plan looks at.
namespace muster::lifecycle {

class State;

// What the catalogue says that matters to one pool.
struct CatalogueFacts {
  bool known = false;                  // false: not read yet, or out of reach for too long
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
  // It was asked and gave no answer to go by.
  bool away() const { return state == State::kAway || state == State::kRefused; }
  bool refused(absl::string_view why) const { return state == State::kRefused && reason == why; }
  // The pool's uid was released there. The service takes nothing but a release of it any more, so
  // there is no use in asking again.
  bool released() const { return refused(muster::error::kPoolReleased); }
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
  std::vector<MachineReclaim> oldest = {};  // those reclaimed first; perhaps not all
  absl::Time last = kNever;                 // when the last of all began
  bool operator==(const ReclaimedFor&) const = default;
};

// Where a claim stands in the queue.
struct QueuePlace {
  int64_t place = 0;
  int64_t nodes_ahead = 0;
  // How long it will take, at least and at most; nullopt: not known.
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
  // Those of `machines` that are Nodes of another pool, by lifecycle's own rows (AddTaken).
  std::vector<std::string> taken = {};
  int64_t outstanding = 0;
  int64_t in_service = 0;
  int64_t matching = 0;                                  // of these: match the node affinity
  int64_t matching_in_repair = 0;                        // machines in repair that match it
  std::map<std::string, std::string> racks = {};         // of the machines, where known
  std::map<std::string, absl::Time> request_times = {};  // likewise
  std::map<std::string, absl::Time> grant_times = {};    // likewise
  std::vector<MachineReclaim> reclaims = {};             // by machine
  std::optional<QueuePlace> queue = {};
  ReclaimedFor reclaimed = {};  // for what is outstanding; only explanations ask
};

// The machines that the pool's claim holds, sorted; null: not known. A released claim holds none.
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

// What the replica that is asked knows of the reconcile loop.
struct LoopFacts {
  bool leaderless = false;  // no replica has the lease, nor had for a while: nothing is reconciled
  bool can_commit = true;   // this replica's last attempts to commit did not fail
  bool operator==(const LoopFacts&) const = default;
};

// The rows must outlive it, unless `keeps` and `node_rows` have them.
struct Snapshot {
  const Cluster* cluster = nullptr;
  const Pool* pool = nullptr;
  std::vector<const Node*> nodes = {};  // by name
  int64_t version = 0;                  // State::VersionOf
  CatalogueFacts catalogue = {};
  PeerReplies answers = {};
  Policy policy = {};
  absl::Time now = kNever;
  // How many machines an autoscaled pool could hold (MachineMirror::Obtainable); nullopt: not
  // known.
  std::optional<int64_t> obtainable = {};
  LoopFacts loop = {};  // only explanations ask
  // True when the database was restored to a past some time: what the rows do not know of may be
  // under way.
  bool restored = false;
  std::vector<std::shared_ptr<const void>> keeps = {};
  std::vector<std::shared_ptr<const Node>> node_rows = {};  // `nodes`, or empty
};

// True when quota and capacity are not asked for the pool any more, because they have said that its
// uid was released. They forget that after a time: the pool, whose object outlived it, would come
// alive then.
bool IsReleased(const Pool& pool);
// The answers of those that are not asked although they would answer: what they said last counts.
PeerReplies KnownAnswers(const Pool& pool);

// The rows of a pool as they are now, kept alive by the snapshot, and KnownAnswers of it;
// catalogue, other answers, policy and time are left to the caller. nullopt: there is no such pool.
// Cheap enough for a lane's Peek or Read.
std::optional<Snapshot> SnapshotOf(const State& state, const std::string& pool);

// Fills in ClaimFacts::taken of capacity's answer, for the machines that may become Nodes of this
// pool.
void AddTaken(const State& state, Snapshot& snapshot);

}  // namespace muster::lifecycle
