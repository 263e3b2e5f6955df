#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "services/common/state.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/etag.h"
#include "services/lifecycle/core/explain.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/state.h"

namespace muster::lifecycle {

// What a mutation of a pool would do. See muster.lifecycle.v1.NodePoolPreview.
struct Preview {
  std::string invalid = {};  // why the pool is invalid then; empty: it is not
  int64_t charge = 0;        // Nodes charged in the end
  int64_t charge_delta = 0;  // against now
  int64_t more_nodes = 0;    // asked of capacity beyond what it was asked for
  // What capacity would answer when asked for them; only where more_nodes > 0.
  PeerReply<ClaimFacts> claim = {};
  std::string capacity = {};              // the message of the pool's condition then
  std::vector<std::string> victims = {};  // machines, at most kMaxNamedMachines
  int64_t victim_count = 0;
  int64_t waiting_victims = 0;  // of these: those that IdleOnly leaves alone while they have work
  std::string active = {};      // profile ids; empty: none or not known
  std::string pending = {};
  int64_t nodes_to_reboot = 0;
  std::optional<Grantable> grantable = {};  // as the pool's status tells it then
};

// What an order to a Node would begin. See muster.lifecycle.v1.NodePreview.
struct NodePreview {
  Node node = {};  // as the next pass leaves it
  std::vector<Obstacle> obstacles = {};
};

// A mutation of a pool, or of one of its Nodes, that was tried and is taken back.
struct DryRun {
  std::optional<Pool> before = {};  // nullopt: a new pool
  Pool after = {};
  Cluster cluster = {};
  std::vector<Node> nodes = {};  // as the mutation leaves them
  // By which it is known whether the database was ever restored; nobody's if nobody has led yet.
  Lease lease = {};
};
struct Tried {
  std::optional<DryRun> dry_run = {};  // nullopt: there is no pool
  Outcome outcome = {};
};

// `before`: the pool before the command; `state`: the rows that the command left. A command of a
// Node leaves its pool as it is. nullopt: the outcome has no pool.
std::optional<DryRun> DryRunOf(const State& state, std::optional<Pool> before,
                               const Outcome& outcome);

// Decides a command of a pool or a Node to see what it would do. Its changes stay on the staged
// state: the caller must take them back.
template <class Command>
absl::StatusOr<Tried> Try(StagedState<State>& staged, const Command& command, absl::Time now) {
  const Pool* found = staged.state().table<Pool>().Find(command.name);
  std::optional<Pool> before = found == nullptr ? std::nullopt : std::optional(*found);
  const Node* node = staged.state().table<Node>().Find(command.name);
  std::string etag = before ? EtagOf(*before) : node != nullptr ? EtagOf(*node) : "";
  ASSIGN_OR_RETURN(Outcome outcome, Decide(staged, command, now));
  outcome.etag_there = std::move(etag);
  std::optional<DryRun> dry_run = DryRunOf(staged.state(), std::move(before), outcome);
  return Tried{std::move(dry_run), std::move(outcome)};
}

// Goes through a mutation's consequences on private rows, with the same demand, plans and commands
// that would carry it out, so that previews and what then happens cannot differ: pass by pass,
// until nothing is left to ask of the other services before agents act. `look`: returns what a pass
// sees of the dry run's pool in these rows, with what the other services would answer.
Preview Rehearse(const DryRun& dry_run, absl::FunctionRef<Snapshot(const State&)> look);

// Likewise for a command of `node`, but one pass only.
NodePreview RehearseNode(const DryRun& dry_run, const Node& node,
                         absl::FunctionRef<Snapshot(const State&)> look);

}  // namespace muster::lifecycle
