#pragma once

#include <vector>

#include "absl/time/time.h"
#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// Whether Nodes that have work may be removed, too: PreferIdle, or the pool is being deleted.
bool ActiveToo(const Pool& pool);

// Whether its owner keeps it from being removed.
bool IsProtected(const Node& node, absl::Time now);

// The Nodes of `candidates` that may be removed, first to go first: marked by the cluster
// autoscaler or named by the caller, those that are asked to go before others; not in production
// yet, the least advanced first; unhealthy; idle and unschedulable, by an order or by somebody
// else; idle, longest idle first; active ones, fewest Pods first, then newest. Ties go by name.
// Nodes that are rebooting or on their way out are left out. If the type is granted in whole racks,
// VictimRacks sorts them once more.
std::vector<const Node*> VictimsInOrder(const std::vector<const Node*>& candidates);

}  // namespace muster::lifecycle
