// Machines become Nodes, boot, and go back; what is agreed on with quota and capacity.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "services/common/count_text.h"
#include "services/common/error_reasons.h"
#include "services/lifecycle/core/asked_to_go.h"
#include "services/lifecycle/core/boot_failures.h"
#include "services/lifecycle/core/machine_cursor.h"
#include "services/lifecycle/core/metadata.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/plan_parts.h"
#include "services/lifecycle/core/reconfiguration.h"
#include "services/lifecycle/core/removals.h"
#include "services/lifecycle/core/render_parts.h"

namespace muster::lifecycle {
namespace {

// True when the answered request gave the machine back to be repaired.
bool IsInRepair(const PlanFacts& facts, const Node& node) {
  const std::vector<MachineReturn>& returns = facts.demand.claim->returns;
  return std::any_of(returns.begin(), returns.end(), [&](const MachineReturn& given) {
    return given.machine == node.machine && given.reason == MachineReturn::Reason::kBroken;
  });
}

// kNever: not told.
absl::Time TimeOf(const std::string& machine, const std::map<std::string, absl::Time>& times) {
  const auto it = times.find(machine);
  return it == times.end() ? kNever : it->second;
}

// True when the claim, which holds the machine of this Node that has ended, was granted it since:
// it becomes another Node.
bool IsGrantedAnew(const PlanFacts& facts, const Node& node) {
  const absl::Time granted = TimeOf(node.machine, facts.answers.claim.value.grant_times);
  if (granted != kNever && node.grant_time != kNever) return granted != node.grant_time;
  // The Node, or capacity, is of a release that does not tell grants apart. A machine that was
  // given back unbroken is not granted again to the same request: see demand.cc.
  return IsInRepair(facts, node);
}

// Calls `f` with each Node and what is `told` of its machine. Quiet Nodes, too.
template <class T, class F>
void ForEachTold(const PlanFacts& facts, Draft& draft, const std::map<std::string, T>& told, F f) {
  auto it = told.begin();
  for (const Node* node : facts.snapshot.nodes) {
    while (it != told.end() && it->first < node->machine) ++it;
    if (it == told.end() || !draft.HasStepsLeft()) return;
    if (it->first == node->machine) f(*node, it->second);
  }
}

// Defers the boot of a Node that has nothing to boot; after kUnbootableGrace gives its machine
// back.
void WaitForConfiguration(const PlanFacts& facts, Draft& draft, Node& node, DeferReason reason,
                          const std::string& because) {
  const absl::Time until = node.state_time + kUnbootableGrace;
  const NodeEvent ends = draft.MayRunUnknown() ? NodeEvent::kAbort : NodeEvent::kDiscard;
  if (facts.now >= until && draft.HasStepsLeft() && draft.Step(node, ends, because)) return;
  draft.AddDefer(reason, node.name,
                 absl::StrCat("Node ", node.machine, " may not boot: ", because, "."),
                 facts.now < until ? until : kNever);
}

// True when the pool's uid was released, in capacity too if that is asked. While there are Nodes,
// it may still be mended: capacity may be restored to when it held their machines.
bool SaysItIsReleased(const PlanFacts& facts) {
  const PeerReplies& answers = facts.answers;
  return answers.holding.released() && (answers.claim.released() || !facts.demand.claim) &&
         facts.snapshot.nodes.empty() && !facts.pool.deleting();
}

// True when quota, which grants all or nothing, refused a target that fits for what was to come
// early.
bool KeepsTargetOut(const PlanFacts& facts, const Draft& draft) {
  if (!facts.answers.holding.here() || !facts.demand.holding) return false;
  const HoldingFacts& answer = facts.answers.holding.value;
  const bool refused =
      answer.verdict == HoldingFacts::Verdict::kOver && answer.nodes < facts.demand.holding->nodes;
  // What the pool is charged for anyway.
  const int64_t charged = std::max({answer.nodes, draft.account.requested_nodes, draft.size()});
  return refused && charged < facts.pool.target_nodes() &&
         VerdictOfTarget(facts.pool, answer) == HoldingFacts::Verdict::kUnder;
}

// Keeps in the account which racks the pool gives up. Without the catalogue racks are not known.
void RememberRacks(const PlanFacts& facts, Draft& draft) {
  if (!KnowsRacks(facts.snapshot)) return;
  const bool by_racks = !facts.pool.deleting() && facts.snapshot.catalogue.nodes_per_rack() > 0;
  draft.account.leaving_racks =
      by_racks ? RacksOf(facts, draft).Leaving() : std::vector<std::string>();
}

// True when the claim still holds the machine of a Node that leaves by a scale-down, and it is past
// being let stay (CancelScaleDown).
bool IsPastStaying(const PlanFacts& facts, const Node& node) {
  if (node.removal_cause != RemovalCause::kScaleDown) return false;
  // In a rack it may still stay.
  const bool named = node.removal_requested && facts.snapshot.catalogue.nodes_per_rack() == 0;
  return node.state == NodeState::kDraining || node.state == NodeState::kPreparedForTerminate ||
         (node.state == NodeState::kCordoned && (IsGivenUp(node) || named));
}

// Nodes to come before others have left: for those that are to be replaced, for those that the
// target was lowered for, and for those that were past being let go when the target rose, which do
// not count as wanted. And those that have to wait.
void CountBeyondTarget(const PlanFacts& facts, Draft& draft) {
  const bool knows_racks = KnowsRacks(facts.snapshot);
  if (knows_racks) draft.account.deferred_nodes = 0;
  int64_t early = 0;
  int64_t asked = 0;
  int64_t leaving = 0;
  for (const auto& [name, node] : draft.nodes) {
    asked += GoesByTarget(facts.snapshot, node) ? 1 : 0;
    early += node.replace_time != kNever ? 1 : 0;
    leaving += IsPastStaying(facts, node) ? 1 : 0;
  }
  draft.account.prefill_nodes = early + asked;
  if (facts.pool.deleting()) return;
  const int64_t missing = facts.pool.target_nodes() - (draft.KeptNodes() - asked);
  if (missing <= 0) return;
  // The claim still holds the machines of those that leave, so that what replaces them is asked for
  // in addition. Not what racks that stay have lost: capacity would then complete the leaving rack,
  // too.
  const int64_t per_rack = facts.snapshot.catalogue.nodes_per_rack();
  const bool whole = per_rack > 0 && facts.pool.target_nodes() % per_rack == 0;
  const int64_t lost = whole ? missing % per_rack : 0;
  draft.account.prefill_nodes += std::max<int64_t>(0, leaving - lost);
  if (knows_racks && !draft.account.leaving_racks.empty())
    draft.account.deferred_nodes = std::max<int64_t>(0, lost - leaving);
}

}  // namespace

// Everything is released: the pool goes.
bool FinishDeletion(const PlanFacts& facts, Draft& draft) {
  if (!IsReadyToRelease(facts.pool, facts.snapshot.nodes)) return false;
  // Capacity holds machines that the pool does not know of: they become Nodes first, and go.
  if (facts.answers.claim.refused(muster::error::kClaimHoldsMachines)) return false;
  if (facts.answers.holding.here() && facts.answers.claim.here() &&
      facts.answers.configuration.here()) {
    draft.AddEvent(EventReason::kNodePoolDeleted,
                   absl::StrCat("NodePool ", LastIdOf(facts.pool.name), " was deleted."));
    draft.AddAction(RemovePool{"no Node, claim or holding is left"});
  } else {
    draft.AddDefer(DeferReason::kReleasing, facts.pool.name,
                   "A service has not released the pool yet.", facts.now + facts.policy.retry);
  }
  return true;
}

// Nodes whose machine capacity has back.
void PurgeReturned(const PlanFacts& facts, Draft& draft) {
  const std::vector<std::string>* held = HeldMachines(facts.answers.claim);
  if (held == nullptr) return;
  int64_t removed = 0;
  for (auto it = draft.nodes.begin(); it != draft.nodes.end();) {
    const Node& node = it->second;
    const bool is_held = std::binary_search(held->begin(), held->end(), node.machine);
    if (!IsReturnable(node.state) || (is_held && !IsGrantedAnew(facts, node))) {
      if (!is_held) {
        draft.AddDefer(DeferReason::kMachineNotHeld, node.name,
                       absl::StrCat("Machine ", node.machine, " is not held by the pool's claim."));
      }
      ++it;
      continue;
    }
    // A Node whose boot failed was in the cluster, too, if it had registered before.
    const bool was_here = node.state == NodeState::kDeleted || !node.observed.node_profile.empty();
    removed += was_here ? 1 : 0;
    it = draft.Purge(it, "its machine was given back");
  }
  if (removed > 0) {
    draft.AddEvent(EventReason::kNodePoolNodesRemoved,
                   absl::StrCat("Removed ", CountText(removed, "Node"), "."));
  }
}

// Machines that the claim holds and that have no Node.
void AssignGranted(const PlanFacts& facts, Draft& draft) {
  if (!facts.answers.claim.here()) return;
  const ClaimFacts& claim = facts.answers.claim.value;
  if (!facts.snapshot.catalogue.known || !facts.snapshot.catalogue.type) {
    if (std::ssize(claim.machines) > draft.size()) {
      draft.AddDefer(DeferReason::kCatalogueUnknown, facts.pool.name,
                     "Machines that were granted wait until the catalogue can be read.");
    }
    return;
  }
  const bool gpu = facts.snapshot.catalogue.type->gpus > 0;
  // See OrderBoots.
  const std::string profile = AnyWaits(facts) ? "" : facts.BootProfile();
  int64_t slots = facts.pool.wanted_nodes() - draft.KeptNodes();
  const absl::flat_hash_set<absl::string_view> taken(claim.taken.begin(), claim.taken.end());
  MachineCursor known(facts.snapshot.nodes);
  for (const std::string& machine : claim.machines) {
    if (!draft.HasStepsLeft() && taken.empty()) break;
    if (known.Find(machine) != nullptr && !draft.IsPurged(machine)) continue;
    if (draft.Has(NodeName(facts.pool.name, machine))) continue;
    if (taken.contains(machine)) {
      DeferTaken(facts, draft, machine);
      continue;
    }
    if (!draft.HasStepsLeft()) continue;
    const bool wanted = slots-- > 0;
    const auto rack = claim.racks.find(machine);
    draft.Assign({machine, rack == claim.racks.end() ? "" : rack->second, wanted ? profile : "",
                  gpu, "capacity granted it", TimeOf(machine, claim.request_times),
                  TimeOf(machine, claim.grant_times)});
  }
}

// A rack that is not known stays as it was.
void MoveRacks(const PlanFacts& facts, Draft& draft) {
  if (!facts.answers.claim.here()) return;
  ForEachTold(
      facts, draft, facts.answers.claim.value.racks,
      [&](const Node& node, const std::string& rack) {
        if (rack.empty() || node.rack == rack || draft.IsPurged(node.machine)) return;
        draft.Apply(draft.LookAt(node.name), SetRack{node.name, rack, "its machine was moved"});
      });
}

// A Node that has not ended loses its grant only to a restore, of capacity or of the Node's row. If
// it did not take over the new one, its return would be skipped later, and a broken machine would
// become one Node more.
void RenewGrants(const PlanFacts& facts, Draft& draft) {
  if (!facts.answers.claim.here()) return;
  ForEachTold(facts, draft, facts.answers.claim.value.grant_times,
              [&](const Node& node, absl::Time granted) {
                if (node.grant_time == kNever || node.grant_time == granted) return;
                if (IsReturnable(node.state) || draft.IsPurged(node.machine)) return;
                draft.Apply(
                    draft.LookAt(node.name),
                    SetGrantTime{node.name, granted, "it has its machine by another grant"});
              });
}

bool RollbackWaits(const PlanFacts& facts) {
  const PeerReply<ConfigurationFacts>& configuration = facts.answers.configuration;
  if (!configuration.here()) return facts.pool.account.rollback_waits && !configuration.released();
  return absl::c_any_of(configuration.value.orders, [](const ConfigurationOrder& order) {
    return order.kind == ConfigurationOrder::Kind::kRollback &&
           order.outcome == ConfigurationOrder::Outcome::kWaiting;
  });
}

// A rollback waits until no Node is in delivery. Boots into the configuration that it leaves are
// not waited for if one has failed already, or if no Node has booted it yet: it may never boot.
void AbortBrokenBoots(const PlanFacts& facts, Draft& draft) {
  // While configuration is away it would not notice that no Node is in delivery any more.
  if (facts.pool.deleting() || !facts.answers.configuration.here() || !RollbackWaits(facts)) return;
  const BootFailures& failures = draft.account.boot_failures;
  const bool failed = failures.node_profile == facts.profile && !failures.machines.empty();
  const bool runs = draft.quiet.InServiceOn(facts.profile) > 0 ||
                    std::any_of(draft.nodes.begin(), draft.nodes.end(), [&](const auto& entry) {
                      return entry.second.observed.node_profile == facts.profile &&
                             IsInService(entry.second.state);
                    });
  if (runs && !failed && !facts.profile_disabled) return;
  for (auto& [name, node] : draft.nodes) {
    const bool boots = IsInProgress(node.state) && node.desired.phase == Phase::kRunning;
    if (boots && node.desired.node_profile == facts.profile && draft.HasStepsLeft())
      draft.Step(node, NodeEvent::kAbort, "it boots a configuration that is rolled back from");
  }
}

absl::Time BootsUntil(const PlanFacts& facts, const Node& node) {
  if (node.desired.phase != Phase::kRunning) return kNever;
  const absl::Time until = node.desired.phase_time + facts.policy.boot_deadline;
  return facts.now < until ? until : kNever;
}

BootTimeouts TimeOutBoots(const PlanFacts& facts, Draft& draft) {
  BootTimeouts out;
  draft.MoveDue(draft.quiet.due());
  std::vector<std::pair<absl::Time, Node*>> late;
  for (auto& [name, node] : draft.nodes) {
    if (Next(node.state, NodeEvent::kBootTimedOut) == std::nullopt) continue;
    if (node.desired.phase != Phase::kRunning) continue;
    const absl::Time deadline = node.desired.phase_time + facts.policy.boot_deadline;
    if (facts.now < deadline) {
      draft.MoveDue(deadline);
      continue;
    }
    late.emplace_back(deadline, &node);
  }
  std::stable_sort(late.begin(), late.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [deadline, node] : late) {
    if (!draft.HasStepsLeft()) break;  // the rest is for the next plan
    if (!MayGiveUp(facts, draft)) {
      ++out.late;
      continue;
    }
    CountGivenUp(facts, draft);
    if (node->state == NodeState::kReconfiguring && facts.pool.reconfiguration &&
        IsAsked(*facts.pool.reconfiguration, *node) && !WasIll(*node))
      out.reboots.push_back(node->machine);
    // Many that are late at once tell of a clock or a network, not of what they boot.
    // What counts for nothing (WasIll) is not the one that counts.
    const bool counts = !WasIll(*node) && !std::exchange(draft.account.given_up.boot_counted, true);
    draft.Apply(*node, StepNode{node->name, NodeEvent::kBootTimedOut, RemovalCause::kNone, kNever,
                                "", "it did not come up in time", counts});
  }
  return out;
}

// Nodes that were assigned while no profile was known, while another was about to be active, or
// while they were too many. A configuration that waits until no Node is in delivery would wait for
// ever if each that comes meanwhile were told to boot what is active still. While configuration is
// away nobody knows whether it waits still: Nodes wait as well, however long, as they might boot
// what is being rolled back from.
void OrderBoots(const PlanFacts& facts, Draft& draft) {
  if (facts.pool.deleting()) return;
  const bool another_waits = AnyWaits(facts);
  const bool too_many = draft.KeptNodes() > facts.pool.wanted_nodes();
  for (auto& [name, node] : draft.nodes) {
    if (node.state != NodeState::kAssigned || node.desired.phase != Phase::kUndecided) continue;
    if (facts.profile.empty() && facts.catalogue_check.validity == Validity::kInvalid) {
      WaitForConfiguration(facts, draft, node, DeferReason::kNoConfiguration,
                           "there is no configuration");
    } else if (facts.profile.empty()) {
      draft.AddDefer(DeferReason::kNoConfiguration, name,
                     "No configuration to boot into is known.");
    } else if (another_waits) {
      draft.AddDefer(DeferReason::kWaitsForConfiguration, name,
                     absl::StrCat("Node ", node.machine,
                                  " waits to boot the configuration that is to be active."));
    } else if (facts.profile_disabled) {
      WaitForConfiguration(
          facts, draft, node, DeferReason::kConfigurationDisabled,
          absl::StrCat("configuration ", facts.profile, " is disabled, too many boots failed"));
    } else if (too_many) {
      draft.AddDefer(DeferReason::kMoreThanWanted, name, "The pool has more Nodes than it wants.");
    } else {
      draft.Apply(node, OrderBoot{name, facts.profile, "its configuration is known"});
    }
  }
}

// What quota and capacity have agreed to; see demand.h for why in this order.
void UpdateAccount(const PlanFacts& facts, Draft& draft) {
  if (SaysItIsReleased(facts)) draft.account.released = true;
  const int64_t before = draft.account.requested_nodes;
  if (facts.answers.claim.here()) {
    const auto machines = static_cast<int64_t>(facts.answers.claim.value.machines.size());
    // A request that gave machines back was answered for what it keeps; the next one asks for the
    // rest.
    const int64_t asked = facts.demand.claim ? facts.demand.claim->wanted_nodes : 0;
    draft.account.requested_nodes = std::max({facts.answers.claim.value.nodes, asked, machines});
    draft.account.claim_unknown = false;
  }
  const bool valid = facts.catalogue_check.validity == Validity::kValid;
  const int64_t covered = facts.answers.holding.here() ? facts.answers.holding.value.nodes
                                                       : draft.account.granted_nodes;
  const int64_t wanted = valid ? facts.pool.wanted_nodes() : 0;
  RememberRacks(facts, draft);
  CountBeyondTarget(facts, draft);
  // A gang asks once for all that it is to have: what comes early is charged for first.
  const bool asks_whole =
      !facts.pool.spec.gang || draft.account.prefill_nodes <= facts.pool.account.prefill_nodes;
  // What is asked of capacity stays, as long as a disabled configuration lets nothing boot.
  if (!facts.profile_disabled && asks_whole) {
    draft.account.requested_nodes =
        std::max(draft.account.requested_nodes, std::min(wanted, covered));
  }
  const int64_t needed = std::max({wanted, draft.account.requested_nodes, draft.size()});
  draft.account.granted_nodes = std::min(covered, needed);
  // The next request is for the target alone. What comes early is asked for once that is granted.
  if (KeepsTargetOut(facts, draft)) draft.account.prefill_nodes = 0;
  const int64_t more = draft.account.requested_nodes - before;
  if (draft.account == facts.pool.account) return;
  if (more > 0) {
    draft.AddEvent(EventReason::kNodeRequestQueued,
                   absl::StrCat("Requested ", CountText(more, "Node"), " of ",
                                facts.pool.spec.instance_type, "."));
  }
  draft.AddAction(SetAccount{draft.account, "what the other services said is new"});
}

}  // namespace muster::lifecycle
