// Unhealthy Nodes: triage, and replacement if they do not recover in time; with spec.prefill the
// replacement comes first.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/asked_to_go.h"
#include "services/lifecycle/core/health.h"
#include "services/lifecycle/core/plan_parts.h"
#include "services/lifecycle/core/text.h"

namespace muster::lifecycle {
namespace {

absl::Time EndOfProbation(const PlanFacts& facts, const Node& node) {
  return node.observed.healthy_time + facts.policy.triage_grace;
}

void Recover(const PlanFacts& facts, Draft& draft, Node& node) {
  if (!IsOnProbation(facts, node, facts.now)) {
    draft.Step(node, NodeEvent::kRecovered, "it is healthy again");
    return;
  }
  const absl::Time until = EndOfProbation(facts, node);
  draft.AddDefer(DeferReason::kWaitsForRecovery, node.name,
                 absl::StrCat("Node ", node.machine, " was unhealthy ", node.observed.relapses + 1,
                              " times in a row and takes work again at ", TimeText(until),
                              " unless it is unhealthy once more."),
                 until);
}

// True when a reboot that may mend the Node is ordered.
bool IsBeingMended(const PlanFacts& facts, const Node& node) {
  return node.orders.reboot != Reboot::kNone && !ProfileToReboot(facts, node).empty();
}

// True when the Node's work keeps it here, even if its replacement has come.
bool IsKeptByWork(const PlanFacts& facts, const Node& node) {
  return node.observed.active && facts.pool.spec.disable_unhealthy_node_eviction;
}

// How many Nodes wait for their replacements, without those that could not go even then.
int64_t CountAsked(const PlanFacts& facts, const Draft& draft) {
  return std::count_if(draft.nodes.begin(), draft.nodes.end(), [&](const auto& entry) {
    const Node& node = entry.second;
    return node.state == NodeState::kTriage && node.replace_time != kNever &&
           !IsBeingMended(facts, node) && !IsKeptByWork(facts, node);
  });
}

bool ReplacesFirst(const PlanFacts& facts) {
  return facts.pool.spec.prefill && facts.pool.spec.prefill->enabled;
}

// True when the Node need not wait for a replacement: there is no prefill, the target was lowered
// for the Node, a replacement takes work, quota allows none, or it took too long. Asks for one if
// that is allowed and not done yet.
bool HasReplacement(const PlanFacts& facts, Draft& draft, Node& node, int64_t& replacements) {
  if (!ReplacesFirst(facts) || IsAskedToGo(node)) return true;
  const Prefill& prefill = *facts.pool.spec.prefill;
  if (replacements > 0) {
    --replacements;
    return true;
  }
  if (node.replace_time == kNever) {
    const int64_t most = std::max<int64_t>(1, prefill.max_nodes);
    if (CountAsked(facts, draft) < most)
      draft.Apply(node, AskReplacement{node.name, true, "spec.prefill"});
    draft.AddDefer(DeferReason::kWaitsForReplacement, node.name,
                   absl::StrCat("Node ", node.machine,
                                " is unhealthy and stays until its replacement is asked for ",
                                "and takes work."));
    return false;
  }
  const absl::Duration timeout =
      prefill.timeout_seconds == 0 ? kPrefillTimeout : absl::Seconds(prefill.timeout_seconds);
  const absl::Time until = node.replace_time + timeout;
  // What is granted already is not refused, even if the limit was lowered since.
  const bool refused = facts.answers.holding.here() && draft.account.prefill_nodes > 0 &&
                       facts.answers.holding.value.verdict != HoldingFacts::Verdict::kUnder &&
                       facts.answers.holding.value.nodes < facts.demand.holding->nodes;
  if (refused || facts.now >= until) return true;
  draft.AddDefer(DeferReason::kWaitsForReplacement, node.name,
                 absl::StrCat("Node ", node.machine,
                              " is unhealthy and stays until its replacement takes work."),
                 until);
  return false;
}

// True: it would be given up, were those not too many already.
bool Replace(const PlanFacts& facts, Draft& draft, Node& node, int64_t& replacements) {
  if (IsBeingMended(facts, node)) return false;
  const absl::Time from = UnhealthySince(node) + facts.policy.triage_grace;
  const std::string which = absl::StrCat("Node ", node.machine, " is unhealthy");
  if (facts.now < from) {
    draft.AddDefer(DeferReason::kWaitsForRecovery, node.name,
                   absl::StrCat(which, " and is replaced unless it recovers",
                                BecauseText(node.observed.health_message)),
                   from);
    return false;
  }
  if (IsKeptByWork(facts, node)) {
    draft.AddDefer(
        DeferReason::kWaitsUntilIdle, node.name,
        absl::StrCat(which, " and is replaced once it is idle (disableUnhealthyNodeEviction)."));
    return false;
  }
  const int64_t before = replacements;
  if (!HasReplacement(facts, draft, node, replacements)) return false;
  // A Node whose replacement takes work already is no loss.
  const bool replaced = replacements < before;
  if (!replaced && !MayGiveUp(facts, draft)) return true;
  if (!draft.MayDisrupt(node, "repair")) return false;
  if (!replaced) CountGivenUp(facts, draft);
  StartRemoval(draft, node, RemovalCause::kRepair, "it is unhealthy");
  return false;
}

}  // namespace

bool IsOnProbation(const PlanFacts& facts, const Node& node, absl::Time at) {
  return HasRelapsed(node) && at < EndOfProbation(facts, node);
}

int64_t ReplaceUnhealthy(const PlanFacts& facts, Draft& draft) {
  int64_t in_triage = 0;
  int64_t healthy = draft.quiet.in_production();
  for (auto& [name, node] : draft.nodes) {
    if (node.state == NodeState::kProduction && node.observed.unhealthy)
      draft.Step(node, NodeEvent::kUnhealthy, "it was seen to be unhealthy");
    if (node.state == NodeState::kTriage && !node.observed.unhealthy) Recover(facts, draft, node);
    in_triage += node.state == NodeState::kTriage && !IsAskedToGo(node) ? 1 : 0;
    healthy += node.state == NodeState::kProduction && !IsAskedToGo(node) ? 1 : 0;
  }
  if (facts.pool.deleting()) return 0;
  // How many have come for Nodes in triage that are still here.
  int64_t replacements = healthy - (facts.pool.target_nodes() - in_triage);
  std::vector<Node*> unhealthy;
  for (auto& [name, node] : draft.nodes) {
    if (node.state == NodeState::kTriage && node.observed.unhealthy) unhealthy.push_back(&node);
    if (node.replace_time != kNever && !ReplacesFirst(facts))
      draft.Apply(node, AskReplacement{name, false, "spec.prefill was switched off"});
  }
  // The one that is unhealthy for longest goes first: not all may be able to go.
  std::stable_sort(unhealthy.begin(), unhealthy.end(), [](const Node* a, const Node* b) {
    return UnhealthySince(*a) < UnhealthySince(*b);
  });
  int64_t late = 0;
  for (Node* node : unhealthy) {
    if (draft.HasStepsLeft()) late += Replace(facts, draft, *node, replacements) ? 1 : 0;
  }
  return late;
}

}  // namespace muster::lifecycle
