#pragma once

#include <string>
#include <vector>

#include "services/lifecycle/core/plan.h"

namespace muster::lifecycle {

// Who must act on an obstacle.
enum class Actor { kNobody, kUser, kQuotaAdmin, kCapacity, kOperator };

// What an obstacle is, beside what a plan defers (DeferReason).
enum class ObstacleReason {
  kNoLeader,
  kChanging,
  kInvalidSpec,
  kCatalogueUnknown,
  kPoolReleased,
  kQuotaOutOfReach,
  kOverQuota,
  kQuotaNotSet,
  kCapacityOutOfReach,
  kNotEnoughMachines,
  kNodeAffinity,
  kBeingReclaimed,
  kQueued,
  kConfigurationOutOfReach,
  kConfigurationProblem,
  kConfigurationDisabled,
  kConfigurationWaits,
  kReconfigurationNeeded,
  kBooting,
  kLeaving,
};
inline constexpr int kObstacleReasons = 20;

// See muster.lifecycle.v1.NodePoolObstacle.
struct Obstacle {
  std::string reason = {};
  std::string subject = {};
  std::string message = {};
  Actor actor = Actor::kNobody;
  absl::Time earliest = kNever;
  absl::Time latest = kNever;
  bool operator==(const Obstacle&) const = default;
};

// As in the API: `DISRUPTION_BUDGET`, `OVER_QUOTA`.
const char* DeferReasonName(DeferReason reason);
const char* ObstacleReasonName(ObstacleReason reason);
// Who must act so that what is deferred is done.
Actor ActorOf(DeferReason reason);

// Why the pool is not where it should be, most important first: what keeps it from all (nobody
// reconciles, its spec, services out of reach), from growing (quota, capacity, configuration), and
// then what single Nodes wait for. Empty: it is where it should be. `plan` must be Plan(snapshot).
// Pure.
std::vector<Obstacle> Explain(const Snapshot& snapshot, const PoolPlan& plan);

// Likewise for one Node, `node` being its name: what it waits for. An ordered cordon is not told.
std::vector<Obstacle> ExplainNode(const Snapshot& snapshot, const PoolPlan& plan,
                                  const std::string& node);

}  // namespace muster::lifecycle
