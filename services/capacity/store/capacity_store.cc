#include "services/capacity/store/capacity_store.h"

#include <memory>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "services/capacity/core/machine_state.h"
#include "services/capacity/wire/capacity_wire.h"
#include "storage/postgres/kept_request_table.h"
#include "storage/postgres/released_pool_table.h"
#include "storage/postgres/table_store.h"

namespace muster::storage {

using capacity::Affinity;
using capacity::ArrivalsRow;
using capacity::Burst;
using capacity::ClaimPart;
using capacity::ClaimPlace;
using capacity::ClaimRow;
using capacity::ComputeClass;
using capacity::InstanceTypeRow;
using capacity::MachineRow;
using capacity::MachineState;
using capacity::ZoneAccess;
using capacity::ZoneRow;

template <>
struct SqlValue<ZoneAccess> : SqlWords<ZoneAccess, 2, [](ZoneAccess access) {
  return access == ZoneAccess::kGeneral ? "general" : "dedicated";
}> {};
template <>
struct SqlValue<ComputeClass>
    : SqlWords<ComputeClass, 2, [](ComputeClass word) { return capacity::NameOf(word); }> {};
template <>
struct SqlValue<MachineState>
    : SqlWords<MachineState, 5, [](MachineState state) { return capacity::NameOf(state); }> {};

// As people read it in psql.
template <>
struct SqlValue<Affinity> {
  static constexpr char kType[] = "jsonb";
  static void Add(const Affinity& affinity, SqlArray& out) {
    out.Add(ToJson(capacity::ToProto(affinity)));
  }
  static Affinity Read(absl::string_view text) {
    capacity::v1::Affinity message;
    FromJson(text, message);
    capacity::Faults faults;
    Affinity affinity = capacity::FromProto(message, "affinity", faults);
    if (!faults.empty()) throw std::runtime_error(absl::StrCat("Not an affinity: ", text));
    return affinity;
  }
};

namespace {

SqlTable<ZoneRow> Zones() {
  return {"zone",
          KeyForm::kId,
          {Key<&ZoneRow::id>("id"), Field<&ZoneRow::access>("access"),
           Field<&ZoneRow::instance_types>("instance_types")}};
}

SqlTable<InstanceTypeRow> InstanceTypes() {
  return {"instance_type",
          KeyForm::kId,
          {Key<&InstanceTypeRow::id>("id"), Field<&InstanceTypeRow::gpus>("gpus"),
           Field<&InstanceTypeRow::gpu_model>("gpu_model"), Field<&InstanceTypeRow::vcpus>("vcpus"),
           Field<&InstanceTypeRow::memory_kib>("memory_kib"),
           Field<&InstanceTypeRow::ephemeral_storage_kib>("ephemeral_storage_kib"),
           Field<&InstanceTypeRow::architecture>("architecture"),
           Field<&InstanceTypeRow::max_pods>("max_pods"),
           Field<&InstanceTypeRow::superchip>("superchip"),
           Field<&InstanceTypeRow::nodes_per_rack>("nodes_per_rack"),
           Field<&InstanceTypeRow::fabric>("fabric")}};
}

SqlTable<ClaimRow> Claims() {
  return {"claim",
          KeyForm::kId,
          {Key<&ClaimRow::pool_uid>("pool_uid"), Field<&ClaimRow::generation>("generation"),
           Field<&ClaimRow::zone>("zone"), Field<&ClaimRow::instance_type>("instance_type"),
           Field<&ClaimRow::compute_class>("compute_class"), Field<&ClaimRow::nodes>("nodes"),
           Field<&ClaimRow::priority>("priority"), Field<&ClaimRow::pool>("pool"),
           Elements<&ClaimRow::parts, &ClaimPart::request_time>("part_times"),
           Elements<&ClaimRow::parts, &ClaimPart::nodes>("part_nodes"),
           Field<&ClaimRow::returns_digest>("returns_digest"),
           Nullable<&ClaimRow::affinity>("affinity"), Field<&ClaimRow::gang>("gang"),
           Field<&ClaimRow::reclaim_generation>("reclaim_generation"),
           Field<&ClaimRow::organization>("organization"),
           Elements<&ClaimRow::places, &ClaimPlace::time>("place_times"),
           Elements<&ClaimRow::places, &ClaimPlace::asked_by>("place_askers"),
           Elements<&ClaimRow::places, &ClaimPlace::nodes>("place_nodes")}};
}

SqlTable<MachineRow> Machines() {
  return {
      "machine",
      KeyForm::kId,
      {Key<&MachineRow::id>("id"), Field<&MachineRow::zone>("zone"),
       Field<&MachineRow::instance_type>("instance_type"), Field<&MachineRow::fabric>("fabric"),
       Field<&MachineRow::rack>("rack"), Field<&MachineRow::slot>("slot"),
       MapKeys<&MachineRow::labels>("label_keys"), MapValues<&MachineRow::labels>("label_values"),
       Field<&MachineRow::state>("state"), Field<&MachineRow::state_time>("state_time"),
       Nullable<&MachineRow::claim>("claim"), Optional<&MachineRow::request_time>("request_time"),
       NullIf([](const MachineRow& row) { return row.claim.empty(); },
              Field<&MachineRow::compute_class>("compute_class")),
       Optional<&MachineRow::reclaim_time>("reclaim_time"),
       Nullable<&MachineRow::earmark>("earmark"), Optional<&MachineRow::place_time>("place_time")}};
}

SqlTable<ArrivalsRow> Arrivals() {
  return {"arrivals",
          KeyForm::kId,
          {Key<&ArrivalsRow::zone>("zone"), Key<&ArrivalsRow::instance_type>("instance_type"),
           Key<&ArrivalsRow::compute_class>("compute_class"),
           Elements<&ArrivalsRow::bursts, &Burst::time>("burst_times"),
           Elements<&ArrivalsRow::bursts, &Burst::machines>("burst_machines")}};
}

template <class Message, class Row>
Stored<Row> Kind(SqlTable<Row> table, std::vector<std::string> later = {}) {
  return StoredAs<Message>(
      std::move(table), [](const Versioned<Row>& row) { return capacity::ToProto(*row.row); },
      [](const Message& message) { return capacity::FromProto(message); }, std::move(later));
}

}  // namespace

std::unique_ptr<const Store<capacity::State>> NewCapacityStore() {
  namespace v1 = capacity::v1;
  return std::make_unique<TableStore<capacity::State>>(
      Kind<v1::Zone>(Zones()), Kind<v1::InstanceType>(InstanceTypes()),
      Kind<v1::Machine>(Machines()),
      Kind<v1::Claim>(Claims(),
                      {"lost_times", "withheld_parts", "withheld_places", "withheld_generation",
                       "leaving_nodes", "leaving_generation", "lost_since"}),
      Kind<v1::Arrivals>(Arrivals()), StoredReleasedPools(), StoredKeptRequests());
}

}  // namespace muster::storage
