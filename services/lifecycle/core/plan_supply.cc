// Machines become Nodes, boot, and go back; what is agreed on with quota and capacity.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/metadata.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/planner.h"

namespace muster::lifecycle {

// Everything is released: the pool goes.
bool Planner::Finished() {
  if (!IsReadyToRelease(pool_, snapshot_.nodes)) return false;
  // Capacity holds machines that the pool does not know of: they become Nodes first, and go.
  if (answers().claim.refused("CLAIM_HOLDS_MACHINES")) return false;
  if (answers().holding.here() && answers().claim.here() && answers().configuration.here()) {
    Say(EventReason::kNodePoolDeleted,
        absl::StrCat("NodePool ", LastIdOf(pool_.name), " was deleted."));
    Do(RemovePool{"no Node, claim or holding is left"});
  } else {
    Wait(DeferReason::kReleasing, pool_.name, "A service has not released the pool yet.",
         now() + policy().retry);
  }
  return true;
}

// True when the answered request gave the machine back to be repaired. If it is held all the same,
// it was granted again since, and becomes another Node. (One that was given back whole is not
// granted again to the same request: see demand.cc.)
bool Planner::IsInRepair(const Node& node) const {
  const std::vector<MachineReturn>& returns = demand_.claim->returns;
  return std::any_of(returns.begin(), returns.end(), [&](const MachineReturn& given) {
    return given.machine == node.machine && given.reason == MachineReturn::Reason::kBroken;
  });
}

// Nodes whose machine capacity has back.
void Planner::PurgeReturned() {
  const std::vector<std::string>* held = HeldMachines(answers().claim);
  if (held == nullptr) return;
  int64_t removed = 0;
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    const Node& node = it->second;
    const bool is_held = std::binary_search(held->begin(), held->end(), node.machine);
    if (!IsReturnable(node.state) || (is_held && !IsInRepair(node))) {
      if (!is_held) {
        Wait(DeferReason::kMachineNotHeld, node.name,
             absl::StrCat("Machine ", node.machine, " is not held by the pool's claim."));
      }
      ++it;
      continue;
    }
    // In the cluster it was also if a boot failed after it had registered.
    const bool was_here = node.state == NodeState::kDeleted || !node.observed.node_profile.empty();
    removed += was_here ? 1 : 0;
    Do(PurgeNode{node.name, "its machine was given back"});
    it = nodes_.erase(it);
  }
  if (removed > 0) {
    Say(EventReason::kNodePoolNodesRemoved,
        absl::StrCat("Removed ", CountText(removed, "Node"), "."));
  }
}

// Machines that the claim holds and that have no Node.
void Planner::AssignGranted() {
  if (!answers().claim.here()) return;
  const ClaimAnswer& claim = answers().claim.value;
  if (!snapshot_.catalogue.known || !snapshot_.catalogue.type) {
    if (claim.machines.size() > nodes_.size()) {
      Wait(DeferReason::kCatalogueUnknown, pool_.name,
           "Machines that were granted wait until the catalogue can be read.");
    }
    return;
  }
  const bool gpu = snapshot_.catalogue.type->gpus > 0;
  int64_t slots = pool_.wanted_nodes() - Keeping();
  for (const std::string& machine : claim.machines) {
    const std::string name = NodeName(pool_.name, machine);
    if (nodes_.contains(name) || IsTaken(machine) || !Room()) continue;
    const bool wanted = slots-- > 0;
    const auto rack = claim.racks.find(machine);
    AssignNode action{machine, rack == claim.racks.end() ? "" : rack->second,
                      wanted ? BootProfile() : "", gpu, "capacity granted it"};
    nodes_[name] = NodeOf(pool_, action, now());
    Do(std::move(action));
    ++steps_;
  }
}

// A rollback waits until no Node is in delivery. Boots into what it leaves are not waited for when
// that has failed already, or has yet to boot on any Node: it may never.
void Planner::AbortBrokenBoots() {
  using Kind = ConfigurationOrder::Kind;
  if (!answers().configuration.here() || pool_.deleting()) return;
  const std::vector<ConfigurationOrder>& orders = answers().configuration.value.orders;
  const bool leaves =
      std::any_of(orders.begin(), orders.end(), [](const ConfigurationOrder& order) {
        return order.kind == Kind::kRollback &&
               order.outcome == ConfigurationOrder::Outcome::kWaiting;
      });
  if (!leaves) return;
  const BootFailures& failures = account_.boot_failures;
  const bool failed = failures.node_profile == profile_ && !failures.machines.empty();
  const bool runs = std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& entry) {
    return entry.second.observed.node_profile == profile_ && IsInService(entry.second.state);
  });
  if (runs && !failed && !profile_disabled_) return;
  for (auto& [name, node] : nodes_) {
    const bool boots = IsInProgress(node.state) && node.desired.phase == Phase::kRunning;
    if (boots && node.desired.node_profile == profile_ && Room())
      Step(node, NodeEvent::kAbort, "it boots a configuration that is rolled back from");
  }
}

