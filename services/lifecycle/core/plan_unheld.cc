// What happens when capacity and the rows contradict each other, because one of the two was
// restored to a past: capacity forgot who holds a machine, or lifecycle forgot that a Node went.
// (The extreme: a pool that a restore brought back after its claim was released holds no machine at
// all.) A machine that is a Node of one pool never becomes one of another. In the end capacity is
// believed: a Node whose machine the pool's claim does not hold goes, once the status has shown for
// long enough that there are any, and few at once.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/plan_parts.h"

namespace muster::lifecycle {
namespace {

// Removes the Node once `from` has come. True: only the give-up limit keeps it from that.
bool LeaveNode(const PlanFacts& facts, Draft& draft, Node& node, absl::Time from) {
  if (!IsInProgress(node.state) && !IsInService(node.state)) return false;  // it goes already
  if (facts.now < from) {
    draft.MoveDue(from);
    return false;
  }
  if (node.observed.active && facts.pool.spec.disable_unhealthy_node_eviction) {
    draft.AddDefer(
        DeferReason::kWaitsUntilIdle, node.name,
        absl::StrCat("Node ", node.machine,
                     " goes once it is idle (disableUnhealthyNodeEviction): capacity does not "
                     "know its machine as the NodePool's."));
    return false;
  }
  if (!MayGiveUp(facts, draft)) return true;
  if (IsUp(node.state) && !draft.MayDisrupt(node, "repair")) return false;
  const NodeState before = node.state;
  StartRemoval(draft, node, RemovalCause::kRepair, "its machine is not held by the pool's claim");
  if (node.state != before) CountGivenUp(facts, draft);
  return false;
}

}  // namespace

void DeferTaken(const PlanFacts& facts, Draft& draft, const std::string& machine) {
  draft.AddDefer(DeferReason::kMachineTaken, NodeName(facts.pool.name, machine),
                 absl::StrCat("Machine ", machine, " is still a Node of another NodePool."),
                 facts.now + facts.policy.retry);
}

int64_t LeaveUnheld(const PlanFacts& facts, Draft& draft) {
  if (facts.pool.deleting()) return 0;
  // The grace begins when the status first shows any (RenderAtTarget): no row says since when each
  // is unheld.
  const Condition* shown = FindCondition(facts.pool.status.conditions, condition::kAtTarget);
  const bool is_shown = shown != nullptr && shown->status == condition_status::kUnknown;
  const absl::Time from = (is_shown ? shown->last_transition_time : facts.now) + kUnheldGrace;
  int64_t late = 0;
  for (auto& [name, node] : draft.nodes) {
    if (facts.IsUnheld(node) && draft.HasStepsLeft())
      late += LeaveNode(facts, draft, node, from) ? 1 : 0;
  }
  return late;
}

}  // namespace muster::lifecycle
