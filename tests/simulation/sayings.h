#pragma once

#include <string>
#include <vector>

#include "services/lifecycle/core/explain.h"
#include "services/lifecycle/core/types.h"
#include "tests/simulation/cloud.h"

namespace muster::simulation {

// What of a pool's status, and of the obstacles that explain names, contradicts the rows of the
// four services; empty: nothing. Written from the reference, not from the code that is checked. For
// a pool where nothing is about to happen, while all services are there.
std::string Contradiction(const Cloud& cloud, const lifecycle::Pool& pool,
                          const std::vector<lifecycle::Obstacle>& obstacles);

}  // namespace muster::simulation
