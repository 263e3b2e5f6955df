#include "services/capacity/core/gang.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "services/capacity/core/limits.h"
#include "services/capacity/core/offer.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/turns.h"

namespace muster::capacity {
namespace {

// What a claim can reach beyond what it holds.
struct Reach {
  int64_t machines = 0;  // single ones: any, or those that complete racks of its own
  int64_t racks = 0;     // that are, or could be, whole for it
  int64_t spares = 0;    // of `machines`: beyond racks of its own that are complete
};

const Rack* FindRack(const Inventory& inventory, const Inventory::Place& place) {
  const auto fabric = inventory.fabrics().find(place.first);
  if (fabric == inventory.fabrics().end()) return nullptr;
  const auto rack = fabric->second.racks.find(place.second);
  return rack == fabric->second.racks.end() ? nullptr : &rack->second;
}

int64_t HeldBy(const std::string& pool_uid, const Holders& holders) {
  const auto held = holders.find(pool_uid);
  return held == holders.end() ? 0 : held->second;
}

int64_t CountOwnMatching(const State& state, const Inventory& inventory, const ClaimRow& claim) {
  if (claim.affinity.empty()) return state.FootprintOf(claim.pool_uid).held();
  int64_t count = 0;
  for (const auto& machines : inventory.classes()) {
    if (inventory.Matches(claim.affinity, machines))
      count += HeldBy(claim.pool_uid, machines.second.held);
  }
  return count;
}

// Machines that stand in no rack do not count.
int64_t CountOwnMatchingInRacks(const State& state, const ClaimRow& claim) {
  const Footprint& own = state.FootprintOf(claim.pool_uid);
  return std::count_if(own.machines.begin(), own.machines.end(), [&](const MachineRow* machine) {
    return Matches(claim.affinity, machine->labels) && !machine->rack.empty();
  });
}

Reach ReachOfRacks(const State& state, const Inventory& inventory, const ClaimRow& claim) {
  const int64_t size = inventory.nodes_per_rack();
  Reach reach;
  for (const auto& [place, machines] : CountByRack(inventory, claim.affinity)) {
    if (place.second.empty()) continue;
    const Rack* rack = FindRack(inventory, place);
    const int64_t own = rack == nullptr ? 0 : HeldBy(claim.pool_uid, rack->held);
    if (own > 0) {
      reach.machines += machines;
      // Beyond what it holds of a rack, and has lost of it.
      reach.spares += std::max<int64_t>(0, machines - std::max(own, size));
    } else if (machines >= size) {
      ++reach.racks;
    }
  }
  reach.machines -= CountOwnMatchingInRacks(state, claim);
  return reach;
}

Reach ReachOf(const State& state, const Inventory& inventory, const ClaimRow& claim) {
  if (inventory.nodes_per_rack() > 0) return ReachOfRacks(state, inventory, claim);
  const MachineCounts matching = inventory.Matching(claim.affinity);
  return {matching.in_service() + matching.count(MachineState::kInRepair) -
              CountOwnMatching(state, inventory, claim) + CountLeaving(state, inventory, claim),
          0};
}

// What an at-once part of so many Nodes takes.
Reach NeedOf(const Inventory& inventory, int64_t nodes) {
  const int64_t size = inventory.nodes_per_rack();
  return size == 0 ? Reach{nodes, 0} : Reach{nodes % size, nodes / size};
}

bool IsEnough(const Reach& reach, const Reach& need) {
  return reach.machines >= need.machines && reach.racks >= need.racks;
}

// Whether so much is enough for the part: for all of it if it is at once, else for one Node.
bool IsEnoughFor(const Inventory& inventory, const ClaimRow& claim, const ClaimPart& part,
                 const Ages& ages, const Reach& reach) {
  if (IsAtOnce(claim, part, ages)) return IsEnough(reach, NeedOf(inventory, part.nodes));
  // Requests of a claim that is no gang make up racks together.
  const int64_t nodes = claim.gang ? part.nodes : Outstanding(claim.parts);
  const Reach all = NeedOf(inventory, nodes);
  // A rack's worth is not broken up for a spare (ChooseRefill).
  const int64_t machines = reach.machines - (all.machines > 0 ? 0 : reach.spares);
  return machines > 0 || (all.racks > 0 && reach.racks > 0);
}

// Whether so many free machines are enough for a gang that rests, or become so by what is reclaimed
// for it. Then spot has none of them.
bool HasEnough(const Inventory& inventory, const Turn& turn, int64_t free) {
  return free >= turn.nodes || inventory.spot().CoveredFor(turn.key.pool_uid) > 0;
}

// The gang at its turn, if it keeps what is eligible.
std::optional<KeptGang> Kept(const State& state, const Inventory& inventory,
                             const EligibleMachines& eligible, const Turn& turn) {
  const ClaimRow& claim = *state.FindClaim(turn.key.pool_uid);
  KeptGang gang{turn.position(), turn.selector.affinity, CountOnOffer(inventory, eligible)};
  if (inventory.nodes_per_rack() > 0) gang.racks = WholeRacksOf(inventory, eligible);
  gang.lent = inventory.nodes_per_rack() > 0 || !HasEnough(inventory, turn, gang.nodes);
  // No whole rack completes what wants none.
  const bool of_use = turn.nodes >= inventory.nodes_per_rack();
  const bool keeps =
      of_use && (!gang.lent || CanEverBeMet(state, inventory, claim, {turn.key.request_time, 0}));
  return keeps ? std::optional(std::move(gang)) : std::nullopt;
}

// How many machines an at-once part misses beside what is free for it. `kept`: KeptGangs.
int64_t CountMissing(const Inventory& inventory, const ClaimRow& claim, const ClaimPart& part,
                     const std::vector<KeptGang>& kept) {
  const Position position = inventory.queue().PositionOf(claim, part);
  std::vector<KeptGang> ahead;
  std::copy_if(kept.begin(), kept.end(), std::back_inserter(ahead),
               [&](const KeptGang& gang) { return !gang.overdue && gang.position < position; });
  const int64_t free = CountFree(inventory, EligibleMachinesOf(claim.affinity, ahead));
  return std::max<int64_t>(0, part.nodes - free);
}

// Whether the request of a gang waits for more than comes for it. Of what comes for the claim its
// older requests have theirs first; those that asked at `keeps_after` or before come last.
bool Blocks(const State& state, const Inventory& inventory, const ClaimRow& claim,
            absl::Time request_time, const std::vector<KeptGang>& kept, absl::Time keeps_after) {
  const Ages& ages = state.FootprintOf(claim.pool_uid).ages;
  int64_t covered = inventory.spot().CoveredFor(claim.pool_uid);
  for (const ClaimPart& part : PartsInQueue(claim)) {
    if (part.request_time == request_time) {
      return covered < CountMissing(inventory, claim, part, kept) &&
             CanEverBeMet(state, inventory, claim, part);
    }
    if (covered == 0) continue;
    const bool at_once = IsAtOnce(claim, part, ages);
    if (at_once && part.request_time <= keeps_after) continue;
    const int64_t missing =
        at_once ? CountMissing(inventory, claim, part, kept) : std::min(part.nodes, covered);
    if (missing <= covered) covered -= missing;
  }
  return false;
}

// A claim at its turn that keeps free machines from spot only, and how many gangs ahead of it keep
// some from default claims.
struct FromSpot {
  Turn turn = {};
  size_t ahead = 0;
};

// What is free for it, once spot has none of what `kept` promises; nullopt: that is nothing, or, of
// a gang, not enough with what comes for it.
std::optional<KeptGang> KeptFromSpot(const Inventory& inventory, const FromSpot& claim,
                                     const std::vector<KeptGang>& kept) {
  const Turn& turn = claim.turn;
  std::vector<KeptGang> others;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (i < claim.ahead || !kept[i].lent) others.push_back(kept[i]);
  }
  KeptGang gang{turn.position(), turn.selector.affinity,
                CountFree(inventory, EligibleMachinesOf(turn.selector.affinity, others))};
  gang.overdue = true;
  gang.single = !turn.selector.gang;
  const bool keeps = gang.nodes > 0 && (gang.single || HasEnough(inventory, turn, gang.nodes));
  return keeps ? std::optional(std::move(gang)) : std::nullopt;
}

// For whose default claims something may be kept. Spot has nothing of types in whole racks, so that
// gangs alone keep any of these.
std::set<Selector> Open(const Inventory& inventory) {
  std::set<Selector> open;
  for (const auto& [selector, line] : inventory.queue().lines()) {
    const bool keeps = std::get<ComputeClass>(*line.begin()) == ComputeClass::kDefault &&
                       (selector.gang || inventory.nodes_per_rack() == 0);
    if (keeps && CountOnOffer(inventory, EligibleMachines{&selector.affinity}) > 0)
      open.insert(selector);
  }
  return open;
}

}  // namespace

