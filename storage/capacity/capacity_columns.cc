#include "storage/capacity/capacity_columns.h"

#include <google/protobuf/util/json_util.h>

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/capacity/core/machine_state.h"
#include "services/capacity/wire/capacity_wire.h"

namespace muster::storage::capacity_sql {
namespace {

using capacity::Affinity;
using capacity::ArrivalsRow;
using capacity::ClaimPlace;
using capacity::ClaimRow;
using capacity::ComputeClass;
using capacity::InstanceTypeRow;
using capacity::MachineRow;
using capacity::MachineState;
using capacity::ZoneAccess;
using capacity::ZoneRow;

constexpr char kLoadZones[] =
    "SELECT id, access, array_to_string(instance_types, ','), revision FROM zone";
constexpr char kLoadInstanceTypes[] =
    "SELECT id, gpus, gpu_model, vcpus, memory_kib, ephemeral_storage_kib, architecture, max_pods, "
    "superchip, "
    "nodes_per_rack, fabric, revision FROM instance_type";
constexpr char kLoadClaims[] =
    "SELECT pool_uid, generation, zone, instance_type, compute_class, nodes, priority, pool, "
    "array_to_string(part_times, ','), array_to_string(part_nodes, ','), returns_digest, "
    "affinity, gang, reclaim_generation, organization, array_to_string(place_times, ','), "
    "array_to_string(place_askers, ','), array_to_string(place_nodes, ','), revision FROM claim";
constexpr char kLoadMachines[] =
    "SELECT id, zone, instance_type, fabric, rack, slot, array_to_string(label_keys, ','), "
    "array_to_string(label_values, ','), state, state_time, claim, request_time, "
    "compute_class, reclaim_time, earmark, place_time, revision FROM machine";

constexpr char kLoadArrivals[] =
    "SELECT zone, instance_type, compute_class, array_to_string(burst_times, ','), "
    "array_to_string(burst_machines, ','), revision FROM arrivals";

constexpr Statement kPutZones = {"put_zones",
                                 "INSERT INTO zone (id, access, instance_types, revision)"
                                 " SELECT id, access, types::text[], revision"
                                 " FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) "
                                 "AS put (id, access, types, revision)"
                                 " ON CONFLICT (id) DO UPDATE SET access = excluded.access, "
                                 "instance_types = excluded.instance_types,"
                                 " revision = excluded.revision"};

constexpr Statement kPutInstanceTypes = {
    "put_instance_types",
    "INSERT INTO instance_type (id, gpus, gpu_model, vcpus, memory_kib, ephemeral_storage_kib, "
    "architecture, max_pods,"
    " superchip, nodes_per_rack, fabric, revision)"
    " SELECT * FROM unnest($1::text[], $2::int[], $3::text[], $4::int[], $5::bigint[], "
    "$6::bigint[], $7::text[], $8::int[],"
    " $9::boolean[], $10::int[], $11::boolean[], $12::bigint[])"
    " ON CONFLICT (id) DO UPDATE SET gpus = excluded.gpus, gpu_model = excluded.gpu_model, vcpus = "
    "excluded.vcpus,"
    " memory_kib = excluded.memory_kib, ephemeral_storage_kib = excluded.ephemeral_storage_kib,"
    " architecture = excluded.architecture, max_pods = excluded.max_pods, superchip = "
    "excluded.superchip,"
    " nodes_per_rack = excluded.nodes_per_rack, fabric = excluded.fabric, revision = "
    "excluded.revision"};

constexpr Statement kPutClaims = {
    "put_claims",
    "INSERT INTO claim (pool_uid, generation, zone, instance_type, compute_class, nodes, priority, "
    "pool, part_times,"
    " part_nodes, returns_digest, affinity, gang, reclaim_generation, organization, place_times,"
    " place_askers, place_nodes, revision)"
    " SELECT pool_uid, generation, zone, instance_type, compute_class, nodes, priority, pool, "
    "part_times::timestamptz[],"
    " part_nodes::bigint[], returns_digest, affinity, gang, reclaim_generation, organization,"
    " place_times::timestamptz[], place_askers::text[], place_nodes::bigint[], revision"
    " FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], "
    "$7::int[], $8::text[],"
    " $9::text[], $10::text[], $11::bigint[], $12::jsonb[], $13::boolean[], $14::bigint[], "
    "$15::text[], $16::text[], $17::text[], $18::text[], $19::bigint[]) AS put (pool_uid, "
    "generation, zone, instance_type,"
    " compute_class, nodes, priority, pool, part_times, part_nodes, returns_digest, affinity, gang,"
    " reclaim_generation, organization, place_times, place_askers, place_nodes, revision)"
    " ON CONFLICT (pool_uid) DO UPDATE SET generation = excluded.generation, zone = excluded.zone,"
    " instance_type = excluded.instance_type, compute_class = excluded.compute_class, nodes = "
    "excluded.nodes,"
    " priority = excluded.priority, pool = excluded.pool, part_times = excluded.part_times,"
    " part_nodes = excluded.part_nodes, returns_digest = excluded.returns_digest, affinity = "
    "excluded.affinity,"
    " gang = excluded.gang, reclaim_generation = excluded.reclaim_generation,"
    " organization = excluded.organization, place_times = excluded.place_times,"
    " place_askers = excluded.place_askers, place_nodes = excluded.place_nodes, revision = "
    "excluded.revision"};

constexpr Statement kPutMachines = {
    "put_machines",
    "INSERT INTO machine (id, zone, instance_type, fabric, rack, slot, label_keys, label_values, "
    "state, state_time, claim,"
    " request_time, compute_class, reclaim_time, earmark, place_time, revision)"
    " SELECT id, zone, instance_type, fabric, rack, slot, label_keys::text[], "
    "label_values::text[], state, state_time, claim,"
    " request_time, compute_class, reclaim_time, earmark, place_time, revision"
    " FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int[], "
    "$7::text[], $8::text[], $9::text[],"
    " $10::timestamptz[], $11::text[], $12::timestamptz[], $13::text[], "
    "$14::timestamptz[], $15::text[], $16::timestamptz[], $17::bigint[]) AS put (id, zone, "
    "instance_type, fabric, rack,"
    " slot, label_keys, label_values, state, state_time, claim, request_time, "
    "compute_class, reclaim_time, earmark, place_time, revision)"
    " ON CONFLICT (id) DO UPDATE SET fabric = excluded.fabric, rack = excluded.rack, slot = "
    "excluded.slot,"
    " label_keys = excluded.label_keys, label_values = excluded.label_values, state = "
    "excluded.state,"
    " state_time = excluded.state_time, claim = excluded.claim, request_time = "
    "excluded.request_time,"
    " compute_class = excluded.compute_class, reclaim_time = excluded.reclaim_time, earmark = "
    "excluded.earmark,"
    " place_time = excluded.place_time, revision = excluded.revision"};

constexpr Statement kPutArrivals = {
    "put_arrivals",
    "INSERT INTO arrivals (zone, instance_type, compute_class, burst_times, burst_machines, "
    "revision)"
    " SELECT zone, instance_type, compute_class, burst_times::timestamptz[], "
    "burst_machines::bigint[], revision"
    " FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])"
    " AS put (zone, instance_type, compute_class, burst_times, burst_machines, revision)"
    " ON CONFLICT (zone, instance_type, compute_class) DO UPDATE SET burst_times = "
    "excluded.burst_times, burst_machines = excluded.burst_machines, revision = "
    "excluded.revision"};

constexpr Statement kDeleteZones = {"delete_zones", "DELETE FROM zone WHERE id = ANY ($1::text[])"};
constexpr Statement kDeleteInstanceTypes = {
    "delete_instance_types", "DELETE FROM instance_type WHERE id = ANY ($1::text[])"};
constexpr Statement kDeleteClaims = {"delete_claims",
                                     "DELETE FROM claim WHERE pool_uid = ANY ($1::text[])"};
constexpr Statement kDeleteMachines = {"delete_machines",
                                       "DELETE FROM machine WHERE id = ANY ($1::text[])"};
constexpr Statement kDeleteArrivals = {
    "delete_arrivals",
    "DELETE FROM arrivals"
    " WHERE concat_ws('/', zone, instance_type, compute_class) = ANY ($1::text[])"};

void AddOrNull(SqlArray& column, absl::string_view text) {
  text.empty() ? column.AddNull() : column.Add(text);
}

void AddOrNull(SqlArray& column, const std::optional<absl::Time>& time) {
  time ? column.Add(*time) : column.AddNull();
}

absl::string_view NameOf(ZoneAccess access) {
  switch (access) {
    case ZoneAccess::kGeneral:
      return "general";
    case ZoneAccess::kDedicated:
      return "dedicated";
  }
  return "";
}

absl::string_view NameOf(ComputeClass compute_class) {
  switch (compute_class) {
    case ComputeClass::kDefault:
      return "default";
    case ComputeClass::kSpot:
      return "spot";
  }
  return "";
}

MachineState ParseState(absl::string_view name) {
  for (const MachineState state :
       {MachineState::kFree, MachineState::kHeld, MachineState::kReclaiming,
        MachineState::kInRepair, MachineState::kRetired}) {
    if (capacity::NameOf(state) == name) return state;
  }
  throw std::runtime_error(
      absl::StrCat("The machine state ", name, " is unknown."));  // the CHECK forbids it
}

ComputeClass ParseClass(absl::string_view name) {
  return name == "spot" ? ComputeClass::kSpot : ComputeClass::kDefault;
}

// As people read it in psql.
std::string ToJson(const Affinity& affinity) {
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(ToProto(affinity), &json);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  return json;
}

Affinity AffinityOf(const char* json) {
  capacity::v1::Affinity affinity;
  capacity::Faults faults;
  const auto status = google::protobuf::util::JsonStringToMessage(json, &affinity);
  Affinity row = capacity::FromProto(affinity, "affinity", faults);
  if (!status.ok() || !faults.empty())
    throw std::runtime_error(absl::StrCat("Not an affinity: ", json));
  return row;
}

// The elements of what array_to_string made. None of ours holds a comma.
std::vector<std::string> Elements(absl::string_view text) {
  if (text.empty()) return {};
  return absl::StrSplit(text, ',');
}

std::vector<ClaimPlace> PlacesOf(absl::string_view times, absl::string_view askers,
                                 absl::string_view nodes) {
  std::vector<ClaimPlace> places;
  const std::vector<std::string> asked = Elements(times);
  const std::vector<std::string> by = Elements(askers);
  const std::vector<std::string> counts = Elements(nodes);
  for (size_t i = 0; i < asked.size() && i < by.size() && i < counts.size(); ++i) {
    int64_t count = 0;
    if (absl::SimpleAtoi(counts[i], &count))
      places.push_back({FromSqlTime(asked[i]), by[i], count});
  }
  return places;
}

}  // namespace

std::vector<Loaded<ZoneRow>> LoadZones(Transaction& tx) {
  std::vector<Loaded<ZoneRow>> rows;
  for (const auto& row : tx.Exec(kLoadZones)) {
    const absl::string_view access = row[1].c_str();
    rows.push_back(
        {{row[0].c_str(), access == "general" ? ZoneAccess::kGeneral : ZoneAccess::kDedicated,
          Elements(row[2].c_str())},
         row[3].as<int64_t>()});
  }
  return rows;
}

std::vector<Loaded<InstanceTypeRow>> LoadInstanceTypes(Transaction& tx) {
  std::vector<Loaded<InstanceTypeRow>> rows;
  for (const auto& row : tx.Exec(kLoadInstanceTypes)) {
    rows.push_back(
        {{row[0].c_str(), row[1].as<int32_t>(), row[2].c_str(), row[3].as<int32_t>(),
          row[4].as<int64_t>(), row[5].as<int64_t>(), row[6].c_str(), row[7].as<int32_t>(),
          row[8].as<bool>(), row[9].as<int32_t>(), row[10].as<bool>()},
         row[11].as<int64_t>()});
  }
  return rows;
}

std::vector<Loaded<ClaimRow>> LoadClaims(Transaction& tx) {
  std::vector<Loaded<ClaimRow>> rows;
  for (const auto& row : tx.Exec(kLoadClaims)) {
    ClaimRow claim;
    claim.pool_uid = row[0].c_str();
    claim.generation = row[1].as<int64_t>();
    claim.zone = row[2].c_str();
    claim.instance_type = row[3].c_str();
    claim.compute_class = ParseClass(row[4].c_str());
    claim.nodes = row[5].as<int64_t>();
    claim.priority = row[6].as<int32_t>();
    claim.pool = row[7].c_str();
    const std::vector<std::string> times = Elements(row[8].c_str());
    const std::vector<std::string> nodes = Elements(row[9].c_str());
    for (size_t i = 0; i < times.size() && i < nodes.size(); ++i) {
      int64_t count = 0;
      if (absl::SimpleAtoi(nodes[i], &count)) claim.parts.push_back({FromSqlTime(times[i]), count});
    }
    claim.returns_digest = row[10].as<int64_t>();
    if (!row[11].is_null()) claim.affinity = AffinityOf(row[11].c_str());
    claim.gang = row[12].as<bool>();
    claim.reclaim_generation = row[13].as<int64_t>();
    claim.organization = row[14].c_str();
    claim.places = PlacesOf(row[15].c_str(), row[16].c_str(), row[17].c_str());
    rows.push_back({std::move(claim), row[18].as<int64_t>()});
  }
  return rows;
}

std::vector<Loaded<MachineRow>> LoadMachines(Transaction& tx) {
  std::vector<Loaded<MachineRow>> rows;
  const pqxx::result result = tx.Exec(kLoadMachines);
  rows.reserve(result.size());
  for (const auto& row : result) {
    MachineRow machine;
    machine.id = row[0].c_str();
    machine.zone = row[1].c_str();
    machine.instance_type = row[2].c_str();
    machine.fabric = row[3].c_str();
    machine.rack = row[4].c_str();
    machine.slot = row[5].as<int32_t>();
    const std::vector<std::string> keys = Elements(row[6].c_str());
    const std::vector<std::string> values = absl::StrSplit(row[7].c_str(), ',');
    for (size_t i = 0; i < keys.size() && i < values.size(); ++i)
      machine.labels[keys[i]] = values[i];
    machine.state = ParseState(row[8].c_str());
    machine.state_time = FromSqlTime(row[9].c_str());
    if (!row[10].is_null()) machine.claim = row[10].c_str();
    if (!row[11].is_null()) machine.request_time = FromSqlTime(row[11].c_str());
    if (!row[12].is_null()) machine.compute_class = ParseClass(row[12].c_str());
    if (!row[13].is_null()) machine.reclaim_time = FromSqlTime(row[13].c_str());
    if (!row[14].is_null()) machine.earmark = row[14].c_str();
    if (!row[15].is_null()) machine.place_time = FromSqlTime(row[15].c_str());
    rows.push_back({std::move(machine), row[16].as<int64_t>()});
  }
  return rows;
}

std::vector<Loaded<ArrivalsRow>> LoadArrivals(Transaction& tx) {
  std::vector<Loaded<ArrivalsRow>> rows;
  for (const auto& row : tx.Exec(kLoadArrivals)) {
    ArrivalsRow arrivals{row[0].c_str(), row[1].c_str(), ParseClass(row[2].c_str())};
    const std::vector<std::string> times = Elements(row[3].c_str());
    const std::vector<std::string> machines = Elements(row[4].c_str());
    for (size_t i = 0; i < times.size() && i < machines.size(); ++i) {
      int64_t count = 0;
      if (absl::SimpleAtoi(machines[i], &count))
        arrivals.bursts.push_back({FromSqlTime(times[i]), count});
    }
    rows.push_back({std::move(arrivals), row[5].as<int64_t>()});
  }
  return rows;
}

void ZoneColumns::Add(const ZoneRow& row, int64_t at) {
  SqlArray types;
  for (const std::string& type : row.instance_types) types.Add(type);
  id.Add(row.id);
  access.Add(NameOf(row.access));
  instance_types.Add(types.Text());
  revision.Add(at);
}

void ZoneColumns::Send(Transaction& tx) const {
  if (id.empty()) return;
  tx.Queue(kPutZones, id.Text(), access.Text(), instance_types.Text(), revision.Text());
}

void InstanceTypeColumns::Add(const InstanceTypeRow& row, int64_t at) {
  id.Add(row.id);
  gpus.Add(row.gpus);
  gpu_model.Add(row.gpu_model);
  vcpus.Add(row.vcpus);
  memory_kib.Add(row.memory_kib);
  ephemeral_storage_kib.Add(row.ephemeral_storage_kib);
  architecture.Add(row.architecture);
  max_pods.Add(row.max_pods);
  superchip.Add(row.superchip);
  nodes_per_rack.Add(row.nodes_per_rack);
  fabric.Add(row.fabric);
  revision.Add(at);
}

void InstanceTypeColumns::Send(Transaction& tx) const {
  if (id.empty()) return;
  tx.Queue(kPutInstanceTypes, id.Text(), gpus.Text(), gpu_model.Text(), vcpus.Text(),
           memory_kib.Text(), ephemeral_storage_kib.Text(), architecture.Text(), max_pods.Text(),
           superchip.Text(), nodes_per_rack.Text(), fabric.Text(), revision.Text());
}

void ClaimColumns::Add(const ClaimRow& row, int64_t at) {
  SqlArray times;
  SqlArray counts;
  for (const capacity::ClaimPart& part : row.parts) {
    times.Add(part.request_time);
    counts.Add(part.nodes);
  }
  SqlArray placed;
  SqlArray askers;
  SqlArray places;
  for (const ClaimPlace& place : row.places) {
    placed.Add(place.time);
    askers.Add(place.asked_by);
    places.Add(place.nodes);
  }
  pool_uid.Add(row.pool_uid);
  generation.Add(row.generation);
  zone.Add(row.zone);
  instance_type.Add(row.instance_type);
  compute_class.Add(NameOf(row.compute_class));
  nodes.Add(row.nodes);
  priority.Add(row.priority);
  pool.Add(row.pool);
  part_times.Add(times.Text());
  part_nodes.Add(counts.Text());
  returns_digest.Add(row.returns_digest);
  AddOrNull(affinity, row.affinity.empty() ? "" : ToJson(row.affinity));
  gang.Add(row.gang);
  reclaim_generation.Add(row.reclaim_generation);
  organization.Add(row.organization);
  place_times.Add(placed.Text());
  place_askers.Add(askers.Text());
  place_nodes.Add(places.Text());
  revision.Add(at);
}

void ClaimColumns::Send(Transaction& tx) const {
  if (pool_uid.empty()) return;
  tx.Queue(kPutClaims, pool_uid.Text(), generation.Text(), zone.Text(), instance_type.Text(),
           compute_class.Text(), nodes.Text(), priority.Text(), pool.Text(), part_times.Text(),
           part_nodes.Text(), returns_digest.Text(), affinity.Text(), gang.Text(),
           reclaim_generation.Text(), organization.Text(), place_times.Text(), place_askers.Text(),
           place_nodes.Text(), revision.Text());
}

void MachineColumns::Add(const MachineRow& row, int64_t at) {
  SqlArray keys;
  SqlArray values;
  for (const auto& [key, value] : row.labels) {
    keys.Add(key);
    values.Add(value);
  }
  id.Add(row.id);
  zone.Add(row.zone);
  instance_type.Add(row.instance_type);
  fabric.Add(row.fabric);
  rack.Add(row.rack);
  slot.Add(row.slot);
  label_keys.Add(keys.Text());
  label_values.Add(values.Text());
  state.Add(capacity::NameOf(row.state));
  state_time.Add(row.state_time);
  AddOrNull(claim, row.claim);
  AddOrNull(request_time, row.request_time);
  AddOrNull(compute_class, row.claim.empty() ? "" : NameOf(row.compute_class));
  AddOrNull(reclaim_time, row.reclaim_time);
  AddOrNull(earmark, row.earmark);
  AddOrNull(place_time, row.place_time);
  revision.Add(at);
}

void MachineColumns::Send(Transaction& tx) const {
  if (id.empty()) return;
  tx.Queue(kPutMachines, id.Text(), zone.Text(), instance_type.Text(), fabric.Text(), rack.Text(),
           slot.Text(), label_keys.Text(), label_values.Text(), state.Text(), state_time.Text(),
           claim.Text(), request_time.Text(), compute_class.Text(), reclaim_time.Text(),
           earmark.Text(), place_time.Text(), revision.Text());
}

void ArrivalsColumns::Add(const ArrivalsRow& row, int64_t at) {
  SqlArray times;
  SqlArray machines;
  for (const capacity::Burst& burst : row.bursts) {
    times.Add(burst.time);
    machines.Add(burst.machines);
  }
  zone.Add(row.zone);
  instance_type.Add(row.instance_type);
  compute_class.Add(NameOf(row.compute_class));
  burst_times.Add(times.Text());
  burst_machines.Add(machines.Text());
  revision.Add(at);
}

void ArrivalsColumns::Send(Transaction& tx) const {
  if (zone.empty()) return;
  tx.Queue(kPutArrivals, zone.Text(), instance_type.Text(), compute_class.Text(),
           burst_times.Text(), burst_machines.Text(), revision.Text());
}

void Deletions::Send(Transaction& tx) const {
  if (!arrivals.empty()) tx.Queue(kDeleteArrivals, arrivals.Text());
  if (!machines.empty()) tx.Queue(kDeleteMachines, machines.Text());
  if (!claims.empty()) tx.Queue(kDeleteClaims, claims.Text());
  if (!instance_types.empty()) tx.Queue(kDeleteInstanceTypes, instance_types.Text());
  if (!zones.empty()) tx.Queue(kDeleteZones, zones.Text());
}

}  // namespace muster::storage::capacity_sql
