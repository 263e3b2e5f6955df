#pragma once

#include <optional>

#include "absl/time/time.h"
#include "services/capacity/core/estimate.h"
#include "services/capacity/core/view.h"

namespace muster::capacity {

// A claim as RPCs answer it: what follows from the state, and an estimate that depends on the time.
struct ClaimReply {
  ClaimView view = {};
  // See EstimateWait. Also nullopt when the reason is not kQueued, and when what is free or being
  // reclaimed is enough.
  std::optional<WaitRange> wait = {};
  bool operator==(const ClaimReply&) const = default;
};

// Costs O(label classes + kKeptBursts) beside the view.
ClaimReply AnswerOf(const State& state, ClaimView view, absl::Time now);

}  // namespace muster::capacity
