#include "storage/lifecycle/columns.h"

#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "storage/lifecycle/json.h"

namespace muster::storage {
namespace {

using lifecycle::kNever;

constexpr Statement kDeleteClusters = {"delete_clusters",
                                       "DELETE FROM cluster WHERE name = ANY ($1::text[])"};
constexpr Statement kPutClusters = {
    "put_clusters",
    "INSERT INTO cluster (name, zone, kubernetes_version, create_time, kubernetes_uid, "
    "allowed_node_pools, allowed_nodes, allowance_create_time, allowance_expire_time, revision)"
    " SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], "
    "$6::bigint[], $7::bigint[], $8::timestamptz[], $9::timestamptz[], $10::bigint[])"
    " ON CONFLICT (name) DO UPDATE SET zone = excluded.zone, kubernetes_version = "
    "excluded.kubernetes_version, create_time = excluded.create_time, kubernetes_uid = "
    "excluded.kubernetes_uid, allowed_node_pools = excluded.allowed_node_pools, allowed_nodes = "
    "excluded.allowed_nodes, allowance_create_time = excluded.allowance_create_time, "
    "allowance_expire_time = excluded.allowance_expire_time, revision = excluded.revision"};

constexpr Statement kDeletePools = {"delete_pools",
                                    "DELETE FROM node_pool WHERE name = ANY ($1::text[])"};
constexpr Statement kPutPools = {
    "put_pools",
    "INSERT INTO node_pool (name, cluster_name, uid, zone, generation, object_generation, "
    "create_time, delete_time, instance_type, target_nodes, spec, status, ask_generation, "
    "granted_nodes, requested_nodes, removed_nodes, detail, revision)"
    " SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], "
    "$6::bigint[], $7::timestamptz[], $8::timestamptz[], $9::text[], $10::bigint[], $11::jsonb[], "
    "$12::jsonb[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::jsonb[], "
    "$18::bigint[])"
    " ON CONFLICT (name) DO UPDATE SET cluster_name = excluded.cluster_name, uid = excluded.uid, "
    "zone = excluded.zone, generation = excluded.generation, object_generation = "
    "excluded.object_generation, create_time = excluded.create_time, delete_time = "
    "excluded.delete_time, instance_type = excluded.instance_type, target_nodes = "
    "excluded.target_nodes, spec = excluded.spec, status = excluded.status, ask_generation = "
    "excluded.ask_generation, granted_nodes = excluded.granted_nodes, requested_nodes = "
    "excluded.requested_nodes, removed_nodes = excluded.removed_nodes, detail = excluded.detail, "
    "revision = excluded.revision"};

constexpr Statement kDeleteNodes = {"delete_nodes",
                                    "DELETE FROM node WHERE name = ANY ($1::text[])"};
constexpr Statement kPutNodes = {
    "put_nodes",
    "INSERT INTO node (name, pool_name, machine, pool_uid, state, state_time, create_time, phase, "
    "phase_time, node_profile, cordoned, drain, drain_deadline, observed_profile, active, "
    "active_time, autoscaler_marked, removal_cause, preempt_time, detail, revision)"
    " SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], "
    "$6::timestamptz[], $7::timestamptz[], $8::text[], $9::timestamptz[], $10::text[], "
    "$11::boolean[], $12::boolean[], $13::timestamptz[], $14::text[], $15::boolean[], "
    "$16::timestamptz[], $17::boolean[], $18::text[], $19::timestamptz[], $20::jsonb[], "
    "$21::bigint[])"
    " ON CONFLICT (name) DO UPDATE SET pool_name = excluded.pool_name, machine = excluded.machine, "
    "pool_uid = excluded.pool_uid, state = excluded.state, state_time = excluded.state_time, "
    "create_time = excluded.create_time, phase = excluded.phase, phase_time = excluded.phase_time, "
    "node_profile = excluded.node_profile, cordoned = excluded.cordoned, drain = excluded.drain, "
    "drain_deadline = excluded.drain_deadline, observed_profile = excluded.observed_profile, "
    "active = excluded.active, active_time = excluded.active_time, autoscaler_marked = "
    "excluded.autoscaler_marked, removal_cause = excluded.removal_cause, preempt_time = "
    "excluded.preempt_time, detail = excluded.detail, revision = excluded.revision"};

constexpr Statement kDeleteEvents = {"delete_events",
                                     "DELETE FROM event WHERE name = ANY ($1::text[])"};
constexpr Statement kPutEvents = {
    "put_events",
    "INSERT INTO event (name, object, pool_uid, type, reason, message, count, first_time, "
    "last_time, revision)"
    " SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], "
    "$7::bigint[], $8::timestamptz[], $9::timestamptz[], $10::bigint[])"
    " ON CONFLICT (name) DO UPDATE SET object = excluded.object, pool_uid = excluded.pool_uid, "
    "type = excluded.type, reason = excluded.reason, message = excluded.message, count = "
    "excluded.count, first_time = excluded.first_time, last_time = excluded.last_time, revision = "
    "excluded.revision"};

constexpr Statement kDeleteLeases = {"delete_leases",
                                     "DELETE FROM lease WHERE name = ANY ($1::text[])"};
constexpr Statement kPutLeases = {
    "put_leases",
    "INSERT INTO lease (name, holder, epoch, incarnation, generation_floor, revision)"
    " SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], "
    "$6::bigint[])"
    " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, epoch = excluded.epoch, "
    "incarnation = excluded.incarnation, generation_floor = excluded.generation_floor, revision = "
    "excluded.revision"};

void AddTime(SqlArray& column, absl::Time time) {
  if (time == kNever) {
    column.AddNull();
  } else {
    column.Add(time);
  }
}

// What of a Node has no column: lists, maps, and what nobody asks of SQL.
std::string DetailOf(const lifecycle::Node& node) {
  // Borrowed, not copied.
  const std::shared_ptr<const lifecycle::Node> row(std::shared_ptr<void>(), &node);
  lifecycle::v1::Node detail = lifecycle::ToProto(Versioned<lifecycle::Node>{row, 0});
  detail.clear_name();
  detail.clear_machine();
  detail.clear_pool_uid();
  detail.clear_state();
  detail.clear_state_time();
  detail.clear_create_time();
  detail.clear_removal_cause();
  detail.clear_preempt_time();
  detail.clear_etag();
  lifecycle::v1::NodeDesired& desired = *detail.mutable_desired();
  desired.clear_phase();
  desired.clear_phase_time();
  desired.clear_node_profile();
  desired.clear_cordoned();
  desired.clear_drain();
  desired.clear_drain_deadline();
  lifecycle::v1::NodeObserved& observed = *detail.mutable_observed();
  observed.clear_node_profile();
  observed.clear_active();
  observed.clear_active_time();
  observed.clear_autoscaler_marked();
  return ToJson(detail);
}

// What of a pool has no column.
std::string DetailOf(const lifecycle::Pool& pool) {
  const lifecycle::v1::NodePool whole = lifecycle::ToProto(pool, 0);
  lifecycle::v1::NodePool detail;
  *detail.mutable_account() = whole.account();
  if (whole.has_reconfiguration()) *detail.mutable_reconfiguration() = whole.reconfiguration();
  return ToJson(detail);
}

}  // namespace

const char* PhaseName(lifecycle::Phase phase) {
  switch (phase) {
    case lifecycle::Phase::kUndecided:
      return "UNDECIDED";
    case lifecycle::Phase::kRunning:
      return "RUNNING";
    case lifecycle::Phase::kTerminated:
      return "TERMINATED";
  }
  return "";
}

const char* CauseName(lifecycle::RemovalCause cause) {
  switch (cause) {
    case lifecycle::RemovalCause::kNone:
      return "";
    case lifecycle::RemovalCause::kScaleDown:
      return "SCALE_DOWN";
    case lifecycle::RemovalCause::kRepair:
      return "REPAIR";
    case lifecycle::RemovalCause::kPreemption:
      return "PREEMPTION";
    case lifecycle::RemovalCause::kDeletion:
      return "DELETION";
    case lifecycle::RemovalCause::kReservation:
      return "RESERVATION";
  }
  return "";
}

void ClusterColumns::Add(const std::string& key, const lifecycle::Cluster* row, int64_t at) {
  if (row == nullptr) return deleted.Add(key);
  name.Add(key);
  zone.Add(row->zone);
  kubernetes_version.Add(row->kubernetes_version);
  create_time.Add(row->create_time);
  kubernetes_uid.Add(row->kubernetes_uid);
  allowed_node_pools.Add(row->allowance.node_pools);
  allowed_nodes.Add(row->allowance.nodes);
  AddTime(allowance_create_time, row->allowance.create_time);
  AddTime(allowance_expire_time, row->allowance.expire_time);
  revision.Add(at);
}

void ClusterColumns::Delete(Transaction& tx) const {
  if (!deleted.empty()) tx.Queue(kDeleteClusters, deleted.Text());
}

void ClusterColumns::Put(Transaction& tx) const {
  if (name.empty()) return;
  tx.Queue(kPutClusters, name.Text(), zone.Text(), kubernetes_version.Text(), create_time.Text(),
           kubernetes_uid.Text(), allowed_node_pools.Text(), allowed_nodes.Text(),
           allowance_create_time.Text(), allowance_expire_time.Text(), revision.Text());
}

void PoolColumns::Add(const std::string& key, const lifecycle::Pool* row, int64_t at) {
  if (row == nullptr) return deleted.Add(key);
  name.Add(key);
  cluster_name.Add(lifecycle::ClusterNameOf(key));
  uid.Add(row->uid);
  zone.Add(row->zone);
  generation.Add(row->generation);
  object_generation.Add(row->object_generation);
  create_time.Add(row->create_time);
  AddTime(delete_time, row->delete_time);
  instance_type.Add(row->spec.instance_type);
  target_nodes.Add(row->spec.target_nodes);
  spec.Add(ToJson(lifecycle::ToProto(row->spec)));
  status.Add(ToJson(lifecycle::ToProto(row->status)));
  ask_generation.Add(row->account.generation);
  granted_nodes.Add(row->account.granted_nodes);
  requested_nodes.Add(row->account.requested_nodes);
  removed_nodes.Add(row->account.removed_nodes);
  detail.Add(DetailOf(*row));
  revision.Add(at);
}

void PoolColumns::Delete(Transaction& tx) const {
  if (!deleted.empty()) tx.Queue(kDeletePools, deleted.Text());
}

void PoolColumns::Put(Transaction& tx) const {
  if (name.empty()) return;
  tx.Queue(kPutPools, name.Text(), cluster_name.Text(), uid.Text(), zone.Text(), generation.Text(),
           object_generation.Text(), create_time.Text(), delete_time.Text(), instance_type.Text(),
           target_nodes.Text(), spec.Text(), status.Text(), ask_generation.Text(),
           granted_nodes.Text(), requested_nodes.Text(), removed_nodes.Text(), detail.Text(),
           revision.Text());
}

void NodeColumns::Add(const std::string& key, const lifecycle::Node* row, int64_t at) {
  if (row == nullptr) return deleted.Add(key);
  const lifecycle::Desired& desired = row->desired;
  const lifecycle::Observed& observed = row->observed;
  name.Add(key);
  pool_name.Add(lifecycle::PoolNameOf(key));
  machine.Add(row->machine);
  pool_uid.Add(row->pool_uid);
  state.Add(lifecycle::NodeStateName(row->state));
  state_time.Add(row->state_time);
  create_time.Add(row->create_time);
  phase.Add(PhaseName(desired.phase));
  AddTime(phase_time, desired.phase_time);
  node_profile.Add(desired.node_profile);
  cordoned.Add(desired.cordoned);
  drain.Add(desired.drain);
  AddTime(drain_deadline, desired.drain_deadline);
  observed_profile.Add(observed.node_profile);
  active.Add(observed.active);
  AddTime(active_time, observed.active_time);
  autoscaler_marked.Add(observed.autoscaler_marked);
  removal_cause.Add(CauseName(row->removal_cause));
  AddTime(preempt_time, row->preempt_time);
  detail.Add(DetailOf(*row));
  revision.Add(at);
}

void NodeColumns::Delete(Transaction& tx) const {
  if (!deleted.empty()) tx.Queue(kDeleteNodes, deleted.Text());
}

void NodeColumns::Put(Transaction& tx) const {
  if (name.empty()) return;
  tx.Queue(kPutNodes, name.Text(), pool_name.Text(), machine.Text(), pool_uid.Text(), state.Text(),
           state_time.Text(), create_time.Text(), phase.Text(), phase_time.Text(),
           node_profile.Text(), cordoned.Text(), drain.Text(), drain_deadline.Text(),
           observed_profile.Text(), active.Text(), active_time.Text(), autoscaler_marked.Text(),
           removal_cause.Text(), preempt_time.Text(), detail.Text(), revision.Text());
}

void EventColumns::Add(const std::string& key, const lifecycle::Event* row, int64_t at) {
  if (row == nullptr) return deleted.Add(key);
  name.Add(key);
  object.Add(row->object);
  pool_uid.Add(row->pool_uid);
  type.Add(row->type);
  reason.Add(row->reason);
  message.Add(row->message);
  count.Add(row->count);
  first_time.Add(row->first_time);
  last_time.Add(row->last_time);
  revision.Add(at);
}

void EventColumns::Delete(Transaction& tx) const {
  if (!deleted.empty()) tx.Queue(kDeleteEvents, deleted.Text());
}

void EventColumns::Put(Transaction& tx) const {
  if (name.empty()) return;
  tx.Queue(kPutEvents, name.Text(), object.Text(), pool_uid.Text(), type.Text(), reason.Text(),
           message.Text(), count.Text(), first_time.Text(), last_time.Text(), revision.Text());
}

void LeaseColumns::Add(const std::string& key, const lifecycle::Lease* row, int64_t at) {
  if (row == nullptr) return deleted.Add(key);
  name.Add(key);
  holder.Add(row->holder);
  epoch.Add(row->epoch);
  incarnation.Add(row->incarnation);
  generation_floor.Add(row->generation_floor);
  revision.Add(at);
}

void LeaseColumns::Delete(Transaction& tx) const {
  if (!deleted.empty()) tx.Queue(kDeleteLeases, deleted.Text());
}

void LeaseColumns::Put(Transaction& tx) const {
  if (name.empty()) return;
  tx.Queue(kPutLeases, name.Text(), holder.Text(), epoch.Text(), incarnation.Text(),
           generation_floor.Text(), revision.Text());
}

}  // namespace muster::storage
