#include "tests/simulation/town.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/common/generation.h"
#include "services/common/testing/fake_memory.h"
#include "services/configuration/core/settle.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/plan.h"
#include "tests/simulation/scene.h"
#include "tests/simulation/wishes.h"

namespace muster::simulation {
namespace {

using lifecycle::Node;
using lifecycle::Pool;

constexpr char kZone[] = "US-EAST-04A";
constexpr absl::Duration kSoon = absl::Seconds(10);

template <class T, class A>
void Fill(lifecycle::PeerReply<T>& slot, const absl::StatusOr<A>& answer) {
  if (!answer.ok()) std::abort();  // nothing fails here
  slot.state = lifecycle::PeerReply<T>::State::kHere;
  slot.value = FactsOf(*answer);
}

}  // namespace

Town::Town(uint64_t seed) : SimAgents(seed), random(seed), rack_nodes_(2 + random.Uniform(3)) {
  Listen();
  MakeCatalogue();
  for (const char* name : {"organizations/acme/clusters/c1", "organizations/beta/clusters/c1"})
    (void)Run(lifecycle::UpdateCluster{.cluster = {.name = name, .zone = kZone}});
  (void)Run(lifecycle::TakeLease{.holder = "a", .epoch = 1});
}

const std::vector<std::string>& Town::PoolNames() {
  static const auto& names = *new std::vector<std::string>{
      "organizations/acme/clusters/c1/nodePools/rack",
      "organizations/acme/clusters/c1/nodePools/serve",
      "organizations/acme/clusters/c1/nodePools/spot",
      "organizations/acme/clusters/c1/nodePools/train",
      "organizations/beta/clusters/c1/nodePools/rack",
      "organizations/beta/clusters/c1/nodePools/spot",
      "organizations/beta/clusters/c1/nodePools/train",
  };
  return names;
}

int64_t Town::HoldingOf(const Pool& pool) const {
  const auto* holding = cloud.quota.state().table<quota::Holding>().Find(
      absl::StrCat(QuotaOf(pool), "/holdings/", pool.uid));
  return holding == nullptr ? 0 : holding->nodes;
}

int64_t Town::SomeTarget(const std::string& pool) {
  return simulation::SomeTarget(random, pool, rack_nodes_);
}

// --- set-up ---

void Town::Listen() {
  cloud.lifecycle.committed = [this](const auto& staged) {
    ForEachChanged<Node>(staged, [&](const Node* before, const Node* after) {
      if (before == nullptr) return;
      const std::string pool(lifecycle::PoolNameOf(before->name));
      if (before->state == lifecycle::NodeState::kReconfiguring && after != nullptr &&
          after->state == lifecycle::NodeState::kProduction)
        ++reboots[pool];
      const Node& last = after == nullptr ? *before : *after;
      const auto leaves = [](const Node& node) {
        return node.removal_cause != lifecycle::RemovalCause::kNone;
      };
      const auto preempted = [](const Node& node) {
        return node.preempt_time != lifecycle::kNever;
      };
      const bool same = before->create_time == last.create_time;  // else its machine came back
      if (after == nullptr || leaves(last))
        departures[pool][last.machine] = {last.removal_cause, preempted(last)};
      else if (leaves(*before) && same)
        departures[pool].erase(last.machine);  // it was let stay
      if (same && preempted(*before) && !preempted(last)) let_stay.insert(pool);
    });
  };
}

void Town::MakeCatalogue() {
  const auto type = [](const std::string& id, int32_t gpus, int32_t per_rack) {
    capacity::InstanceTypeRow row{.id = id, .gpus = gpus};
    row.superchip = per_rack > 0;
    row.nodes_per_rack = per_rack;
    return row;
  };
  for (const auto& row :
       {type(kGpuType, 8, 0), type(kCpuType, 0, 0), type(kRackType, 4, rack_nodes_)})
    cloud.capacity.Run(capacity::UpdateInstanceType{row}, cloud.now);
  cloud.capacity.Run(capacity::UpdateZone{{.id = kZone, .instance_types = Types()}}, cloud.now);
  for (int rack = 0; rack < 3; ++rack) RegisterRack(kGpuType, 2 + random.Uniform(4));
  RegisterRack(kCpuType, 2 + random.Uniform(6));
  for (int rack = 1 + random.Uniform(4); rack > 0; --rack) RegisterRack(kRackType, rack_nodes_);
  for (const auto component :
       {configuration::Component::kNcoreImage, configuration::Component::kGpuDriver,
        configuration::Component::kKubernetes}) {
    for (const char* version : {"570.1", "580.1"}) {
      for (const auto channel : {configuration::Channel::kStable, configuration::Channel::kLatest})
        (void)cloud.configuration.Run(configuration::PublishRelease{channel, component, version},
                                      cloud.now);
    }
  }
  for (int i = 0; i < 30; ++i) MoveLimit(random.Pick(PoolNames()));
}

void Town::RegisterRack(const std::string& type, int count) {
  const capacity::RegisterMachines command = SomeRack(random, kZone, type, ++racks_, count);
  if (!cloud.capacity.Run(command, cloud.now).ok()) std::abort();
}

// --- a pass, and a preview's ---

void Town::Ask(PoolView& view, bool only_ask) {
  const lifecycle::Demand& demand = view.demand;
  if (demand.holding) {
    const quota::SyncHolding asked = RequestOf(view, *demand.holding);
    Fill(view.answers.holding, only_ask ? cloud.quota.Ask([&](auto& staged) {
      return quota::Check(staged.state(), {&asked, 1}, TimeOf(cloud.quota), 0)[0];
    })
                                        : cloud.quota.Run(asked, cloud.now));
  }
  if (demand.claim) {
    const capacity::SyncClaims asked{{RequestOf(view, *demand.claim)}};
    Fill(view.answers.claim, only_ask ? cloud.capacity.Ask([&](auto& staged) {
      return capacity::Check(staged, asked, TimeOf(cloud.capacity))[0];
    })
                                      : cloud.capacity.Run(asked, cloud.now)[0]);
    lifecycle::ClaimFacts& claim = view.answers.claim.value;
    claim.taken = cloud.lifecycle.state().TakenElsewhere(view.pool->uid, claim.machines);
  }
  if (demand.configuration) {
    const configuration::SyncPools asked{{RequestOf(view, *demand.configuration)}};
    Fill(view.answers.configuration, only_ask ? cloud.configuration.Ask([&](auto& staged) {
      return configuration::Check(staged, asked, TimeOf(cloud.configuration), {})[0];
    })
                                              : (*cloud.configuration.Run(asked, cloud.now))[0]);
  }
}

PoolView Town::LookAt(const lifecycle::State& state, const std::string& pool, bool only_ask) {
  PoolView view = Look(state, pool);
  view.catalogue = FactsFor(*view.pool, cloud.capacity.state());
  view.demand = DemandOf(*view.pool, view.nodes, view.catalogue);
  Ask(view, only_ask);
  return view;
}

lifecycle::Snapshot Town::SnapshotOf(const PoolView& view) const {
  return {view.cluster.get(), view.pool.get(), view.nodes, view.version,
          view.catalogue,     view.answers,    policy,     Now()};
}

bool Town::Pass(const std::string& name) {
  if (Find(name) == nullptr) return false;
  const int64_t before = cloud.revisions();
  const PoolView view = LookAt(cloud.lifecycle.state(), name, false);
  lifecycle::PoolPlan plan = Plan(SnapshotOf(view));
  due_ = std::min(due_, plan.due);
  if (!plan.actions.empty() && !Run(lifecycle::ApplyPlan{name, view.pool->uid, view.version, "a", 1,
                                                         std::move(plan.actions)})
                                    .ok())
    std::abort();
  return cloud.revisions() != before;
}

void Town::PassAlone(const std::string& pool) {
  for (int i = 0; i < 20 && Pass(pool); ++i) {
  }
}

lifecycle::Preview Town::Rehearse(const lifecycle::DryRun& dry_run) {
  PoolView view;
  return lifecycle::Rehearse(dry_run, [&](const lifecycle::State& state) {
    view = LookAt(state, dry_run.after.name, true);
    return SnapshotOf(view);
  });
}

lifecycle::HoldingFacts::Verdict Town::CheckQuota(const Pool& pool, int64_t charge) {
  const quota::SyncHolding asked{QuotaOf(pool),     pool.uid,  charge,
                                 kNewestGeneration, pool.name, false};
  return cloud.quota.Ask([&](auto& staged) {
    return FactsOf(*quota::Check(staged.state(), {&asked, 1}, TimeOf(cloud.quota), 0)[0]).verdict;
  });
}

// --- what goes on ---

bool Town::ActAsAgents() {
  bool moved = false;
  for (const std::string& name : PoolNames()) {
    std::vector<lifecycle::ReportNode> reports;
    for (const Node* node : NodesOf(name)) {
      if (auto report = NextReport(*node)) reports.push_back(*std::move(report));
    }
    for (const auto& report : reports) moved |= Run(report).ok();
  }
  configuration::SettlePools settle{UnsettledPools(FakeMemory(cloud.configuration.state()))};
  if (!settle.keys.empty()) cloud.configuration.Run(settle, cloud.now);
  return moved || !settle.keys.empty();
}

bool Town::Converge() {
  for (int round = 0; round < 300; ++round) {
    due_ = absl::InfiniteFuture();
    bool moved = false;
    for (const std::string& name : PoolNames()) moved |= Pass(name);
    moved |= ActAsAgents();
    if (moved) continue;
    if (due_ > Now() + kSoon) return true;
    cloud.Pass(std::max(due_ - Now(), absl::Milliseconds(1)));
  }
  return false;
}

void Town::MoveLimit(const std::string& name) {
  quota::UpdateQuota command;
  command.key.organization = std::string(lifecycle::OrganizationOf(name));
  command.key.zone = kZone;
  command.key.instance_type = random.Pick(Types());
  command.key.compute_class =
      LastIdOf(name) == "spot" ? quota::ComputeClass::kSpot : quota::ComputeClass::kDefault;
  command.limit = random.OneIn(12) ? 0 : 3 + random.Uniform(20);
  command.allow_missing = true;
  if (random.OneIn(3)) {
    const absl::Time from = TimeOf(cloud.quota) + random.UpTo(absl::Seconds(5));
    command.overrides = {{random.Uniform(20), from, from + absl::Seconds(30), "burst"}};
  }
  if (!cloud.quota.Run(command, cloud.now).ok()) std::abort();
}

// Of one Node: work, protection, health, marks, what its agent does not do.
void Town::ActAsUser() {
  const auto& nodes = cloud.lifecycle.state().table<Node>().rows();
  if (nodes.empty()) return;
  const Node node =
      *std::next(nodes.begin(), random.Uniform(static_cast<int>(nodes.size())))->second.row;
  const auto report = [&](O observation) {
    lifecycle::ReportNode said{.node = node.name, .observation = observation};
    if (observation == O::kActive) {
      said.active_pods = {"default/job"};
      said.active_pod_count = 1 + random.Uniform(4);
    }
    (void)Run(said);
  };
  switch (random.Uniform(12)) {
    case 0:
      (void)Run(
          lifecycle::UpdateNode{.name = node.name, .protect_until_time = Now() + absl::Hours(1)});
      return;
    case 1:
      return report(O::kUnhealthy);
    case 2:
      return report(random.OneIn(2) ? O::kAutoscalerMarked : O::kUnschedulable);
    case 3:
      stuck.insert(node.machine);
      return;
    case 4:
      boot_fails.insert(node.machine);
      return;
    case 5:
      stuck.clear();
      return;
    case 6:
      (void)Run(lifecycle::OrderNode{
          .name = node.name, .verb = static_cast<lifecycle::OrderNode::Verb>(random.Uniform(3))});
      return;
    default:
      busy.insert(node.machine);
      return report(O::kActive);
  }
}

void Town::Stir() {
  for (int i = random.Uniform(3); i > 0; --i) MoveLimit(random.Pick(PoolNames()));
  if (random.OneIn(4)) {
    const std::string version = absl::StrCat(random.OneIn(2) ? "570." : "580.", ++versions_);
    (void)cloud.configuration.Run(
        configuration::PublishRelease{configuration::Channel::kStable,
                                      configuration::Component::kGpuDriver, version},
        cloud.now);
  }
  const auto& machines = cloud.capacity.state().table<capacity::MachineRow>().rows();
  const std::string machine =
      std::next(machines.begin(), random.Uniform(static_cast<int>(machines.size())))
          ->second.row->id;
  const bool breaks = random.OneIn(2);
  if (random.OneIn(2))
    (void)cloud.capacity.Run(
        capacity::SetMachineState{
            machine, breaks ? capacity::MachineState::kInRepair : capacity::MachineState::kFree},
        cloud.now);
  for (int i = random.Uniform(12); i > 0; --i) ActAsUser();
}

bool Town::EndAllWork() {
  stuck.clear();
  busy.clear();
  boot_fails.clear();
  std::vector<Node> nodes;
  for (const auto& [name, row] : cloud.lifecycle.state().table<Node>().rows())
    nodes.push_back(*row.row);
  for (const Node& node : nodes) {
    if (node.protect_until_time != lifecycle::kNever)
      (void)Run(lifecycle::UpdateNode{.name = node.name, .protect_until_time = lifecycle::kNever});
    if (node.orders.any())
      (void)Run(
          lifecycle::OrderNode{.name = node.name, .verb = lifecycle::OrderNode::Verb::kUncordon});
    if (node.observed.unhealthy)
      (void)Run(lifecycle::ReportNode{.node = node.name, .observation = O::kRecovered});
    if (node.observed.active)
      (void)Run(lifecycle::ReportNode{.node = node.name, .observation = O::kIdle});
  }
  if (!Converge()) return false;
  // A Node that went back and forth between health and illness stays in triage for a while.
  const auto& rows = cloud.lifecycle.state().table<Node>().rows();
  if (std::none_of(rows.begin(), rows.end(), [](const auto& entry) {
        return entry.second.row->state == lifecycle::NodeState::kTriage;
      }))
    return true;
  cloud.Pass(policy.triage_grace);
  return Converge();
}

}  // namespace muster::simulation
