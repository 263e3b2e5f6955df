#include "services/capacity/core/audit.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "services/capacity/core/arrivals.h"
#include "services/capacity/core/gang.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/core/machine_state.h"
#include "services/capacity/core/offer.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/turns.h"

namespace muster::capacity {
namespace {

using Faults = std::vector<std::string>;

void AuditReclaim(const State& state, const MachineRow& machine, Faults& faults) {
  const bool reclaiming = machine.state == MachineState::kReclaiming;
  if (reclaiming != machine.reclaim_time.has_value() ||
      (reclaiming && machine.compute_class != ComputeClass::kSpot) ||
      (!reclaiming && !machine.earmark.empty())) {
    faults.push_back(absl::StrCat(
        machine.id, " is ", NameOf(machine.state),
        reclaiming ? " without time or from no spot claim." : " with the marks of a reclaim."));
  }
  if (machine.earmark.empty()) return;
  const ClaimRow* claim = state.FindClaim(machine.earmark);
  if (claim == nullptr || claim->zone != machine.zone ||
      claim->instance_type != machine.instance_type ||
      claim->compute_class != ComputeClass::kDefault || !Matches(claim->affinity, machine.labels)) {
    faults.push_back(absl::StrCat(machine.id, " is earmarked for claim '", machine.earmark,
                                  "', which cannot have it."));
  }
}

void AuditMachine(const State& state, const MachineRow& machine, Faults& faults) {
  const bool held =
      machine.state == MachineState::kHeld || machine.state == MachineState::kReclaiming;
  if (held == machine.claim.empty() || held != machine.request_time.has_value()) {
    faults.push_back(absl::StrCat(machine.id, " is ", NameOf(machine.state), " with claim '",
                                  machine.claim, "'."));
  }
  AuditReclaim(state, machine, faults);
  if (!held) return;
  const ClaimRow* claim = state.FindClaim(machine.claim);
  if (claim == nullptr || claim->zone != machine.zone ||
      claim->instance_type != machine.instance_type ||
      claim->compute_class != machine.compute_class) {
    faults.push_back(absl::StrCat(machine.id, " is held by claim '", machine.claim,
                                  "', which is not there or for others."));
  }
  const auto& holding = state.FootprintOf(machine.claim).machines;
  const auto row = holding.find(machine.id);
  if (row == holding.end() || *row != &machine)
    faults.push_back(absl::StrCat(machine.id, " is not held as its row is."));
}

// Nodes of the part and of those that can be granted with it; a gang's parts are each granted alone.
int64_t CountWaiting(const ClaimRow& claim, absl::Time part) {
  if (!claim.gang) return Outstanding(claim.parts);
  const auto it = std::find_if(claim.parts.begin(), claim.parts.end(),
                               [&](const ClaimPart& one) { return one.request_time == part; });
  return it->nodes;
}

// Finds the first request of a selector that gets nothing though it may have a free machine. What is
// kept for a gang counts against those behind it only.
void AuditQueue(const State& state, const InventoryKey& key, const Inventory& inventory,
                Faults& faults) {
  const auto offered = [&](ComputeClass compute_class) {
    return OfferOf(state, key.first, key.second, compute_class) == Offer::kOffered;
  };
  const std::vector<KeptGang> kept = KeptGangs(state, key);
  std::set<Selector> seen;
  Walk walk(inventory.queue());
  while (const std::optional<Run> run = walk.Next()) {
    const ClaimRow& claim = *state.FindClaim(run->key.pool_uid);
    if (Rests(claim)) continue;
    if (!seen.insert(run->selector).second || run->selector.gang ||
        !offered(ComputeClass::kDefault) || !offered(run->key.compute_class))
      continue;
    std::vector<KeptGang> ahead = kept;
    // With whole racks a claim's turn may be that of a later part.
    if (inventory.nodes_per_rack() == 0) {
      const Position first{run->place, run->key};
      std::erase_if(ahead, [&](const KeptGang& gang) { return first < gang.position; });
    }
    const int64_t wanted = std::max(1, inventory.nodes_per_rack());
    if (CountWaiting(claim, run->key.request_time) >= wanted &&
        CountOnOffer(inventory, ChoiceOf(run->selector.affinity, ahead)) > 0) {
      faults.push_back(absl::StrCat("Claim ", run->key.pool_uid, " waits beside free machines of ",
                                    key.second, " in ", key.first, "."));
    }
  }
  for (const auto& [uid, reclaims] : inventory.spot().reclaims()) {
    const ClaimRow* claim = state.FindClaim(uid);
    if (claim != nullptr &&
        static_cast<int64_t>(reclaims.size()) > Outstanding(PartsInQueue(*claim)))
      faults.push_back(
          absl::StrCat("Claim ", uid, " has more machines earmarked than it waits for."));
  }
}

// Places, where there are any, are as many as the Nodes of the parts that they are of.
void AuditPlaces(const ClaimRow& claim, absl::string_view verb, const std::vector<ClaimPart>& parts,
                 const std::vector<ClaimPlace>& places, Faults& faults) {
  int64_t nodes = 0;
  for (const ClaimPlace& place : places) nodes += place.nodes;
  if (places.empty() || nodes == Outstanding(parts)) return;
  faults.push_back(absl::StrCat("Claim ", claim.pool_uid, " ", verb, " ", Outstanding(parts),
                                " Nodes with ", nodes, " places."));
}

void AuditClaim(const State& state, const ClaimRow& claim, Faults& faults) {
  if (FindReleased(state, claim.pool_uid) != nullptr)
    faults.push_back(absl::StrCat("Claim ", claim.pool_uid, " is there though it was released."));
  const int64_t held = state.FootprintOf(claim.pool_uid).held();
  const int64_t wanted = std::max<int64_t>(0, claim.nodes - held);
  if (Outstanding(claim.parts) != wanted) {
    faults.push_back(absl::StrCat("Claim ", claim.pool_uid, " waits for ", Outstanding(claim.parts),
                                  ", not ", wanted, "."));
  }
  AuditPlaces(claim, "waits for", claim.parts, claim.places, faults);
  AuditPlaces(claim, "withholds", claim.withheld_parts, claim.withheld_places, faults);
  if (claim.parts.size() > kMaxParts) {
    faults.push_back(absl::StrCat("Claim ", claim.pool_uid, " has ", claim.parts.size(),
                                  " parts, more than ", kMaxParts, "."));
  }
  for (size_t i = 0; i < claim.parts.size(); ++i) {
    const bool ordered = i == 0 || claim.parts[i - 1].request_time < claim.parts[i].request_time;
    if (!ordered || claim.parts[i].nodes <= 0)
      faults.push_back(absl::StrCat("Claim ", claim.pool_uid, ": parts out of order."));
  }
}

void AuditArrivals(const ArrivalsRow& row, Faults& faults) {
  const auto& bursts = row.bursts;
  bool sound = bursts.size() >= 2 && bursts.size() <= kKeptBursts + 1;
  for (size_t i = 1; i < bursts.size(); ++i)
    sound &= bursts[i - 1].time <= bursts[i].time && bursts[i].machines > 0;
  if (!sound) faults.push_back(absl::StrCat(row.Key(), ": no bursts, too many, or out of order."));
}

}  // namespace

std::vector<std::string> Audit(const State& state) {
  std::vector<std::string> faults;
  for (const auto& [key, machine] : state.table<MachineRow>().rows())
    AuditMachine(state, *machine.row, faults);
  for (const auto& [key, claim] : state.table<ClaimRow>().rows())
    AuditClaim(state, *claim.row, faults);
  for (const auto& [key, arrivals] : state.table<ArrivalsRow>().rows())
    AuditArrivals(*arrivals.row, faults);
  int64_t counted = 0;
  for (const auto& [key, inventory] : state.inventories()) {
    counted += inventory.counts().registered();
    AuditQueue(state, key, inventory, faults);
  }
  const int64_t registered = static_cast<int64_t>(state.table<MachineRow>().size());
  if (counted != registered)
    faults.push_back(absl::StrCat(counted, " machines counted, ", registered, " registered."));
  State rebuilt;
  state.ForEach(
      [&](const Revised<State::Change>& row) { rebuilt.Apply(row.change, row.revision); });
  if (!rebuilt.SameIndexes(state))
    faults.push_back("The indexes are not those that the rows give.");
  return faults;
}

}  // namespace muster::capacity
