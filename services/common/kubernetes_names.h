#pragma once

// Words of clusters that several parts write or read: what one calls otherwise the other does not
// find.
namespace muster {

// apiVersion of NodePools, whose kind is NodePool.
inline constexpr char kNodePoolApiVersion[] = "compute.coreweave.com/v1alpha1";
// Labels of v1 Nodes, set by lifecycle: the id and the uid of their NodePool. By them the adapter
// knows which Nodes are Muster's.
inline constexpr char kPoolLabel[] = "compute.coreweave.com/node-pool";
inline constexpr char kPoolUidLabel[] = "compute.coreweave.com/node-pool-uid";
// For whom a Node or a namespace is, if not for its organization.
inline constexpr char kControlPlane[] = "control-plane";

}  // namespace muster
