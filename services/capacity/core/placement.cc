#include "services/capacity/core/placement.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace muster::capacity {
namespace {

using Sizes = Rooms::Sizes;
using Classes = std::vector<const LabelClass*>;

Classes FreeClasses(const Inventory& inventory, const EligibleMachines& eligible) {
  Classes classes;
  for (const auto& machines : inventory.classes()) {
    if (machines.second.counts.free() > 0 && eligible.Has(inventory, machines))
      classes.push_back(&machines.second);
  }
  return classes;
}

const ClassFabric* FindFabric(const LabelClass& machines, absl::string_view fabric) {
  const auto it = machines.fabrics.find(fabric);
  return it == machines.fabrics.end() ? nullptr : &it->second;
}

Sizes FabricSizes(const Classes& classes) {
  Sizes sizes;
  for (const LabelClass* machines : classes) {
    for (const auto& [name, fabric] : machines->fabrics) {
      if (fabric.free > 0) sizes[name] += fabric.free;
    }
  }
  return sizes;
}

Sizes RackSizes(const Classes& classes, absl::string_view fabric_name) {
  Sizes sizes;
  for (const LabelClass* machines : classes) {
    const ClassFabric* fabric = FindFabric(*machines, fabric_name);
    if (fabric == nullptr) continue;
    for (const auto& [name, rack] : fabric->racks) {
      if (rack.free > 0) sizes[name] += rack.free;
    }
  }
  return sizes;
}

int64_t FreeInRack(const Classes& classes, absl::string_view fabric_name,
                   absl::string_view rack_name) {
  int64_t free = 0;
  for (const LabelClass* machines : classes) {
    const ClassFabric* fabric = FindFabric(*machines, fabric_name);
    if (fabric == nullptr) continue;
    const auto rack = fabric->racks.find(rack_name);
    if (rack != fabric->racks.end()) free += rack->second.free;
  }
  return free;
}

// By fabric, how many racks.
Sizes CountByFabric(const absl::btree_set<Inventory::Place>& racks) {
  Sizes sizes;
  for (const auto& [fabric, rack] : racks) ++sizes[fabric];
  return sizes;
}

BySize Sort(const Sizes& sizes) {
  BySize sorted;
  for (const auto& [name, size] : sizes) sorted.insert({size, name});
  return sorted;
}

// The tightest group that holds `wanted`, else the largest.
const std::string& PickBySize(const BySize& groups, int64_t wanted) {
  const auto too_small = groups.lower_bound({wanted - 1, ""});
  if (too_small == groups.begin()) return groups.begin()->name;
  return groups.lower_bound({std::prev(too_small)->size, ""})->name;
}

// `has_room`: whether a fabric, by name, has anything to give.
template <class HasRoom>
std::string PickFabric(const Footprint& footprint, const BySize& fabrics, int64_t wanted,
                       HasRoom has_room) {
  int64_t most = 0;
  const std::string* name = nullptr;
  for (const auto& [used, held] : footprint.fabrics) {
    if (held > most && has_room(used)) {
      most = held;
      name = &used;
    }
  }
  return name == nullptr ? PickBySize(fabrics, wanted) : *name;
}

const Rack& RackOf(const Inventory& inventory, const std::string& fabric, const std::string& rack) {
  return inventory.fabrics().find(fabric)->second.racks.find(rack)->second;
}

void Take(const State& state, const Inventory& inventory, const EligibleMachines& eligible,
          const Rack& rack, int64_t nodes, std::vector<std::string>& ids) {
  const auto has = [&](const std::string& id) {
    return eligible.Has(inventory, inventory.ClassOf(state.FindMachine(id)->labels));
  };
  for (const auto& [slot, id] : rack.free) {
    if (nodes <= 0) return;
    if (!eligible.all() && !has(id)) continue;
    ids.push_back(id);
    --nodes;
  }
}

const std::string& PickRack(const Inventory& inventory, const std::string& fabric,
                            const BySize& racks, absl::string_view pool_uid, int64_t nodes) {
  if (const Inventory::Places* own = inventory.PartlyHeld(pool_uid)) {
    const auto it = own->lower_bound({fabric, ""});
    if (it != own->end() && it->first == fabric) return it->second;
  }
  return PickBySize(racks, nodes);
}

std::vector<std::string> ChooseOfAll(const State& state, const Inventory& inventory,
                                     const EligibleMachines& eligible, absl::string_view pool_uid,
                                     int64_t nodes) {
  const auto fabric_has_room = [&](const std::string& name) {
    const auto it = inventory.fabrics().find(name);
    return it != inventory.fabrics().end() && it->second.free > 0;
  };
  const std::string fabric =
      PickFabric(state.FootprintOf(pool_uid), inventory.by_free(), nodes, fabric_has_room);
  const std::string& rack = PickRack(
      inventory, fabric, inventory.fabrics().find(fabric)->second.by_free, pool_uid, nodes);
  std::vector<std::string> ids;
  Take(state, inventory, eligible, RackOf(inventory, fabric, rack), nodes, ids);
  return ids;
}

}  // namespace

