// The end of a world: faults are over, and everything must come to rest.
#include <algorithm>
#include <limits>

#include "absl/strings/str_split.h"
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

// Far more than any pool needs.
constexpr int kRounds = 3000;
// Within which everything must have come to rest, by the clock of the world.
constexpr absl::Duration kRest = absl::Hours(3);

// What lifecycle's rows say of a claim is what the claim says (services/lifecycle/peer_watches.cc).
bool Knows(const lifecycle::State& state, const Pool& pool, const capacity::ClaimView& claim) {
  if (pool.status.queued_nodes != AnswerOf(claim).outstanding) return false;
  const std::vector<const Node*> nodes = state.NodesOf(pool.name);
  return std::equal(
      nodes.begin(), nodes.end(), claim.machines.begin(), claim.machines.end(),
      [&](const Node* node, const std::string& id) {
        const bool reclaimed =
            std::any_of(claim.reclaims.begin(), claim.reclaims.end(),
                        [&](const capacity::Reclaimed& r) { return r.machine == id; });
        return node->machine == id && reclaimed == (node->preempt_time != lifecycle::kNever);
      });
}

}  // namespace

// --- who is to be looked at, and when: services/lifecycle/due_set.h and peer_watches.cc ---

void World::Listen() {
  cloud_.lifecycle.committed = [this, judged = cloud_.lifecycle.committed](const auto& overlay) {
    judged(overlay);
    for (const auto& change : overlay.changes()) {
      const absl::string_view kind = change.change.kind();
      const std::string& key = change.change.key;
      if (kind == Node::kKind) {
        fleet_.Changed(key);
        Due(std::string(lifecycle::PoolNameOf(key)), cloud_.now);
      }
      if (kind == Pool::kKind) Due(key, cloud_.now);
    }
  };
  cloud_.quota.committed = [this, judged = cloud_.quota.committed](const auto& overlay) {
    judged(overlay);
    for (const auto& change : overlay.changes()) {
      if (IsInternalKind(change.change.kind())) continue;
      const size_t end = change.change.key.find("/holdings/");
      DueByQuota(change.change.key.substr(0, end), end == std::string::npos);
    }
  };
  cloud_.capacity.committed = [this, judged = cloud_.capacity.committed](const auto& overlay) {
    judged(overlay);
    for (const auto& change : overlay.changes()) {
      if (change.change.kind() != capacity::ClaimRow::kKind) continue;
      const auto* claim =
          overlay.state().template table<capacity::ClaimRow>().Find(change.change.key);
      if (claim == nullptr) continue;
      const lifecycle::State& state = cloud_.lifecycle.state();
      const Pool* pool = state.FindPoolByUid(claim->pool_uid);
      if (pool != nullptr && !Knows(state, *pool, ViewOf(overlay.state(), *claim)))
        Due(pool->name, cloud_.now);
    }
  };
  cloud_.configuration.committed = [this,
                                    seen = cloud_.configuration.committed](const auto& overlay) {
    seen(overlay);
    for (const auto& change : overlay.changes()) {
      const auto parts = std::vector<std::string>(absl::StrSplit(change.change.key, '/'));
      const Pool* pool = cloud_.lifecycle.state().FindPoolByUid(parts.back());
      if (pool != nullptr) Due(pool->name, cloud_.now);
    }
  };
  for (Replica& replica : replicas_) {
    replica.planned = [this](const std::string& pool, absl::Time at) { Due(pool, at); };
  }
}

void World::Due(const std::string& pool, absl::Time at) {
  if (at == lifecycle::kNever) return;
  const auto [it, fresh] = due_.emplace(pool, at);
  if (!fresh) it->second = std::min(it->second, at);
}

void World::DueByQuota(const std::string& quota, bool limit) {
  const std::vector<std::string> parts = absl::StrSplit(quota, '/');
  const std::vector<std::string> words = absl::StrSplit(parts.back(), '~');
  const lifecycle::State& state = cloud_.lifecycle.state();
  const auto* pools = state.PoolsOnQuota(parts[1], words[0], words[1], words[2]);
  if (pools == nullptr) return;
  for (const std::string& name : *pools) {
    const Pool* pool = state.table<Pool>().Find(name);
    if (limit || ReasonOf(pool->status.conditions, "Quota") != "Under") Due(name, cloud_.now);
  }
}

std::vector<std::string> World::TakeDue() {
  std::vector<std::string> pools;
  for (auto it = due_.begin(); it != due_.end();) {
    if (it->second > cloud_.now) {
      ++it;
      continue;
    }
    pools.push_back(it->first);
    it = due_.erase(it);
  }
  return pools;
}

// --- the end ---

