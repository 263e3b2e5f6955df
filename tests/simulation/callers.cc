// What callers ask of lifecycle and configuration.
#include <algorithm>
#include <iterator>

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

}  // namespace

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
  // From an object whose generations rise with the calls, now and then an old copy; or from none.
  if (!dice_.OneIn(3)) command.object_generation = std::max<int64_t>(1, next_uid_ - dice_.Roll(4));
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

}  // namespace muster::simulation
