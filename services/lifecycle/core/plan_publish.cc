// What is published of a pool: its status, and the events that tell of its transitions.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/common/count_text.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/metadata.h"
#include "services/lifecycle/core/plan_parts.h"
#include "services/lifecycle/core/render.h"

namespace muster::lifecycle {
namespace {

// Tells that capacity is short when that turns so. While a pool is invalid and asks for nothing
// this would mislead: it is then told once the pool is valid.
void AnnounceCapacity(const PlanFacts& facts, Draft& draft, const Condition& now,
                      const Status& status) {
  if (now.status != condition_status::kFalse) return;
  const bool of_affinity = absl::EndsWith(now.reason, "NodeAffinity");  // capacity was asked
  const auto is_invalid = [&](const std::vector<Condition>& conditions) {
    return ReasonOf(conditions, condition::kValidated) == reason::kInvalid && !of_affinity;
  };
  const std::vector<Condition>& was = facts.pool.status.conditions;
  const bool turned = ReasonOf(was, condition::kCapacity) != now.reason || is_invalid(was);
  if (turned && !is_invalid(status.conditions))
    draft.AddEvent(EventReason::kInsufficientCapacity, now.message);
}

// Likewise for quota.
void AnnounceQuota(const PlanFacts& facts, Draft& draft, const Condition& now,
                   const Status& status) {
  const std::vector<Condition>& was = facts.pool.status.conditions;
  const bool turned = ReasonOf(was, condition::kQuota) != now.reason;
  if (turned && now.reason == reason::kOver) draft.AddEvent(EventReason::kOverQuota, now.message);
  const bool invalid = ReasonOf(status.conditions, condition::kValidated) == reason::kInvalid;
  const bool was_invalid = ReasonOf(was, condition::kValidated) == reason::kInvalid;
  const bool failed = now.reason == reason::kNotSet || now.status == condition_status::kUnknown;
  if (failed && !invalid && (turned || was_invalid))
    draft.AddEvent(EventReason::kNodePoolQuotaCheckFailed, now.message);
}

// Tells of a scale-up or scale-down if the target differs from the last one that was reached:
// replacements scale nothing.
void AnnounceTarget(const PlanFacts& facts, Draft& draft) {
  const int64_t target = facts.pool.spec.target_nodes;
  const std::string to = absl::StrCat(" to ", CountText(target, "Node"), ".");
  const int64_t from = facts.pool.account.scaled_to;
  if (target > from)
    draft.AddEvent(EventReason::kNodePoolScaledUp, absl::StrCat("NodePool scaled up", to));
  if (target < from)
    draft.AddEvent(EventReason::kNodePoolScaledDown, absl::StrCat("NodePool scaled down", to));
}

void Announce(const PlanFacts& facts, Draft& draft, const Condition& now, const Status& status) {
  const Condition* before = FindCondition(facts.pool.status.conditions, now.type);
  const bool reworded = before == nullptr || before->message != now.message;
  if (now.type == condition::kValidated && facts.catalogue_check.event && reworded) {
    draft.AddEvent(*facts.catalogue_check.event, now.message);
  }
  if (now.type == condition::kQuota) AnnounceQuota(facts, draft, now, status);
  if (now.type == condition::kCapacity) AnnounceCapacity(facts, draft, now, status);
  // Also if it was met before: the target may have been lowered to what is left after a loss.
  if (now.type == condition::kAtTarget && now.reason == reason::kTargetMet)
    AnnounceTarget(facts, draft);
  if (before != nullptr && before->reason == now.reason) return;
  if (now.type == condition::kCapacity && now.status == condition_status::kUnknown) {
    draft.AddEvent(EventReason::kNodePoolNodesRequestFailed, now.message);
  }
  if (now.type == condition::kMaxNodesUnreachable)
    draft.AddEvent(EventReason::kNodePoolMaxNodesUnreachable, now.message);
}

// Tells of every revision that was disabled, even if another one became active at the same time,
// and of a disabled one that became active.
void AnnounceDisabled(const Status& was, const Status& status, Draft& draft) {
  const auto is_disabled = [](const Status& said, const std::string& profile) {
    return absl::c_any_of(said.revisions, [&](const NodeConfiguration& revision) {
      return revision.node_profile == profile && revision.disabled;
    });
  };
  for (const NodeConfiguration& revision : status.revisions) {
    const std::string& profile = revision.node_profile;
    const bool became_active = profile == status.node_profile && profile != was.node_profile;
    if (!revision.disabled || (is_disabled(was, profile) && !became_active)) continue;
    draft.AddEvent(EventReason::kNodePoolDisabled,
                   absl::StrCat("Configuration ", profile,
                                " was disabled because too many boots failed: no further Node "
                                "boots into it."));
  }
}

void AnnounceConfiguration(const PlanFacts& facts, Draft& draft, const Status& status) {
  const Status& was = facts.pool.status;
  const auto profile_of = [](const std::optional<NodeConfiguration>& configuration) {
    return configuration ? configuration->node_profile : "";
  };
  if (!was.node_profile.empty() && status.node_profile != was.node_profile) {
    draft.AddEvent(EventReason::kNodeConfigStaged,
                   absl::StrCat("Configuration ", status.node_profile, " was staged."));
  }
  if (status.pending && profile_of(status.pending) != profile_of(was.pending)) {
    draft.AddEvent(
        EventReason::kPendingNodeConfig,
        absl::StrCat("Configuration ", status.pending->node_profile, " waits to be promoted."));
  }
  if (status.waiting && profile_of(status.waiting) != profile_of(was.waiting)) {
    draft.AddEvent(EventReason::kNodePoolNodeConfigUpdatePending,
                   absl::StrCat("Configuration ", status.waiting->node_profile,
                                " will be active once Nodes that are mid-delivery have booted."));
  }
  AnnounceDisabled(was, status, draft);
}

// Tells that the order was given, unless it failed at once (nothing pending, no such revision, a
// conflict).
void AnnounceOrder(Draft& draft, const ConfigurationOrder& order) {
  using Outcome = ConfigurationOrder::Outcome;
  if (order.outcome != Outcome::kWaiting && order.outcome != Outcome::kReplaced &&
      order.outcome != Outcome::kDone) {
    return;
  }
  if (order.kind == ConfigurationOrder::Kind::kPromote) {
    draft.AddEvent(
        EventReason::kManualUpgradeTrigger,
        absl::StrCat("Promotion of configuration ", order.node_profile, " was asked for."));
  } else {
    draft.AddEvent(
        EventReason::kManualRollbackTrigger,
        absl::StrCat("Rollback to configuration ", order.node_profile, " was asked for."));
  }
}

void AnnounceEnd(Draft& draft, const ConfigurationOrder& order) {
  using Outcome = ConfigurationOrder::Outcome;
  const bool promotion = order.kind == ConfigurationOrder::Kind::kPromote;
  switch (order.outcome) {
    case Outcome::kWaiting:
    case Outcome::kConflict:
      break;
    case Outcome::kDone:
      draft.AddEvent(EventReason::kNodePoolNodeConfigUpdated,
                     absl::StrCat("Configuration ", order.node_profile, " is active after a ",
                                  promotion ? "promotion." : "rollback."));
      break;
    case Outcome::kReplaced:
      draft.AddEvent(promotion ? EventReason::kNodePoolNoPendingConfiguration
                               : EventReason::kNodePoolNodeConfigRollbackFailed,
                     absl::StrCat(promotion ? "The promotion of " : "The rollback to ",
                                  order.node_profile, " was not carried out. ", order.message));
      break;
    case Outcome::kNoPending:
      draft.AddEvent(EventReason::kNodePoolNoPendingConfiguration, order.message);
      break;
    case Outcome::kRollbackFailed:
      draft.AddEvent(EventReason::kNodePoolNodeConfigRollbackFailed, order.message);
      break;
  }
}

}  // namespace

void RefreshAllMetadata(const PlanFacts& facts, Draft& draft) {
  for (auto& [name, node] : draft.nodes) {
    if (IsReturnable(node.state) || !draft.HasStepsLeft()) continue;
    const bool gpu =
        facts.snapshot.catalogue.type ? facts.snapshot.catalogue.type->gpus > 0 : HasGpus(node);
    // Most have nothing to refresh: no copy is made to find out.
    if (!UpdateMetadata(node, facts.pool, gpu)) continue;
    draft.AddStep(RefreshMetadata{name, gpu, "the pool's labels, annotations or taints changed"});
  }
}

void Publish(const PlanFacts& facts, Draft& draft) {
  Status status = RenderStatus(facts.snapshot, facts.demand,
                               PlannedState{draft.LookedAt(), draft.account, facts.catalogue_check,
                                            draft.reconfiguration, draft.quiet});
  if (status == facts.pool.status) return;
  for (const Condition& condition : status.conditions) Announce(facts, draft, condition, status);
  AnnounceConfiguration(facts, draft, status);
  draft.AddAction(SetStatus{std::move(status), "what is published differs"});
}

// Promotes and rollbacks that were not told of yet, and the end of one that was waiting then.
void AnnounceOrders(const PlanFacts& facts, Draft& draft) {
  using Outcome = ConfigurationOrder::Outcome;
  if (!facts.answers.configuration.here()) return;
  const int64_t waiting = std::exchange(draft.account.waiting_configuration_order, 0);
  // Of a configuration that was restored to a past: it gives these numbers anew.
  int64_t newest = 0;
  for (const ConfigurationOrder& order : facts.answers.configuration.value.orders)
    newest = std::max(newest, order.number);
  draft.account.configuration_order = std::min(draft.account.configuration_order, newest);
  draft.account.rollback_waits = RollbackWaits(facts);
  bool second_of_conflict = false;
  for (const ConfigurationOrder& order : facts.answers.configuration.value.orders) {
    const bool waited = order.number == waiting;
    const bool waits = order.outcome == Outcome::kWaiting;
    if (order.number <= draft.account.configuration_order && !waited) continue;
    if (waits) draft.account.waiting_configuration_order = order.number;
    if (waited && waits) continue;
    draft.account.configuration_order = std::max(draft.account.configuration_order, order.number);
    if (!waited) AnnounceOrder(draft, order);
    if (order.outcome == Outcome::kConflict) {
      // Two orders conflict; it is one conflict.
      if (!second_of_conflict)
        draft.AddEvent(EventReason::kNodePoolNodeConfigUpdateConflict, order.message);
      second_of_conflict = !second_of_conflict;
    } else {
      AnnounceEnd(draft, order);
    }
  }
}

}  // namespace muster::lifecycle
