#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/wire/capacity_wire.h"
#include "services/capacity/wire/enums.h"
#include "services/common/resource_name.h"

namespace muster::capacity {
namespace {

// The value, or a default one with a fault.
template <class T>
T Take(std::optional<T> value, absl::string_view path, absl::string_view rule, Faults& faults) {
  if (value) return *std::move(value);
  faults.push_back({std::string(path), std::string(rule)});
  return T();
}

MachineRow ParseMachine(const v1::Machine& machine, absl::string_view path, Faults& faults) {
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

// Unspecified means default.
ComputeClass ParseClass(type::v1::ComputeClass compute_class, absl::string_view path,
                        Faults& faults) {
  if (compute_class == type::v1::COMPUTE_CLASS_UNSPECIFIED) return ComputeClass::kDefault;
  return Take(wire::ClassOf(compute_class), absl::StrCat(path, ".compute_class"),
              "must be COMPUTE_CLASS_DEFAULT or COMPUTE_CLASS_SPOT.", faults);
}

SyncClaim ParseClaim(const v1::ClaimRequest& request, absl::string_view path, Faults& faults) {
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
  Faults beyond;  // of more than are allowed only their number is told
  for (int i = 0; i < request.returns_size(); ++i) {
    const v1::MachineReturn& given = request.returns(i);
    const ReturnReason reason =
        Take(wire::ReturnReasonOf(given.reason()), absl::StrCat(path, ".returns[", i, "].reason"),
             "must be REASON_RELEASED, REASON_BROKEN or REASON_PREEMPTED.",
             i < static_cast<int>(kMaxReturns) ? faults : beyond);
    claim.returns.push_back({given.machine(), reason});
  }
  return claim;
}

}  // namespace

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

RegisterMachines ParseRequest(const v1::BatchRegisterMachinesRequest& request, Faults& faults) {
  RegisterMachines command;
  Faults beyond;
  for (int i = 0; i < request.machines_size(); ++i) {
    command.machines.push_back(ParseMachine(request.machines(i), absl::StrCat("machines[", i, "]"),
                                            i < static_cast<int>(kMaxBatch) ? faults : beyond));
  }
  return command;
}

SetMachineState ParseRequest(const v1::SetMachineStateRequest& request, Faults& faults) {
  SetMachineState command;
  command.id = Take(ParseMachineName(request.name()), "name", kMachineNameShape, faults);
  command.state = Take(wire::StateOf(request.state()), "state",
                       "must be STATE_FREE, STATE_IN_REPAIR or STATE_RETIRED.", faults);
  return command;
}

SyncClaim ParseRequest(const v1::SyncClaimRequest& request, Faults& faults) {
  return ParseClaim(request.claim(), "claim", faults);
}

SyncClaims ParseRequest(const v1::BatchSyncClaimsRequest& request, Faults& faults) {
  SyncClaims command;
  Faults beyond;
  for (int i = 0; i < request.claims_size(); ++i) {
    command.claims.push_back(ParseClaim(request.claims(i), absl::StrCat("claims[", i, "]"),
                                        i < static_cast<int>(kMaxBatch) ? faults : beyond));
  }
  return command;
}

PlacementQuery ParseRequest(const v1::FindPlacementsRequest& request, Faults& faults) {
  PlacementQuery query;
  Faults beyond;
  for (int i = 0; i < request.requests_size(); ++i) {
    const v1::PlacementRequest& wanted = request.requests(i);
    const ComputeClass compute_class =
        ParseClass(wanted.compute_class(), absl::StrCat("requests[", i, "]"),
                   i < static_cast<int>(kMaxPlacementRequests) ? faults : beyond);
    query.requests.push_back(
        {wanted.instance_type(), wanted.nodes(), compute_class, wanted.priority()});
  }
  query.zones = {request.zones().begin(), request.zones().end()};
  return query;
}

MachineFilter ParseRequest(const v1::ListMachinesRequest& request, Faults& faults) {
  MachineFilter filter{request.zone(), request.instance_type(), request.claim()};
  const auto check = [&](const std::string& text, bool (*valid)(absl::string_view),
                         absl::string_view field, absl::string_view rule) {
    if (!text.empty() && !valid(text)) faults.push_back({std::string(field), std::string(rule)});
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
