#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "services/lifecycle/core/types.h"

// The conditions that sum up a pool's others, as kstatus reads them: Ready, and, while that is not
// True, Reconciling or Stalled. They always speak of the newest spec.
namespace muster::lifecycle {

// Writes the summary of `status`, the pool's next one, from its other conditions. `in_production`:
// how many of the pool's Nodes take work.
void Summarize(const Pool& pool, Status& status, int64_t in_production, absl::Time now);

// Writes the summary of a pool whose spec has just changed or whose deletion was just asked for:
// its other conditions do not know of that yet.
void SummarizeUnobserved(Pool& pool, absl::Time now);

}  // namespace muster::lifecycle
