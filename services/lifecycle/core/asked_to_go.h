#pragma once

#include "services/lifecycle/core/types.h"

// Nodes that somebody chose to go, before any plan does.
namespace muster::lifecycle {

// Whether the Node was named to go, by a caller or by the cluster autoscaler.
inline bool IsNamed(const Node& node) {
  return node.removal_requested || node.observed.autoscaler_marked;
}

// Whether the target was lowered for the Node, which is named to go (NameVictims): it goes as soon
// as it may, whoever else leaves meanwhile. What comes in place of those others stays asked for; no
// replacement is asked for the Node itself (Node::replace_time).
inline bool IsAskedToGo(const Node& node) { return node.asked_to_go_time != kNever; }

// A Node whose name was taken back is asked to go no more.
inline void ForgetAsk(Node& node) {
  if (!IsNamed(node)) node.asked_to_go_time = kNever;
}

}  // namespace muster::lifecycle
