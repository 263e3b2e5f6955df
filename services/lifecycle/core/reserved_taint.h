#pragma once

#include <algorithm>

#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// The taint of a Node that is not in production.
inline constexpr char kReservedTaint[] = "node.coreweave.cloud/reserved";

inline bool HasReservedTaint(const Node& node) {
  return std::any_of(node.desired.taints.begin(), node.desired.taints.end(),
                     [](const Taint& taint) { return taint.key == kReservedTaint; });
}

}  // namespace muster::lifecycle
