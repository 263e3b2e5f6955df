#include "services/fleetsim/lag_histogram.h"

#include <algorithm>

namespace muster::fleetsim {

absl::Duration LagHistogram::Limit(size_t bucket) {
  return absl::Microseconds(125) * (int64_t{1} << bucket);
}

void LagHistogram::Add(absl::Duration lag) {
  size_t bucket = 0;
  while (bucket + 1 < kBuckets && lag >= Limit(bucket)) ++bucket;
  ++buckets_[bucket];
  ++count_;
  max_ = std::max(max_, lag);
}

absl::Duration LagHistogram::Quantile(double quantile) const {
  int64_t within = 0;
  for (size_t bucket = 0; bucket + 1 < kBuckets; ++bucket) {
    within += buckets_[bucket];
    if (within > 0 && static_cast<double>(within) >= quantile * static_cast<double>(count_))
      return std::min(Limit(bucket), max_);
  }
  return max_;
}

}  // namespace muster::fleetsim
