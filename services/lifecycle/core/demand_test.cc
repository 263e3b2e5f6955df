// What a pool asks of the other services: of Nodes on their way out while its target rises, and of
// what Nodes run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Four Nodes, of whom three drain and never end.
struct Draining : Running {
  Draining() : Running(4) {
    SetActive("g100", true);
    stuck = {"g101", "g102", "g103"};
    Resize(1);
    Live();
  }
  void Live() {
    if (!Converge()) std::abort();
  }
  // The drains end, and so many Nodes are there and charged.
  void ExpectLeft(size_t nodes) {
    stuck.clear();
    Live();
    EXPECT_THAT(machines(), SizeIs(nodes));
    EXPECT_EQ(holding(), static_cast<int64_t>(nodes));
    EXPECT_EQ(Reason("AtTarget"), "TargetMet");
    EXPECT_TRUE(never_over && fenced && same_twice);
  }
};

// Nodes whose drain began do not count as wanted: what is missing is asked for at once, charged.
TEST(RiseWhileDraining, WhatIsMissingIsAskedForAtOnce) {
  Draining sim;
  sim.OthersTake(96);
  sim.Resize(4);
  sim.Live();
  EXPECT_EQ(sim.Says("AtTarget"), "False/UnderTarget: 1 of 4 Nodes in service, 3 leaving.");
  EXPECT_EQ(sim.Reason("Capacity"), "QueuedAwaitingCapacity");
  EXPECT_EQ(sim.pool()->status.queued_nodes, 3);
  EXPECT_EQ(sim.holding(), 7);
  sim.OthersLeave();
  sim.Live();
  EXPECT_THAT(sim.machines(), SizeIs(7));
  EXPECT_EQ(sim.pool()->status.queued_nodes, 0);
  sim.ExpectLeft(4);
}

// So it is where the pool holds all that is in service: its own machines come back.
TEST(RiseWhileDraining, WhatIsMissingIsQueuedThoughThePoolHoldsTheWholeZone) {
  Draining sim;
  sim.Retire(96);
  sim.Resize(4);
  sim.Live();
  EXPECT_EQ(sim.Reason("Capacity"), "QueuedAwaitingCapacity");
  EXPECT_THAT(sim.Obstacles(), ::testing::Not(::testing::Contains("NOT_ENOUGH_MACHINES")));
  sim.Resize(5);
  sim.Live();
  EXPECT_EQ(sim.Reason("Capacity"), "Partial");
  sim.Resize(4);
  sim.Live();
  sim.ExpectLeft(4);
}

// What is missing is so whoever gets the machine of the first drain that ends.
TEST(RiseWhileDraining, WhatIsMissingStaysQueuedAsDrainsEnd) {
  Draining sim;
  sim.OthersTake(96);
  sim.Resize(4);
  sim.Live();
  const auto capacity = [&] { return *FindCondition(sim.pool()->status.conditions, "Capacity"); };
  const Condition before = capacity();
  const int64_t told = sim.CountOf("CWInsufficientCapacity");
  sim.stuck.erase("g101");
  while (sim.Pass() | sim.Agents()) {
    sim.OthersTake(96);
    EXPECT_EQ(sim.pool()->status.queued_nodes, 3);
    EXPECT_EQ(capacity().reason, "QueuedAwaitingCapacity");
  }
  EXPECT_THAT(sim.machines(), SizeIs(3));
  EXPECT_EQ(capacity().last_transition_time, before.last_transition_time);
  EXPECT_EQ(sim.CountOf("CWInsufficientCapacity"), told);
}

// What comes for a Node that leaves by a scale-down was asked for early: it is not asked for once
// more when the Node turns out to be ill, and its machine goes to repair.
TEST(RiseWhileDraining, WhoLeavesIllIsNotReplacedTwice) {
  Draining sim;
  for (const std::string& machine : sim.stuck)
    ASSERT_TRUE(sim.Report(machine, Simulation::O::kUnhealthy).ok());
  sim.OthersTake(96);
  sim.Resize(4);
  sim.Live();
  ASSERT_EQ(sim.pool()->account.prefill_nodes, 3);
  sim.stuck.clear();
  for (int i = 0; i < 9 && sim.node("g103")->state != NodeState::kDeleted; ++i) {
    sim.Pass();
    sim.Agents();
  }
  ASSERT_EQ(sim.node("g103")->state, NodeState::kDeleted);
  sim.OthersLeave();
  const int64_t removals = sim.CountOf("CWNodePoolRemoveNodes");
  sim.Live();
  EXPECT_THAT(sim.broken(), SizeIs(3));
  EXPECT_EQ(sim.CountOf("CWNodeAssigned"), 4 + 3);
  EXPECT_EQ(sim.CountOf("CWNodePoolRemoveNodes"), removals);
  sim.ExpectLeft(4);
}

