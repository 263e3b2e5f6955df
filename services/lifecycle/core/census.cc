#include "services/lifecycle/core/census.h"

#include <algorithm>

#include "services/common/condition_names.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/node_machine.h"

namespace muster::lifecycle {

void Census::Add(const Node& node, absl::Time now) {
  NodeCount& count = nodes[static_cast<size_t>(node.state)];
  ++count.nodes;
  count.oldest = std::min(count.oldest, node.state_time);
  for (size_t i = 0; i < std::size(kCensusAges); ++i) {
    if (now - node.state_time > kCensusAges[i]) ++count.older[i];
  }
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
