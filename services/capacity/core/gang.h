#pragma once

#include <cstdint>
#include <vector>

#include "services/capacity/core/depot.h"
#include "services/capacity/core/placement.h"
#include "services/capacity/core/state.h"

// Gangs: claims that get all that is outstanding at once or nothing of it.
namespace muster::capacity {

// A gang for which free machines are kept: nobody behind it gets any that match it.
struct KeptGang {
  QueueKey key = {};
  Affinity affinity = {};
  int64_t nodes = 0;  // free machines kept for it
};

// How many free machines the choice has to give: all, or those in whole racks for a type that is
// granted so.
int64_t CountOnOffer(const Depot& depot, const Choice& choice);

// The machines that a claim at its turn may have.
Choice ChoiceOf(const Affinity& affinity, const std::vector<KeptGang>& kept);

// Machines in service that match the claim's affinity, less those that it holds itself. Costs
// O(label classes), and O(machines held) when it has an affinity.
int64_t CountElsewhere(const State& state, const Depot& depot, const ClaimRow& claim);

// What becomes of a gang at its turn.
enum class Verdict {
  kGrant,  // all is there
  kKeep,   // some is free, and the rest may come: the free machines are kept for it
  kPass    // it cannot be met as things are: it is passed over
};
Verdict Judge(const State& state, const Depot& depot, const Choice& choice, const ClaimRow& gang);

// The same for a type that is granted in whole racks: the gang gets its own racks completed, and
// `racks` whole ones.
struct RackVerdict {
  Verdict verdict = Verdict::kPass;
  int64_t racks = 0;
};
RackVerdict JudgeRacks(const State& state, const Depot& depot, const Choice& choice,
                       const ClaimRow& gang);

// The gangs for which free machines are kept now, in the order of the queue; the depot must have
// been served. Costs O(lines × label classes), and the gangs passed over; O(1) when nothing is
// free.
std::vector<KeptGang> KeptGangs(const State& state, const DepotKey& key);

}  // namespace muster::capacity
