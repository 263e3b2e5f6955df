#include "services/lifecycle/core/put_pool.h"

#include <algorithm>
#include <utility>

#include "services/common/condition_names.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/summary.h"

namespace muster::lifecycle {
namespace {

// What is asked of quota and capacity follows from these (demand.h): a change of one of them is a
// new generation.
bool AsksTheSame(const Pool& a, const Pool& b) {
  const auto complete = [](const Pool& pool) {
    return ReasonOf(pool.status.conditions, condition::kNodesRemoved) == reason::kComplete;
  };
  return a.wanted_nodes() == b.wanted_nodes() && a.deleting() == b.deleting() &&
         a.account.granted_nodes == b.account.granted_nodes &&
         a.account.requested_nodes == b.account.requested_nodes &&
         a.account.removed_nodes == b.account.removed_nodes && complete(a) == complete(b) &&
         a.account.claim_unknown == b.account.claim_unknown &&
         a.account.deferred_nodes == b.account.deferred_nodes &&
         AsksForNoMore(a) == AsksForNoMore(b) && IsPublishedValid(a) == IsPublishedValid(b) &&
         a.spec.priority == b.spec.priority && a.spec.gang == b.spec.gang &&
         a.spec.node_affinity == b.spec.node_affinity;
}

}  // namespace

void PutPool(StagedState<State>& staged, const Pool& before, Pool after, bool asks_anew) {
  if (asks_anew || !AsksTheSame(before, after)) ++after.account.generation;
  staged.Put(std::move(after));
}

void ChangeSpec(Pool& pool, Spec spec, absl::Time now) {
  if (pool.spec == spec) return;
  pool.spec = std::move(spec);
  ++pool.generation;
  SummarizeUnobserved(pool, now);
}

Outcome PoolOutcome(const State& state, const std::string& name) {
  const Versioned<Pool>* pool = state.table<Pool>().FindVersioned(name);
  return Outcome{.pool = *pool->row, .revision = pool->revision};
}

void NameVictims(StagedState<State>& staged, const std::string& pool,
                 const std::vector<std::string>& machines) {
  for (const std::string& machine : machines) {
    const Node* found = staged.state().table<Node>().Find(NodeName(pool, machine));
    if (found == nullptr || found->removal_requested) continue;
    Node node = *found;
    node.removal_requested = true;
    staged.Put(std::move(node));
  }
}

void ForgetVictims(StagedState<State>& staged, const std::string& pool) {
  for (const Node* found : staged.state().NodesOf(pool)) {
    if (!found->removal_requested) continue;
    Node node = *found;
    node.removal_requested = false;
    staged.Put(std::move(node));
  }
}

}  // namespace muster::lifecycle
