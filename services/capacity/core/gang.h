#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "services/capacity/core/placement.h"
#include "services/capacity/core/state.h"

// Gangs: claims whose requests are each granted all at once or not at all (IsAtOnce in queue.h).
namespace muster::capacity {

// A gang for which free machines are kept: no default claim behind it gets any that match it,
// unless it is `overdue`.
struct KeptGang {
  Position position = {};
  Affinity affinity = {};
  int64_t nodes = 0;                             // free machines kept for it
  absl::btree_set<Inventory::Place> racks = {};  // which, for a type granted in whole racks
  bool lent = false;                             // spot may have them meanwhile
  bool overdue = false;                          // they are kept from spot only
  bool single = false;                           // so, too: a claim at rest that is no gang

  bool KeepsFrom(ComputeClass other) const {
    return other == ComputeClass::kSpot ? !lent : !overdue;
  }
};

// How many eligible machines there are to give: all that are free, or those in whole racks for a
// type that is granted so.
int64_t CountOnOffer(const Inventory& inventory, const EligibleMachines& eligible);

// The machines that a default claim at its turn may have.
EligibleMachines EligibleMachinesOf(const Affinity& affinity, const std::vector<KeptGang>& kept);

// Machines in service that match the claim's affinity, less those that it holds itself. Costs
// O(label classes).
int64_t CountElsewhere(const State& state, const Inventory& inventory, const ClaimRow& claim);

// Machines that match and that the claim holds and gives back for what it waits for. Costs as
// CountElsewhere.
int64_t CountLeaving(const State& state, const Inventory& inventory, const ClaimRow& claim);

// By rack, how many of its machines in service or in repair match; under the rack "" those that
// stand in no rack. Costs O(racks × label classes).
absl::btree_map<Inventory::Place, int64_t> CountByRack(const Inventory& inventory,
                                                       const Affinity& affinity);

// Whether the machines in service or in repair that the claim does not hold itself, or gives back
// (CountLeaving; not of a type granted in whole racks: which of them come back is not known), are
// enough for the part, once its older parts have got theirs: for all of it if it is granted at
// once, else for one Node. Costs as CountElsewhere; O(racks × label classes) for a type granted in
// whole racks.
bool CanEverBeMet(const State& state, const Inventory& inventory, const ClaimRow& claim,
                  const ClaimPart& part);

// Whether one of the claim's parts can ever be met. Costs as one part does, however many there are.
bool CanAnyBeMet(const State& state, const Inventory& inventory, const ClaimRow& claim);

// Joins the two youngest parts of a kind (IsAtOnce) into one with the younger's time, until there
// are no more than kMaxParts, and the two youngest places in the same way. `ages`: of the machines
// that the claim holds.
void JoinParts(ClaimRow& claim, const Ages& ages);

// The gangs for which free machines are kept now, in the order of the queue; the inventory must
// have been served. Then those that asked at `keeps_after` or before and have enough by what is
// reclaimed, or rest and have it; last, claims at rest that are no gangs. Costs O(lines × label
// classes) without a look at any label, and the claims passed over; O(1) when nothing is free.
std::vector<KeptGang> KeptGangs(const State& state, const InventoryKey& key,
                                absl::Time keeps_after = absl::InfinitePast());

// With which default gangs wait for more than can come from spot now: of the machines that match
// none is reclaimed for default claims behind them. Not those of gangs that asked at `keeps_after`
// or before. `kept`: KeptGangs of the same. The inventory must have been served. Costs O(gangs ×
// their parts × (gangs that keep + label classes)); O(1) when spot holds nothing.
std::vector<Affinity> BlockingAffinities(const State& state, const InventoryKey& key,
                                         const std::vector<KeptGang>& kept, absl::Time keeps_after);

}  // namespace muster::capacity
