// Which Nodes a plan looks at. A Node is quiet when no part of the plan would change it or say
// anything of it, whatever is decided about others: what each part looks for is listed here.
// MoveRacks and RenewGrants alone look at all.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "services/lifecycle/core/machine_cursor.h"
#include "services/lifecycle/core/metadata.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/plan_parts.h"

namespace muster::lifecycle {
namespace {

// The metadata that all ordinary Nodes in a state share.
struct SharedMetadata {
  SharedMetadata(const Pool& pool, NodeState state, bool gpu) {
    Metadata metadata = DesiredMetadata(pool, Node{.state = state}, gpu);
    labels = std::move(metadata.labels);
    annotations = std::move(metadata.annotations);
    taints = std::move(metadata.taints);
  }
  bool IsOf(const Node& node) const {
    return node.desired.labels == labels && node.desired.annotations == annotations &&
           node.desired.taints == taints;
  }

  Interned<StringMap> labels;
  Interned<StringMap> annotations;
  Interned<std::vector<Taint>> taints;
};

const std::vector<std::string>& None() {
  static const auto& none = *new std::vector<std::string>();
  return none;
}

class QuietTest {
 public:
  explicit QuietTest(const PlanFacts& facts)
      : facts_(facts),
        type_(facts.snapshot.catalogue.type),
        all_held_(HeldMachines(facts.answers.claim) == nullptr),
        held_(all_held_ ? None() : *HeldMachines(facts.answers.claim)),
        stages_(!facts.pool.deleting() && !facts.profile.empty()),
        reboots_(!facts.pool.deleting() && facts.pool.reconfiguring()),
        rolls_back_(RollbackWaits(facts)),
        arriving_(facts.pool, NodeState::kBooting, type_ && type_->gpus > 0),
        in_production_(facts.pool, NodeState::kProduction, type_ && type_->gpus > 0) {
    if (!facts.answers.claim.here()) return;
    for (const MachineReclaim& r : facts.answers.claim.value.reclaims) reclaimed_.insert(r.machine);
  }

  // Cheapest when Nodes come by name.
  bool IsQuiet(const Node& node) {
    // PurgeReturned, LeaveUnheld, PreemptNodes.
    const bool held = all_held_ || held_.Find(node.machine) != nullptr;
    if (!held || (!reclaimed_.empty() && reclaimed_.contains(node.machine))) return false;
    const bool in_place = node.state == NodeState::kProduction ? IsInPlace(node) : Arrives(node);
    return in_place && IsUnmarked(node) && IsSilent(node.observed);
  }
  // When a quiet Node has to be looked at.
  absl::Time DueOf(const Node& node) const {
    return node.state == NodeState::kProduction ? kNever : BootDeadlineOf(node);
  }

 private:
  absl::Time BootDeadlineOf(const Node& node) const {
    return node.desired.phase_time + facts_.policy.boot_deadline;
  }

  // StageProfiles, RebootOutdated.
  bool IsUpToDate(const Node& node) const {
    if (stages_ && node.desired.node_profile != facts_.profile) return false;
    return !reboots_ || node.observed.node_profile == facts_.profile;
  }
  // The same, FollowOrders, DrainNodes, RefreshAllMetadata.
  bool IsInPlace(const Node& node) const {
    const bool held = node.desired.drain || node.desired.cordoned;
    return IsUpToDate(node) && !held && type_ && in_production_.IsOf(node);
  }
  // AbortBrokenBoots, TimeOutBoots, StageProfiles, OrderBoots, RebootOutdated, RefreshAllMetadata.
  bool Arrives(const Node& node) const {
    const bool in_progress = IsInProgress(node.state);
    if (!in_progress && node.state != NodeState::kRegistered) return false;
    if (node.desired.phase != Phase::kRunning || rolls_back_) return false;
    if (facts_.now >= BootDeadlineOf(node)) return false;
    const bool outdated = reboots_ && node.desired.node_profile != facts_.profile;
    return (in_progress ? !outdated : IsUpToDate(node)) && type_ && arriving_.IsOf(node);
  }
  // Nothing has begun with the Node, and nobody wants anything of it. For every part that would act
  // on that.
  static bool IsUnmarked(const Node& node) {
    return node.removal_cause == RemovalCause::kNone && node.preempt_time == kNever &&
           node.asked_to_go_time == kNever && node.reconfigure_time == kNever &&
           node.replace_time == kNever && node.reserved_desired.empty() && !node.orders.any();
  }
  // ReplaceUnhealthy, DrainNodes, StageProfiles.
  static bool IsSilent(const Observed& seen) {
    return !seen.unhealthy && !seen.autoscaler_marked && seen.drain_blocked_by.empty() &&
           seen.staging_error.empty() && seen.removal_error.empty();
  }

  const PlanFacts& facts_;
  const std::optional<TypeFacts>& type_;  // not known: no metadata is known to be right
  const bool all_held_;                   // as far as is known
  MachineCursor<std::string> held_;
  const bool stages_;
  const bool reboots_;
  const bool rolls_back_;
  const SharedMetadata arriving_;
  const SharedMetadata in_production_;
  absl::flat_hash_set<absl::string_view> reclaimed_;
};

}  // namespace

SortedNodes SortOut(const PlanFacts& facts, bool look_at_all) {
  SortedNodes sorted;
  QuietTest test(facts);
  for (const Node* node : facts.snapshot.nodes) {
    if (look_at_all || !test.IsQuiet(*node)) {
      sorted.looked_at.emplace_hint(sorted.looked_at.end(), node->name, *node);
      continue;
    }
    sorted.quiet.Add(*node);
    sorted.quiet.MoveDue(test.DueOf(*node));
    sorted.quiet_rows.push_back(node);
  }
  return sorted;
}

}  // namespace muster::lifecycle
