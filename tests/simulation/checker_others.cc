// What the checker says of capacity and quota, and of restores.
#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/fleet.h"

namespace muster::simulation {

using lifecycle::Node;
using lifecycle::Pool;

// --- who leads ---

// --- restores ---

void InvariantChecker::LifecycleRestored(const lifecycle::State& lost) {
  const lifecycle::State& state = cloud_.lifecycle.state();
  given_up_.clear();  // the rows forgot it, too
  std::erase_if(served_, [&](const auto& node) {
    return node.second > cloud_.lifecycle.revision() ||
           state.table<Node>().Find(node.first) == nullptr;
  });
  for (const auto& [name, pool] : lost.table<Pool>().rows()) {
    if (state.FindPoolByUid(pool.row->uid) == nullptr) gone_[pool.row->uid] = cloud_.steady.Now();
  }
  for (const auto& [name, pool] : state.table<Pool>().rows()) gone_.erase(pool.row->uid);
}

void InvariantChecker::CheckLead(const std::vector<LeadChecker::Standing>& all) {
  const auto& row = cloud_.lease.row();
  const bool is_held = row && !IsOver(*row, cloud_.lifecycle.DatabaseTime(cloud_.now));
  const std::string wrong = lead_.Check(cloud_.steady.Now(), row, is_held, all);
  if (!wrong.empty()) Fail(wrong);
}

void InvariantChecker::CarriedOut(const lifecycle::ApplyPlan& plan, absl::Time planned,
                                  const std::string& by) {
  ++plans;
  const auto* lease =
      cloud_.lifecycle.state().table<lifecycle::Lease>().Find(lifecycle::Lease::kName);
  if (lease->holder != by)
    Fail(absl::StrCat(by, " writes, and ", lease->holder, " leads: a plan for ", plan.pool));
  CountGivenUp(plan, planned);
  for (const lifecycle::Action& action : plan.actions) {
    if (std::holds_alternative<lifecycle::RaiseGeneration>(action)) Notice("rebase: carried out");
  }
}

void InvariantChecker::GivesBack(const std::string& uid) {
  const auto gone = gone_.find(uid);
  if (cloud_.lifecycle.state().FindPoolByUid(uid) != nullptr)
    return Fail(absl::StrCat("what belongs to the pool ", uid, " is given back as an orphan"));
  if (gone != gone_.end() && cloud_.steady.Now() - gone->second < lifecycle::OrphanPolicy().grace)
    Fail(absl::StrCat("what is left of ", uid, " is given back before the grace is over"));
}

// --- capacity and quota ---

void InvariantChecker::CapacityCommitted(const StagedState<capacity::State>& staged) {
  ForEachChanged<capacity::MachineRow>(
      staged, [&](const capacity::MachineRow* before, const capacity::MachineRow* after) {
        MachineChanged(before, after);
      });
}

void InvariantChecker::MachineChanged(const capacity::MachineRow* before,
                                      const capacity::MachineRow* after) {
  if (before == nullptr) return;
  if (after == nullptr) return Fail(absl::StrCat("machine ", before->id, " was forgotten"));
  if (before->claim.empty() || before->claim == after->claim) return;
  const lifecycle::State& lifecycle = cloud_.lifecycle.state();
  const Pool* pool = lifecycle.FindPoolByUid(before->claim);
  const Node* node =
      pool == nullptr ? nullptr
                      : lifecycle.table<Node>().Find(lifecycle::NodeName(pool->name, before->id));
  // A return of the lost future is taken for new where a newer request was forgotten or never made.
  if (node != nullptr && !lifecycle::IsReturnable(node->state) && !amnesty_.Owes(before->claim))
    Fail(absl::StrCat("the machine of ", node->name, " was taken from it"));
  const bool given_away = after->state != capacity::MachineState::kInRepair;
  // A broken one runs on in repair. If capacity forgot the repair, or lifecycle the Node that it
  // was booted for or the order to boot it, it runs on for a Node which never booted it.
  const bool restored = cloud_.capacity.incarnation() > 1 || cloud_.lifecycle.incarnation() > 1;
  const bool of_another =
      restored && node != nullptr && (!fleet_.RunsFor(*node) || node->desired.node_profile.empty());
  const bool forgotten =
      amnesty_.Owes(before->claim) || amnesty_.IsGhost(before->claim) || of_another;
  if (given_away && !forgotten && !fleet_.IsOff(before->id))
    Fail(absl::StrCat("machine ", before->id, " was given back and still runs"));
}

void InvariantChecker::QuotaCommitted(const StagedState<quota::State>& staged) {
  const quota::State& state = staged.state();
  ForEachChanged<quota::Holding>(
      staged, [&](const quota::Holding* before, const quota::Holding* after) {
        if (after == nullptr || after->nodes <= (before == nullptr ? 0 : before->nodes)) return;
        const quota::Quota* quota = state.table<quota::Quota>().Find(after->quota);
        const int64_t limit = quota == nullptr ? 0 : LimitAt(*quota, cloud_.quota.time());
        if (state.Held(after->quota) > limit)
          Fail(absl::StrCat(after->Key(), " grew beyond the limit of ", limit));
      });
}

}  // namespace muster::simulation
