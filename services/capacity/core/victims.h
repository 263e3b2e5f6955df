#pragma once

#include <optional>
#include <string>

#include "services/capacity/core/depot.h"

namespace muster::capacity {

// Which spot machine of a depot is reclaimed next for a claim of this affinity: the newest held,
// then lowest id, of those that match, of the first spot claim (SpotRank) that has one. nullopt:
// there is none. Costs O(log); with an affinity O(label classes) for every spot claim that has
// none.
std::optional<std::string> NextVictim(const Depot& depot, const Affinity& affinity);

}  // namespace muster::capacity
