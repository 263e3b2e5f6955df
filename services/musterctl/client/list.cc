#include <string>
#include <utility>
#include <vector>

#include "services/musterctl/client/connection.h"

// All of a kind, page by page.
namespace muster::musterctl {
namespace {

absl::Status ListLifecycle(Connection& connection, Kind kind, const std::string& pool,
                           const PageReceiver& receive) {
  if (kind == Kind::kNodePool) {
    lifecycle::v1::ListNodePoolsRequest request;
    request.set_parent(connection.Cluster());
    return connection.Pages(
        connection.lifecycle, &Connection::Lifecycle::ListNodePools, request,
        [](auto& response) { return response.mutable_node_pools(); }, receive);
  }
  if (kind == Kind::kNode) {
    lifecycle::v1::ListNodesRequest request;
    request.set_parent(connection.PoolName(pool.empty() ? "-" : pool));
    return connection.Pages(
        connection.lifecycle, &Connection::Lifecycle::ListNodes, request,
        [](auto& response) { return response.mutable_nodes(); }, receive);
  }
  if (kind == Kind::kCluster) {
    lifecycle::v1::ListClustersRequest request;
    request.set_parent(connection.Organization());
    return connection.Pages(
        connection.lifecycle, &Connection::Lifecycle::ListClusters, request,
        [](auto& response) { return response.mutable_clusters(); }, receive);
  }
  lifecycle::v1::ListEventsRequest request;
  request.set_parent(connection.Cluster());
  if (!pool.empty()) {
    ASSIGN_OR_RETURN(const Item found, GetItem(connection, Kind::kNodePool, pool));
    request.set_parent(Connection::ClusterOf(NameOf(found)));
    request.set_pool_uid(std::get<lifecycle::v1::NodePool>(found).uid());
  }
  return connection.Pages(
      connection.lifecycle, &Connection::Lifecycle::ListEvents, request,
      [](auto& response) { return response.mutable_events(); }, receive);
}

absl::Status ListOthers(Connection& connection, Kind kind, const PageReceiver& receive) {
  switch (kind) {
    case Kind::kQuota: {
      quota::v1::ListQuotasRequest request;
      request.set_parent(connection.Organization());
      return connection.Pages(
          connection.quota, &Connection::Quota::ListQuotas, request,
          [](auto& response) { return response.mutable_quotas(); }, receive);
    }
    case Kind::kZone:
      return connection.Pages(
          connection.capacity, &Connection::Capacity::ListZones, capacity::v1::ListZonesRequest(),
          [](auto& response) { return response.mutable_zones(); }, receive);
    case Kind::kInstanceType:
      return connection.Pages(
          connection.capacity, &Connection::Capacity::ListInstanceTypes,
          capacity::v1::ListInstanceTypesRequest(),
          [](auto& response) { return response.mutable_instance_types(); }, receive);
    case Kind::kMachine:
      return connection.Pages(
          connection.capacity, &Connection::Capacity::ListMachines,
          capacity::v1::ListMachinesRequest(),
          [](auto& response) { return response.mutable_machines(); }, receive);
    case Kind::kClaim:
      return connection.Pages(
          connection.capacity, &Connection::Capacity::ListClaims, capacity::v1::ListClaimsRequest(),
          [](auto& response) { return response.mutable_claims(); }, receive);
    case Kind::kRelease:
      return connection.Pages(
          connection.configuration, &Connection::Configuration::ListReleases,
          configuration::v1::ListReleasesRequest(),
          [](auto& response) { return response.mutable_releases(); }, receive);
    case Kind::kConfiguration:
      return connection.Pages(
          connection.configuration, &Connection::Configuration::ListPoolConfigurations,
          configuration::v1::ListPoolConfigurationsRequest(),
          [](auto& response) { return response.mutable_configurations(); }, receive);
    case Kind::kNodeProfile:
      return connection.Pages(
          connection.configuration, &Connection::Configuration::ListNodeProfiles,
          configuration::v1::ListNodeProfilesRequest(),
          [](auto& response) { return response.mutable_node_profiles(); }, receive);
    case Kind::kNodePool:
    case Kind::kNode:
    case Kind::kEvent:
    case Kind::kCluster:
      break;
  }
  return absl::InternalError("not a kind of this list");
}

}  // namespace

absl::Status ListPages(Connection& connection, Kind kind, const std::string& pool,
                       const PageReceiver& receive) {
  const bool lifecycle = kind <= Kind::kCluster;
  return lifecycle ? ListLifecycle(connection, kind, pool, receive)
                   : ListOthers(connection, kind, receive);
}

}  // namespace muster::musterctl
