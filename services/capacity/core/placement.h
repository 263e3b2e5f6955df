#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "services/capacity/core/inventory.h"
#include "services/capacity/core/state.h"
#include "services/capacity/core/waiting.h"

// Which free machines a pool gets. Pure and deterministic: the same state gives the same machines.
namespace muster::capacity {

// The machines that a claim may have: those that match its affinity, and none that is kept for a
// gang ahead of it. What it points to must outlive it.
struct EligibleMachines {
  const Affinity* affinity = nullptr;
  std::vector<const Affinity*> kept = {};                            // of these gangs
  std::vector<const absl::btree_set<Inventory::Place>*> racks = {};  // whole ones kept for them
  // Free machines that complete gangs together with what is being reclaimed: kept from spot, too.
  std::vector<const EligibleMachines*> promised = {};
  // If set: machines match at most `most` of these affinities.
  const WaitingAffinities* waiting = nullptr;
  int64_t most = 0;

  bool all() const {
    return affinity->empty() && kept.empty() && racks.empty() && promised.empty() &&
           waiting == nullptr;
  }
  // `machines`: a class of the inventory.
  bool Has(const Inventory& inventory, const LabelClasses::value_type& machines) const;
  bool HasRack(const Inventory::Place& place) const;
};

// Narrows them to those that match the fewest of the waiting affinities, counting only label
// classes for which `has_any` holds.
template <class HasAny>
EligibleMachines LeastWanted(const Inventory& inventory, EligibleMachines eligible,
                             const WaitingAffinities& waiting, HasAny has_any) {
  if (waiting.empty()) return eligible;
  std::optional<int64_t> least;
  for (const auto& machines : inventory.classes()) {
    if (!eligible.Has(inventory, machines) || !has_any(machines)) continue;
    const int64_t here = waiting.CountMatching(machines.second);
    if (!least || here < *least) least = here;
  }
  eligible.waiting = &waiting;
  eligible.most = least.value_or(0);
  return eligible;
}

// How many free machines are eligible. Costs O(label classes); O(1) when all are.
int64_t CountFree(const Inventory& inventory, const EligibleMachines& eligible);

// How many whole racks could be granted of them. Costs O(whole racks × label classes); O(fabrics)
// when all are eligible.
int64_t CountWholeRacks(const Inventory& inventory, const EligibleMachines& eligible);

// Fabrics, or the racks of one fabric, by how much they have to give; those with nothing are left
// out.
class Rooms {
 public:
  using Sizes = absl::btree_map<std::string, int64_t>;

  Rooms() = default;
  explicit Rooms(Sizes sizes);

  bool empty() const { return sizes_.empty(); }
  bool Has(const std::string& name) const { return sizes_.contains(name); }
  const BySize& by_size() const { return by_size_; }
  // Takes `nodes` away from what `name` has to give; there must be as many.
  void Take(const std::string& name, int64_t nodes);

 private:
  Sizes sizes_;
  BySize by_size_;
};

// Chooses the machines of one grant, rack by rack: of those that are eligible, first the ones
// that the fewest of the waiting affinities match. What it is made of must outlive it.
class MachineChooser {
 public:
  MachineChooser(const State& state, const Inventory& inventory, const EligibleMachines& eligible,
                 const WaitingAffinities& waiting, std::string pool_uid);

  // The next machines for the pool, which is to get `nodes` more: at most `nodes`, all of one rack,
  // never empty while free machines are eligible. Call it again for the rest, and only for that,
  // once these are held and nothing else has changed.
  //  * fabric: the one where the pool has most machines; else the one with least room that holds
  //    all of `nodes`; else the one with most room;
  //  * rack within it: one where the pool has machines; else, as with fabrics, the tightest that
  //    holds them all, else the roomiest;
  //  * machines within it: lowest slot, then id. Every tie goes to the lower name.
  // Room is what is eligible there. Costs O(log); when not all are eligible, also O(label classes ×
  // (fabrics + racks of one)) for each fabric, and each time that machines which more of the
  // affinities match have their turn.
  std::vector<std::string> Next(int64_t nodes);

