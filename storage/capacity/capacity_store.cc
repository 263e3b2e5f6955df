#include "storage/capacity/capacity_store.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/capacity/wire/capacity_wire.h"
#include "services/common/status_macros.h"
#include "storage/capacity/capacity_columns.h"
#include "storage/postgres/kept_request_table.h"
#include "storage/postgres/released_pool_table.h"

namespace muster::storage {
namespace {

using capacity::ArrivalsRow;
using capacity::ClaimRow;
using capacity::InstanceTypeRow;
using capacity::MachineRow;
using capacity::State;
using capacity::ZoneRow;

template <class Row>
void EmitAll(std::vector<capacity_sql::Loaded<Row>> rows,
             absl::FunctionRef<void(Revised<State::Change>)> emit) {
  for (auto& loaded : rows) {
    std::string key = loaded.row.Key();
    emit({State::Change{std::move(key), std::make_shared<const Row>(std::move(loaded.row))},
          loaded.revision});
  }
}

// The id in a key such as `machines/g8fd930`.
absl::string_view IdOf(absl::string_view key) { return key.substr(key.find('/') + 1); }

template <class Row, class Columns>
bool AddTo(const Revised<State::Change>& change, Columns& columns, SqlArray& deleted) {
  const auto* row = std::get_if<std::shared_ptr<const Row>>(&change.change.row);
  if (row == nullptr) return false;
  if (*row == nullptr) {
    deleted.Add(IdOf(change.change.key));
  } else {
    columns.Add(**row, change.revision);
  }
  return true;
}

// The same message always gives the same bytes, maps included, so that states can be compared by
// them.
std::string Serialize(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

template <class Row, class Message>
absl::StatusOr<State::Change> DecodeAs(absl::string_view key, const std::string* bytes) {
  if (bytes == nullptr) return State::Change{std::string(key), std::shared_ptr<const Row>()};
  Message message;
  if (!message.ParseFromString(*bytes))
    return absl::InternalError(absl::StrCat("Not a ", Row::kKind, ": ", key));
  ASSIGN_OR_RETURN(Row row, capacity::FromProto(message));
  return State::Change{std::string(key), std::make_shared<const Row>(std::move(row))};
}

}  // namespace

void PostgresCapacityStore::Load(Transaction& tx,
                                 absl::FunctionRef<void(Revised<Change>)> emit) const {
  EmitAll(capacity_sql::LoadZones(tx), emit);
  EmitAll(capacity_sql::LoadInstanceTypes(tx), emit);
  EmitAll(capacity_sql::LoadClaims(tx), emit);
  EmitAll(capacity_sql::LoadMachines(tx), emit);
  EmitAll(capacity_sql::LoadArrivals(tx), emit);
  EmitReleasedPools<Change>(tx, emit);
  EmitKeptRequests<Change>(tx, emit);
}

void PostgresCapacityStore::Write(Transaction& tx,
                                  absl::Span<const Revised<Change>> changes) const {
  capacity_sql::ZoneColumns zones;
  capacity_sql::InstanceTypeColumns instance_types;
  capacity_sql::ClaimColumns claims;
  capacity_sql::MachineColumns machines;
  capacity_sql::ArrivalsColumns arrivals;
  capacity_sql::Deletions deleted;
  ReleasedPoolColumns released;
  KeptRequestColumns kept;
  for (const Revised<Change>& change : changes) {
    AddTo<MachineRow>(change, machines, deleted.machines) ||
        AddTo<ClaimRow>(change, claims, deleted.claims) ||
        AddTo<ArrivalsRow>(change, arrivals, deleted.arrivals) ||
        AddTo<ZoneRow>(change, zones, deleted.zones) ||
        AddTo<InstanceTypeRow>(change, instance_types, deleted.instance_types) ||
        released.Add(change) || kept.Add(change);
  }
  // Machines and arrivals refer to their zone and type.
  zones.Send(tx);
  instance_types.Send(tx);
  claims.Send(tx);
  machines.Send(tx);
  arrivals.Send(tx);
  deleted.Send(tx);
  released.Send(tx);
  kept.Send(tx);
}

std::string PostgresCapacityStore::Encode(const Revised<Change>& change) const {
  return std::visit(
      [](const auto& row) {
        if constexpr (std::is_same_v<decltype(row), const std::shared_ptr<const ReleasedPool>&>) {
          return EncodeReleasedPool(*row);
        } else if constexpr (std::is_same_v<decltype(row),
                                            const std::shared_ptr<const KeptRequest>&>) {
          return EncodeKeptRequest(*row);
        } else {
          return Serialize(capacity::ToProto(*row));
        }
      },
      change.change.row);
}

absl::StatusOr<PostgresCapacityStore::Change> PostgresCapacityStore::Decode(
    absl::string_view kind, absl::string_view key, const std::string* bytes) const {
  if (kind == ZoneRow::kKind) return DecodeAs<ZoneRow, capacity::v1::Zone>(key, bytes);
  if (kind == InstanceTypeRow::kKind)
    return DecodeAs<InstanceTypeRow, capacity::v1::InstanceType>(key, bytes);
  if (kind == MachineRow::kKind) return DecodeAs<MachineRow, capacity::v1::Machine>(key, bytes);
  if (kind == ClaimRow::kKind) return DecodeAs<ClaimRow, capacity::v1::Claim>(key, bytes);
  if (kind == ArrivalsRow::kKind) return DecodeAs<ArrivalsRow, capacity::v1::Arrivals>(key, bytes);
  if (kind == ReleasedPool::kKind) return DecodeReleasedPoolChange<Change>(key, bytes);
  if (kind == KeptRequest::kKind) return DecodeKeptRequestChange<Change>(key, bytes);
  return absl::InternalError(
      absl::StrCat("The journal of capacity holds a ", kind, ", which is unknown."));
}

}  // namespace muster::storage
