#include "services/lifecycle/core/put_pool.h"

#include <algorithm>
#include <utility>

#include "services/common/condition_names.h"
#include "services/lifecycle/core/asked_to_go.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/summary.h"
#include "services/lifecycle/core/victims.h"

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
         a.account.prefill_nodes == b.account.prefill_nodes &&
         AsksForNoMore(a) == AsksForNoMore(b) && IsPublishedValid(a) == IsPublishedValid(b) &&
         a.spec.priority == b.spec.priority && a.spec.gang == b.spec.gang &&
         a.spec.node_affinity == b.spec.node_affinity;
}

// The Nodes of a pool by what a new target has to know of them.
struct Present {
  explicit Present(const std::vector<const Node*>& nodes);

  int64_t kept = 0;                     // Stays
  std::vector<const Node*> named = {};  // of these, the next to be asked to go first
  int64_t leaving = 0;                  // others that no scale-down takes
  int64_t leaving_named = 0;            // of these: nobody is to come for them
};

Present::Present(const std::vector<const Node*>& nodes) {
  std::vector<const Node*> rebooting;
  for (const Node* node : nodes) {
    const RemovalCause cause = node->removal_cause;
    if (Stays(node->state)) {
      ++kept;
      if (!IsNamed(*node)) continue;
      (node->state == NodeState::kReconfiguring ? rebooting : named).push_back(node);
    } else if (cause != RemovalCause::kScaleDown && cause != RemovalCause::kDeletion) {
      ++leaving;
      leaving_named += IsNamed(*node) ? 1 : 0;
    }
  }
  named = VictimsInOrder(named);
  named.insert(named.end(), rebooting.begin(), rebooting.end());
  std::stable_partition(named.begin(), named.end(),
                        [](const Node* node) { return IsAskedToGo(*node); });
}

int64_t CountAsked(const std::vector<const Node*>& nodes) {
  return std::count_if(nodes.begin(), nodes.end(),
                       [](const Node* node) { return Stays(node->state) && IsAskedToGo(*node); });
}

// Makes the Node one that is asked to go since then; kNever: not any more. Its replacement is then
// asked for no more: 1, if it was before.
int64_t SetAsk(Node& node, absl::Time since) {
  const bool awaited = node.replace_time != kNever;
  node.asked_to_go_time = since;
  node.replace_time = kNever;
  return awaited ? 1 : 0;
}

void ForgetNames(StagedState<State>& staged, const std::string& pool) {
  for (const Node* found : staged.state().NodesOf(pool)) {
    if (!found->removal_requested) continue;
    Node node = *found;
    node.removal_requested = false;
    ForgetAsk(node);
    staged.Put(std::move(node));
  }
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

void NameVictims(StagedState<State>& staged, Pool& after, const std::vector<std::string>& machines,
                 const std::optional<TypeFacts>& type, absl::Time now) {
  const int64_t target = staged.state().table<Pool>().Find(after.name)->spec.target_nodes;
  const int64_t rise = after.spec.target_nodes - target;
  const int64_t asked_before = rise == 0 ? 0 : CountAsked(staged.state().NodesOf(after.name));
  if (rise > 0) ForgetNames(staged, after.name);
  for (const std::string& machine : machines) {
    const Node* found = staged.state().table<Node>().Find(NodeName(after.name, machine));
    if (found == nullptr || found->removal_requested) continue;
    Node node = *found;
    node.removal_requested = true;
    staged.Put(std::move(node));
  }
  if (rise == 0) return;
  const std::vector<const Node*> nodes = staged.state().NodesOf(after.name);
  const Present is(nodes);
  const int64_t all = std::max(target + asked_before, is.kept);  // that were to be had, at least
  // Nobody is to come for these anyway, so that no target has to be lowered for them.
  const int64_t given_up = std::max<int64_t>(0, is.kept + is.leaving - all);
  const int64_t named = std::max<int64_t>(0, is.leaving_named - given_up);
  const bool by_racks = type && type->nodes_per_rack > 0;
  const int64_t most = by_racks ? 0 : rise > 0 ? CountAsked(nodes) : std::ssize(is.named);
  const int64_t asked = std::clamp<int64_t>(all - after.spec.target_nodes - named, 0, most);
  int64_t replaced = 0;
  for (int64_t i = 0; i < std::ssize(is.named); ++i) {
    Node node = *is.named[static_cast<size_t>(i)];
    if ((i < asked) == IsAskedToGo(node)) continue;
    replaced += SetAsk(node, i < asked ? now : kNever);
    staged.Put(std::move(node));
  }
  after.account.prefill_nodes =
      std::max<int64_t>(0, after.account.prefill_nodes + asked - asked_before - replaced);
}

}  // namespace muster::lifecycle
