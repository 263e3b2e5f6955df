// What callers ask of lifecycle and configuration.
#include <algorithm>
#include <iterator>

#include "absl/strings/str_join.h"
#include "services/lifecycle/core/names.h"
#include "tests/simulation/scene.h"
#include "tests/simulation/wishes.h"
#include "tests/simulation/world.h"

namespace muster::simulation {

void World::StepCaller() {
  if (random_.OneIn(4) && requests_.Repeat()) return;
  const bool validate_only = random_.OneIn(10);
  const int64_t revision = cloud_.lifecycle.revision();
  const int kind = random_.Uniform(20);
  if (random_.Percent(weather_.reboots)) {
    StepReboots(validate_only);
  } else if (kind < 5) {
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
    checker_.Fail("validate_only changed something");
}

int64_t World::SomeTarget(const std::string& pool) {
  return simulation::SomeTarget(random_, pool, rack_nodes_);
}

lifecycle::Spec World::SomeSpec(const std::string& name) {
  return simulation::SomeSpec(random_, name,
                              cloud_.lifecycle.state().table<lifecycle::Pool>().Find(name));
}

void World::ApplySome(bool validate_only) {
  lifecycle::ApplyNodePool command;
  command.name = random_.Pick(PoolNamesEver());
  command.new_uid = absl::StrCat("uid-", ++next_uid_);
  command.spec = SomeSpec(command.name);
  command.target_nodes = SomeTarget(command.name);
  // From an object whose generations rise with the calls, now and then an old copy; or from none.
  if (!random_.OneIn(3))
    command.object_generation = std::max<int64_t>(1, next_uid_ - random_.Uniform(4));
  const auto* type = cloud_.capacity.state().FindInstanceType(command.spec.instance_type);
  if (type != nullptr)
    command.type =
        lifecycle::TypeFacts{type->id, type->gpus, type->superchip, type->nodes_per_rack};
  const auto outcome = cloud_.lifecycle.Run(command, cloud_.now, validate_only);
  cloud_.trace(cloud_.now, "caller: applies ", command.name, " target ", *command.target_nodes, " ",
               TextOf(command.spec.scale_down_strategy), validate_only ? " (validate only)" : "",
               " -> ", outcome.status().ToString());
}

void World::ResizeSome(bool validate_only) {
  const std::vector<std::string> names = PoolNames();
  if (names.empty()) return;
  lifecycle::ResizeNodePool command{.name = random_.Pick(names)};
  command.target_nodes = SomeTarget(command.name);
  const std::string what = absl::StrCat("resizes ", command.name, " to ", *command.target_nodes);
  Ask(what, command, validate_only);
}

void World::StepReboots(bool validate_only) {
  const int kind = random_.Uniform(5);
  if (kind == 0) return Release();
  if (kind < 3) return OrderSome();
  ReconfigureSome(validate_only);
}

std::string World::SomeBusyPool() {
  const auto& state = cloud_.lifecycle.state();
  std::vector<std::string> busy;
  for (const auto& [name, node] : state.table<lifecycle::Node>().rows()) {
    if (node.row->state == lifecycle::NodeState::kProduction) continue;
    // More often one whose Node soon leaves this state.
    const bool brief = node.row->desired.drain ||
                       node.row->state == lifecycle::NodeState::kReconfiguring ||
                       node.row->preempt_time != lifecycle::kNever;
    for (int i = brief ? 10 : 1; i > 0; --i) busy.emplace_back(lifecycle::PoolNameOf(name));
  }
  for (const auto& [name, pool] : state.table<lifecycle::Pool>().rows()) {
    if (pool.row->reconfiguring()) busy.push_back(pool.row->name);
  }
  return busy.empty() || random_.OneIn(3) ? random_.Pick(PoolNamesEver()) : random_.Pick(busy);
}

void World::DeleteSome(bool validate_only) {
  const lifecycle::DeleteNodePool command{.name = SomeBusyPool(), .allow_missing = true};
  const auto outcome = cloud_.lifecycle.Run(command, cloud_.now, validate_only);
  cloud_.trace(cloud_.now, "caller: deletes ", command.name, " -> ", outcome.status().ToString());
}

void World::ReconfigureSome(bool validate_only) {
  const std::string name = SomeBusyPool();
  if (random_.OneIn(2)) {
    lifecycle::ReconfigureNodePool command{.name = name};
    command.evict_active = random_.OneIn(2);
    command.max_unavailable = random_.OneIn(2) ? "" : "2";
    command.allowed_failures = random_.Uniform(2);
    if (random_.OneIn(2)) {
      for (const auto* node : cloud_.lifecycle.state().NodesOf(name)) {
        if (random_.OneIn(2)) command.machines.push_back(node->machine);
      }
    }
    Ask(absl::StrCat("reconfigures ", name, command.evict_active ? " evict " : " ",
                     command.max_unavailable, " ", command.allowed_failures, " ",
                     absl::StrJoin(command.machines, ",")),
        command, validate_only);
  } else {
    using Verb = lifecycle::ControlReconfiguration::Verb;
    constexpr Verb kVerbs[] = {Verb::kPause, Verb::kResume, Verb::kResume, Verb::kCancel};
    const lifecycle::ControlReconfiguration command{.name = name,
                                                    .verb = kVerbs[random_.Uniform(4)]};
    Ask(absl::StrCat("reboots of ", name, ": ", static_cast<int>(command.verb)), command,
        validate_only);
  }
}

void World::RemoveSome(bool validate_only) {
  const std::vector<std::string> names = PoolNames();
  if (names.empty()) return;
  lifecycle::ResizeNodePool command{.name = random_.Pick(names)};
  for (const auto* node : cloud_.lifecycle.state().NodesOf(command.name)) {
    if (random_.OneIn(4)) command.remove_machines.push_back(node->machine);
  }
  if (command.remove_machines.empty()) return;
  if (LastIdOf(command.name) == "rack") {
    // Whole racks; who is named goes first.
    const auto* pool = cloud_.lifecycle.state().table<lifecycle::Pool>().Find(command.name);
    const int64_t left = pool->spec.target_nodes - std::ssize(command.remove_machines);
    command.target_nodes = std::max<int64_t>(0, left) / rack_nodes_ * rack_nodes_;
  }
  Ask(absl::StrCat("removes of ", command.name, " ", absl::StrJoin(command.remove_machines, ",")),
      command, validate_only);
}

void World::ProtectSome(bool validate_only) {
  const auto& nodes = cloud_.lifecycle.state().table<lifecycle::Node>().rows();
  if (nodes.empty()) return;
  const auto it = std::next(nodes.begin(), random_.Uniform(static_cast<int>(nodes.size())));
  if (random_.OneIn(5)) return OrderOne(it->second.row->name, validate_only);
  lifecycle::UpdateNode command{.name = it->second.row->name,
                                .protect_until_time = lifecycle::kNever};
  if (random_.OneIn(20)) command.reserved_desired = muster::kControlPlane;
  if (random_.OneIn(10)) command.reserved_desired = "";
  if (!random_.OneIn(3)) {
    command.protect_until_time =
        cloud_.lifecycle.TimeAt(cloud_.now) + random_.UpTo(absl::Minutes(20));
  }
  Ask(absl::StrCat("protects ", command.name, " ", absl::FormatTime(*command.protect_until_time)),
      command, validate_only);
}

// Within the disruption budget.
void World::OrderOne(const std::string& node, bool validate_only) {
  const lifecycle::OrderNode command{
      .name = node,
      .verb = static_cast<lifecycle::OrderNode::Verb>(random_.Uniform(4)),
      .reboot = random_.OneIn(2) ? lifecycle::Reboot::kWhenIdle : lifecycle::Reboot::kDrained};
  Ask(absl::StrCat("orders of ", node, ": ", static_cast<int>(command.verb), " ",
                   static_cast<int>(command.reboot)),
      command, validate_only);
}

void World::OrderSome() {
  std::vector<const configuration::PoolConfiguration*> pools;
  for (const auto& [key, row] :
       cloud_.configuration.state().table<configuration::PoolConfiguration>().rows()) {
    // Rather one that waits already.
    for (int i = row.row->has_waiting() ? 20 : 1; i > 0; --i) pools.push_back(row.row.get());
  }
  if (pools.empty()) return;
  const configuration::PoolConfiguration pool = *random_.Pick(pools);
  const auto a_revision = [&] {
    return pool.revisions.empty() ? std::string("np-0") : random_.Pick(pool.revisions).node_profile;
  };
  if (random_.OneIn(4)) {
    const configuration::EnableRevision command{pool.pool_uid, a_revision()};
    (void)requests_.Send(cloud_.configuration,
                         absl::StrCat("enable ", pool.pool_uid, " ", command.node_profile),
                         command);
    return cloud_.trace(cloud_.now, "caller: enables a revision of ", pool.pool_uid);
  }
  configuration::OrderPool command{pool.pool_uid};
  if (random_.OneIn(2)) {
    command.requested = "pending";
  } else {
    command.kind = configuration::OrderKind::kRollback;
    command.requested = random_.OneIn(2) ? "previous" : a_revision();
  }
  Order(command);
  if (random_.OneIn(2)) return;
  // Another order before that one is done.
  Release();
  SettleConfigurations(true);
  // By its id: `pending` would be the same order again.
  const auto* now =
      cloud_.configuration.state().table<configuration::PoolConfiguration>().Find(pool.Key());
  Order({pool.pool_uid, configuration::OrderKind::kPromote, now->pending.node_profile});
}

void World::Order(const configuration::OrderPool& command) {
  if (command.requested.empty()) return;
  const absl::Status status =
      requests_.Send(cloud_.configuration,
                     absl::StrCat("order ", command.pool_uid, " ", static_cast<int>(command.kind),
                                  " ", command.requested),
                     command);
  cloud_.trace(cloud_.now, "caller: orders ", command.requested, " for ", command.pool_uid, " -> ",
               status.ToString());
}

}  // namespace muster::simulation
