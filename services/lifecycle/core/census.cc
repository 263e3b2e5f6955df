#include "services/lifecycle/core/census.h"

#include <algorithm>

#include "services/common/condition_names.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/node_machine.h"

namespace muster::lifecycle {

namespace {

// One that boots, or has booted and is not ready, does not: its agent said that the boot began, and
// a boot that does not end is the boot deadline's affair. That it is ready an adapter may be the
// one to say.
bool AwaitsAgent(const Node& node) {
  const NodeState state = node.state;
  // Nobody told it to boot yet.
  if (state == NodeState::kAssigned) return node.desired.phase == Phase::kRunning;
  // It was rebooted, and is not ready.
  if (state == NodeState::kReconfiguring && node.observed.boot_time != kNever) return false;
  return state == NodeState::kReconfiguring || state == NodeState::kPreparedForTerminate;
}

// An assigned Node may have waited for its configuration before it was told to boot.
absl::Time AwaitedSince(const Node& node) {
  return node.state == NodeState::kAssigned ? node.desired.phase_time : node.state_time;
}

}  // namespace

void Census::Add(const Node& node, absl::string_view zone, absl::Time now) {
  NodeCount& count = nodes[static_cast<size_t>(node.state)];
  ++count.nodes;
  count.oldest = std::min(count.oldest, node.state_time);
  for (size_t i = 0; i < std::size(kCensusAges); ++i) {
    if (now - node.state_time > kCensusAges[i]) ++count.older[i];
  }
  int64_t& awaiting = awaiting_agent[std::string(zone)];
  if (AwaitsAgent(node) && now - AwaitedSince(node) > kAgentPatience) ++awaiting;
  if (IsReturnable(node.state)) return;
  if (node.preempt_time != kNever)
    ++(IsDrainedForPreemption(node) ? preemptions_draining : preemptions_pending);
  if (!node.observed.drain_blocked_by.empty()) ++drains_blocked;
  if (node.observed.unhealthy) ++nodes_unhealthy;
}

void Census::Add(const Pool& pool) {
  for (const Condition& condition : pool.status.conditions)
    ++conditions[{condition.type, condition.status, condition.reason}];
  const absl::string_view reason = ReasonOf(pool.status.conditions, condition::kAtTarget);
  ++pools_at_target[reason.empty() ? "New" : std::string(reason)];
  if (pool.reconfiguration) ++reconfigurations[static_cast<size_t>(pool.reconfiguration->state)];
}

}  // namespace muster::lifecycle
