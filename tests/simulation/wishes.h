#pragma once

#include <cstdint>
#include <string>

#include "services/capacity/core/decide.h"
#include "services/lifecycle/core/types.h"
#include "tests/simulation/dice.h"

// What callers want of pools and administrators register, as chance has it.
namespace muster::simulation {

// Of a pool of that name; `rack_nodes`: machines of a rack, for pools named `rack`.
int64_t SomeTarget(Dice& dice, const std::string& pool, int rack_nodes);
// `pool`: as it is; null: a new one.
lifecycle::Spec SomeSpec(Dice& dice, const std::string& name, const lifecycle::Pool* pool);
// Machines `g{rack}-{slot}` of one rack, some of them with a label.
capacity::RegisterMachines SomeRack(Dice& dice, const std::string& zone, const std::string& type,
                                    int rack, int count);

}  // namespace muster::simulation
