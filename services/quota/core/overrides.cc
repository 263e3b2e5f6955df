#include "services/quota/core/overrides.h"

#include <vector>

namespace muster::quota {

int64_t LimitAt(const Quota& quota, absl::Time at) {
  for (const LimitOverride& override : quota.overrides) {
    if (override.effective_time <= at && at < override.expire_time) return override.limit;
  }
  return quota.limit;
}

int64_t LimitInForce(const Quota& quota) { return LimitAt(quota, quota.update_time); }

absl::Time NextChange(const Quota& quota) {
  for (const LimitOverride& override : quota.overrides) {
    if (override.effective_time > quota.update_time) return override.effective_time;
    if (override.expire_time > quota.update_time) return override.expire_time;
  }
  return absl::InfiniteFuture();
}

void DropLapsed(Quota& quota, absl::Time now) {
  std::erase_if(quota.overrides,
                [now](const LimitOverride& override) { return override.expire_time <= now; });
}

}  // namespace muster::quota
