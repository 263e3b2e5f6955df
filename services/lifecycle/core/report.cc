// Decide of ReportNode: what agents see moves Nodes along their machine.
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/errors.h"
#include "services/lifecycle/core/events.h"
#include "services/lifecycle/core/metadata.h"
#include "services/lifecycle/core/names.h"

namespace muster::lifecycle {
namespace {

using Observation = ReportNode::Observation;

// The event of the Node's machine; nullopt for what is seen without moving it.
std::optional<NodeEvent> EventOf(Observation observation) {
  switch (observation) {
    case Observation::kBootStarted:
      return NodeEvent::kBootStarted;
    case Observation::kBootFailed:
      return NodeEvent::kBootFailed;
    case Observation::kRegistered:
      return NodeEvent::kRegistered;
    case Observation::kReady:
      return NodeEvent::kReady;
    case Observation::kDrained:
      return NodeEvent::kDrained;
    case Observation::kTerminated:
      return NodeEvent::kTerminated;
    case Observation::kActive:
    case Observation::kIdle:
      return std::nullopt;
  }
  return std::nullopt;
}

bool CanHaveWork(NodeState state) {
  switch (state) {
    case NodeState::kProduction:
    case NodeState::kReconfiguring:
    case NodeState::kTriage:
    case NodeState::kCordoned:
    case NodeState::kDraining:
    case NodeState::kPreparedForTerminate:
      return true;
    case NodeState::kAssigned:
    case NodeState::kBooting:
    case NodeState::kRegistered:
    case NodeState::kDeleted:
    case NodeState::kDeliveryFailed:
      return false;
  }
  return false;
}

void SetActive(Node& node, bool active, std::vector<std::string> pods, absl::Time now) {
  if (node.observed.active != active) node.observed.active_time = now;
  node.observed.active = active;
  node.observed.active_pods = std::move(pods);
  UpdateConditions(node, now);
}

// Booted into what was never ordered, or before it was ordered.
bool IsUnordered(const Node& node, const ReportNode& command) {
  const bool boots = command.observation == Observation::kBootStarted ||
                     command.observation == Observation::kRegistered;
  return boots && node.desired.phase == Phase::kUndecided;
}

void EmitFor(EventLog& log, const Pool& pool, const Node& node, const ReportNode& command,
             NodeState was) {
  const auto on_node = [&](absl::string_view reason, absl::string_view what) {
    log.Emit(pool.uid, node.name, reason, absl::StrCat("Node ", node.machine, what));
  };
  const auto on_pool = [&](absl::string_view reason, absl::string_view what) {
    log.Emit(pool.uid, pool.name, reason, absl::StrCat("Node ", node.machine, what));
  };
  switch (command.observation) {
    case Observation::kRegistered:
      on_node("CWNodeRegistered", " was registered.");
      return;
    case Observation::kBootFailed: {
      const std::string why = command.message.empty() ? "." : absl::StrCat(": ", command.message);
      if (was == NodeState::kRegistered) on_node("CWNodeRegistrationFailed", why);
      on_pool("CWNodeDeliverFail", absl::StrCat(" could not be delivered", why));
      return;
    }
    case Observation::kDrained:
      on_node("CWNodePreparedForTerminate", " is prepared for termination.");
      return;
    case Observation::kTerminated:
      on_pool("CWNodeDeleted", " was deleted.");
      return;
    case Observation::kBootStarted:
    case Observation::kReady:
    case Observation::kActive:
    case Observation::kIdle:
      return;
  }
}

absl::string_view NameOf(Observation observation) {
  const std::optional<NodeEvent> event = EventOf(observation);
  if (event) return NodeEventName(*event);
  return observation == Observation::kActive ? "ACTIVE" : "IDLE";
}

}  // namespace

StatusOrOutcome Decide(Overlay<State>& overlay, const ReportNode& command, absl::Time now) {
  const Node* before = overlay.state().table<Node>().Find(command.node);
  const Pool* pool = overlay.state().table<Pool>().Find(PoolNameOf(command.node));
  if (before == nullptr || pool == nullptr) return muster::error::NotFound(command.node);

  Node node = *before;
  const std::optional<NodeEvent> event = EventOf(command.observation);
  if (event && Knows(node.state, *event)) return Outcome{};
  if (IsUnordered(node, command) || (!event && !CanHaveWork(node.state))) {
    return error::DoesNotFit(node.name, NodeStateName(node.state), NameOf(command.observation));
  }
  if (event) RETURN_IF_ERROR(Step(node, *event, now));
  if (command.observation == Observation::kRegistered) {
    node.observed.node_profile = command.node_profile;
  }
  if (!event) {
    const bool active = command.observation == Observation::kActive;
    SetActive(node, active, active ? command.active_pods : std::vector<std::string>(), now);
  }
  if (command.observation == Observation::kDrained) SetActive(node, false, {}, now);
  UpdateMetadata(node, *pool, HasGpus(node));

  const NodeState was = before->state;
  Pool after = *pool;
  if (!IsReturnable(was) && IsReturnable(node.state)) {
    ++after.account.generation;  // its machine is asked to be taken back
  }
  EventLog log(overlay, now);
  overlay.Put(node);
  overlay.Put(after);
  EmitFor(log, after, node, command, was);
  return Outcome{.revision = overlay.revision()};
}

}  // namespace muster::lifecycle
