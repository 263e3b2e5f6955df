#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/capacity/core/rows.h"

namespace muster::capacity {

// A place in the queue: one outstanding part of one claim.
struct QueueKey {
  ComputeClass compute_class = ComputeClass::kDefault;
  int32_t priority = 0;
  absl::Time request_time = absl::UnixEpoch();
  std::string pool_uid = {};

  bool operator==(const QueueKey&) const = default;
  // semantics.md 5: default before spot, higher priority first, older first, then uid.
  bool operator<(const QueueKey& other) const {
    return std::tie(compute_class, other.priority, request_time, pool_uid) <
           std::tie(other.compute_class, priority, other.request_time, other.pool_uid);
  }
};

// A fabric or a rack by what it has to give: most first, then by name.
struct Sized {
  int64_t size = 0;
  std::string name = {};

  bool operator==(const Sized&) const = default;
  bool operator<(const Sized& other) const {
    return std::tie(other.size, name) < std::tie(size, other.name);
  }
};
using BySize = absl::btree_set<Sized>;

// The machines in service of one rack.
struct Rack {
  absl::btree_set<std::pair<int32_t, std::string>> free = {};  // slot, id
  absl::btree_map<std::string, int64_t> held = {};             // pool uid → machines

  bool operator==(const Rack&) const = default;
};

// The racks of one fabric. Machines of an unknown rack stand in the rack "".
struct Fabric {
  absl::btree_map<std::string, Rack> racks = {};
  BySize by_free = {};                      // racks with free machines, by their number
  absl::btree_set<std::string> whole = {};  // racks that can be granted whole
  int64_t free = 0;

  bool operator==(const Fabric&) const = default;
};

// The machines of one instance type in one zone, and the queue for them: an index over machine and
// claim rows, kept so that a decision touches only what it changes. Every change costs O(log)
// (times the pools that share the rack).
class Depot {
 public:
  // A rack by fabric and name.
  using Place = std::pair<std::string, std::string>;
  using Places = absl::btree_set<Place>;

  void Add(const MachineRow& machine) { Change(machine, 1); }
  void Remove(const MachineRow& machine) { Change(machine, -1); }
  void Add(const ClaimRow& claim);
  void Remove(const ClaimRow& claim);
  // 0: machines are granted one by one. Costs O(racks) when it changes.
  void set_nodes_per_rack(int32_t nodes);
  int32_t nodes_per_rack() const { return nodes_per_rack_; }

  int64_t count(MachineState state) const { return counts_[static_cast<size_t>(state)]; }
  int64_t free() const { return count(MachineState::kFree); }
  int64_t in_service() const;

  // Nodes that wait, in the order in which they are served.
  const absl::btree_map<QueueKey, int64_t>& queue() const { return queue_; }
  const absl::btree_map<std::string, Fabric>& fabrics() const { return fabrics_; }
  // Fabrics with free machines, by their number; with whole racks, by theirs.
  const BySize& by_free() const { return by_free_; }
  const BySize& by_whole() const { return by_whole_; }
  // Racks with free machines in which the pool holds others. Null: none.
  const Places* PartlyHeld(absl::string_view pool_uid) const;
  const absl::btree_map<std::string, Places>& partly_held() const { return partly_held_; }

  // Nothing in it: no machine, nobody waits.
  bool empty() const;

  bool operator==(const Depot&) const = default;

 private:
  void Change(const MachineRow& machine, int64_t by);
  void ChangeRack(const MachineRow& machine, int64_t by);
  // Puts the rack into the lists that choose by size and holder, or takes it out of them.
  void List(const std::string& fabric_name, Fabric& fabric, const std::string& rack_name);
  void Unlist(const std::string& fabric_name, Fabric& fabric, const std::string& rack_name);
  bool IsWhole(const std::string& name, const Rack& rack) const;

  int32_t nodes_per_rack_ = 0;
  std::array<int64_t, 5> counts_ = {};
  absl::btree_map<QueueKey, int64_t> queue_;
  absl::btree_map<std::string, Fabric> fabrics_;
  BySize by_free_;
  BySize by_whole_;
  absl::btree_map<std::string, Places> partly_held_;
};

}  // namespace muster::capacity
