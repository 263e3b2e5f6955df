// Capacity and the rows contradict each other: capacity forgot who holds a machine, or lifecycle
// forgot that a Node went (one of them was restored to a past). Nothing is given twice: a machine
// that is a Node of one pool becomes none of another. A pool that a restore brought back after its
// claim was released is the extreme of it: its machines are others' or nobody's. And capacity is
// believed in the end: a Node whose machine the pool's claim does not hold goes, once this was
// shown for long enough, and not many at once.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/planner.h"

namespace muster::lifecycle {

bool Planner::IsUnheld(const Node& node) const {
  return lifecycle::IsUnheld(pool_, node, answers().claim);
}

bool Planner::IsTaken(const std::string& machine) {
  const std::vector<std::string>& taken = answers().claim.value.taken;
  if (std::find(taken.begin(), taken.end(), machine) == taken.end()) return false;
  Wait(DeferReason::kMachineTaken, NodeName(pool_.name, machine),
       absl::StrCat("Machine ", machine, " is still a Node of another NodePool."),
       now() + policy().retry);
  return true;
}

void Planner::LeaveUnheld() {
  if (pool_.deleting()) return;
  // Since when it is shown (RenderAtTarget).
  const Condition* shown = FindCondition(pool_.status.conditions, "AtTarget");
  const bool is_shown = shown != nullptr && shown->status == "Unknown";
  const absl::Time from = (is_shown ? shown->last_transition_time : now()) + kUnheldGrace;
  for (auto& [name, node] : nodes_) {
    if (IsUnheld(node) && Room()) Leave(node, from);
  }
}

void Planner::Leave(Node& node, absl::Time from) {
  if (!IsInProgress(node.state) && !IsInService(node.state)) return;  // it goes already
  if (now() < from) return Due(from);
  if (node.observed.active && pool_.spec.disable_unhealthy_node_eviction) {
    Wait(DeferReason::kWaitsUntilIdle, node.name,
         absl::StrCat("Node ", node.machine,
                      " goes once it is idle (disableUnhealthyNodeEviction): capacity does not "
                      "know its machine as the NodePool's."));
    return;
  }
  if (!MayGiveUp()) {
    ++late_unheld_;
    return;
  }
  const bool in_service = node.state == NodeState::kProduction || node.state == NodeState::kTriage;
  if (in_service && !MayDisrupt(node, "repair")) return;
  const NodeState before = node.state;
  Dismiss(node, RemovalCause::kRepair, "its machine is not held by the pool's claim");
  if (node.state != before) CountGivenUp();
}

}  // namespace muster::lifecycle
