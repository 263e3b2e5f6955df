#include "services/capacity/core/state.h"

namespace muster::capacity {
namespace {

// Whether the indexes see no difference (a refresh of labels, say).
bool SameForIndex(const MachineRow* a, const MachineRow* b) {
  return a != nullptr && b != nullptr && a->zone == b->zone &&
         a->instance_type == b->instance_type && a->fabric == b->fabric && a->rack == b->rack &&
         a->slot == b->slot && a->state == b->state && a->claim == b->claim;
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

void State::Reindex(const MachineRow* before, const MachineRow* after) {
  ReindexId(before, after);
  if (SameForIndex(before, after)) return;
  if (before != nullptr) {
    DepotFor(before->zone, before->instance_type).Remove(*before);
    if (!before->claim.empty()) {
      const auto it = footprints_.find(before->claim);
      it->second.machines.erase(before->id);
      if (--it->second.fabrics[before->fabric] == 0) it->second.fabrics.erase(before->fabric);
      if (it->second.machines.empty()) footprints_.erase(it);
    }
  }
  if (after != nullptr) {
    DepotFor(after->zone, after->instance_type).Add(*after);
    if (!after->claim.empty()) {
      Footprint& footprint = footprints_[after->claim];
      footprint.machines.insert(after->id);
      ++footprint.fabrics[after->fabric];
    }
  }
  if (before != nullptr) DropIfEmpty(before->zone, before->instance_type);
}

void State::Reindex(const ClaimRow* before, const ClaimRow* after) {
  if (before != nullptr && !before->parts.empty())
    DepotFor(before->zone, before->instance_type).Remove(*before);
  if (after != nullptr && !after->parts.empty())
    DepotFor(after->zone, after->instance_type).Add(*after);
  if (before != nullptr) DropIfEmpty(before->zone, before->instance_type);
}

}  // namespace muster::capacity
