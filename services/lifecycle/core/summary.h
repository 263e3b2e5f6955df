#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "services/lifecycle/core/types.h"

// The conditions that sum up a pool's others: Ready, and Reconciling or Stalled beside a Ready that is not True, as kstatus reads them.
// They always speak of the spec as it is.
namespace muster::lifecycle {

// Writes the summary of the pool's next status, whose other conditions are there: `in_production` of its Nodes take work.
void Summarize(const Pool& pool, Status& status, int64_t in_production, absl::Time now);

// Of a pool whose spec just changed, or whose deletion was just asked for: what its conditions say is of the past.
void SummarizeUnobserved(Pool& pool, absl::Time now);

}  // namespace muster::lifecycle