void Planner::TimeOutBoots() {
  std::vector<std::pair<absl::Time, Node*>> late;
  for (auto& [name, node] : nodes_) {
    if (Next(node.state, NodeEvent::kBootTimedOut) == std::nullopt) continue;
    if (node.desired.phase != Phase::kRunning) continue;
    const absl::Time deadline = node.desired.phase_time + policy().boot_deadline;
    if (now() < deadline) {
      Due(deadline);
      continue;
    }
    late.emplace_back(deadline, &node);
  }
  std::stable_sort(late.begin(), late.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [deadline, node] : late) {
    if (!Room()) return;  // the rest is for the next plan
    if (!MayGiveUp()) {
      ++late_boots_;
      continue;
    }
    CountGivenUp();
    if (node->state == NodeState::kReconfiguring) timed_out_reboots_.push_back(node->machine);
    // Many that are late at once tell of a clock or a network, not of what they boot.
    const bool counts = !std::exchange(account_.given_up.boot_counted, true);
    Take(*node, StepNode{node->name, NodeEvent::kBootTimedOut, RemovalCause::kNone, kNever, "",
                         "it did not come up in time", counts});
  }
}

// Nodes that were assigned while no profile was known, or while they were too many.
void Planner::OrderBoots() {
  if (pool_.deleting()) return;
  const bool too_many = Keeping() > pool_.wanted_nodes();
  for (auto& [name, node] : nodes_) {
    if (node.state != NodeState::kAssigned || node.desired.phase != Phase::kUndecided) continue;
    if (profile_.empty() && judgement_.validity == Validity::kInvalid) {
      WaitForConfiguration(node, DeferReason::kNoConfiguration, "there is no configuration");
    } else if (profile_.empty()) {
      Wait(DeferReason::kNoConfiguration, name, "No configuration to boot into is known.");
    } else if (profile_disabled_) {
      WaitForConfiguration(
          node, DeferReason::kConfigurationDisabled,
          absl::StrCat("configuration ", profile_, " is disabled, too many boots failed"));
    } else if (too_many) {
      Wait(DeferReason::kMoreThanWanted, name, "The pool has more Nodes than it wants.");
    } else {
      Take(node, OrderBoot{name, profile_, "its configuration is known"});
    }
  }
}

// A machine that may not boot is for others after a while.
void Planner::WaitForConfiguration(Node& node, DeferReason reason, const std::string& because) {
  const absl::Time until = node.state_time + kUnbootableGrace;
  if (now() >= until && Room() && Step(node, NodeEvent::kDiscard, because)) return;
  Wait(reason, node.name, absl::StrCat("Node ", node.machine, " may not boot: ", because, "."),
       now() < until ? until : kNever);
}

// Nodes to come before others have left: for those that are to be replaced, and for those that were
// past being let go when the target rose, which do not count as wanted.
int64_t Planner::PrefillNodes() const {
  const int64_t replaced = std::count_if(nodes_.begin(), nodes_.end(), [](const auto& entry) {
    return entry.second.replace_time != kNever;
  });
  if (pool_.deleting()) return replaced;
  const int64_t leaving = std::count_if(nodes_.begin(), nodes_.end(), [](const auto& entry) {
    const Node& node = entry.second;
    return node.removal_cause == RemovalCause::kScaleDown &&
           (node.state == NodeState::kDraining || node.state == NodeState::kPreparedForTerminate ||
            (node.state == NodeState::kCordoned && IsGivenUp(node)));
  });
  return replaced + std::min(leaving, std::max<int64_t>(0, pool_.target_nodes() - Keeping()));
}

// What quota and capacity have agreed to; see demand.h for why in this order.
void Planner::Agree() {
  const int64_t before = account_.requested_nodes;
  if (answers().claim.here()) {
    const auto machines = static_cast<int64_t>(answers().claim.value.machines.size());
    account_.requested_nodes = std::max(answers().claim.value.nodes, machines);
  }
  const bool valid = judgement_.validity == Validity::kValid;
  const int64_t covered =
      answers().holding.here() ? answers().holding.value.nodes : account_.granted_nodes;
  const int64_t wanted = valid ? pool_.wanted_nodes() : 0;
  const int64_t prefill = PrefillNodes();
  // A gang asks once for all that it is to have: what comes early is charged for first.
  const bool asks_whole = !pool_.spec.gang || prefill <= account_.prefill_nodes;
  // What is asked of capacity stays, as long as a disabled configuration lets nothing boot.
  if (!profile_disabled_ && asks_whole) {
    account_.requested_nodes = std::max(account_.requested_nodes, std::min(wanted, covered));
  }
  const int64_t needed =
      std::max({wanted, account_.requested_nodes, static_cast<int64_t>(nodes_.size())});
  account_.granted_nodes = std::min(covered, needed);
  account_.prefill_nodes = prefill;
  AnnounceOrders();
  const int64_t more = account_.requested_nodes - before;
  if (account_ == pool_.account) return;
  if (more > 0) {
    Say(EventReason::kNodeRequestQueued,
        absl::StrCat("Requested ", CountText(more, "Node"), " of ", pool_.spec.instance_type, "."));
  }
  Do(SetAccount{account_.granted_nodes, account_.requested_nodes, account_.prefill_nodes,
                account_.configuration_order, account_.waiting_configuration_order,
                account_.given_up, "what the other services said is new"});
}

}  // namespace muster::lifecycle
