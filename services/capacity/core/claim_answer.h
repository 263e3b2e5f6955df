#pragma once

#include <optional>

#include "absl/time/time.h"
#include "services/capacity/core/estimate.h"
#include "services/capacity/core/view.h"

namespace muster::capacity {

// A claim as it is answered: what follows from the state, and from the time.
struct ClaimAnswer {
  ClaimView view = {};
  std::optional<WaitRange> wait = {};  // as in EstimateWait; nullopt too unless it is kQueued
  bool operator==(const ClaimAnswer&) const = default;
};

// Costs O(log) beside the view.
ClaimAnswer AnswerOf(const State& state, ClaimView view, absl::Time now);

}  // namespace muster::capacity
