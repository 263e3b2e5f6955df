// What can happen in a step.
#include <algorithm>
#include <iterator>

#include "services/configuration/core/settle.h"
#include "services/lifecycle/core/names.h"
#include "tests/simulation/world.h"

namespace muster::simulation {
namespace {

// Names of pools that come and go.
const std::vector<std::string>& Names() {
  static const auto& names = *new std::vector<std::string>{
      "organizations/acme/clusters/c1/nodePools/train",
      "organizations/acme/clusters/c1/nodePools/serve",
      "organizations/acme/clusters/c1/nodePools/spot",
      "organizations/acme/clusters/c1/nodePools/rack",
      "organizations/acme/clusters/c2/nodePools/train",
      "organizations/beta/clusters/c1/nodePools/train",
      "organizations/beta/clusters/c1/nodePools/spot",
  };
  return names;
}

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

// --- callers ---

void World::StepCaller() {
  const bool validate_only = dice_.OneIn(10);
  const int64_t revision = cloud_.lifecycle.revision();
  const int kind = dice_.Roll(20);
  if (kind < 5) {
    ApplySome(validate_only);
  } else if (kind < 10) {
    ResizeSome(validate_only);
  } else if (kind < 12) {
    DeleteSome(validate_only);
  } else if (kind < 14) {
    ReconfigureSome(validate_only);
  } else if (kind < 16) {
    RemoveSome(validate_only);
  } else if (kind < 17) {
    ProtectSome(validate_only);
  } else {
    OrderSome();
  }
  if (validate_only && cloud_.lifecycle.revision() != revision)
    judge_.Fail("validate_only changed something");
}

lifecycle::Spec World::SomeSpec(const std::string& name) {
  const auto* pool = cloud_.lifecycle.state().table<lifecycle::Pool>().Find(name);
  lifecycle::Spec spec;
  if (pool != nullptr) {
    spec = pool->spec;
  } else {
    const absl::string_view id = lifecycle::LastIdOf(name);
    spec.instance_type = id == "rack"      ? "gb200-4x"
                         : dice_.OneIn(4)  ? "cd-gp-a192"
                         : dice_.OneIn(30) ? "unknown-type"
                                           : "gd-8xa100-i128";
    if (id == "spot") spec.compute_class = "spot";
  }
  spec.scale_down_strategy = dice_.OneIn(2) ? "IdleOnly" : "PreferIdle";
  spec.disable_unhealthy_node_eviction = dice_.OneIn(2);
  if (dice_.OneIn(3)) spec.node_labels["team"] = absl::StrCat("t", dice_.Roll(3));
  if (dice_.OneIn(3)) spec.gpu = lifecycle::Gpu{dice_.OneIn(2) ? "570" : "580"};
  constexpr const char* kBudgets[] = {"", "", "1", "2", "25%"};
  spec.max_unavailable = kBudgets[dice_.Roll(5)];
  spec.priority = dice_.Roll(3) - 1;
  spec.gang = dice_.OneIn(8);
  spec.autoscaling = spec.instance_type != "gb200-4x" && dice_.OneIn(6);
  spec.max_nodes = spec.autoscaling ? 8 : 0;
  spec.node_affinity.clear();
  if (dice_.OneIn(8)) spec.node_affinity = {{{"disk", "In", {"nvme"}}}};
  spec.prefill.reset();
  if (!spec.autoscaling && !spec.spot() && dice_.OneIn(4))
    spec.prefill = lifecycle::Prefill{true, 60 * (1 + dice_.Roll(10)), 1 + dice_.Roll(4)};
  constexpr const char* kStrategies[] = {"", "Manual", "OnSpecUpdate", "Always"};
  spec.update_strategy = kStrategies[dice_.Roll(4)];
  return spec;
}

void World::ApplySome(bool validate_only) {
  lifecycle::ApplyNodePool command;
  command.name = dice_.Pick(Names());
  command.new_uid = absl::StrCat("uid-", ++next_uid_);
  command.spec = SomeSpec(command.name);
  const bool racks = command.spec.instance_type == "gb200-4x";
  command.target_nodes = racks ? 4 * dice_.Roll(4) : dice_.Roll(8);
  command.validate_only = validate_only;
  const auto* type = cloud_.capacity.state().FindInstanceType(command.spec.instance_type);
  if (type != nullptr)
    command.type =
        lifecycle::TypeFacts{type->id, type->gpus, type->superchip, type->nodes_per_rack};
  const auto outcome = cloud_.lifecycle.Run(command, cloud_.now);
  cloud_.trace(cloud_.now, "caller: applies ", command.name, " target ", *command.target_nodes, " ",
               command.spec.scale_down_strategy, validate_only ? " (validate only)" : "", " -> ",
               outcome.status().ToString());
}

void World::ResizeSome(bool validate_only) {
  const std::vector<std::string> names = PoolNames();
  if (names.empty()) return;
  lifecycle::ResizeNodePool command{.name = dice_.Pick(names)};
  const bool racks = lifecycle::LastIdOf(command.name) == "rack";
  command.target_nodes = racks ? 4 * dice_.Roll(4) : dice_.Roll(9);
  command.validate_only = validate_only;
  const auto outcome = cloud_.lifecycle.Run(command, cloud_.now);
  cloud_.trace(cloud_.now, "caller: resizes ", command.name, " to ", *command.target_nodes, " -> ",
               outcome.status().ToString());
}

void World::DeleteSome(bool validate_only) {
  const lifecycle::DeleteNodePool command{
      .name = dice_.Pick(Names()), .allow_missing = true, .validate_only = validate_only};
  const auto outcome = cloud_.lifecycle.Run(command, cloud_.now);
  cloud_.trace(cloud_.now, "caller: deletes ", command.name, " -> ", outcome.status().ToString());
}

void World::ReconfigureSome(bool validate_only) {
  const std::vector<std::string> names = PoolNames();
  if (names.empty()) return;
  const std::string& name = dice_.Pick(names);
  absl::Status status;
  if (dice_.OneIn(2)) {
    lifecycle::ReconfigureNodePool command{.name = name, .validate_only = validate_only};
    command.evict_active = dice_.OneIn(2);
    command.max_unavailable = dice_.OneIn(2) ? "" : "2";
    command.allowed_failures = dice_.Roll(2);
    if (dice_.OneIn(2)) {
      for (const auto* node : cloud_.lifecycle.state().NodesOf(name)) {
        if (dice_.OneIn(2)) command.machines.push_back(node->machine);
      }
    }
    status = cloud_.lifecycle.Run(command, cloud_.now).status();
  } else {
    using Verb = lifecycle::ControlReconfiguration::Verb;
    constexpr Verb kVerbs[] = {Verb::kPause, Verb::kResume, Verb::kResume, Verb::kCancel};
    const lifecycle::ControlReconfiguration command{
        .name = name, .verb = kVerbs[dice_.Roll(4)], .validate_only = validate_only};
    status = cloud_.lifecycle.Run(command, cloud_.now).status();
  }
  cloud_.trace(cloud_.now, "caller: reconfigures ", name, " -> ", status.ToString());
}

void World::RemoveSome(bool validate_only) {
  const std::vector<std::string> names = PoolNames();
  if (names.empty()) return;
  lifecycle::ResizeNodePool command{.name = dice_.Pick(names), .validate_only = validate_only};
  for (const auto* node : cloud_.lifecycle.state().NodesOf(command.name)) {
    if (dice_.OneIn(4)) command.remove_machines.push_back(node->machine);
  }
  if (command.remove_machines.empty()) return;
  const auto outcome = cloud_.lifecycle.Run(command, cloud_.now);
  cloud_.trace(cloud_.now, "caller: removes ", command.remove_machines.size(), " of ", command.name,
               " -> ", outcome.status().ToString());
}

void World::ProtectSome(bool validate_only) {
  const auto& nodes = cloud_.lifecycle.state().table<lifecycle::Node>().rows();
  if (nodes.empty()) return;
  const auto it = std::next(nodes.begin(), dice_.Roll(static_cast<int>(nodes.size())));
  lifecycle::UpdateNode command{.name = it->first, .validate_only = validate_only};
  if (!dice_.OneIn(3)) command.protect_until_time = cloud_.now + dice_.UpTo(absl::Minutes(20));
  (void)cloud_.lifecycle.Run(command, cloud_.now);
  cloud_.trace(cloud_.now, "caller: protects ", command.name);
}

void World::OrderSome() {
  const auto& pools = cloud_.configuration.state().table<configuration::PoolConfiguration>().rows();
  if (pools.empty()) return;
  const auto it = std::next(pools.begin(), dice_.Roll(static_cast<int>(pools.size())));
  const configuration::PoolConfiguration pool = *it->second.row;
  const auto a_revision = [&] {
    return pool.revisions.empty() ? std::string("np-0") : dice_.Pick(pool.revisions).node_profile;
  };
  if (dice_.OneIn(4)) {
    (void)cloud_.configuration.Run(configuration::EnableRevision{pool.pool_uid, a_revision()},
                                   cloud_.now);
    return cloud_.trace(cloud_.now, "caller: enables a revision of ", pool.pool_uid);
  }
  configuration::OrderPool command{pool.pool_uid};
  if (dice_.OneIn(2)) {
    command.requested = "pending";
  } else {
    command.kind = configuration::OrderKind::kRollback;
    command.requested = dice_.OneIn(2) ? "previous" : a_revision();
  }
  const auto answer = cloud_.configuration.Run(command, cloud_.now);
  cloud_.trace(cloud_.now, "caller: orders ", command.requested, " for ", command.pool_uid, " -> ",
               answer.ok() ? answer->refusal.ToString() : answer.status().ToString());
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
  // Granted to the pool that gave it back before that pool forgot its Node (README).
  const auto& nodes = cloud_.lifecycle.state().table<lifecycle::Node>().rows();
  const bool known = std::any_of(nodes.begin(), nodes.end(), [&](const auto& node) {
    return node.second.row->machine == machine;
  });
  if (known && !options_.holes) return;
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
