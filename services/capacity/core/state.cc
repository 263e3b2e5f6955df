#include "services/capacity/core/state.h"

#include "services/capacity/core/parts.h"

namespace muster::capacity {
namespace {

const std::string& EarmarkOf(const MachineRow* machine) {
  static const std::string* const kNone = new std::string();
  return machine == nullptr ? *kNone : machine->earmark;
}

}  // namespace

const Depot* State::FindDepot(const DepotKey& key) const {
  const auto it = depots_.find(key);
  return it == depots_.end() ? nullptr : &it->second;
}

const Footprint& State::FootprintOf(absl::string_view pool_uid) const {
  static const Footprint* const kNone = new Footprint();
  const auto it = footprints_.find(pool_uid);
  return it == footprints_.end() ? *kNone : it->second;
}

Depot& State::DepotFor(const std::string& zone, const std::string& instance_type) {
  const auto [it, created] = depots_.try_emplace({zone, instance_type});
  if (created) {
    const InstanceTypeRow* type = FindInstanceType(instance_type);
    if (type != nullptr) it->second.set_nodes_per_rack(type->nodes_per_rack);
  }
  return it->second;
}

void State::DropIfEmpty(const std::string& zone, const std::string& instance_type) {
  const auto it = depots_.find({zone, instance_type});
  if (it != depots_.end() && it->second.empty()) depots_.erase(it);
}

void State::Reindex(const InstanceTypeRow* before, const InstanceTypeRow* after) {
  const int32_t nodes = after == nullptr ? 0 : after->nodes_per_rack;
  const std::string& id = after == nullptr ? before->id : after->id;
  for (auto& [key, depot] : depots_) {
    if (key.second == id) depot.set_nodes_per_rack(nodes);
  }
}

// Zone and type of a machine never change: only one that comes or goes matters.
void State::ReindexId(const MachineRow* before, const MachineRow* after) {
  if (before != nullptr && after != nullptr) return;
  if (after != nullptr) {
    machine_ids_[{after->zone, after->instance_type}].insert(after->id);
  } else if (before != nullptr) {
    const auto it = machine_ids_.find({before->zone, before->instance_type});
    it->second.erase(before->id);
    if (it->second.empty()) machine_ids_.erase(it);
  }
}

void State::Unqueue(const std::string& pool_uid) {
  const ClaimRow* claim = FindClaim(pool_uid);
  if (claim != nullptr && !claim->parts.empty())
    DepotFor(claim->zone, claim->instance_type).Remove(*claim);
}

void State::Requeue(const std::string& pool_uid, Depot& depot) {
  if (pool_uid.empty()) return;
  const ClaimRow* claim = FindClaim(pool_uid);
  depot.NoteOutstanding(pool_uid, claim == nullptr ? 0 : Outstanding(claim->parts));
  if (claim != nullptr && !claim->parts.empty())
    DepotFor(claim->zone, claim->instance_type).Add(*claim);
}

void State::Leave(const MachineRow& machine) {
  const auto it = footprints_.find(machine.claim);
  if (it == footprints_.end()) return;
  it->second.machines.erase(machine.id);
  if (--it->second.fabrics[machine.fabric] == 0) it->second.fabrics.erase(machine.fabric);
  if (it->second.machines.empty()) footprints_.erase(it);
}

void State::Enter(const MachineRow& machine) {
  if (machine.claim.empty()) return;
  Footprint& footprint = footprints_[machine.claim];
  footprint.machines.insert(machine.id);
  ++footprint.fabrics[machine.fabric];
}

void State::Reindex(const MachineRow* before, const MachineRow* after) {
  ReindexId(before, after);
  const std::string& from = EarmarkOf(before);
  const std::string& to = EarmarkOf(after);
  if (from != to) {
    Unqueue(from);
    Unqueue(to);
  }
  if (before != nullptr && after != nullptr && before->zone == after->zone &&
      before->instance_type == after->instance_type) {
    DepotFor(after->zone, after->instance_type).Replace(*before, *after);
  } else {
    if (before != nullptr) DepotFor(before->zone, before->instance_type).Remove(*before);
    if (after != nullptr) DepotFor(after->zone, after->instance_type).Add(*after);
  }
  if (before == nullptr || after == nullptr || before->claim != after->claim ||
      before->fabric != after->fabric) {
    if (before != nullptr) Leave(*before);
    if (after != nullptr) Enter(*after);
  }
  if (from != to) {
    const MachineRow& machine = after != nullptr ? *after : *before;
    Depot& depot = DepotFor(machine.zone, machine.instance_type);
    Requeue(from, depot);
    Requeue(to, depot);
  }
  if (before != nullptr) DropIfEmpty(before->zone, before->instance_type);
}

void State::Reindex(const ClaimRow* before, const ClaimRow* after) {
  if (before != nullptr && !before->parts.empty())
    DepotFor(before->zone, before->instance_type).Remove(*before);
  if (after != nullptr && !after->parts.empty())
    DepotFor(after->zone, after->instance_type).Add(*after);
  const ClaimRow& claim = after != nullptr ? *after : *before;
  const auto depot = depots_.find({claim.zone, claim.instance_type});
  if (depot != depots_.end())
    depot->second.NoteOutstanding(claim.pool_uid, after == nullptr ? 0 : Outstanding(after->parts));
  if (before != nullptr) DropIfEmpty(before->zone, before->instance_type);
}

}  // namespace muster::capacity
