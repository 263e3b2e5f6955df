#pragma once

#include <cstdlib>

#include "services/lifecycle/core/simulation.h"

// For tests: pools that more than one of them begins with.
namespace muster::lifecycle {

// A pool of so many Nodes in production.
struct Running : Simulation {
  explicit Running(int64_t nodes) {
    Create(nodes);
    if (!Settle()) std::abort();
  }
};

// So many Nodes, with a node affinity.
inline void WantRowSeven(Spec& spec, int64_t target) {
  spec.target_nodes = target;
  spec.node_affinity = {{{"topology.example.com/row", "In", {"7"}}}};
}

}  // namespace muster::lifecycle
