#pragma once

#include "services/lifecycle/core/types.h"

// Counts boots that failed in a row: the configuration service disables a profile by them, and they
// halt reconfigure reboots.
namespace muster::lifecycle {

// The pool's revision with this profile; null: the pool never had it.
const NodeConfiguration* FindRevision(const Pool& pool, const std::string& node_profile);

// True when the Node is rebooting and was unhealthy before: a failure of that boot says nothing of
// the profile, nor of other reboots.
bool WasIll(const Node& node);
// `node`: as it was while it booted. Each machine counts once in a row. Without `of_profile` the
// failure counts against reconfigure reboots only, not against the profile.
void CountBootFailure(Pool& pool, const Node& node, bool of_profile = true);
// `node` has booted and is ready: ends the row of failures of its profile.
void CountBootSuccess(Pool& pool, const Node& node);

}  // namespace muster::lifecycle
