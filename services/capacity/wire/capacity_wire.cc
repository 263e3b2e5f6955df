#include "services/capacity/wire/capacity_wire.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/wire/enums.h"
#include "services/common/resource_name.h"
#include "services/common/timestamp.h"

namespace muster::capacity {
namespace {

// To a claim, or to an obstacle.
template <class Message>
void AddReclaims(const std::vector<Reclaimed>& reclaims, Message& out) {
  for (const Reclaimed& reclaim : reclaims) {
    v1::MachineReclaim* added = out.add_reclaims();
    added->set_machine(reclaim.machine);
    SetTimestamp(reclaim.time, added->mutable_reclaim_time());
  }
}

absl::Status Unreadable(absl::string_view what, absl::string_view name) {
  return absl::InternalError(absl::StrCat("Not a ", what, ": '", name, "'."));
}

v1::ClaimPart ToProto(const ClaimPart& part) {
  v1::ClaimPart out;
  SetTimestamp(part.request_time, out.mutable_request_time());
  out.set_nodes(part.nodes);
  return out;
}

v1::ClaimPlace ToProto(const ClaimPlace& place) {
  v1::ClaimPlace out;
  SetTimestamp(place.time, out.mutable_time());
  out.set_asked_by(place.asked_by);
  out.set_nodes(place.nodes);
  return out;
}

template <class Parts>
std::vector<ClaimPart> ReadParts(const Parts& parts) {
  std::vector<ClaimPart> out;
  for (const v1::ClaimPart& part : parts)
    out.push_back({FromTimestamp(part.request_time()), part.nodes()});
  return out;
}

// A server that does not know `lost_since` hands it on as it was.
std::vector<LostRequest> ReadLost(const v1::Claim& claim) {
  const bool told = claim.lost_since_size() == claim.lost_times_size();
  std::vector<LostRequest> out;
  for (int i = 0; i < claim.lost_times_size(); ++i) {
    const absl::Time asked = FromTimestamp(claim.lost_times(i));
    out.push_back({asked, told ? std::max(asked, FromTimestamp(claim.lost_since(i))) : asked});
  }
  return out;
}

template <class Places>
std::vector<ClaimPlace> ReadPlaces(const Places& places) {
  std::vector<ClaimPlace> out;
  for (const v1::ClaimPlace& place : places)
    out.push_back({FromTimestamp(place.time()), place.asked_by(), place.nodes()});
  return out;
}

}  // namespace

v1::Zone ToProto(const ZoneRow& zone) {
  v1::Zone out;
  out.set_name(zone.Key());
  out.set_access(wire::ToProto(zone.access));
  out.set_region(RegionOf(zone.id));
  out.mutable_instance_types()->Assign(zone.instance_types.begin(), zone.instance_types.end());
  return out;
}

v1::InstanceType ToProto(const InstanceTypeRow& type) {
  v1::InstanceType out;
  out.set_name(type.Key());
  out.set_gpus(type.gpus);
  out.set_gpu_model(type.gpu_model);
  out.set_vcpus(type.vcpus);
  out.set_memory_kib(type.memory_kib);
  out.set_ephemeral_storage_kib(type.ephemeral_storage_kib);
  out.set_architecture(type.architecture);
  out.set_max_pods(type.max_pods);
  out.set_superchip(type.superchip);
  out.set_nodes_per_rack(type.nodes_per_rack);
  out.set_fabric(type.fabric);
  return out;
}

v1::Machine ToProto(const MachineRow& machine) {
  v1::Machine out;
  out.set_name(machine.Key());
  out.set_zone(machine.zone);
  out.set_instance_type(machine.instance_type);
  out.set_fabric(machine.fabric);
  out.set_rack(machine.rack);
  out.set_slot(machine.slot);
  out.mutable_labels()->insert(machine.labels.begin(), machine.labels.end());
  out.set_state(wire::ToProto(machine.state));
  out.set_claim(machine.claim);
  SetTimestamp(machine.state_time, out.mutable_state_time());
  if (machine.request_time) SetTimestamp(*machine.request_time, out.mutable_request_time());
  if (!machine.claim.empty()) out.set_compute_class(wire::ToProto(machine.compute_class));
  if (machine.reclaim_time) SetTimestamp(*machine.reclaim_time, out.mutable_reclaim_time());
  out.set_earmark(machine.earmark);
  if (machine.place_time) SetTimestamp(*machine.place_time, out.mutable_place_time());
  return out;
}

v1::Claim ToProto(const ClaimRow& claim) {
  v1::Claim out;
  out.set_name(claim.Key());
  out.set_generation(claim.generation);
  out.set_zone(claim.zone);
  out.set_instance_type(claim.instance_type);
  out.set_compute_class(wire::ToProto(claim.compute_class));
  out.set_nodes(claim.nodes);
  out.set_priority(claim.priority);
  out.set_pool(claim.pool);
  out.set_outstanding(Outstanding(claim.parts));
  if (!claim.parts.empty())
    SetTimestamp(claim.parts.front().request_time, out.mutable_queue_time());
  for (const ClaimPart& part : claim.parts) *out.add_parts() = ToProto(part);
  out.set_returns_digest(claim.returns_digest);
  if (!claim.affinity.empty()) *out.mutable_affinity() = ToProto(claim.affinity);
  out.set_gang(claim.gang);
  out.set_reclaim_generation(claim.reclaim_generation);
  out.set_organization(claim.organization);
  for (const ClaimPlace& place : claim.places) *out.add_places() = ToProto(place);
  for (const LostRequest& lost : claim.lost) {
    SetTimestamp(lost.request_time, out.add_lost_times());
    SetTimestamp(lost.since, out.add_lost_since());
  }
  for (const ClaimPart& part : claim.withheld_parts) *out.add_withheld_parts() = ToProto(part);
  for (const ClaimPlace& place : claim.withheld_places) *out.add_withheld_places() = ToProto(place);
  out.set_withheld_generation(claim.withheld_generation);
  out.set_leaving_nodes(claim.leaving_nodes);
  out.set_leaving_generation(claim.leaving_generation);
  return out;
}

v1::Arrivals ToProto(const ArrivalsRow& arrivals) {
  v1::Arrivals out;
  out.set_zone(arrivals.zone);
  out.set_instance_type(arrivals.instance_type);
  out.set_compute_class(wire::ToProto(arrivals.compute_class));
  for (const Burst& burst : arrivals.bursts) {
    v1::Burst* added = out.add_bursts();
    SetTimestamp(burst.time, added->mutable_time());
    added->set_machines(burst.machines);
  }
  return out;
}

v1::Claim ToProto(const ClaimReply& answer) {
  const ClaimView& view = answer.view;
  v1::Claim out = ToProto(view.claim);
  out.mutable_machines()->Assign(view.machines.begin(), view.machines.end());
  out.mutable_racks()->Assign(view.racks.begin(), view.racks.end());
  for (const absl::Time time : view.request_times) SetTimestamp(time, out.add_request_times());
  for (const absl::Time time : view.grant_times) SetTimestamp(time, out.add_grant_times());
  out.set_reason(wire::ToProto(view.reason));
  out.set_in_service(view.in_service);
  out.set_matching(view.matching);
  out.set_matching_in_repair(view.matching_in_repair);
  out.mutable_granted()->Assign(view.granted.begin(), view.granted.end());
  AddReclaims(view.reclaims, out);
  out.set_machines_print(view.machines_print);
  out.set_machines_unchanged(view.machines_unchanged);
  if (!view.queue) return out;
  v1::QueuePlace* queue = out.mutable_queue();
  queue->set_place(view.queue->place);
  queue->set_nodes_ahead(view.queue->nodes_ahead);
  if (!answer.wait) return out;
  queue->mutable_wait()->mutable_earliest()->set_seconds(
      absl::ToInt64Seconds(answer.wait->earliest));
  queue->mutable_wait()->mutable_latest()->set_seconds(absl::ToInt64Seconds(answer.wait->latest));
  return out;
}

v1::ClaimObstacle ToProto(const Obstacle& obstacle) {
  v1::ClaimObstacle out;
  out.set_code(wire::ToProto(obstacle.code));
  out.set_nodes(obstacle.nodes);
  out.set_claims(obstacle.claims);
  out.set_message(obstacle.message);
  AddReclaims(obstacle.reclaims, out);
  if (!obstacle.reclaims.empty())
    SetTimestamp(obstacle.last_reclaim, out.mutable_last_reclaim_time());
  return out;
}

v1::ZonePlacements ToProto(const ZonePlacements& zone) {
  v1::ZonePlacements out;
  out.set_zone(zone.zone);
  out.set_availability(wire::ToProto(zone.availability));
  for (const Placement& placement : zone.placements) {
    v1::Placement* added = out.add_placements();
    added->set_free(placement.free);
    added->set_reclaimable(placement.reclaimable);
    added->set_queue_ahead(placement.queue_ahead);
    added->set_in_service(placement.in_service);
    added->set_availability(wire::ToProto(placement.availability));
  }
  return out;
}

absl::StatusOr<ZoneRow> FromProto(const v1::Zone& zone) {
  const auto id = ParseZoneName(zone.name());
  const auto access = wire::AccessOf(zone.access());
  if (!id || !access) return Unreadable("zone", zone.name());
  return ZoneRow{*id, *access, {zone.instance_types().begin(), zone.instance_types().end()}};
}

absl::StatusOr<InstanceTypeRow> FromProto(const v1::InstanceType& type) {
  const auto id = ParseInstanceTypeName(type.name());
  if (!id) return Unreadable("instance type", type.name());
  InstanceTypeRow row;
  row.id = *id;
  row.gpus = type.gpus();
  row.gpu_model = type.gpu_model();
  row.vcpus = type.vcpus();
  row.memory_kib = type.memory_kib();
  row.ephemeral_storage_kib = type.ephemeral_storage_kib();
  row.architecture = type.architecture();
  row.max_pods = type.max_pods();
  row.superchip = type.superchip();
  row.nodes_per_rack = type.nodes_per_rack();
  row.fabric = type.fabric();
  return row;
}

absl::StatusOr<MachineRow> FromProto(const v1::Machine& machine) {
  const auto id = ParseMachineName(machine.name());
  const auto state = wire::StateOf(machine.state());
  const auto compute_class = wire::ClassOf(machine.compute_class());
  const bool class_known =
      compute_class || machine.compute_class() == type::v1::COMPUTE_CLASS_UNSPECIFIED;
  if (!id || !state || !class_known) return Unreadable("machine", machine.name());
  MachineRow row;
  row.id = *id;
  row.zone = machine.zone();
  row.instance_type = machine.instance_type();
  row.fabric = machine.fabric();
  row.rack = machine.rack();
  row.slot = machine.slot();
  row.labels = {machine.labels().begin(), machine.labels().end()};
  row.state = *state;
  row.state_time = FromTimestamp(machine.state_time());
  row.claim = machine.claim();
  if (machine.has_request_time()) row.request_time = FromTimestamp(machine.request_time());
  row.compute_class = compute_class.value_or(ComputeClass::kDefault);
  if (machine.has_reclaim_time()) row.reclaim_time = FromTimestamp(machine.reclaim_time());
  row.earmark = machine.earmark();
  if (machine.has_place_time()) row.place_time = FromTimestamp(machine.place_time());
  return row;
}

absl::StatusOr<ClaimRow> FromProto(const v1::Claim& claim) {
  const auto uid = ParseClaimName(claim.name());
  const auto compute_class = wire::ClassOf(claim.compute_class());
  if (!uid || !compute_class) return Unreadable("claim", claim.name());
  ClaimRow row;
  row.pool_uid = *uid;
  row.generation = claim.generation();
  row.zone = claim.zone();
  row.instance_type = claim.instance_type();
  row.compute_class = *compute_class;
  row.nodes = claim.nodes();
  row.priority = claim.priority();
  row.pool = claim.pool();
  row.parts = ReadParts(claim.parts());
  row.returns_digest = claim.returns_digest();
  Faults faults;
  row.affinity = FromProto(claim.affinity(), "affinity", faults);
  if (!faults.empty()) return Unreadable("claim", claim.name());
  row.gang = claim.gang();
  row.reclaim_generation = claim.reclaim_generation();
  row.organization = claim.organization();
  row.places = ReadPlaces(claim.places());
  row.lost = ReadLost(claim);
  row.withheld_parts = ReadParts(claim.withheld_parts());
  row.withheld_places = ReadPlaces(claim.withheld_places());
  row.withheld_generation = claim.withheld_generation();
  row.leaving_nodes = claim.leaving_nodes();
  row.leaving_generation = claim.leaving_generation();
  return row;
}

absl::StatusOr<ArrivalsRow> FromProto(const v1::Arrivals& arrivals) {
  const auto compute_class = wire::ClassOf(arrivals.compute_class());
  if (!compute_class) return Unreadable("record of arrivals", arrivals.zone());
  ArrivalsRow row{arrivals.zone(), arrivals.instance_type(), *compute_class};
  for (const v1::Burst& burst : arrivals.bursts())
    row.bursts.push_back({FromTimestamp(burst.time()), burst.machines()});
  return row;
}

}  // namespace muster::capacity
