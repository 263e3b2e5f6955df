#include <google/protobuf/util/message_differencer.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "services/musterctl/client/connection.h"
#include "services/musterctl/client/set_members.h"
#include "services/rpc/client/batches.h"

// Sends one resource, and reads it before, to find out what this changes or, with `dry_run`, would
// change.
namespace muster::musterctl {
namespace {

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
                                 const WriteMode& mode) {
  ASSIGN_OR_RETURN(const auto before, connection.Find(&Connection::Capacity::GetZone, zone.name()));
  capacity::v1::UpdateZoneRequest request;
  *request.mutable_zone() = zone;
  request.set_validate_only(mode.dry_run);
  ASSIGN_OR_RETURN(const auto after, connection.Call(&Connection::Capacity::UpdateZone, request));
  return Compared(before.has_value(), before && SaysTheSame(*before, after));
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const capacity::v1::InstanceType& type,
                                 const WriteMode& mode) {
  ASSIGN_OR_RETURN(const auto before,
                   connection.Find(&Connection::Capacity::GetInstanceType, type.name()));
  capacity::v1::UpdateInstanceTypeRequest request;
  *request.mutable_instance_type() = type;
  request.set_validate_only(mode.dry_run);
  ASSIGN_OR_RETURN(const auto after,
                   connection.Call(&Connection::Capacity::UpdateInstanceType, request));
  return Compared(before.has_value(), before && SaysTheSame(*before, after));
}

absl::Status Register(Connection& connection, absl::Span<const capacity::v1::Machine> machines,
                      const WriteMode& mode) {
  const size_t all = machines.size();
  for (size_t end = 0; !machines.empty(); machines.remove_prefix(end)) {
    end = rpc::BatchEnd(machines, 0, rpc::kRegisterChunk);
    capacity::v1::BatchRegisterMachinesRequest request;
    for (const auto& machine : machines.first(end)) *request.add_machines() = machine;
    request.set_validate_only(mode.dry_run);
    RETURN_IF_ERROR(
        connection.Call(&Connection::Capacity::BatchRegisterMachines, request).status());
    if (mode.progress && all > rpc::kRegisterChunk) mode.progress(all - machines.size() + end, all);
  }
  return absl::OkStatus();
}

// Machines of a set of which there is something to say.
struct Remarkable {
  size_t count = 0;
  std::string first = {};

