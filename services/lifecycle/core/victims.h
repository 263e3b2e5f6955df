#pragma once

#include <vector>

#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// The Nodes of `candidates` that may be removed, first to go first (semantics 6): marked by the
// cluster autoscaler or named by the caller; not in production yet, the least advanced first;
// unhealthy; idle and made unschedulable by somebody else; idle, longest idle first; and only with
// `active_too` active ones, fewest Pods first, then newest. Without it an active Node is never
// among them. Nodes already on their way out are not either. Ties go by name.
std::vector<const Node*> VictimsInOrder(const std::vector<const Node*>& candidates,
                                        bool active_too);

}  // namespace muster::lifecycle
