#pragma once

#include <muster/capacity/v1/arrivals.pb.h>
#include <muster/capacity/v1/capacity_service.pb.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/capacity/core/claim_reply.h"
#include "services/capacity/core/commands.h"
#include "services/capacity/core/explain.h"
#include "services/capacity/core/finder.h"
#include "services/capacity/core/machine_list.h"
#include "services/capacity/core/rows.h"
#include "services/capacity/core/validate.h"

// Core ↔ proto, both ways, nothing else.
namespace muster::capacity {

v1::Zone ToProto(const ZoneRow& zone);
v1::InstanceType ToProto(const InstanceTypeRow& type);
v1::Machine ToProto(const MachineRow& machine);
// As the journal and watchers have it: without what follows from other rows.
v1::Claim ToProto(const ClaimRow& claim);
// As RPCs answer it.
v1::Claim ToProto(const ClaimReply& answer);

v1::Arrivals ToProto(const ArrivalsRow& arrivals);

v1::Affinity ToProto(const Affinity& affinity);
v1::ClaimObstacle ToProto(const Obstacle& obstacle);
v1::ZonePlacements ToProto(const ZonePlacements& zone);

// Back from the journal. INTERNAL: a name or an enum value that is not valid.
absl::StatusOr<ZoneRow> FromProto(const v1::Zone& zone);
absl::StatusOr<InstanceTypeRow> FromProto(const v1::InstanceType& type);
absl::StatusOr<MachineRow> FromProto(const v1::Machine& machine);
absl::StatusOr<ClaimRow> FromProto(const v1::Claim& claim);
absl::StatusOr<ArrivalsRow> FromProto(const v1::Arrivals& arrivals);
// Adds operators that are not valid to `faults`, with their path; `path` is that of the affinity.
Affinity FromProto(const v1::Affinity& affinity, absl::string_view path, Faults& faults);

// A caller's request as a command. Names and enum values that are not valid are added to `faults`
// with their path; the rest is checked by core/validate.h, with the same path. Lists that are too
// long are read only up to the first entry beyond their limit.
SyncClaim FromProto(const v1::ClaimRequest& request, absl::string_view path, Faults& faults);
// A machine to register: state, times and claim are not read.
MachineRow FromProto(const v1::Machine& machine, absl::string_view path, Faults& faults);
UpdateZone ParseRequest(const v1::UpdateZoneRequest& request, Faults& faults);
UpdateInstanceType ParseRequest(const v1::UpdateInstanceTypeRequest& request, Faults& faults);
SetMachineState ParseRequest(const v1::SetMachineStateRequest& request, Faults& faults);
DeleteZone ParseRequest(const v1::DeleteZoneRequest& request, Faults& faults);
DeleteInstanceType ParseRequest(const v1::DeleteInstanceTypeRequest& request, Faults& faults);
DeleteMachine ParseRequest(const v1::DeleteMachineRequest& request, Faults& faults);
SyncClaim ParseRequest(const v1::SyncClaimRequest& request, Faults& faults);
PlacementQuery ParseRequest(const v1::FindPlacementsRequest& request, Faults& faults);
// All that ListMachines can be asked for, checked as well.
MachineFilter ParseRequest(const v1::ListMachinesRequest& request, Faults& faults);

// What a malformed name is answered with.
inline constexpr char kZoneNameShape[] =
    "must be `zones/{id}`, the id 2 to 32 upper-case letters, digits and '-', ending with a "
    "letter.";
inline constexpr char kInstanceTypeNameShape[] =
    "must be `instanceTypes/{id}`, the id 1 to 63 letters, digits, '-', '_', '.'.";
inline constexpr char kMachineNameShape[] = "must be `machines/{id}`, the id a DNS label.";
inline constexpr char kClaimNameShape[] =
    "must be `claims/{pool_uid}`, the uid 1 to 64 lower-case letters, digits and '-'.";

}  // namespace muster::capacity
