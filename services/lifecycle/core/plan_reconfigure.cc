// The active configuration reaches running Nodes: staged on each, booted by reconfigure reboots
// that were asked for, rack by rack, within the disruption budget.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/planner.h"
#include "services/lifecycle/core/reconfiguration.h"
#include "services/lifecycle/core/text.h"

namespace muster::lifecycle {

namespace {

bool IsRunning(const Node& node) {
  return node.state == NodeState::kRegistered || node.state == NodeState::kProduction ||
         node.state == NodeState::kTriage;
}

bool IsChosen(const Node& node) {
  return node.state == NodeState::kProduction && node.reconfigure_time != kNever;
}

}  // namespace

void Planner::StageProfiles() {
  if (pool_.deleting() || profile_.empty()) return;
  for (auto& [name, node] : nodes_) {
    if (IsRunning(node) && node.desired.node_profile != profile_ && Room()) {
      Take(node, StageProfile{name, profile_, "it is the active configuration"});
    }
    if (!node.observed.staging_error.empty()) {
      Wait(
          DeferReason::kStagingFailed, name,
          absl::StrCat("Configuration ", node.desired.node_profile, " could not be staged on Node ",
                       node.machine, BecauseText(node.observed.staging_error)));
    }
  }
}

bool Planner::IsAsked(const Node& node) const {
  return lifecycle::IsAsked(*pool_.reconfiguration, node);
}

// Runs, or will run, something else than the active profile, and may stay.
bool Planner::IsOutdated(const Node& node) const {
  if (IsInProgress(node.state)) {
    return node.desired.phase == Phase::kRunning && node.desired.node_profile != profile_;
  }
  if (node.state == NodeState::kReconfiguring) return true;
  // One that is cordoned may be let go again.
  return (IsRunning(node) || node.state == NodeState::kCordoned) &&
         node.observed.node_profile != profile_;
}

void Planner::Reconfigure() {
  if (!pool_.reconfiguring() || pool_.deleting()) {
    ReleaseChosen("no reconfigure reboot is asked for");
    return;
  }
  if (!MayReboot()) return;
  const Reconfiguration& asked = *pool_.reconfiguration;
  const bool bounded = !asked.max_unavailable.empty() || !pool_.spec.max_unavailable.empty();
  const std::string own =
      asked.max_unavailable.empty() ? (bounded ? "" : "1") : asked.max_unavailable;
  Budget budget(own, pool_.spec.target_nodes, Nodes());
  Reboot(budget);
}

void Planner::MoveReconfiguration(Reconfiguration::State state, const std::string& halt_reason,
                                  absl::string_view reason) {
  MoveTo(*reconfiguration_, state, halt_reason, now());
  Do(SetReconfiguration{state, halt_reason, std::string(reason)});
}

// Done when nothing is left to do, whatever failed; a failure halts also what is paused.
bool Planner::MayReboot() {
  using RState = Reconfiguration::State;
  const bool left = std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& entry) {
    return IsAsked(entry.second) && IsOutdated(entry.second);
  });
  if (!left) {
    MoveReconfiguration(RState::kDone, "", "every Node is on the active configuration");
    ReleaseChosen("reconfigure reboots are done");
    return false;
  }
  std::vector<std::string> failed = pool_.reconfiguration->failed_machines;
  failed.insert(failed.end(), timed_out_reboots_.begin(), timed_out_reboots_.end());
  const bool too_many =
      static_cast<int64_t>(failed.size()) > pool_.reconfiguration->allowed_failures;
  if (reconfiguration_->state != RState::kHalted && (too_many || profile_disabled_)) {
    const std::string why = profile_disabled_ ? absl::StrCat("configuration ", profile_,
                                                             " was disabled: too many boots failed")
                                              : FailedBootsText(failed);
    MoveReconfiguration(RState::kHalted, why, "boots failed");
  }
  if (reconfiguration_->state == RState::kRunning) return true;
  const bool halted = reconfiguration_->state == RState::kHalted;
  Wait(!halted             ? DeferReason::kReconfigurationPaused
       : profile_disabled_ ? DeferReason::kConfigurationDisabled
                           : DeferReason::kReconfigurationHalted,
       pool_.name, SayReconfiguration(*reconfiguration_));
  ReleaseChosen(halted ? "reconfigure reboots are halted" : "reconfigure reboots are paused");
  return false;
}

// Chosen Nodes that are idle reboot; others are chosen as far as the budgets go, a rack at a time,
// idle ones first.
void Planner::Reboot(Budget& own) {
  std::vector<Node*> waiting;
  const std::string* rack = nullptr;
  for (auto& [name, node] : nodes_) {
    if (IsChosen(node) && !IsOutdated(node)) {
      Take(node, ChooseForReboot{name, false, false, kNever, "it is up to date"});
    } else if (IsChosen(node) && !node.observed.active) {
      Take(node, StepNode{name, NodeEvent::kReconfigure, RemovalCause::kNone, kNever, profile_,
                          "it is idle"});
    } else if (IsChosen(node) && !node.desired.drain) {
      Wait(DeferReason::kWaitsUntilIdle, name,
           absl::StrCat("Node ", node.machine, " is rebooted once it is idle."));
    }
    if (IsChosen(node) || node.state == NodeState::kReconfiguring) rack = &node.rack;
    if (node.state == NodeState::kProduction && !IsChosen(node) && IsAsked(node) &&
        IsOutdated(node)) {
      waiting.push_back(&node);
    }
  }
  std::stable_sort(waiting.begin(), waiting.end(), [&](const Node* a, const Node* b) {
    const bool a_on = rack != nullptr && a->rack == *rack;
    const bool b_on = rack != nullptr && b->rack == *rack;
    return std::tuple(!a_on, a->rack, a->observed.active, a->name) <
           std::tuple(!b_on, b->rack, b->observed.active, b->name);
  });
  for (Node* node : waiting) {
    // A rack is finished before the next is begun.
    if (rack != nullptr && node->rack != *rack) break;
    if (!own.Spend(node->machine, "reconfigure")) {
      Wait(DeferReason::kDisruptionBudget, node->name,
           absl::StrCat("Node ", node->machine, " waits (reconfigure): ", own.Denial(), "."));
      break;
    }
    if (!Room() || !MayDisrupt(*node, "reconfigure")) break;
    rack = &node->rack;
    const bool evict = pool_.reconfiguration->evict_active && node->observed.active;
    Take(*node,
         ChooseForReboot{node->name, true, evict, evict ? now() + policy().drain_deadline : kNever,
                         "a reconfigure reboot was asked for"});
    if (node->observed.active) continue;
    Take(*node, StepNode{node->name, NodeEvent::kReconfigure, RemovalCause::kNone, kNever, profile_,
                         "it is idle"});
  }
}

void Planner::ReleaseChosen(absl::string_view why) {
  for (auto& [name, node] : nodes_) {
    if (IsChosen(node)) Take(node, ChooseForReboot{name, false, false, kNever, std::string(why)});
  }
}

}  // namespace muster::lifecycle
