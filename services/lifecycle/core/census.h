#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/pieces.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/state.h"

// Nodes and pools, counted for the metrics.
namespace muster::lifecycle {

// For each of these ages the metrics tell how many Nodes have been in their state for longer.
inline constexpr absl::Duration kCensusAges[] = {absl::Minutes(1),  absl::Minutes(5),
                                                 absl::Minutes(15), absl::Hours(1),
                                                 absl::Hours(4),    absl::Hours(24)};
// A Node that waits for its agent for longer than this may have none.
inline constexpr absl::Duration kAgentPatience = absl::Minutes(15);

struct NodeCount {
  int64_t nodes = 0;
  absl::Time oldest = absl::InfiniteFuture();  // in the state for longest; no Node: InfiniteFuture
  std::array<int64_t, std::size(kCensusAges)> older = {};
  bool operator==(const NodeCount&) const = default;
};

struct ConditionKey {
  std::string type = {};
  std::string status = {};
  std::string reason = {};
  auto operator<=>(const ConditionKey&) const = default;
};

inline constexpr int kReconfigurationStates = 5;

// Rows are put in one by one, in any order.
struct Census {
  std::array<NodeCount, kNodeStates> nodes = {};
  // By zone, for every zone with Nodes: how many wait for their agents for longer than
  // kAgentPatience.
  absl::btree_map<std::string, int64_t> awaiting_agent = {};
  int64_t preemptions_pending = 0;   // Nodes that were warned
  int64_t preemptions_draining = 0;  // Nodes whose work is asked to leave for it
  int64_t drains_blocked = 0;        // Nodes whose agent says that something blocks their drain
  int64_t nodes_unhealthy = 0;       // as their agents see them
  absl::btree_map<ConditionKey, int64_t> conditions = {};      // of pools
  absl::btree_map<std::string, int64_t> pools_at_target = {};  // by reason; New: not yet looked at
  std::array<int64_t, kReconfigurationStates> reconfigurations = {};  // the last one of each pool

  const NodeCount& In(NodeState state) const { return nodes[static_cast<size_t>(state)]; }
  void Add(const Node& node, absl::string_view zone, absl::Time now);
  void Add(const Pool& pool);
};

// Counts all rows of a lane's memory, a piece at a time (services/common/pieces.h).
template <class Lane>
Census CensusOf(const Lane& lane, absl::Time now) {
  Census census;
  ForAllInPieces<Pool>(
      lane, [&](const State&, absl::string_view, const Pool& pool) { census.Add(pool); });
  std::string pool_name, zone;  // of the Node before: Nodes come pool by pool
  ForAllInPieces<Node>(lane, [&](const State& state, absl::string_view name, const Node& node) {
    if (const absl::string_view of = PoolNameOf(name); of != pool_name) {
      pool_name = std::string(of);
      const Pool* pool = state.table<Pool>().Find(of);
      zone = pool == nullptr ? "" : pool->zone;
    }
    census.Add(node, zone, now);
  });
  return census;
}

}  // namespace muster::lifecycle
