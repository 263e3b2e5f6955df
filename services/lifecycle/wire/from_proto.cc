#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/asked_to_go.h"
#include "services/lifecycle/core/spec_fields.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "services/lifecycle/wire/times.h"

namespace muster::lifecycle {
namespace {

// nullopt: unspecified, or a value of a newer schema.
std::optional<NodeState> StateOf(v1::Node::State state) {
  for (int i = 0; i < kNodeStates; ++i) {
    // The API's enum has the same order, after UNSPECIFIED.
    if (static_cast<int>(state) == i + 1) return static_cast<NodeState>(i);
  }
  return std::nullopt;
}

std::optional<Phase> PhaseOf(v1::NodeDesired::Phase phase) {
  switch (static_cast<int>(phase)) {
    case v1::NodeDesired::PHASE_UNSPECIFIED:
      return Phase::kUndecided;
    case v1::NodeDesired::PHASE_RUNNING:
      return Phase::kRunning;
    case v1::NodeDesired::PHASE_TERMINATED:
      return Phase::kTerminated;
  }
  return std::nullopt;
}

Taint TaintOf(const v1::Taint& taint) { return {taint.key(), taint.value(), taint.effect()}; }

Condition ConditionOf(const v1::Condition& in) {
  return {in.type(),
          in.status(),
          in.reason(),
          in.message(),
          MUSTER_GET_TIME(in, last_transition_time),
          in.observed_generation(),
          in.event_reason()};
}

NodeConfiguration ConfigurationOf(const v1::NodeConfiguration& in) {
  return {MUSTER_GET_TIME(in, created_at),
          in.node_profile(),
          {in.summary().begin(), in.summary().end()},
          in.active_nodes(),
          in.disabled(),
          in.enable_count()};
}

// A part of a spec; without any field set it counts as not set, as it does in CopyFields.
template <class Part>
std::optional<Part> UnlessEmpty(Part part) {
  if (part == Part()) return std::nullopt;
  return part;
}

Affinity AffinityOf(const v1::NodeAffinity& in) {
  Affinity out;
  for (const v1::NodeAffinityTerm& term : in.terms()) {
    out.emplace_back();
    for (const v1::NodeAffinityExpression& e : term.expressions()) {
      out.back().push_back({e.key(), e.operator_(), {e.values().begin(), e.values().end()}});
    }
  }
  return out;
}

int64_t WaitingOrderOf(const v1::NodePoolAccount& in) {
  return in.configuration_order_waiting() ? in.configuration_order()
                                          : in.waiting_configuration_order();
}

// Whether a rollback waits. If the field is not set although an order waits, the row was written
// before there was the field, and that order may be a rollback.
bool RollbackWaitsOf(const v1::NodePoolAccount& in) {
  return in.has_rollback_waits() ? in.rollback_waits() : WaitingOrderOf(in) != 0;
}

PoolAccount AccountOf(const v1::NodePoolAccount& in) {
  const v1::BootFailures& failures = in.boot_failures();
  return {in.generation(),
          in.granted_nodes(),
          in.requested_nodes(),
          in.removed_nodes(),
          in.prefill_nodes(),
          {failures.node_profile(),
           failures.enable_count(),
           {failures.machines().begin(), failures.machines().end()}},
          in.configuration_order(),
          WaitingOrderOf(in),
          {in.given_up().nodes(),
           in.given_up().has_since_time() ? FromTimestamp(in.given_up().since_time()) : kNever,
           in.given_up().boot_counted()},
          in.scaled_to(),
          in.claim_unknown(),
          RollbackWaitsOf(in),
          {in.leaving_racks().begin(), in.leaving_racks().end()},
          in.deferred_nodes(),
          in.released()};
}

// nullopt: unspecified, or a value of a newer schema.
std::optional<Reconfiguration::State> StateOf(v1::Reconfiguration::State state) {
  using State = Reconfiguration::State;
  switch (static_cast<int>(state)) {
    case v1::Reconfiguration::STATE_RUNNING:
      return State::kRunning;
    case v1::Reconfiguration::STATE_PAUSED:
      return State::kPaused;
    case v1::Reconfiguration::STATE_HALTED:
      return State::kHalted;
    case v1::Reconfiguration::STATE_DONE:
      return State::kDone;
    case v1::Reconfiguration::STATE_CANCELLED:
      return State::kCancelled;
  }
  return std::nullopt;
}

absl::StatusOr<Reconfiguration> ReconfigurationOf(const v1::Reconfiguration& in) {
  const auto state = StateOf(in.state());
  if (!state) return absl::InternalError("Not a reconfiguration.");
  Reconfiguration out;
  out.number = in.number();
  out.state = *state;
  out.machines.assign(in.machines().begin(), in.machines().end());
  out.evict_active = in.evict_active();
  out.max_unavailable = in.max_unavailable();
  out.allowed_failures = in.allowed_failures();
  out.create_time = MUSTER_GET_TIME(in, create_time);
  out.state_time = MUSTER_GET_TIME(in, state_time);
  out.failed_machines.assign(in.failed_machines().begin(), in.failed_machines().end());
  out.rebooted_nodes = in.rebooted_nodes();
  out.halt_reason = in.halt_reason();
  return out;
}

// nullopt: a value of a newer schema.
std::optional<RemovalCause> CauseOf(v1::Node::RemovalCause cause) {
  switch (static_cast<int>(cause)) {
    case v1::Node::REMOVAL_CAUSE_UNSPECIFIED:
      return RemovalCause::kNone;
    case v1::Node::REMOVAL_CAUSE_SCALE_DOWN:
      return RemovalCause::kScaleDown;
    case v1::Node::REMOVAL_CAUSE_REPAIR:
      return RemovalCause::kRepair;
    case v1::Node::REMOVAL_CAUSE_PREEMPTION:
      return RemovalCause::kPreemption;
    case v1::Node::REMOVAL_CAUSE_DELETION:
      return RemovalCause::kDeletion;
    case v1::Node::REMOVAL_CAUSE_RESERVATION:
      return RemovalCause::kReservation;
  }
  return std::nullopt;
}

Desired DesiredOf(const v1::NodeDesired& in, Phase phase) {
  Desired out;
  out.phase = phase;
  out.phase_time = MUSTER_GET_TIME(in, phase_time);
  out.node_profile = in.node_profile();
  out.cordoned = in.cordoned();
  out.drain = in.drain();
  out.drain_deadline = MUSTER_GET_TIME(in, drain_deadline);
  out.labels = StringMap(in.labels().begin(), in.labels().end());
  out.annotations = StringMap(in.annotations().begin(), in.annotations().end());
  std::vector<Taint> taints;
  for (const v1::Taint& taint : in.taints()) taints.push_back(TaintOf(taint));
  out.taints = std::move(taints);
  out.force_drain = in.force_drain();
  out.drain_time = MUSTER_GET_TIME(in, drain_time);
  return out;
}

NodeOrders OrdersOf(const v1::NodeOrders& in, Reboot reboot) {
  return {MUSTER_GET_TIME(in, cordon_time), MUSTER_GET_TIME(in, drain_time), in.drain_forced(),
          reboot, MUSTER_GET_TIME(in, reboot_time)};
}

Observed ObservedOf(const v1::NodeObserved& in) {
  Observed out;
  out.node_profile = in.node_profile();
  out.active = in.active();
  out.active_pods.assign(in.active_pods().begin(), in.active_pods().end());
  out.active_time = MUSTER_GET_TIME(in, active_time);
  out.autoscaler_marked = in.autoscaler_marked();
  out.active_pod_count = in.active_pod_count();
  out.unhealthy = in.unhealthy();
  out.health_message = in.health_message();
  out.unhealthy_time = MUSTER_GET_TIME(in, unhealthy_time);
  out.healthy_time = MUSTER_GET_TIME(in, healthy_time);
  out.health_window_time = MUSTER_GET_TIME(in, health_window_time);
  out.relapses = in.relapses();
  out.unschedulable = in.unschedulable();
  out.drain_blocked_by = in.drain_blocked_by();
  out.staging_error = in.staging_error();
  out.removal_error = in.removal_error();
  out.boot_id = in.boot_id();
  out.boot_time = MUSTER_GET_TIME(in, boot_time);
  out.cordon_time = MUSTER_GET_TIME(in, cordon_time);
  return out;
}

}  // namespace

std::optional<Reboot> RebootOf(v1::NodeOrders::Reboot reboot) {
  switch (static_cast<int>(reboot)) {
    case v1::NodeOrders::REBOOT_UNSPECIFIED:
      return Reboot::kNone;
    case v1::NodeOrders::REBOOT_WHEN_IDLE:
      return Reboot::kWhenIdle;
    case v1::NodeOrders::REBOOT_DRAINED:
      return Reboot::kDrained;
    case v1::NodeOrders::REBOOT_FORCED:
      return Reboot::kForced;
  }
  return std::nullopt;
}

absl::StatusOr<Cluster> FromProto(const v1::Cluster& in) {
  Cluster out{in.name(), in.zone(), in.kubernetes_version(), MUSTER_GET_TIME(in, create_time),
              in.kubernetes_uid()};
  const v1::RemovalAllowance& allowance = in.removal_allowance();
  out.allowance = {allowance.node_pools(), allowance.nodes(),
                   MUSTER_GET_TIME(allowance, create_time),
                   MUSTER_GET_TIME(allowance, expire_time)};
  return out;
}

Spec FromProto(const v1::NodePoolSpec& in) {
  Spec out;
  out.compute_class = in.compute_class();
  out.instance_type = in.instance_type();
  out.target_nodes = in.target_nodes();
  out.min_nodes = in.min_nodes();
  out.max_nodes = in.max_nodes();
  out.node_labels.insert(in.node_labels().begin(), in.node_labels().end());
  out.node_annotations.insert(in.node_annotations().begin(), in.node_annotations().end());
  for (const v1::Taint& taint : in.node_taints()) out.node_taints.push_back(TaintOf(taint));
  const v1::Image& image = in.image();
  out.image = UnlessEmpty(Image{image.kernel(), image.name(), image.release_train()});
  out.gpu = UnlessEmpty(Gpu{in.gpu().version()});
  out.autoscaling = in.autoscaling();
  if (!in.lifecycle().scale_down_strategy().empty()) {
    out.scale_down_strategy = ScaleDownStrategyOf(in.lifecycle().scale_down_strategy());
  }
  if (in.lifecycle().has_disable_unhealthy_node_eviction()) {
    out.disable_unhealthy_node_eviction = in.lifecycle().disable_unhealthy_node_eviction();
  }
  out.update_strategy = in.node_configuration_update_strategy().type();
  out.max_unavailable = in.lifecycle().max_unavailable();
  out.node_affinity = AffinityOf(in.node_affinity());
  out.priority = in.priority();
  out.gang = in.gang();
  out.description = in.description();
  const v1::Prefill& prefill = in.prefill();
  out.prefill =
      UnlessEmpty(Prefill{prefill.enabled(), prefill.timeout_seconds(), prefill.max_nodes()});
  return out;
}

Status FromProto(const v1::NodePoolStatus& in) {
  Status out;
  out.queued_nodes = in.queued_nodes();
  out.in_progress = in.in_progress();
  out.current_nodes = in.current_nodes();
  out.node_profile = in.node_profile();
  if (in.has_pending_node_configuration()) {
    out.pending = ConfigurationOf(in.pending_node_configuration());
  }
  for (const auto& revision : in.node_configuration_revisions()) {
    out.revisions.push_back(ConfigurationOf(revision));
  }
  for (const auto& condition : in.conditions())
    (IsSummaryCondition(condition.type()) ? out.summary : out.conditions)
        .push_back(ConditionOf(condition));
  if (in.has_waiting_node_configuration()) {
    out.waiting = ConfigurationOf(in.waiting_node_configuration());
  }
  if (in.has_grantable_nodes()) {
    out.grantable = Grantable{in.grantable_nodes(), in.grantable_nodes_bound_by()};
  }
  return out;
}

namespace {

void AddSetPaths(const google::protobuf::Message& message, const std::string& path,
                 std::vector<std::string>& paths) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    const std::string below = absl::StrCat(path, ".", field->name());
    const auto known = SpecPaths();
    const bool has_parts =
        std::any_of(known.begin(), known.end(), [&](absl::string_view path_known) {
          return absl::StartsWith(path_known, absl::StrCat(below, "."));
        });
    if (has_parts) {
      AddSetPaths(message.GetReflection()->GetMessage(message, field), below, paths);
    } else {
      paths.push_back(below);
    }
  }
}

