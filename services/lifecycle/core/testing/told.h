#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "services/lifecycle/core/testing/simulation.h"

// For tests of events.
namespace muster::lifecycle {

// A pool of so many Nodes in production, and what is told from then on.
struct Telling : Simulation {
  explicit Telling(int64_t nodes, ScaleDownStrategy strategy = ScaleDownStrategy::kIdleOnly) {
    Create(nodes, strategy);
    Live();
  }
  void Live() {
    if (!Converge()) std::abort();
    begin = told().size();
  }
  // `reason: message` of what was told of the pool since, of that reason.
  std::vector<std::string> PoolSays(const std::string& reason) const { return Said(false, reason); }
  std::vector<std::string> NodeSays(const std::string& reason) const { return Said(true, reason); }
  size_t begin = 0;

 private:
  std::vector<std::string> Said(bool on_node, const std::string& reason) const {
    std::vector<std::string> out;
    for (size_t i = begin; i < told().size(); ++i) {
      const Told& event = told()[i];
      if (event.on_node == on_node && event.reason == reason) out.push_back(event.message);
    }
    return out;
  }
};

}  // namespace muster::lifecycle
