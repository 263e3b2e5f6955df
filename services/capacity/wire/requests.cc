#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/wire/capacity_wire.h"
#include "services/capacity/wire/enums.h"
#include "services/common/resource_name.h"
#include "services/common/timestamp.h"

namespace muster::capacity {
namespace {

// The value, or a default one with a fault.
template <class T>
T Take(std::optional<T> value, absl::string_view path, absl::string_view rule, Faults& faults) {
  if (value) return *std::move(value);
  faults.Add(path, rule);
  return T();
}

// Unspecified means default.
ComputeClass ParseClass(type::v1::ComputeClass compute_class, absl::string_view path,
                        Faults& faults) {
  if (compute_class == type::v1::COMPUTE_CLASS_UNSPECIFIED) return ComputeClass::kDefault;
  return Take(wire::ClassOf(compute_class), absl::StrCat(path, ".compute_class"),
              "must be COMPUTE_CLASS_DEFAULT or COMPUTE_CLASS_SPOT.", faults);
}

}  // namespace

MachineRow FromProto(const v1::Machine& machine, absl::string_view path, Faults& faults) {
  MachineRow row;
  row.id = Take(ParseMachineName(machine.name()), absl::StrCat(path, ".name"), kMachineNameShape,
                faults);
  row.zone = machine.zone();
  row.instance_type = machine.instance_type();
  row.fabric = machine.fabric();
  row.rack = machine.rack();
  row.slot = machine.slot();
  row.labels = {machine.labels().begin(), machine.labels().end()};
  return row;
}

SyncClaim FromProto(const v1::ClaimRequest& request, absl::string_view path, Faults& faults) {
  SyncClaim claim;
  claim.pool_uid = request.pool_uid();
  claim.generation = request.generation();
  claim.zone = request.zone();
  claim.instance_type = request.instance_type();
  claim.compute_class = ParseClass(request.compute_class(), path, faults);
  claim.nodes = request.nodes();
  claim.priority = request.priority();
  claim.release = request.release();
  claim.pool = request.pool();
  claim.affinity = FromProto(request.affinity(), absl::StrCat(path, ".affinity"), faults);
  claim.gang = request.gang();
  claim.organization = request.organization();
  claim.wanted_nodes = request.wanted_nodes();
  claim.leaving_nodes = request.leaving_nodes();
  claim.known_machines = request.known_machines();
  for (const v1::MachineReturn& given : request.returns()) {
    if (claim.returns.size() > kMaxReturns) break;
    const std::string at =
        muster::error::At(muster::error::Below(path, "returns"), claim.returns.size());
    const ReturnReason reason =
        Take(wire::ReturnReasonOf(given.reason()), muster::error::Below(at, "reason"),
             "must be REASON_RELEASED, REASON_BROKEN or REASON_PREEMPTED.", faults);
    claim.returns.push_back({given.machine(), reason});
    if (!given.has_grant_time()) continue;
    const google::protobuf::Timestamp& granted = given.grant_time();
    if (IsTimestamp(granted.seconds(), granted.nanos()))
      claim.returns.back().grant_time = FromTimestamp(granted);
    else
      faults.Add(muster::error::Below(at, "grant_time"), "must be a time.");
  }
  return claim;
}

UpdateZone ParseRequest(const v1::UpdateZoneRequest& request, Faults& faults) {
  const v1::Zone& zone = request.zone();
  UpdateZone command;
  command.zone.id = Take(ParseZoneName(zone.name()), "zone.name", kZoneNameShape, faults);
  command.zone.access = Take(wire::AccessOf(zone.access()), "zone.access",
                             "must be ACCESS_GENERAL or ACCESS_DEDICATED.", faults);
  command.zone.instance_types = {zone.instance_types().begin(), zone.instance_types().end()};
  return command;
}

UpdateInstanceType ParseRequest(const v1::UpdateInstanceTypeRequest& request, Faults& faults) {
  // All but the name is as in the journal, so that its parser serves here too.
  v1::InstanceType type = request.instance_type();
  const std::string id = Take(ParseInstanceTypeName(type.name()), "instance_type.name",
                              kInstanceTypeNameShape, faults);
  if (id.empty()) type.set_name(InstanceTypeName("unnamed"));
  return {*FromProto(type)};
}

SetMachineState ParseRequest(const v1::SetMachineStateRequest& request, Faults& faults) {
  SetMachineState command;
  command.id = Take(ParseMachineName(request.name()), "name", kMachineNameShape, faults);
  command.state = Take(wire::StateOf(request.state()), "state",
                       "must be STATE_FREE, STATE_IN_REPAIR or STATE_RETIRED.", faults);
  return command;
}

DeleteZone ParseRequest(const v1::DeleteZoneRequest& request, Faults& faults) {
  return {Take(ParseZoneName(request.name()), "name", kZoneNameShape, faults),
          request.allow_missing()};
}

DeleteInstanceType ParseRequest(const v1::DeleteInstanceTypeRequest& request, Faults& faults) {
  return {Take(ParseInstanceTypeName(request.name()), "name", kInstanceTypeNameShape, faults),
          request.allow_missing()};
}

DeleteMachine ParseRequest(const v1::DeleteMachineRequest& request, Faults& faults) {
  return {Take(ParseMachineName(request.name()), "name", kMachineNameShape, faults),
          request.allow_missing()};
}

SyncClaim ParseRequest(const v1::SyncClaimRequest& request, Faults& faults) {
  return FromProto(request.claim(), "claim", faults);
}

PlacementQuery ParseRequest(const v1::FindPlacementsRequest& request, Faults& faults) {
  PlacementQuery query;
  for (const v1::PlacementRequest& wanted : request.requests()) {
    if (query.requests.size() > kMaxPlacementRequests) break;
    const ComputeClass compute_class = ParseClass(
        wanted.compute_class(), muster::error::At("requests", query.requests.size()), faults);
    query.requests.push_back({wanted.instance_type(), wanted.nodes(), compute_class});
  }
  for (const std::string& zone : request.zones()) {
    if (query.zones.size() > kMaxPlacementZones) break;
    query.zones.push_back(zone);
  }
  return query;
}

MachineFilter ParseRequest(const v1::ListMachinesRequest& request, Faults& faults) {
  MachineFilter filter{request.zone(), request.instance_type(), request.claim()};
  const auto check = [&](const std::string& text, bool (*valid)(absl::string_view),
                         absl::string_view field, absl::string_view rule) {
    faults.Require(text.empty() || valid(text), field, rule);
  };
  check(filter.zone, &IsZoneId, "zone", "must be a zone id such as US-EAST-04A, or empty.");
  check(filter.instance_type, &IsInstanceTypeId, "instance_type",
        "must be an instance type id, or empty.");
  check(filter.claim, &IsPoolUid, "claim", "must be a pool uid, or empty.");
  if (request.state() != v1::Machine::STATE_UNSPECIFIED)
    filter.state =
        Take(wire::StateOf(request.state()), "state", "must be a state, or unspecified.", faults);
  return filter;
}

}  // namespace muster::capacity
