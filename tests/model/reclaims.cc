#include <algorithm>
#include <utility>

#include "services/capacity/core/limits.h"
#include "tests/model/round.h"

// What is reclaimed from spot, and what is not.
namespace muster::model {

bool Round::DrainBegan(const Machine& machine) const {
  return now_ >= *machine.reclaim_time + capacity::kSpotNotice;
}

Round::Ids Round::ComingFor(const Claim& claim) const {
  Ids ids;
  for (const auto& [id, machine] : books_.machines) {
    if (machine.state == MachineState::kReclaiming && Takes(claim.affinity, machine.labels) &&
        missed_.count(id) + kept_.count(id) == 0)
      ids.push_back(id);
  }
  return ids;
}

Round::Ids Round::VictimsFor(const Claim& claim) const {
  Ids ids;
  for (const auto& [id, machine] : books_.machines) {
    if (machine.state == MachineState::kHeld && Takes(claim.affinity, machine.labels) &&
        books_.claims.at(machine.claim).compute_class == ComputeClass::kSpot &&
        kept_.count(id) == 0)
      ids.push_back(id);
  }
  return ids;
}

// "A reclaim is taken back (before the drain began) as soon as nobody is short by it" (12).
void Round::TakeBack() {
  for (auto& [id, machine] : books_.machines) {
    if (machine.state != MachineState::kReclaiming || missed_.count(id) > 0) continue;
    if (DrainBegan(machine)) continue;
    machine.state = MachineState::kHeld;
    machine.reclaim_time.reset();
    ++books_.claims.at(machine.claim).reclaim_generation;
  }
}

// "When a default claim is short, spot machines are reclaimed ... only as many as are missing" (5).
void Round::Fetch(const Claim& claim, int64_t nodes) {
  for (; nodes > 0 && ComingFor(claim).size() + VictimsFor(claim).size() > 0; --nodes) {
    const std::string id = ChooseToCome(claim);
    missed_.insert(id);
    Machine& machine = books_.machines.at(id);
    if (machine.state == MachineState::kReclaiming) continue;
    machine.state = MachineState::kReclaiming;
    machine.reclaim_time = now_;
    ++books_.claims.at(machine.claim).reclaim_generation;
  }
}

std::string Round::ChooseToCome(const Claim& claim) const {
  Ids ids = ComingFor(claim);
  for (const std::string& id : VictimsFor(claim)) ids.push_back(id);
  const auto machine = [this](const std::string& id) -> const Machine& {
    return books_.machines.at(id);
  };
  // "... that the fewest waiting affinities match; so do reclaims" (12).
  KeepLeast(ids,
            [&](const std::string& id) { return WaitingAffinities(claim, machine(id), true); });
  // What comes already; first what cannot be taken back.
  KeepLeast(ids, [&](const std::string& id) {
    if (machine(id).state == MachineState::kHeld) return 2;
    return DrainBegan(machine(id)) ? 0 : 1;
  });
  // "Spread by share over spot pools, newest within a pool" (12). "Taken back first: what was held
  // longest": so what is held longest is the last to be missed.
  if (machine(ids[0]).state == MachineState::kHeld)
    KeepLeast(ids, [&](const std::string& id) { return ShareLost(machine(id).claim); });
  if (machine(ids[0]).state == MachineState::kHeld) {
    const std::string pool = machine(SoReclaimed(claim, ids)).claim;
    // Pools of the same share: the text does not say which is first.
    KeepLeast(ids, [&](const std::string& id) { return machine(id).claim == pool ? 0 : 1; });
  }
  KeepLeast(ids, [&](const std::string& id) { return absl::UnixEpoch() - machine(id).held_since; });
  return SoReclaimed(claim, ids);
}

std::string Round::SoReclaimed(const Claim& claim, Ids ids) const {
  // Those with the same labels stand in for each other: which is for whom may change.
  const auto for_claim = [&](const auto& labels) {
    return std::any_of(guide_.begin(), guide_.end(), [&](const auto& after) {
      return after.second.earmark == claim.uid && after.second.labels == labels;
    });
  };
  KeepLeast(ids, [&](const std::string& id) {
    const auto after = guide_.find(id);
    if (after == guide_.end() || !after->second.reclaim_time.has_value()) return 2;
    return for_claim(after->second.labels) ? 0 : 1;
  });
  return ids[0];
}

// How much of it the pool will have lost with one machine more, in parts of a million.
int64_t Round::ShareLost(const std::string& uid) const {
  int64_t held = 0;
  int64_t lost = 1;
  for (const auto& [id, machine] : books_.machines) {
    if (machine.claim != uid) continue;
    ++held;
    if (machine.state == MachineState::kReclaiming) ++lost;
  }
  return 1'000'000 * lost / held;
}

}  // namespace muster::model
