#pragma once

#include <optional>
#include <string>

#include "services/capacity/core/depot.h"
#include "services/capacity/core/placement.h"

namespace muster::capacity {

// Which spot machine of a depot is reclaimed next: the newest held, then lowest id, of those that
// the choice has, of the first spot claim (SpotRank) that has one. nullopt: there is none. Costs
// O(log); O(label classes) for every spot claim that has none when the choice has not all.
std::optional<std::string> NextVictim(const Depot& depot, const Choice& choice);

}  // namespace muster::capacity