// Nor is it taken for no longer wanted where the catalogue cannot be read meanwhile.
TEST(RiseWhileDraining, WhatIsMissingStaysAskedForWithoutACatalogue) {
  Draining sim;
  sim.OthersTake(96);
  sim.Resize(4);
  sim.Live();
  sim.catalogue.known = false;
  sim.Live();
  ASSERT_EQ(sim.pool()->account.requested_nodes, 7);
  sim.stuck.erase("g101");
  while (sim.Pass() | sim.Agents()) {
    sim.OthersTake(96);
    EXPECT_EQ(sim.pool()->status.queued_nodes, 3);
    EXPECT_GE(sim.pool()->account.requested_nodes, 6);
    EXPECT_GE(sim.holding(), 6);
  }
  EXPECT_THAT(sim.machines(), SizeIs(3));
  EXPECT_EQ(sim.Reason("Capacity"), "QueuedAwaitingCapacity");
}

// What is given back is not asked for by the same request, and what waits keeps its place.
TEST(DemandOf, WhoGivesMachinesBackSaysWhatIsWantedInAll) {
  Running sim(4);
  std::vector<Node> rows;
  for (const Node* node : sim.state().NodesOf(kSimPool)) rows.push_back(*node);
  const auto ask = [&] {
    std::vector<const Node*> nodes;
    for (const Node& row : rows) nodes.push_back(&row);
    return *DemandOf(*sim.pool(), nodes, sim.catalogue).claim;
  };
  EXPECT_EQ(ask().nodes, 4);
  // A broken one comes from repair as another.
  rows[1].state = NodeState::kDeleted;
  rows[1].removal_cause = RemovalCause::kRepair;
  EXPECT_EQ(ask().nodes, 4);
  EXPECT_EQ(ask().wanted_nodes, 0);
  rows[0].state = NodeState::kDeleted;
  EXPECT_THAT(ask().returns, SizeIs(2));
  EXPECT_EQ(ask().nodes, 2);
  EXPECT_EQ(ask().wanted_nodes, 4);
  // Nobody has to come for one that leaves by a scale-down, even if it is broken.
  rows[0].state = NodeState::kProduction;
  rows[1].observed.unhealthy = true;
  rows[1].removal_cause = RemovalCause::kScaleDown;
  EXPECT_EQ(ask().returns[0].reason, MachineReturn::Reason::kBroken);
  EXPECT_EQ(ask().nodes, 3);
}

// A target that is lowered for a Node, while others are queued: as many are asked for until it has
// gone.
TEST(DemandOf, AsksForAsManyWhileOneGoesThatTheTargetWasLoweredFor) {
  Running sim(3);
  sim.OthersTake(97);
  sim.Resize(4);
  ASSERT_TRUE(sim.Converge());
  const auto ask = [&] {
    return DemandOf(*sim.pool(), sim.state().NodesOf(kSimPool), sim.catalogue);
  };
  const Demand before = ask();
  sim.Must(ResizeNodePool{.name = kSimPool, .remove_machines = {"g100"}});
  ASSERT_EQ(sim.pool()->spec.target_nodes, 3);
  EXPECT_EQ(ask().claim->nodes, 4);
  EXPECT_EQ(ask().claim->leaving_nodes, 1);
  EXPECT_GT(ask().claim->generation, before.claim->generation) << "it is not the same request";
  EXPECT_EQ(ask().holding->nodes, before.holding->nodes);
  // Once it has gone its machine is given back by the same request, and is none that leaves.
  Node gone = *sim.node("g100");
  gone.state = NodeState::kDeleted;
  gone.removal_cause = RemovalCause::kScaleDown;
  EXPECT_EQ(DemandOf(*sim.pool(), {&gone}, sim.catalogue).claim->leaving_nodes, 0);
  gone.removal_cause = RemovalCause::kRepair;
  EXPECT_EQ(DemandOf(*sim.pool(), {&gone}, sim.catalogue).claim->leaving_nodes, 1);
}

