#pragma once

#include <string>
#include <vector>

#include "services/lifecycle/core/actions.h"
#include "services/lifecycle/core/snapshot.h"

// What a plan says: what is to be done, what is not done and why, and when to look again.
namespace muster::lifecycle {

// Why something is not done.
enum class DeferReason {
  kReleasing,         // a deleted pool's holding, claim or configuration is still there
  kMachineNotHeld,    // a Node's machine is not held by the pool's claim
  kCatalogueUnknown,  // machines were granted or are too many, and the catalogue cannot be read
  kNoConfiguration,   // no profile to boot is known
  kConfigurationDisabled,
  kMoreThanWanted,    // a Node that was never booted waits until it is wanted or goes
  kWaitsUntilIdle,    // work keeps a Node from going or rebooting
  kProtected,         // a Node's protection keeps it from going
  kDisruptionBudget,  // the pool's budget keeps a Node from going or rebooting
  kWaitsForRecovery,  // an unhealthy Node may still recover
  kWaitsForReplacement,
  kWaitsForReboot,         // a Node goes once it is back, or reboots once others are
  kWaitsForConfiguration,  // boots and reboots wait for what is to be active
  kDrainBlocked,           // disruption budgets of Pods
  kPreempting,             // a Node's machine is needed elsewhere
  kStagingFailed,
  kRemovalFailed,
  kAgentSilent,  // an agent was told what to do with a Node and has not reported it in time
  kReconfigurationPaused,
  kReconfigurationHalted,
  kGiveUpLimit,    // time is up for more Nodes than may be given up at once
  kMachineTaken,   // a machine that the claim holds is a Node of another pool
  kMarked,         // the cluster autoscaler keeps work away from a Node, and the Node stays
  kCordonOrdered,  // by an order a Node takes no new work, and the Node stays
};
inline constexpr int kDeferReasons = 24;

// Something that is not done although somebody may expect it, and why.
struct Defer {
  DeferReason reason = DeferReason::kReleasing;
  std::string subject = {};   // resource name of the pool or a Node
  std::string message = {};   // for people
  absl::Time until = kNever;  // when time alone ends it; kNever: it does not
  bool operator==(const Defer&) const = default;
};

struct PoolPlan {
  std::vector<Action> actions = {};  // empty: converged
  std::vector<Defer> defers = {};
  absl::Time due = kNever;  // when time alone makes the next plan differ
  bool operator==(const PoolPlan&) const = default;
};

}  // namespace muster::lifecycle
