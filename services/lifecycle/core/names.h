#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "services/common/resource_name.h"  // LastIdOf

// The resource names of the lifecycle domain: printed and parsed here and nowhere else.
namespace muster::lifecycle {

struct ClusterId {
  std::string organization = {};
  std::string cluster = {};
  bool operator==(const ClusterId&) const = default;
};

struct PoolId {
  ClusterId cluster = {};
  std::string pool = {};
  bool operator==(const PoolId&) const = default;
};

struct NodeId {
  PoolId pool = {};
  std::string machine = {};
  bool operator==(const NodeId&) const = default;
};

// `organizations/{organization}/clusters/{cluster}`
std::string ClusterName(const ClusterId& id);
// `{cluster}/nodePools/{pool}`
std::string PoolName(const PoolId& id);
// `{pool name}/nodes/{machine}`
std::string NodeName(absl::string_view pool_name, absl::string_view machine);
// `{cluster name}/events/{id}`
std::string EventName(absl::string_view cluster_name, absl::string_view id);

// The names from `begin` on and before `end`: those of a cluster's pools, and of a pool's Nodes.
struct NameRange {
  std::string begin = {};
  std::string end = {};
};
NameRange PoolNamesOf(absl::string_view cluster_name);
NameRange NodeNamesOf(absl::string_view pool_name);

// nullopt when the name has another shape or an id is not allowed.
std::optional<ClusterId> ParseClusterName(absl::string_view name);
std::optional<PoolId> ParsePoolName(absl::string_view name);
std::optional<NodeId> ParseNodeName(absl::string_view name);

// ClusterNameOf: the cluster's name in a well-formed name of a pool, Node or event. PoolNameOf: the
// pool's name in a Node's.
absl::string_view ClusterNameOf(absl::string_view name);
absl::string_view PoolNameOf(absl::string_view node_name);
// OrganizationOf: the organization's id in any well-formed name.
absl::string_view OrganizationOf(absl::string_view name);

// The id of the event that says `reason` and `message` about `object`, a pool or Node of the pool
// `pool_uid`: 32 hex digits, the same on every machine.
std::string EventId(absl::string_view pool_uid, absl::string_view object, absl::string_view reason,
                    absl::string_view message);

}  // namespace muster::lifecycle
