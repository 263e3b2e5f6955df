#include <algorithm>
#include <set>
#include <utility>

#include "services/capacity/core/arrivals.h"
#include "services/capacity/core/decide.h"
#include "services/capacity/core/errors.h"
#include "services/capacity/core/machine_state.h"
#include "services/capacity/core/serve.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"

namespace muster::capacity {
namespace {

MachineEvent EventFor(MachineState wanted) {
  switch (wanted) {
    case MachineState::kFree:
      return MachineEvent::kRepaired;
    case MachineState::kInRepair:
      return MachineEvent::kTakenOut;
    case MachineState::kRetired:
      return MachineEvent::kRetired;
    case MachineState::kHeld:
    case MachineState::kReclaiming:
      break;  // refused by Validate
  }
  return MachineEvent::kGranted;
}

// Serves the inventories for which `matches` holds.
template <class Predicate>
void ServeInventories(StagedState<State>& staged, Predicate matches, absl::Time now,
                      const Policy& policy) {
  std::vector<InventoryKey> keys;
  for (const auto& [key, inventory] : staged.state().inventories()) {
    if (matches(key)) keys.push_back(key);
  }
  for (const InventoryKey& key : keys) ServeQueue(staged, key, now, policy);
}

absl::Status CheckRegistration(const State& state, const MachineRow& machine) {
  if (state.FindZone(machine.zone) == nullptr) return error::UnknownZone(machine.zone);
  if (state.FindInstanceType(machine.instance_type) == nullptr)
    return error::UnknownInstanceType(machine.instance_type);
  const MachineRow* known = state.FindMachine(machine.id);
  if (known != nullptr &&
      (known->zone != machine.zone || known->instance_type != machine.instance_type)) {
    return error::MachineMoved(*known, machine.zone.get());
  }
  return absl::OkStatus();
}

}  // namespace

ZoneRow Decide(StagedState<State>& staged, const UpdateZone& command, absl::Time now,
               const Policy& policy) {
  ZoneRow zone = command.zone;
  std::vector<std::string>& types = zone.instance_types;
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  if (staged.Put(zone)) {
    ServeInventories(
        staged, [&](const InventoryKey& key) { return key.first == zone.id; }, now, policy);
  }
  return zone;
}

InstanceTypeRow Decide(StagedState<State>& staged, const UpdateInstanceType& command,
                       absl::Time now, const Policy& policy) {
  const InstanceTypeRow& type = command.instance_type;
  if (staged.Put(type)) {
    ServeInventories(
        staged, [&](const InventoryKey& key) { return key.second == type.id; }, now, policy);
  }
  return type;
}

absl::StatusOr<std::vector<MachineRow>> Decide(StagedState<State>& staged,
                                               const RegisterMachines& command, absl::Time now,
                                               const Policy& policy) {
  for (const MachineRow& machine : command.machines) {
    RETURN_IF_ERROR(CheckRegistration(staged.state(), machine));
  }
  const size_t mark = staged.Mark();
  std::set<InventoryKey> changed;
  for (const MachineRow& asked : command.machines) {
    const MachineRow* known = staged.state().FindMachine(asked.id);
    MachineRow machine = known == nullptr ? MachineRow{.state_time = now} : *known;
    machine.id = asked.id;
    machine.zone = asked.zone;
    machine.instance_type = asked.instance_type;
    machine.fabric = asked.fabric;
    machine.rack = asked.rack;
    machine.slot = asked.slot;
    machine.labels = asked.labels;
    if (staged.Put(std::move(machine))) changed.emplace(asked.zone, asked.instance_type);
  }
  // Registration and grant must be two changes: whoever measures waits (WaitOf) has to know the
  // machine before it is granted.
  staged.Mark();
  for (const InventoryKey& key : changed) ServeQueue(staged, key, now, policy);
  NoteArrivals(staged, mark, now);
  std::vector<MachineRow> rows;
  rows.reserve(command.machines.size());
  for (const MachineRow& asked : command.machines)
    rows.push_back(*staged.state().FindMachine(asked.id));
  return rows;
}

absl::StatusOr<MachineRow> Decide(StagedState<State>& staged, const SetMachineState& command,
                                  absl::Time now, const Policy& policy) {
  const MachineRow* known = staged.state().FindMachine(command.id);
  if (known == nullptr) return muster::error::NotFound(MachineName(command.id));
  const std::optional<MachineState> next = Next(known->state, EventFor(command.state));
  if (!next.has_value()) {
    return known->state == MachineState::kRetired ? error::MachineRetired(*known)
                                                  : error::MachineHeld(*known);
  }
  if (*next != known->state) {
    MachineRow machine = *known;
    machine.state = *next;
    machine.state_time = now;
    staged.Put(machine);
    // One machine less in service may let others have what was kept for a gang.
    ServeQueue(staged, {machine.zone, machine.instance_type}, now, policy);
  }
  return *staged.state().FindMachine(command.id);
}

}  // namespace muster::capacity
