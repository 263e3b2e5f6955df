// What administrators and upstream do.
#include <algorithm>
#include <iterator>
#include <limits>

#include "services/common/testing/fake_memory.h"
#include "services/configuration/core/settle.h"
#include "services/lifecycle/core/names.h"
#include "tests/simulation/scene.h"
#include "tests/simulation/world.h"

namespace muster::simulation {

void World::StepAdmin() {
  switch (random_.Uniform(10)) {
    case 9:
      return CountTooFar();
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

// By mistake somebody calls with a generation far beyond those that are reached by counting.
void World::CountTooFar() {
  const auto& holdings = cloud_.quota.state().table<quota::Holding>().rows();
  if (holdings.empty()) return;
  const auto it = std::next(holdings.begin(), random_.Uniform(static_cast<int>(holdings.size())));
  quota::Holding holding = *it->second.row;
  holding.generation = std::numeric_limits<int64_t>::max();
  if (options_.bug == Bug::kGenerationUnbounded) return cloud_.quota.Put(std::move(holding));
  const std::string uid = holding.pool_uid;
  const int64_t generation = holding.generation;
  const auto taken = cloud_.quota.Run(
      quota::SyncHolding{holding.quota, uid, holding.nodes, generation, holding.pool}, cloud_.now);
  configuration::SyncPool pool{.pool_uid = uid, .generation = generation};
  const auto configured = cloud_.configuration.Run(pool, cloud_.now);
  const capacity::ClaimRow* claim = cloud_.capacity.state().FindClaim(uid);
  bool claimed = false;
  if (claim != nullptr) {
    claimed = cloud_.capacity
                  .Run(capacity::SyncClaim{.pool_uid = uid,
                                           .generation = generation,
                                           .zone = claim->zone,
                                           .instance_type = claim->instance_type,
                                           .compute_class = claim->compute_class,
                                           .organization = claim->organization},
                       cloud_.now)
                  .ok();
  }
  survey_.Saw("generation: too far");
  if (taken.ok() || claimed || configured.ok()) checker_.Fail("a generation far beyond is taken");
}

void World::MoveLimit() {
  if (random_.OneIn(4)) {
    cloud_.quota.Run(quota::ApplyOverrides{}, cloud_.now);
    return;
  }
  quota::UpdateQuota command;
  command.key.organization = random_.OneIn(3) ? "beta" : "acme";
  command.key.zone = random_.Pick(Zones());
  command.key.instance_type = random_.Pick(Types());
  command.key.compute_class =
      random_.OneIn(3) ? quota::ComputeClass::kSpot : quota::ComputeClass::kDefault;
  command.limit = random_.OneIn(8) ? 0 : 3 + random_.Uniform(16);
  command.allow_missing = true;
  if (random_.OneIn(3)) {
    const absl::Time from = cloud_.quota.TimeAt(cloud_.now) + random_.UpTo(absl::Minutes(3));
    command.overrides = {{random_.Uniform(20), from,
                          from + absl::Seconds(1) + random_.UpTo(absl::Minutes(10)), "burst"}};
  }
  if (random_.OneIn(6)) {
    (void)requests_.Send(cloud_.quota,
                         absl::StrCat("create ", QuotaName(command.key), " ", *command.limit),
                         quota::CreateQuota{command.key, *command.limit});
  } else if (random_.OneIn(10)) {
    (void)cloud_.quota.Run(
        quota::DeleteQuota{.name = QuotaName(command.key), .allow_missing = true}, cloud_.now);
  } else if (!cloud_.quota.Run(command, cloud_.now).ok()) {
    checker_.Fail("a limit is not taken");
  }
  cloud_.trace(cloud_.now, "admin: limit of ", QuotaName(command.key), " is ", *command.limit);
}

void World::MoveMachine() {
  if (random_.OneIn(12)) {
    const std::string& type = random_.Pick(Types());
    return RegisterRack(random_.Pick(Zones()), type, ++next_rack_,
                        type == kRackType ? rack_nodes_ : 1 + random_.Uniform(3));
  }
  const auto& machines = cloud_.capacity.state().table<capacity::MachineRow>().rows();
  const auto it = std::next(machines.begin(), random_.Uniform(static_cast<int>(machines.size())));
  const capacity::MachineRow machine = *it->second.row;
  const bool is_in_repair = machine.state == capacity::MachineState::kInRepair;
  const bool given_up = is_in_repair && calm() && random_.OneIn(3);
  if (is_in_repair && !given_up) return Repair(machine.id);
  const auto state = given_up || random_.OneIn(10) ? capacity::MachineState::kRetired
                                                   : capacity::MachineState::kInRepair;
  if (machine.claim.empty()) fleet_.Wipe(machine.id);
  // Refused when held.
  (void)requests_.Send(cloud_.capacity,
                       absl::StrCat("machine ", machine.id, " ", static_cast<int>(state)),
                       capacity::SetMachineState{machine.id, state});
  cloud_.trace(cloud_.now, "admin: takes out machine ", machine.id);
}

void World::Repair(const std::string& machine) {
  fleet_.Wipe(machine);
  (void)cloud_.capacity.Run(capacity::SetMachineState{machine, capacity::MachineState::kFree},
                            cloud_.now);
  cloud_.trace(cloud_.now, "admin: machine ", machine, " is repaired");
}

void World::MoveZone() {
  capacity::UpdateZone command{{.id = random_.Pick(Zones())}};
  if (random_.OneIn(6)) command.zone.access = capacity::ZoneAccess::kDedicated;
  for (const std::string& type : Types()) {
    if (!random_.OneIn(8)) command.zone.instance_types.push_back(type);
  }
  cloud_.capacity.Run(command, cloud_.now);
  cloud_.trace(cloud_.now, "admin: zone ", command.zone.id, " offers ",
               command.zone.instance_types.size(), " types");
}

void World::MoveCluster() {
  const auto& clusters = cloud_.lifecycle.state().table<lifecycle::Cluster>().rows();
  const auto it = std::next(clusters.begin(), random_.Uniform(static_cast<int>(clusters.size())));
  lifecycle::UpdateCluster command{.cluster = *it->second.row};
  command.cluster.kubernetes_version = random_.OneIn(2) ? "" : "1.33";
  if (!cloud_.lifecycle.Run(command, cloud_.now).ok()) checker_.Fail("a cluster is not taken");
}

void World::Publish(configuration::Component component, std::string version) {
  // The latest train comes first, and goes further.
  for (const auto channel : {configuration::Channel::kLatest, configuration::Channel::kStable}) {
    const configuration::PublishRelease command{channel, component, version};
    if (calm() || next_version_ <= 2) {
      (void)cloud_.configuration.Run(command, cloud_.now);
    } else {
      (void)requests_.Send(cloud_.configuration,
                           absl::StrCat("publish ", static_cast<int>(channel), " ",
                                        static_cast<int>(component), " ", version),
                           command);
    }
    if (random_.OneIn(3) && !calm()) return;
  }
}

void World::Release() {
  const int64_t next = ++next_version_;
  // The first and the last ones are whole.
  const bool all = next == 2 || calm();
  if (all || random_.OneIn(2)) {
    Publish(configuration::Component::kGpuDriver, absl::StrCat("570.", next));
    Publish(configuration::Component::kGpuDriver, absl::StrCat("580.", next));
  }
  if (all || random_.OneIn(3))
    Publish(configuration::Component::kKubernetes, absl::StrCat("1.33.", next));
  if (all || random_.OneIn(3))
    Publish(configuration::Component::kNcoreImage, absl::StrCat("2.11.", next));
  cloud_.trace(cloud_.now, "upstream: release ", next);
}

bool World::BootsSomewhere(const configuration::Release& release) const {
  const auto& state = cloud_.configuration.state();
  for (const auto& [key, pool] : state.table<configuration::PoolConfiguration>().rows()) {
    const auto* boots = state.table<configuration::NodeProfile>().Find(
        configuration::NodeProfile{.id = pool.row->active()}.Key());
    if (boots == nullptr || boots->release_train != release.channel) continue;
    if (release.version == boots->gpu_driver || release.version == boots->image ||
        release.version == boots->kubernetes)
      return true;
  }
  return false;
}

void World::Withdraw() {
  const auto& releases = cloud_.configuration.state().table<configuration::Release>().rows();
  const auto it = std::next(releases.begin(), random_.Uniform(static_cast<int>(releases.size())));
  const configuration::Release release = *it->second.row;
  if (BootsSomewhere(release)) survey_.Saw("release: of what Nodes boot withdrawn");
  (void)requests_.Send(
      cloud_.configuration, absl::StrCat("withdraw ", release.Key()),
      configuration::WithdrawRelease{release.channel, release.component, release.version});
  cloud_.trace(cloud_.now, "upstream: withdraws ", release.version);
}

bool World::SettleConfigurations(bool all) {
  configuration::SettlePools command{UnsettledPools(FakeMemory(cloud_.configuration.state()))};
  if (command.keys.empty()) return false;
  if (!all) command.keys.resize(static_cast<size_t>(random_.Uniform(2)) + command.keys.size() / 2);
  cloud_.configuration.Run(command, cloud_.now);
  return true;
}

}  // namespace muster::simulation
