#pragma once

#include "absl/time/time.h"
#include "services/capacity/core/policy.h"
#include "services/capacity/core/state.h"

namespace muster::capacity {

// Gives the inventory's free machines to those who wait, in the order of the queue, until nothing
// more can be given, and works out anew what is reclaimed from spot for whom (supply.h). Whatever
// frees a machine, makes somebody wait, or changes what somebody waits for, calls it in the same
// decision.
//  * A free machine goes to the first part that may have it, in the order of queue.h: one whose
//    affinity matches nothing that is free is passed over. Of those that it may have a part gets
//    the ones that the fewest waiting affinities match.
//  * A gang's part gets all at its turn or nothing. What is free is kept for it from default claims
//    behind it for the policy's gang_keep, if what is in service and in repair can complete it;
//    spot may have it meanwhile, unless what can be reclaimed completes the gang now: then that is
//    reclaimed, and spot gets none of what is free. After gang_keep, too: of what default claims
//    behind it leave.
//  * For anyone else who is short as many machines are reclaimed as are missing.
//  * A claim that rests (parts.h) is granted nothing; for the rest it is as any other. Spot gets
//    none of what it could have: it would be reclaimed at the claim's next request.
//  * Types with nodes_per_rack > 0 are given in whole racks: serve_racks.h.
// Costs O(machines granted and being reclaimed), O(lines + label classes) once, O(label classes) a
// turn beside what MachineChooser and Supply::Fetch cost, and O(log) for each request passed over
// while there is something for one behind it.
void ServeQueue(StagedState<State>& staged, const InventoryKey& key, absl::Time now,
                const Policy& policy);

// Serves if a gang waits whose time to keep machines is over, and something is free or held as
// spot. No change of the rows tells that moment: EndKeeps does.
void ServeOverdueGangs(StagedState<State>& staged, const InventoryKey& key, absl::Time now,
                       const Policy& policy);

}  // namespace muster::capacity
