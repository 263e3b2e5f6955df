#pragma once

#include <cstdlib>
#include <functional>
#include <string>

#include "services/lifecycle/core/testing/simulation.h"

namespace muster::lifecycle {

// For tests: a pool of three Nodes: g100, g101, g102.
struct Ordered : Simulation {
  explicit Ordered(const std::function<void(Spec&)>& change = [](Spec&) {}) {
    Apply([&](Spec& spec) {
      spec.target_nodes = 3;
      change(spec);
    });
    Live();
  }
  void Live() {
    if (!Converge()) std::abort();
  }
  absl::Status Order(const std::string& machine, OrderNode::Verb verb, bool force = false) {
    return Run(OrderNode{.name = NodeName(kSimPool, machine), .verb = verb, .force = force})
        .status();
  }
  absl::Status Reboot(const std::string& machine, lifecycle::Reboot mode) {
    return Run(OrderNode{.name = NodeName(kSimPool, machine),
                         .verb = OrderNode::Verb::kReboot,
                         .reboot = mode})
        .status();
  }
  const Desired& desired(const std::string& machine) const { return node(machine)->desired; }
  NodeState state_of(const std::string& machine) const { return node(machine)->state; }
  // Work that was on its way when a Node was cordoned would be there by now.
  void Settle() {
    Pass();
    Agents();
    Advance(policy.cordon_settle);
    Pass();
  }
  bool Reboots(const std::string& machine) const {
    return state_of(machine) == NodeState::kReconfiguring;
  }
};

}  // namespace muster::lifecycle
