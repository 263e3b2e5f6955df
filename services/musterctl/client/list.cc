#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "services/musterctl/client/connection.h"

// All of a kind, page by page.
namespace muster::musterctl {
namespace {

// The prefix of the names of resources whose id begins with `begin`; empty: there is no single one,
// or the List takes no filter.
std::string NameBegin(const Connection& connection, Kind kind, const std::string& begin) {
  if (kind <= Kind::kQuota && !connection.is_one_cluster()) return "";
  const std::string prefix = connection.Prefix(kind);
  switch (kind) {
    case Kind::kNodePool:
      return absl::StrCat(prefix, "nodePools/", begin);
    case Kind::kNode:
      return absl::StrCat(prefix, "nodePools/", absl::StrReplaceAll(begin, {{"/", "/nodes/"}}));
    case Kind::kEvent:
      return absl::StrCat(prefix, "events/", begin);
    case Kind::kCluster:
    case Kind::kQuota:
      return absl::StrCat(prefix, begin);
    case Kind::kMachine:
      return absl::StrCat("machines/", begin);
    case Kind::kClaim:
      return absl::StrCat("claims/", begin);
    case Kind::kHolding:
    case Kind::kZone:
    case Kind::kInstanceType:
    case Kind::kRelease:
    case Kind::kConfiguration:
    case Kind::kNodeProfile:
      break;
  }
  return "";
}

std::string FilterOf(const Connection& connection, Kind kind, const ListRange& range) {
  if (!range.filter.empty() || range.begin.empty()) return range.filter;
  const std::string begin = NameBegin(connection, kind, range.begin);
  return begin.empty() ? "" : absl::StrCat("name = ", FilterText(absl::StrCat(begin, "*")));
}

// The NodePool whose Nodes are listed; `-`: those of all NodePools.
std::string PoolOf(const Connection& connection, const ListRange& range) {
  if (!range.pool.empty()) return range.pool;
  const size_t slash = range.begin.find('/');
  const bool is_said = slash != std::string::npos && connection.is_one_cluster();
  return is_said ? range.begin.substr(0, slash) : "-";
}

absl::Status ListLifecycle(Connection& connection, Kind kind, const ListRange& range,
                           const PageReceiver& receive) {
  const std::string filter = FilterOf(connection, kind, range);
  if (kind == Kind::kNodePool) {
    lifecycle::v1::ListNodePoolsRequest request;
    request.set_parent(connection.Cluster());
    request.set_filter(filter);
    return connection.Pages(
        &Connection::Lifecycle::ListNodePools, request,
        [](auto& response) { return response.mutable_node_pools(); }, receive);
  }
  if (kind == Kind::kNode) {
    lifecycle::v1::ListNodesRequest request;
    request.set_parent(connection.PoolName(PoolOf(connection, range)));
    request.set_filter(filter);
    return connection.Pages(
        &Connection::Lifecycle::ListNodes, request,
        [](auto& response) { return response.mutable_nodes(); }, receive);
  }
  if (kind == Kind::kCluster) {
    lifecycle::v1::ListClustersRequest request;
    request.set_parent(connection.Organization());
    request.set_filter(filter);
    return connection.Pages(
        &Connection::Lifecycle::ListClusters, request,
        [](auto& response) { return response.mutable_clusters(); }, receive);
  }
  lifecycle::v1::ListEventsRequest request;
  request.set_parent(range.cluster.empty() ? connection.Cluster() : range.cluster);
  request.set_filter(filter);
  if (connection.IsPlaced(range.pool)) {
    ASSIGN_OR_RETURN(const Item found, GetItem(connection, Kind::kNodePool, range.pool));
    request.set_parent(ClusterOf(NameOf(found)));
    request.set_pool_uid(std::get<lifecycle::v1::NodePool>(found).uid());
  }
  return connection.Pages(
      &Connection::Lifecycle::ListEvents, request,
      [](auto& response) { return response.mutable_events(); }, receive);
}

absl::Status ListQuota(Connection& connection, Kind kind, const ListRange& range,
                       const PageReceiver& receive) {
  if (kind == Kind::kHolding) {
    quota::v1::ListHoldingsRequest request;
    request.set_parent(absl::StrCat(connection.Organization(), "/quotas/-"));
    return connection.Pages(
        &Connection::Quota::ListHoldings, request,
        [](auto& response) { return response.mutable_holdings(); }, receive);
  }
  quota::v1::ListQuotasRequest request;
  request.set_parent(connection.Organization());
  request.set_filter(FilterOf(connection, kind, range));
  return connection.Pages(
      &Connection::Quota::ListQuotas, request,
      [](auto& response) { return response.mutable_quotas(); }, receive);
}

absl::Status ListCapacity(Connection& connection, Kind kind, const ListRange& range,
                          const PageReceiver& receive) {
  if (kind == Kind::kZone) {
    return connection.Pages(
        &Connection::Capacity::ListZones, capacity::v1::ListZonesRequest(),
        [](auto& response) { return response.mutable_zones(); }, receive);
  }
  if (kind == Kind::kInstanceType) {
    return connection.Pages(
        &Connection::Capacity::ListInstanceTypes, capacity::v1::ListInstanceTypesRequest(),
        [](auto& response) { return response.mutable_instance_types(); }, receive);
  }
  const std::string filter = FilterOf(connection, kind, range);
  if (kind == Kind::kMachine) {
    capacity::v1::ListMachinesRequest request;
    request.set_filter(filter);
    return connection.Pages(
        &Connection::Capacity::ListMachines, request,
        [](auto& response) { return response.mutable_machines(); }, receive);
  }
  capacity::v1::ListClaimsRequest request;
  request.set_filter(filter);
  return connection.Pages(
      &Connection::Capacity::ListClaims, request,
      [](auto& response) { return response.mutable_claims(); }, receive);
}

absl::Status ListConfiguration(Connection& connection, Kind kind, const PageReceiver& receive) {
  if (kind == Kind::kRelease) {
    return connection.Pages(
        &Connection::Configuration::ListReleases, configuration::v1::ListReleasesRequest(),
        [](auto& response) { return response.mutable_releases(); }, receive);
  }
  if (kind == Kind::kConfiguration) {
    return connection.Pages(
        &Connection::Configuration::ListPoolConfigurations,
        configuration::v1::ListPoolConfigurationsRequest(),
        [](auto& response) { return response.mutable_configurations(); }, receive);
  }
  return connection.Pages(
      &Connection::Configuration::ListNodeProfiles, configuration::v1::ListNodeProfilesRequest(),
      [](auto& response) { return response.mutable_node_profiles(); }, receive);
}

}  // namespace

absl::Status ListPages(Connection& connection, Kind kind, const ListRange& range,
                       const PageReceiver& receive) {
  switch (kind) {
    case Kind::kNodePool:
    case Kind::kNode:
    case Kind::kEvent:
    case Kind::kCluster:
      return ListLifecycle(connection, kind, range, receive);
    case Kind::kHolding:
    case Kind::kQuota:
      return ListQuota(connection, kind, range, receive);
    case Kind::kZone:
    case Kind::kInstanceType:
    case Kind::kMachine:
    case Kind::kClaim:
      return ListCapacity(connection, kind, range, receive);
    case Kind::kRelease:
    case Kind::kConfiguration:
    case Kind::kNodeProfile:
      return ListConfiguration(connection, kind, receive);
  }
  return absl::InternalError("not a kind of this list");
}

std::string FilterText(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

}  // namespace muster::musterctl
