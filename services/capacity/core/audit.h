#pragma once

#include <string>
#include <vector>

#include "services/capacity/core/state.h"

namespace muster::capacity {

// What is broken in the books, one sentence each; empty when they are right. Reads every row:
// O(all).
//  * a machine is held exactly when it names a claim, which exists and is for its zone, type and
//  class;
//  * a machine is reclaimed exactly when it says since when, and only from a spot claim; it is
//  earmarked for nobody, or for a default claim of its inventory that takes it and waits for as many;
//  * no claim is there whose pool was released;
//  * a claim's outstanding parts are max(0, nodes - machines held), oldest first, none empty;
//  * the queue is served: no free machine that the first who may have it does not get;
//  * free + held + reclaiming + in repair + retired = registered, and all indexes are those that
//  the rows give.
std::vector<std::string> Audit(const State& state);

}  // namespace muster::capacity
