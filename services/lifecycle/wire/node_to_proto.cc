#include <algorithm>

#include "services/lifecycle/core/etag.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "services/lifecycle/wire/times.h"
#include "services/lifecycle/wire/to_proto_parts.h"

namespace muster::lifecycle {
namespace {

v1::Node::State StateOf(NodeState state) {
  switch (state) {
    case NodeState::kAssigned:
      return v1::Node::STATE_ASSIGNED;
    case NodeState::kBooting:
      return v1::Node::STATE_BOOTING;
    case NodeState::kRegistered:
      return v1::Node::STATE_REGISTERED;
    case NodeState::kProduction:
      return v1::Node::STATE_PRODUCTION;
    case NodeState::kReconfiguring:
      return v1::Node::STATE_RECONFIGURING;
    case NodeState::kTriage:
      return v1::Node::STATE_TRIAGE;
    case NodeState::kCordoned:
      return v1::Node::STATE_CORDONED;
    case NodeState::kDraining:
      return v1::Node::STATE_DRAINING;
    case NodeState::kPreparedForTerminate:
      return v1::Node::STATE_PREPARED_FOR_TERMINATE;
    case NodeState::kDeleted:
      return v1::Node::STATE_DELETED;
    case NodeState::kDeliveryFailed:
      return v1::Node::STATE_DELIVERY_FAILED;
  }
  return v1::Node::STATE_UNSPECIFIED;
}

v1::NodeDesired::Phase PhaseOf(Phase phase) {
  switch (phase) {
    case Phase::kUndecided:
      return v1::NodeDesired::PHASE_UNSPECIFIED;
    case Phase::kRunning:
      return v1::NodeDesired::PHASE_RUNNING;
    case Phase::kTerminated:
      return v1::NodeDesired::PHASE_TERMINATED;
  }
  return v1::NodeDesired::PHASE_UNSPECIFIED;
}

v1::Node::RemovalCause CauseOf(RemovalCause cause) {
  switch (cause) {
    case RemovalCause::kNone:
      return v1::Node::REMOVAL_CAUSE_UNSPECIFIED;
    case RemovalCause::kScaleDown:
      return v1::Node::REMOVAL_CAUSE_SCALE_DOWN;
    case RemovalCause::kRepair:
      return v1::Node::REMOVAL_CAUSE_REPAIR;
    case RemovalCause::kPreemption:
      return v1::Node::REMOVAL_CAUSE_PREEMPTION;
    case RemovalCause::kDeletion:
      return v1::Node::REMOVAL_CAUSE_DELETION;
    case RemovalCause::kReservation:
      return v1::Node::REMOVAL_CAUSE_RESERVATION;
  }
  return v1::Node::REMOVAL_CAUSE_UNSPECIFIED;
}

v1::NodeOrders::Reboot RebootOf(Reboot reboot) {
  switch (reboot) {
    case Reboot::kNone:
      return v1::NodeOrders::REBOOT_UNSPECIFIED;
    case Reboot::kWhenIdle:
      return v1::NodeOrders::REBOOT_WHEN_IDLE;
    case Reboot::kDrained:
      return v1::NodeOrders::REBOOT_DRAINED;
    case Reboot::kForced:
      return v1::NodeOrders::REBOOT_FORCED;
  }
  return v1::NodeOrders::REBOOT_UNSPECIFIED;
}

void SetOrders(const NodeOrders& orders, v1::NodeOrders* out) {
  MUSTER_SET_TIME(*out, cordon_time, orders.cordon_time);
  MUSTER_SET_TIME(*out, drain_time, orders.drain_time);
  out->set_drain_forced(orders.drain_forced);
  out->set_reboot(RebootOf(orders.reboot));
  MUSTER_SET_TIME(*out, reboot_time, orders.reboot_time);
}

void SetDesired(const Desired& desired, v1::NodeDesired* out) {
  out->set_phase(PhaseOf(desired.phase));
  MUSTER_SET_TIME(*out, phase_time, desired.phase_time);
  out->set_node_profile(desired.node_profile);
  out->set_cordoned(desired.cordoned);
  out->set_drain(desired.drain);
  MUSTER_SET_TIME(*out, drain_deadline, desired.drain_deadline);
  out->mutable_labels()->insert(desired.labels.begin(), desired.labels.end());
  out->mutable_annotations()->insert(desired.annotations.begin(), desired.annotations.end());
  for (const Taint& taint : desired.taints) SetTaint(taint, out->add_taints());
  out->set_force_drain(desired.force_drain);
  MUSTER_SET_TIME(*out, drain_time, desired.drain_time);
}

void SetObserved(const Observed& observed, v1::NodeObserved* out) {
  out->set_node_profile(observed.node_profile);
  out->set_active(observed.active);
  for (const std::string& pod : observed.active_pods) out->add_active_pods(pod);
  MUSTER_SET_TIME(*out, active_time, observed.active_time);
  out->set_autoscaler_marked(observed.autoscaler_marked);
  out->set_active_pod_count(observed.active_pod_count);
  out->set_unhealthy(observed.unhealthy);
  out->set_health_message(observed.health_message);
  MUSTER_SET_TIME(*out, unhealthy_time, observed.unhealthy_time);
  MUSTER_SET_TIME(*out, healthy_time, observed.healthy_time);
  MUSTER_SET_TIME(*out, health_window_time, observed.health_window_time);
  out->set_relapses(observed.relapses);
  out->set_unschedulable(observed.unschedulable);
  out->set_drain_blocked_by(observed.drain_blocked_by);
  out->set_staging_error(observed.staging_error);
  out->set_removal_error(observed.removal_error);
  out->set_boot_id(observed.boot_id);
  MUSTER_SET_TIME(*out, boot_time, observed.boot_time);
  MUSTER_SET_TIME(*out, cordon_time, observed.cordon_time);
}

}  // namespace

v1::Node ToProto(const Versioned<Node>& versioned) {
  const Node& node = *versioned.row;
  v1::Node out;
  out.set_name(node.name);
  out.set_machine(node.machine);
  out.set_pool_uid(node.pool_uid);
  out.set_state(StateOf(node.state));
  MUSTER_SET_TIME(out, state_time, node.state_time);
  MUSTER_SET_TIME(out, create_time, node.create_time);
  SetDesired(node.desired, out.mutable_desired());
  // As the etag, it follows from the rest, and is not read back.
  if (node.desired.cordoned)
    SetTimestamp(CordonDesiredTime(node), out.mutable_desired()->mutable_cordon_time());
  SetObserved(node.observed, out.mutable_observed());
  for (const Condition& condition : node.conditions) SetCondition(condition, out.add_conditions());
  out.set_etag(EtagOf(node));
  out.set_removal_cause(CauseOf(node.removal_cause));
  MUSTER_SET_TIME(out, preempt_time, node.preempt_time);
  MUSTER_SET_TIME(out, protect_until_time, node.protect_until_time);
  out.set_removal_requested(node.removal_requested);
  // Releases before `asked_to_go_time` read both here.
  MUSTER_SET_TIME(out, replace_time, std::min(node.replace_time, node.asked_to_go_time));
  MUSTER_SET_TIME(out, asked_to_go_time, node.asked_to_go_time);
  MUSTER_SET_TIME(out, reconfigure_time, node.reconfigure_time);
  out.set_rack(node.rack);
  out.set_reserved_desired(node.reserved_desired);
  MUSTER_SET_TIME(out, request_time, node.request_time);
  MUSTER_SET_TIME(out, grant_time, node.grant_time);
  if (node.orders.any()) SetOrders(node.orders, out.mutable_orders());
  return out;
}

}  // namespace muster::lifecycle
