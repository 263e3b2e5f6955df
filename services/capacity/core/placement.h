#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/capacity/core/depot.h"
#include "services/capacity/core/state.h"

// Which free machines a pool gets. Pure and deterministic: the same state gives the same machines.
namespace muster::capacity {

// The machines that a claim may have: those that match its affinity, and none that is kept for a
// gang ahead of it. What it points to must outlive it.
struct Choice {
  const Affinity* affinity = nullptr;
  std::vector<const Affinity*> kept = {};  // of those gangs

  bool all() const { return affinity->empty() && kept.empty(); }
  bool Has(const Labels& labels) const;
};

// How many free machines the choice has. Costs O(label classes); O(1) when it has all.
int64_t CountFree(const Depot& depot, const Choice& choice);

// How many whole racks could be granted of it. Costs O(whole racks × label classes); O(fabrics)
// when it has all.
int64_t CountWholeRacks(const Depot& depot, const Choice& choice);

// The next machines for a pool that is to get `nodes` more, all of one rack, at most `nodes`, never
// empty while the choice has free machines. Called again for the rest once these are held.
//  * fabric: the one where the pool has most machines; else the one with least room that holds all
//  of `nodes`; else the one
//    with most room;
//  * rack within it: one where the pool has machines; else, as with fabrics, the tightest that
//  holds them all, else the roomiest;
//  * machines within it: lowest slot, then id. Every tie goes to the lower name.
// Room is what the choice has there. Costs O(log), and O(label classes × (fabrics + racks of one))
// when the choice does not have all.
std::vector<std::string> ChooseMachines(const State& state, const Depot& depot,
                                        const Choice& choice, absl::string_view pool_uid,
                                        int64_t nodes);

// The machines of one whole free rack, nodes_per_rack of them, for a pool that is to get `racks`;
// fabrics are chosen as above by their whole racks. Never empty while the choice has a whole rack.
std::vector<std::string> ChooseWholeRack(const State& state, const Depot& depot,
                                         const Choice& choice, absl::string_view pool_uid,
                                         int64_t racks);

// Up to `nodes` free machines of racks where this pool and no other holds machines: all that may go
// to a pool by itself for a type that is granted in whole racks.
std::vector<std::string> ChooseRefill(const State& state, const Depot& depot, const Choice& choice,
                                      absl::string_view pool_uid, int64_t nodes);

}  // namespace muster::capacity