void World::Heal() {
  weather_ = Weather::Calm();
  network_.DeliverAll();
  judge_.calm_since = cloud_.now;
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

bool World::Settle() {
  Replica& leader = replicas_[0];
  leader.Die();
  leader.epoch = ++lease_epoch_;
  (void)cloud_.lifecycle.Run(lifecycle::TakeLease{leader.name(), leader.epoch}, cloud_.now);
  due_.clear();
  for (const std::string& name : PoolNames()) Due(name, cloud_.now);
  const absl::Time latest = cloud_.now + kRest;
  for (int round = 0; round < kRounds && cloud_.now < latest && !judge_.failed(); ++round) {
    cloud_.now += absl::Milliseconds(1);
    const bool acted = fleet_.ActAll() | SettleConfigurations(true);
    const std::vector<std::string> pools = TakeDue();
    leader.Pass(pools);
    judge_.CheckStep();
    if (acted || !pools.empty()) continue;
    if (due_.empty()) return true;
    for (const auto& [pool, at] : due_) {
      if (at <= cloud_.now) return false;
    }
    cloud_.now = std::min_element(due_.begin(), due_.end(), [](const auto& a, const auto& b) {
                   return a.second < b.second;
                 })->second;
  }
  return false;
}

void World::Finish() {
  cloud_.trace(cloud_.now, "--- faults end");
  Heal();
  do {
    if (!Settle()) return judge_.Fail("it does not come to rest");
  } while (EnableAll());
  CheckAtRest();
  CheckNothingMoves();
  if (judge_.failed()) return;
  cloud_.trace(cloud_.now, "--- all is deleted");
  for (const std::string& name : PoolNames()) {
    (void)cloud_.lifecycle.Run(lifecycle::DeleteNodePool{.name = name}, cloud_.now);
  }
  if (!Settle()) return judge_.Fail("the deletion does not come to rest");
  CheckNothingLeft();
  cloud_.trace(cloud_.now, "--- what was sent comes once more");
  network_.Replay();
  CheckNothingLeft();
}

void World::CheckAtRest() {
  judge_.CheckBooks();
  judge_.CheckNoDifference();
  for (const auto& [name, pool] : cloud_.lifecycle.state().table<Pool>().rows()) {
    CheckPool(*pool.row);
  }
}

void World::CheckPool(const Pool& pool) {
  const auto fail = [&](absl::string_view what, int64_t is, int64_t should) {
    if (is == should) return;
    std::string status;
    for (const lifecycle::Condition& c : pool.status.conditions) {
      absl::StrAppend(&status, "\n  ", c.type, "=", c.reason, ": ", c.message);
    }
    absl::StrAppend(&status, "\n  granted ", pool.account.granted_nodes, ", requested ",
                    pool.account.requested_nodes, IsDisabled(pool) ? ", disabled" : "");
    for (const Node* node : cloud_.lifecycle.state().NodesOf(pool.name)) {
      absl::StrAppend(&status, "\n  ", node->machine, " ", NodeStateName(node->state));
    }
    judge_.Fail(
        absl::StrCat("at rest, ", pool.name, ": ", what, " ", is, " instead of ", should, status));
  };
  const auto nodes = cloud_.lifecycle.state().NodesOf(pool.name);
  const auto size = static_cast<int64_t>(nodes.size());
  const auto* claim = cloud_.capacity.state().FindClaim(pool.uid);
  const auto view =
      claim == nullptr ? capacity::ClaimView() : ViewOf(cloud_.capacity.state(), *claim);
  const int64_t outstanding = AnswerOf(view).outstanding;
  fail("current_nodes", pool.status.current_nodes, lifecycle::Count(nodes).present);
  fail("in_progress", pool.status.in_progress, lifecycle::Count(nodes).in_progress);
  fail("queued_nodes", pool.status.queued_nodes, outstanding);
  fail("machines held", static_cast<int64_t>(view.machines.size()), size);
  if (ReasonOf(pool.status.conditions, "Validated") != "Valid") {
    const bool unmet = !pool.spec.node_affinity.empty() && view.matching == 0;
    return fail("valid", pool.spec.instance_type == "unknown-type" || unmet ? 1 : 0, 1);
  }
  if (pool.deleting()) return judge_.Fail(absl::StrCat("at rest, ", pool.name, ": still there"));
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
  const auto revisions = [&] {
    return std::vector<int64_t>{cloud_.lifecycle.revision(), cloud_.quota.revision(),
                                cloud_.capacity.revision(), cloud_.configuration.revision()};
  };
  const auto before = revisions();
  cloud_.now += absl::Minutes(10);
  replicas_[0].Pass(PoolNames());
  fleet_.ActAll();
  SettleConfigurations(true);
  if (revisions() != before) judge_.Fail("at rest, and one more round writes");
}

void World::CheckNothingLeft() {
  const auto none = [&](absl::string_view what, size_t left) {
    if (left > 0) judge_.Fail(absl::StrCat("all is deleted, and ", left, " ", what, " are left"));
  };
  judge_.CheckBooks();
  none("pools", cloud_.lifecycle.state().table<Pool>().size());
  none("Nodes", cloud_.lifecycle.state().table<Node>().size());
  none("claims", cloud_.capacity.state().table<capacity::ClaimRow>().size());
  none("holdings", cloud_.quota.state().table<quota::Holding>().size());
  none("configurations",
       cloud_.configuration.state().table<configuration::PoolConfiguration>().size());
}

}  // namespace muster::simulation
