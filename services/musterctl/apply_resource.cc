#include <google/protobuf/util/message_differencer.h>

#include <map>

#include "services/musterctl/connection.h"

// Sends one resource, and finds out by a look before it what that changed.
namespace muster::musterctl {
namespace {

constexpr int kRegisterChunk = 500;

// What of a machine the caller says.
bool SameFacts(const capacity::v1::Machine& a, const capacity::v1::Machine& b) {
  const auto strip = [](capacity::v1::Machine machine) {
    machine.clear_state();
    machine.clear_claim();
    machine.clear_state_time();
    return machine;
  };
  return google::protobuf::util::MessageDifferencer::Equals(strip(a), strip(b));
}

Applied Compared(bool existed, bool same) {
  return {.outcome = !existed ? Outcome::kCreated
                     : same   ? Outcome::kUnchanged
                              : Outcome::kConfigured};
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const capacity::v1::Zone& zone) {
  ASSIGN_OR_RETURN(const auto before, connection.Find(connection.capacity,
                                                      &Connection::Capacity::GetZone, zone.name()));
  capacity::v1::UpdateZoneRequest request;
  *request.mutable_zone() = zone;
  ASSIGN_OR_RETURN(const auto after, connection.Call(connection.capacity,
                                                     &Connection::Capacity::UpdateZone, request));
  return Compared(before.has_value(),
                  before && google::protobuf::util::MessageDifferencer::Equals(*before, after));
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const capacity::v1::InstanceType& type) {
  ASSIGN_OR_RETURN(
      const auto before,
      connection.Find(connection.capacity, &Connection::Capacity::GetInstanceType, type.name()));
  capacity::v1::UpdateInstanceTypeRequest request;
  *request.mutable_instance_type() = type;
  ASSIGN_OR_RETURN(
      const auto after,
      connection.Call(connection.capacity, &Connection::Capacity::UpdateInstanceType, request));
  return Compared(before.has_value(),
                  before && google::protobuf::util::MessageDifferencer::Equals(*before, after));
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const MachineSet& set) {
  const auto& first = set.machines.front();
  std::vector<Item> items;
  capacity::v1::ListMachinesRequest filter;
  filter.set_zone(first.zone());
  filter.set_instance_type(first.instance_type());
  RETURN_IF_ERROR(connection.ListMachines(filter, items));
  std::map<std::string, capacity::v1::Machine> known;
  for (Item& item : items) {
    auto& machine = std::get<capacity::v1::Machine>(item);
    known[machine.name()] = std::move(machine);
  }
  capacity::v1::BatchRegisterMachinesRequest request;
  size_t created = 0;
  size_t changed = 0;
  for (size_t i = 0; i < set.machines.size(); ++i) {
    const auto it = known.find(set.machines[i].name());
    if (it == known.end() || !SameFacts(it->second, set.machines[i])) {
      ++(it == known.end() ? created : changed);
      *request.add_machines() = set.machines[i];
    }
    if (request.machines_size() == kRegisterChunk ||
        (i + 1 == set.machines.size() && request.machines_size() > 0)) {
      RETURN_IF_ERROR(
          connection
              .Call(connection.capacity, &Connection::Capacity::BatchRegisterMachines, request)
              .status());
      request.clear_machines();
    }
  }
  Applied applied = Compared(created < set.machines.size(), created + changed == 0);
  applied.detail =
      absl::StrCat(set.machines.size(), " machines, ", created, " new, ", changed, " changed");
  return applied;
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const capacity::v1::Machine& machine) {
  ASSIGN_OR_RETURN(
      const auto before,
      connection.Find(connection.capacity, &Connection::Capacity::GetMachine, machine.name()));
  capacity::v1::BatchRegisterMachinesRequest request;
  *request.add_machines() = machine;
  RETURN_IF_ERROR(
      connection.Call(connection.capacity, &Connection::Capacity::BatchRegisterMachines, request)
          .status());
  return Compared(before.has_value(), before && SameFacts(*before, machine));
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const quota::v1::Quota& quota) {
  ASSIGN_OR_RETURN(const auto before,
                   connection.Find(connection.quota, &Connection::Quota::GetQuota, quota.name()));
  quota::v1::UpdateQuotaRequest request;
  *request.mutable_quota() = quota;
  request.set_allow_missing(true);
  ASSIGN_OR_RETURN(const auto after,
                   connection.Call(connection.quota, &Connection::Quota::UpdateQuota, request));
  return Compared(before.has_value(),
                  before && before->limit() == after.limit() && before->etag() == after.etag());
}

absl::StatusOr<Applied> ApplyOne(Connection& connection,
                                 const configuration::v1::Release& release) {
  ASSIGN_OR_RETURN(const auto before,
                   connection.Find(connection.configuration, &Connection::Configuration::GetRelease,
                                   release.name()));
  configuration::v1::PublishReleaseRequest request;
  *request.mutable_release() = release;
  RETURN_IF_ERROR(
      connection.Call(connection.configuration, &Connection::Configuration::PublishRelease, request)
          .status());
  return Compared(before.has_value(), before && !before->has_withdraw_time());
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const lifecycle::v1::Cluster& cluster) {
  ASSIGN_OR_RETURN(
      const auto before,
      connection.Find(connection.lifecycle, &Connection::Lifecycle::GetCluster, cluster.name()));
  lifecycle::v1::UpdateClusterRequest request;
  *request.mutable_cluster() = cluster;
  ASSIGN_OR_RETURN(
      const auto after,
      connection.Call(connection.lifecycle, &Connection::Lifecycle::UpdateCluster, request));
  return Compared(before.has_value(),
                  before && before->kubernetes_version() == after.kubernetes_version());
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const lifecycle::v1::NodePool& pool) {
  ASSIGN_OR_RETURN(
      const auto before,
      connection.Find(connection.lifecycle, &Connection::Lifecycle::GetNodePool, pool.name()));
  lifecycle::v1::ApplyNodePoolRequest request;
  *request.mutable_node_pool() = pool;
  ASSIGN_OR_RETURN(
      const auto after,
      connection.Call(connection.lifecycle, &Connection::Lifecycle::ApplyNodePool, request));
  return Compared(before && before->uid() == after.uid(),
                  before && before->generation() == after.generation());
}

}  // namespace

absl::StatusOr<Applied> ApplyResource(Connection& connection, const Resource& resource) {
  return std::visit([&](const auto& message) { return ApplyOne(connection, message); }, resource);
}

}  // namespace muster::musterctl
