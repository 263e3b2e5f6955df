#pragma once

#include <string>
#include <vector>

#include "services/capacity/core/state.h"
#include "services/common/index_parts.h"

namespace muster::capacity {

// What is broken in the books, one sentence each; empty when they are right. Reads every row:
// O(all).
//  * a machine is held exactly when it names a claim, which exists and is for its zone, type and
//    class;
//  * a machine is being reclaimed exactly when it has a reclaim_time, and only from a spot claim;
//    its earmark is empty, or names a default claim of its inventory that may have the machine and
//    waits for at least as many as are earmarked for it;
//  * there is no claim whose pool was released;
//  * a claim's outstanding parts are max(0, nodes - machines held), oldest first, none empty;
//  * the queue is served: nobody but gangs waits beside a free machine that he should have got;
//  * free + held + reclaiming + in repair + retired = registered, and all indexes are those that
//    the rows give.
std::vector<std::string> Audit(const State& state);

// Memory's indexes, all that SameIndexes compares, and that each machine is held as its row is; of
// what `tables` does not have they tell that it is there. See IndexPart. A part is one fabric, one
// label class, the queue or the spot book of an inventory, or about kPiece elements of the rest.
std::vector<IndexPart<State>> IndexParts(const State& tables);

}  // namespace muster::capacity
