#pragma once

#include <cstdint>
#include <optional>

#include "absl/time/time.h"

namespace muster::capacity {

// Over which time grants are counted, and how many there must have been to tell anything.
constexpr absl::Duration kWaitWindow = absl::Hours(24);
constexpr int64_t kMinGrants = 4;

struct WaitRange {
  absl::Duration earliest = {};
  absl::Duration latest = {};
  bool operator==(const WaitRange&) const = default;
};

// How long until `nodes` machines are granted (those ahead included), when `grants` were granted to
// waiting claims within the last kWaitWindow. Grants are taken to come as a Poisson process, of
// which k were counted: its mean lies within one standard deviation, k − √k to k + √k a window. In
// whole seconds, outwards. nullopt: fewer than kMinGrants, or nothing to wait for.
std::optional<WaitRange> EstimateWait(int64_t grants, int64_t nodes);

}  // namespace muster::capacity
