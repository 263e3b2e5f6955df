#include "services/capacity/core/spot_book.h"

namespace muster::capacity {

namespace {

SpotRank RankBy(const std::string& pool_uid, const SpotHolding& holding) {
  return {holding.held, holding.reclaiming, holding.reclaimable.begin()->time, pool_uid};
}

}  // namespace

void SpotBook::Add(const MachineRow& machine, int64_t by) {
  if (machine.claim.empty() || machine.compute_class != ComputeClass::kSpot) return;
  SpotHolding& holding = holdings_[machine.claim];
  if (!holding.reclaimable.empty()) ranks_.erase(RankBy(machine.claim, holding));
  holding.held += by;
  if (machine.state == MachineState::kReclaiming) {
    holding.reclaiming += by;
    AddReclaim(machine, by);
  } else if (by > 0) {
    holding.reclaimable.insert({machine.state_time, machine.id});
  } else {
    holding.reclaimable.erase({machine.state_time, machine.id});
  }
  if (!holding.reclaimable.empty()) ranks_.insert(RankBy(machine.claim, holding));
  if (holding.held == 0) holdings_.erase(machine.claim);
}

SpotRank SpotBook::RankOf(const std::string& pool_uid) const {
  return RankBy(pool_uid, holdings_.at(pool_uid));
}

void SpotBook::AddReclaim(const MachineRow& machine, int64_t by) {
  const Reclaimed reclaim{machine.reclaim_time.value_or(absl::UnixEpoch()), machine.id};
  Reclaims& reclaims = reclaims_[machine.earmark];
  if (by > 0) {
    reclaims.insert(reclaim);
  } else {
    reclaims.erase(reclaim);
  }
  if (reclaims.empty()) reclaims_.erase(machine.earmark);
}

const Reclaims& SpotBook::ReclaimsFor(absl::string_view pool_uid) const {
  static const Reclaims* const kNone = new Reclaims();
  const auto it = reclaims_.find(pool_uid);
  return it == reclaims_.end() ? *kNone : it->second;
}

}  // namespace muster::capacity