// Capacity takes so many in one request.
TEST(DemandOf, GivesBackNoMoreThanOneRequestTakes) {
  Running sim(1);
  std::vector<Node> rows(kMaxReturns + 1, Node{.machine = "g100", .state = NodeState::kDeleted});
  std::vector<const Node*> nodes;
  for (const Node& row : rows) nodes.push_back(&row);
  EXPECT_THAT(DemandOf(*sim.pool(), nodes, sim.catalogue).claim->returns, SizeIs(kMaxReturns));
}

// Of a Node older than its grant_time: nothing.
TEST(DemandOf, TellsByWhichGrantANodeHadTheMachineThatItGivesBack) {
  Running sim(2);
  Node broken = *sim.node("g100");
  broken.state = NodeState::kDeliveryFailed;
  ASSERT_NE(broken.grant_time, kNever);
  Node released = *sim.node("g101");
  released.state = NodeState::kDeleted;
  released.grant_time = kNever;
  using R = MachineReturn::Reason;
  EXPECT_THAT(DemandOf(*sim.pool(), {&broken, &released}, sim.catalogue).claim->returns,
              ElementsAre(MachineReturn{"g100", R::kBroken, broken.grant_time},
                          MachineReturn{"g101", R::kReleased, kNever}));
}

// The answer to a return is lost, and the next request is another one: the machine, mended and
// granted anew meanwhile, is no more broken than any.
TEST(MendedMachine, IsNotGivenBackOnceMoreForTheNodeThatItBroke) {
  Simulation sim;
  sim.boot_fails = {"g100"};
  sim.Create(1);
  while (sim.node("g100") == nullptr || sim.node("g100")->state != NodeState::kDeliveryFailed) {
    ASSERT_TRUE(sim.Pass() | sim.Agents());
  }
  sim.OthersTake(99);
  const absl::Time ended = sim.node("g100")->state_time;
  const absl::Time granted = sim.node("g100")->grant_time;
  sim.Pass(/*dies=*/true);
  ASSERT_THAT(sim.broken(), ElementsAre("g100"));
  sim.boot_fails.clear();
  sim.Advance(absl::Hours(1));
  sim.Repair();
  sim.Serve();
  ASSERT_THAT(sim.machines(), ElementsAre("g100"));
  sim.Resize(2);
  sim.Pass();
  EXPECT_THAT(sim.broken(), SizeIs(0));
  ASSERT_THAT(sim.machines(), ElementsAre("g100"));
  ASSERT_NE(sim.node("g100"), nullptr);
  EXPECT_GT(sim.node("g100")->create_time, ended);
  EXPECT_GT(sim.node("g100")->grant_time, granted);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
  EXPECT_TRUE(sim.never_over && sim.fenced && sim.same_twice);
}

// Also where fewer are missing than leave: the claim still holds what leaves.
TEST(RiseWhileDraining, AFewMoreAreAskedForToo) {
  Draining sim;
  sim.Resize(2);
  sim.Live();
  EXPECT_EQ(sim.holding(), 5);
  EXPECT_THAT(sim.machines(), SizeIs(5));
  EXPECT_EQ(sim.pool()->status.queued_nodes, 0);
  sim.ExpectLeft(2);
}

// While more are charged than the target, quota is said of the target.
TEST(RiseWhileDraining, ATargetOverQuotaIsSaidSo) {
  Draining sim;
  sim.limit = 10;
  sim.Resize(4);
  sim.Live();
  EXPECT_EQ(sim.Reason("Quota"), "Under");
  sim.Resize(100);
  sim.Live();
  EXPECT_EQ(sim.Reason("Quota"), "Over");
  EXPECT_EQ(sim.CountOf("CWOverQuota"), 1);
  sim.limit = 4;
  sim.Resize(4);
  sim.Live();
  EXPECT_EQ(sim.Reason("Quota"), "Under");
}

// Where quota does not allow for both, those that drain go first; nobody is told that the target is
// over quota.
TEST(RiseWhileDraining, WithoutQuotaForBothItIsAwaited) {
  Draining sim;
  sim.limit = 4;
  sim.Resize(4);
  sim.Live();
  EXPECT_EQ(sim.Reason("Quota"), "Under");
  EXPECT_EQ(sim.CountOf("CWOverQuota"), 0);
  sim.stuck.clear();
  sim.Live();
  EXPECT_THAT(sim.machines(), SizeIs(4));
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
}

