#pragma once

#include <string>
#include <vector>

#include "services/lifecycle/core/explain.h"
#include "services/lifecycle/core/types.h"
#include "tests/simulation/cloud.h"

namespace muster::simulation {

// What a pool says of itself, and what explain says of it, held against the rows of all four
// services. Written from the reference and not from the code that says it. For a pool where nothing
// is about to happen, with all services there. Empty: it is all so.
std::string Contradiction(const Cloud& cloud, const lifecycle::Pool& pool,
                          const std::vector<lifecycle::Obstacle>& obstacles);

}  // namespace muster::simulation
