#include "services/capacity/core/state.h"

#include <algorithm>

#include "services/capacity/core/parts.h"

namespace muster::capacity {
namespace {

const std::string& HolderOf(const MachineRow* machine) {
  static const std::string* const kNone = new std::string();
  return machine == nullptr ? *kNone : machine->claim;
}

bool Waits(const ClaimRow* claim) { return claim != nullptr && !PartsInQueue(*claim).empty(); }

// How the parts of other claims wait does not depend on what they hold.
bool WaitsAsGang(const ClaimRow* claim) { return Waits(claim) && claim->gang; }

}  // namespace

// Compares machines by id: the rows of two states lie at different addresses.
bool Footprint::operator==(const Footprint& other) const {
  return std::equal(machines.begin(), machines.end(), other.machines.begin(), other.machines.end(),
                    [](const MachineRow* a, const MachineRow* b) { return a->id == b->id; }) &&
         fabrics == other.fabrics && ages == other.ages && print == other.print;
}

State::State() = default;
State::State(const State&) = default;
State::State(State&&) noexcept = default;
State& State::operator=(const State&) = default;
State& State::operator=(State&&) noexcept = default;
State::~State() = default;

const Inventory* State::FindInventory(const InventoryKey& key) const {
  const auto it = inventories_.find(key);
  return it == inventories_.end() ? nullptr : &it->second;
}

const Footprint& State::FootprintOf(absl::string_view pool_uid) const {
  static const Footprint* const kNone = new Footprint();
  const auto it = footprints_.find(pool_uid);
  return it == footprints_.end() ? *kNone : it->second;
}

Inventory& State::InventoryFor(const std::string& zone, const std::string& instance_type) {
  const auto [it, created] = inventories_.try_emplace({zone, instance_type});
  if (created) {
    const InstanceTypeRow* type = FindInstanceType(instance_type);
    if (type != nullptr) it->second.set_nodes_per_rack(type->nodes_per_rack);
  }
  return it->second;
}

void State::DropIfEmpty(const std::string& zone, const std::string& instance_type) {
  const auto it = inventories_.find({zone, instance_type});
  if (it != inventories_.end() && it->second.empty()) inventories_.erase(it);
}

void State::Reindex(const InstanceTypeRow* before, const InstanceTypeRow* after) {
  const int32_t nodes = after == nullptr ? 0 : after->nodes_per_rack;
  const std::string& id = after == nullptr ? before->id : after->id;
  for (auto& [key, inventory] : inventories_) {
    if (key.second == id) inventory.set_nodes_per_rack(nodes);
  }
}

// Zone and type of a machine never change.
void State::ReindexId(const MachineRow* before, const MachineRow* after) {
  if (before != nullptr && after != nullptr && before->state == after->state) return;
  const MachineRow& machine = after != nullptr ? *after : *before;
  const auto it = machine_ids_.try_emplace({machine.zone, machine.instance_type}).first;
  IdsByState& ids = it->second;
  if (before != nullptr) ids[static_cast<size_t>(before->state)].erase(before->id);
  if (after != nullptr) ids[static_cast<size_t>(after->state)].insert(after->id);
  const auto is_empty = [](const auto& of_state) { return of_state.empty(); };
  if (std::all_of(ids.begin(), ids.end(), is_empty)) machine_ids_.erase(it);
}

void State::Unqueue(const std::string& pool_uid) {
  const ClaimRow* claim = FindClaim(pool_uid);
  if (WaitsAsGang(claim))
    InventoryFor(claim->zone, claim->instance_type).Remove(*claim, FootprintOf(pool_uid).ages);
}

void State::Requeue(const std::string& pool_uid) {
  const ClaimRow* claim = FindClaim(pool_uid);
  if (WaitsAsGang(claim))
    InventoryFor(claim->zone, claim->instance_type).Add(*claim, FootprintOf(pool_uid).ages);
}

void State::Leave(const MachineRow& machine) {
  const auto it = footprints_.find(machine.claim);
  if (it == footprints_.end()) return;
  it->second.machines.erase(&machine);
  if (--it->second.fabrics[machine.fabric] == 0) it->second.fabrics.erase(machine.fabric);
  const auto age = it->second.ages.find(machine.request_time.value_or(absl::InfinitePast()));
  if (--age->second == 0) it->second.ages.erase(age);
  it->second.print -= PrintOf(machine);
  if (it->second.machines.empty()) footprints_.erase(it);
}

void State::Enter(const MachineRow& machine) {
  if (machine.claim.empty()) return;
  Footprint& footprint = footprints_[machine.claim];
  footprint.machines.insert(&machine);
  ++footprint.fabrics[machine.fabric];
  ++footprint.ages[machine.request_time.value_or(absl::InfinitePast())];
  footprint.print += PrintOf(machine);
}

void State::Replace(const MachineRow& before, const MachineRow& after) {
  const auto it = footprints_.find(after.claim);
  if (it == footprints_.end()) return;
  it->second.machines.erase(&before);
  it->second.machines.insert(&after);
  it->second.print += PrintOf(after) - PrintOf(before);
}

// Moves the machine from the footprint of its old holder to that of the new one.
void State::Move(const MachineRow* before, const MachineRow* after) {
  const std::string& from = HolderOf(before);
  const std::string& to = HolderOf(after);
  Unqueue(from);
  if (to != from) Unqueue(to);
  if (before != nullptr) Leave(*before);
  if (after != nullptr) Enter(*after);
  Requeue(from);
  if (to != from) Requeue(to);
}

void State::Reindex(const MachineRow* before, const MachineRow* after) {
  ReindexId(before, after);
  if (before != nullptr && after != nullptr && before->zone == after->zone &&
      before->instance_type == after->instance_type) {
    InventoryFor(after->zone, after->instance_type).Replace(*before, *after);
  } else {
    if (before != nullptr) InventoryFor(before->zone, before->instance_type).Remove(*before);
    if (after != nullptr) InventoryFor(after->zone, after->instance_type).Add(*after);
  }
  if (before == nullptr || after == nullptr || before->claim != after->claim ||
      before->fabric != after->fabric || before->request_time != after->request_time) {
    Move(before, after);
  } else {
    Replace(*before, *after);
  }
  if (before != nullptr) DropIfEmpty(before->zone, before->instance_type);
}

void State::Reindex(const ClaimRow* before, const ClaimRow* after) {
  const Ages& ages = FootprintOf((after != nullptr ? after : before)->pool_uid).ages;
  const bool waits = Waits(after);
  // First, so that the affinity of a claim that goes on waiting is not judged anew.
  if (waits) InventoryFor(after->zone, after->instance_type).AddTaker(*after);
  if (Waits(before)) {
    Inventory& inventory = InventoryFor(before->zone, before->instance_type);
    inventory.Remove(*before, ages);
    inventory.RemoveTaker(*before);
  }
  if (waits) InventoryFor(after->zone, after->instance_type).Add(*after, ages);
  if (before != nullptr) DropIfEmpty(before->zone, before->instance_type);
}

void State::Reindex(const ReleasedPool* before, const ReleasedPool* after) {
  released_.Reindex(before, after);
}

void State::Reindex(const KeptRequest* before, const KeptRequest* after) {
  kept_.Reindex(before, after);
}

bool State::SameIndexes(const State& other) const {
  return inventories_ == other.inventories_ && footprints_ == other.footprints_ &&
         machine_ids_ == other.machine_ids_ && released_ == other.released_ && kept_ == other.kept_;
}

}  // namespace muster::capacity

namespace muster {
template class StateBase<capacity::State, capacity::ZoneRow, capacity::InstanceTypeRow,
                         capacity::MachineRow, capacity::ClaimRow, capacity::ArrivalsRow,
                         ReleasedPool, KeptRequest>;
}  // namespace muster
