#pragma once

#include <algorithm>

#include "absl/time/time.h"

namespace muster {

// How long to wait after so many failures in a row: `first`, doubled by each, at most `last`.
inline absl::Duration PauseAfter(int failures, absl::Duration first, absl::Duration last) {
  constexpr int kMostDoublings = 20;
  const int doublings = std::clamp(failures - 1, 0, kMostDoublings);
  return std::min(first * static_cast<double>(1 << doublings), last);
}

}  // namespace muster
