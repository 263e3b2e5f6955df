#pragma once

#include <cstdint>

#include "services/capacity/core/inventory.h"

namespace muster::capacity {

// The affinities for which somebody waits, each once: machines that match few of them are given
// away first.
class WaitingAffinities {
 public:
  // `spot`: those for which only spot claims wait count too. The inventory must outlive it.
  WaitingAffinities(const Inventory& inventory, bool spot)
      : affinities_(inventory.affinities()), spot_(spot) {}

  bool empty() const { return (spot_ ? affinities_.size() : affinities_.by_default()) == 0; }
  bool Counts(const AffinityBook::Entry& entry) const { return spot_ || entry.by_default(); }
  // How many of them match the machines of a class of the inventory. Costs O(1).
  int64_t CountMatching(const LabelClass& machines) const {
    return spot_ ? machines.takers.all : machines.takers.by_default;
  }

 private:
  const AffinityBook& affinities_;
  const bool spot_;
};

}  // namespace muster::capacity
