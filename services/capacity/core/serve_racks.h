#pragma once

#include "absl/time/time.h"
#include "services/capacity/core/state.h"

namespace muster::capacity {

// ServeQueue for a type with nodes_per_rack > 0. A rack goes to a claim at the turn of the part
// that makes up a rack's worth (of a gang: by itself); a single machine only completes a rack whose
// other machines the same claim holds. An affinity holds for a rack when nodes_per_rack free
// machines of it match, and only these are granted. Spot is not offered. A gang that asked at
// `keeps_after` or before keeps nothing. Costs O(machines granted), CountWholeRacks and WholeRacks
// for each turn whose selector may have whole racks, and O(log) for each request passed over while
// there may be some for one behind it.
void ServeRacks(StagedState<State>& staged, const InventoryKey& key, absl::Time now,
                absl::Time keeps_after);

}  // namespace muster::capacity
