// Scale-down and deletion: who goes, who is let go again, and drains.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/health.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/planner.h"
#include "services/lifecycle/core/text.h"

namespace muster::lifecycle {

// Removals that did not reach their drain and are no longer right: the target rose, work came, or
// the Node is healthy again.
void Planner::LetGo() {
  if (pool_.deleting()) return;
  std::vector<Node*> cordoned;
  for (auto& [name, node] : nodes_) {
    if (node.state != NodeState::kCordoned) continue;
    if (node.removal_cause == RemovalCause::kScaleDown && !IsGivenUp(node))
      cordoned.push_back(&node);
    if (node.removal_cause == RemovalCause::kRepair && !node.observed.unhealthy &&
        !HasRelapsed(node) && !IsUnheld(node)) {
      Step(node, NodeEvent::kUncordon, "it is healthy again");
    }
    if (node.removal_cause == RemovalCause::kReservation && node.reserved_desired.empty())
      Step(node, NodeEvent::kUncordon, "it stays the organization's");
  }
  int64_t missing = pool_.wanted_nodes() - Keeping();
  std::stable_sort(cordoned.begin(), cordoned.end(), [](const Node* a, const Node* b) {
    return a->observed.active > b->observed.active;
  });
  for (Node* node : cordoned) {
    const bool busy = node->observed.active && !ActiveToo();
    if (!busy && missing <= 0) continue;
    if (Step(*node, NodeEvent::kUncordon, busy ? "work came to it" : "the target rose")) --missing;
  }
}

void Planner::Remove() {
  const Removals removals =
      SelectRemovals(pool_, Nodes(), Keeping() - pool_.wanted_nodes(), budget_, now());
  for (const DelayedRemoval& delayed : removals.delayed) Delay(delayed);
  const auto busy = std::count_if(
      removals.delayed.begin(), removals.delayed.end(), [](const DelayedRemoval& delayed) {
        return delayed.why == DelayedRemoval::Why::kWorks && delayed.awaited;
      });
  if (busy + removals.open > 0) {
    Wait(DeferReason::kWaitsUntilIdle, pool_.name,
         absl::StrCat(CountText(busy + removals.open, "Node"),
                      " more than wanted stay until they are idle (scaleDownStrategy ",
                      pool_.spec.scale_down_strategy, ") or unprotected."));
  }
  if (removals.going.empty()) return;
  const size_t now_going = std::min(removals.going.size(), kMaxStepsAPlan);
  Say(EventReason::kNodePoolRemoveNodes,
      absl::StrCat("Removing ", CountText(static_cast<int64_t>(now_going), "Node"), "."));
  const RemovalCause cause = pool_.deleting() ? RemovalCause::kDeletion : RemovalCause::kScaleDown;
  for (size_t i = 0; i < now_going; ++i) {
    Dismiss(nodes_[removals.going[i]->name], cause,
            pool_.deleting() ? "the pool is being deleted" : "the pool is over target");
  }
}

void Planner::Delay(const DelayedRemoval& delayed) {
  const Node& node = *delayed.node;
  switch (delayed.why) {
    case DelayedRemoval::Why::kReboots: {
      // One that is overdue is given up as soon as the limit of those allows.
      const absl::Time until = node.desired.phase_time + policy().boot_deadline;
      return Wait(DeferReason::kWaitsForReboot, node.name,
                  absl::StrCat("Node ", node.machine, " goes once its reboot is over."),
                  now() < until ? until : kNever);
    }
    case DelayedRemoval::Why::kWorks:
      return;  // told of all of them at once
    case DelayedRemoval::Why::kProtected:
      return Wait(DeferReason::kProtected, node.name,
                  absl::StrCat("Node ", node.machine, " is protected until ",
                               TimeText(node.protect_until_time), "."),
                  node.protect_until_time);
    case DelayedRemoval::Why::kBudget:
      return Wait(
          DeferReason::kDisruptionBudget, node.name,
          absl::StrCat("Node ", node.machine, " waits (scale-down): ", delayed.denial, "."));
  }
}

void Planner::Dismiss(Node& node, RemovalCause cause, absl::string_view reason) {
  const bool unbooted = IsInProgress(node.state) && node.desired.phase == Phase::kUndecided;
  for (const NodeEvent event : {NodeEvent::kDiscard, NodeEvent::kAbort, NodeEvent::kCordon}) {
    if (event == NodeEvent::kDiscard && !unbooted) continue;
    if (Step(node, event, reason, cause)) return;
  }
}

void Planner::Drain() {
  for (auto& [name, node] : nodes_) {
    if (node.state == NodeState::kCordoned) StartDrain(node);
    const bool drained = node.state != NodeState::kDraining && node.state != NodeState::kProduction;
    if (node.state == NodeState::kDraining) FollowStrategy(node);
    if (node.state == NodeState::kDraining) PreemptDrained(node);
    if (node.desired.drain && !drained) MindDeadline(node);
    if (!node.observed.drain_blocked_by.empty()) {
      const absl::Time deadline = node.desired.drain_deadline;
      Wait(DeferReason::kDrainBlocked, name,
           absl::StrCat("Node ", node.machine, " cannot be drained",
                        BecauseText(node.observed.drain_blocked_by)),
           now() < deadline ? deadline : kNever);
    }
    if (!node.observed.removal_error.empty()) {
      Wait(DeferReason::kRemovalFailed, name,
           absl::StrCat("Node ", node.machine, " could not be removed",
                        BecauseText(node.observed.removal_error)));
    }
    NameTheSilent(node);
    NameTheMarked(node);
  }
}

// In service, and of no use to the pool until its mark is taken off or the target is lowered.
void Planner::NameTheMarked(const Node& node) {
  if (pool_.deleting() || !IsInService(node.state) || !node.observed.autoscaler_marked) return;
  Wait(DeferReason::kMarked, node.name,
       absl::StrCat("Node ", node.machine,
                    " is marked for removal by the cluster autoscaler, whose taint keeps work away,"
                    " and the target does not ask for its removal."));
}

// Agents that were told, have had their time and say nothing.
void Planner::NameTheSilent(const Node& node) {
  const Desired& desired = node.desired;
  if (node.state == NodeState::kDraining && desired.force_drain &&
      node.observed.drain_blocked_by.empty()) {
    Wait(DeferReason::kAgentSilent, node.name,
         absl::StrCat("The agent of Node ", node.machine, " was to have it drained by ",
                      TimeText(desired.drain_deadline), " and has not said that it is."));
  }
  const absl::Time gone_by = desired.phase_time + kTerminationGrace;
  if (node.state != NodeState::kPreparedForTerminate || !node.observed.removal_error.empty())
    return;
  if (now() < gone_by) return Due(gone_by);
  Wait(DeferReason::kAgentSilent, node.name,
       absl::StrCat("The agent of Node ", node.machine, " was to terminate it at ",
                    TimeText(desired.phase_time), " and has not said that it did."));
}

// The drain of a cordoned Node, when its time has come.
void Planner::StartDrain(Node& node) {
  const bool preempted = node.removal_cause == RemovalCause::kPreemption;
  const bool evict = !pool_.spec.disable_unhealthy_node_eviction || pool_.deleting();
  const absl::Time forced = now() + policy().drain_deadline;
  absl::Time from = node.state_time + policy().cordon_settle;
  absl::Time deadline = ActiveToo() ? forced : kNever;
  if (preempted) {
    // Its notice is for work; without any, and once the pool does without it, it goes at once.
    const bool unwanted = pool_.deleting() || Keeping() >= pool_.wanted_nodes();
    if (node.observed.active || !unwanted) from = node.preempt_time + policy().preemption_notice;
    deadline = node.preempt_time + policy().preemption_end;
    if (now() < from) {
      Wait(DeferReason::kPreempting, node.name,
           absl::StrCat("Node ", node.machine, " is to be preempted."), from);
    }
  }
  if (node.removal_cause == RemovalCause::kRepair) {
    if (node.observed.active && !evict) {
      Wait(DeferReason::kWaitsUntilIdle, node.name,
           absl::StrCat("Node ", node.machine,
                        " is unhealthy and is replaced once it is idle "
                        "(disableUnhealthyNodeEviction)."));
      return;
    }
    deadline = evict ? forced : kNever;
  }
  if (node.removal_cause == RemovalCause::kReservation) deadline = forced;
  if (IsGivenUp(node) && node.observed.active && !ActiveToo()) {
    Wait(DeferReason::kWaitsUntilIdle, node.name,
         absl::StrCat("Node ", node.machine,
                      " was marked by the cluster autoscaler and goes once it is idle "
                      "(scaleDownStrategy ",
                      pool_.spec.scale_down_strategy, ")."));
    return;
  }
  if (now() < from) return Due(from);
  Step(node, NodeEvent::kDrain, "it is cordoned", RemovalCause::kNone, deadline);
}

// The deadline of a scale-down is that of the strategy in force.
void Planner::FollowStrategy(Node& node) {
  if (node.removal_cause != RemovalCause::kScaleDown || node.preempt_time != kNever) return;
  const bool has = node.desired.drain_deadline != kNever;
  if (has == ActiveToo() || node.desired.force_drain) return;
  Take(node, SetDrainDeadline{node.name, has ? kNever : now() + policy().drain_deadline,
                              "the pool's strategy changed"});
}

// Past the deadline of a drain what is left is deleted; a preempted Node then goes at once.
void Planner::MindDeadline(Node& node) {
  if (pool_.deleting() && node.desired.drain_deadline == kNever) {
    Take(node,
         SetDrainDeadline{node.name, now() + policy().drain_deadline, "the pool is being deleted"});
  }
  const absl::Time deadline = node.desired.drain_deadline;
  if (now() < deadline) {
    if (deadline != kNever) Due(deadline);
    return;
  }
  const bool left = node.observed.active || !node.observed.drain_blocked_by.empty();
  if (node.state == NodeState::kProduction && !left) return;
  const bool preempted = node.preempt_time != kNever;
  if (left || !preempted) Take(node, ForceDrain{node.name, "its drain's deadline has passed"});
  if (preempted) Step(node, NodeEvent::kExpire, "its preemption is at its end");
}

}  // namespace muster::lifecycle
