#include "services/capacity/core/inventory.h"

#include "services/capacity/core/machine_state.h"

namespace muster::capacity {

MachineCounts Inventory::Matching(const Affinity& affinity) const {
  if (affinity.empty()) return counts_;
  const AffinityBook::Entry* known = affinities_.Find(affinity);
  MachineCounts counts;
  for (const auto& machines : classes_) {
    if (Matches(affinity, known, machines)) counts += machines.second.counts;
  }
  return counts;
}

bool Inventory::Matches(const Affinity& affinity, const LabelClasses::value_type& machines) const {
  return affinity.empty() || Matches(affinity, affinities_.Find(affinity), machines);
}

bool Inventory::Matches(const Affinity& affinity, const AffinityBook::Entry* known,
                        const LabelClasses::value_type& machines) {
  return known == nullptr ? capacity::Matches(affinity, machines.first)
                          : machines.second.takers.set.Has(known->number);
}

const Inventory::Places* Inventory::PartlyHeld(absl::string_view pool_uid) const {
  const auto it = partly_held_.find(pool_uid);
  return it == partly_held_.end() ? nullptr : &it->second;
}

bool Inventory::empty() const { return queue_.empty() && counts_.registered() == 0; }

void Inventory::Replace(const MachineRow& before, const MachineRow& after) {
  if (before.fabric == after.fabric && before.rack == after.rack && before.labels == after.labels) {
    Change(&before, &after);
  } else {
    Remove(before);
    Add(after);
  }
}

void Inventory::Change(const MachineRow* before, const MachineRow* after) {
  ChangeClass(before, after);
  ChangeRack(before, after);
  if (before != nullptr) {
    counts_.Add(*before, -1);
    spot_.Add(*before, -1);
  }
  if (after != nullptr) {
    counts_.Add(*after, 1);
    spot_.Add(*after, 1);
  }
}

void Inventory::ChangeClass(const MachineRow* before, const MachineRow* after) {
  const auto [it, created] = classes_.try_emplace((after != nullptr ? after : before)->labels);
  if (created) it->second.takers = affinities_.TakersOf(it->first);
  it->second.Change(before, after);
  if (it->second.counts.registered() == 0) classes_.erase(it);
}

void Inventory::ChangeRack(const MachineRow* before, const MachineRow* after) {
  const bool was = before != nullptr && InService(before->state);
  const bool is = after != nullptr && InService(after->state);
  if (!was && !is) return;
  const MachineRow& place = is ? *after : *before;
  Fabric& fabric = fabrics_[place.fabric];
  Rack& rack = fabric.racks[place.rack];
  Unlist(place.fabric, fabric, place.rack, rack);
  if (was) CountRack(rack, *before, -1);
  if (is) CountRack(rack, *after, 1);
  List(place.fabric, fabric, place.rack, rack);
  if (rack.free.empty() && rack.held.empty()) fabric.racks.erase(place.rack);
  if (fabric.racks.empty()) fabrics_.erase(place.fabric);
}

void Inventory::CountRack(Rack& rack, const MachineRow& machine, int64_t by) {
  if (machine.state != MachineState::kFree) {
    CountHeld(rack.held, machine.claim, by);
  } else if (by > 0) {
    rack.free.emplace(machine.slot, machine.id);
  } else {
    rack.free.erase({machine.slot, machine.id});
  }
}

bool Inventory::IsWhole(const std::string& name, const Rack& rack) const {
  return nodes_per_rack_ > 0 && !name.empty() && rack.held.empty() &&
         static_cast<int64_t>(rack.free.size()) >= nodes_per_rack_;
}

void Inventory::List(const std::string& fabric_name, Fabric& fabric, const std::string& rack_name,
                     const Rack& rack) {
  if (!rack.free.empty()) {
    const int64_t free = static_cast<int64_t>(rack.free.size());
    by_free_.erase({fabric.free, fabric_name});
    fabric.free += free;
    by_free_.insert({fabric.free, fabric_name});
    fabric.by_free.insert({free, rack_name});
    // Machines of which it is not known where they stand are of no rack: nobody has a part of it.
    if (!rack_name.empty()) {
      for (const auto& [uid, held] : rack.held) partly_held_[uid].emplace(fabric_name, rack_name);
    }
  }
  if (IsWhole(rack_name, rack)) {
    const int64_t whole = static_cast<int64_t>(fabric.whole.size());
    by_whole_.erase({whole, fabric_name});
    by_whole_.insert({whole + 1, fabric_name});
    fabric.whole.insert(rack_name);
  }
}

void Inventory::Unlist(const std::string& fabric_name, Fabric& fabric, const std::string& rack_name,
                       const Rack& rack) {
  if (!rack.free.empty()) {
    const int64_t free = static_cast<int64_t>(rack.free.size());
    by_free_.erase({fabric.free, fabric_name});
    fabric.free -= free;
    if (fabric.free > 0) by_free_.insert({fabric.free, fabric_name});
    fabric.by_free.erase({free, rack_name});
    if (!rack_name.empty()) {
      for (const auto& [uid, held] : rack.held) {
        const auto it = partly_held_.find(uid);
        if (it == partly_held_.end()) continue;
        it->second.erase({fabric_name, rack_name});
        if (it->second.empty()) partly_held_.erase(it);
      }
    }
  }
  if (fabric.whole.erase(rack_name) > 0) {
    const int64_t whole = static_cast<int64_t>(fabric.whole.size());
    by_whole_.erase({whole + 1, fabric_name});
    if (whole > 0) by_whole_.insert({whole, fabric_name});
  }
}

void Inventory::set_nodes_per_rack(int32_t nodes) {
  if (nodes == nodes_per_rack_) return;
  nodes_per_rack_ = nodes;
  by_whole_.clear();
  for (auto& [fabric_name, fabric] : fabrics_) {
    fabric.whole.clear();
    for (const auto& [rack_name, rack] : fabric.racks) {
      if (IsWhole(rack_name, rack)) fabric.whole.insert(rack_name);
    }
    const int64_t whole = static_cast<int64_t>(fabric.whole.size());
    if (whole > 0) by_whole_.insert({whole, fabric_name});
  }
}

}  // namespace muster::capacity
