#pragma once

#include "absl/strings/string_view.h"

// Types, statuses and reasons of the conditions of NodePools and Nodes: the words of the reference,
// kept here alone, for code that writes conditions and code that reads them. Their messages:
// services/lifecycle/core/render.cc; what the first edition called them: first_edition.h.
namespace muster {

namespace condition {
// Of a NodePool.
inline constexpr char kValidated[] = "Validated";
inline constexpr char kQuota[] = "Quota";
inline constexpr char kCapacity[] = "Capacity";
inline constexpr char kAtTarget[] = "AtTarget";
inline constexpr char kNodeReconfigurationRequired[] = "NodeReconfigurationRequired";
inline constexpr char kMaxNodesUnreachable[] = "MaxNodesUnreachable";
inline constexpr char kNodesRemoved[] = "NodesRemoved";
inline constexpr char kAccepted[] = "Accepted";
// Those that sum up the others (kstatus).
inline constexpr char kReady[] = "Ready";
inline constexpr char kReconciling[] = "Reconciling";
inline constexpr char kStalled[] = "Stalled";
// Of a Node.
inline constexpr char kRegistered[] = "CWRegistered";
inline constexpr char kActive[] = "CWActive";
inline constexpr char kNodeRemoval[] = "CWNodeRemoval";
}  // namespace condition

// Whether it sums up the others.
constexpr bool IsSummaryCondition(absl::string_view type) {
  return type == condition::kReady || type == condition::kReconciling ||
         type == condition::kStalled;
}

// As in Kubernetes.
namespace condition_status {
inline constexpr char kTrue[] = "True";
inline constexpr char kFalse[] = "False";
inline constexpr char kUnknown[] = "Unknown";
}  // namespace condition_status

namespace reason {
inline constexpr char kInternalError[] = "InternalError";  // of any type: not known
// Validated.
inline constexpr char kValid[] = "Valid";
inline constexpr char kInvalid[] = "Invalid";
// Quota.
inline constexpr char kUnder[] = "Under";
inline constexpr char kOver[] = "Over";
inline constexpr char kNotSet[] = "NotSet";
// Capacity.
inline constexpr char kSufficient[] = "Sufficient";
inline constexpr char kQueuedAwaitingCapacity[] = "QueuedAwaitingCapacity";
inline constexpr char kPartial[] = "Partial";
inline constexpr char kNoneAvailable[] = "NoneAvailable";
inline constexpr char kPartialNodeAffinity[] = "PartialNodeAffinity";
inline constexpr char kNoneAvailableNodeAffinity[] = "NoneAvailableNodeAffinity";
// AtTarget.
inline constexpr char kTargetMet[] = "TargetMet";
inline constexpr char kUnderTarget[] = "UnderTarget";
inline constexpr char kOverTarget[] = "OverTarget";
inline constexpr char kPendingDelete[] = "PendingDelete";
// NodesRemoved.
inline constexpr char kComplete[] = "Complete";
inline constexpr char kPending[] = "Pending";
// NodeReconfigurationRequired.
inline constexpr char kAllNodesUpToDate[] = "AllNodesUpToDate";
inline constexpr char kStagedNodeConfig[] = "StagedNodeConfig";
// MaxNodesUnreachable: what bounds the Nodes that can be had
// (NodePoolStatus.grantable_nodes_bound_by).
inline constexpr char kBoundByQuota[] = "Quota";
inline constexpr char kBoundByCapacity[] = "Capacity";
// Ready.
inline constexpr char kReady[] = "Ready";
inline constexpr char kNotObserved[] = "NotObserved";
inline constexpr char kNodesNotInService[] = "NodesNotInService";
inline constexpr char kReconciling[] = "Reconciling";
inline constexpr char kUnknown[] = "Unknown";
// RemovalsHeld.
inline constexpr char kMoreThanAFew[] = "MoreThanAFew";
// MetadataSynced (first_edition.h), with Pending and Unknown.
inline constexpr char kSynced[] = "Synced";
// Of a Node.
inline constexpr char kRegistered[] = "Registered";
inline constexpr char kNotRegistered[] = "NotRegistered";
inline constexpr char kActive[] = "Active";
inline constexpr char kIdle[] = "Idle";
inline constexpr char kPendingRemoval[] = "PendingRemoval";
inline constexpr char kNotPendingRemoval[] = "NotPendingRemoval";
}  // namespace reason

// What the conditions of a healthy NodePool say.
struct HealthyCondition {
  absl::string_view type;
  absl::string_view reason;
  bool stalls = false;  // another reason than this one does not pass with time
};
inline constexpr HealthyCondition kHealthyConditions[] = {
    {condition::kValidated, reason::kValid, true},
    {condition::kCapacity, reason::kSufficient},
    {condition::kQuota, reason::kUnder, true},
    {condition::kAtTarget, reason::kTargetMet},
    {condition::kNodeReconfigurationRequired, reason::kAllNodesUpToDate},
};

}  // namespace muster
