// Unhealthy Nodes: triage, and replacement once they did not recover; with spec.prefill the
// replacement comes first.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/health.h"
#include "services/lifecycle/core/planner.h"
#include "services/lifecycle/core/text.h"

namespace muster::lifecycle {

void Planner::Health() {
  int64_t in_triage = 0;
  int64_t healthy = 0;
  for (auto& [name, node] : nodes_) {
    if (node.state == NodeState::kProduction && node.observed.unhealthy) {
      if (Step(node, NodeEvent::kUnhealthy, "it was seen to be unhealthy"))
        budget_.FallIll(node.machine);
    }
    if (node.state == NodeState::kTriage && !node.observed.unhealthy) Recover(node);
    in_triage += node.state == NodeState::kTriage ? 1 : 0;
    healthy += node.state == NodeState::kProduction ? 1 : 0;
  }
  if (pool_.deleting()) return;
  // Those that came for Nodes in triage which are still here.
  int64_t replacements = healthy - (pool_.target_nodes() - in_triage);
  std::vector<Node*> unhealthy;
  for (auto& [name, node] : nodes_) {
    if (node.state == NodeState::kTriage && node.observed.unhealthy) unhealthy.push_back(&node);
  }
  // Who has been so for longest goes first: not all may be able to go.
  std::stable_sort(unhealthy.begin(), unhealthy.end(), [](const Node* a, const Node* b) {
    return UnhealthySince(*a) < UnhealthySince(*b);
  });
  for (Node* node : unhealthy) {
    if (Room()) Replace(*node, replacements);
  }
}

// One that went to and fro shows first that it stays healthy.
void Planner::Recover(Node& node) {
  const absl::Time until = node.observed.healthy_time + policy().triage_grace;
  if (!HasRelapsed(node) || now() >= until) {
    Step(node, NodeEvent::kRecovered, "it is healthy again");
    return;
  }
  Wait(DeferReason::kWaitsForRecovery, node.name,
       absl::StrCat("Node ", node.machine, " was unhealthy ", node.observed.relapses + 1,
                    " times in a row and takes work again at ", TimeText(until),
                    " unless it is unhealthy once more."),
       until);
}

void Planner::Replace(Node& node, int64_t& replacements) {
  const absl::Time from = UnhealthySince(node) + policy().triage_grace;
  const std::string which = absl::StrCat("Node ", node.machine, " is unhealthy");
  if (now() < from) {
    Wait(DeferReason::kWaitsForRecovery, node.name,
         absl::StrCat(which, " and is replaced unless it recovers",
                      BecauseText(node.observed.health_message)),
         from);
    return;
  }
  if (node.observed.active && pool_.spec.disable_unhealthy_node_eviction) {
    Wait(DeferReason::kWaitsUntilIdle, node.name,
         absl::StrCat(which, " and is replaced once it is idle (disableUnhealthyNodeEviction)."));
    return;
  }
  const int64_t before = replacements;
  if (!HasReplacement(node, replacements)) return;
  // A Node whose replacement takes work already is no loss.
  const bool replaced = replacements < before;
  if (!replaced && !MayGiveUp()) {
    ++late_repairs_;
    return;
  }
  if (!MayDisrupt(node, "repair")) return;
  if (!replaced) CountGivenUp();
  Dismiss(node, RemovalCause::kRepair, "it is unhealthy");
}

// True without prefill, once a replacement takes work, when none may come, and when it took too
// long.
bool Planner::HasReplacement(Node& node, int64_t& replacements) {
  if (!pool_.spec.prefill || !pool_.spec.prefill->enabled) return true;
  const Prefill& prefill = *pool_.spec.prefill;
  if (node.replace_time == kNever) {
    const int64_t most = std::max<int64_t>(1, prefill.max_nodes);
    const int64_t asked = std::count_if(nodes_.begin(), nodes_.end(), [](const auto& entry) {
      return entry.second.replace_time != kNever;
    });
    if (asked < most) Take(node, AskReplacement{node.name, "spec.prefill"});
    Wait(DeferReason::kWaitsForReplacement, node.name,
         absl::StrCat("Node ", node.machine,
                      " is unhealthy and stays until its replacement is asked for ",
                      "and takes work."));
    return false;
  }
  const absl::Duration timeout =
      prefill.timeout_seconds == 0 ? kPrefillTimeout : absl::Seconds(prefill.timeout_seconds);
  const absl::Time until = node.replace_time + timeout;
  const bool refused = answers().holding.here() && account_.prefill_nodes > 0 &&
                       answers().holding.value.verdict != HoldingAnswer::Verdict::kUnder;
  if (replacements > 0) {
    --replacements;
    return true;
  }
  if (refused || now() >= until) return true;
  Wait(DeferReason::kWaitsForReplacement, node.name,
       absl::StrCat("Node ", node.machine,
                    " is unhealthy and stays until its replacement takes work."),
       until);
  return false;
}

}  // namespace muster::lifecycle
