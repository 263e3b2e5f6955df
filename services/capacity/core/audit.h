#pragma once

#include <string>
#include <vector>

#include "services/capacity/core/state.h"

namespace muster::capacity {

// What is broken in the books, one sentence each; empty when they are right. Reads every row:
// O(all).
//  * a machine is held exactly when it names a claim, which exists and is for its zone and type;
//  * a claim's outstanding parts are max(0, nodes - machines held), oldest first, none empty;
//  * free + held + reclaiming + in repair + retired = registered, and all indexes are those that
//  the rows give.
std::vector<std::string> Audit(const State& state);

}  // namespace muster::capacity
