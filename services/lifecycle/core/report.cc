// Decide of ReportNode: what agents see moves Nodes along their machine.
#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/asked_to_go.h"
#include "services/lifecycle/core/boot_failures.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/errors.h"
#include "services/lifecycle/core/events.h"
#include "services/lifecycle/core/health.h"
#include "services/lifecycle/core/metadata.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/reconfiguration.h"

namespace muster::lifecycle {
namespace {

using Observation = ReportNode::Observation;

// The event of node_machine.h that the observation is for this Node; nullopt: it is noted and moves
// nothing.
std::optional<NodeEvent> EventOf(Observation observation, const Node& node) {
  const NodeState state = node.state;
  switch (observation) {
    case Observation::kBootStarted:
      return NodeEvent::kBootStarted;
    case Observation::kBootFailed:
      return NodeEvent::kBootFailed;
    case Observation::kRegistered:
      // A reboot ends only when the Node is ready. In later states this tells what the Node runs.
      if (!IsInProgress(state)) return std::nullopt;
      return NodeEvent::kRegistered;
    case Observation::kReady:
      return NodeEvent::kReady;
    case Observation::kDrained:
      return NodeEvent::kDrained;
    case Observation::kTerminated:
      return NodeEvent::kTerminated;
    case Observation::kUnhealthy:
      if (state != NodeState::kProduction) return std::nullopt;
      return NodeEvent::kUnhealthy;
    case Observation::kRecovered:
      // After a relapse the plan decides when it is back (plan_health.cc).
      if (state != NodeState::kTriage || HasRelapsed(node)) return std::nullopt;
      return NodeEvent::kRecovered;
    case Observation::kActive:
    case Observation::kIdle:
    case Observation::kAutoscalerMarked:
    case Observation::kAutoscalerUnmarked:
    case Observation::kUnschedulable:
    case Observation::kSchedulable:
    case Observation::kDrainBlocked:
    case Observation::kDrainUnblocked:
    case Observation::kStagingFailed:
    case Observation::kStaged:
    case Observation::kRemovalFailed:
    case Observation::kCordoned:
      return std::nullopt;
  }
  return std::nullopt;
}

// What must be so of a Node for an observation that moves nothing to be true of it.
enum class Needs {
  kNothing,
  kWork,       // it can have work
  kInCluster,  // it is in the cluster, perhaps not in service yet
  kDrain,      // it is being drained
  kCordon,     // it is to be cordoned, and can have work
  kTurnedOff,  // its machine is being switched off
};

struct ObservationRow {
  Observation observation;
  absl::string_view name;  // as in the API, for messages
  Needs needs = Needs::kNothing;
  bool of_machine = false;
};

// In the order of the enumerators.
constexpr ObservationRow kObservationRows[] = {
    {Observation::kBootStarted, "BOOT_STARTED", Needs::kNothing, true},
    {Observation::kBootFailed, "BOOT_FAILED", Needs::kNothing, true},
    {Observation::kRegistered, "REGISTERED", Needs::kInCluster},
    {Observation::kReady, "READY"},
    {Observation::kActive, "ACTIVE", Needs::kWork},
    {Observation::kIdle, "IDLE", Needs::kWork},
    {Observation::kDrained, "DRAINED"},
    {Observation::kTerminated, "TERMINATED", Needs::kNothing, true},
    {Observation::kUnhealthy, "UNHEALTHY", Needs::kInCluster},
    {Observation::kRecovered, "RECOVERED", Needs::kInCluster},
    {Observation::kAutoscalerMarked, "AUTOSCALER_MARKED", Needs::kInCluster},
    {Observation::kAutoscalerUnmarked, "AUTOSCALER_UNMARKED", Needs::kInCluster},
    {Observation::kUnschedulable, "UNSCHEDULABLE", Needs::kInCluster},
    {Observation::kSchedulable, "SCHEDULABLE", Needs::kInCluster},
    {Observation::kDrainBlocked, "DRAIN_BLOCKED", Needs::kDrain},
    {Observation::kDrainUnblocked, "DRAIN_UNBLOCKED", Needs::kDrain},
    {Observation::kStagingFailed, "STAGING_FAILED", Needs::kInCluster, true},
    {Observation::kStaged, "STAGED", Needs::kInCluster, true},
    {Observation::kRemovalFailed, "REMOVAL_FAILED", Needs::kTurnedOff, true},
    {Observation::kCordoned, "CORDONED", Needs::kCordon},
};

constexpr bool EachObservationHasItsRow() {
  if (std::size(kObservationRows) != static_cast<size_t>(kObservations)) return false;
  for (size_t i = 0; i < std::size(kObservationRows); ++i)
    if (kObservationRows[i].observation != static_cast<Observation>(i)) return false;
  return true;
}
static_assert(EachObservationHasItsRow(), "a row for each enumerator, in the same order");

const ObservationRow& RowOf(Observation observation) {
  return kObservationRows[static_cast<size_t>(observation)];
}

absl::string_view NameOf(Observation observation) { return RowOf(observation).name; }

// In the cluster, or in it until a moment ago.
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

// Whether an observation that moves nothing can be true of a Node in this state.
bool CanBe(const Node& node, Observation observation) {
  switch (RowOf(observation).needs) {
    case Needs::kNothing:
      return true;
    case Needs::kWork:
      return CanHaveWork(node.state);
    case Needs::kInCluster:
      return CanHaveWork(node.state) || node.state == NodeState::kRegistered;
    case Needs::kDrain:
      return IsBeingDrained(node);
    case Needs::kCordon:
      return node.desired.cordoned && CanHaveWork(node.state);
    case Needs::kTurnedOff:
      return node.state == NodeState::kPreparedForTerminate;
  }
  return false;
}

void SetActive(Node& node, bool active, const ReportNode& command, absl::Time now) {
  Observed& seen = node.observed;
  if (seen.active != active) seen.active_time = now;
  seen.active = active;
  // Work that comes later gets the whole time again.
  if (!active && IsUp(node.state) && !node.orders.drain_forced) node.desired.force_drain = false;
  seen.active_pods = active ? command.active_pods : std::vector<std::string>();
  const auto named = static_cast<int64_t>(seen.active_pods.size());
  seen.active_pod_count = active ? std::max(named, command.active_pod_count) : 0;
}

// True when the report shows a boot that was not seen before: the first one, the one after a reboot
// that was ordered, or one with another boot id.
bool IsAnotherBoot(const Node& node, const ReportNode& command) {
  const Observed& seen = node.observed;
  const bool comes_up =
      node.state == NodeState::kRegistered || node.state == NodeState::kReconfiguring;
  if (comes_up && seen.boot_time == kNever) return true;
  return !command.boot_id.empty() && !seen.boot_id.empty() && command.boot_id != seen.boot_id;
}

void NoteBoot(Node& node, const ReportNode& command, absl::Time now) {
  Observed& seen = node.observed;
  if (IsAnotherBoot(node, command)) {
    // What was said of the boot before is no more.
    if (node.state == NodeState::kReconfiguring && seen.boot_time == kNever) ForgetHealth(seen);
    seen.boot_time = now;
    seen.boot_id.clear();  // the report may have none
  }
  seen.node_profile = command.node_profile;
  if (!command.boot_id.empty()) seen.boot_id = command.boot_id;
  // It could be staged after all.
  if (seen.node_profile == node.desired.node_profile) seen.staging_error.clear();
}

// What the report says of the Node, its state aside.
void Note(Node& node, const ReportNode& command, absl::Time now) {
  Observed& seen = node.observed;
  const std::string why = command.message.empty() ? "no reason given" : command.message;
  switch (command.observation) {
    case Observation::kRegistered:
      return NoteBoot(node, command, now);
    case Observation::kActive:
    case Observation::kIdle:
      return SetActive(node, command.observation == Observation::kActive, command, now);
    case Observation::kDrained:
      return SetActive(node, false, command, now);
    case Observation::kUnhealthy:
    case Observation::kRecovered:
      return SeeHealth(seen, command.observation == Observation::kUnhealthy, why, now);
    case Observation::kAutoscalerMarked:
    case Observation::kAutoscalerUnmarked:
      seen.autoscaler_marked = command.observation == Observation::kAutoscalerMarked;
      return;
    case Observation::kUnschedulable:
    case Observation::kSchedulable:
      seen.unschedulable = command.observation == Observation::kUnschedulable;
      return;
    case Observation::kDrainBlocked:
    case Observation::kDrainUnblocked:
      seen.drain_blocked_by = command.observation == Observation::kDrainBlocked ? why : "";
      return;
    case Observation::kStagingFailed:
    case Observation::kStaged:
      seen.staging_error = command.observation == Observation::kStagingFailed ? why : "";
      return;
    case Observation::kRemovalFailed:
      seen.removal_error = why;
      return;
    case Observation::kCordoned:
      if (seen.cordon_time == kNever) seen.cordon_time = now;
      return;
    case Observation::kBootStarted:
    case Observation::kBootFailed:
    case Observation::kReady:
    case Observation::kTerminated:
      return;
  }
}

// True when the report is of a cordon that was taken back since.
bool IsOfFormerCordon(const Node& node, const ReportNode& command) {
  return command.observation == Observation::kCordoned && command.desired_time != kNever &&
         node.observed.cordon_time == kNever && command.desired_time < CordonDesiredTime(node);
}

// True when the report cannot be true: a boot that was not ordered yet, or a return from a reboot
// that has not happened yet.
bool IsUnordered(const Node& node, const ReportNode& command) {
  const bool boots = command.observation == Observation::kBootStarted ||
                     command.observation == Observation::kRegistered;
  if (boots && node.desired.phase == Phase::kUndecided) return true;
  if (node.state != NodeState::kReconfiguring) return false;
  if (command.observation == Observation::kReady) return !IsBack(node);
  const bool same_boot = !command.boot_id.empty() && command.boot_id == node.observed.boot_id;
  return command.observation == Observation::kRegistered && same_boot &&
         node.observed.boot_time == kNever;
}

// Whether anything follows for the pool's own row, which most reports leave as it is.
bool CountsForPool(const Node& before, const Node& after) {
  return before.state != after.state &&
         (IsReturnable(after.state) || after.state == NodeState::kProduction);
}

// Writes what follows for the pool's own row.
void KeepAccount(Pool& pool, const Node& before, const Node& after) {
  if (!IsReturnable(before.state) && IsReturnable(after.state)) {
    ++pool.account.generation;  // its machine is asked to be taken back
    // Nobody is to come for it, which that request must not ask for.
    if (IsAskedToGo(before) && Stays(before.state) && pool.account.prefill_nodes > 0)
      --pool.account.prefill_nodes;
  }
  if (after.state == NodeState::kDeliveryFailed) CountBootFailure(pool, before);
  if (after.state == NodeState::kProduction) {
    if (before.state == NodeState::kReconfiguring && pool.reconfiguring() &&
        IsAsked(*pool.reconfiguration, after)) {
      ++pool.reconfiguration->rebooted_nodes;
    }
    // One that was ill and is well again has not booted.
    if (before.state == NodeState::kRegistered || before.state == NodeState::kReconfiguring)
      CountBootSuccess(pool, after);
  }
}

}  // namespace

bool IsOfMachine(Observation observation) { return RowOf(observation).of_machine; }

StatusOrOutcome Decide(StagedState<State>& staged, const ReportNode& command, absl::Time now) {
  const auto* found = staged.state().table<Node>().FindVersioned(command.node);
  const auto* of = staged.state().table<Pool>().FindVersioned(PoolNameOf(command.node));
  if (found == nullptr || of == nullptr) return muster::error::NotFound(command.node);
  // Held: the staged state lets go of rows that are put anew.
  const std::shared_ptr<const Node> before = found->row;
  const std::shared_ptr<const Pool> pool = of->row;

  if (command.node_create_time != kNever && command.node_create_time != before->create_time) {
    return error::DoesNotFit(before->name, "another one of that name", NameOf(command.observation));
  }
  if (command.is_unknown) {
    return muster::error::InvalidField("observation", "is not one that this release knows");
  }
  Node node = *before;
  const std::optional<NodeEvent> event = EventOf(command.observation, node);
  if (event && Knows(node.state, *event)) return Outcome{};
  if (IsUnordered(node, command) || IsOfFormerCordon(node, command) ||
      (!event && !CanBe(node, command.observation))) {
    return error::DoesNotFit(node.name, NodeStateName(node.state), NameOf(command.observation));
  }
  if (event) RETURN_IF_ERROR(Step(node, *event, now));
  Note(node, command, now);
  ForgetAsk(node);
  UpdateConditions(node, now);
  // What the pool's spec wants anew the plan brings to all its Nodes (RefreshAllMetadata).
  if (MetadataInputsOf(node) != MetadataInputsOf(*before))
    UpdateMetadata(node, *pool, HasGpus(node));
  if (node == *before) return Outcome{};

  staged.Put(node);
  if (CountsForPool(*before, node)) {
    Pool after = *pool;
    KeepAccount(after, *before, node);
    staged.Put(std::move(after));
  }
  EventLog(staged, now).EmitAll(*pool, before.get(), node, command.message);
  return Outcome{.revision = staged.revision()};
}

}  // namespace muster::lifecycle