int64_t CountOnOffer(const Inventory& inventory, const EligibleMachines& eligible) {
  return inventory.nodes_per_rack() == 0
             ? CountFree(inventory, eligible)
             : CountWholeRacks(inventory, eligible) * inventory.nodes_per_rack();
}

EligibleMachines EligibleMachinesOf(const Affinity& affinity, const std::vector<KeptGang>& kept) {
  EligibleMachines eligible{&affinity};
  for (const KeptGang& gang : kept) {
    if (gang.racks.empty())
      eligible.kept.push_back(&gang.affinity);
    else
      eligible.racks.push_back(&gang.racks);
  }
  return eligible;
}

absl::btree_map<Inventory::Place, int64_t> CountByRack(const Inventory& inventory,
                                                       const Affinity& affinity) {
  absl::btree_map<Inventory::Place, int64_t> matching;
  for (const auto& machines : inventory.classes()) {
    if (!inventory.Matches(affinity, machines)) continue;
    for (const auto& [fabric_name, fabric] : machines.second.fabrics) {
      for (const auto& [rack_name, rack] : fabric.racks)
        matching[{fabric_name, rack_name}] += rack.in_service + rack.in_repair;
    }
  }
  return matching;
}

int64_t CountElsewhere(const State& state, const Inventory& inventory, const ClaimRow& claim) {
  return inventory.Matching(claim.affinity).in_service() -
         CountOwnMatching(state, inventory, claim);
}

