// Scale-down and deletion: who goes, who is let go again, and drains.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/planner.h"
#include "services/lifecycle/core/victims.h"

namespace muster::lifecycle {
namespace {

// By the caller or the autoscaler.
bool IsNamed(const Node& node) { return node.removal_requested || node.observed.autoscaler_marked; }

}  // namespace

// Removals that did not reach their drain and are no longer right: the target rose, work came, or
// the Node is healthy again.
void Planner::LetGo() {
  if (pool_.deleting()) return;
  std::vector<Node*> cordoned;
  for (auto& [name, node] : nodes_) {
    if (node.state != NodeState::kCordoned) continue;
    if (node.removal_cause == RemovalCause::kScaleDown) cordoned.push_back(&node);
    if (node.removal_cause == RemovalCause::kRepair && !node.observed.unhealthy) {
      Step(node, NodeEvent::kUncordon, "it is healthy again");
    }
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

// Whether a Node that is to go may go at this time; says why not.
bool Planner::MayGoNow(const Node& node) {
  if (pool_.deleting()) return true;
  if (node.protect_until_time != kNever && now() < node.protect_until_time) {
    Wait(DeferReason::kProtected, node.name,
         absl::StrCat("Node ", node.machine, " is protected until ",
                      absl::FormatTime(node.protect_until_time, absl::UTCTimeZone()), "."),
         node.protect_until_time);
    return false;
  }
  const bool in_service = node.state == NodeState::kProduction || node.state == NodeState::kTriage;
  return !in_service || MayDisrupt(node, "scale-down");
}

void Planner::Remove() {
  int64_t surplus = Keeping() - pool_.wanted_nodes();
  if (surplus <= 0) return;
  std::vector<Node*> going;
  int64_t busy = 0;
  std::vector<const Node*> victims = VictimsInOrder(Nodes(), /*active_too=*/true);
  for (auto& [name, node] : nodes_) {
    if (node.state != NodeState::kReconfiguring) continue;
    // A reboot is awaited, unless all goes. Nobody goes instead of a Node that was named.
    if (pool_.deleting()) victims.push_back(&node);
    if (!pool_.deleting() && IsNamed(node) && surplus > 0) {
      --surplus;
      Wait(DeferReason::kWaitsForReboot, name,
           absl::StrCat("Node ", node.machine, " goes once its reboot is over."));
    }
  }
  for (const Node* victim : victims) {
    if (surplus == 0) break;
    // Named ones keep their place: nobody goes instead of them.
    const bool named = IsNamed(*victim);
    const bool waits = victim->observed.active && !ActiveToo();
    if (waits && !named) continue;
    if (waits) {
      --surplus;
      ++busy;
      continue;
    }
    if (!MayGoNow(*victim)) {
      // A budget that is used up lets nobody go; a protected Node lets others go.
      const bool is_protected =
          victim->protect_until_time > now() && victim->protect_until_time != kNever;
      if (!is_protected || named) --surplus;
      continue;
    }
    --surplus;
    if (going.size() < kMaxStepsAPlan) going.push_back(&nodes_[victim->name]);
  }
  if (busy + surplus > 0) {
    Wait(DeferReason::kWaitsUntilIdle, pool_.name,
         absl::StrCat(CountText(busy + surplus, "Node"),
                      " more than wanted stay until they are idle (scaleDownStrategy ",
                      pool_.spec.scale_down_strategy, ") or unprotected."));
  }
  if (going.empty()) return;
  Say("CWNodePoolRemoveNodes",
      absl::StrCat("Removing ", CountText(static_cast<int64_t>(going.size()), "Node"), "."));
  const RemovalCause cause = pool_.deleting() ? RemovalCause::kDeletion : RemovalCause::kScaleDown;
  for (Node* node : going) {
    Dismiss(*node, cause,
            pool_.deleting() ? "the pool is being deleted" : "the pool is over target");
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
    if (node.desired.drain && !drained) MindDeadline(node);
    if (!node.observed.drain_blocked_by.empty()) {
      const absl::Time deadline = node.desired.drain_deadline;
      Wait(DeferReason::kDrainBlocked, name,
           absl::StrCat("Node ", node.machine,
                        " cannot be drained: ", node.observed.drain_blocked_by, "."),
           now() < deadline ? deadline : kNever);
    }
    if (!node.observed.removal_error.empty()) {
      Wait(DeferReason::kRemovalFailed, name,
           absl::StrCat("Node ", node.machine,
                        " could not be removed: ", node.observed.removal_error, "."));
    }
  }
}

// The drain of a cordoned Node, when its time has come.
void Planner::StartDrain(Node& node) {
  const bool preempted = node.removal_cause == RemovalCause::kPreemption;
  const bool evict = !pool_.spec.disable_unhealthy_node_eviction || pool_.deleting();
  const absl::Time forced = now() + policy().drain_deadline;
  absl::Time from = node.state_time + policy().cordon_settle;
  absl::Time deadline = ActiveToo() ? forced : kNever;
  if (preempted) {
    from = node.preempt_time + kPreemptionDrain;
    deadline = node.preempt_time + kPreemptionEnd;
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
  if (now() < from) return Due(from);
  Step(node, NodeEvent::kDrain, "it is cordoned", RemovalCause::kNone, deadline);
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
