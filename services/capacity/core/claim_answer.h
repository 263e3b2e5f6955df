#pragma once

#include <optional>

#include "absl/time/time.h"
#include "services/capacity/core/estimate.h"
#include "services/capacity/core/view.h"

namespace muster::capacity {

// A claim as it is answered: what follows from the state, and from the time.
struct ClaimAnswer {
  ClaimView view = {};
  // As in EstimateWait; nullopt too unless it is kQueued, or when all it waits for is being
  // reclaimed.
  std::optional<WaitRange> wait = {};
  bool operator==(const ClaimAnswer&) const = default;
};

// Costs O(label classes + kKeptBursts) beside the view.
ClaimAnswer AnswerOf(const State& state, ClaimView view, absl::Time now);

}  // namespace muster::capacity