int64_t CountLeaving(const State& state, const Inventory& inventory, const ClaimRow& claim) {
  if (claim.leaving_nodes == 0 || claim.leaving_generation != claim.generation) return 0;
  return std::min(claim.leaving_nodes, CountOwnMatching(state, inventory, claim));
}

bool CanEverBeMet(const State& state, const Inventory& inventory, const ClaimRow& claim,
                  const ClaimPart& part) {
  const Ages& ages = state.FootprintOf(claim.pool_uid).ages;
  Reach reach = ReachOf(state, inventory, claim);
  for (const ClaimPart& one : PartsInQueue(claim)) {
    if (one.request_time == part.request_time)
      return IsEnoughFor(inventory, claim, one, ages, reach);
    const Reach need = NeedOf(inventory, one.nodes);
    if (!IsAtOnce(claim, one, ages) || !IsEnough(reach, need)) continue;
    reach.machines -= need.machines;
    reach.racks -= need.racks;
  }
  return false;
}

void JoinParts(ClaimRow& claim, const Ages& ages) {
  const auto at_once = [&](const ClaimPart& part) { return IsAtOnce(claim, part, ages); };
  while (claim.parts.size() > kMaxParts) {
    // Of the three youngest two are of a kind.
    auto younger = std::prev(claim.parts.end());
    auto older = std::prev(younger);
    if (at_once(*older) != at_once(*younger)) {
      --older;
      if (at_once(*older) != at_once(*younger)) --younger;
    }
    younger->nodes += older->nodes;
    claim.parts.erase(older);
  }
  while (claim.places.size() > kMaxParts) {
    const auto younger = std::prev(claim.places.end());
    const auto older = std::prev(younger);
    younger->nodes += older->nodes;
    claim.places.erase(older);
  }
  TidyPlaces(claim);
}

