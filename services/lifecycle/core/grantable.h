#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/types.h"

// The most Nodes that an autoscaled pool would be granted. A target above that is refused (by
// quota) or waits (for capacity), and the cluster autoscaler knows no other bound than
// spec.maxNodes.
namespace muster::lifecycle {

// What a pool would be granted: the lower of what quota's answer leaves it (the limit less what the
// key's other pools hold) and `obtainable`, the machines that it could hold (nullopt: not known,
// quota alone is the bound). Between 0 and the most Nodes that a pool can have.
Grantable GrantableOf(const HoldingFacts& holding, std::optional<int64_t> obtainable);

// What is to be shown now that `before` was shown and `now` holds. `before` stays while the two
// differ by no more than an eighth of it and quota still grants that many; a bound by quota stays
// only while it is exact. The free machines change all the time, and a pool that asks for a few too
// many gets what there is; quota grants all or nothing. `granted`: what quota alone lets the pool
// have.
Grantable Steady(const Grantable& before, const Grantable& now, int64_t granted);

// What the pool's status is to say; nullopt: it is not autoscaled, or it is being deleted. While
// quota does not answer, what was said before.
std::optional<Grantable> GrantableOf(const Snapshot& snapshot);

// "spec.maxNodes is 6, and quota grants the NodePool 4 Nodes at most: ..."; empty: the autoscaler
// may set no target that is not granted.
std::string MaxNodesWarning(const Spec& spec, const std::optional<Grantable>& grantable);
// Adds the condition MaxNodesUnreachable while there is such a warning. It is nobody's obstacle:
// the pool may be at its target all the time.
void RenderMaxNodes(std::vector<Condition>& out, const Spec& spec,
                    const std::optional<Grantable>& grantable);

}  // namespace muster::lifecycle
