#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/common/state.h"
#include "services/configuration/core/resolve.h"
#include "services/configuration/core/state.h"
#include "services/configuration/core/strategy.h"
#include "services/configuration/core/types.h"

// A release concerns thousands of pools. Which of them have yet to be looked at follows from the
// rows alone, so that the work can be done in pieces, by whichever replica, after any restart.
namespace muster::configuration {

// Brings one pool to what it resolves to, and writes what is new. Returns the pool after it.
PoolConfiguration Settle(StagedState<State>& staged, PoolConfiguration pool,
                         const Resolution& resolution, Trigger trigger, absl::Time now);

// True when a release that came or went changes nothing for the pool any more: Next of it is the
// pool itself. Pure.
bool IsSettled(const State& state, const PoolConfiguration& pool, const Resolution& resolution);

// Keys of the pools that are not settled. Each distinct want is resolved once; O(pools).
std::vector<std::string> UnsettledPools(const State& state);

}  // namespace muster::configuration
