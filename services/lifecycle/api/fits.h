#pragma once

#include <string>

#include "absl/status/status.h"
#include "services/lifecycle/core/types.h"
#include "services/lifecycle/peers/what_if_client.h"

// What a caller is told of a pool's growth, by quota's answer to it.
namespace muster::lifecycle {

// OK if quota covers it. RESOURCE_EXHAUSTED (QUOTA_EXCEEDED, QUOTA_NOT_SET) with the quota's name
// and numbers; UNAVAILABLE: quota did not answer. What quota refused to judge is refused as quota
// did (FAILED_PRECONDITION, POOL_RELEASED).
absl::Status CheckFits(const Pool& pool, const QuotaTold& told);

// The same as a warning, for a pool that is to grow nevertheless; empty: quota covers it.
std::string QuotaWarning(const Pool& pool, const QuotaTold& told);

}  // namespace muster::lifecycle
