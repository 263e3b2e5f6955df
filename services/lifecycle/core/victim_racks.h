#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// The order in which a pool shrinks whose type is granted in whole racks: one rack after another,
// because a rack of which the pool keeps a part can be granted to nobody else. Racks are known by
// name: two of one name in different fabrics count as one.
class VictimRacks {
 public:
  // `nodes`: all of the snapshot's pool, as they are by now. If the type is not granted by racks,
  // no rack is ever begun, and Sort and SortBack change nothing.
  VictimRacks(const Snapshot& snapshot, const std::vector<const Node*>& nodes);

  // Sorts `victims`, Nodes of the pool, first to go first. Named ones stay the first. The others go
  // rack by rack, in a rack as before but those that would have to be awaited last. Order of racks:
  // those that leave (Leaves); then the one with the fewest Nodes, whole racks being equal; then
  // the one with the fewest that work or have to be awaited; then the one whose first victim came
  // first.
  void Sort(std::vector<const Node*>& victims) const;
  // Sorts `cordoned`, Nodes that were to go, first to stay after all first: rack by rack, in a rack
  // as before. Order of racks: the one of which the pool then keeps the most, then the one of which
  // the fewest are cordoned.
  void SortBack(std::vector<Node*>& cordoned) const;
  // The Node goes: its rack is whole no more.
  void Begin(const Node& node);
  // True when the pool keeps less than all of the Node's rack: no other rack is to be begun
  // instead.
  bool IsBegun(const Node& node) const;
  // True when all of the Node's rack goes: Nodes of it are on their way out by a scale-down, or
  // were when the pool's account was written, and the other racks are as many as the target asks
  // for. What those lack by now is to be granted to them; kept instead, the rest of this rack would
  // stay a part for good.
  bool Leaves(const Node& node) const;
  // True when a rack that leaves has Nodes that are not on their way out yet.
  bool AnyLeaves() const;
  // The racks that leave, sorted.
  std::vector<std::string> Leaving() const;

 private:
  struct Rack {
    int64_t staying = 0;   // neither on their way out nor named to go
    int64_t named = 0;     // would stay, were they not named to go
    int64_t late = 0;      // of those that stay: work, or have to be awaited
    int64_t cordoned = 0;  // to go by a scale-down, which can be taken back
    bool begun = false;    // Nodes of it are, or were, on their way out by a scale-down
    bool leaves = false;
  };

  void FindLeaving(const Snapshot& snapshot);

  // The Node's turn within its rack; 0: it can go at once.
  int TurnOf(const Node& node) const;

  const int64_t nodes_per_rack_;
  const bool awaits_work_;  // Nodes that have work are left alone (IdleOnly)
  const absl::Time now_;
  absl::flat_hash_map<std::string, Rack> racks_;
};

}  // namespace muster::lifecycle
