#pragma once

#include "absl/time/time.h"
#include "services/quota/core/names.h"

// For tests: the quota that most of them are about, and when.
namespace muster::quota {

inline const QuotaKey kKey{"acme", "US-EAST-04A", "gd-8xa100-i128", ComputeClass::kDefault};
inline const absl::Time kNow = absl::FromUnixSeconds(1'750'000'000);

}  // namespace muster::quota