bool CanAnyBeMet(const State& state, const Inventory& inventory, const ClaimRow& claim) {
  const Ages& ages = state.FootprintOf(claim.pool_uid).ages;
  const Reach reach = ReachOf(state, inventory, claim);
  // As CanEverBeMet of each: only a part that can be met takes anything from younger ones.
  return std::any_of(claim.parts.begin(), claim.parts.end(), [&](const ClaimPart& part) {
    return IsEnoughFor(inventory, claim, part, ages, reach);
  });
}

std::vector<KeptGang> KeptGangs(const State& state, const InventoryKey& key,
                                absl::Time keeps_after) {
  std::vector<KeptGang> kept;
  const Inventory* inventory = state.FindInventory(key);
  if (inventory == nullptr || inventory->free() == 0) return kept;
  if (OfferOf(state, key.first, key.second, ComputeClass::kDefault) != Offer::kOffered) return kept;
  std::set<Selector> open = Open(*inventory);
  const bool in_racks = inventory->nodes_per_rack() > 0;
  std::vector<FromSpot> from_spot;
  QueueCursor cursor(inventory->queue());
  while (const std::optional<Turn> turn = open.empty() ? std::nullopt : cursor.Next()) {
    if (turn->key.compute_class == ComputeClass::kSpot) break;  // nobody is behind it
    if (!open.contains(turn->selector)) continue;
    const EligibleMachines eligible = EligibleMachinesOf(turn->selector.affinity, kept);
    const int64_t free = CountOnOffer(*inventory, eligible);
    if (free > 0 && !turn->selector.gang) {
      // It rests: another would have been granted some.
      from_spot.push_back({*turn, kept.size()});
    } else if (free > 0 && turn->key.request_time <= keeps_after) {
      if (!in_racks && HasEnough(*inventory, *turn, free))
        from_spot.push_back({*turn, kept.size()});
      continue;
    } else if (free > 0) {
      auto gang = Kept(state, *inventory, eligible, *turn);
      if (!gang) continue;
      kept.push_back(*std::move(gang));
    }
    open.erase(turn->selector);
  }
  std::stable_partition(from_spot.begin(), from_spot.end(),
                        [](const FromSpot& claim) { return claim.turn.selector.gang; });
  for (const FromSpot& claim : from_spot) {
    if (auto gang = KeptFromSpot(*inventory, claim, kept)) kept.push_back(*std::move(gang));
  }
  return kept;
}

std::vector<Affinity> BlockingAffinities(const State& state, const InventoryKey& key,
                                         const std::vector<KeptGang>& kept,
                                         absl::Time keeps_after) {
  std::vector<Affinity> blocking;
  const Inventory* inventory = state.FindInventory(key);
  if (inventory == nullptr || inventory->spot().holdings().empty()) return blocking;
  if (OfferOf(state, key.first, key.second, ComputeClass::kDefault) != Offer::kOffered)
    return blocking;
  for (const auto& [selector, line] : inventory->queue().lines()) {
    if (!selector.gang) continue;
    const bool blocks = std::any_of(line.begin(), line.end(), [&](const auto& waiting) {
      const auto& [compute_class, request_time, uid] = waiting;
      return compute_class == ComputeClass::kDefault && request_time > keeps_after &&
             Blocks(state, *inventory, *state.FindClaim(uid), request_time, kept, keeps_after);
    });
    if (blocks) blocking.push_back(selector.affinity);
  }
  return blocking;
}

}  // namespace muster::capacity
