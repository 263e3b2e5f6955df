#pragma once

#include <string>
#include <vector>

#include "services/lifecycle/core/actions.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/snapshot.h"

namespace muster::lifecycle {

// What is not done although somebody may ask for it, and why.
struct Defer {
  std::string subject = {};
  std::string reason = {};
  bool operator==(const Defer&) const = default;
};

struct PoolPlan {
  std::vector<Action> actions = {};  // empty: converged
  std::vector<Defer> defers = {};
  absl::Time due = kNever;  // when time alone makes the next plan differ
  bool operator==(const PoolPlan&) const = default;
};

// What is to be done for a pool now. Pure: time is in the snapshot, the same snapshot gives the
// same plan, and once the actions are carried out the next plan with the same answers is empty
// unless an action changed what is asked. `snapshot.answers` must be the answers to DemandOf(pool,
// nodes, catalogue).
PoolPlan Plan(const Snapshot& snapshot);

}  // namespace muster::lifecycle
