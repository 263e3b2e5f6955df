#pragma once

#include "absl/time/time.h"

namespace muster::fleetsim {

// Longest sleep of a thread; only a safety net.
inline constexpr absl::Duration kLongestSleep = absl::Minutes(1);
// Failed requests are logged no more often than this.
inline constexpr absl::Duration kLogInterval = absl::Seconds(1);

}  // namespace muster::fleetsim
