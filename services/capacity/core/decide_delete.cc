// The decisions that remove something for good: zones, instance types and retired machines, unless
// something needs them.
#include <string>
#include <vector>

#include "services/capacity/core/decide.h"
#include "services/capacity/core/errors.h"
#include "services/common/error.h"

namespace muster::capacity {
namespace {

// What there is of a zone or an instance type.
struct Use {
  int64_t zones = 0;  // that offer the type
  int64_t machines = 0;
  int64_t claims = 0;
  bool any() const { return zones + machines + claims > 0; }
};

// `is_of(zone, instance type)`.
template <class IsOf>
Use UseOf(const State& state, IsOf is_of) {
  Use use;
  for (const auto& [key, ids] : state.machine_ids()) {
    if (!is_of(key.first, key.second)) continue;
    for (const auto& of_state : ids) use.machines += static_cast<int64_t>(of_state.size());
  }
  for (const auto& [name, claim] : state.table<ClaimRow>().rows())
    if (is_of(claim.row->zone, claim.row->instance_type)) ++use.claims;
  return use;
}

// How fast their machines came is of no use to anybody any more.
template <class IsOf>
void ForgetArrivals(StagedState<State>& staged, IsOf is_of) {
  std::vector<std::string> keys;
  for (const auto& [key, arrivals] : staged.state().table<ArrivalsRow>().rows())
    if (is_of(arrivals.row->zone, arrivals.row->instance_type)) keys.push_back(key);
  for (const std::string& key : keys) staged.Delete<ArrivalsRow>(key);
}

absl::Status Missing(const std::string& name, bool allowed) {
  return allowed ? absl::OkStatus() : muster::error::NotFound(name);
}

}  // namespace

absl::Status Decide(StagedState<State>& staged, const DeleteZone& command, absl::Time /*now*/) {
  const std::string name = ZoneName(command.id);
  const State& state = staged.state();
  if (state.FindZone(command.id) == nullptr) return Missing(name, command.allow_missing);
  const auto is_of = [&](const std::string& zone, const std::string&) {
    return zone == command.id;
  };
  if (const Use use = UseOf(state, is_of); use.any())
    return error::ZoneInUse(name, use.machines, use.claims);
  ForgetArrivals(staged, is_of);
  staged.Delete<ZoneRow>(name);
  return absl::OkStatus();
}

absl::Status Decide(StagedState<State>& staged, const DeleteInstanceType& command,
                    absl::Time /*now*/) {
  const std::string name = InstanceTypeName(command.id);
  const State& state = staged.state();
  if (state.FindInstanceType(command.id) == nullptr) return Missing(name, command.allow_missing);
  const auto is_of = [&](const std::string&, const std::string& type) {
    return type == command.id;
  };
  Use use = UseOf(state, is_of);
  for (const auto& [zone_name, zone] : state.table<ZoneRow>().rows())
    for (const std::string& offered : zone.row->instance_types)
      if (offered == command.id) ++use.zones;
  if (use.any()) return error::InstanceTypeInUse(name, use.zones, use.machines, use.claims);
  ForgetArrivals(staged, is_of);
  staged.Delete<InstanceTypeRow>(name);
  return absl::OkStatus();
}

absl::Status Decide(StagedState<State>& staged, const DeleteMachine& command, absl::Time /*now*/) {
  const std::string name = MachineName(command.id);
  const MachineRow* machine = staged.state().FindMachine(command.id);
  if (machine == nullptr) return Missing(name, command.allow_missing);
  if (machine->state != MachineState::kRetired) return error::MachineNotRetired(*machine);
  staged.Delete<MachineRow>(name);
  return absl::OkStatus();
}

}  // namespace muster::capacity