bool EligibleMachines::Has(const Inventory& inventory,
                           const LabelClasses::value_type& machines) const {
  return inventory.Matches(*affinity, machines) &&
         std::none_of(kept.begin(), kept.end(),
                      [&](const Affinity* gang) { return inventory.Matches(*gang, machines); }) &&
         std::none_of(
             promised.begin(), promised.end(),
             [&](const EligibleMachines* gang) { return gang->Has(inventory, machines); }) &&
         (waiting == nullptr || waiting->CountMatching(machines.second) <= most);
}

bool EligibleMachines::HasRack(const Inventory::Place& place) const {
  return std::none_of(racks.begin(), racks.end(),
                      [&](const auto* gang) { return gang->contains(place); });
}

int64_t CountFree(const Inventory& inventory, const EligibleMachines& eligible) {
  if (eligible.all()) return inventory.free();
  int64_t free = 0;
  for (const LabelClass* machines : FreeClasses(inventory, eligible))
    free += machines->counts.free();
  return free;
}

absl::btree_set<Inventory::Place> WholeRacksOf(const Inventory& inventory,
                                               const EligibleMachines& eligible) {
  const bool any = eligible.all();
  const Classes classes = any ? Classes() : FreeClasses(inventory, eligible);
  absl::btree_set<Inventory::Place> racks;
  for (const SizedRoom& sized : inventory.by_whole()) {
    for (const std::string& rack : inventory.fabrics().find(sized.name)->second.whole) {
      if (any || (eligible.HasRack({sized.name, rack}) &&
                  FreeInRack(classes, sized.name, rack) >= inventory.nodes_per_rack()))
        racks.emplace(sized.name, rack);
    }
  }
  return racks;
}

int64_t CountWholeRacks(const Inventory& inventory, const EligibleMachines& eligible) {
  if (!eligible.all()) return static_cast<int64_t>(WholeRacksOf(inventory, eligible).size());
  int64_t racks = 0;
  for (const SizedRoom& fabric : inventory.by_whole()) racks += fabric.size;
  return racks;
}

// Racks that were granted since the count keep their numbers: nobody asks for these any more.
void WantedRacks::Count(const Affinity& affinity, int64_t by) {
  const Classes classes = FreeClasses(inventory_, EligibleMachines{&affinity});
  for (auto& [place, count] : counts_) {
    if (FreeInRack(classes, place.first, place.second) >= inventory_.nodes_per_rack()) count += by;
  }
}

absl::btree_set<Inventory::Place> WantedRacks::LeastOf(absl::btree_set<Inventory::Place> racks) {
  if (empty()) return racks;
  if (counts_.empty()) {
    const Affinity every = {};
    for (const Inventory::Place& place : WholeRacksOf(inventory_, EligibleMachines{&every}))
      counts_.emplace(place, 0);
    for (const auto& [affinity, entry] : inventory_.affinities().entries()) {
      if (waiting_.Counts(entry) && counted_.insert(affinity).second) Count(affinity, 1);
    }
  }
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Inventory::Place& place : racks) least = std::min(least, counts_.at(place));
  absl::btree_set<Inventory::Place> kept;
  for (const Inventory::Place& place : racks) {
    if (counts_.at(place) == least) kept.insert(place);
  }
  return kept;
}

void WantedRacks::Recheck(const Affinity& affinity) {
  const AffinityBook::Entry* known = inventory_.affinities().Find(affinity);
  if (known != nullptr && waiting_.Counts(*known)) return;
  if (counted_.erase(affinity) > 0) Count(affinity, -1);
}

Rooms::Rooms(Sizes sizes) : sizes_(std::move(sizes)), by_size_(Sort(sizes_)) {}

void Rooms::Take(const std::string& name, int64_t nodes) {
  const auto it = sizes_.find(name);
  by_size_.erase({it->second, name});
  it->second -= nodes;
  if (it->second > 0)
    by_size_.insert({it->second, name});
  else
    sizes_.erase(it);
}

MachineChooser::MachineChooser(const State& state, const Inventory& inventory,
                               const EligibleMachines& eligible, const WaitingAffinities& waiting,
                               std::string pool_uid)
    : state_(state),
      inventory_(inventory),
      eligible_(eligible),
      waiting_(waiting),
      pool_uid_(std::move(pool_uid)) {}

// What was chosen alone leaves the level: until that is empty it stays the least wanted, and a
// fabric, once entered, the one where the pool has most. A rack that it leaves machines in is its
// last, so that none becomes the pool's own meanwhile. So nothing need be looked at anew.
std::vector<std::string> MachineChooser::Next(int64_t nodes) {
  if (inventory_.free() == 0) return {};
  if (eligible_.all() && waiting_.empty())
    return ChooseOfAll(state_, inventory_, eligible_, pool_uid_, nodes);
  if (free_ == 0) NextLevel();
  nodes = std::min(nodes, free_);
  std::vector<std::string> ids;
  if (nodes == 0) return ids;
  if (racks_.empty()) EnterFabric(nodes);
  const std::string rack = own_.empty() ? PickBySize(racks_.by_size(), nodes) : *own_.begin();
  Take(state_, inventory_, level_, RackOf(inventory_, fabric_, rack), nodes, ids);
  const int64_t taken = std::ssize(ids);
  free_ -= taken;
  fabrics_.Take(fabric_, taken);
  racks_.Take(rack, taken);
  own_.erase(rack);
  return ids;
}

