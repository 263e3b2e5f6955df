#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/time/time.h"
#include "services/capacity/core/affinity.h"
#include "services/capacity/core/rows.h"

namespace muster::capacity {

// How many machines there are, by state.
struct MachineCounts {
  std::array<int64_t, 5> by_state = {};
  int64_t reclaimable = 0;  // held as spot and not being reclaimed

  int64_t count(MachineState state) const { return by_state[static_cast<size_t>(state)]; }
  int64_t free() const { return count(MachineState::kFree); }
  int64_t in_service() const {
    return free() + count(MachineState::kHeld) + count(MachineState::kReclaiming);
  }
  int64_t registered() const;

  void Add(const MachineRow& machine, int64_t by);
  MachineCounts& operator+=(const MachineCounts& other);
  bool operator==(const MachineCounts&) const = default;
};

// Machines held, by pool uid; no zeroes.
using Holders = absl::btree_map<std::string, int64_t>;
void CountHeld(Holders& holders, const std::string& pool_uid, int64_t by);

// A machine by the time since which it is held, newest first.
struct HeldMachine {
  absl::Time time = absl::UnixEpoch();
  std::string id = {};
  bool operator==(const HeldMachine&) const = default;
  bool operator<(const HeldMachine& other) const {
    return std::tie(other.time, id) < std::tie(time, other.id);
  }
};

// Machines of one class in one rack.
struct ClassRack {
  int64_t free = 0;
  int64_t in_service = 0;
  int64_t in_repair = 0;
  bool operator==(const ClassRack&) const = default;
};

struct ClassFabric {
  int64_t free = 0;
  absl::btree_map<std::string, ClassRack> racks = {};
  bool operator==(const ClassFabric&) const = default;
};

// Affinities by their numbers (AffinityBook).
class AffinitySet {
 public:
  bool Has(size_t number) const {
    return number / kBits < words_.size() && (words_[number / kBits] >> number % kBits & 1) != 0;
  }
  void Insert(size_t number) {
    if (number / kBits >= words_.size()) words_.resize(number / kBits + 1);
    words_[number / kBits] |= uint64_t{1} << number % kBits;
  }
  // It must be there.
  void Erase(size_t number) { words_[number / kBits] &= ~(uint64_t{1} << number % kBits); }
  AffinitySet& operator|=(const AffinitySet& other);

 private:
  static constexpr size_t kBits = 64;
  std::vector<uint64_t> words_;
};

// The affinities with which claims wait and that match the machines of one class.
struct Takers {
  AffinitySet set = {};
  int64_t all = 0;
  int64_t by_default = 0;  // of these, with which default claims wait
  // The numbers depend on the order in which the affinities came.
  bool operator==(const Takers& other) const {
    return all == other.all && by_default == other.by_default;
  }
};

// The machines of an inventory that have the same labels: an affinity holds for all of them or for
// none.
struct LabelClass {
  MachineCounts counts = {};
  Holders held = {};
  absl::btree_map<std::string, ClassFabric> fabrics = {};  // with machines that are not retired
  absl::btree_map<std::string, absl::btree_set<HeldMachine>> reclaimable = {};  // by pool uid
  Takers takers = {};  // kept by AffinityBook

  // Replaces `before` with `after`. Null: the machine was not there, or is gone. If neither is null
  // they have the same rack.
  void Change(const MachineRow* before, const MachineRow* after);
  bool operator==(const LabelClass&) const = default;
};

using LabelClasses = absl::btree_map<Labels, LabelClass>;

}  // namespace muster::capacity
