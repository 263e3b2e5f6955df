#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "services/capacity/core/rows.h"

namespace muster::capacity {

// An estimate needs at least so many bursts; more if their sizes differ.
constexpr double kLeastBursts = 3;
// How much rates change: the variance of the rate, relative to its mean squared, over a time far
// longer than the record.
constexpr double kDrift = 0.5;
// Longer waits are not estimated.
constexpr absl::Duration kLongestWait = absl::Hours(24 * 90);

struct WaitRange {
  absl::Duration earliest = {};
  absl::Duration latest = {};
  bool operator==(const WaitRange&) const = default;
};

// How long until `nodes` machines have come, those for whoever is ahead included, judged by the
// bursts (arrivals.h) up to `now`. The range holds in 8 of 10 cases (estimate_simulation_test.cc),
// in whole seconds, rounded outwards. nullopt: nothing to wait for, too few bursts, or too long a
// wait.
//   Bursts are taken to come as a Poisson process. One brings m of the `nodes` in the mean, so that
//   J = nodes / m have to come; E came in the time T since the first. The wait is then distributed
//   as T * Gamma(J) / Gamma(E + 1/2), and the range goes from its 10 % to its 90 % quantile.
//   Unequal bursts tell less than so many equal ones, and what was seen tells less of a longer wait
//   (kDrift).
std::optional<WaitRange> EstimateWait(const std::vector<Burst>& bursts, int64_t nodes,
                                      absl::Time now);

}  // namespace muster::capacity
