#pragma once

#include <cstddef>
#include <iterator>

#include "absl/strings/string_view.h"

// The reasons and types of events: here alone. A row of an event keeps the reason as text, as it
// was told. What the first edition called them: first_edition.h.
namespace muster {

// Of the events that lifecycle tells.

enum class EventReason {
  kDrainNode,
  kInstanceTypeNotInZone,
  kInsufficientCapacity,
  kInvalidInstanceType,
  kNodeAssigned,
  kNodeDeleted,
  kNodeDeletionRequestSuccess,
  kNodeDeliverFail,
  kNodePoolCreated,
  kNodePoolDeleted,
  kNodePoolDisabled,
  kNodePoolMetadata,
  kNodePoolNodesRemoved,
  kNodePoolNodesRemoveError,
  kNodePoolNodesRequestFailed,
  kNodePoolQuotaCheckFailed,
  kNodePoolRemoveNodes,
  kNodePoolScaledDown,
  kNodePoolScaledUp,
  kNodeRegistered,
  kNodeRegistrationFailed,
  kNodeRequestQueued,
  kOverQuota,
  kNodeCordoned,
  kNodeUncordoned,
  kNodeMarkedPrepareForTerminate,
  kNodeDraining,
  kNodeDrainingPDBViolation,
  kNodeDrainingForceDelete,
  kNodePreparedForTerminate,
  kNodeTainted,
  kNodeUntainted,
  kNodeConfigStaged,
  kPendingNodeConfig,
  kConfigStaged,
  kReconfigureRebooted,
  kNodePoolNodeConfigUpdatePending,
  kNodePoolNodeConfigUpdated,
  kNodePoolNoPendingConfiguration,
  kNodePoolNodeConfigRollbackFailed,
  kNodePoolNodeConfigUpdateConflict,
  kNodeConfigStagingFailed,
  kManualUpgradeTrigger,
  kManualRollbackTrigger,
  kPreemptionPending,
  kPreemptionInProgress,
  kDeletedForPreemption,
  // Ours (lifecycle.proto, Event.reason).
  kNodeBootFailed,
  kNodeUnhealthy,
  kNodeOrdered,
  kNodePoolReconfigureStarted,
  kNodePoolReconfigurePaused,
  kNodePoolReconfigureHalted,
  kNodePoolReconfigureResumed,
  kNodePoolReconfigureDone,
  kNodePoolReconfigureCancelled,
  kNodePoolMaxNodesUnreachable,
  kCount  // no event: how many there are
};

enum class EventType { kNormal, kWarning };

struct EventReasonRow {
  EventReason reason;
  absl::string_view text;
  EventType type = EventType::kNormal;
};

// In the order of the enumerators.
inline constexpr EventReasonRow kEventReasons[] = {
    {EventReason::kDrainNode, "CWDrainNode"},
    {EventReason::kInstanceTypeNotInZone, "CWInstanceTypeNotInZone", EventType::kWarning},
    {EventReason::kInsufficientCapacity, "CWInsufficientCapacity", EventType::kWarning},
    {EventReason::kInvalidInstanceType, "CWInvalidInstanceType", EventType::kWarning},
    {EventReason::kNodeAssigned, "CWNodeAssigned"},
    {EventReason::kNodeDeleted, "CWNodeDeleted"},
    {EventReason::kNodeDeletionRequestSuccess, "CWNodeDeletionRequestSuccess"},
    {EventReason::kNodeDeliverFail, "CWNodeDeliverFail", EventType::kWarning},
    {EventReason::kNodePoolCreated, "CWNodePoolCreated"},
    {EventReason::kNodePoolDeleted, "CWNodePoolDeleted"},
    {EventReason::kNodePoolDisabled, "CWNodePoolDisabled", EventType::kWarning},
    {EventReason::kNodePoolMetadata, "CWNodePoolMetadata"},
    {EventReason::kNodePoolNodesRemoved, "CWNodePoolNodesRemoved"},
    {EventReason::kNodePoolNodesRemoveError, "CWNodePoolNodesRemoveError", EventType::kWarning},
    {EventReason::kNodePoolNodesRequestFailed, "CWNodePoolNodesRequestFailed", EventType::kWarning},
    {EventReason::kNodePoolQuotaCheckFailed, "CWNodePoolQuotaCheckFailed", EventType::kWarning},
    {EventReason::kNodePoolRemoveNodes, "CWNodePoolRemoveNodes"},
    {EventReason::kNodePoolScaledDown, "CWNodePoolScaledDown"},
    {EventReason::kNodePoolScaledUp, "CWNodePoolScaledUp"},
    {EventReason::kNodeRegistered, "CWNodeRegistered"},
    {EventReason::kNodeRegistrationFailed, "CWNodeRegistrationFailed", EventType::kWarning},
    {EventReason::kNodeRequestQueued, "CWNodeRequestQueued"},
    {EventReason::kOverQuota, "CWOverQuota", EventType::kWarning},
    {EventReason::kNodeCordoned, "CWNodeCordoned"},
    {EventReason::kNodeUncordoned, "CWNodeUncordoned"},
    {EventReason::kNodeMarkedPrepareForTerminate, "CWNodeMarkedPrepareForTerminate"},
    {EventReason::kNodeDraining, "CWNodeDraining"},
    {EventReason::kNodeDrainingPDBViolation, "CWNodeDrainingPDBViolation", EventType::kWarning},
    {EventReason::kNodeDrainingForceDelete, "CWNodeDrainingForceDelete", EventType::kWarning},
    {EventReason::kNodePreparedForTerminate, "CWNodePreparedForTerminate"},
    {EventReason::kNodeTainted, "CWNodeTainted"},
    {EventReason::kNodeUntainted, "CWNodeUntainted"},
    {EventReason::kNodeConfigStaged, "CWNodeConfigStaged"},
    {EventReason::kPendingNodeConfig, "CWPendingNodeConfig"},
    {EventReason::kConfigStaged, "CWConfigStaged"},
    {EventReason::kReconfigureRebooted, "CWReconfigureRebooted"},
    {EventReason::kNodePoolNodeConfigUpdatePending, "CWNodePoolNodeConfigUpdatePending"},
    {EventReason::kNodePoolNodeConfigUpdated, "CWNodePoolNodeConfigUpdated"},
    {EventReason::kNodePoolNoPendingConfiguration, "CWNodePoolNoPendingConfiguration",
     EventType::kWarning},
    {EventReason::kNodePoolNodeConfigRollbackFailed, "CWNodePoolNodeConfigRollbackFailed",
     EventType::kWarning},
    {EventReason::kNodePoolNodeConfigUpdateConflict, "CWNodePoolNodeConfigUpdateConflict",
     EventType::kWarning},
    {EventReason::kNodeConfigStagingFailed, "CWNodeConfigStagingFailed", EventType::kWarning},
    {EventReason::kManualUpgradeTrigger, "CWManualUpgradeTrigger"},
    {EventReason::kManualRollbackTrigger, "CWManualRollbackTrigger"},
    {EventReason::kPreemptionPending, "Preemption pending", EventType::kWarning},
    {EventReason::kPreemptionInProgress, "Preemption in progress", EventType::kWarning},
    {EventReason::kDeletedForPreemption, "Deleted for preemption", EventType::kWarning},
    {EventReason::kNodeBootFailed, "CWNodeBootFailed", EventType::kWarning},
    {EventReason::kNodeUnhealthy, "CWNodeUnhealthy", EventType::kWarning},
    {EventReason::kNodeOrdered, "CWNodeOrdered"},
    {EventReason::kNodePoolReconfigureStarted, "CWNodePoolReconfigureStarted"},
    {EventReason::kNodePoolReconfigurePaused, "CWNodePoolReconfigurePaused"},
    {EventReason::kNodePoolReconfigureHalted, "CWNodePoolReconfigureHalted", EventType::kWarning},
    {EventReason::kNodePoolReconfigureResumed, "CWNodePoolReconfigureResumed"},
    {EventReason::kNodePoolReconfigureDone, "CWNodePoolReconfigureDone"},
    {EventReason::kNodePoolReconfigureCancelled, "CWNodePoolReconfigureCancelled"},
    {EventReason::kNodePoolMaxNodesUnreachable, "CWNodePoolMaxNodesUnreachable",
     EventType::kWarning},
};

constexpr bool EachEventHasItsRow() {
  if (std::size(kEventReasons) != static_cast<size_t>(EventReason::kCount)) return false;
  for (size_t i = 0; i < std::size(kEventReasons); ++i)
    if (kEventReasons[i].reason != static_cast<EventReason>(i)) return false;
  return true;
}
static_assert(EachEventHasItsRow(), "a row for each enumerator, in the same order");

// `CWNodePoolScaledUp`.
constexpr absl::string_view TextOf(EventReason reason) {
  return kEventReasons[static_cast<size_t>(reason)].text;
}

// `Warning` or `Normal`.
constexpr EventType TypeOf(EventReason reason) {
  return kEventReasons[static_cast<size_t>(reason)].type;
}
constexpr absl::string_view TextOf(EventType type) {
  return type == EventType::kWarning ? "Warning" : "Normal";
}

// What an event says by its reason.
struct EventWord {
  absl::string_view reason;
  EventType type = EventType::kNormal;
};
constexpr EventWord WordOf(EventReason reason) { return {TextOf(reason), TypeOf(reason)}; }

// Of the events that the Kubernetes adapter tells on its own, beside lifecycle's.
inline constexpr EventWord kNodeUnknownEvent = {"CWNodeUnknown", EventType::kWarning};
inline constexpr EventWord kNodeDeletionRefusedEvent = {"CWNodeDeletionRefused",
                                                        EventType::kWarning};
inline constexpr EventWord kRemovalsHeldEvent = {"CWRemovalsHeld", EventType::kWarning};
inline constexpr EventWord kNodeActiveEvent = {"NodeCWActive"};  // of the first edition alone

}  // namespace muster
