#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace muster::fleetsim {

// How late things happened: counts in buckets that double, so that it stays small whatever is
// added. Quantiles are exact to a factor of two. Not thread-safe.
class LagHistogram {
 public:
  // A negative lag counts as none.
  void Add(absl::Duration lag);

  int64_t count() const { return count_; }
  absl::Duration max() const { return max_; }
  // The least bucket limit below which the share `quantile` (0 to 1) of all lags was, but at most
  // max(); 0 if nothing was added.
  absl::Duration Quantile(double quantile) const;

 private:
  // Bucket i holds what is below 2^i times 0.125 ms; the last one all that is longer.
  static constexpr size_t kBuckets = 24;
  static absl::Duration Limit(size_t bucket);

  std::array<int64_t, kBuckets> buckets_ = {};
  int64_t count_ = 0;
  absl::Duration max_ = absl::ZeroDuration();
};

}  // namespace muster::fleetsim
