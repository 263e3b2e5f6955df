#include "services/lifecycle/core/etag.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "services/lifecycle/wire/times.h"
#include "services/lifecycle/wire/to_proto_parts.h"

namespace muster::lifecycle {
namespace {

void SetConfiguration(const NodeConfiguration& configuration, v1::NodeConfiguration* out) {
  MUSTER_SET_TIME(*out, created_at, configuration.created_at);
  out->set_node_profile(configuration.node_profile);
  for (const std::string& line : configuration.summary) out->add_summary(line);
  out->set_active_nodes(configuration.active_nodes);
  out->set_disabled(configuration.disabled);
  out->set_enable_count(configuration.enable_count);
}

void SetAffinity(const Affinity& affinity, v1::NodeAffinity* out) {
  for (const auto& term : affinity) {
    v1::NodeAffinityTerm* to = out->add_terms();
    for (const AffinityExpression& expression : term) {
      v1::NodeAffinityExpression* e = to->add_expressions();
      e->set_key(expression.key);
      e->set_operator_(expression.op);
      for (const std::string& value : expression.values) e->add_values(value);
    }
  }
}

void FillAccount(const PoolAccount& account, v1::NodePoolAccount* out) {
  out->set_generation(account.generation);
  out->set_granted_nodes(account.granted_nodes);
  out->set_requested_nodes(account.requested_nodes);
  out->set_removed_nodes(account.removed_nodes);
  out->set_prefill_nodes(account.prefill_nodes);
  if (const BootFailures& failures = account.boot_failures; failures != BootFailures()) {
    v1::BootFailures* to = out->mutable_boot_failures();
    to->set_node_profile(failures.node_profile);
    to->set_enable_count(failures.enable_count);
    for (const std::string& machine : failures.machines) to->add_machines(machine);
  }
  out->set_configuration_order(account.configuration_order);
  out->set_waiting_configuration_order(account.waiting_configuration_order);
  if (const GivenUp& given_up = account.given_up; given_up != GivenUp()) {
    v1::GivenUpNodes* to = out->mutable_given_up();
    to->set_nodes(given_up.nodes);
    to->set_boot_counted(given_up.boot_counted);
    SetTimestamp(given_up.since, to->mutable_since_time());
  }
  out->set_scaled_to(account.scaled_to);
  out->set_claim_unknown(account.claim_unknown);
  // Left unset while no order waits: the release before hands this field on as it is, and `false`
  // would hide a rollback that comes to wait there.
  if (account.rollback_waits || account.waiting_configuration_order != 0)
    out->set_rollback_waits(account.rollback_waits);
  for (const std::string& rack : account.leaving_racks) out->add_leaving_racks(rack);
  out->set_deferred_nodes(account.deferred_nodes);
  out->set_released(account.released);
}

v1::Reconfiguration::State StateOf(Reconfiguration::State state) {
  using State = Reconfiguration::State;
  switch (state) {
    case State::kRunning:
      return v1::Reconfiguration::STATE_RUNNING;
    case State::kPaused:
      return v1::Reconfiguration::STATE_PAUSED;
    case State::kHalted:
      return v1::Reconfiguration::STATE_HALTED;
    case State::kDone:
      return v1::Reconfiguration::STATE_DONE;
    case State::kCancelled:
      return v1::Reconfiguration::STATE_CANCELLED;
  }
  return v1::Reconfiguration::STATE_UNSPECIFIED;
}

void FillReconfiguration(const Reconfiguration& in, v1::Reconfiguration* out) {
  out->set_number(in.number);
  out->set_state(StateOf(in.state));
  for (const std::string& machine : in.machines) out->add_machines(machine);
  out->set_evict_active(in.evict_active);
  out->set_max_unavailable(in.max_unavailable);
  out->set_allowed_failures(in.allowed_failures);
  MUSTER_SET_TIME(*out, create_time, in.create_time);
  MUSTER_SET_TIME(*out, state_time, in.state_time);
  for (const std::string& machine : in.failed_machines) out->add_failed_machines(machine);
  out->set_rebooted_nodes(in.rebooted_nodes);
  out->set_halt_reason(in.halt_reason);
}

v1::NodePoolObstacle::Actor ActorOf(Actor actor) {
  switch (actor) {
    case Actor::kNobody:
      return v1::NodePoolObstacle::ACTOR_NOBODY;
    case Actor::kUser:
      return v1::NodePoolObstacle::ACTOR_USER;
    case Actor::kQuotaAdmin:
      return v1::NodePoolObstacle::ACTOR_QUOTA_ADMIN;
    case Actor::kCapacity:
      return v1::NodePoolObstacle::ACTOR_CAPACITY;
    case Actor::kOperator:
      return v1::NodePoolObstacle::ACTOR_OPERATOR;
  }
  return v1::NodePoolObstacle::ACTOR_UNSPECIFIED;
}

}  // namespace

v1::NodePoolObstacle ToProto(const Obstacle& obstacle) {
  v1::NodePoolObstacle out;
  out.set_reason(obstacle.reason);
  out.set_subject(obstacle.subject);
  out.set_message(obstacle.message);
  out.set_actor(ActorOf(obstacle.actor));
  MUSTER_SET_TIME(out, earliest_time, obstacle.earliest);
  MUSTER_SET_TIME(out, latest_time, obstacle.latest);
  return out;
}

v1::Cluster ToProto(const Cluster& cluster) {
  v1::Cluster out;
  out.set_name(cluster.name);
  out.set_zone(cluster.zone);
  out.set_kubernetes_version(cluster.kubernetes_version);
  MUSTER_SET_TIME(out, create_time, cluster.create_time);
  out.set_etag(EtagOf(cluster));
  out.set_kubernetes_uid(cluster.kubernetes_uid);
  if (cluster.allowance == Cluster::Allowance()) return out;
  v1::RemovalAllowance& allowance = *out.mutable_removal_allowance();
  allowance.set_node_pools(cluster.allowance.node_pools);
  allowance.set_nodes(cluster.allowance.nodes);
  MUSTER_SET_TIME(allowance, create_time, cluster.allowance.create_time);
  MUSTER_SET_TIME(allowance, expire_time, cluster.allowance.expire_time);
  return out;
}

v1::NodePoolSpec ToProto(const Spec& spec) {
  v1::NodePoolSpec out;
  out.set_compute_class(spec.compute_class);
  out.set_instance_type(spec.instance_type);
  out.set_target_nodes(spec.target_nodes);
  out.set_min_nodes(spec.min_nodes);
  out.set_max_nodes(spec.max_nodes);
  out.mutable_node_labels()->insert(spec.node_labels.begin(), spec.node_labels.end());
  out.mutable_node_annotations()->insert(spec.node_annotations.begin(),
                                         spec.node_annotations.end());
  for (const Taint& taint : spec.node_taints) SetTaint(taint, out.add_node_taints());
  if (spec.image) {
    out.mutable_image()->set_kernel(spec.image->kernel);
    out.mutable_image()->set_name(spec.image->name);
    out.mutable_image()->set_release_train(spec.image->release_train);
  }
  if (spec.gpu) out.mutable_gpu()->set_version(spec.gpu->version);
  out.set_autoscaling(spec.autoscaling);
  out.mutable_lifecycle()->set_scale_down_strategy(std::string(TextOf(spec.scale_down_strategy)));
  out.mutable_lifecycle()->set_disable_unhealthy_node_eviction(
      spec.disable_unhealthy_node_eviction);
  if (!spec.update_strategy.empty()) {
    out.mutable_node_configuration_update_strategy()->set_type(spec.update_strategy);
  }
  if (!spec.max_unavailable.empty()) {
    out.mutable_lifecycle()->set_max_unavailable(spec.max_unavailable);
  }
  if (!spec.node_affinity.empty()) SetAffinity(spec.node_affinity, out.mutable_node_affinity());
  out.set_priority(spec.priority);
  out.set_gang(spec.gang);
  out.set_description(spec.description);
  if (spec.prefill) {
    out.mutable_prefill()->set_enabled(spec.prefill->enabled);
    out.mutable_prefill()->set_timeout_seconds(spec.prefill->timeout_seconds);
    out.mutable_prefill()->set_max_nodes(spec.prefill->max_nodes);
  }
  return out;
}

v1::NodePoolStatus ToProto(const Status& status) {
  v1::NodePoolStatus out;
  out.set_queued_nodes(status.queued_nodes);
  out.set_in_progress(status.in_progress);
  out.set_current_nodes(status.current_nodes);
  out.set_node_profile(status.node_profile);
  if (status.pending) SetConfiguration(*status.pending, out.mutable_pending_node_configuration());
  for (const NodeConfiguration& revision : status.revisions) {
    SetConfiguration(revision, out.add_node_configuration_revisions());
  }
  for (const Condition& condition : status.conditions)
    SetCondition(condition, out.add_conditions());
  for (const Condition& condition : status.summary) SetCondition(condition, out.add_conditions());
  if (status.waiting) SetConfiguration(*status.waiting, out.mutable_waiting_node_configuration());
  if (status.grantable) {
    out.set_grantable_nodes(status.grantable->nodes);
    out.set_grantable_nodes_bound_by(status.grantable->bound_by);
  }
  return out;
}

v1::NodePool ToProto(const Pool& pool) {
  v1::NodePool out;
  out.set_name(pool.name);
  out.set_uid(pool.uid);
  out.set_zone(pool.zone);
  out.set_generation(pool.generation);
  out.set_object_generation(pool.object_generation);
  out.set_etag(EtagOf(pool));
  MUSTER_SET_TIME(out, create_time, pool.create_time);
  MUSTER_SET_TIME(out, delete_time, pool.delete_time);
  *out.mutable_spec() = ToProto(pool.spec);
  *out.mutable_status() = ToProto(pool.status);
  FillAccount(pool.account, out.mutable_account());
  if (pool.reconfiguration)
    FillReconfiguration(*pool.reconfiguration, out.mutable_reconfiguration());
  return out;
}

v1::Cluster ToProto(const Versioned<Cluster>& cluster) { return ToProto(*cluster.row); }

v1::NodePool ToProto(const Versioned<Pool>& pool) { return ToProto(*pool.row); }

v1::Event ToProto(const Versioned<Event>& versioned) {
  const Event& event = *versioned.row;
  v1::Event out;
  out.set_name(event.name);
  out.set_object(event.object);
  out.set_pool_uid(event.pool_uid);
  out.set_type(event.type);
  out.set_reason(event.reason);
  out.set_message(event.message);
  out.set_count(event.count);
  MUSTER_SET_TIME(out, first_time, event.first_time);
  MUSTER_SET_TIME(out, last_time, event.last_time);
  return out;
}

v1::Lease ToProto(const Versioned<Lease>& versioned) {
  const Lease& lease = *versioned.row;
  v1::Lease out;
  out.set_name(lease.name);
  out.set_holder(lease.holder);
  out.set_epoch(lease.epoch);
  out.set_incarnation(lease.incarnation);
  out.set_generation_floor(lease.generation_floor);
  return out;
}

}  // namespace muster::lifecycle
