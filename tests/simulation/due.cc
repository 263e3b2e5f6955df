// Which pools are to be looked at, and when.
#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "services/common/internal_kind.h"
#include "services/lifecycle/core/names.h"
#include "tests/simulation/world.h"

namespace muster::simulation {
namespace {

using lifecycle::Node;
using lifecycle::Pool;

// What lifecycle's rows say of a claim is what the claim says
// (services/lifecycle/reconcile/peer_watches.cc).
bool Knows(const lifecycle::State& state, const Pool& pool, const capacity::ClaimView& claim) {
  if (pool.status.queued_nodes != FactsOf(claim).outstanding) return false;
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

void World::Listen() {
  cloud_.lifecycle.committed = [this, judged = cloud_.lifecycle.committed](const auto& staged) {
    judged(staged);
    for (const auto& change : staged.changes()) {
      const absl::string_view kind = change.change.kind();
      const std::string& key = change.change.key;
      if (kind == Node::kKind) {
        fleet_.Changed(key);
        NodeChanged(change.change);
      }
      if (kind == Pool::kKind) Due(key);
      if (kind == lifecycle::Cluster::kKind) HearCluster(key);
    }
  };
  cloud_.quota.committed = [this, judged = cloud_.quota.committed](const auto& staged) {
    judged(staged);
    for (const auto& change : staged.changes()) {
      if (IsInternalKind(change.change.kind())) continue;
      const size_t end = change.change.key.find("/holdings/");
      DueByQuota(change.change.key.substr(0, end), end == std::string::npos);
    }
  };
  cloud_.capacity.committed = [this, judged = cloud_.capacity.committed](const auto& staged) {
    judged(staged);
    for (const auto& change : staged.changes()) {
      const absl::string_view kind = change.change.kind();
      if (kind == capacity::MachineRow::kKind) HearMachine(change.change.key);
      if (kind == capacity::ZoneRow::kKind || kind == capacity::InstanceTypeRow::kKind)
        HearCatalogue();
      if (change.change.kind() != capacity::ClaimRow::kKind) continue;
      const auto* claim =
          staged.state().template table<capacity::ClaimRow>().Find(change.change.key);
      if (claim == nullptr) continue;
      const lifecycle::State& state = cloud_.lifecycle.state();
      const Pool* pool = state.FindPoolByUid(claim->pool_uid);
      if (pool != nullptr && !Knows(state, *pool, ViewOf(staged.state(), *claim))) Due(pool->name);
    }
    TellStock();
  };
  cloud_.configuration.committed = [this,
                                    seen = cloud_.configuration.committed](const auto& staged) {
    seen(staged);
    for (const auto& change : staged.changes()) {
      const auto parts = std::vector<std::string>(absl::StrSplit(change.change.key, '/'));
      const Pool* pool = cloud_.lifecycle.state().FindPoolByUid(parts.back());
      if (pool != nullptr) Due(pool->name);
    }
  };
  for (Replica& replica : replicas_) {
    replica.planned = [this](const std::string& pool, absl::Duration in) { Due(pool, in); };
  }
}

void World::NodeChanged(const lifecycle::State::Change& change) {
  const auto& row = std::get<std::shared_ptr<const Node>>(change.row);
  const std::string pool(lifecycle::PoolNameOf(change.key));
  for (Replica& replica : replicas_) {
    const bool absorbed = row != nullptr && replica.settled->Absorbs(row);
    if (absorbed) survey_.Saw("settled: work came or went");
    if (!absorbed) replica.agenda->Add(pool, absl::ZeroDuration());
  }
}

void World::HearCluster(const std::string& cluster) {
  for (const std::string& name : PoolNames()) {
    if (absl::StartsWith(name, cluster + "/")) Due(name);
  }
}

void World::Due(const std::string& pool, absl::Duration in) {
  if (in == absl::InfiniteDuration()) return;
  for (Replica& replica : replicas_) replica.agenda->Add(pool, in);
}

void World::DueByQuota(const std::string& quota, bool limit) {
  if (options_.bug == Bug::kLimitUnheard && limit) return;
  const std::vector<std::string> parts = absl::StrSplit(quota, '/');
  const std::vector<std::string> words = absl::StrSplit(parts.back(), '~');
  const lifecycle::State& state = cloud_.lifecycle.state();
  const auto* pools = limit ? state.PoolsOnQuota(parts[1], words[0], words[1], words[2])
                            : state.PoolsShortOfQuota(parts[1], words[0], words[1], words[2]);
  if (pools != nullptr) {
    for (const std::string& name : *pools) Due(name);
  }
  const auto* autoscaled =
      limit ? nullptr : state.AutoscaledOnQuota(parts[1], words[0], words[1], words[2]);
  if (autoscaled == nullptr) return;
  for (const std::string& name : *autoscaled) Due(name, absl::Seconds(30));
}

// --- machines in service: services/lifecycle/reconcile/machine_mirror.h ---

void World::HearMachine(const std::string& key) {
  const auto* machine = cloud_.capacity.state().table<capacity::MachineRow>().Find(key);
  if (machine == nullptr) return stock_.Forget(key, stock_moved_);
  lifecycle::MachineMirror::Machine heard{machine->zone, machine->instance_type};
  if (machine->state != capacity::MachineState::kRetired) {
    const bool in_repair = machine->state == capacity::MachineState::kInRepair;
    heard.print = absl::HashOf(machine->labels, in_repair) | 1;
  }
  stock_.Take(key, heard, stock_moved_);
}

// What is offered changed, which may concern every pool
// (services/lifecycle/peers/catalogue_mirror.h).
void World::HearCatalogue() {
  if (options_.bug == Bug::kCatalogueUnheard) return;
  for (const std::string& name : PoolNames()) Due(name);
}

void World::HearStockAnew() {
  stock_.BeginSnapshot();
  for (const auto& [key, row] : cloud_.capacity.state().table<capacity::MachineRow>().rows())
    HearMachine(key);
  stock_.EndSnapshot(stock_moved_);
  TellStock();
}

void World::TellStock() {
  for (const auto& [zone, instance_type] : std::exchange(stock_moved_, {})) {
    const auto* pools = cloud_.lifecycle.state().PoolsShortOfCapacity(zone, instance_type);
    if (pools == nullptr || options_.bug == Bug::kStockUnheard) continue;
    for (const std::string& name : *pools) Due(name, absl::Milliseconds(200));
  }
}

}  // namespace muster::simulation
