#pragma once

#include <atomic>
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
// (services/common/pieces.h). It may miss what a release that comes or goes meanwhile does.
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

// How many pools are not settled, for the metrics. Whatever happens to a pool itself leaves it
// settled: they are looked through only from a change of releases until all are. Thread-safe.
class UnsettledCount {
 public:
  // After a release came or went: memory shows it.
  void ReleasesChanged() { all_settled_ = false; }

  // By one thread at a time.
  template <class Lane>
  size_t Of(const Lane& lane) {
    // What changes while they are looked through calls for another look.
    if (all_settled_.exchange(true)) return 0;
    const size_t unsettled = UnsettledPools(lane).size();
    if (unsettled > 0) all_settled_ = false;
    return unsettled;
  }

 private:
  std::atomic<bool> all_settled_ = false;
};

}  // namespace muster::configuration
