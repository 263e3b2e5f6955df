// Carries out orders to single Nodes: drains and reboots, within the pool's disruption budget
// unless forced.
#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/plan_parts.h"
#include "services/lifecycle/core/text.h"

namespace muster::lifecycle {
namespace {

constexpr char kOrdered[] = "it was ordered";

bool IsForced(const NodeOrders& orders) {
  return orders.drain_forced || orders.reboot == Reboot::kForced;
}

// False: the budget does not let it go out of service; one that is forced is charged and not asked.
bool MayDisrupt(Draft& draft, const Node& node, bool forced, const char* cause) {
  if (!forced) return draft.MayDisrupt(node, cause);
  if (TakenFor(node) == nullptr) draft.budget.Take(node.machine, cause);
  return true;
}

void Drain(const PlanFacts& facts, Draft& draft, Node& node) {
  const bool forced = node.orders.drain_forced;
  const absl::Time deadline = forced ? facts.now : facts.now + facts.policy.drain_deadline;
  if (!node.desired.drain) {
    if (!MayDisrupt(draft, node, forced, "drain")) return;
    draft.Apply(node, DrainInPlace{node.name, deadline, kOrdered});
  } else if (forced && node.desired.drain_deadline > facts.now) {
    draft.Apply(node, SetDrainDeadline{node.name, deadline, kOrdered});
  }
}

void WaitToReboot(Draft& draft, Node& node, DeferReason reason, absl::string_view because) {
  draft.AddDefer(reason, node.name,
                 absl::StrCat("Node ", node.machine, " is to be rebooted, and ", because, "."));
  if (node.reconfigure_time != kNever) UnmarkForReboot(draft, node, "it cannot reboot");
}

void RebootOrdered(const PlanFacts& facts, Draft& draft, Node& node) {
  if (RollbackWaits(facts) && node.observed.node_profile == facts.profile) {
    return WaitToReboot(draft, node, DeferReason::kWaitsForConfiguration,
                        "waits until what it runs is rolled back from");
  }
  const std::string profile = ProfileToReboot(facts, node);
  if (profile.empty()) {
    return WaitToReboot(draft, node, DeferReason::kNoConfiguration,
                        "there is no configuration that may boot, or its agent does not tell "
                        "which boot it runs");
  }
  if (node.orders.reboot == Reboot::kForced) {
    MayDisrupt(draft, node, /*forced=*/true, "reboot");
    return RebootInto(profile, draft, node, kOrdered);
  }
  const bool chosen = node.reconfigure_time != kNever;
  const bool active = node.observed.active;
  const bool drains =
      (active && node.orders.reboot == Reboot::kDrained) || node.orders.drain_time != kNever;
  if (!chosen || (active && drains != node.desired.drain)) {
    if (!draft.MayDisrupt(node, "reboot")) return;
    MarkForReboot(facts, draft, node, drains, kOrdered);
  }
  if (!active) return RebootIdle(facts, draft, node, profile);
  if (!drains) {
    draft.AddDefer(DeferReason::kWaitsUntilIdle, node.name,
                   absl::StrCat("Node ", node.machine, " is rebooted once it is idle."));
  }
}

// True when a Node in production is cordoned or drained and nobody asks for that any more: a
// replica of a release without orders wrote its row.
bool IsHeldForNothing(const Node& node) {
  const bool held = node.desired.cordoned || node.desired.drain;
  return node.state == NodeState::kProduction && held && node.reconfigure_time == kNever &&
         node.orders.cordon_time == kNever;
}

void Follow(const PlanFacts& facts, Draft& draft, Node& node) {
  if (IsHeldForNothing(node)) UnmarkForReboot(draft, node, "nothing holds it");
  if (node.orders.cordon_time != kNever) {
    draft.AddDefer(DeferReason::kCordonOrdered, node.name,
                   absl::StrCat("Node ", node.machine, " takes no new work, by an order of ",
                                TimeText(node.orders.cordon_time), ", until it is uncordoned."));
  }
  if (facts.pool.deleting() || !draft.HasStepsLeft()) return;
  if (node.orders.reboot != Reboot::kNone) RebootOrdered(facts, draft, node);
  if (node.orders.drain_time != kNever && IsUp(node.state)) Drain(facts, draft, node);
}

// Tells of an ordered drain of a Node that is on its way up: a later plan drains it.
void DeferDrain(const PlanFacts& facts, Draft& draft, const Node& node) {
  if (node.orders.drain_time == kNever || !Stays(node.state) || facts.pool.deleting()) return;
  draft.AddDefer(DeferReason::kWaitsForReboot, node.name,
                 absl::StrCat("Node ", node.machine, " is drained once it is up."),
                 BootsUntil(facts, node));
}

}  // namespace

std::string ProfileToReboot(const PlanFacts& facts, const Node& node) {
  const std::string& own = node.observed.node_profile;
  const std::string active = RollbackWaits(facts) ? "" : facts.BootProfile();
  const std::string profile = active.empty() && !facts.IsDisabled(own) ? own : active;
  return profile == own && node.observed.boot_id.empty() ? "" : profile;
}

// Forced orders come first, so that they are charged to the budget before others ask it.
void FollowOrders(const PlanFacts& facts, Draft& draft) {
  for (const bool forced : {true, false}) {
    for (auto& [name, node] : draft.nodes) {
      if (IsForced(node.orders) != forced) continue;
      if (IsUp(node.state)) {
        Follow(facts, draft, node);
      } else {
        DeferDrain(facts, draft, node);
      }
    }
  }
}

}  // namespace muster::lifecycle
