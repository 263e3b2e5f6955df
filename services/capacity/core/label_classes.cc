#include "services/capacity/core/label_classes.h"

#include <algorithm>
#include <numeric>

#include "services/capacity/core/machine_state.h"

namespace muster::capacity {
namespace {

bool Reclaimable(const MachineRow& machine) {
  return machine.state == MachineState::kHeld && machine.compute_class == ComputeClass::kSpot;
}

// What a change makes of the numbers of a rack.
struct ClassChange {
  int64_t free = 0;
  int64_t in_service = 0;
  int64_t in_repair = 0;

  void Add(LabelClass& machines, const MachineRow& machine, int64_t by) {
    machines.counts.Add(machine, by);
    if (!machine.claim.empty()) CountHeld(machines.held, machine.claim, by);
    if (machine.state == MachineState::kFree) free += by;
    if (InService(machine.state)) in_service += by;
    if (machine.state == MachineState::kInRepair) in_repair += by;
    if (!Reclaimable(machine)) return;
    absl::btree_set<HeldMachine>& held = machines.reclaimable[machine.claim];
    if (by > 0) {
      held.insert({machine.state_time, machine.id});
    } else {
      held.erase({machine.state_time, machine.id});
    }
    if (held.empty()) machines.reclaimable.erase(machine.claim);
  }
};

}  // namespace

int64_t MachineCounts::registered() const {
  return std::accumulate(by_state.begin(), by_state.end(), int64_t{0});
}

void CountHeld(Holders& holders, const std::string& pool_uid, int64_t by) {
  const auto it = holders.try_emplace(pool_uid, 0).first;
  it->second += by;
  if (it->second == 0) holders.erase(it);
}

void MachineCounts::Add(const MachineRow& machine, int64_t by) {
  by_state[static_cast<size_t>(machine.state)] += by;
  if (Reclaimable(machine)) reclaimable += by;
}

MachineCounts& MachineCounts::operator+=(const MachineCounts& other) {
  for (size_t i = 0; i < by_state.size(); ++i) by_state[i] += other.by_state[i];
  reclaimable += other.reclaimable;
  return *this;
}

AffinitySet& AffinitySet::operator|=(const AffinitySet& other) {
  words_.resize(std::max(words_.size(), other.words_.size()));
  for (size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  return *this;
}

void LabelClass::Change(const MachineRow* before, const MachineRow* after) {
  ClassChange change;
  if (before != nullptr) change.Add(*this, *before, -1);
  if (after != nullptr) change.Add(*this, *after, 1);
  if (change.free == 0 && change.in_service == 0 && change.in_repair == 0) return;
  const MachineRow& place = after != nullptr ? *after : *before;
  ClassFabric& fabric = fabrics[place.fabric];
  ClassRack& rack = fabric.racks[place.rack];
  rack.in_service += change.in_service;
  rack.in_repair += change.in_repair;
  fabric.free += change.free;
  rack.free += change.free;
  if (rack.in_service + rack.in_repair == 0) fabric.racks.erase(place.rack);
  if (fabric.racks.empty()) fabrics.erase(place.fabric);
}

}  // namespace muster::capacity