// Nor does what comes early, if it still waits when the target rises, keep a target out that fits.
TEST(RiseWhileDraining, ATargetThatFitsIsAskedForWithoutWhatComesEarly) {
  for (const bool gang : {false, true}) {
    SCOPED_TRACE(gang);
    Draining sim;
    sim.Apply([&](Spec& spec) { spec.gang = gang; });
    sim.Live();
    sim.limit = 10;
    sim.OthersTake(96);
    sim.Resize(4);
    sim.Live();
    ASSERT_EQ(sim.pool()->account.prefill_nodes, 3);
    ASSERT_EQ(sim.holding(), 7);
    sim.Resize(10);
    sim.Live();
    EXPECT_EQ(sim.holding(), 10);
    EXPECT_EQ(sim.pool()->account.requested_nodes, 10);
    EXPECT_EQ(sim.Reason("Quota"), "Under");
    EXPECT_EQ(sim.CountOf("CWOverQuota"), 0);
    sim.OthersLeave();
    sim.Live();
    EXPECT_THAT(sim.machines(), SizeIs(10));
    sim.ExpectLeft(10);
  }
}

// A limit that is raised to the target is enough for it.
TEST(RiseWhileDraining, ALimitRaisedToTheTargetIsEnough) {
  Draining sim;
  sim.limit = 5;
  sim.Resize(10);
  sim.Live();
  EXPECT_EQ(sim.Reason("Quota"), "Over");
  EXPECT_EQ(sim.holding(), 4);
  sim.limit = 10;
  sim.Live();
  EXPECT_EQ(sim.holding(), 10);
  sim.ExpectLeft(10);
}

// A gang stands whole at its first request's place: what comes early is part of that request.
TEST(RiseWhileDraining, AGangAsksOnceForAllThatItIsToHave) {
  Draining sim;
  sim.Apply([](Spec& spec) { spec.gang = true; });
  sim.Live();
  sim.OthersTake(96);
  const auto asked = sim.CountOf("CWNodeRequestQueued");
  sim.Resize(6);
  sim.Live();
  EXPECT_EQ(sim.pool()->account.requested_nodes, 9);
  EXPECT_EQ(sim.CountOf("CWNodeRequestQueued"), asked + 1);
}

// The deadline follows the strategy in force.
TEST(RiseWhileDraining, TheDeadlineOfADrainFollowsTheStrategy) {
  Draining sim;
  ASSERT_EQ(sim.node("g101")->desired.drain_deadline, kNever);
  sim.StopClock();
  sim.Apply([](Spec& spec) { spec.scale_down_strategy = ScaleDownStrategy::kPreferIdle; });
  sim.Pass();
  EXPECT_EQ(sim.node("g101")->desired.drain_deadline, sim.now() + sim.policy.drain_deadline);
  sim.Apply([](Spec& spec) { spec.scale_down_strategy = ScaleDownStrategy::kIdleOnly; });
  sim.Live();
  EXPECT_EQ(sim.node("g101")->desired.drain_deadline, kNever);
}

// Configuration keeps what Nodes run or are to boot, of the profiles that are the pool's.
TEST(DemandOf, NamesWhatNodesRunAndAreToBoot) {
  Running sim(2);
  sim.Stage(kNewerProfile);
  sim.Pass();
  const auto profiles = [&] {
    return DemandOf(*sim.pool(), sim.state().NodesOf(kSimPool), sim.catalogue)
        .configuration->running_profiles;
  };
  EXPECT_THAT(profiles(), ElementsAre(kSimProfile, "np-000000000002"));
  const ReportNode unknown{.node = NodeName(kSimPool, "g100"),
                           .observation = ReportNode::Observation::kRegistered,
                           .node_profile = "np-unknown"};
  ASSERT_TRUE(sim.Run(unknown).ok());
  ASSERT_EQ(sim.node("g100")->observed.node_profile, "np-unknown");
  EXPECT_THAT(profiles(), ElementsAre(kSimProfile, "np-000000000002"));
}

}  // namespace
}  // namespace muster::lifecycle
