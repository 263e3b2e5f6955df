// Scale-down and deletion: who goes, who is let go again, and drains.
#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/count_text.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/plan_parts.h"
#include "services/lifecycle/core/removals.h"
#include "services/lifecycle/core/text.h"
#include "services/lifecycle/core/victims.h"

namespace muster::lifecycle {
namespace {

void DeferRemoval(const PlanFacts& facts, Draft& draft, const DelayedRemoval& delayed) {
  const Node& node = *delayed.node;
  switch (delayed.why) {
    case DelayedRemoval::Why::kReboots:
      return draft.AddDefer(DeferReason::kWaitsForReboot, node.name,
                            absl::StrCat("Node ", node.machine, " goes once its reboot is over."),
                            BootsUntil(facts, node));
    case DelayedRemoval::Why::kWorks:
      return;  // told of all of them at once
    case DelayedRemoval::Why::kProtected:
      return draft.AddDefer(DeferReason::kProtected, node.name,
                            absl::StrCat("Node ", node.machine, " is protected until ",
                                         TimeText(node.protect_until_time), "."),
                            node.protect_until_time);
    case DelayedRemoval::Why::kBudget:
      return draft.AddDefer(
          DeferReason::kDisruptionBudget, node.name,
          absl::StrCat("Node ", node.machine, " waits (scale-down): ", delayed.denial, "."));
  }
}

// Tells of a Node in service that the autoscaler has marked: it is of no use to the pool until the
// mark is taken off or the target is lowered.
void DeferMarked(const PlanFacts& facts, Draft& draft, const Node& node) {
  if (facts.pool.deleting() || !IsInService(node.state) || !node.observed.autoscaler_marked) return;
  if (draft.awaited.contains(node.name)) return;
  draft.AddDefer(
      DeferReason::kMarked, node.name,
      absl::StrCat("Node ", node.machine,
                   " is marked for removal by the cluster autoscaler, whose taint keeps work away,"
                   " and the target does not ask for its removal."));
}

// Tells of an agent that was told to drain or terminate the Node and has not reported it in time.
void DeferSilent(const PlanFacts& facts, Draft& draft, const Node& node) {
  const Desired& desired = node.desired;
  const bool drains =
      node.state == NodeState::kDraining || (IsUp(node.state) && node.observed.active);
  if (drains && desired.force_drain && node.observed.drain_blocked_by.empty()) {
    draft.AddDefer(DeferReason::kAgentSilent, node.name,
                   absl::StrCat("The agent of Node ", node.machine, " was to have it drained by ",
                                TimeText(desired.drain_deadline), " and has not said that it is."));
  }
  const absl::Time gone_by = desired.phase_time + kTerminationGrace;
  if (node.state != NodeState::kPreparedForTerminate || !node.observed.removal_error.empty())
    return;
  if (facts.now < gone_by) return draft.MoveDue(gone_by);
  draft.AddDefer(DeferReason::kAgentSilent, node.name,
                 absl::StrCat("The agent of Node ", node.machine, " was to terminate it at ",
                              TimeText(desired.phase_time), " and has not said that it did."));
}

// Whether work that is left on a Node which drains of the pool's own accord is deleted after a
// while.
bool HasDeadline(const PlanFacts& facts, const Node& node) {
  if (node.removal_cause != RemovalCause::kRepair) return facts.ActiveToo();
  return !facts.pool.spec.disable_unhealthy_node_eviction || facts.pool.deleting();
}

// Whether the Node is drained only once its work has ended by itself; if so, that is told.
bool WaitsUntilIdle(const PlanFacts& facts, Draft& draft, const Node& node) {
  const bool ordered = node.orders.drain_time != kNever;
  // Whatever else it leaves for: an operator waits for it.
  const bool reserved = !node.reserved_desired.empty();
  if (!node.observed.active || ordered || reserved) return false;
  if (node.removal_cause == RemovalCause::kRepair && node.preempt_time == kNever &&
      !HasDeadline(facts, node)) {
    draft.AddDefer(DeferReason::kWaitsUntilIdle, node.name,
                   absl::StrCat("Node ", node.machine,
                                " is unhealthy and is replaced once it is idle "
                                "(disableUnhealthyNodeEviction)."));
    return true;
  }
  if (!IsGivenUp(node) || facts.ActiveToo()) return false;
  draft.AddDefer(DeferReason::kWaitsUntilIdle, node.name,
                 absl::StrCat("Node ", node.machine,
                              " was marked by the cluster autoscaler and goes once it is idle "
                              "(scaleDownStrategy ",
                              TextOf(facts.pool.spec.scale_down_strategy), ")."));
  return true;
}

// The drain of a cordoned Node, when its time has come.
void StartDrain(const PlanFacts& facts, Draft& draft, Node& node) {
  const bool preempted = node.preempt_time != kNever;
  absl::Time from = node.state_time + facts.policy.cordon_settle;
  absl::Time deadline = DrainDeadline(facts, node, facts.now);
  const bool ordered = node.orders.drain_time != kNever;
  // A drain that is ordered by force does not wait for the end of the notice.
  const bool noticed = preempted && !(ordered && node.orders.drain_forced);
  if (noticed) {
    // The notice is for the Node's work: without any, and once the pool can do without it, it goes
    // at once.
    const bool unwanted = facts.pool.deleting() || draft.KeptNodes() >= facts.pool.wanted_nodes();
    if (node.observed.active || !unwanted)
      from = node.preempt_time + facts.policy.preemption_notice;
    deadline = node.preempt_time + facts.policy.preemption_end;
    if (facts.now < from) {
      draft.AddDefer(DeferReason::kPreempting, node.name,
                     absl::StrCat("Node ", node.machine, " is to be preempted."), from);
    }
  }
  if (WaitsUntilIdle(facts, draft, node)) return;
  // Nothing of its work is deleted, so that what came to it must be seen before.
  if (!noticed && deadline == kNever)
    from = CordonIsEffectiveFrom(facts, draft, node, node.state_time);
  if (facts.now < from) return draft.MoveDue(from);
  draft.Step(node, NodeEvent::kDrain, "it is cordoned", RemovalCause::kNone, deadline);
}

// Whether the drain's deadline follows the pool's strategy, and not an order, a notice or a
// reservation.
bool IsOfStrategy(const Node& node) {
  const RemovalCause cause = node.removal_cause;
  return (cause == RemovalCause::kScaleDown || cause == RemovalCause::kRepair) &&
         node.preempt_time == kNever && node.orders.drain_time == kNever &&
         node.reserved_desired.empty();
}

// Gives a drain that has begun a deadline, or takes it off, if the strategy now says so. In a pool
// that is being deleted every drain has one.
void FollowStrategy(const PlanFacts& facts, Draft& draft, Node& node) {
  const bool has = node.desired.drain_deadline != kNever;
  if (has == HasDeadline(facts, node) || node.desired.force_drain) return;
  if (has && !IsOfStrategy(node)) return;
  draft.Apply(node,
              SetDrainDeadline{node.name, has ? kNever : facts.now + facts.policy.drain_deadline,
                               facts.pool.deleting() ? "the pool is being deleted"
                                                     : "the pool's strategy changed"});
}

// Past a drain's deadline: what is left is to be deleted, and a preempted Node goes at once.
void EnforceDeadline(const PlanFacts& facts, Draft& draft, Node& node) {
  absl::Time deadline = node.desired.drain_deadline;
  // Work that came to a Node which stays drained has as long as it would have had before.
  if (IsUp(node.state) && node.observed.active && !node.orders.drain_forced)
    deadline = std::max(deadline, node.observed.active_time + facts.policy.drain_deadline);
  if (facts.now < deadline) {
    if (deadline != kNever) draft.MoveDue(deadline);
    return;
  }
  // What is said to block its drain may be told of a moment longer.
  if (IsUp(node.state) && !node.observed.active) return;
  const bool left = node.observed.active || !node.observed.drain_blocked_by.empty();
  const bool preempted = node.preempt_time != kNever;
  if (left || !preempted)
    draft.Apply(node, ForceDrain{node.name, "its drain's deadline has passed"});
  if (preempted) draft.Step(node, NodeEvent::kExpire, "its preemption is at its end");
}

// Why `waiting` Nodes stay for now.
std::string WaitingText(const PlanFacts& facts, int64_t waiting, int64_t surplus) {
  const std::string until =
      absl::StrCat(" stay until they are idle (scaleDownStrategy ",
                   TextOf(facts.pool.spec.scale_down_strategy), ") or unprotected");
  if (waiting <= surplus || facts.snapshot.catalogue.nodes_per_rack() == 0)
    return absl::StrCat(CountText(waiting, "Node"), " more than wanted", until, ".");
  return absl::StrCat(CountText(waiting, "Node"), " in racks that are given up", until,
                      facts.pool.account.deferred_nodes == 0
                          ? "."
                          : "; what the NodePool lacks is asked for once they are gone.");
}

// Tells of the Nodes of the surplus and of leaving racks that cannot go yet and have no substitute.
void DeferSurplus(const PlanFacts& facts, Draft& draft, const Removals& removals, int64_t surplus) {
  const auto busy = std::count_if(
      removals.delayed.begin(), removals.delayed.end(), [](const DelayedRemoval& delayed) {
        return delayed.why == DelayedRemoval::Why::kWorks && delayed.awaited;
      });
  const bool known = KnowsRacks(facts.snapshot);
  if (!known && removals.open > 0) {
    draft.AddDefer(DeferReason::kCatalogueUnknown, facts.pool.name,
                   absl::StrCat(CountText(removals.open, "Node"),
                                " more than wanted can go only once the catalogue is read."));
  }
  const int64_t waiting = busy + (known ? removals.open : 0);
  if (waiting == 0) return;
  draft.AddDefer(DeferReason::kWaitsUntilIdle, facts.pool.name,
                 WaitingText(facts, waiting, surplus));
}

// True when a Node cordoned for repair is healthy and its machine is held by the pool's claim.
// While capacity does not answer, any Node may be unheld, unless the status shows that none is.
bool NeedsNoRepair(const PlanFacts& facts, const Node& node) {
  // A probation that was over when the Node was cordoned is not why it was.
  const bool well = !node.observed.unhealthy && !IsOnProbation(facts, node, node.state_time);
  if (node.removal_cause != RemovalCause::kRepair || node.preempt_time != kNever || !well)
    return false;
  return !facts.IsUnheld(node) && !MayHaveUnheld(facts.pool, facts.answers.claim);
}

// A Node that is preempted and may still stay: its machine is needed elsewhere no more as soon as
// enough others are free, such as those of Nodes that are to go by a scale-down.
bool MayBePreemptedInVain(const Node& node) {
  return node.state == NodeState::kCordoned && node.removal_cause == RemovalCause::kPreemption;
}

// Lets Nodes stay that are cordoned by a scale-down: those to which work came, and of the others as
// many as the pool lacks. It does not lack what is only cordoned for a preemption: that lowers no
// target, and idle Nodes that stayed for it would have busy ones killed in their place. For named
// ones others come, if any can: a target that rises takes names back (NameVictims).
void CancelScaleDown(const PlanFacts& facts, Draft& draft, std::vector<Node*> cordoned) {
  std::erase_if(cordoned, [&](Node* node) {
    return node->observed.active && !facts.ActiveToo() &&
           LetStay(facts, draft, *node, "work came to it");
  });
  if (!AsksForNoMore(facts.pool))
    std::erase_if(cordoned, [](const Node* node) { return node->removal_requested; });
  const int64_t preempted =
      std::count_if(draft.nodes.begin(), draft.nodes.end(),
                    [](const auto& entry) { return MayBePreemptedInVain(entry.second); });
  int64_t missing = facts.pool.wanted_nodes() - draft.KeptNodes() - preempted;
  if (missing <= 0 || cordoned.empty()) return;
  std::stable_sort(cordoned.begin(), cordoned.end(), [](const Node* a, const Node* b) {
    return std::tuple(a->observed.active, !a->observed.unhealthy) >
           std::tuple(b->observed.active, !b->observed.unhealthy);
  });
  const VictimRacks racks = RacksOf(facts, draft);
  racks.SortBack(cordoned);
  for (Node* node : cordoned) {
    if (missing > 0 && !racks.Leaves(*node) && LetStay(facts, draft, *node, "the target rose"))
      --missing;
  }
}

}  // namespace

absl::Time CordonIsEffectiveFrom(const PlanFacts& facts, Draft& draft, const Node& node,
                                 absl::Time told) {
  const absl::Duration settle = facts.policy.cordon_settle;
  const absl::Time from = CordonEffectiveTime(node, told, facts.policy);
  if (node.observed.cordon_time != kNever) return from + settle;
  // An agent of many Nodes takes a while.
  const absl::Time late = told + std::max(settle, facts.policy.cordon_patience / 4);
  if (facts.now < late) {
    draft.MoveDue(late);
  } else if (facts.now < from) {
    draft.AddDefer(DeferReason::kAgentSilent, node.name,
                   absl::StrCat("The agent of Node ", node.machine, " was to cordon it at ",
                                TimeText(told), " and has not said that it did."),
                   from);
  }
  return from;
}

VictimRacks RacksOf(const PlanFacts& facts, const Draft& draft) {
  std::vector<const Node*> held = draft.Nodes();
  std::erase_if(held, [&](const Node* node) { return facts.IsUnheld(*node); });
  return VictimRacks(facts.snapshot, held);
}

// Takes back removals that have not reached their drain and are not right any more: the target
// rose, work came, or the Node is healthy again, protected, or not reserved any more.
void CancelRemovals(const PlanFacts& facts, Draft& draft) {
  if (facts.pool.deleting()) return;
  std::vector<Node*> cordoned;
  for (auto& [name, node] : draft.nodes) {
    if (node.state != NodeState::kCordoned) continue;
    if (node.removal_cause == RemovalCause::kScaleDown && IsProtected(node, facts.now)) {
      LetStay(facts, draft, node, "it is protected");
    } else if (node.removal_cause == RemovalCause::kScaleDown && !IsGivenUp(node)) {
      cordoned.push_back(&node);
    }
    if (NeedsNoRepair(facts, node)) draft.Step(node, NodeEvent::kUncordon, "it is healthy again");
    const bool preempted = node.preempt_time != kNever;
    if (node.removal_cause == RemovalCause::kReservation && node.reserved_desired.empty() &&
        !preempted)
      LetStay(facts, draft, node, "it stays the organization's");
  }
  CancelScaleDown(facts, draft, std::move(cordoned));
}

absl::Time DrainDeadline(const PlanFacts& facts, const Node& node, absl::Time from) {
  const bool ordered = node.orders.drain_time != kNever;
  if (ordered && node.orders.drain_forced) return from;
  // An operator waits for a reserved Node.
  const bool has = ordered || !node.reserved_desired.empty() || HasDeadline(facts, node);
  return has ? from + facts.policy.drain_deadline : kNever;
}

bool LetStay(const PlanFacts& facts, Draft& draft, Node& node, absl::string_view reason) {
  if (!node.observed.unhealthy && !IsOnProbation(facts, node, facts.now))
    return draft.Step(node, NodeEvent::kUncordon, reason);
  if (!draft.Step(node, NodeEvent::kUnhealthy, reason)) return false;
  draft.budget.FallIll(node.machine);
  return true;
}

void StartRemovals(const PlanFacts& facts, Draft& draft) {
  const std::vector<const Node*> looked_at = draft.LookedAt();
  const int64_t surplus = SurplusOf(facts.snapshot, looked_at, draft.KeptNodes());
  if (surplus <= 0 && facts.snapshot.catalogue.nodes_per_rack() == 0 &&
      CountGoingByTarget(facts.snapshot, looked_at) == 0)
    return;
  const Removals removals = SelectRemovals(facts.snapshot, draft.Nodes(), surplus, draft.budget);
  draft.chose |= removals.chose;
  for (const DelayedRemoval& delayed : removals.delayed) {
    DeferRemoval(facts, draft, delayed);
    if (delayed.awaited) draft.awaited.insert(delayed.node->name);
  }
  DeferSurplus(facts, draft, removals, surplus);
  if (removals.going.empty()) return;
  const size_t now_going = std::min(removals.going.size(), kMaxStepsAPlan);
  draft.AddEvent(
      EventReason::kNodePoolRemoveNodes,
      absl::StrCat("Removing ", CountText(static_cast<int64_t>(now_going), "Node"), "."));
  const RemovalCause cause =
      facts.pool.deleting() ? RemovalCause::kDeletion : RemovalCause::kScaleDown;
  for (size_t i = 0; i < now_going; ++i) {
    StartRemoval(draft, draft.LookAt(removals.going[i]->name), cause,
                 facts.pool.deleting() ? "the pool is being deleted" : "the pool is over target");
  }
}

void StartRemoval(Draft& draft, Node& node, RemovalCause cause, absl::string_view reason) {
  const bool unbooted =
      IsInProgress(node.state) && node.desired.phase == Phase::kUndecided && !draft.MayRunUnknown();
  for (const NodeEvent event : {NodeEvent::kDiscard, NodeEvent::kAbort, NodeEvent::kCordon}) {
    if (event == NodeEvent::kDiscard && !unbooted) continue;
    if (draft.Step(node, event, reason, cause)) return;
  }
}

void DrainNodes(const PlanFacts& facts, Draft& draft) {
  for (auto& [name, node] : draft.nodes) {
    if (node.state == NodeState::kCordoned) StartDrain(facts, draft, node);
    const bool drains = IsBeingDrained(node);
    if (node.state == NodeState::kDraining) FollowStrategy(facts, draft, node);
    if (node.state == NodeState::kDraining) PreemptDrained(facts, draft, node);
    if (drains) EnforceDeadline(facts, draft, node);
    if (!node.observed.drain_blocked_by.empty()) {
      const absl::Time deadline = node.desired.drain_deadline;
      draft.AddDefer(DeferReason::kDrainBlocked, name,
                     absl::StrCat("Node ", node.machine, " cannot be drained",
                                  BecauseText(node.observed.drain_blocked_by)),
                     facts.now < deadline ? deadline : kNever);
    }
    if (!node.observed.removal_error.empty()) {
      draft.AddDefer(DeferReason::kRemovalFailed, name,
                     absl::StrCat("Node ", node.machine, " could not be removed",
                                  BecauseText(node.observed.removal_error)));
    }
    DeferSilent(facts, draft, node);
    DeferMarked(facts, draft, node);
  }
}

}  // namespace muster::lifecycle
