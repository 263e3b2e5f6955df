#include "services/lifecycle/store/lifecycle_store.h"

#include <memory>
#include <stdexcept>
#include <utility>

#include "absl/strings/match.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "storage/postgres/kept_request_table.h"
#include "storage/postgres/table_store.h"

namespace muster::storage {

using lifecycle::Cluster;
using lifecycle::Desired;
using lifecycle::Event;
using lifecycle::Lease;
using lifecycle::Node;
using lifecycle::Observed;
using lifecycle::Phase;
using lifecycle::Pool;
using lifecycle::PoolAccount;
using lifecycle::RemovalCause;
using lifecycle::Spec;

namespace {

absl::string_view PhaseName(Phase phase) {
  constexpr const char* kNames[] = {"UNDECIDED", "RUNNING", "TERMINATED"};
  return kNames[static_cast<int>(phase)];
}

absl::string_view CauseName(RemovalCause cause) {
  constexpr const char* kNames[] = {"",           "SCALE_DOWN", "REPAIR",
                                    "PREEMPTION", "DELETION",   "RESERVATION"};
  return kNames[static_cast<int>(cause)];
}

}  // namespace

template <>
struct SqlValue<lifecycle::NodeState>
    : SqlWords<lifecycle::NodeState, lifecycle::kNodeStates, &lifecycle::NodeStateName> {};
template <>
struct SqlValue<Phase> : SqlWords<Phase, 3, &PhaseName> {};
template <>
struct SqlValue<RemovalCause> : SqlWords<RemovalCause, 6, &CauseName> {};

namespace {

// --- what has no column of its own: lists, maps, and what nobody asks of SQL ---
//
// It is in `later`, which the release before reads, too. Releases before it wrote JSON, into
// `detail` and `status`, which takes Postgres four times as long to write, and us half as long
// again, and is three times as long in the write-ahead log.

lifecycle::v1::Node MessageOf(const Node& node) {
  // Borrowed, not copied.
  const std::shared_ptr<const Node> row(std::shared_ptr<void>(), &node);
  return lifecycle::ToProto(Versioned<Node>{row, 0});
}

std::string RestOf(const Node& node) {
  lifecycle::v1::Node rest = MessageOf(node);
  rest.clear_name();
  rest.clear_machine();
  rest.clear_pool_uid();
  rest.clear_state();
  rest.clear_state_time();
  rest.clear_create_time();
  rest.clear_removal_cause();
  rest.clear_preempt_time();
  rest.clear_etag();
  lifecycle::v1::NodeDesired& desired = *rest.mutable_desired();
  desired.clear_phase();
  desired.clear_phase_time();
  desired.clear_node_profile();
  desired.clear_cordoned();
  desired.clear_drain();
  desired.clear_drain_deadline();
  // `cordon_time` stays, though it follows from the rest: the release before does not know it,
  // keeps what the journal has of it, and is to find the same here (see LaneAudit).
  lifecycle::v1::NodeObserved& observed = *rest.mutable_observed();
  observed.clear_node_profile();
  observed.clear_active();
  observed.clear_active_time();
  observed.clear_autoscaler_marked();
  // Of a row that is updated Postgres logs what lies between the first and the last byte that
  // changed, and the state, which changes most, is in a column before. What follows from it stands
  // first; most of the rest is other labels and annotations, which seldom change: they stand last.
  lifecycle::v1::Node last;
  last.mutable_desired()->mutable_annotations()->swap(*desired.mutable_annotations());
  auto& labels = *desired.mutable_labels();
  for (auto label = labels.begin(); label != labels.end();) {
    if (absl::StartsWith(label->first, "node.coreweave.cloud/")) {
      ++label;
      continue;
    }
    (*last.mutable_desired()->mutable_labels())[label->first] = std::move(label->second);
    label = labels.erase(label);
  }
  lifecycle::v1::Node first;
  first.mutable_desired()->Swap(&desired);
  rest.clear_desired();
  return SerializeAlike(first) + rest.SerializeAsString() + SerializeAlike(last);
}

// `node` has what the other columns say: how its times are to be read depends on its state, and on
// who named it.
void SetDetail(lifecycle::v1::Node&& detail, Node& node) {
  if (detail.ByteSizeLong() == 0) return;
  detail.MergeFrom(MessageOf(node));
  absl::StatusOr<Node> parsed = lifecycle::FromProto(detail);
  if (!parsed.ok()) throw std::runtime_error(parsed.status().ToString());
  node = *std::move(parsed);
}

std::string RestOf(const Pool& pool) {
  lifecycle::v1::NodePool whole = lifecycle::ToProto(pool);
  lifecycle::v1::NodePool rest;
  lifecycle::v1::NodePoolAccount& account = *rest.mutable_account();
  account.Swap(whole.mutable_account());
  account.clear_generation();
  account.clear_granted_nodes();
  account.clear_requested_nodes();
  account.clear_removed_nodes();
  rest.mutable_status()->Swap(whole.mutable_status());
  if (whole.has_reconfiguration())
    rest.mutable_reconfiguration()->Swap(whole.mutable_reconfiguration());
  return rest.SerializeAsString();
}

void SetDetail(lifecycle::v1::NodePool&& detail, Pool& pool) {
  absl::StatusOr<Pool> parsed = lifecycle::FromProto(detail);
  if (!parsed.ok()) throw std::runtime_error(parsed.status().ToString());
  pool.account = std::move(parsed->account);
  pool.reconfiguration = std::move(parsed->reconfiguration);
}

// As releases before wrote it; where other columns say something else, these count.
template <class Message, class Row>
SqlColumn<Row> Detail() {
  return Json<Message, Row>(
      "detail", [](const Row&) { return Message(); },
      [](Message&& detail, Row& row) { SetDetail(std::move(detail), row); });
}

// --- the tables ---

SqlTable<Cluster> Clusters() {
  using Allowance = Cluster::Allowance;
  return {"cluster",
          KeyForm::kName,
          {Key<&Cluster::name>("name"), Field<&Cluster::zone>("zone"),
           Field<&Cluster::kubernetes_version>("kubernetes_version"),
           Field<&Cluster::create_time>("create_time"),
           Field<&Cluster::kubernetes_uid>("kubernetes_uid"),
           Field<&Cluster::allowance, &Allowance::node_pools>("allowed_node_pools"),
           Field<&Cluster::allowance, &Allowance::nodes>("allowed_nodes"),
           Nullable<&Cluster::allowance, &Allowance::create_time>("allowance_create_time"),
           Nullable<&Cluster::allowance, &Allowance::expire_time>("allowance_expire_time")}};
}

SqlTable<Pool> Pools() {
  return {
      "node_pool",
      KeyForm::kName,
      // Its detail before the others, which set parts of what that sets whole.
      {Detail<lifecycle::v1::NodePool, Pool>(), Key<&Pool::name>("name"), Field<&Pool::uid>("uid"),
       Derived<Pool>(
           "cluster_name", "text",
           [](const Pool& pool, SqlArray& out) { out.Add(lifecycle::ClusterNameOf(pool.name)); }),
       Field<&Pool::zone>("zone"), Field<&Pool::generation>("generation"),
       Field<&Pool::object_generation>("object_generation"),
       Field<&Pool::create_time>("create_time"), Nullable<&Pool::delete_time>("delete_time"),
       Field<&Pool::spec, &Spec::instance_type>("instance_type"),
       Field<&Pool::spec, &Spec::target_nodes>("target_nodes"),
       Json<lifecycle::v1::NodePoolSpec, Pool>(
           "spec", [](const Pool& pool) { return lifecycle::ToProto(pool.spec); },
           [](lifecycle::v1::NodePoolSpec&& spec, Pool& pool) {
             pool.spec = lifecycle::FromProto(spec);
           }),
       // As releases before wrote it; now it is in `later`.
       Json<lifecycle::v1::NodePoolStatus, Pool>(
           "status", [](const Pool&) { return lifecycle::v1::NodePoolStatus(); },
           [](lifecycle::v1::NodePoolStatus&& status, Pool& pool) {
             pool.status = lifecycle::FromProto(status);
           }),
       Field<&Pool::account, &PoolAccount::generation>("ask_generation"),
       Field<&Pool::account, &PoolAccount::granted_nodes>("granted_nodes"),
       Field<&Pool::account, &PoolAccount::requested_nodes>("requested_nodes"),
       Field<&Pool::account, &PoolAccount::removed_nodes>("removed_nodes")}};
}

SqlTable<Node> Nodes() {
  return {"node",
          KeyForm::kName,
          {Key<&Node::name>("name"),
           Derived<Node>(
               "pool_name", "text",
               [](const Node& node, SqlArray& out) { out.Add(lifecycle::PoolNameOf(node.name)); }),
           Field<&Node::machine>("machine"),
           Field<&Node::pool_uid>("pool_uid"),
           Field<&Node::state>("state"),
           Field<&Node::state_time>("state_time"),
           Field<&Node::create_time>("create_time"),
           Field<&Node::desired, &Desired::phase>("phase"),
           Nullable<&Node::desired, &Desired::phase_time>("phase_time"),
           Field<&Node::desired, &Desired::node_profile>("node_profile"),
           Field<&Node::desired, &Desired::cordoned>("cordoned"),
           Field<&Node::desired, &Desired::drain>("drain"),
           Nullable<&Node::desired, &Desired::drain_deadline>("drain_deadline"),
           Field<&Node::observed, &Observed::node_profile>("observed_profile"),
           Field<&Node::observed, &Observed::active>("active"),
           Nullable<&Node::observed, &Observed::active_time>("active_time"),
           Field<&Node::observed, &Observed::autoscaler_marked>("autoscaler_marked"),
           Field<&Node::removal_cause>("removal_cause"),
           Nullable<&Node::preempt_time>("preempt_time"),
           Detail<lifecycle::v1::Node, Node>()}};  // after the others: SetDetail
}

SqlTable<Event> Events() {
  return {"event",
          KeyForm::kName,
          {Key<&Event::name>("name"), Field<&Event::object>("object"),
           Field<&Event::pool_uid>("pool_uid"), Field<&Event::type>("type"),
           Field<&Event::reason>("reason"), Field<&Event::message>("message"),
           Field<&Event::count>("count"), Field<&Event::first_time>("first_time"),
           Field<&Event::last_time>("last_time")}};
}

SqlTable<Lease> Leases() {
  return {"lease",
          KeyForm::kName,
          {Key<&Lease::name>("name"), Field<&Lease::holder>("holder"),
           Field<&Lease::epoch>("epoch"), Field<&Lease::incarnation>("incarnation"),
           Field<&Lease::generation_floor>("generation_floor")}};
}

template <class Message, class Row>
Stored<Row> Kind(SqlTable<Row> table, std::string (*rest)(const Row&) = nullptr) {
  return StoredAs<Message>(
      std::move(table), [](const Versioned<Row>& row) { return lifecycle::ToProto(row); },
      [](const Message& message) { return lifecycle::FromProto(message); }, RestOfRow<Row>(rest));
}

}  // namespace

std::unique_ptr<const Store<lifecycle::State>> NewLifecycleStore() {
  namespace v1 = lifecycle::v1;
  return std::make_unique<TableStore<lifecycle::State>>(
      Kind<v1::Cluster>(Clusters()), Kind<v1::NodePool>(Pools(), &RestOf),
      Kind<v1::Node>(Nodes(), &RestOf), Kind<v1::Event>(Events()), Kind<v1::Lease>(Leases()),
      StoredKeptRequests());
}

}  // namespace muster::storage