// A release before `asked_to_go_time` has both meanings in `replace_time`, and writes or takes back
// that alone. What it asked for once a Node was in triage is not known: a replacement, we say.
void SortOutAsk(Node& node) {
  const bool written = node.asked_to_go_time == node.replace_time && IsNamed(node);
  const bool asked = node.state != NodeState::kTriage || node.replace_time < node.state_time;
  if (!written) node.asked_to_go_time = asked && IsNamed(node) ? node.replace_time : kNever;
  if (IsAskedToGo(node)) node.replace_time = kNever;
}

}  // namespace

std::vector<std::string> SetPaths(const v1::NodePoolSpec& spec) {
  std::vector<std::string> paths;
  AddSetPaths(spec, "spec", paths);
  return paths;
}

absl::StatusOr<Pool> FromProto(const v1::NodePool& in) {
  Pool out;
  out.name = in.name();
  out.uid = in.uid();
  out.zone = in.zone();
  out.generation = in.generation();
  out.object_generation = in.object_generation();
  out.create_time = MUSTER_GET_TIME(in, create_time);
  out.delete_time = MUSTER_GET_TIME(in, delete_time);
  out.spec = FromProto(in.spec());
  out.status = FromProto(in.status());
  out.account = AccountOf(in.account());
  if (in.has_reconfiguration()) {
    ASSIGN_OR_RETURN(out.reconfiguration, ReconfigurationOf(in.reconfiguration()));
  }
  return out;
}

