#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/capacity/core/label_classes.h"
#include "services/capacity/core/rows.h"

namespace muster::capacity {

// The affinities with which claims wait in one inventory; all but the empty one, which matches
// every machine. It keeps LabelClass::takers of the inventory's classes: whether an affinity and a
// class match is judged once, when the affinity comes or the class does, and not by the decisions
// between.
class AffinityBook {
 public:
  struct Entry {
    size_t number = 0;                    // in AffinitySet
    std::array<int64_t, 2> waiting = {};  // claims, by compute class

    bool by_default() const { return waiting[static_cast<size_t>(ComputeClass::kDefault)] > 0; }
    // The number depends on the order in which they came.
    bool operator==(const Entry& other) const { return waiting == other.waiting; }
  };
  using Entries = absl::flat_hash_map<Affinity, Entry>;

  // A claim comes to wait; it waits no more. `classes`: all of the inventory. Cost O(label classes)
  // if it is the first with its affinity, or the last.
  void Add(const ClaimRow& claim, LabelClasses& classes);
  void Remove(const ClaimRow& claim, LabelClasses& classes);
  // For a new class. Costs a look at each affinity.
  Takers TakersOf(const Labels& labels) const;

  const Entries& entries() const { return entries_; }
  // Null: nobody waits with it.
  const Entry* Find(const Affinity& affinity) const;
  // How many affinities there are; and of these, with which default claims wait.
  int64_t size() const { return static_cast<int64_t>(entries_.size()); }
  int64_t by_default() const { return by_default_; }

  bool operator==(const AffinityBook& other) const {
    return entries_ == other.entries_ && by_default_ == other.by_default_;
  }

 private:
  // Of an affinity with which the first default claim came to wait (1), or the last one went (-1).
  void CountDefault(const Entry& entry, LabelClasses& classes, int64_t by);

  Entries entries_;
  std::vector<size_t> unused_;  // numbers below the highest
  int64_t by_default_ = 0;
};

}  // namespace muster::capacity
