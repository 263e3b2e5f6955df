#pragma once

#include <string>
#include <vector>

#include "services/lifecycle/core/event_reasons.h"
#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// An event that tells of a Node.
struct NodeEventTold {
  bool on_pool = false;  // about the pool; else about the Node
  EventReason reason = {};
  std::string message = {};
  bool operator==(const NodeEventTold&) const = default;
};

// What a change of a Node is told as, in order: the same change is told the same, whoever made it.
// `before` is null when the Node came to be. `why`: said by the agent; may be empty.
// `timed_out`: it failed because nothing was heard of it in time. Pure; equal rows tell nothing.
std::vector<NodeEventTold> EventsOf(const Node* before, const Node& after, absl::string_view why,
                                    bool timed_out = false);

}  // namespace muster::lifecycle
