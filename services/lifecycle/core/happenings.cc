#include "services/lifecycle/core/happenings.h"

#include "services/common/condition_names.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/node_machine.h"

namespace muster::lifecycle {
namespace {

std::optional<absl::Duration> Since(absl::Time begin, absl::Time end) {
  return begin == kNever ? std::nullopt : std::optional<absl::Duration>(end - begin);
}

std::vector<PreemptionPhase> PhasesOf(const Node& before, const Node& after) {
  std::vector<PreemptionPhase> phases;
  const bool was = before.preempt_time != kNever;
  const bool is = after.preempt_time != kNever;
  if (was && !is) return {PreemptionPhase::kCancelled};
  if (!is) return {};
  if (!was) phases.push_back(PreemptionPhase::kPending);
  if (!IsDrainedForPreemption(before) && IsDrainedForPreemption(after))
    phases.push_back(PreemptionPhase::kDraining);
  if (before.state != NodeState::kDeleted && after.state == NodeState::kDeleted)
    phases.push_back(PreemptionPhase::kDone);
  return phases;
}

std::optional<RebootStep> StepOf(NodeState before, NodeState after) {
  if (after == NodeState::kReconfiguring) return RebootStep::kStarted;
  if (before != NodeState::kReconfiguring) return std::nullopt;
  if (after == NodeState::kProduction) return RebootStep::kCompleted;
  if (after == NodeState::kDeliveryFailed) return RebootStep::kFailed;
  return std::nullopt;
}

bool EndsDrain(const Node& before, NodeState after) {
  if (!before.desired.drain) return false;
  return after == NodeState::kReconfiguring ||
         (before.state == NodeState::kDraining && after == NodeState::kPreparedForTerminate);
}

}  // namespace

absl::string_view PreemptionPhaseName(PreemptionPhase phase) {
  switch (phase) {
    case PreemptionPhase::kPending:
      return "pending";
    case PreemptionPhase::kDraining:
      return "draining";
    case PreemptionPhase::kDone:
      return "done";
    case PreemptionPhase::kCancelled:
      return "cancelled";
  }
  return "";
}

absl::string_view RebootStepName(RebootStep step) {
  switch (step) {
    case RebootStep::kStarted:
      return "started";
    case RebootStep::kCompleted:
      return "completed";
    case RebootStep::kFailed:
      return "failed";
  }
  return "";
}

NodeHappening HappenedTo(const Node& before, const Node& after) {
  NodeHappening happened;
  // Another Node of that name.
  if (before.create_time != after.create_time) return happened;
  happened.preemption = PhasesOf(before, after);
  happened.moved = before.state != after.state;
  if (!happened.moved) return happened;
  const absl::Time now = after.state_time;
  const bool arrives = IsInProgress(before.state) || before.state == NodeState::kRegistered;
  if (after.state == NodeState::kProduction && arrives) {
    happened.obtained = Since(after.request_time, now);
    happened.delivered = Since(after.create_time, now);
    happened.booted = Since(before.desired.phase_time, now);
  }
  happened.reboot = StepOf(before.state, after.state);
  if (happened.reboot == RebootStep::kCompleted)
    happened.rebooted = Since(before.desired.phase_time, now);
  if (EndsDrain(before, after.state)) happened.drained = Since(before.desired.drain_time, now);
  if (after.state == NodeState::kDeleted) happened.preempted = Since(after.preempt_time, now);
  happened.boot_failed = after.state == NodeState::kDeliveryFailed;
  return happened;
}

std::optional<absl::Duration> TimesToTarget::Follow(const Pool& before, const Pool* after,
                                                    absl::Time now) {
  const absl::string_view was = ReasonOf(before.status.conditions, condition::kAtTarget);
  const absl::string_view is =
      after == nullptr ? "" : ReasonOf(after->status.conditions, condition::kAtTarget);
  // Unknown: it may still be as before.
  if (is == reason::kInternalError) return std::nullopt;
  if (is == reason::kUnderTarget) {
    if (was != reason::kUnderTarget && was != reason::kInternalError)
      since_.try_emplace(before.uid, now);
    return std::nullopt;
  }
  const auto known = since_.find(before.uid);
  if (known == since_.end()) return std::nullopt;
  const absl::Duration took = now - known->second;
  since_.erase(known);
  return is == reason::kTargetMet ? std::optional(took) : std::nullopt;
}

}  // namespace muster::lifecycle
