#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <map>

#include "absl/types/span.h"
#include "services/musterctl/client/connection.h"
#include "services/rpc/client/batches.h"

// Sends one resource, and finds out by a look before it what that changed or, with `dry_run`,
// would.
namespace muster::musterctl {
namespace {

constexpr size_t kRegisterChunk = 500;

bool Equal(const google::protobuf::Message& a, const google::protobuf::Message& b) {
  return google::protobuf::util::MessageDifferencer::Equals(a, b);
}

// The same, whenever each was read.
template <class Message>
bool SaysTheSame(Message a, Message b) {
  a.clear_revision();
  b.clear_revision();
  return Equal(a, b);
}

// What of a machine the caller says.
bool SameFacts(const capacity::v1::Machine& a, const capacity::v1::Machine& b) {
  const auto said = [](const capacity::v1::Machine& whole) {
    capacity::v1::Machine part;
    part.set_zone(whole.zone());
    part.set_instance_type(whole.instance_type());
    part.set_fabric(whole.fabric());
    part.set_rack(whole.rack());
    part.set_slot(whole.slot());
    *part.mutable_labels() = whole.labels();
    return part;
  };
  return Equal(said(a), said(b));
}

Applied Compared(bool existed, bool same) {
  return {.outcome = !existed ? Outcome::kCreated
                     : same   ? Outcome::kUnchanged
                              : Outcome::kConfigured};
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const capacity::v1::Zone& zone,
                                 bool dry_run) {
  ASSIGN_OR_RETURN(const auto before, connection.Find(connection.capacity,
                                                      &Connection::Capacity::GetZone, zone.name()));
  if (dry_run) {
    capacity::v1::Zone after = zone;
    if (before) after.set_region(before->region());
    return Compared(before.has_value(), before && SaysTheSame(*before, after));
  }
  capacity::v1::UpdateZoneRequest request;
  *request.mutable_zone() = zone;
  ASSIGN_OR_RETURN(const auto after, connection.Call(connection.capacity,
                                                     &Connection::Capacity::UpdateZone, request));
  return Compared(before.has_value(), before && SaysTheSame(*before, after));
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const capacity::v1::InstanceType& type,
                                 bool dry_run) {
  ASSIGN_OR_RETURN(
      const auto before,
      connection.Find(connection.capacity, &Connection::Capacity::GetInstanceType, type.name()));
  if (dry_run) return Compared(before.has_value(), before && SaysTheSame(*before, type));
  capacity::v1::UpdateInstanceTypeRequest request;
  *request.mutable_instance_type() = type;
  ASSIGN_OR_RETURN(
      const auto after,
      connection.Call(connection.capacity, &Connection::Capacity::UpdateInstanceType, request));
  return Compared(before.has_value(), before && SaysTheSame(*before, after));
}

absl::Status Register(Connection& connection, absl::Span<const capacity::v1::Machine> machines) {
  for (size_t end = 0; !machines.empty(); machines.remove_prefix(end)) {
    end = rpc::BatchEnd(machines, 0, kRegisterChunk);
    capacity::v1::BatchRegisterMachinesRequest request;
    for (const auto& machine : machines.first(end)) *request.add_machines() = machine;
    RETURN_IF_ERROR(
        connection.Call(connection.capacity, &Connection::Capacity::BatchRegisterMachines, request)
            .status());
  }
  return absl::OkStatus();
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const MachineSet& set, bool dry_run) {
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
  std::vector<capacity::v1::Machine> news;
  size_t created = 0;
  for (const capacity::v1::Machine& machine : set.machines) {
    const auto it = known.find(machine.name());
    if (it != known.end() && SameFacts(it->second, machine)) continue;
    if (it == known.end()) ++created;
    news.push_back(machine);
  }
  if (!dry_run) RETURN_IF_ERROR(Register(connection, news));
  Applied applied = Compared(created < set.machines.size(), news.empty());
  applied.detail = absl::StrCat(set.machines.size(), " machines, ", created, " new, ",
                                news.size() - created, " changed");
  return applied;
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const capacity::v1::Machine& machine,
                                 bool dry_run) {
  ASSIGN_OR_RETURN(
      const auto before,
      connection.Find(connection.capacity, &Connection::Capacity::GetMachine, machine.name()));
  if (!dry_run) RETURN_IF_ERROR(Register(connection, {machine}));
  return Compared(before.has_value(), before && SameFacts(*before, machine));
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const quota::v1::Quota& quota,
                                 bool dry_run) {
  ASSIGN_OR_RETURN(const auto before,
                   connection.Find(connection.quota, &Connection::Quota::GetQuota, quota.name()));
  quota::v1::UpdateQuotaRequest request;
  *request.mutable_quota() = quota;
  request.set_allow_missing(true);
  request.set_validate_only(dry_run);
  // Who read it before knows of its overrides, and may have taken them away.
  const std::string all = "*";
  if (!quota.etag().empty()) *request.mutable_update_mask()->add_paths() = all;
  ASSIGN_OR_RETURN(const auto after,
                   connection.Call(connection.quota, &Connection::Quota::UpdateQuota, request));
  const auto said = [](const quota::v1::Quota& whole) {
    quota::v1::Quota part;
    part.set_limit(whole.limit());
    *part.mutable_overrides() = whole.overrides();
    return part;
  };
  return Compared(before.has_value(), before && Equal(said(*before), said(after)));
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const configuration::v1::Release& release,
                                 bool dry_run) {
  ASSIGN_OR_RETURN(const auto before,
                   connection.Find(connection.configuration, &Connection::Configuration::GetRelease,
                                   release.name()));
  configuration::v1::PublishReleaseRequest request;
  *request.mutable_release() = release;
  request.set_validate_only(dry_run);
  RETURN_IF_ERROR(
      connection.Call(connection.configuration, &Connection::Configuration::PublishRelease, request)
          .status());
  return Compared(before.has_value(), before && !before->has_withdraw_time());
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const lifecycle::v1::Cluster& cluster,
                                 bool dry_run) {
  ASSIGN_OR_RETURN(
      const auto before,
      connection.Find(connection.lifecycle, &Connection::Lifecycle::GetCluster, cluster.name()));
  lifecycle::v1::UpdateClusterRequest request;
  *request.mutable_cluster() = cluster;
  request.set_validate_only(dry_run);
  ASSIGN_OR_RETURN(
      const auto after,
      connection.Call(connection.lifecycle, &Connection::Lifecycle::UpdateCluster, request));
  return Compared(before.has_value(),
                  before && before->kubernetes_version() == after.kubernetes_version());
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const lifecycle::v1::NodePool& pool,
                                 bool dry_run) {
  ASSIGN_OR_RETURN(
      const auto before,
      connection.Find(connection.lifecycle, &Connection::Lifecycle::GetNodePool, pool.name()));
  lifecycle::v1::ApplyNodePoolRequest request;
  *request.mutable_node_pool() = pool;
  request.set_validate_only(dry_run);
  ASSIGN_OR_RETURN(
      const auto after,
      connection.Call(connection.lifecycle, &Connection::Lifecycle::ApplyNodePool, request));
  Applied applied = Compared(before && before->uid() == after.uid(),
                             before && before->generation() == after.generation());
  if (after.has_preview()) applied.preview = after.preview();
  applied.warnings.assign(after.warnings().begin(), after.warnings().end());
  return applied;
}

}  // namespace

absl::StatusOr<Applied> ApplyResource(Connection& connection, const Resource& resource,
                                      bool dry_run) {
  return std::visit([&](const auto& message) { return ApplyOne(connection, message, dry_run); },
                    resource);
}

}  // namespace muster::musterctl
