// The names of reasons in explain.h, and who must act on what a plan defers.
#include "services/lifecycle/core/explain.h"

namespace muster::lifecycle {

Actor ActorOf(DeferReason reason) {
  switch (reason) {
    case DeferReason::kReleasing:
    case DeferReason::kMachineNotHeld:
    case DeferReason::kMachineTaken:
    case DeferReason::kCatalogueUnknown:
    case DeferReason::kStagingFailed:
    case DeferReason::kRemovalFailed:
    case DeferReason::kAgentSilent:
    case DeferReason::kNoConfiguration:
    case DeferReason::kConfigurationDisabled:
      return Actor::kOperator;
    case DeferReason::kWaitsUntilIdle:
    case DeferReason::kMarked:
    case DeferReason::kCordonOrdered:
    case DeferReason::kDrainBlocked:
    case DeferReason::kReconfigurationPaused:
    case DeferReason::kReconfigurationHalted:
      return Actor::kUser;
    case DeferReason::kMoreThanWanted:
    case DeferReason::kProtected:
    case DeferReason::kDisruptionBudget:
    case DeferReason::kWaitsForRecovery:
    case DeferReason::kWaitsForReplacement:
    case DeferReason::kWaitsForReboot:
    case DeferReason::kWaitsForConfiguration:
    case DeferReason::kPreempting:
    case DeferReason::kGiveUpLimit:
      return Actor::kNobody;
  }
  return Actor::kNobody;
}

const char* DeferReasonName(DeferReason reason) {
  switch (reason) {
    case DeferReason::kReleasing:
      return "RELEASING";
    case DeferReason::kMachineNotHeld:
      return "MACHINE_NOT_HELD";
    case DeferReason::kCatalogueUnknown:
      return "CATALOGUE_UNKNOWN";
    case DeferReason::kNoConfiguration:
      return "NO_CONFIGURATION";
    case DeferReason::kConfigurationDisabled:
      return "CONFIGURATION_DISABLED";
    case DeferReason::kMoreThanWanted:
      return "MORE_THAN_WANTED";
    case DeferReason::kWaitsUntilIdle:
      return "WAITS_UNTIL_IDLE";
    case DeferReason::kProtected:
      return "PROTECTED";
    case DeferReason::kDisruptionBudget:
      return "DISRUPTION_BUDGET";
    case DeferReason::kWaitsForRecovery:
      return "WAITS_FOR_RECOVERY";
    case DeferReason::kWaitsForReplacement:
      return "WAITS_FOR_REPLACEMENT";
    case DeferReason::kWaitsForReboot:
      return "WAITS_FOR_REBOOT";
    case DeferReason::kWaitsForConfiguration:
      return "WAITS_FOR_CONFIGURATION";
    case DeferReason::kDrainBlocked:
      return "DRAIN_BLOCKED";
    case DeferReason::kPreempting:
      return "PREEMPTING";
    case DeferReason::kStagingFailed:
      return "STAGING_FAILED";
    case DeferReason::kRemovalFailed:
      return "REMOVAL_FAILED";
    case DeferReason::kAgentSilent:
      return "AGENT_SILENT";
    case DeferReason::kReconfigurationPaused:
      return "RECONFIGURATION_PAUSED";
    case DeferReason::kReconfigurationHalted:
      return "RECONFIGURATION_HALTED";
    case DeferReason::kGiveUpLimit:
      return "GIVE_UP_LIMIT";
    case DeferReason::kMachineTaken:
      return "MACHINE_TAKEN";
    case DeferReason::kMarked:
      return "MARKED_BY_AUTOSCALER";
    case DeferReason::kCordonOrdered:
      return "CORDON_ORDERED";
  }
  return "";
}

const char* ObstacleReasonName(ObstacleReason reason) {
  switch (reason) {
    case ObstacleReason::kNoLeader:
      return "NO_LEADER";
    case ObstacleReason::kChanging:
      return "CHANGING";
    case ObstacleReason::kInvalidSpec:
      return "INVALID_SPEC";
    case ObstacleReason::kCatalogueUnknown:
      return "CATALOGUE_UNKNOWN";
    case ObstacleReason::kPoolReleased:
      return "POOL_RELEASED";
    case ObstacleReason::kQuotaOutOfReach:
      return "QUOTA_OUT_OF_REACH";
    case ObstacleReason::kOverQuota:
      return "OVER_QUOTA";
    case ObstacleReason::kQuotaNotSet:
      return "QUOTA_NOT_SET";
    case ObstacleReason::kCapacityOutOfReach:
      return "CAPACITY_OUT_OF_REACH";
    case ObstacleReason::kNotEnoughMachines:
      return "NOT_ENOUGH_MACHINES";
    case ObstacleReason::kNodeAffinity:
      return "NODE_AFFINITY";
    case ObstacleReason::kBeingReclaimed:
      return "BEING_RECLAIMED";
    case ObstacleReason::kQueued:
      return "QUEUED";
    case ObstacleReason::kConfigurationOutOfReach:
      return "CONFIGURATION_OUT_OF_REACH";
    case ObstacleReason::kConfigurationProblem:
      return "CONFIGURATION_PROBLEM";
    case ObstacleReason::kConfigurationDisabled:
      return "CONFIGURATION_DISABLED";
    case ObstacleReason::kConfigurationWaits:
      return "CONFIGURATION_WAITS";
    case ObstacleReason::kReconfigurationNeeded:
      return "RECONFIGURATION_NEEDED";
    case ObstacleReason::kBooting:
      return "BOOTING";
    case ObstacleReason::kLeaving:
      return "LEAVING";
  }
  return "";
}

}  // namespace muster::lifecycle
