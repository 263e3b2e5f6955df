#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/capacity/core/depot.h"
#include "services/capacity/core/state.h"

// Which free machines a pool gets. Pure and deterministic: the same state gives the same machines.
namespace muster::capacity {

// The next machines for a pool that is to get `nodes` more, all of one rack, at most `nodes`, never
// empty while the depot has free machines. Called again for the rest once these are held.
//  * fabric: the one where the pool has most machines; else the one with least room that holds all
//  of `nodes`; else the one
//    with most room;
//  * rack within it: one where the pool has machines; else, as with fabrics, the tightest that
//  holds them all, else the roomiest;
//  * machines within it: lowest slot, then id. Every tie goes to the lower name.
std::vector<std::string> ChooseMachines(const Depot& depot, const Footprint& footprint,
                                        absl::string_view pool_uid, int64_t nodes);

// The machines of one whole free rack, nodes_per_rack of them, for a pool that is to get `racks`;
// fabrics are chosen as above by their whole racks. Never empty while there is a whole rack.
std::vector<std::string> ChooseWholeRack(const Depot& depot, const Footprint& footprint,
                                         int64_t racks);

// Up to `nodes` free machines of racks where this pool and no other holds machines: all that may go
// to a pool by itself for a type that is granted in whole racks.
std::vector<std::string> ChooseRefill(const Depot& depot, absl::string_view pool_uid,
                                      int64_t nodes);

}  // namespace muster::capacity
