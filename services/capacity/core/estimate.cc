#include "services/capacity/core/estimate.h"

#include <cmath>

namespace muster::capacity {

std::optional<WaitRange> EstimateWait(int64_t grants, int64_t nodes) {
  if (grants < kMinGrants || nodes <= 0) return std::nullopt;
  const double count = static_cast<double>(grants);
  const absl::Duration windows = kWaitWindow * static_cast<double>(nodes);
  return WaitRange{absl::Floor(windows / (count + std::sqrt(count)), absl::Seconds(1)),
                   absl::Ceil(windows / (count - std::sqrt(count)), absl::Seconds(1))};
}

}  // namespace muster::capacity
