#pragma once

#include <cstdint>
#include <string>

#include "services/common/error.h"
#include "services/lifecycle/core/simulation.h"

// For the tests of commands.
namespace muster::lifecycle {

inline std::string ReasonOf(const absl::Status& status) {
  const auto detail = muster::error::DetailOf(status);
  return detail ? detail->reason : "";
}

// The simulated pool with so many Nodes.
inline ApplyNodePool PoolOfNodes(int64_t target) {
  ApplyNodePool command{.name = kSimPool, .new_uid = "uid-1", .target_nodes = target};
  command.spec.instance_type = "gd-8xa100-i128";
  return command;
}

}  // namespace muster::lifecycle
