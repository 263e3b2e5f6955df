#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/core/types.h"

namespace muster::lifecycle {

// How a pool shrinks whose type is granted in whole racks: one rack after another. The machines of a
// rack of which the pool keeps a part can be granted to nobody else. Racks are known by name: those
// of one name in two fabrics count as one.
class VictimRacks {
 public:
  // `nodes`: all of the snapshot's pool, as they are by now. Of a type that is not granted by racks
  // no rack is ever begun, and all orders stay as they are.
  VictimRacks(const Snapshot& snapshot, const std::vector<const Node*>& nodes);

  // `victims`, of the pool, first to go first: named ones stay the first; the others go rack by
  // rack, and in a rack as before, those that would have to be awaited last. First of racks that leave
  // (Leaves), then of the rack with the fewest Nodes, if it is not whole any more, then of that with
  // the fewest that work or have to be awaited, then of whose first victim came first.
  void Sort(std::vector<const Node*>& victims) const;
  // `cordoned`, Nodes that were to go, first to stay after all first: they stay rack by rack, and in
  // a rack as before. First those of the rack of which the pool keeps the most with them, then of
  // that of which fewest are cordoned.
  void SortBack(std::vector<Node*>& cordoned) const;
  // The Node goes: its rack is whole no more.
  void Begin(const Node& node);
  // The pool keeps less than all of its rack: no other one is to be begun in its place.
  bool IsBegun(const Node& node) const;
  // All of its rack goes: Nodes of it are on their way out by a scale-down, or were when the pool's account was
  // written, and other racks are as many as the target asks for. What these lack by now is to come to them,
  // not to be made up for by the rest of this one: then the pool would have a part of one more rack for good.
  bool Leaves(const Node& node) const;
  // Whether a Node stays so far in a rack that leaves.
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

  // In its rack; 0: it can go at once.
  int TurnOf(const Node& node) const;

  const int64_t nodes_per_rack_;
  const bool awaits_work_;  // whoever works is left alone
  const absl::Time now_;
  absl::flat_hash_map<std::string, Rack> racks_;
};

}  // namespace muster::lifecycle
