#include "services/lifecycle/core/snapshot.h"

#include <algorithm>

#include "services/common/error_reasons.h"
#include "services/lifecycle/core/machine_cursor.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/state.h"

namespace muster::lifecycle {

bool IsReleased(const Pool& pool) { return pool.account.released && !pool.deleting(); }

PeerReplies KnownAnswers(const Pool& pool) {
  PeerReplies known;
  if (!IsReleased(pool)) return known;
  known.holding.state = PeerReply<HoldingFacts>::State::kRefused;
  known.holding.reason = muster::error::kPoolReleased;
  known.claim.state = PeerReply<ClaimFacts>::State::kRefused;
  known.claim.reason = muster::error::kPoolReleased;
  return known;
}

std::optional<Snapshot> SnapshotOf(const State& state, const std::string& name) {
  const Versioned<Pool>* pool = state.table<Pool>().FindVersioned(name);
  if (pool == nullptr) return std::nullopt;
  const Versioned<Cluster>& cluster = *state.table<Cluster>().FindVersioned(ClusterNameOf(name));
  Snapshot snapshot;
  snapshot.pool = pool->row.get();
  snapshot.cluster = cluster.row.get();
  snapshot.keeps = {pool->row, cluster.row};
  snapshot.answers = KnownAnswers(*pool->row);
  const Lease* lease = state.table<Lease>().Find(Lease::kName);
  snapshot.restored = lease != nullptr && lease->generation_floor > 0;
  snapshot.version = pool->revision;  // State::VersionOf, in the same walk
  state.ForEachNodeOf(name, [&](const Versioned<Node>& node) {
    snapshot.node_rows.push_back(node.row);
    snapshot.nodes.push_back(node.row.get());
    snapshot.version = std::max(snapshot.version, node.revision);
  });
  return snapshot;
}

void AddTaken(const State& state, Snapshot& snapshot) {
  if (!snapshot.answers.claim.here()) return;
  ClaimFacts& claim = snapshot.answers.claim.value;
  // A machine that is a Node of this pool already is not assigned again before that row is gone.
  MachineCursor<const Node*> nodes(snapshot.nodes);
  std::vector<std::string> asked;
  for (const std::string& machine : claim.machines) {
    const Node* const* node = nodes.Find(machine);
    if (node == nullptr || IsReturnable((*node)->state)) asked.push_back(machine);
  }
  claim.taken = state.TakenElsewhere(snapshot.pool->uid, asked);
}

}  // namespace muster::lifecycle
