#pragma once

#include <string>
#include <vector>

#include "services/common/event_reasons.h"
#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// An event that tells of a Node.
struct EventToEmit {
  bool on_pool = false;  // about the pool; else about the Node
  EventReason reason = {};
  std::string message = {};
  bool operator==(const EventToEmit&) const = default;
};

// The events that tell of a change of a Node, in order; they follow from the two rows, whoever made
// the change. `before` is null when the Node is new. `why`: what the agent or the plan said; may be
// empty. `timed_out`: the boot failed because its deadline passed. Pure; equal rows tell nothing.
std::vector<EventToEmit> EventsOf(const Node* before, const Node& after, absl::string_view why,
                                  bool timed_out = false);

}  // namespace muster::lifecycle
