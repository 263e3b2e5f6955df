#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/capacity/core/affinity_book.h"
#include "services/capacity/core/label_classes.h"
#include "services/capacity/core/queue.h"
#include "services/capacity/core/rows.h"
#include "services/capacity/core/spot_book.h"

namespace muster::capacity {

// A fabric or a rack, ordered by how much it has to give: most first, then by name.
struct SizedRoom {
  int64_t size = 0;
  std::string name = {};

  bool operator==(const SizedRoom&) const = default;
  bool operator<(const SizedRoom& other) const {
    return std::tie(other.size, name) < std::tie(size, other.name);
  }
};
using BySize = absl::btree_set<SizedRoom>;

// The machines in service of one rack.
struct Rack {
  absl::btree_set<std::pair<int32_t, std::string>> free = {};  // slot, id
  Holders held = {};

  bool operator==(const Rack&) const = default;
};

// The racks of one fabric. Machines of an unknown rack stand in the rack "".
struct Fabric {
  absl::btree_map<std::string, Rack> racks = {};
  BySize by_free = {};                      // racks with free machines, by how many
  absl::btree_set<std::string> whole = {};  // racks that can be granted whole
  int64_t free = 0;

  bool operator==(const Fabric&) const = default;
};

// The machines of one instance type in one zone, and the queue for them: an index over machine and
// claim rows, kept so that a decision touches only what it changes. Every change costs O(log)
// (times the pools that share the rack).
class Inventory {
 public:
  // A rack by fabric and name.
  using Place = std::pair<std::string, std::string>;
  using Places = absl::btree_set<Place>;

  void Add(const MachineRow& machine) { Change(nullptr, &machine); }
  void Remove(const MachineRow& machine) { Change(&machine, nullptr); }
  // Remove and Add in one.
  void Replace(const MachineRow& before, const MachineRow& after);
  // Puts a waiting claim into the queue, or takes it out. `ages`: of the machines that it holds;
  // they must not change while it is in the queue.
  void Add(const ClaimRow& claim, const Ages& ages) { queue_.Add(claim, ages); }
  void Remove(const ClaimRow& claim, const Ages& ages) { queue_.Remove(claim, ages); }
  // The claim comes to wait, or waits no more. To be called beside Add and Remove, but only once
  // while it goes on waiting. Cost as AffinityBook's.
  void AddTaker(const ClaimRow& claim) { affinities_.Add(claim, classes_); }
  void RemoveTaker(const ClaimRow& claim) { affinities_.Remove(claim, classes_); }
  // 0: machines are granted one by one. Costs O(racks) when it changes.
  void set_nodes_per_rack(int32_t nodes);
  int32_t nodes_per_rack() const { return nodes_per_rack_; }

  const MachineCounts& counts() const { return counts_; }
  // Counts of the machines that match. Costs O(label classes); O(1) for an empty affinity.
  MachineCounts Matching(const Affinity& affinity) const;
  const LabelClasses& classes() const { return classes_; }
  // That of a machine that it has.
  const LabelClasses::value_type& ClassOf(const Labels& labels) const {
    return *classes_.find(labels);
  }
  // Whether the affinity matches the machines of one of its classes. Costs O(1) if somebody waits
  // with the affinity.
  bool Matches(const Affinity& affinity, const LabelClasses::value_type& machines) const;
  // With which affinities claims wait.
  const AffinityBook& affinities() const { return affinities_; }
  int64_t count(MachineState state) const { return counts_.count(state); }
  int64_t free() const { return counts_.free(); }
  int64_t in_service() const { return counts_.in_service(); }

  // Who waits, in the order in which they are served.
  const Queue& queue() const { return queue_; }
  // Who holds spot machines, and for whom they are being reclaimed.
  const SpotBook& spot() const { return spot_; }

  const absl::btree_map<std::string, Fabric>& fabrics() const { return fabrics_; }
  // Fabrics with free machines, by how many; fabrics with whole racks, by how many.
  const BySize& by_free() const { return by_free_; }
  const BySize& by_whole() const { return by_whole_; }
  // Racks with free machines in which the pool holds others. Null: none.
  const Places* PartlyHeld(absl::string_view pool_uid) const;
  const absl::btree_map<std::string, Places>& partly_held() const { return partly_held_; }

  // Whether it has no machine, and nobody waits.
  bool empty() const;

  bool operator==(const Inventory&) const = default;

 private:
  // `known`: of the affinity, which is not empty; null: nobody waits with it.
  static bool Matches(const Affinity& affinity, const AffinityBook::Entry* known,
                      const LabelClasses::value_type& machines);
  // Replaces `before` with `after`. Null: the machine was not there, or is gone. If neither is null
  // they have the same rack and labels.
  void Change(const MachineRow* before, const MachineRow* after);
  void ChangeClass(const MachineRow* before, const MachineRow* after);
  void ChangeRack(const MachineRow* before, const MachineRow* after);
  void CountRack(Rack& rack, const MachineRow& machine, int64_t by);
  // Puts the rack into the lists that choose by size and holder, or takes it out of them.
  void List(const std::string& fabric_name, Fabric& fabric, const std::string& rack_name,
            const Rack& rack);
  void Unlist(const std::string& fabric_name, Fabric& fabric, const std::string& rack_name,
              const Rack& rack);
  bool IsWhole(const std::string& name, const Rack& rack) const;

  int32_t nodes_per_rack_ = 0;
  MachineCounts counts_;
  LabelClasses classes_;
  AffinityBook affinities_;
  Queue queue_;
  SpotBook spot_;
  absl::btree_map<std::string, Fabric> fabrics_;
  BySize by_free_;
  BySize by_whole_;
  absl::btree_map<std::string, Places> partly_held_;
};

}  // namespace muster::capacity
