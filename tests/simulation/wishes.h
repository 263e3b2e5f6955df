#pragma once

#include <cstdint>
#include <string>

#include "services/capacity/core/decide.h"
#include "services/lifecycle/core/types.h"
#include "tests/simulation/random.h"

// Random wishes of callers, and random machines that administrators register.
namespace muster::simulation {

// A target for a pool of that name. `rack_nodes`: machines a rack, for pools named `rack`.
int64_t SomeTarget(Random& random, const std::string& pool, int rack_nodes);
// A spec for the pool. `pool`: its row now; null: the pool is new.
lifecycle::Spec SomeSpec(Random& random, const std::string& name, const lifecycle::Pool* pool);
// Machines `g{rack}-{slot}` of one rack, some of them with a label.
capacity::RegisterMachines SomeRack(Random& random, const std::string& zone,
                                    const std::string& type, int rack, int count);

}  // namespace muster::simulation
