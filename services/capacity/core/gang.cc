#include "services/capacity/core/gang.h"

#include <algorithm>

#include "services/capacity/core/offer.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/turns.h"

namespace muster::capacity {
namespace {

// Racks that are, or could be, whole for the gang: enough of their machines in service match, and
// it holds none of them.
int64_t CountPossibleRacks(const Depot& depot, const ClaimRow& gang) {
  absl::btree_map<Depot::Place, int64_t> matching;
  for (const auto& [labels, machines] : depot.classes()) {
    if (!Matches(gang.affinity, labels)) continue;
    for (const auto& [fabric_name, fabric] : machines.fabrics) {
      for (const auto& [rack_name, rack] : fabric.racks)
        matching[{fabric_name, rack_name}] += rack.in_service;
    }
  }
  return std::count_if(matching.begin(), matching.end(), [&](const auto& entry) {
    const auto& [place, machines] = entry;
    const Rack& rack = depot.fabrics().find(place.first)->second.racks.find(place.second)->second;
    return machines >= depot.nodes_per_rack() && !place.second.empty() &&
           !rack.held.contains(gang.pool_uid);
  });
}

}  // namespace

int64_t CountOnOffer(const Depot& depot, const Choice& choice) {
  return depot.nodes_per_rack() == 0 ? CountFree(depot, choice)
                                     : CountWholeRacks(depot, choice) * depot.nodes_per_rack();
}

Choice ChoiceOf(const Affinity& affinity, const std::vector<KeptGang>& kept) {
  Choice choice{&affinity};
  for (const KeptGang& gang : kept) choice.kept.push_back(&gang.affinity);
  return choice;
}

int64_t CountElsewhere(const State& state, const Depot& depot, const ClaimRow& claim) {
  const Footprint& own = state.FootprintOf(claim.pool_uid);
  const int64_t matching = depot.Matching(claim.affinity).in_service();
  if (claim.affinity.empty()) return matching - own.held();
  return matching -
         std::count_if(own.machines.begin(), own.machines.end(), [&](const std::string& id) {
           return Matches(claim.affinity, state.FindMachine(id)->labels);
         });
}

Verdict Judge(const State& state, const Depot& depot, const Choice& choice, const ClaimRow& gang) {
  const int64_t outstanding = Outstanding(gang.parts);
  if (CountFree(depot, choice) >= outstanding) return Verdict::kGrant;
  return CountElsewhere(state, depot, gang) >= outstanding ? Verdict::kKeep : Verdict::kPass;
}

RackVerdict JudgeRacks(const State& state, const Depot& depot, const Choice& choice,
                       const ClaimRow& gang) {
  const int64_t outstanding = Outstanding(gang.parts);
  const int64_t size = depot.nodes_per_rack();
  // Nobody else may have these, so no gang ahead keeps them.
  const int64_t refill = static_cast<int64_t>(
      ChooseRefill(state, depot, Choice{&gang.affinity}, gang.pool_uid, outstanding).size());
  const int64_t racks = (outstanding - refill + size - 1) / size;
  if (racks * size > outstanding) return {Verdict::kPass, racks};
  if (CountWholeRacks(depot, choice) >= racks) return {Verdict::kGrant, racks};
  const bool possible = CountPossibleRacks(depot, gang) >= racks;
  return {possible ? Verdict::kKeep : Verdict::kPass, racks};
}

std::vector<KeptGang> KeptGangs(const State& state, const DepotKey& key) {
  std::vector<KeptGang> kept;
  const Depot* depot = state.FindDepot(key);
  if (depot == nullptr || depot->free() == 0) return kept;
  const auto offered = [&](ComputeClass compute_class) {
    return OfferOf(state, key.first, key.second, compute_class) == Offer::kOffered;
  };
  Turns turns;
  for (const auto& [selector, line] : depot->queue().lines()) {
    if (selector.gang && CountOnOffer(*depot, Choice{&selector.affinity}) > 0)
      turns.Open(depot->queue(), selector, nullptr);
  }
  while (const std::optional<Turn> turn = turns.Next()) {
    const Choice choice = ChoiceOf(turn->selector.affinity, kept);
    const int64_t on_offer = CountOnOffer(*depot, choice);
    if (on_offer == 0 || !offered(turn->key.compute_class)) continue;
    const ClaimRow& gang = *state.FindClaim(turn->key.pool_uid);
    const Verdict verdict = depot->nodes_per_rack() == 0
                                ? Judge(state, *depot, choice, gang)
                                : JudgeRacks(state, *depot, choice, gang).verdict;
    if (verdict == Verdict::kKeep) {
      kept.push_back({turn->key, turn->selector.affinity, on_offer});
    } else {
      turns.Open(depot->queue(), turn->selector, &turn->key);
    }
  }
  return kept;
}

}  // namespace muster::capacity
