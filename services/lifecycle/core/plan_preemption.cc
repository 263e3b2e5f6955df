// Spot preemption: T+0 cordon, T+2 min drain, T+7 min removal at the latest. T+0 is when the Node
// is cordoned, so that the notice is never shortened by what happened before.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/plan_parts.h"

namespace muster::lifecycle {
namespace {

void BeginPreemption(const PlanFacts& facts, Draft& draft, Node& node) {
  const std::string reason = "capacity reclaims its machine";
  if (node.state == NodeState::kPreparedForTerminate) return;  // it goes anyway
  draft.Apply(node, SetPreemption{node.name, facts.now, reason});
  if (node.state == NodeState::kDraining) {
    const absl::Time end =
        std::min(node.desired.drain_deadline, facts.now + facts.policy.preemption_end);
    draft.Apply(node, SetDrainDeadline{node.name, end, reason});
    return;
  }
  if (node.state != NodeState::kCordoned)
    StartRemoval(draft, node, RemovalCause::kPreemption, reason);
}

// Takes a preemption back. A cordoned Node stays, unless it was to go for repair or by its
// reservation before. A drain that had begun for another cause goes on for that, with the time that
// it had.
void EndPreemption(const PlanFacts& facts, Draft& draft, Node& node) {
  const std::string reason = "its machine is no longer needed elsewhere";
  const bool is_reserved =
      node.removal_cause == RemovalCause::kReservation && !node.reserved_desired.empty();
  const bool drains = node.state == NodeState::kDraining;
  if (!drains && !is_reserved && node.removal_cause != RemovalCause::kRepair) {
    LetStay(facts, draft, node, reason);
    return;
  }
  const absl::Time deadline = node.desired.drain_deadline;
  const bool was_cut = deadline >= node.preempt_time + facts.policy.preemption_end;
  draft.Apply(node, SetPreemption{node.name, kNever, reason});
  if (!drains || node.desired.force_drain || !was_cut) return;
  // It may have been counted from later than the drain began (FollowStrategy): it has no less than
  // it had with the preemption.
  const absl::Time end = std::max(deadline, DrainDeadline(facts, node, node.desired.drain_time));
  draft.Apply(node, SetDrainDeadline{node.name, end, reason});
}

// Whether a preemption that has begun and is not wanted any more can be taken back.
bool CanBeTakenBack(const PlanFacts& facts, const Node& node) {
  if (node.state == NodeState::kDraining) return !IsDrainedForPreemption(node);
  return node.state == NodeState::kCordoned && !facts.pool.deleting();
}

}  // namespace

void PreemptNodes(const PlanFacts& facts, Draft& draft) {
  if (!facts.answers.claim.here()) return;  // preemptions that have begun go on by the clock
  absl::flat_hash_set<absl::string_view> reclaimed;
  for (const MachineReclaim& r : facts.answers.claim.value.reclaims) reclaimed.insert(r.machine);
  for (auto& [name, node] : draft.nodes) {
    if (IsReturnable(node.state)) continue;
    const bool wanted = reclaimed.contains(node.machine);
    const bool begun = node.preempt_time != kNever;
    if (wanted && !begun) BeginPreemption(facts, draft, node);
    if (!wanted && begun && CanBeTakenBack(facts, node)) EndPreemption(facts, draft, node);
  }
}

// The drain had begun for another cause: the Node's work gets the same notice as that of others.
void PreemptDrained(const PlanFacts& facts, Draft& draft, Node& node) {
  if (node.preempt_time == kNever || IsDrainedForPreemption(node)) return;
  const absl::Time from = node.preempt_time + facts.policy.preemption_notice;
  if (facts.now < from) return draft.MoveDue(from);
  draft.Apply(node, RestartDrain{node.name, "its preemption's notice is over"});
}

}  // namespace muster::lifecycle
