#include "services/capacity/core/reclaim.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "services/capacity/core/gang.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/core/machine_state.h"
#include "services/capacity/core/offer.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/turns.h"
#include "services/capacity/core/victims.h"

namespace muster::capacity {
namespace {

// Whether machines of the depot are reclaimed for those who wait: not from types that are granted
// in whole racks.
bool CanReclaim(const State& state, const DepotKey& key, const Depot& depot) {
  return depot.nodes_per_rack() == 0 &&
         OfferOf(state, key.first, key.second, ComputeClass::kDefault) == Offer::kOffered;
}

class Reclaimer {
 public:
  Reclaimer(Overlay<State>& overlay, const DepotKey& key, const Depot& depot, absl::Time now)
      : overlay_(overlay), depot_(depot), now_(now), kept_(KeptGangs(overlay.state(), key)) {}

  void Loosen() {
    for (const Reclaimed& reclaim : depot_.spot().ReclaimsFor("")) loose_.insert(reclaim);
    for (const std::string& uid : depot_.spot().surplus()) LoosenOf(uid);
    for (const KeptGang& gang : kept_) LoosenOf(gang.key.pool_uid);
  }

  void Cover() {
    Turns turns(true);
    for (const auto& [selector, line] : depot_.queue().lines()) {
      if (line.Total().uncovered > 0 && CountMatching(selector.affinity) > 0)
        turns.Open(depot_.queue(), selector, nullptr);
    }
    while (const std::optional<Turn> turn = turns.Next()) {
      const int64_t missing = turn->nodes - KeptFor(turn->key.pool_uid);
      const int64_t matching = CountMatching(turn->selector.affinity);
      const bool gang = turn->selector.gang;
      const int64_t nodes = gang && matching < missing ? 0 : std::min(missing, matching);
      for (int64_t i = 0; i < nodes; ++i) EarmarkOne(*turn);
      if (matching > nodes || gang)
        turns.Open(depot_.queue(), turn->selector, gang ? &turn->key : nullptr);
    }
  }

  void Settle() {
    for (const Reclaimed& reclaim : loose_) {
      MachineRow machine = *overlay_.state().FindMachine(reclaim.machine);
      machine.earmark.clear();
      if (now_ < reclaim.time + kSpotNotice) {
        machine.state = Next(machine.state, MachineEvent::kReclaimCancelled).value();
        machine.reclaim_time.reset();
        ++told_[machine.claim];
      }
      overlay_.Put(std::move(machine));
    }
    for (const auto& [uid, changes] : told_) {
      ClaimRow claim = *overlay_.state().FindClaim(uid);
      claim.reclaim_generation += changes;
      overlay_.Put(std::move(claim));
    }
  }

 private:
  int64_t KeptFor(const std::string& uid) const {
    for (const KeptGang& gang : kept_) {
      if (gang.key.pool_uid == uid) return gang.nodes;
    }
    return 0;
  }

  // What the claim has earmarked beyond what it misses.
  void LoosenOf(const std::string& uid) {
    const ClaimRow* claim = overlay_.state().FindClaim(uid);
    const int64_t outstanding = claim == nullptr ? 0 : Outstanding(claim->parts);
    const int64_t missing = std::max<int64_t>(0, outstanding - KeptFor(uid));
    const Reclaims& reclaims = depot_.spot().ReclaimsFor(uid);
    int64_t surplus = static_cast<int64_t>(reclaims.size()) - missing;
    for (auto it = reclaims.rbegin(); it != reclaims.rend() && surplus > 0; ++it, --surplus)
      loose_.insert(*it);
  }

  bool MatchesLoose(const Affinity& affinity, const Reclaimed& reclaim) const {
    return affinity.empty() ||
           Matches(affinity, overlay_.state().FindMachine(reclaim.machine)->labels);
  }

  // Machines that could be had for a claim.
  int64_t CountMatching(const Affinity& affinity) const {
    return depot_.Matching(affinity).reclaimable +
           std::count_if(loose_.begin(), loose_.end(),
                         [&](const Reclaimed& reclaim) { return MatchesLoose(affinity, reclaim); });
  }

