#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "absl/container/btree_map.h"
#include "services/common/pieces.h"
#include "services/configuration/core/state.h"

// Pools by what becomes of their configuration, counted for the metrics.
namespace muster::configuration {

// Rows are put in one by one, in any order.
struct Census {
  int64_t pools = 0;
  int64_t with_problem = 0;        // their spec resolves to nothing
  int64_t with_pending = 0;        // something is to be promoted by order
  int64_t with_waiting = 0;        // something becomes active once Nodes that boot have booted
  int64_t active_disabled = 0;     // what they boot is disabled
  int64_t disabled_revisions = 0;  // over all pools
  // Releases in force.
  absl::btree_map<std::pair<Channel, Component>, int64_t> releases = {};

  void Add(const PoolConfiguration& pool);
  void Add(const Release& release);
  bool operator==(const Census&) const = default;
};

// Counts all rows in a lane's memory, a piece at a time (services/common/pieces.h).
template <class Lane>
Census CensusOf(const Lane& lane) {
  Census census;
  ForAllInPieces<PoolConfiguration>(lane, [&](const State&, absl::string_view,
                                              const PoolConfiguration& pool) { census.Add(pool); });
  ForAllInPieces<Release>(
      lane, [&](const State&, absl::string_view, const Release& release) { census.Add(release); });
  return census;
}

}  // namespace muster::configuration
