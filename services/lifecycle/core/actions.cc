#include "services/lifecycle/core/actions.h"

#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/metadata.h"
#include "services/lifecycle/core/names.h"

namespace muster::lifecycle {
namespace {

void SetBoot(Desired& desired, const std::string& profile, absl::Time now) {
  desired.phase = Phase::kRunning;
  desired.phase_time = now;
  desired.node_profile = profile;
}

}  // namespace

Node NodeOf(const Pool& pool, const AssignNode& action, absl::Time now) {
  Node node;
  node.name = NodeName(pool.name, action.machine);
  node.machine = action.machine;
  node.pool_uid = pool.uid;
  node.state = NodeState::kAssigned;
  node.state_time = now;
  node.create_time = now;
  if (!action.node_profile.empty()) SetBoot(node.desired, action.node_profile, now);
  UpdateMetadata(node, pool, action.gpu);
  UpdateConditions(node, now);
  return node;
}

absl::Status CarryOut(Node& node, const Pool&, const OrderBoot& action, absl::Time now) {
  if (node.state != NodeState::kAssigned || node.desired.phase != Phase::kUndecided) {
    return error::FailedPrecondition("NODE_STATE", node.name, "Node was told to boot before.");
  }
  SetBoot(node.desired, action.node_profile, now);
  return absl::OkStatus();
}

absl::Status CarryOut(Node& node, const Pool& pool, const StepNode& action, absl::Time now) {
  RETURN_IF_ERROR(Step(node, action.event, now));
  if (action.event == NodeEvent::kDrain) node.desired.drain_deadline = action.drain_deadline;
  UpdateMetadata(node, pool, HasGpus(node));
  return absl::OkStatus();
}

absl::Status CarryOut(Node& node, const Pool&, const SetDrainDeadline& action, absl::Time) {
  node.desired.drain_deadline = action.drain_deadline;
  return absl::OkStatus();
}

absl::Status CarryOut(Node& node, const Pool& pool, const RefreshMetadata& action, absl::Time) {
  UpdateMetadata(node, pool, action.gpu);
  return absl::OkStatus();
}

}  // namespace muster::lifecycle
