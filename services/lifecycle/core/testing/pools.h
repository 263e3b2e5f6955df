#pragma once

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/lifecycle/core/testing/simulation.h"

// For tests: pools that more than one of them begins with.
namespace muster::lifecycle {

// A pool of so many Nodes in production.
struct Running : Simulation {
  explicit Running(int64_t nodes) {
    Create(nodes);
    if (!Converge()) std::abort();
  }
};

// Nodes g100, g101, ... on racks of four, all outdated: kNewerProfile is staged.
struct Outdated : Simulation {
  explicit Outdated(int64_t nodes) {
    rack_size = 4;
    Create(nodes);
    Live();
    Stage(kNewerProfile);
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

// A spot pool with one busy Node, g100, whose Pods end by force only, and a clock that stands.
struct SpotPool : Simulation {
  explicit SpotPool(int64_t nodes = 1) {
    ApplySpot(nodes);
    settled = Converge();
    SetActive("g100", true);
    busy.insert("g100");
    StopClock();
    Drive();
    begin = told().size();
    OthersTake(200);
  }
  // T+0 is the pass that learns of it.
  void Begin() {
    start = now();
    Reclaim("g100", now());
    Drive();
  }
  // To that long after T+0, with a pass at every second, or only when one is due.
  void To(absl::Duration offset, bool every_second = true) {
    const absl::Time end = start + offset;
    while (now() < end) {
      const absl::Time next = every_second ? now() + absl::Seconds(1) : last_plan.due;
      Advance(std::max(absl::ZeroDuration(), std::min(next, end) - now()));
      Drive();
      if (!every_second && last_plan.due <= now()) return;  // asserted by the caller
    }
  }
  void ShrinkToNothing(ScaleDownStrategy strategy) {
    Apply([&](Spec& spec) {
      spec.scale_down_strategy = strategy;
      spec.target_nodes = 0;
    });
    Drive();
  }
  // Until g100 drains, with a deadline.
  void DrainForScaleDown() {
    ShrinkToNothing(ScaleDownStrategy::kPreferIdle);
    Advance(policy.cordon_settle);
    Drive();
  }
  std::vector<std::string> NodeEvents() const { return ReasonsSince(begin, "g100"); }

  absl::Time start = kNever;
  size_t begin = 0;
  bool settled = false;
};

}  // namespace muster::lifecycle
