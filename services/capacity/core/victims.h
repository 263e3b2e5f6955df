#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "services/capacity/core/inventory.h"
#include "services/capacity/core/placement.h"

namespace muster::capacity {

// Which spot machines of an inventory are reclaimed, one after another: the newest held, then
// lowest id, of those that are eligible, of the first spot claim (SpotRank) that has one. Each
// that it gave must be reclaimed before the next, and nothing else may change in the inventory,
// which must outlive it.
class Victims {
 public:
  // Costs O(label classes).
  Victims(const Inventory& inventory, const EligibleMachines& eligible);

  // Its id; nullopt: there is none. Costs O(log), and O(eligible label classes × log) for each
  // claim that comes to stand in front, once for all calls.
  std::optional<std::string> Next();

  // How often a claim was looked up in a class. For tests.
  int64_t looks() const { return looks_; }

 private:
  // The next machine of a claim, by class.
  using Heads = absl::btree_map<HeldMachine, const LabelClass*>;

  void AddHead(const LabelClass& machines, const std::string& uid, Heads& heads);
  // After the reclaim of what it gave last: the claim has another rank.
  void RankAnew();
  // Looks at claims up to the first that has one.
  void LookOn();

  const Inventory* inventory_;
  std::vector<const LabelClass*> classes_;         // eligible ones; they stay: they have machines
  absl::flat_hash_map<std::string, Heads> heads_;  // of the claims that were looked at
  absl::btree_set<SpotRank> ranks_;                // of these, those that have any
  std::optional<SpotRank> looked_;                 // up to where
  std::string last_;  // whose machine it gave last; empty: it is ranked
  int64_t looks_ = 0;
};

}  // namespace muster::capacity
