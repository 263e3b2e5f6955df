#pragma once

#include <optional>
#include <string>

#include "services/capacity/core/inventory.h"
#include "services/capacity/core/placement.h"

namespace muster::capacity {

// Which spot machine of an inventory is reclaimed next: the newest held, then lowest id, of those that
// the choice has, of the first spot claim (SpotRank) that has one. nullopt: there is none. Costs
// O(label classes × log) for that claim, and for every one before it.
std::optional<std::string> NextVictim(const Inventory& inventory, const Choice& choice);

}  // namespace muster::capacity
