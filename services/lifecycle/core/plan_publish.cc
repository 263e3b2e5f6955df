// What is published of a pool: its status, and the events that tell of its transitions.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/metadata.h"
#include "services/lifecycle/core/planner.h"
#include "services/lifecycle/core/render.h"

namespace muster::lifecycle {

void Planner::RefreshAllMetadata() {
  for (auto& [name, node] : nodes_) {
    if (IsReturnable(node.state) || !Room()) continue;
    const bool gpu = snapshot_.catalogue.type ? snapshot_.catalogue.type->gpus > 0 : HasGpus(node);
    // Most have nothing to refresh: no copy is made to find out.
    if (!UpdateMetadata(node, pool_, gpu)) continue;
    Do(RefreshMetadata{name, gpu, "the pool's labels, annotations or taints changed"});
    ++steps_;
  }
}

void Planner::Publish() {
  Status status =
      RenderStatus(snapshot_, demand_, Outlook{Nodes(), account_, judgement_, reconfiguration_});
  if (status == pool_.status) return;
  for (const Condition& condition : status.conditions) Announce(condition, status);
  AnnounceConfiguration(status);
  Do(SetStatus{std::move(status), "what is published differs"});
}

void Planner::Announce(const Condition& now, const Status& status) {
  const Condition* before = FindCondition(pool_.status.conditions, now.type);
  const bool reworded = before == nullptr || before->message != now.message;
  if (now.type == "Validated" && judgement_.event && reworded) {
    Say(*judgement_.event, now.message);
  }
  if (now.type == "Quota") AnnounceQuota(now, status);
  if (now.type == "Capacity") AnnounceCapacity(now, status);
  if (before != nullptr && before->reason == now.reason) return;
  if (now.type == "Capacity" && now.status == "Unknown") {
    Say(EventReason::kNodePoolNodesRequestFailed, now.message);
  }
  if (now.type == "AtTarget" && now.reason == "TargetMet") AnnounceTarget();
  if (now.type == "MaxNodesUnreachable")
    Say(EventReason::kNodePoolMaxNodesUnreachable, now.message);
}

// Of a pool that is invalid and asks for nothing it misleads: it is told once the pool is valid.
void Planner::AnnounceCapacity(const Condition& now, const Status& status) {
  if (now.status != "False") return;
  const bool of_affinity = absl::EndsWith(now.reason, "NodeAffinity");  // capacity was asked
  const auto is_invalid = [&](const std::vector<Condition>& conditions) {
    return ReasonOf(conditions, "Validated") == "Invalid" && !of_affinity;
  };
  const std::vector<Condition>& was = pool_.status.conditions;
  const bool turned = ReasonOf(was, "Capacity") != now.reason || is_invalid(was);
  if (turned && !is_invalid(status.conditions))
    Say(EventReason::kInsufficientCapacity, now.message);
}

// The same of quota.
void Planner::AnnounceQuota(const Condition& now, const Status& status) {
  const std::vector<Condition>& was = pool_.status.conditions;
  const bool turned = ReasonOf(was, "Quota") != now.reason;
  if (turned && now.reason == "Over") Say(EventReason::kOverQuota, now.message);
  const bool invalid = ReasonOf(status.conditions, "Validated") == "Invalid";
  const bool was_invalid = ReasonOf(was, "Validated") == "Invalid";
  const bool failed = now.reason == "NotSet" || now.status == "Unknown";
  if (failed && !invalid && (turned || was_invalid))
    Say(EventReason::kNodePoolQuotaCheckFailed, now.message);
}

// A target other than the last that was reached: replacements scale nothing.
void Planner::AnnounceTarget() {
  const int64_t target = pool_.spec.target_nodes;
  const std::string to = absl::StrCat(" to ", CountText(target, "Node"), ".");
  const int64_t from = pool_.account.scaled_to;
  if (target > from) Say(EventReason::kNodePoolScaledUp, absl::StrCat("NodePool scaled up", to));
  if (target < from)
    Say(EventReason::kNodePoolScaledDown, absl::StrCat("NodePool scaled down", to));
}

void Planner::AnnounceConfiguration(const Status& status) {
  const Status& was = pool_.status;
  const auto profile_of = [](const std::optional<NodeConfiguration>& configuration) {
    return configuration ? configuration->node_profile : "";
  };
  if (!was.node_profile.empty() && status.node_profile != was.node_profile) {
    Say(EventReason::kNodeConfigStaged,
        absl::StrCat("Configuration ", status.node_profile, " was staged."));
  }
  if (status.pending && profile_of(status.pending) != profile_of(was.pending)) {
    Say(EventReason::kPendingNodeConfig,
        absl::StrCat("Configuration ", status.pending->node_profile, " waits to be promoted."));
  }
  if (status.waiting && profile_of(status.waiting) != profile_of(was.waiting)) {
    Say(EventReason::kNodePoolNodeConfigUpdatePending,
        absl::StrCat("Configuration ", status.waiting->node_profile,
                     " will be active once Nodes that are mid-delivery have booted."));
  }
  Pool after = pool_;
  after.status = status;
  if (IsDisabled(after) && (!IsDisabled(pool_) || status.node_profile != was.node_profile)) {
    Say(EventReason::kNodePoolDisabled,
        absl::StrCat(
            "Configuration ", status.node_profile,
            " was disabled because too many boots failed: no further Node boots into it."));
  }
}

// Promotes and rollbacks that were not told of yet, and the end of one that was waiting then.
void Planner::AnnounceOrders() {
  using Outcome = ConfigurationOrder::Outcome;
  if (!answers().configuration.here()) return;
  const int64_t waiting = std::exchange(account_.waiting_configuration_order, 0);
  bool second_of_conflict = false;
  for (const ConfigurationOrder& order : answers().configuration.value.orders) {
    const bool waited = order.number == waiting;
    const bool waits = order.outcome == Outcome::kWaiting;
    if (order.number <= account_.configuration_order && !waited) continue;
    if (waits) account_.waiting_configuration_order = order.number;
    if (waited && waits) continue;
    account_.configuration_order = std::max(account_.configuration_order, order.number);
    if (!waited) AnnounceOrder(order);
    if (order.outcome == Outcome::kConflict) {
      // Two orders conflict; it is one conflict.
      if (!second_of_conflict) Say(EventReason::kNodePoolNodeConfigUpdateConflict, order.message);
      second_of_conflict = !second_of_conflict;
    } else {
      AnnounceEnd(order);
    }
  }
}

// It was asked for, and came to a configuration.
void Planner::AnnounceOrder(const ConfigurationOrder& order) {
  using Outcome = ConfigurationOrder::Outcome;
  if (order.outcome != Outcome::kWaiting && order.outcome != Outcome::kReplaced &&
      order.outcome != Outcome::kDone) {
    return;
  }
  if (order.kind == ConfigurationOrder::Kind::kPromote) {
    Say(EventReason::kManualUpgradeTrigger,
        absl::StrCat("Promotion of configuration ", order.node_profile, " was asked for."));
  } else {
    Say(EventReason::kManualRollbackTrigger,
        absl::StrCat("Rollback to configuration ", order.node_profile, " was asked for."));
  }
}

void Planner::AnnounceEnd(const ConfigurationOrder& order) {
  using Outcome = ConfigurationOrder::Outcome;
  const bool promotion = order.kind == ConfigurationOrder::Kind::kPromote;
  switch (order.outcome) {
    case Outcome::kWaiting:
    case Outcome::kConflict:
      break;
    case Outcome::kDone:
      Say(EventReason::kNodePoolNodeConfigUpdated,
          absl::StrCat("Configuration ", order.node_profile, " is active after a ",
                       promotion ? "promotion." : "rollback."));
      break;
    case Outcome::kReplaced:
      Say(promotion ? EventReason::kNodePoolNoPendingConfiguration
                    : EventReason::kNodePoolNodeConfigRollbackFailed,
          absl::StrCat(promotion ? "The promotion of " : "The rollback to ", order.node_profile,
                       " was not carried out. ", order.message));
      break;
    case Outcome::kNoPending:
      Say(EventReason::kNodePoolNoPendingConfiguration, order.message);
      break;
    case Outcome::kRollbackFailed:
      Say(EventReason::kNodePoolNodeConfigRollbackFailed, order.message);
      break;
  }
}

}  // namespace muster::lifecycle
