#pragma once

#include <muster/lifecycle/v1/lifecycle.pb.h>

#include <string>

#include "absl/status/status.h"
#include "services/lifecycle/core/types.h"

// What a caller is told of a pool's growth, by quota's answer to it.
namespace muster::lifecycle {

// OK if quota covers it. RESOURCE_EXHAUSTED (QUOTA_EXCEEDED, QUOTA_NOT_SET) with the quota's name and
// numbers; UNAVAILABLE: quota did not answer.
absl::Status CheckFits(const Pool& pool, const v1::NodePoolPreview::Quota& told);

// The same as a warning, for a pool that is to grow nevertheless; empty: quota covers it.
std::string QuotaWarning(const Pool& pool, const v1::NodePoolPreview::Quota& told);

}  // namespace muster::lifecycle
