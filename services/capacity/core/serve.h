#pragma once

#include "absl/time/time.h"
#include "services/capacity/core/state.h"

namespace muster::capacity {

// Gives the depot's free machines to those who wait, in the order of the queue, until nothing more
// can be given; then sees what must be reclaimed (reclaim.h). Whatever frees a machine, makes
// somebody wait, or changes what somebody waits for, calls it in the same decision.
//  * A free machine goes to the first claim that may have it: one whose affinity matches nothing
//  that is free is passed over.
//  * A gang gets all that is outstanding at its turn or nothing; free machines may be kept for it
//  (gang.h).
//  * Types with nodes_per_rack > 0 are given in whole racks: serve_racks.h.
// Costs O(machines granted), O(lines × label classes with free machines), and the gangs passed
// over.
void Serve(Overlay<State>& overlay, const DepotKey& key, absl::Time now);

}  // namespace muster::capacity
