#include "services/lifecycle/core/actions.h"

#include <algorithm>

#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/health.h"
#include "services/lifecycle/core/metadata.h"
#include "services/lifecycle/core/names.h"

namespace muster::lifecycle {
namespace {

void SetBoot(Desired& desired, const std::string& profile, absl::Time now) {
  desired.phase = Phase::kRunning;
  desired.phase_time = now;
  desired.node_profile = profile;
}

absl::Status DoesNotFit(const Node& node, absl::string_view why) {
  return error::FailedPrecondition("NODE_STATE", node.name, why);
}

// True when the Node goes for the cause that it has even if its preemption is taken back: its drain
// has begun, or it goes for repair whatever its health is from now on, or an operator moves it
// away.
bool IsBoundToGo(const Node& node) {
  return node.state == NodeState::kDraining ||
         (node.removal_cause == RemovalCause::kRepair && HasRelapsed(node)) ||
         (node.removal_cause == RemovalCause::kReservation && !node.reserved_desired.empty());
}

}  // namespace

Node NodeOf(const Pool& pool, const AssignNode& action, absl::Time now) {
  Node node;
  node.name = NodeName(pool.name, action.machine);
  node.machine = action.machine;
  node.rack = action.rack;
  node.request_time = action.request_time;
  node.grant_time = action.grant_time;
  node.pool_uid = pool.uid;
  node.state = NodeState::kAssigned;
  node.state_time = now;
  node.create_time = now;
  if (!action.node_profile.empty()) SetBoot(node.desired, action.node_profile, now);
  UpdateMetadata(node, pool, action.gpu);
  UpdateConditions(node, now);
  return node;
}

absl::Status CarryOut(Node& node, const Pool&, const SetRack& action, absl::Time) {
  node.rack = action.rack;
  return absl::OkStatus();
}

absl::Status CarryOut(Node& node, const Pool&, const SetGrantTime& action, absl::Time) {
  node.grant_time = action.grant_time;
  return absl::OkStatus();
}

absl::Status CarryOut(Node& node, const Pool&, const OrderBoot& action, absl::Time now) {
  if (node.state != NodeState::kAssigned || node.desired.phase != Phase::kUndecided) {
    return DoesNotFit(node, "Node was told to boot before.");
  }
  SetBoot(node.desired, action.node_profile, now);
  return absl::OkStatus();
}

absl::Status CarryOut(Node& node, const Pool& pool, const StepNode& action, absl::Time now) {
  RETURN_IF_ERROR(Step(node, action.event, now));
  if (action.event == NodeEvent::kDrain) node.desired.drain_deadline = action.drain_deadline;
  if (action.event == NodeEvent::kReconfigure) node.desired.node_profile = action.node_profile;
  if (action.cause != RemovalCause::kNone) node.removal_cause = action.cause;
  UpdateMetadata(node, pool, HasGpus(node));
  return absl::OkStatus();
}

absl::Status CarryOut(Node& node, const Pool&, const SetDrainDeadline& action, absl::Time) {
  node.desired.drain_deadline = action.drain_deadline;
  return absl::OkStatus();
}

absl::Status CarryOut(Node& node, const Pool& pool, const RestartDrain&, absl::Time now) {
  if (!node.desired.drain) return DoesNotFit(node, "Node is not being drained.");
  StartDrain(node.desired, node.desired.drain_deadline, now);
  UpdateMetadata(node, pool, HasGpus(node));
  return absl::OkStatus();
}

absl::Status CarryOut(Node& node, const Pool&, const ForceDrain&, absl::Time) {
  if (!node.desired.drain) return DoesNotFit(node, "Node is not being drained.");
  node.desired.force_drain = true;
  return absl::OkStatus();
}

absl::Status CarryOut(Node& node, const Pool& pool, const SetPreemption& action, absl::Time) {
  node.preempt_time = action.time;
  const bool leaves = node.removal_cause != RemovalCause::kNone;
  if (leaves && !IsBoundToGo(node)) node.removal_cause = RemovalCause::kPreemption;
  UpdateMetadata(node, pool, HasGpus(node));
  return absl::OkStatus();
}

absl::Status CarryOut(Node& node, const Pool&, const AskReplacement& action, absl::Time now) {
  node.replace_time = action.asked ? now : kNever;
  return absl::OkStatus();
}

absl::Status CarryOut(Node& node, const Pool&, const StageProfile& action, absl::Time) {
  node.desired.node_profile = action.node_profile;
  node.observed.staging_error.clear();
  return absl::OkStatus();
}

absl::Status CarryOut(Node& node, const Pool&, const ChooseForReboot& action, absl::Time now) {
  if (!IsUp(node.state)) return DoesNotFit(node, "Node is not in production or triage.");
  node.reconfigure_time = action.chosen ? now : kNever;
  node.desired.cordoned = action.chosen || node.state == NodeState::kTriage;
  KeepOrders(node);
  Desired& desired = node.desired;
  if (!action.chosen || !action.drain) {
    if (node.orders.drain_time != kNever) return absl::OkStatus();
    StopDrain(desired);
    node.observed.drain_blocked_by.clear();  // of a drain that is over
  } else if (!desired.drain) {
    StartDrain(desired, action.drain_deadline, now);
  } else {
    desired.drain_deadline = std::min(desired.drain_deadline, action.drain_deadline);
  }
  return absl::OkStatus();
}

absl::Status CarryOut(Node& node, const Pool&, const DrainInPlace& action, absl::Time now) {
  if (!IsUp(node.state)) return DoesNotFit(node, "Node is not in production or triage.");
  StartDrain(node.desired, action.drain_deadline, now);
  return absl::OkStatus();
}

absl::Status CarryOut(Node& node, const Pool& pool, const RefreshMetadata& action, absl::Time) {
  UpdateMetadata(node, pool, action.gpu);
  return absl::OkStatus();
}

}  // namespace muster::lifecycle
