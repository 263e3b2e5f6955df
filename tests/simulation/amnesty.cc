#include "tests/simulation/amnesty.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/released_pool.h"
#include "tests/simulation/peers.h"

namespace muster::simulation {
namespace {

using lifecycle::Difference;
using lifecycle::DifferenceKind;

// Calls f(uid, lost row or null, row or null) for every row that is not what it was.
template <class Row, class State, class F>
void ForEachLost(const State& lost, const State& now, F f) {
  for (const auto& [key, row] : lost.template table<Row>().rows()) {
    const Row* left = now.template table<Row>().Find(key);
    if (left == nullptr || !(*left == *row.row)) f(row.row.get(), left);
  }
  for (const auto& [key, row] : now.template table<Row>().rows()) {
    if (lost.template table<Row>().Find(key) == nullptr)
      f(static_cast<const Row*>(nullptr), row.row.get());
  }
}

// Calls f(released pool) for those that were released in the lost future.
template <class State, class F>
void ForEachReleased(const State& lost, const State& now, F f) {
  for (const auto& [uid, row] : lost.template table<ReleasedPool>().rows()) {
    if (FindReleased(now, uid) == nullptr) f(*row.row);
  }
}

// What is known again is haunted no more.
template <class State>
void Lay(const State& state, std::set<std::string>& uids) {
  std::erase_if(uids, [&](const std::string& uid) { return FindReleased(state, uid) != nullptr; });
}

}  // namespace

int64_t Amnesty::VersionOf(const std::string& uid) const {
  const lifecycle::State& state = cloud_.lifecycle.state();
  const lifecycle::Pool* pool = state.FindPoolByUid(uid);
  return pool == nullptr ? 0 : state.table<lifecycle::Pool>().FindVersioned(pool->name)->revision;
}

void Amnesty::Owe(Debts& debts, const std::string& uid, int64_t generation) const {
  Debt& debt = debts[uid];
  debt = {std::max(debt.generation, generation), VersionOf(uid)};
}

void Amnesty::NoteReleased(const ReleasedPool& pool) {
  int64_t& newest = released_[pool.pool_uid];
  newest = std::max(newest, pool.generation);
}

void Amnesty::Forgot(const lifecycle::State& lost) {
  // Nothing of what was planned before is carried out.
  for (Debts* debts : {&quota_, &capacity_, &lifecycle_}) {
    for (auto& [uid, debt] : *debts) debt.version = 0;
  }
  const lifecycle::State& now = cloud_.lifecycle.state();
  const auto owe = [&](const std::string& uid) {
    const lifecycle::Pool* future = lost.FindPoolByUid(uid);
    const lifecycle::Pool* pool = now.FindPoolByUid(uid);
    // One that was released meanwhile owes what it is, and is released again.
    Owe(lifecycle_, uid,
        std::max({future == nullptr ? 0 : future->account.generation,
                  pool == nullptr ? 0 : pool->account.generation, released_[uid]}));
  };
  ForEachLost<lifecycle::Pool>(lost, now, [&](const auto* future, const auto* pool) {
    if (pool != nullptr) owe(pool->uid);
    if (future == nullptr || (pool != nullptr && pool->uid == future->uid)) return;
    holdings_.insert(future->uid);
    claims_.insert(future->uid);
    configurations_.insert(future->uid);
  });
  ForEachLost<lifecycle::Node>(lost, now, [&](const auto* future, const auto* node) {
    owe(node == nullptr ? future->pool_uid : node->pool_uid);
  });
}

void Amnesty::Forgot(const quota::State& lost) {
  const quota::State& now = cloud_.quota.state();
  ForEachLost<quota::Holding>(lost, now, [&](const auto* future, const auto* holding) {
    Owe(quota_, future == nullptr ? holding->pool_uid : future->pool_uid,
        future == nullptr ? holding->generation : future->generation);
  });
  ForEachReleased(lost, now, [&](const ReleasedPool& pool) {
    holdings_.insert(pool.pool_uid);
    NoteReleased(pool);
    if (VersionOf(pool.pool_uid) > 0) Owe(quota_, pool.pool_uid, pool.generation);
  });
}

void Amnesty::Forgot(const capacity::State& lost) {
  const capacity::State& now = cloud_.capacity.state();
  const auto owe = [&](const std::string& uid) {
    const capacity::ClaimRow* future = lost.FindClaim(uid);
    const capacity::ClaimRow* claim = now.FindClaim(uid);
    Owe(capacity_, uid,
        std::max(future == nullptr ? 0 : future->generation,
                 claim == nullptr ? 0 : claim->generation));
  };
  ForEachLost<capacity::ClaimRow>(lost, now, [&](const auto* future, const auto* claim) {
    owe(future == nullptr ? claim->pool_uid : future->pool_uid);
  });
  ForEachLost<capacity::MachineRow>(lost, now, [&](const auto* future, const auto* machine) {
    if (future != nullptr && !future->claim.empty()) owe(future->claim);
    if (machine != nullptr && !machine->claim.empty()) owe(machine->claim);
  });
  ForEachReleased(lost, now, [&](const ReleasedPool& pool) {
    claims_.insert(pool.pool_uid);
    NoteReleased(pool);
    if (VersionOf(pool.pool_uid) > 0) Owe(capacity_, pool.pool_uid, pool.generation);
  });
}

void Amnesty::Forgot(const configuration::State& lost) {
  ForEachReleased(lost, cloud_.configuration.state(),
                  [&](const ReleasedPool& pool) { configurations_.insert(pool.pool_uid); });
}

bool Amnesty::Excuses(const Difference& difference) const {
  const std::string& uid = difference.pool_uid;
  switch (difference.kind) {
    case DifferenceKind::kOrphanHolding:
      return holdings_.contains(uid);
    case DifferenceKind::kOrphanClaim:
      return claims_.contains(uid);
    case DifferenceKind::kOrphanConfiguration:
      return configurations_.contains(uid);
    case DifferenceKind::kUndercharged:
      return Owes(uid);
    case DifferenceKind::kOverheld:
    case DifferenceKind::kNodeWithoutMachine:
      return OwesCapacity(uid) || OwesLifecycle(uid);
    case DifferenceKind::kForeignKey:
    case DifferenceKind::kOvercharged:
    case DifferenceKind::kMachineWithoutNode:
    case DifferenceKind::kMachineTwice:
    case DifferenceKind::kNoConfiguration:
      return false;
  }
  return false;
}

bool Amnesty::IsGhost(const std::string& uid) const {
  return holdings_.contains(uid) || claims_.contains(uid) || configurations_.contains(uid);
}

bool Amnesty::MayHaunt() const {
  return !holdings_.empty() || !claims_.empty() || !configurations_.empty();
}

bool Amnesty::IsFenced(const std::string& uid, int64_t quota, int64_t capacity) const {
  const lifecycle::Pool* pool = cloud_.lifecycle.state().FindPoolByUid(uid);
  if (pool == nullptr) return true;
  const quota::Holding* holding = cloud_.quota.state().table<quota::Holding>().Find(
      absl::StrCat(QuotaOf(*pool), "/holdings/", uid));
  const capacity::ClaimRow* claim = cloud_.capacity.state().FindClaim(uid);
  return (holding == nullptr ? 0 : holding->generation) >= quota &&
         (claim == nullptr ? 0 : claim->generation) >= capacity;
}

void Amnesty::End(const std::vector<Difference>& differences) {
  Lay(cloud_.quota.state(), holdings_);
  Lay(cloud_.capacity.state(), claims_);
  Lay(cloud_.configuration.state(), configurations_);
  if (lifecycle_.empty() && quota_.empty() && capacity_.empty()) return;
  std::set<std::string> uneven;
  for (const Difference& difference : differences) {
    if (!difference.passing) uneven.insert(difference.pool_uid);
  }
  for (const auto& [name, pool] : cloud_.lifecycle.state().table<lifecycle::Pool>().rows()) {
    const lifecycle::PoolAccount& account = pool.row->account;
    if (account.requested_nodes > account.granted_nodes) uneven.insert(pool.row->uid);
  }
  const auto end = [&](Debts& debts, auto is_fenced) {
    std::erase_if(debts, [&](const auto& debt) {
      const auto& [uid, owed] = debt;
      return !uneven.contains(uid) && VersionOf(uid) != owed.version &&
             is_fenced(uid, owed.generation);
    });
  };
  end(quota_, [&](const std::string& uid, int64_t known) { return IsFenced(uid, known, 0); });
  end(capacity_, [&](const std::string& uid, int64_t known) { return IsFenced(uid, 0, known); });
  // The newest request of a lost future may still come, and is obeyed by who knows none newer.
  end(lifecycle_,
      [&](const std::string& uid, int64_t known) { return IsFenced(uid, known + 1, known + 1); });
}

}  // namespace muster::simulation
