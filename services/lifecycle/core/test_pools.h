#pragma once

#include <cstdlib>
#include <set>
#include <string>
#include <utility>

#include "services/lifecycle/core/simulation.h"

// For tests: pools that more than one of them begins with.
namespace muster::lifecycle {

// A pool of so many Nodes in production.
struct Running : Simulation {
  explicit Running(int64_t nodes) {
    Create(nodes);
    if (!Converge()) std::abort();
  }
};

// Nodes g100, g101, ... on racks of four, all outdated: np-000000000002 is staged.
struct Outdated : Simulation {
  explicit Outdated(int64_t nodes) {
    rack_size = 4;
    Create(nodes);
    Live();
    Stage("np-000000000002");
    Live();
  }
  void Live() {
    if (!Converge()) std::abort();
  }
  void Ask(ReconfigureNodePool command = {}) {
    command.name = kSimPool;
    Must(command);
  }
  void Control(ControlReconfiguration::Verb verb) {
    Must(ControlReconfiguration{.name = kSimPool, .verb = verb});
  }
  Reconfiguration::State how() const { return pool()->reconfiguration->state; }
  std::set<std::string> In(NodeState state) const {
    std::set<std::string> machines;
    for (const Node* node : this->state().NodesOf(kSimPool)) {
      if (node->state == state) machines.insert(node->machine);
    }
    return machines;
  }
  std::set<std::string> On(const std::string& profile) const {
    std::set<std::string> machines;
    for (const Node* node : state().NodesOf(kSimPool)) {
      if (node->observed.node_profile == profile) machines.insert(node->machine);
    }
    return machines;
  }
};

// So many Nodes, with a node affinity.
inline void WantRowSeven(Spec& spec, int64_t target) {
  spec.target_nodes = target;
  spec.node_affinity = {{{"topology.example.com/row", "In", {"7"}}}};
}

}  // namespace muster::lifecycle
