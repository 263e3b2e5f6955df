#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/types.h"

// The most Nodes that an autoscaled pool would be granted. Who raises its target above that gets
// nothing (quota) or waits (capacity), and the cluster autoscaler knows no other bound than
// spec.maxNodes.
namespace muster::lifecycle {

inline constexpr char kBoundByQuota[] = "Quota";
inline constexpr char kBoundByCapacity[] = "Capacity";

// What a pool would be granted by what quota answered (the limit less what the key's other pools
// hold) and by the machines that it could hold; nullopt: not known, quota alone binds. Capacity
// binds only where it is the lower. Between 0 and the most Nodes that a pool can have.
Grantable GrantableOf(const HoldingFacts& holding, std::optional<int64_t> obtainable);

// What is shown after `before` was: `now`, unless they differ by no more than an eighth and quota
// grants what was shown too, and just that where it is shown as the bound. What is free changes all
// the time, and a pool that asks for a little more than there is gets what there is; quota grants
// all or nothing, so its bound is shown as it is. `granted`: what quota alone lets the pool have.
Grantable Steady(const Grantable& before, const Grantable& now, int64_t granted);

// What the pool's status is to say: nullopt of one that is not autoscaled or is being deleted. What
// cannot be told now stays as it was.
std::optional<Grantable> GrantableOf(const Snapshot& snapshot);

// "spec.maxNodes is 6, and quota grants the NodePool 4 Nodes at most: ..."; empty: the autoscaler
// may set no target that is not granted.
std::string MaxNodesWarning(const Spec& spec, const std::optional<Grantable>& grantable);
// Adds the condition MaxNodesUnreachable while there is such a warning. It is nobody's obstacle:
// the pool may be at its target all the time.
void RenderMaxNodes(std::vector<Condition>& out, const Spec& spec,
                    const std::optional<Grantable>& grantable);

}  // namespace muster::lifecycle
