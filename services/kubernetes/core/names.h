#pragma once

#include "absl/strings/string_view.h"
#include "services/common/kubernetes_names.h"

// Words that the adapter writes into a cluster or reads there, beside those of kubernetes_names.h.
namespace muster::kubernetes {

inline constexpr char kFieldManager[] = "muster";
inline constexpr char kFinalizer[] = "compute.coreweave.com/nodepool";

inline constexpr char kNodePoolsPath[] = "/apis/compute.coreweave.com/v1alpha1/nodepools";
inline constexpr char kNodesPath[] = "/api/v1/nodes";
inline constexpr char kPodsPath[] = "/api/v1/pods";
inline constexpr char kNamespacesPath[] = "/api/v1/namespaces";
// Events about objects that are in no namespace live in this one.
inline constexpr char kEventsPath[] = "/apis/events.k8s.io/v1/namespaces/default/events";

// On NodePools, by users.
inline constexpr char kPromoteAnnotation[] = "compute.coreweave.com/promote-configuration";
inline constexpr char kRollbackAnnotation[] = "compute.coreweave.com/rollback-configuration";

// On NodePools, by the adapter: the most Nodes that an autoscaled pool would be granted
// (status.grantableNodes), for what sets spec.maxNodes and reads no status.
inline constexpr char kGrantable[] = "compute.coreweave.com/grantable-nodes";

// On Nodes, beside the labels of kubernetes_names.h.
// Annotation: create_time of the Muster Node that this v1 Node was taken for. One with another time
// is left over from an earlier life of the machine.
inline constexpr char kLifeAnnotation[] = "node.coreweave.cloud/node-create-time";
// Annotation: the taints that are ours, `key:effect` separated by commas. spec.taints is one atomic
// list to server-side apply, so managedFields cannot tell which of them are ours.
inline constexpr char kTaintsAnnotation[] = "node.coreweave.cloud/taints";
// Annotation, by the Node's own kubelet: id of the profile that it is booted into.
inline constexpr char kProfileAnnotation[] = "node.coreweave.cloud/node-profile";
inline constexpr char kAutoscalerTaint[] = "ToBeDeletedByClusterAutoscaler";

// On Pods.
inline constexpr char kInterruptableKey[] = "qos.coreweave.cloud/interruptable";
inline constexpr char kGracefulCloud[] = "qos.coreweave.cloud/graceful-interruptible";
inline constexpr char kGracefulCom[] = "qos.coreweave.com/graceful-interruptible";

// On the Lease: the name of the history (incarnation) of Muster that is accepted.
inline constexpr char kHistoryAnnotation[] = "compute.coreweave.com/history";

// On NodePools, a condition: removals that the brake holds.
inline constexpr char kRemovalsHeld[] = "RemovalsHeld";

// On namespaces: an organization or kControlPlane.
inline constexpr char kOrganizationLabel[] = "ns.coreweave.cloud/org";

}  // namespace muster::kubernetes