void MachineChooser::NextLevel() {
  level_ = LeastWanted(inventory_, eligible_, waiting_,
                       [](const auto& machines) { return machines.second.counts.free() > 0; });
  free_ = CountFree(inventory_, level_);
  fabrics_ = Rooms(FabricSizes(FreeClasses(inventory_, level_)));
}

void MachineChooser::EnterFabric(int64_t nodes) {
  fabric_ = PickFabric(state_.FootprintOf(pool_uid_), fabrics_.by_size(), nodes,
                       [&](const std::string& name) { return fabrics_.Has(name); });
  racks_ = Rooms(RackSizes(FreeClasses(inventory_, level_), fabric_));
  own_.clear();
  const Inventory::Places* own = inventory_.PartlyHeld(pool_uid_);
  if (own == nullptr) return;
  for (auto it = own->lower_bound({fabric_, ""}); it != own->end() && it->first == fabric_; ++it) {
    if (racks_.Has(it->second)) own_.insert(it->second);
  }
}

// The same place as with the racks of all: by_whole() counts these by fabric.
Inventory::Place WholeRacks::NextOfAll(absl::string_view pool_uid, int64_t racks) const {
  const auto& fabrics = inventory_.fabrics();
  const auto has_room = [&](const std::string& name) {
    const auto it = fabrics.find(name);
    return it != fabrics.end() && !it->second.whole.empty();
  };
  const std::string name =
      PickFabric(state_.FootprintOf(pool_uid), inventory_.by_whole(), racks, has_room);
  return {name, *fabrics.find(name)->second.whole.begin()};
}

Inventory::Place WholeRacks::NextOfLeast(absl::string_view pool_uid, int64_t racks) {
  const std::string name =
      PickFabric(state_.FootprintOf(pool_uid), fabrics_.by_size(), racks,
                 [&](const std::string& fabric) { return fabrics_.Has(fabric); });
  const auto first = least_.lower_bound({name, ""});
  Inventory::Place place = *first;
  least_.erase(first);
  fabrics_.Take(name, 1);
  return place;
}

// A grant makes its own rack whole no more and changes nothing of another. So those that the fewest
// could have stay the same until the last of them is granted.
void WholeRacks::FindLeast() {
  least_ = wanted_.LeastOf(WholeRacksOf(inventory_, eligible_));
  fabrics_ = Rooms(CountByFabric(least_));
}

std::vector<std::string> WholeRacks::Next(absl::string_view pool_uid, int64_t racks) {
  std::vector<std::string> ids;
  const bool all = eligible_.all() && wanted_.empty();
  if (!all && least_.empty()) FindLeast();
  if (all ? inventory_.by_whole().empty() : least_.empty()) return ids;
  const Inventory::Place place = all ? NextOfAll(pool_uid, racks) : NextOfLeast(pool_uid, racks);
  Take(state_, inventory_, eligible_, RackOf(inventory_, place.first, place.second),
       inventory_.nodes_per_rack(), ids);
  return ids;
}

std::vector<std::string> ChooseRefill(const State& state, const Inventory& inventory,
                                      const EligibleMachines& eligible, absl::string_view pool_uid,
                                      int64_t nodes, int64_t outstanding) {
  const Inventory::Places* all = inventory.PartlyHeld(pool_uid);
  if (all == nullptr) return {};
  std::vector<const Rack*> own;
  for (const auto& [fabric_name, rack_name] : *all) {
    const Rack& rack = RackOf(inventory, fabric_name, rack_name);
    if (rack.held.size() == 1 && !rack_name.empty()) own.push_back(&rack);
  }
  // Takes so many of each rack, and `spare` more of all of them together.
  const auto take = [&](const std::vector<int64_t>& of_each, int64_t spare) {
    std::vector<std::string> ids;
    for (size_t i = 0; i < own.size(); ++i) {
      const auto before = std::ssize(ids);
      Take(state, inventory, eligible, *own[i], std::min(of_each[i] + spare, nodes - before), ids);
      spare -= std::max<int64_t>(0, std::ssize(ids) - before - of_each[i]);
    }
    return ids;
  };
  std::vector<int64_t> lost;
  for (const Rack* rack : own)
    lost.push_back(std::max<int64_t>(0, inventory.nodes_per_rack() - rack->held.begin()->second));
  std::vector<std::string> ids = take(lost, 0);
  // A rack's worth is granted whole, and not broken up for a spare.
  const int64_t spare = std::min(nodes - std::ssize(ids),
                                 (outstanding - std::ssize(ids)) % inventory.nodes_per_rack());
  return spare == 0 ? ids : take(lost, spare);
}

}  // namespace muster::capacity
