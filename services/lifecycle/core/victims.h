#pragma once

#include <vector>

#include "absl/time/time.h"
#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// Whether Nodes that have work go as well.
bool ActiveToo(const Pool& pool);

// Whether its owner keeps it from being removed.
bool IsProtected(const Node& node, absl::Time now);

// Whether it was named to go: by the caller or the autoscaler.
bool IsNamed(const Node& node);

// The Nodes of `candidates` that may be removed, first to go first: marked by the
// cluster autoscaler or named by the caller; not in production yet, the least advanced first;
// unhealthy; idle and made unschedulable by somebody else; idle, longest idle first; active ones,
// fewest Pods first, then newest. Nodes already on their way out are not among them. Ties go by
// name. Of a type that is granted in whole racks they are sorted once more (victim_racks.h).
std::vector<const Node*> VictimsInOrder(const std::vector<const Node*>& candidates);

}  // namespace muster::lifecycle
