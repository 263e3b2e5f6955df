// The end of a world: faults are over, and everything must come to rest.
#include <algorithm>
#include <limits>

#include "absl/strings/str_split.h"
#include "services/common/condition_names.h"
#include "services/common/internal_kind.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/render.h"
#include "tests/simulation/scene.h"
#include "tests/simulation/world.h"

namespace muster::simulation {
namespace {

using lifecycle::Node;
using lifecycle::Pool;
using lifecycle::ReasonOf;

// Far more than any pool needs, of which some wait for machines and look every few seconds.
constexpr int kRounds = 20'000;
// Within which everything must have come to rest, by the clock of the world. Nodes whose machine
// capacity forgot go one after the other, with minutes between.
constexpr absl::Duration kRest = absl::Hours(12);

}  // namespace

void World::Heal() {
  weather_ = Weather::Calm();
  RegisterLost();
  for (Replica& replica : replicas_) replica.Recover();
  network_.DeliverAll();
  checker_.calm_since = cloud_.lifecycle.TimeAt(cloud_.now);
  network_.quota_away = network_.capacity_away = network_.configuration_away = false;
  network_.catalogue_known = true;
  fleet_.GoHome();
  for (const std::string& zone : Zones()) {
    cloud_.capacity.Run(capacity::UpdateZone{{.id = zone, .instance_types = Types()}}, cloud_.now);
    for (const std::string& type : Types()) {
      for (const char* organization : {"acme", "beta"}) {
        for (const auto compute_class :
             {quota::ComputeClass::kDefault, quota::ComputeClass::kSpot}) {
          quota::UpdateQuota command{{organization, zone, type, compute_class}, 1000};
          command.allow_missing = true;
          command.overrides.emplace();
          (void)cloud_.quota.Run(command, cloud_.now);
        }
      }
    }
  }
  Release();
  std::vector<std::string> broken;
  for (const auto& [name, machine] : cloud_.capacity.state().table<capacity::MachineRow>().rows()) {
    if (machine.row->state == capacity::MachineState::kInRepair) broken.push_back(machine.row->id);
  }
  for (const std::string& id : broken) Repair(id);
  to_restore_.clear();
}

// Boots that failed late may have disabled a configuration.
bool World::EnableAll() {
  std::vector<configuration::EnableRevision> disabled;
  for (const auto& [name, pool] :
       cloud_.configuration.state().table<configuration::PoolConfiguration>().rows()) {
    for (const configuration::Revision& revision : pool.row->revisions) {
      if (revision.disabled) disabled.push_back({pool.row->pool_uid, revision.node_profile});
    }
  }
  for (const auto& command : disabled) (void)cloud_.configuration.Run(command, cloud_.now);
  return !disabled.empty();
}

// Pools that a restore brought back after others had released them: their owners do as they are
// told (POOL_RELEASED).
bool World::DeleteRevived() {
  std::vector<std::string> revived;
  for (const auto& [name, pool] : cloud_.lifecycle.state().table<Pool>().rows()) {
    const std::string& uid = pool.row->uid;
    // Services that forgot it do not make the pool live again.
    const bool released = pool.row->account.released ||
                          FindReleased(cloud_.quota.state(), uid) != nullptr ||
                          FindReleased(cloud_.capacity.state(), uid) != nullptr ||
                          FindReleased(cloud_.configuration.state(), uid) != nullptr;
    if (released && !pool.row->deleting()) revived.push_back(pool.row->name);
  }
  for (const std::string& name : revived) {
    survey_.Saw("pool: revived, and deleted");
    (void)cloud_.lifecycle.Run(lifecycle::DeleteNodePool{.name = name}, cloud_.now);
  }
  return !revived.empty();
}

// Operators' orders: a Node that is drained by one takes of the disruption budget for as long as it
// stands, and Nodes whose machine capacity forgot wait for that.
bool World::Uncordon() {
  std::vector<std::string> ordered;
  for (const auto& [name, pool] : cloud_.lifecycle.state().table<Pool>().rows()) {
    const auto* shown = FindCondition(pool.row->status.conditions, condition::kAtTarget);
    if (shown == nullptr || shown->status != condition_status::kUnknown) continue;
    for (const Node* node : cloud_.lifecycle.state().NodesOf(name)) {
      if (node->orders.any()) ordered.push_back(node->name);
    }
  }
  for (const std::string& name : ordered) {
    (void)cloud_.lifecycle.Run(
        lifecycle::OrderNode{.name = name, .verb = lifecycle::OrderNode::Verb::kUncordon},
        cloud_.now);
  }
  return !ordered.empty();
}

bool World::Converge() {
  Replica& leader = replicas_[0];
  leader.Die();
  replicas_[1].Die();
  replicas_[1].Suffer(Trouble::kFrozen, absl::InfiniteDuration());
  cloud_.Pass(3 * Cloud::kLeaseTtl);
  if (leader.epoch() == 0) return false;
  for (const std::string& name : PoolNames()) Due(name);
  const absl::Time latest = cloud_.now + kRest;
  for (int round = 0; round < kRounds && cloud_.now < latest && !checker_.failed(); ++round) {
    cloud_.Pass(absl::Milliseconds(1));
    const bool acted = fleet_.ActAll() | SettleConfigurations(true);
    const std::vector<std::string> pools = leader.agenda->Take(200);
    leader.Pass(pools);
    checker_.CheckStep();
    if (acted || !pools.empty()) continue;
    const absl::Duration next = leader.agenda->UntilNext();
    if (next == absl::InfiniteDuration()) return true;
    cloud_.Pass(next);
  }
  return false;
}

bool World::ComeToRest() {
  do {
    if (!Converge()) return false;
  } while (!checker_.failed() && (EnableAll() || DeleteRevived() || Uncordon() || CollectRest()));
  return true;
}

bool World::CollectRest() {
  bool went_back = false;
  const bool collected = collectors_[0].CollectAll(
      replicas_[0].epoch(), [&] { went_back = RestoreUnderCollector() || went_back; });
  if (!went_back) return collected;
  checker_.CheckStep();
  Heal();
  return true;
}

void World::Finish() {
  cloud_.trace(cloud_.now, "--- faults end");
  const bool restores = may_go_back_ = weather_.restores > 0;
  Heal();
  if (!ComeToRest()) return checker_.Fail("it does not come to rest");
  CheckAtRest();
  CheckNothingMoves();
  if (!checker_.failed()) LiveQuietly();
  if (restores && !checker_.failed()) CheckRestoredAtRest();
  if (checker_.failed()) return;
  may_go_back_ = false;
  cloud_.trace(cloud_.now, "--- all is deleted");
  for (const std::string& name : PoolNames()) {
    (void)cloud_.lifecycle.Run(lifecycle::DeleteNodePool{.name = name}, cloud_.now);
  }
  if (!ComeToRest()) return checker_.Fail("the deletion does not come to rest");
  CheckNothingLeft();
  CheckReplay();
}

// A service is restored while all is at rest: only the resync after the restore makes pools due.
void World::CheckRestoredAtRest() {
  cloud_.trace(cloud_.now, "--- a service goes back");
  Restore(SomeService(), SomeCommits(100));
  RegisterLost();
  survey_.Saw("restore: at rest");
  checker_.CheckStep();
  Heal();
  if (!ComeToRest()) return checker_.Fail("after a restore it does not come to rest");
  CheckAtRest();
  CheckNothingMoves();
}

void World::CheckReplay() {
  if (checker_.failed()) return;
  cloud_.trace(cloud_.now, "--- what was sent comes once more");
  network_.Replay();
  checker_.CheckStep();
  // A service that forgot that a pool was released may take what is left of it for a pool.
  if (checker_.amnesty().MayHaunt() && !ComeToRest())
    return checker_.Fail("the ghosts do not come to rest");
  CheckNothingLeft();
}

void World::CheckAtRest() {
  checker_.CheckBooks();
  checker_.CheckNoDifference();
  for (const auto& [name, pool] : cloud_.lifecycle.state().table<Pool>().rows()) {
    CheckPool(*pool.row);
  }
}

// With what the pool says.
void World::FailOf(const Pool& pool, absl::string_view fault) {
  std::string text = absl::StrCat(pool.name, ": ", fault);
  for (const lifecycle::Condition& c : pool.status.conditions) {
    absl::StrAppend(&text, "\n  ", c.type.get(), "=", c.reason.get(), ": ", c.message.get());
  }
  absl::StrAppend(&text, "\n  target ", pool.spec.target_nodes, ", granted ",
                  pool.account.granted_nodes, ", requested ", pool.account.requested_nodes,
                  IsDisabled(pool) ? ", disabled" : "");
  for (const Node* node : cloud_.lifecycle.state().NodesOf(pool.name)) {
    absl::StrAppend(&text, "\n  ", node->machine, " ", NodeStateName(node->state));
  }
  checker_.Fail(text);
}

void World::CheckPool(const Pool& pool) {
  const auto fail = [&](absl::string_view what, int64_t is, int64_t should) {
    if (is == should) return;
    FailOf(pool, absl::StrCat("at rest: ", what, " ", is, " instead of ", should));
  };
  const auto nodes = cloud_.lifecycle.state().NodesOf(pool.name);
  const auto size = static_cast<int64_t>(nodes.size());
  const auto* claim = cloud_.capacity.state().FindClaim(pool.uid);
  const auto view =
      claim == nullptr ? capacity::ClaimView() : ViewOf(cloud_.capacity.state(), *claim);
  const int64_t outstanding = FactsOf(view).outstanding;
  const int64_t present = std::count_if(
      nodes.begin(), nodes.end(), [](const Node* node) { return lifecycle::IsPresent(*node); });
  const int64_t in_progress = std::count_if(nodes.begin(), nodes.end(), [](const Node* node) {
    return lifecycle::IsInProgress(node->state);
  });
  fail("current_nodes", pool.status.current_nodes, present);
  fail("in_progress", pool.status.in_progress, in_progress);
  // What may not be asked for, because nothing could boot, is counted as queued.
  const int64_t covered = std::min(pool.target_nodes(), pool.account.granted_nodes);
  const int64_t unasked = IsDisabled(pool) ? covered - present - in_progress : 0;
  fail("queued_nodes", pool.status.queued_nodes, std::max(outstanding, unasked));
  fail("machines held", static_cast<int64_t>(view.machines.size()), size);
  if (ReasonOf(pool.status.conditions, "Validated") != "Valid") {
    const bool unmet =
        !pool.spec.node_affinity.empty() && view.matching == 0 && view.matching_in_repair == 0;
    return fail("valid", pool.spec.instance_type == "unknown-type" || unmet ? 1 : 0, 1);
  }
  if (pool.deleting()) return checker_.Fail(absl::StrCat("at rest, ", pool.name, ": still there"));
  fail("Nodes and queued", size + outstanding, pool.spec.target_nodes);
  const bool met = ReasonOf(pool.status.conditions, "AtTarget") == "TargetMet";
  const bool sufficient = ReasonOf(pool.status.conditions, "Capacity") == "Sufficient";
  const bool under = ReasonOf(pool.status.conditions, "Quota") == "Under";
  fail("TargetMet", met ? 1 : 0, outstanding == 0 ? 1 : 0);
  fail("Sufficient", sufficient ? 1 : 0, outstanding == 0 ? 1 : 0);
  fail("Under", under ? 1 : 0, 1);
  for (const Node* node : nodes) {
    fail(node->machine + " in production", node->state == lifecycle::NodeState::kProduction ? 1 : 0,
         1);
  }
}

void World::CheckNothingMoves() {
  const int64_t before = cloud_.revisions();
  cloud_.Pass(absl::Minutes(10));
  replicas_[0].Pass(PoolNames());
  fleet_.ActAll();
  SettleConfigurations(true);
  if (cloud_.revisions() != before) checker_.Fail("at rest, and one more round writes");
}

void World::CheckNothingLeft() {
  const auto none = [&](absl::string_view what, size_t left) {
    if (left > 0) checker_.Fail(absl::StrCat("all is deleted, and ", left, " ", what, " are left"));
  };
  checker_.CheckBooks();
  none("pools", cloud_.lifecycle.state().table<Pool>().size());
  none("Nodes", cloud_.lifecycle.state().table<Node>().size());
  none("claims", cloud_.capacity.state().table<capacity::ClaimRow>().size());
  none("holdings", cloud_.quota.state().table<quota::Holding>().size());
  none("configurations",
       cloud_.configuration.state().table<configuration::PoolConfiguration>().size());
}

}  // namespace muster::simulation
