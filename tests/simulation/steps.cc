// What can happen in a step.
#include <algorithm>
#include <iterator>

#include "services/configuration/core/settle.h"
#include "services/lifecycle/core/names.h"
#include "tests/simulation/world.h"

namespace muster::simulation {
namespace {

const std::vector<std::string>& Zones() {
  static const auto& zones = *new std::vector<std::string>{"US-EAST-04A", "US-WEST-01A"};
  return zones;
}

const std::vector<std::string>& Types() {
  static const auto& types =
      *new std::vector<std::string>{"gd-8xa100-i128", "cd-gp-a192", "gb200-4x"};
  return types;
}

}  // namespace

void World::PassTime() {
  const int pace = dice_.Roll(100);
  if (pace < 40) return;  // two things at the same time
  cloud_.now += pace < 92   ? dice_.UpTo(absl::Seconds(2))
                : pace < 99 ? dice_.UpTo(absl::Minutes(1))
                            : dice_.UpTo(absl::Minutes(5));
}

std::vector<std::string> World::PoolNames() const {
  std::vector<std::string> names;
  for (const auto& [name, pool] : cloud_.lifecycle.state().table<lifecycle::Pool>().rows()) {
    names.push_back(name);
  }
  return names;
}

// --- the shell and what is between the services ---

void World::StepReplica() {
  // The second one mostly sleeps: what it does is long out of date when it wakes.
  Replica& replica = replicas_[dice_.Percent(weather_.frozen) ? 1 : 0];
  if (dice_.Percent(weather_.death)) {
    cloud_.trace(cloud_.now, replica.name(), ": dies");
    return replica.Die();
  }
  if (replica.busy()) return replica.Step();
  const std::vector<std::string> names = PoolNames();
  if (names.empty() || replica.epoch == 0) return;
  std::vector<std::string> batch;
  for (int i = dice_.Roll(4); i >= 0; --i) {
    const std::string& name = dice_.Pick(names);
    if (std::find(batch.begin(), batch.end(), name) == batch.end()) batch.push_back(name);
  }
  replica.Begin(batch);
}

void World::MoveLease() {
  Replica& replica = replicas_[static_cast<size_t>(dice_.OneIn(4) ? 1 : 0)];
  const int64_t epoch = ++lease_epoch_;
  if (!cloud_.lifecycle.Run(lifecycle::TakeLease{replica.name(), epoch}, cloud_.now).ok()) {
    return judge_.Fail("a newer epoch is refused");
  }
  replica.epoch = epoch;  // the other one is not told
  cloud_.trace(cloud_.now, replica.name(), ": leads, epoch ", epoch);
}

void World::StepFleet() {
  const int kind = dice_.Roll(20);
  if (kind == 0) return fleet_.DeliverLate();
  if (kind == 1 && dice_.OneIn(5)) return fleet_.Restart();
  if (kind < 8) fleet_.Tell();
  fleet_.Step();
}

void World::StepNetwork() {
  if (dice_.OneIn(4)) {
    SettleConfigurations(false);
    return;
  }
  if (!network_.late.empty() && dice_.OneIn(2)) {
    const int i = dice_.Roll(static_cast<int>(network_.late.size()));
    const auto call = std::move(network_.late[static_cast<size_t>(i)]);
    network_.late.erase(network_.late.begin() + i);
    cloud_.trace(cloud_.now, "network: a late call arrives");
    return call();
  }
  network_.quota_away = dice_.Percent(weather_.lost_call);
  network_.capacity_away = dice_.Percent(weather_.lost_call);
  network_.configuration_away = dice_.Percent(weather_.lost_call);
  network_.catalogue_known = !dice_.Percent(weather_.lost_call);
}

void World::Restart() {
  switch (dice_.Roll(4)) {
    case 0:
      return cloud_.lifecycle.Restart();
    case 1:
      return cloud_.quota.Restart();
    case 2:
      return cloud_.capacity.Restart();
    default:
      return cloud_.configuration.Restart();
  }
}

// --- administrators ---

void World::StepAdmin() {
  switch (dice_.Roll(9)) {
    case 0:
    case 1:
    case 2:
      return MoveLimit();
    case 8:
      return Withdraw();
    case 3:
    case 4:
      return MoveMachine();
    case 5:
      return MoveZone();
    case 6:
      return MoveCluster();
    default:
      return Release();
  }
}

void World::MoveLimit() {
  if (dice_.OneIn(4)) {
    cloud_.quota.Run(quota::SettleOverrides{}, cloud_.now);
    return;
  }
  quota::UpdateQuota command;
  command.key.organization = dice_.OneIn(3) ? "beta" : "acme";
  command.key.zone = dice_.Pick(Zones());
  command.key.instance_type = dice_.Pick(Types());
  command.key.compute_class =
      dice_.OneIn(3) ? quota::ComputeClass::kSpot : quota::ComputeClass::kDefault;
  command.limit = dice_.OneIn(8) ? 0 : 3 + dice_.Roll(16);
  command.allow_missing = true;
  if (dice_.OneIn(3)) {
    const absl::Time from = cloud_.now + dice_.UpTo(absl::Minutes(3));
    command.overrides = {
        {dice_.Roll(20), from, from + absl::Seconds(1) + dice_.UpTo(absl::Minutes(10)), "burst"}};
  }
  if (dice_.OneIn(10)) {
    (void)cloud_.quota.Run(
        quota::DeleteQuota{.name = QuotaName(command.key), .allow_missing = true}, cloud_.now);
  } else if (!cloud_.quota.Run(command, cloud_.now).ok()) {
    judge_.Fail("a limit is not taken");
  }
  cloud_.trace(cloud_.now, "admin: limit of ", QuotaName(command.key), " is ", *command.limit);
}

void World::MoveMachine() {
  if (dice_.OneIn(12)) {
    const std::string& type = dice_.Pick(Types());
    return RegisterRack(dice_.Pick(Zones()), type, ++next_rack_,
                        type == "gb200-4x" ? 4 : 1 + dice_.Roll(3));
  }
  const auto& machines = cloud_.capacity.state().table<capacity::MachineRow>().rows();
  const auto it = std::next(machines.begin(), dice_.Roll(static_cast<int>(machines.size())));
  const capacity::MachineRow machine = *it->second.row;
  if (machine.state == capacity::MachineState::kInRepair) return Repair(machine.id);
  const auto state =
      dice_.OneIn(10) ? capacity::MachineState::kRetired : capacity::MachineState::kInRepair;
  if (machine.claim.empty()) fleet_.Wipe(machine.id);
  // Refused when held.
  (void)cloud_.capacity.Run(capacity::SetMachineState{machine.id, state}, cloud_.now);
  cloud_.trace(cloud_.now, "admin: takes out machine ", machine.id);
}

void World::Repair(const std::string& machine) {
  fleet_.Wipe(machine);
  (void)cloud_.capacity.Run(capacity::SetMachineState{machine, capacity::MachineState::kFree},
                            cloud_.now);
  cloud_.trace(cloud_.now, "admin: machine ", machine, " is repaired");
}

void World::MoveZone() {
  capacity::UpdateZone command{{.id = dice_.Pick(Zones())}};
  if (dice_.OneIn(6)) command.zone.access = capacity::ZoneAccess::kDedicated;
  for (const std::string& type : Types()) {
    if (!dice_.OneIn(8)) command.zone.instance_types.push_back(type);
  }
  cloud_.capacity.Run(command, cloud_.now);
  cloud_.trace(cloud_.now, "admin: zone ", command.zone.id, " offers ",
               command.zone.instance_types.size(), " types");
}

void World::MoveCluster() {
  const auto& clusters = cloud_.lifecycle.state().table<lifecycle::Cluster>().rows();
  const auto it = std::next(clusters.begin(), dice_.Roll(static_cast<int>(clusters.size())));
  lifecycle::UpdateCluster command{.cluster = *it->second.row};
  command.cluster.kubernetes_version = dice_.OneIn(2) ? "" : "1.33";
  if (!cloud_.lifecycle.Run(command, cloud_.now).ok()) judge_.Fail("a cluster is not taken");
}

void World::Release() {
  const auto publish = [&](configuration::Component component, std::string version) {
    (void)cloud_.configuration.Run(configuration::PublishRelease{configuration::Channel::kStable,
                                                                 component, std::move(version)},
                                   cloud_.now);
  };
  const int64_t next = ++next_version_;
  // The first and the last ones are whole.
  const bool all = next == 2 || cloud_.now >= judge_.calm_since;
  if (all || dice_.OneIn(2)) {
    publish(configuration::Component::kGpuDriver, absl::StrCat("570.", next));
    publish(configuration::Component::kGpuDriver, absl::StrCat("580.", next));
  }
  if (all || dice_.OneIn(3))
    publish(configuration::Component::kKubernetes, absl::StrCat("1.33.", next));
  if (all || dice_.OneIn(3))
    publish(configuration::Component::kNcoreImage, absl::StrCat("2.11.", next));
  cloud_.trace(cloud_.now, "upstream: release ", next);
}

void World::Withdraw() {
  const auto& releases = cloud_.configuration.state().table<configuration::Release>().rows();
  const auto it = std::next(releases.begin(), dice_.Roll(static_cast<int>(releases.size())));
  const configuration::Release release = *it->second.row;
  (void)cloud_.configuration.Run(
      configuration::WithdrawRelease{release.channel, release.component, release.version},
      cloud_.now);
  cloud_.trace(cloud_.now, "upstream: withdraws ", release.version);
}

bool World::SettleConfigurations(bool all) {
  configuration::SettlePools command{UnsettledPools(cloud_.configuration.state())};
  if (command.keys.empty()) return false;
  if (!all) command.keys.resize(static_cast<size_t>(dice_.Roll(2)) + command.keys.size() / 2);
  cloud_.configuration.Run(command, cloud_.now);
  return true;
}

}  // namespace muster::simulation
