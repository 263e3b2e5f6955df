#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/pieces.h"
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

// Keys of the pools of a lane's memory that are not settled, a piece at a time
// (services/common/pieces.h). It may miss the effect of a release that comes or goes meanwhile.
template <class Lane>
std::vector<std::string> UnsettledPools(const Lane& lane) {
  std::vector<std::string> keys;
  Resolutions resolutions;
  ForAllInPieces<PoolConfiguration>(
      lane, [&](const State& state, absl::string_view key, const PoolConfiguration& pool) {
        if (!IsSettled(state, pool, resolutions.Of(state, pool))) keys.emplace_back(key);
      });
  return keys;
}

}  // namespace muster::configuration