 private:
  void NextLevel();
  void EnterFabric(int64_t nodes);

  const State& state_;
  const Inventory& inventory_;
  const EligibleMachines& eligible_;
  const WaitingAffinities& waiting_;
  const std::string pool_uid_;
  EligibleMachines level_;  // which of them are least wanted
  int64_t free_ = 0;        // of the level, as all below
  Rooms fabrics_;
  std::string fabric_;                // from which it takes
  Rooms racks_;                       // of that fabric
  absl::btree_set<std::string> own_;  // of these, where the pool had machines before
};

// The whole racks that could be granted. Costs as CountWholeRacks.
absl::btree_set<Inventory::Place> WholeRacksOf(const Inventory& inventory,
                                               const EligibleMachines& eligible);

// For each whole rack, how many of the waiting affinities could have it. For the turns of one
// decision: whole racks may be granted meanwhile, and no others may change; nobody new may come to
// wait.
class WantedRacks {
 public:
  explicit WantedRacks(const Inventory& inventory)
      : inventory_(inventory), waiting_(inventory, /*spot=*/false) {}

  // Nobody waits with an affinity.
  bool empty() const { return waiting_.empty(); }
  // Of the racks, all of them whole, those that the fewest affinities could have. Costs O(racks ×
  // log), and once O(whole racks × label classes × affinities).
  absl::btree_set<Inventory::Place> LeastOf(absl::btree_set<Inventory::Place> racks);
  // To be called when somebody who waited with the affinity may have gone. Costs O(whole racks ×
  // label classes) if it counts no more.
  void Recheck(const Affinity& affinity);

 private:
  void Count(const Affinity& affinity, int64_t by);

  const Inventory& inventory_;
  const WaitingAffinities waiting_;
  absl::btree_map<Inventory::Place, int64_t> counts_;  // of all that were whole when first asked
  absl::flat_hash_set<Affinity> counted_;
};

// The whole racks that are eligible, one after another, as they are granted: first those that can
// be whole for the fewest of the waiting affinities; fabrics are chosen as above by their whole
// racks. Its arguments must outlive it. While it lives only machines that it gave may change in the
// inventory.
class WholeRacks {
 public:
  WholeRacks(const State& state, const Inventory& inventory, const EligibleMachines& eligible,
             WantedRacks& wanted)
      : state_(state), inventory_(inventory), eligible_(eligible), wanted_(wanted) {}

  // The machines of one of them, nodes_per_rack, for a pool that is to get `racks` more. They must
  // be held before the next call. Never empty while a whole rack is eligible. Costs O(log) when
  // all are eligible and nobody waits; else that, and once for all racks that equally many of the
  // affinities could have as CountWholeRacks and LeastOf.
  std::vector<std::string> Next(absl::string_view pool_uid, int64_t racks);

 private:
  Inventory::Place NextOfAll(absl::string_view pool_uid, int64_t racks) const;
  Inventory::Place NextOfLeast(absl::string_view pool_uid, int64_t racks);
  void FindLeast();

  const State& state_;
  const Inventory& inventory_;
  const EligibleMachines& eligible_;
  WantedRacks& wanted_;
  // Those that the fewest could have and that are not given yet.
  absl::btree_set<Inventory::Place> least_;
  Rooms fabrics_;
};

// Up to `nodes` free machines of racks in which this pool, and no other, holds machines: the only
// machines that are granted one by one for a type granted in whole racks. Machines that the racks
// have lost are made up for first. Spares beyond nodes_per_rack are taken only for the part of
// `outstanding` (all that the claim waits for) that is less than a whole rack.
std::vector<std::string> ChooseRefill(const State& state, const Inventory& inventory,
                                      const EligibleMachines& eligible, absl::string_view pool_uid,
                                      int64_t nodes, int64_t outstanding);

}  // namespace muster::capacity
