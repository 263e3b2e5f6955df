#pragma once

#include <vector>

#include "services/lifecycle/core/pool_plan.h"
#include "services/lifecycle/core/snapshot.h"

namespace muster::lifecycle {

// What is to be done for a pool now. Pure: time is in the snapshot, the same snapshot gives the
// same plan, and once the actions are carried out the next plan with the same answers is empty
// unless an action changed what is asked. `snapshot.answers` must be the answers to DemandOf(pool,
// nodes, catalogue).
//
// Nodes about which there is nothing to do or to say are only counted (quiet_nodes.h).
// `only_counted`, unless null, is set to such rows of the snapshot, by name: another row instead of
// one of them that CountsTheSame changes neither the plan nor the demand.
PoolPlan Plan(const Snapshot& snapshot, std::vector<const Node*>* only_counted = nullptr);

// For tests: the same plan, every Node looked at.
PoolPlan PlanLookingAtAll(const Snapshot& snapshot);

}  // namespace muster::lifecycle
