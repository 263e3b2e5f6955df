#include "storage/lifecycle/lifecycle_store.h"

#include <memory>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "storage/lifecycle/columns.h"
#include "storage/lifecycle/json.h"
#include "storage/postgres/kept_request_table.h"

namespace muster::storage {
namespace {

using lifecycle::Cluster;
using lifecycle::Event;
using lifecycle::kNever;
using lifecycle::Lease;
using lifecycle::Node;
using lifecycle::Pool;
using Change = lifecycle::State::Change;

constexpr char kLoadClusters[] =
    "SELECT name, zone, kubernetes_version, create_time, kubernetes_uid, allowed_node_pools, "
    "allowed_nodes, allowance_create_time, allowance_expire_time, revision FROM cluster";
constexpr char kLoadPools[] =
    "SELECT name, uid, zone, generation, create_time, delete_time, spec, status, ask_generation, "
    "granted_nodes, requested_nodes, removed_nodes, detail, object_generation, revision FROM "
    "node_pool";
constexpr char kLoadNodes[] =
    "SELECT name, machine, pool_uid, state, state_time, create_time, phase, phase_time, "
    "node_profile, cordoned, drain, drain_deadline, observed_profile, active, active_time, "
    "autoscaler_marked, removal_cause, preempt_time, detail, revision FROM node";
constexpr char kLoadEvents[] =
    "SELECT name, object, pool_uid, type, reason, message, count, first_time, last_time, revision "
    "FROM event";
constexpr char kLoadLeases[] =
    "SELECT name, holder, epoch, incarnation, generation_floor, revision FROM lease";

absl::Time TimeOf(const pqxx::field& field) {
  return field.is_null() ? kNever : FromSqlTime(field.c_str());
}

Cluster ClusterOf(const pqxx::row& row) {
  return {
      row[0].c_str(), row[1].c_str(),
      row[2].c_str(), TimeOf(row[3]),
      row[4].c_str(), {row[5].as<int64_t>(), row[6].as<int64_t>(), TimeOf(row[7]), TimeOf(row[8])}};
}

Pool PoolOf(const pqxx::row& row) {
  Pool pool;
  pool.name = row[0].c_str();
  pool.uid = row[1].c_str();
  pool.zone = row[2].c_str();
  pool.generation = row[3].as<int64_t>();
  pool.create_time = TimeOf(row[4]);
  pool.delete_time = TimeOf(row[5]);
  lifecycle::v1::NodePoolSpec spec;
  FromJson(row[6].c_str(), spec);
  pool.spec = lifecycle::FromProto(spec);
  lifecycle::v1::NodePoolStatus status;
  FromJson(row[7].c_str(), status);
  pool.status = lifecycle::FromProto(status);
  lifecycle::v1::NodePool rest;
  FromJson(row[12].c_str(), rest);
  absl::StatusOr<Pool> detail = lifecycle::FromProto(rest);
  if (!detail.ok()) throw std::runtime_error(detail.status().ToString());
  pool.account = std::move(detail->account);
  pool.account.generation = row[8].as<int64_t>();
  pool.account.granted_nodes = row[9].as<int64_t>();
  pool.account.requested_nodes = row[10].as<int64_t>();
  pool.account.removed_nodes = row[11].as<int64_t>();
  pool.reconfiguration = std::move(detail->reconfiguration);
  pool.object_generation = row[13].as<int64_t>();
  return pool;
}

// The table's check names the same words.
template <class Enum, class NameOf>
Enum EnumOf(absl::string_view text, int values, NameOf name_of) {
  for (int i = 0; i < values; ++i) {
    if (text == name_of(static_cast<Enum>(i))) return static_cast<Enum>(i);
  }
  throw std::runtime_error(absl::StrCat("A node is in a state that is none: ", text));
}

Node NodeOf(const pqxx::row& row) {
  lifecycle::v1::Node detail;
  FromJson(row[18].c_str(), detail);
  detail.set_state(lifecycle::v1::Node::STATE_ASSIGNED);  // a valid one; the column's follows
  absl::StatusOr<Node> parsed = lifecycle::FromProto(detail);
  if (!parsed.ok()) throw std::runtime_error(parsed.status().ToString());
  Node node = *std::move(parsed);
  node.name = row[0].c_str();
  node.machine = row[1].c_str();
  node.pool_uid = row[2].c_str();
  node.state = EnumOf<lifecycle::NodeState>(row[3].c_str(), lifecycle::kNodeStates,
                                            &lifecycle::NodeStateName);
  node.state_time = TimeOf(row[4]);
  node.create_time = TimeOf(row[5]);
  node.desired.phase = EnumOf<lifecycle::Phase>(row[6].c_str(), 3, &PhaseName);
  node.desired.phase_time = TimeOf(row[7]);
  node.desired.node_profile = row[8].c_str();
  node.desired.cordoned = row[9].as<bool>();
  node.desired.drain = row[10].as<bool>();
  node.desired.drain_deadline = TimeOf(row[11]);
  node.observed.node_profile = row[12].c_str();
  node.observed.active = row[13].as<bool>();
  node.observed.active_time = TimeOf(row[14]);
  node.observed.autoscaler_marked = row[15].as<bool>();
  node.removal_cause = EnumOf<lifecycle::RemovalCause>(row[16].c_str(), 6, &CauseName);
  node.preempt_time = TimeOf(row[17]);
  return node;
}

Event EventOf(const pqxx::row& row) {
  return {row[0].c_str(), row[1].c_str(),       row[2].c_str(), row[3].c_str(), row[4].c_str(),
          row[5].c_str(), row[6].as<int64_t>(), TimeOf(row[7]), TimeOf(row[8])};
}

Lease LeaseOf(const pqxx::row& row) {
  return {row[0].c_str(), row[1].c_str(), row[2].as<int64_t>(), row[3].c_str(),
          row[4].as<int64_t>()};
}

// The last column is the revision.
template <class RowOf>
void LoadTable(Transaction& tx, const char* sql, RowOf row_of,
               absl::FunctionRef<void(Revised<Change>)> emit) {
  for (const auto& row : tx.Exec(sql)) {
    auto loaded = row_of(row);
    std::string key = loaded.Key();
    using Row = decltype(loaded);
    emit({Change{std::move(key), std::make_shared<const Row>(std::move(loaded))},
          row[row.size() - 1].template as<int64_t>()});
  }
}

template <class Row, class Message>
absl::StatusOr<Change> DecodeAs(absl::string_view key, const std::string* bytes) {
  if (bytes == nullptr) return Change{std::string(key), std::shared_ptr<const Row>()};
  Message message;
  if (!message.ParseFromString(*bytes)) {
    return absl::InternalError(absl::StrCat("Not a ", Row::kKind, ": ", key));
  }
  ASSIGN_OR_RETURN(Row row, lifecycle::FromProto(message));
  return Change{std::string(key), std::make_shared<const Row>(std::move(row))};
}

// Columns of every kind; Add picks the one of the row.
struct AllColumns {
  ClusterColumns clusters;
  PoolColumns pools;
  NodeColumns nodes;
  EventColumns events;
  LeaseColumns leases;
  KeptRequestColumns kept;

