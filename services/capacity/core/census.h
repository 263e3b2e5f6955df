#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "services/capacity/core/state.h"
#include "services/common/pieces.h"

// Machines and claims, counted for the metrics.
namespace muster::capacity {

struct CensusKey {
  std::string zone = {};
  std::string instance_type = {};
  ComputeClass compute_class = ComputeClass::kDefault;
  auto operator<=>(const CensusKey&) const = default;
};

struct ClaimCount {
  int64_t claims = 0;
  int64_t waiting = 0;                         // claims that wait for one Node at least
  int64_t nodes = 0;                           // Nodes that these wait for
  absl::Time oldest = absl::InfiniteFuture();  // since when one waits; InfiniteFuture: none does
  // Of `nodes`: of claims that are offered the type and that enough free machines match.
  int64_t servable = 0;
  bool operator==(const ClaimCount&) const = default;
};

// Rows are put in one by one, in any order. Zones and types that are not in the catalogue are
// counted under the name `other`, since a claim may name anything.
struct Census {
  absl::btree_map<InventoryKey, MachineCounts> machines = {};
  absl::btree_map<CensusKey, ClaimCount> claims = {};

  // Adds all machines, which the state has counted already. O(inventories).
  void AddMachines(const State& state);
  void Add(const State& state, const ClaimRow& claim);
};

// Counts all rows in a lane's memory, a piece at a time (services/common/pieces.h).
template <class Lane>
Census CensusOf(const Lane& lane) {
  Census census;
  lane.Peek([&](const State& state, int64_t) { census.AddMachines(state); });
  ForAllInPieces<ClaimRow>(lane, [&](const State& state, absl::string_view, const ClaimRow& claim) {
    census.Add(state, claim);
  });
  return census;
}

}  // namespace muster::capacity
