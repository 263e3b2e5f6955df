#pragma once

// Paths of the Kubernetes API that tests look at. Not the adapter's constants: a mistake in those
// must show.
namespace muster::testing {

inline constexpr char kNodePoolsPath[] = "/apis/compute.coreweave.com/v1alpha1/nodepools";
inline constexpr char kNodesPath[] = "/api/v1/nodes";
inline constexpr char kNamespacesPath[] = "/api/v1/namespaces";
inline constexpr char kPodsPath[] = "/api/v1/pods";
inline constexpr char kDefaultPodsPath[] = "/api/v1/namespaces/default/pods";
inline constexpr char kBudgetsPath[] = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
inline constexpr char kEventsPath[] = "/apis/events.k8s.io/v1/events";
inline constexpr char kAdapterLeasesPath[] =
    "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases";

}  // namespace muster::testing
