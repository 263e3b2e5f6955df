#pragma once

#include <string>
#include <vector>

#include "services/common/index_parts.h"
#include "services/quota/core/state.h"

namespace muster::quota {

// What is broken in the books, one sentence each; empty when they are right. Reads every row.
//  * the Nodes counted as held under a key are the sum of its holdings, and its list of holders
//    begins with the largest;
//  * no holding is negative, and every one was asked for by a generation;
//  * nothing was charged to a pool after it was released.
std::vector<std::string> Audit(const State& state);

// What memory counts under the keys that `tables` has, beside what its rows give. See IndexPart.
std::vector<IndexPart<State>> IndexParts(const State& tables);

}  // namespace muster::quota
