#pragma once

#include "absl/time/time.h"
#include "services/capacity/core/state.h"

namespace muster::capacity {

// Gives the depot's free machines to those who wait, in the order of the queue, until nothing more
// can be given. Whatever frees a machine, or makes somebody wait, calls it in the same decision.
// Types with nodes_per_rack > 0 are given in whole racks: a rack goes to a claim at the turn of the
// part that makes up a rack's worth; a single machine only completes a rack whose other machines
// the same claim holds. Costs O(machines granted), and the claims passed over while whole racks are
// free.
void Serve(Overlay<State>& overlay, const DepotKey& key, absl::Time now);

}  // namespace muster::capacity
