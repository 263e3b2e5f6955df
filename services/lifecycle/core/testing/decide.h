#pragma once

#include <cstdint>
#include <string>

#include "services/common/error.h"
#include "services/lifecycle/core/testing/simulation.h"

// For the tests of commands.
namespace muster::lifecycle {

using muster::error::ReasonOf;

// A spec without a fault.
inline Spec GoodSpec() {
  Spec spec;
  spec.instance_type = "gd-8xa100-i128";
  return spec;
}

// The simulated pool with so many Nodes.
inline ApplyNodePool PoolOfNodes(int64_t target) {
  ApplyNodePool command{.name = kSimPool, .new_uid = "uid-1", .target_nodes = target};
  command.spec = GoodSpec();
  return command;
}

}  // namespace muster::lifecycle
