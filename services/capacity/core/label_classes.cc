#include "services/capacity/core/label_classes.h"

#include <numeric>

#include "services/capacity/core/machine_state.h"

namespace muster::capacity {
namespace {

bool Reclaimable(const MachineRow& machine) {
  return machine.state == MachineState::kHeld && machine.compute_class == ComputeClass::kSpot;
}

}  // namespace

int64_t MachineCounts::registered() const {
  return std::accumulate(by_state.begin(), by_state.end(), int64_t{0});
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

void LabelClass::Add(const MachineRow& machine, int64_t by) {
  counts.Add(machine, by);
  if (Reclaimable(machine)) {
    absl::btree_set<Newest>& held = reclaimable[machine.claim];
    if (by > 0) {
      held.insert({machine.state_time, machine.id});
    } else {
      held.erase({machine.state_time, machine.id});
    }
    if (held.empty()) reclaimable.erase(machine.claim);
  }
  if (!InService(machine.state)) return;
  ClassFabric& fabric = fabrics[machine.fabric];
  ClassRack& rack = fabric.racks[machine.rack];
  rack.in_service += by;
  if (machine.state == MachineState::kFree) {
    fabric.free += by;
    rack.free += by;
  }
  if (rack.in_service == 0) fabric.racks.erase(machine.rack);
  if (fabric.racks.empty()) fabrics.erase(machine.fabric);
}

}  // namespace muster::capacity
