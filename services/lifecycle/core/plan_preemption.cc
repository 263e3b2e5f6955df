// Spot preemption: T+0 cordon, T+2 min drain, T+7 min removal at the latest (semantics 6). T+0 is
// when the Node is cordoned, so that the notice is whole whatever happened before.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "services/lifecycle/core/planner.h"

namespace muster::lifecycle {

void Planner::Preempt() {
  if (!answers().claim.here()) return;  // the clock of those that were begun runs on
  absl::flat_hash_set<absl::string_view> reclaimed;
  for (const MachineReclaim& r : answers().claim.value.reclaims) reclaimed.insert(r.machine);
  for (auto& [name, node] : nodes_) {
    if (IsReturnable(node.state)) continue;
    const bool wanted = reclaimed.contains(node.machine);
    const bool begun = node.preempt_time != kNever;
    if (wanted && !begun) BeginPreemption(node);
    if (!wanted && begun && node.state == NodeState::kCordoned && !pool_.deleting()) {
      Step(node, NodeEvent::kUncordon, "its machine is no longer needed elsewhere");
    }
  }
}

void Planner::BeginPreemption(Node& node) {
  const std::string reason = "capacity reclaims its machine";
  if (node.state == NodeState::kPreparedForTerminate) return;  // it goes anyway
  Take(node, SetPreemption{node.name, now(), reason});
  if (node.state == NodeState::kDraining) {
    const absl::Time end = std::min(node.desired.drain_deadline, now() + policy().preemption_end);
    Take(node, SetDrainDeadline{node.name, end, reason});
    return;
  }
  if (node.state != NodeState::kCordoned) Dismiss(node, RemovalCause::kPreemption, reason);
}

// One whose drain had begun for another cause: its work is warned as long as that of others.
void Planner::PreemptDrained(Node& node) {
  if (node.preempt_time == kNever || IsDrainedForPreemption(node)) return;
  const absl::Time from = node.preempt_time + policy().preemption_notice;
  if (now() < from) return Due(from);
  Take(node, RestartDrain{node.name, "its preemption's notice is over"});
}

}  // namespace muster::lifecycle