absl::StatusOr<Node> FromProto(const v1::Node& in) {
  const std::optional<NodeState> state = StateOf(in.state());
  const std::optional<Phase> phase = PhaseOf(in.desired().phase());
  const std::optional<RemovalCause> cause = CauseOf(in.removal_cause());
  const std::optional<Reboot> reboot = RebootOf(in.orders().reboot());
  if (!state || !phase || !cause || !reboot)
    return absl::InternalError(absl::StrCat("Not a Node: ", in.name()));
  Node out;
  out.name = in.name();
  out.machine = in.machine();
  out.pool_uid = in.pool_uid();
  out.state = *state;
  out.state_time = MUSTER_GET_TIME(in, state_time);
  out.create_time = MUSTER_GET_TIME(in, create_time);
  out.desired = DesiredOf(in.desired(), *phase);
  out.observed = ObservedOf(in.observed());
  // A release that does not know it has let the Node go.
  if (!out.desired.cordoned) out.observed.cordon_time = kNever;
  for (const auto& condition : in.conditions()) out.conditions.push_back(ConditionOf(condition));
  out.removal_cause = *cause;
  out.preempt_time = MUSTER_GET_TIME(in, preempt_time);
  out.protect_until_time = MUSTER_GET_TIME(in, protect_until_time);
  out.removal_requested = in.removal_requested();
  out.replace_time = MUSTER_GET_TIME(in, replace_time);
  out.asked_to_go_time = MUSTER_GET_TIME(in, asked_to_go_time);
  SortOutAsk(out);
  out.reconfigure_time = MUSTER_GET_TIME(in, reconfigure_time);
  out.rack = in.rack();
  out.reserved_desired = in.reserved_desired();
  out.request_time = MUSTER_GET_TIME(in, request_time);
  out.grant_time = MUSTER_GET_TIME(in, grant_time);
  out.orders = OrdersOf(in.orders(), *reboot);
  return out;
}

absl::StatusOr<Event> FromProto(const v1::Event& in) {
  return Event{in.name(),
               in.object(),
               in.pool_uid(),
               in.type(),
               in.reason(),
               in.message(),
               in.count(),
               MUSTER_GET_TIME(in, first_time),
               MUSTER_GET_TIME(in, last_time)};
}

absl::StatusOr<Lease> FromProto(const v1::Lease& in) {
  return Lease{in.name(), in.holder(), in.epoch(), in.incarnation(), in.generation_floor()};
}

}  // namespace muster::lifecycle
