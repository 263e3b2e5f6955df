#include "services/lifecycle/core/snapshot.h"

#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/state.h"

namespace muster::lifecycle {

std::optional<Snapshot> SnapshotOf(const State& state, const std::string& name) {
  const Versioned<Pool>* pool = state.table<Pool>().FindVersioned(name);
  if (pool == nullptr) return std::nullopt;
  const Versioned<Cluster>& cluster = *state.table<Cluster>().FindVersioned(ClusterNameOf(name));
  Snapshot snapshot;
  snapshot.pool = pool->row.get();
  snapshot.cluster = cluster.row.get();
  snapshot.keeps = {pool->row, cluster.row};
  for (const Node* node : state.NodesOf(name)) {
    snapshot.keeps.push_back(state.table<Node>().FindVersioned(node->name)->row);
    snapshot.nodes.push_back(node);
  }
  snapshot.version = state.VersionOf(name);
  return snapshot;
}

void AddTaken(const State& state, Snapshot& snapshot) {
  if (!snapshot.answers.claim.here()) return;
  ClaimFacts& claim = snapshot.answers.claim.value;
  claim.taken = state.TakenElsewhere(snapshot.pool->uid, claim.machines);
}

}  // namespace muster::lifecycle