  ClusterColumns& For(const Cluster*) { return clusters; }
  PoolColumns& For(const Pool*) { return pools; }
  NodeColumns& For(const Node*) { return nodes; }
  EventColumns& For(const Event*) { return events; }
  LeaseColumns& For(const Lease*) { return leases; }
  KeptRequestColumns& For(const KeptRequest*) { return kept; }
};

}  // namespace

void PostgresLifecycleStore::Load(Transaction& tx,
                                  absl::FunctionRef<void(Revised<Change>)> emit) const {
  LoadTable(tx, kLoadClusters, &ClusterOf, emit);
  LoadTable(tx, kLoadPools, &PoolOf, emit);
  LoadTable(tx, kLoadNodes, &NodeOf, emit);
  LoadTable(tx, kLoadEvents, &EventOf, emit);
  LoadTable(tx, kLoadLeases, &LeaseOf, emit);
  EmitKeptRequests<Change>(tx, emit);
}

void PostgresLifecycleStore::Write(Transaction& tx,
                                   absl::Span<const Revised<Change>> changes) const {
  AllColumns all;
  for (const Revised<Change>& change : changes) {
    std::visit(
        [&](const auto& row) {
          all.For(row.get()).Add(change.change.key, row.get(), change.revision);
        },
        change.change.row);
  }
  // Children go before their parents and come after them.
  all.nodes.Delete(tx);
  all.pools.Delete(tx);
  all.clusters.Delete(tx);
  all.events.Delete(tx);
  all.leases.Delete(tx);
  all.clusters.Put(tx);
  all.pools.Put(tx);
  all.nodes.Put(tx);
  all.events.Put(tx);
  all.leases.Put(tx);
  all.kept.Send(tx);
}

std::string PostgresLifecycleStore::Encode(const Revised<Change>& change) const {
  return std::visit(
      [&](const auto& row) {
        using Row =
            std::remove_const_t<typename std::remove_reference_t<decltype(row)>::element_type>;
        if constexpr (std::is_same_v<Row, KeptRequest>) {
          return EncodeKeptRequest(*row);
        } else {
          return lifecycle::ToProto(Versioned<Row>{row, change.revision}).SerializeAsString();
        }
      },
      change.change.row);
}

absl::StatusOr<PostgresLifecycleStore::Change> PostgresLifecycleStore::Decode(
    absl::string_view kind, absl::string_view key, const std::string* bytes) const {
  namespace v1 = lifecycle::v1;
  if (kind == Cluster::kKind) return DecodeAs<Cluster, v1::Cluster>(key, bytes);
  if (kind == Pool::kKind) return DecodeAs<Pool, v1::NodePool>(key, bytes);
  if (kind == Node::kKind) return DecodeAs<Node, v1::Node>(key, bytes);
  if (kind == Event::kKind) return DecodeAs<Event, v1::Event>(key, bytes);
  if (kind == Lease::kKind) return DecodeAs<Lease, v1::Lease>(key, bytes);
  if (kind == KeptRequest::kKind) return DecodeKeptRequestChange<Change>(key, bytes);
  return absl::InternalError(
      absl::StrCat("The journal of lifecycle holds a ", kind, ", which is unknown."));
}

}  // namespace muster::storage
