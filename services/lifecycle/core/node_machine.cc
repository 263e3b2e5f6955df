#include "services/lifecycle/core/node_machine.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/common/condition_names.h"
#include "services/common/count_text.h"
#include "services/common/error.h"
#include "services/lifecycle/core/conditions.h"

namespace muster::lifecycle {
namespace {

using enum NodeState;
using E = NodeEvent;

struct Edge {
  NodeState from;
  NodeEvent event;
  NodeState to;
};

constexpr Edge kEdges[] = {
    {kAssigned, E::kBootStarted, kBooting},
    {kAssigned, E::kRegistered, kRegistered},
    {kBooting, E::kRegistered, kRegistered},
    {kRegistered, E::kReady, kProduction},
    {kAssigned, E::kBootFailed, kDeliveryFailed},
    {kBooting, E::kBootFailed, kDeliveryFailed},
    {kRegistered, E::kBootFailed, kDeliveryFailed},
    {kAssigned, E::kBootTimedOut, kDeliveryFailed},
    {kBooting, E::kBootTimedOut, kDeliveryFailed},
    {kRegistered, E::kBootTimedOut, kDeliveryFailed},
    {kProduction, E::kReconfigure, kReconfiguring},
    {kReconfiguring, E::kReady, kProduction},
    {kReconfiguring, E::kBootFailed, kDeliveryFailed},
    {kReconfiguring, E::kBootTimedOut, kDeliveryFailed},
    {kReconfiguring, E::kAbort, kPreparedForTerminate},
    {kProduction, E::kUnhealthy, kTriage},
    {kTriage, E::kRecovered, kProduction},
    {kTriage, E::kReconfigure, kReconfiguring},
    {kTriage, E::kCordon, kCordoned},
    {kProduction, E::kCordon, kCordoned},
    {kCordoned, E::kUncordon, kProduction},
    {kCordoned, E::kUnhealthy, kTriage},
    {kCordoned, E::kDrain, kDraining},
    {kDraining, E::kDrained, kPreparedForTerminate},
    {kDraining, E::kExpire, kPreparedForTerminate},
    {kAssigned, E::kDiscard, kDeleted},
    {kAssigned, E::kAbort, kPreparedForTerminate},
    {kBooting, E::kAbort, kPreparedForTerminate},
    {kRegistered, E::kAbort, kPreparedForTerminate},
    {kPreparedForTerminate, E::kTerminated, kDeleted},
};

// States in which an event lies behind the Node, see Knows.
constexpr Edge kKnown[] = {
    {kBooting, E::kBootStarted, kBooting},
    {kRegistered, E::kRegistered, kRegistered},
    {kProduction, E::kRegistered, kProduction},
    {kProduction, E::kReady, kProduction},
    {kCordoned, E::kReady, kCordoned},
    {kDraining, E::kReady, kDraining},
    {kPreparedForTerminate, E::kDrained, kPreparedForTerminate},
    {kDeleted, E::kDrained, kDeleted},
    {kDeleted, E::kTerminated, kDeleted},
    {kDeliveryFailed, E::kBootFailed, kDeliveryFailed},
    {kDeliveryFailed, E::kTerminated, kDeliveryFailed},  // as it is told to be
    {kReconfiguring, E::kBootStarted, kReconfiguring},
    {kTriage, E::kUnhealthy, kTriage},
    {kProduction, E::kRecovered, kProduction},
};

void SetDesired(Desired& desired, NodeEvent event, absl::Time now) {
  switch (event) {
    case E::kCordon:
    case E::kUnhealthy:
      StopDrain(desired);
      desired.cordoned = true;
      return;
    case E::kRecovered:
      StopDrain(desired);
      desired.cordoned = false;
      return;
    case E::kUncordon:
    case E::kReady:
      desired.cordoned = false;
      return;
    case E::kDrain:
      StartDrain(desired, kNever, now);
      return;
    case E::kReconfigure:
      StopDrain(desired);
      desired.cordoned = true;
      desired.phase_time = now;
      return;
    case E::kDrained:
    case E::kExpire:
    case E::kDiscard:
    case E::kAbort:
    case E::kBootFailed:
    case E::kBootTimedOut:
      desired.phase = Phase::kTerminated;
      desired.phase_time = now;
      return;
    case E::kBootStarted:
    case E::kRegistered:
    case E::kTerminated:
      return;
  }
}

bool MovesWorkAway(const NodeOrders& orders) {
  return orders.drain_time != kNever || orders.reboot != Reboot::kNone;
}

// The reboot that was ordered begins; the Node is not back until its agent says so.
void BeginReboot(Node& node, absl::Time now) {
  if (node.reconfigure_time == kNever) node.reconfigure_time = now;
  node.orders.reboot = Reboot::kNone;
  node.orders.reboot_time = kNever;
  node.observed.boot_time = kNever;
}

bool IsLeaving(NodeState state) {
  return state == kCordoned || state == kDraining || state == kPreparedForTerminate ||
         state == kDeleted;
}

}  // namespace

void StartDrain(Desired& desired, absl::Time deadline, absl::Time now) {
  desired.drain = true;
  desired.drain_time = now;
  desired.drain_deadline = deadline;
}

void StopDrain(Desired& desired) {
  desired.drain = false;
  desired.drain_time = kNever;
  desired.drain_deadline = kNever;
  desired.force_drain = false;
}

absl::string_view NodeStateName(NodeState state) {
  switch (state) {
    case kAssigned:
      return "ASSIGNED";
    case kBooting:
      return "BOOTING";
    case kRegistered:
      return "REGISTERED";
    case kProduction:
      return "PRODUCTION";
    case kReconfiguring:
      return "RECONFIGURING";
    case kTriage:
      return "TRIAGE";
    case kCordoned:
      return "CORDONED";
    case kDraining:
      return "DRAINING";
    case kPreparedForTerminate:
      return "PREPARED_FOR_TERMINATE";
    case kDeleted:
      return "DELETED";
    case kDeliveryFailed:
      return "DELIVERY_FAILED";
  }
  return "";
}

absl::string_view NodeEventName(NodeEvent event) {
  switch (event) {
    case E::kBootStarted:
      return "BOOT_STARTED";
    case E::kBootFailed:
      return "BOOT_FAILED";
    case E::kBootTimedOut:
      return "BOOT_TIMED_OUT";
    case E::kRegistered:
      return "REGISTERED";
    case E::kReady:
      return "READY";
    case E::kReconfigure:
      return "RECONFIGURE";
    case E::kUnhealthy:
      return "UNHEALTHY";
    case E::kRecovered:
      return "RECOVERED";
    case E::kCordon:
      return "CORDON";
    case E::kUncordon:
      return "UNCORDON";
    case E::kDrain:
      return "DRAIN";
    case E::kDrained:
      return "DRAINED";
    case E::kDiscard:
      return "DISCARD";
    case E::kAbort:
      return "ABORT";
    case E::kTerminated:
      return "TERMINATED";
    case E::kExpire:
      return "EXPIRE";
  }
  return "";
}

std::optional<NodeState> Next(NodeState state, NodeEvent event) {
  const auto* edge = std::find_if(std::begin(kEdges), std::end(kEdges), [&](const Edge& e) {
    return e.from == state && e.event == event;
  });
  if (edge == std::end(kEdges)) return std::nullopt;
  return edge->to;
}

bool Knows(NodeState state, NodeEvent event) {
  return std::any_of(std::begin(kKnown), std::end(kKnown),
                     [&](const Edge& e) { return e.from == state && e.event == event; });
}

absl::Status Step(Node& node, NodeEvent event, absl::Time now) {
  const std::optional<NodeState> next = Next(node.state, event);
  if (!next) {
    return error::FailedPrecondition("NODE_STATE", node.name,
                                     absl::StrCat("Node is ", NodeStateName(node.state), ": ",
                                                  NodeEventName(event), " does not fit."));
  }
  node.state = *next;
  node.state_time = now;
  // Unhealthy or recovered, a Node goes on being drained or rebooted as it was ordered to be.
  const bool goes_on =
      (event == E::kUnhealthy || event == E::kRecovered) && MovesWorkAway(node.orders);
  if (goes_on) {
    node.desired.cordoned = node.state == kTriage;
  } else {
    SetDesired(node.desired, event, now);
  }
  if (!IsBeingDrained(node)) node.observed.drain_blocked_by.clear();
  if (node.state != kPreparedForTerminate) node.observed.removal_error.clear();
  if (!IsLeaving(node.state)) {
    node.removal_cause = RemovalCause::kNone;
    node.preempt_time = kNever;
  }
  // Who is asked to go and may be let stay is asked again.
  if (!Stays(node.state) && node.state != kCordoned) node.asked_to_go_time = kNever;
  if (node.state != kTriage) node.replace_time = kNever;
  const bool stays_chosen = goes_on && node.orders.reboot != Reboot::kNone;
  if (node.state != kReconfiguring && !stays_chosen) node.reconfigure_time = kNever;
  if (event == E::kReconfigure) {
    BeginReboot(node, now);
    node.observed.cordon_time = kNever;  // how it comes back is to be seen
  }
  KeepOrders(node);
  UpdateConditions(node, now);
  return absl::OkStatus();
}

void KeepOrders(Node& node) {
  const bool chosen = IsUp(node.state) && node.reconfigure_time != kNever;
  if (chosen || (Stays(node.state) && node.orders.cordon_time != kNever))
    node.desired.cordoned = true;
  ForgetCordon(node);
}

void ForgetCordon(Node& node) {
  if (!node.desired.cordoned) node.observed.cordon_time = kNever;
}

absl::Time CordonDesiredTime(const Node& node) {
  absl::Time latest = absl::InfinitePast();
  for (const absl::Time time : {node.state_time, node.reconfigure_time, node.orders.cordon_time}) {
    if (time != kNever) latest = std::max(latest, time);
  }
  return latest;
}

absl::Time CordonEffectiveTime(const Node& node, absl::Time told, const Policy& policy) {
  const absl::Time seen = node.observed.cordon_time;
  if (seen != kNever) return std::max(told, seen);
  return told + std::max(policy.cordon_settle, policy.cordon_patience);
}

bool IsInProgress(NodeState state) { return state == kAssigned || state == kBooting; }

bool IsInService(NodeState state) {
  return state == kRegistered || state == kProduction || state == kReconfiguring ||
         state == kTriage;
}

bool Stays(NodeState state) { return IsInProgress(state) || IsInService(state); }

bool IsUp(NodeState state) { return state == kProduction || state == kTriage; }

bool IsBack(const Node& node) {
  // If the agent does not tell one boot from another, only the profile shows it.
  const bool up = node.observed.boot_time != kNever || node.observed.boot_id.empty();
  return up && node.observed.node_profile == node.desired.node_profile;
}

bool IsReturnable(NodeState state) { return state == kDeleted || state == kDeliveryFailed; }

int64_t ActivePods(const Observed& observed) {
  return std::max(static_cast<int64_t>(observed.active_pods.size()), observed.active_pod_count);
}

bool TakesOrders(NodeState state) {
  return state != kDraining && state != kPreparedForTerminate && !IsReturnable(state);
}

bool IsPresent(const Node& node) {
  if (IsReturnable(node.state)) return false;
  const Condition* registered = FindCondition(node.conditions, condition::kRegistered);
  return registered != nullptr && registered->status == condition_status::kTrue;
}

bool IsBeingDrained(const Node& node) {
  return node.desired.drain && (node.state == kDraining || IsUp(node.state));
}

bool IsDrainedForPreemption(const Node& node) {
  return node.preempt_time != kNever && node.desired.drain &&
         node.desired.drain_time > node.preempt_time;
}

void UpdateConditions(Node& node, absl::Time now) {
  const bool was_present = IsPresent(node);
  const bool registered = was_present || IsInService(node.state);
  const bool off = IsReturnable(node.state);
  const bool active = node.observed.active && !off;
  // Made once: a copy shares its words.
  static const auto& kRegistered = *new Condition{condition::kRegistered, condition_status::kTrue,
                                                  reason::kRegistered, "Node is registered."};
  static const auto& kNotRegistered =
      *new Condition{condition::kRegistered, condition_status::kFalse, reason::kNotRegistered,
                     "Node is not registered."};
  static const auto& kActive = *new Condition{condition::kActive, condition_status::kTrue,
                                              reason::kActive, "Node is active."};
  static const auto& kIdle =
      *new Condition{condition::kActive, condition_status::kFalse, reason::kIdle, "Node is idle."};
  static const auto& kLeaves = *new Condition{condition::kNodeRemoval, condition_status::kTrue,
                                              reason::kPendingRemoval, "Node is pending removal."};
  static const auto& kStays =
      *new Condition{condition::kNodeRemoval, condition_status::kFalse, reason::kNotPendingRemoval,
                     "Node is not pending removal."};
  std::vector<Condition> wanted = {registered && !off ? kRegistered : kNotRegistered,
                                   active ? kActive : kIdle, Stays(node.state) ? kStays : kLeaves};
  if (active && !node.observed.active_pods.empty()) {
    const int64_t more = ActivePods(node.observed) - std::ssize(node.observed.active_pods);
    wanted[1].message =
        absl::StrCat("Node is active: ", absl::StrJoin(node.observed.active_pods, ", "),
                     more > 0 ? absl::StrCat(" and ", CountText(more, "more Pod")) : "", ".");
  }
  SetConditions(node.conditions, std::move(wanted), 0, now);
}

}  // namespace muster::lifecycle
