#pragma once

#include "services/lifecycle/core/types.h"

// Boots that failed one after the other: what the configuration service's breaker goes by, and what
// halts reconfigure reboots.
namespace muster::lifecycle {

// The revision that says it is active or was; null: the pool never had it.
const NodeConfiguration* FindRevision(const Pool& pool, const std::string& node_profile);

// It reboots, and was ill before: what comes of it says nothing of what it was to boot, nor of other reboots.
bool WasIll(const Node& node);
// `node`: as it was while it booted. A machine counts once in a row. Without `of_profile` it counts
// for reconfigure reboots only, and says nothing of what was booted.
void CountBootFailure(Pool& pool, const Node& node, bool of_profile = true);
// `node`: booted and ready. The row of failures of its profile is over.
void CountBootSuccess(Pool& pool, const Node& node);

}  // namespace muster::lifecycle