  // There is a machine to be had.
  void EarmarkOne(const Turn& turn) {
    const Affinity& affinity = turn.selector.affinity;
    const auto loose = std::find_if(loose_.begin(), loose_.end(), [&](const Reclaimed& reclaim) {
      return MatchesLoose(affinity, reclaim);
    });
    const bool taken_over = loose != loose_.end();
    MachineRow machine =
        *overlay_.state().FindMachine(taken_over ? loose->machine : *NextVictim(depot_, affinity));
    machine.earmark = turn.key.pool_uid;
    if (taken_over) {
      loose_.erase(loose);
    } else {
      machine.state = Next(machine.state, MachineEvent::kReclaimed).value();
      machine.reclaim_time = now_;
      ++told_[machine.claim];
    }
    overlay_.Put(std::move(machine));
  }

  Overlay<State>& overlay_;
  const Depot& depot_;
  const absl::Time now_;
  const std::vector<KeptGang> kept_;
  Reclaims loose_;                       // being reclaimed, for nobody that needs them
  std::map<std::string, int64_t> told_;  // spot claim → reclaims begun and taken back
};

}  // namespace

void Reclaim(Overlay<State>& overlay, const DepotKey& key, absl::Time now) {
  const Depot* depot = overlay.state().FindDepot(key);
  if (depot == nullptr || depot->spot().holdings().empty()) return;
  const bool reclaims = CanReclaim(overlay.state(), key, *depot);
  const bool may_cover =
      reclaims && (depot->counts().reclaimable > 0 || !depot->spot().ReclaimsFor("").empty() ||
                   !depot->spot().surplus().empty());
  if (!may_cover && depot->spot().reclaims().empty()) return;
  Reclaimer reclaimer(overlay, key, *depot, now);
  reclaimer.Loosen();
  if (reclaims) reclaimer.Cover();
  reclaimer.Settle();
}

std::map<std::string, std::vector<std::string>> FindHandovers(const State& state,
                                                              const SyncClaim& command) {
  std::map<std::string, std::vector<std::string>> handovers;
  if (command.compute_class != ComputeClass::kSpot || command.returns.empty()) return handovers;
  const DepotKey key{command.zone, command.instance_type};
  const Depot* depot = state.FindDepot(key);
  if (depot == nullptr || !CanReclaim(state, key, *depot)) return handovers;
  for (const MachineReturn& given : command.returns) {
    const MachineRow* machine = state.FindMachine(given.machine);
    if (machine == nullptr || machine->claim != command.pool_uid || machine->earmark.empty() ||
        given.reason == ReturnReason::kBroken) {
      continue;
    }
    std::vector<std::string>& ids = handovers[machine->earmark];
    if (std::find(ids.begin(), ids.end(), machine->id) == ids.end()) ids.push_back(machine->id);
  }
  for (auto it = handovers.begin(); it != handovers.end();) {
    auto& [uid, ids] = *it;
    const ClaimRow* heir = state.FindClaim(uid);
    const size_t outstanding = heir == nullptr ? 0 : static_cast<size_t>(Outstanding(heir->parts));
    if (ids.size() > outstanding) ids.resize(outstanding);
    const bool stays = ids.empty() || (heir->gang && ids.size() < outstanding);
    it = stays ? handovers.erase(it) : std::next(it);
  }
  return handovers;
}

bool EarmarkHolds(const State& state, const MachineRow& machine) {
  if (machine.earmark.empty()) return true;
  const ClaimRow* claim = state.FindClaim(machine.earmark);
  return claim != nullptr && Matches(claim->affinity, machine.labels);
}

void DropStaleEarmarks(Overlay<State>& overlay, const ClaimRow& claim) {
  const Depot* depot = overlay.state().FindDepot({claim.zone, claim.instance_type});
  if (depot == nullptr) return;
  const Reclaims reclaims = depot->spot().ReclaimsFor(claim.pool_uid);
  for (const Reclaimed& reclaim : reclaims) {
    MachineRow machine = *overlay.state().FindMachine(reclaim.machine);
    if (EarmarkHolds(overlay.state(), machine)) continue;
    machine.earmark.clear();
    overlay.Put(std::move(machine));
  }
}

}  // namespace muster::capacity
