// The active configuration reaches running Nodes: staged on each, booted by reconfigure reboots
// that were asked for, rack by rack, within the disruption budget.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "services/lifecycle/core/plan_parts.h"
#include "services/lifecycle/core/reconfiguration.h"
#include "services/lifecycle/core/text.h"

namespace muster::lifecycle {
namespace {

bool IsRunning(const Node& node) {
  return node.state == NodeState::kRegistered || node.state == NodeState::kProduction ||
         node.state == NodeState::kTriage;
}

// A Node with a reboot order of its own is left to plan_orders.cc.
bool MayBeChosen(const Node& node) {
  return node.state == NodeState::kProduction && node.orders.reboot == Reboot::kNone;
}

bool IsChosen(const Node& node) { return MayBeChosen(node) && node.reconfigure_time != kNever; }

// True when the Node runs, or is to run, something else than the active profile, and may stay.
bool IsOutdated(const PlanFacts& facts, const Node& node) {
  if (IsInProgress(node.state)) {
    return node.desired.phase == Phase::kRunning && node.desired.node_profile != facts.profile;
  }
  if (node.state == NodeState::kReconfiguring) return true;
  // A cordoned Node may be let go again.
  return (IsRunning(node) || node.state == NodeState::kCordoned) &&
         node.observed.node_profile != facts.profile;
}

void MoveReconfiguration(const PlanFacts& facts, Draft& draft, Reconfiguration::State state,
                         const std::string& halt_reason, absl::string_view reason) {
  MoveTo(*draft.reconfiguration, state, halt_reason, facts.now);
  draft.AddAction(SetReconfiguration{state, halt_reason, std::string(reason)});
}

void ReleaseChosen(Draft& draft, absl::string_view why) {
  for (auto& [name, node] : draft.nodes) {
    if (IsChosen(node)) UnmarkForReboot(draft, node, why);
  }
}

// True when Nodes may turn out to be outdated: another configuration waits to become active, or one
// may have become active unseen.
bool AwaitsConfiguration(const PlanFacts& facts, const Draft& draft) {
  const PeerReply<ConfigurationFacts>& answer = facts.answers.configuration;
  if (answer.released() || draft.size() == 0) return false;
  return !answer.here() || AnyWaits(facts);
}

void AwaitConfiguration(const PlanFacts& facts, Draft& draft) {
  draft.AddDefer(DeferReason::kWaitsForConfiguration, facts.pool.name,
                 "Reconfigure reboots wait for the configuration that is to be active.");
  ReleaseChosen(draft, "reconfigure reboots wait for a configuration");
}

// To be called when no Node is known to be outdated: ends the reconfiguration, or waits if some may
// be.
void EndOrAwait(const PlanFacts& facts, Draft& draft) {
  if (AwaitsConfiguration(facts, draft)) return AwaitConfiguration(facts, draft);
  MoveReconfiguration(facts, draft, Reconfiguration::State::kDone, "",
                      "every Node is on the active configuration");
  ReleaseChosen(draft, "reconfigure reboots are done");
}

// Moves the reconfiguration's state; true when Nodes may be rebooted now. It is done once nothing
// is left to do, whatever failed; failures halt it even while it is paused.
bool MayReboot(const PlanFacts& facts, Draft& draft, const std::vector<std::string>& timed_out) {
  using RState = Reconfiguration::State;
  const bool left = std::any_of(draft.nodes.begin(), draft.nodes.end(), [&](const auto& entry) {
    return facts.asked.Has(entry.second) && IsOutdated(facts, entry.second);
  });
  if (!left) {
    EndOrAwait(facts, draft);
    return false;
  }
  std::vector<std::string> failed = facts.pool.reconfiguration->failed_machines;
  failed.insert(failed.end(), timed_out.begin(), timed_out.end());
  const bool too_many =
      static_cast<int64_t>(failed.size()) > facts.pool.reconfiguration->allowed_failures;
  if (draft.reconfiguration->state != RState::kHalted && (too_many || facts.profile_disabled)) {
    const std::string why =
        facts.profile_disabled
            ? absl::StrCat("configuration ", facts.profile, " was disabled: too many boots failed")
            : FailedBootsText(failed);
    MoveReconfiguration(facts, draft, RState::kHalted, why, "boots failed");
  }
  if (draft.reconfiguration->state == RState::kRunning) {
    // Else all would reboot twice, or into a configuration that is about to be rolled back.
    if (!AnyWaits(facts)) return true;
    AwaitConfiguration(facts, draft);
    return false;
  }
  const bool halted = draft.reconfiguration->state == RState::kHalted;
  draft.AddDefer(!halted                  ? DeferReason::kReconfigurationPaused
                 : facts.profile_disabled ? DeferReason::kConfigurationDisabled
                                          : DeferReason::kReconfigurationHalted,
                 facts.pool.name, SayReconfiguration(*draft.reconfiguration));
  ReleaseChosen(draft,
                halted ? "reconfigure reboots are halted" : "reconfigure reboots are paused");
  return false;
}

bool MayEvict(const PlanFacts& facts, const Node& node) {
  return facts.pool.reconfiguration->evict_active && facts.asked.Has(node);
}

// Sorts Nodes that wait for their reboot: those on `rack`, the one that is begun, come first; null:
// none is.
void SortByTurn(std::vector<Node*>& waiting, const Word* rack) {
  std::stable_sort(waiting.begin(), waiting.end(), [&](const Node* a, const Node* b) {
    const bool a_on = rack != nullptr && a->rack == *rack;
    const bool b_on = rack != nullptr && b->rack == *rack;
    // Whoever is out of service already costs nothing.
    return std::tuple(!a_on, TakenFor(*a) == nullptr, a->rack.get(), a->observed.active, a->name) <
           std::tuple(!b_on, TakenFor(*b) == nullptr, b->rack.get(), b->observed.active, b->name);
  });
}

// Tells that `next` waits: no Node is left to choose on `rack`, and its reboots are not over.
void DeferNextRack(Draft& draft, const Node& next, const Word& rack) {
  draft.AddDefer(
      DeferReason::kWaitsForReboot, next.name,
      absl::StrCat("Node ", next.machine, " is rebooted once reboots on ",
                   rack.get().empty() ? "another rack" : absl::StrCat("rack ", rack.get()),
                   " are over."));
}

bool MayBeRebooted(const PlanFacts& facts, const Node& node) {
  return MayBeChosen(node) && !IsChosen(node) && facts.asked.Has(node) && IsOutdated(facts, node);
}

// How many Nodes of each rack wait for their reboot and are idle.
using IdleNodes = absl::flat_hash_map<absl::string_view, int64_t>;
IdleNodes IdleByRack(const PlanFacts& facts, const Draft& draft) {
  IdleNodes idle;
  for (const auto& [name, node] : draft.nodes) {
    if (!node.observed.active && MayBeRebooted(facts, node)) ++idle[node.rack.get()];
  }
  return idle;
}

// True when work came to the chosen Node before its cordon was there, which may last, while another
// one of its rack waits and is idle. That one is taken from `idle`: nobody else gives way to it.
bool GivesWay(const Node& node, IdleNodes& idle) {
  if (!node.observed.active || node.observed.active_time <= node.reconfigure_time) return false;
  const auto others = idle.find(node.rack.get());
  return others != idle.end() && others->second-- > 0;
}

// A chosen Node is let go, reboots once it is idle, or is drained if the reconfiguration may evict
// work. `idle`: see GivesWay.
void FollowChosen(const PlanFacts& facts, Draft& draft, Node& node, IdleNodes& idle) {
  if (!IsOutdated(facts, node)) {
    UnmarkForReboot(draft, node, "it is up to date");
  } else if (!facts.asked.Has(node)) {
    // By an order that is over, and no plan came between.
    UnmarkForReboot(draft, node, "no reboot of it is asked for any more");
  } else if (!node.observed.active) {
    RebootIdle(facts, draft, node, facts.profile);
  } else if (node.desired.drain && node.orders.drain_time == kNever && !MayEvict(facts, node)) {
    MarkForReboot(facts, draft, node, false, "its work is to be left alone");
  } else if (!node.desired.drain && MayEvict(facts, node)) {
    MarkForReboot(facts, draft, node, true, "its work may be evicted");
  } else if (!node.desired.drain && GivesWay(node, idle)) {
    UnmarkForReboot(draft, node, "work came to it, and another Node is idle");
  } else if (!node.desired.drain) {
    draft.AddDefer(DeferReason::kWaitsUntilIdle, node.name,
                   absl::StrCat("Node ", node.machine, " is rebooted once it is idle."));
  }
}

// Goes on with chosen Nodes, and chooses others as far as the budgets go, a rack at a time, idle
// ones first.
void RebootInTurn(const PlanFacts& facts, Draft& draft, Budget& own) {
  std::vector<Node*> waiting;
  const Word* rack = nullptr;
  IdleNodes idle = IdleByRack(facts, draft);
  for (auto& [name, node] : draft.nodes) {
    // Who is let go has its next turn in the next plan.
    const bool followed = IsChosen(node);
    if (followed) FollowChosen(facts, draft, node, idle);
    // A Node that reboots by an order of its own, and not for the reconfiguration, begins no rack.
    const bool reboots = IsChosen(node) || node.state == NodeState::kReconfiguring;
    if (reboots && facts.asked.Has(node)) rack = &node.rack;
    if (!followed && MayBeRebooted(facts, node)) waiting.push_back(&node);
  }
  SortByTurn(waiting, rack);
  if (rack != nullptr && !waiting.empty() && waiting.front()->rack != *rack)
    DeferNextRack(draft, *waiting.front(), *rack);
  for (Node* node : waiting) {
    // A rack is finished before the next is begun.
    if (rack != nullptr && node->rack != *rack) break;
    if (TakenFor(*node) == nullptr && !own.Spend(node->machine, "reconfigure")) {
      draft.AddDefer(
          DeferReason::kDisruptionBudget, node->name,
          absl::StrCat("Node ", node->machine, " waits (reconfigure): ", own.Denial(), "."));
      break;
    }
    if (!draft.HasStepsLeft() || !draft.MayDisrupt(*node, "reconfigure")) break;
    rack = &node->rack;
    const bool evict = MayEvict(facts, *node) && node->observed.active;
    MarkForReboot(facts, draft, *node, evict, "a reconfigure reboot was asked for");
    if (!node->observed.active) RebootIdle(facts, draft, *node, facts.profile);
  }
}

}  // namespace

bool AnyWaits(const PlanFacts& facts) {
  const PeerReply<ConfigurationFacts>& answer = facts.answers.configuration;
  if (answer.released()) return false;
  return (answer.here() ? answer.value.waiting : facts.pool.status.waiting).has_value();
}

void MarkForReboot(const PlanFacts& facts, Draft& draft, Node& node, bool drains,
                   absl::string_view why) {
  const absl::Time deadline = drains ? facts.now + facts.policy.drain_deadline : kNever;
  draft.Apply(node, ChooseForReboot{node.name, true, drains, deadline, std::string(why)});
}

void UnmarkForReboot(Draft& draft, Node& node, absl::string_view why) {
  draft.Apply(node, ChooseForReboot{node.name, false, false, kNever, std::string(why)});
}

void RebootInto(const std::string& profile, Draft& draft, Node& node, absl::string_view why) {
  draft.Apply(node, StepNode{node.name, NodeEvent::kReconfigure, RemovalCause::kNone, kNever,
                             profile, std::string(why)});
}

void RebootIdle(const PlanFacts& facts, Draft& draft, Node& node, const std::string& profile) {
  const absl::Time from = CordonIsEffectiveFrom(facts, draft, node, node.reconfigure_time);
  if (facts.now < from) {
    draft.MoveDue(from);
    const bool cordoned = node.observed.cordon_time != kNever;
    return draft.AddDefer(
        DeferReason::kWaitsUntilIdle, node.name,
        absl::StrCat("Node ", node.machine, " is rebooted ",
                     cordoned ? absl::StrCat("at ", TimeText(from)) : "once it is cordoned",
                     " if it is idle still."),
        from);
  }
  RebootInto(profile, draft, node, "it is idle");
}

void StageProfiles(const PlanFacts& facts, Draft& draft) {
  if (facts.pool.deleting() || facts.profile.empty()) return;
  for (auto& [name, node] : draft.nodes) {
    if (IsRunning(node) && node.desired.node_profile != facts.profile && draft.HasStepsLeft()) {
      draft.Apply(node, StageProfile{name, facts.profile, "it is the active configuration"});
    }
    if (!node.observed.staging_error.empty()) {
      draft.AddDefer(DeferReason::kStagingFailed, name,
                     absl::StrCat("Configuration ", node.desired.node_profile.get(),
                                  " could not be staged on Node ", node.machine,
                                  BecauseText(node.observed.staging_error)));
    }
  }
}

void RebootOutdated(const PlanFacts& facts, Draft& draft,
                    const std::vector<std::string>& timed_out) {
  if (!facts.pool.reconfiguring() || facts.pool.deleting()) {
    ReleaseChosen(draft, "no reconfigure reboot is asked for");
    return;
  }
  if (!MayReboot(facts, draft, timed_out)) return;
  const Reconfiguration& asked = *facts.pool.reconfiguration;
  const bool bounded = !asked.max_unavailable.empty() || !facts.pool.spec.max_unavailable.empty();
  const std::string own =
      asked.max_unavailable.empty() ? (bounded ? "" : "1") : asked.max_unavailable;
  Budget budget = draft.BudgetOf(own);
  RebootInTurn(facts, draft, budget);
}

}  // namespace muster::lifecycle
