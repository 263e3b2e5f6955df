#pragma once

#include <muster/lifecycle/v1/lifecycle.pb.h>

#include <string>

#include "absl/status/status.h"
#include "services/lifecycle/core/types.h"

// What is said of a pool that is to grow, by what quota says of it.
namespace muster::lifecycle {

// RESOURCE_EXHAUSTED (QUOTA_EXCEEDED, QUOTA_NOT_SET) with the quota's name and numbers; UNAVAILABLE: quota did not say.
absl::Status CheckFits(const Pool& pool, const v1::NodePoolPreview::Quota& told);

// The same as a warning, of a pool that grows nevertheless; empty: it is covered.
std::string QuotaWarning(const Pool& pool, const v1::NodePoolPreview::Quota& told);

}  // namespace muster::lifecycle