  void Add(const capacity::v1::Machine& machine) {
    if (count++ == 0) first = std::string(absl::StripPrefix(machine.name(), "machines/"));
  }
  void Warn(absl::string_view what, Applied& applied) const {
    if (count == 0) return;
    applied.warnings.push_back(absl::StrCat(count, " of its machines ", what, ", e.g. ", first));
  }
};

bool IsRetired(const capacity::v1::Machine& machine) {
  return machine.state() == capacity::v1::Machine::STATE_RETIRED;
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const MachineSet& set,
                                 const WriteMode& mode) {
  ASSIGN_OR_RETURN(const std::vector<SetMember> members,
                   FindMembers(set, [&](const capacity::v1::ListMachinesRequest& filter) {
                     return connection.ListMachines(filter);
                   }));
  std::vector<capacity::v1::Machine> news;
  size_t created = 0;
  Remarkable moved, retired;
  for (const SetMember& member : members) {
    if (member.known && IsRetired(*member.known)) retired.Add(member.machine);
    if (member.is_moved) {
      moved.Add(member.machine);
      continue;
    }
    if (member.known && SameFacts(*member.known, member.machine)) continue;
    if (!member.known) ++created;
    news.push_back(member.machine);
  }
  RETURN_IF_ERROR(Register(connection, news, mode));
  Applied applied = Compared(created < members.size(), news.empty());
  applied.detail = absl::StrCat(members.size(), " machines, ", created, " new, ",
                                news.size() - created, " changed");
  moved.Warn("stand in racks of other sets, and stay there", applied);
  retired.Warn("are retired: they serve nobody until they are deleted and registered anew",
               applied);
  return applied;
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const capacity::v1::Machine& machine,
                                 const WriteMode& mode) {
  ASSIGN_OR_RETURN(const auto before,
                   connection.Find(&Connection::Capacity::GetMachine, machine.name()));
  RETURN_IF_ERROR(Register(connection, {machine}, mode));
  Applied applied = Compared(before.has_value(), before && SameFacts(*before, machine));
  if (before && IsRetired(*before)) {
    applied.warnings.emplace_back(
        "is retired: it serves nobody until it is deleted and registered anew");
  }
  return applied;
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const quota::v1::Quota& quota,
                                 const WriteMode& mode) {
  ASSIGN_OR_RETURN(const auto before, connection.Find(&Connection::Quota::GetQuota, quota.name()));
  quota::v1::UpdateQuotaRequest request;
  *request.mutable_quota() = quota;
  request.set_allow_missing(true);
  request.set_validate_only(mode.dry_run);
  // A caller with an etag read the overrides too, and may have removed them: all fields are
  // written.
  const std::string all = "*";
  if (mode.overrides || !quota.etag().empty()) *request.mutable_update_mask()->add_paths() = all;
  ASSIGN_OR_RETURN(const auto after, connection.Call(&Connection::Quota::UpdateQuota, request));
  const auto said = [](const quota::v1::Quota& whole) {
    quota::v1::Quota part;
    part.set_limit(whole.limit());
    *part.mutable_overrides() = whole.overrides();
    return part;
  };
  return Compared(before.has_value(), before && Equal(said(*before), said(after)));
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const configuration::v1::Release& release,
                                 const WriteMode& mode) {
  if (release.has_withdraw_time()) return Applied{};
  ASSIGN_OR_RETURN(const auto before,
                   connection.Find(&Connection::Configuration::GetRelease, release.name()));
  configuration::v1::PublishReleaseRequest request;
  *request.mutable_release() = release;
  request.set_validate_only(mode.dry_run);
  RETURN_IF_ERROR(connection.Call(&Connection::Configuration::PublishRelease, request).status());
  return Compared(before.has_value(), before && !before->has_withdraw_time());
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const lifecycle::v1::Cluster& cluster,
                                 const WriteMode& mode) {
  ASSIGN_OR_RETURN(const auto before,
                   connection.Find(&Connection::Lifecycle::GetCluster, cluster.name()));
  lifecycle::v1::UpdateClusterRequest request;
  *request.mutable_cluster() = cluster;
  request.set_validate_only(mode.dry_run);
  ASSIGN_OR_RETURN(const auto after,
                   connection.Call(&Connection::Lifecycle::UpdateCluster, request));
  return Compared(before.has_value(),
                  before && before->kubernetes_version() == after.kubernetes_version());
}

// What the answer of a NodePool's change says beside its outcome.
Applied AppliedPool(Applied applied, const lifecycle::v1::NodePool& after) {
  if (applied.outcome == Outcome::kConfigured)
    applied.detail = absl::StrJoin(after.changed_fields().paths(), ", ");
  if (after.has_preview()) applied.preview = after.preview();
  applied.warnings.assign(after.warnings().begin(), after.warnings().end());
  return applied;
}

absl::StatusOr<Applied> ApplyOne(Connection& connection, const lifecycle::v1::NodePool& pool,
                                 const WriteMode& mode) {
  ASSIGN_OR_RETURN(const auto before,
                   connection.Find(&Connection::Lifecycle::GetNodePool, pool.name()));
  lifecycle::v1::ApplyNodePoolRequest request;
  *request.mutable_node_pool() = pool;
  request.set_validate_only(mode.dry_run);
  request.set_must_fit(mode.must_fit);
  ASSIGN_OR_RETURN(const auto after,
                   connection.Call(&Connection::Lifecycle::ApplyNodePool, request));
  return AppliedPool(Compared(before && before->uid() == after.uid(),
                              before && before->generation() == after.generation()),
                     after);
}

}  // namespace

absl::StatusOr<Applied> ApplyResource(Connection& connection, const Resource& resource,
                                      const WriteMode& mode) {
  return std::visit([&](const auto& message) { return ApplyOne(connection, message, mode); },
                    resource);
}

absl::StatusOr<Applied> UpdateFields(Connection& connection, const lifecycle::v1::NodePool& pool,
                                     const std::vector<std::string>& paths, const WriteMode& mode) {
  lifecycle::v1::UpdateNodePoolRequest request;
  *request.mutable_node_pool() = pool;
  request.mutable_update_mask()->mutable_paths()->Assign(paths.begin(), paths.end());
  request.set_validate_only(mode.dry_run);
  request.set_must_fit(mode.must_fit);
  ASSIGN_OR_RETURN(const auto after,
                   connection.Call(&Connection::Lifecycle::UpdateNodePool, request));
  return AppliedPool(Compared(true, pool.generation() == after.generation()), after);
}

}  // namespace muster::musterctl
