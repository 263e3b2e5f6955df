#include "tests/model/model.h"

#include <algorithm>
#include <utility>

namespace muster::model {

bool Model::Register(const std::vector<capacity::MachineRow>& machines) {
  bool changed = false;
  for (const capacity::MachineRow& row : machines) {
    changed |= books_.machines.count(row.id) == 0 || books_.machines[row.id].labels != row.labels;
    Machine& machine = books_.machines[row.id];
    machine.id = row.id;
    machine.fabric = row.fabric;
    machine.rack = row.rack;
    machine.labels = row.labels;
  }
  return changed;
}

bool Model::SetState(const std::string& id, MachineState wanted) {
  const auto it = books_.machines.find(id);
  if (it == books_.machines.end() || !it->second.claim.empty()) return false;
  if (it->second.state == MachineState::kRetired || it->second.state == wanted) return false;
  it->second.state = wanted;
  return true;
}

bool Model::SetOffer(bool offered, bool spot_offered) {
  const bool changed = books_.offered != offered || books_.spot_offered != spot_offered;
  books_.offered = offered;
  books_.spot_offered = spot_offered;
  return changed;
}

bool Model::IsOverdue(absl::Time now, const Terms& terms) const {
  // What is free can be had, and what spot holds can be reclaimed.
  const bool anything =
      std::any_of(books_.machines.begin(), books_.machines.end(), [&](const auto& entry) {
        const auto claim = books_.claims.find(entry.second.claim);
        return entry.second.state == MachineState::kFree ||
               (claim != books_.claims.end() && claim->second.compute_class == ComputeClass::kSpot);
      });
  for (const auto& [uid, claim] : books_.claims) {
    if (claim.compute_class == ComputeClass::kSpot) continue;
    for (const Request& request : claim.requests) {
      if (anything && AtOnce(books_, claim, request) && request.time <= now - terms.gang_keep)
        return true;
    }
  }
  return false;
}

void Model::GiveBack(Claim& claim, const capacity::MachineReturn& given) {
  const auto it = books_.machines.find(given.machine);
  if (it == books_.machines.end() || it->second.claim != claim.uid) return;
  Machine& machine = it->second;
  const bool broken = given.reason == capacity::ReturnReason::kBroken;
  // "A machine lost to repair is re-requested with its old age" (5).
  if (broken) AddRequest(claim, machine.request_time, 1, machine.place_time);
  if (broken) claim.lost.insert(machine.request_time);
  machine.state = broken ? MachineState::kInRepair : MachineState::kFree;
  machine.claim.clear();
  machine.reclaim_time.reset();
}

// "A raise is a new request of its own, ... with its own time" (12).
absl::Time Model::AskedAlone(const Claim& claim, absl::Time time) const {
  const auto is_known = [&] {
    return std::any_of(claim.requests.begin(), claim.requests.end(),
                       [&](const Request& request) { return request.time == time; }) ||
           std::any_of(books_.machines.begin(), books_.machines.end(), [&](const auto& entry) {
             return entry.second.claim == claim.uid && entry.second.request_time == time;
           });
  };
  while (claim.gang && is_known()) time += absl::Microseconds(1);
  return time;
}

bool Model::Sync(const std::vector<capacity::SyncClaim>& claims, absl::Time now) {
  bool changed = false;
  absl::Time next = now;
  for (const capacity::SyncClaim& asked : claims) {
    // "A batch is one decision, its order decides among equal times" (12).
    const absl::Time time = std::exchange(next, next + absl::Microseconds(1));
    Claim& claim = books_.claims[asked.pool_uid];
    if (claim.generation == asked.generation) continue;  // twice has the effect of one
    changed = true;
    claim.uid = asked.pool_uid;
    claim.organization = asked.organization;
    claim.generation = asked.generation;
    claim.compute_class = asked.compute_class;
    claim.priority = asked.priority;
    claim.affinity = asked.affinity;
    claim.gang = asked.gang;
    claim.nodes = asked.nodes;
    for (const capacity::MachineReturn& given : asked.returns) GiveBack(claim, given);
    const int64_t wanted = std::max<int64_t>(0, claim.nodes - Held(books_, claim));
    const int64_t outstanding = Outstanding(claim);
    // One that gives machines back, and is not to get them again at once, keeps what it waits for.
    claim.rests = outstanding > 0 && asked.wanted_nodes > asked.nodes;
    const int64_t kept = claim.rests ? asked.wanted_nodes - Held(books_, claim) : wanted;
    if (outstanding > kept) CancelYoungest(claim, outstanding - kept);
    if (outstanding < wanted) {
      const absl::Time alone = AskedAlone(claim, time);
      AddRequest(claim, alone, wanted - outstanding, alone);
    }
    if (asked.release) books_.claims.erase(asked.pool_uid);
  }
  return changed;
}

}  // namespace muster::model
