#include "services/lifecycle/core/testing/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/conditions.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

std::vector<std::string> Rendered(const Status& status) {
  std::vector<std::string> lines;
  for (const Condition& c : status.conditions) {
    lines.push_back(absl::StrCat(c.type.get(), "=", c.status.get(), "/", c.reason.get(), ": ",
                                 c.message.get()));
  }
  return lines;
}

void ExpectSettled(const Simulation& sim, size_t nodes) {
  EXPECT_THAT(sim.machines(), SizeIs(nodes));
  EXPECT_EQ(sim.NodeMachines(), sim.machines());
  EXPECT_EQ(sim.holding(), static_cast<int64_t>(nodes));
  EXPECT_TRUE(sim.never_over);
  EXPECT_TRUE(sim.same_twice);
  EXPECT_TRUE(sim.fenced);
}

TEST(Simulation, TheExampleBecomesHealthyAsTheReferencePrintsIt) {
  Simulation sim;
  sim.Create(1);
  ASSERT_TRUE(sim.Converge());
  ExpectSettled(sim, 1);
  const Status& status = sim.pool()->status;
  EXPECT_THAT(
      Rendered(status),
      ElementsAre("Validated=True/Valid: NodePool configuration is valid.",
                  "Capacity=True/Sufficient: Sufficient capacity available for the requested "
                  "instance type.",
                  "Quota=True/Under: NodePool is within instance type quota.",
                  "AtTarget=True/TargetMet: NodePool has reached its target node count.",
                  "NodeReconfigurationRequired=False/AllNodesUpToDate: All nodes are on the "
                  "current configuration."));
  EXPECT_EQ(status.current_nodes, 1);
  EXPECT_EQ(status.in_progress, 0);
  EXPECT_EQ(status.queued_nodes, 0);
  EXPECT_EQ(status.node_profile, "np-000000000001");
  EXPECT_THAT(sim.Reasons(),
              ElementsAre("CWNodePoolCreated", "CWNodeRequestQueued", "CWNodeAssigned",
                          "CWNodeRegistered", "CWNodePoolScaledUp"));
}

TEST(Simulation, AConvergedPoolWritesNothing) {
  Simulation sim;
  sim.Create(3);
  ASSERT_TRUE(sim.Converge());
  const int64_t revision = sim.revision();
  sim.Advance(absl::Hours(5));
  EXPECT_FALSE(sim.Pass());
  EXPECT_EQ(sim.revision(), revision);
}

TEST(Simulation, OneNodeDownSaysEachStepOnce) {
  Simulation sim;
  sim.Create(1);
  ASSERT_TRUE(sim.Converge());
  const size_t before = sim.Reasons().size();
  sim.Resize(0);
  ASSERT_TRUE(sim.Converge());
  ExpectSettled(sim, 0);
  std::vector<std::string> reasons = sim.Reasons();
  reasons.erase(reasons.begin(), reasons.begin() + static_cast<std::ptrdiff_t>(before));
  EXPECT_THAT(reasons,
              ElementsAre("CWNodePoolRemoveNodes", "CWNodeDeletionRequestSuccess",
                          "CWNodeMarkedPrepareForTerminate", "CWNodeCordoned", "CWDrainNode",
                          "CWNodeDraining", "CWNodeTainted", "CWNodePreparedForTerminate",
                          "CWNodeDeleted", "CWNodePoolNodesRemoved", "CWNodePoolScaledDown"));
}

TEST(Simulation, DeletedPoolLeavesNothingHeld) {
  Simulation sim;
  sim.Create(4);
  ASSERT_TRUE(sim.Converge());
  sim.SetActive(*sim.machines().begin(), true);
  sim.Delete();
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.pool(), nullptr);
  EXPECT_THAT(sim.machines(), SizeIs(0));
  EXPECT_FALSE(sim.has_holding());
  EXPECT_FALSE(sim.has_claim());
  EXPECT_EQ(sim.CountOf("CWNodePoolDeleted"), 1);
  EXPECT_EQ(sim.CountOf("CWNodeDeleted"), 4);
}

TEST(Simulation, APoolDeletedBeforeItsFirstPassLeavesNothing) {
  Simulation sim;
  sim.Create(4);
  sim.Delete();
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.pool(), nullptr);
  EXPECT_FALSE(sim.has_holding());
}

TEST(Simulation, IdleOnlyKeepsActiveNodesUntilTheyAreIdle) {
  Simulation sim;
  sim.Create(3);
  ASSERT_TRUE(sim.Converge());
  const std::set<std::string> machines = sim.machines();
  for (const std::string& machine : machines) sim.SetActive(machine, true);
  sim.Resize(1);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.NodeMachines(), machines);
  EXPECT_EQ(sim.Reason("AtTarget"), "OverTarget");
  EXPECT_EQ(sim.holding(), 3);

  sim.SetActive(*machines.rbegin(), false);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.NodeMachines(), SizeIs(2));
  EXPECT_FALSE(sim.NodeMachines().contains(*machines.rbegin()));
}

TEST(Simulation, PreferIdleTakesActiveNodesWithADeadline) {
  Simulation sim;
  sim.Create(2, ScaleDownStrategy::kPreferIdle);
  ASSERT_TRUE(sim.Converge());
  for (const std::string& machine : std::set(sim.machines())) sim.SetActive(machine, true);
  sim.Resize(1);
  ASSERT_TRUE(sim.Converge());
  ExpectSettled(sim, 1);
}

TEST(Simulation, ACordonedNodeThatGotWorkIsLetGo) {
  Simulation sim;
  sim.Create(2);
  ASSERT_TRUE(sim.Converge());
  sim.SetActive(*sim.machines().begin(), true);
  sim.Resize(1);
  ASSERT_TRUE(sim.Pass());  // cordons the idle one
  const std::string victim = *sim.machines().rbegin();
  sim.SetActive(victim, true);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.CountOf("CWNodeUncordoned"), 1);
  EXPECT_EQ(sim.CountOf("CWDrainNode"), 0);
  EXPECT_THAT(sim.NodeMachines(), SizeIs(2));
}

TEST(Simulation, ARisingTargetCancelsARemovalBeforeItsDrain) {
  Simulation sim;
  sim.Create(3);
  ASSERT_TRUE(sim.Converge());
  const std::set<std::string> machines = sim.machines();
  sim.Resize(1);
  ASSERT_TRUE(sim.Pass());
  sim.Resize(3);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.machines(), machines);
  EXPECT_EQ(sim.CountOf("CWNodeUncordoned"), 2);
  ExpectSettled(sim, 3);
}

TEST(Simulation, OverQuotaRequestsNothingAndARaisedLimitHeals) {
  Simulation sim;
  sim.limit = 3;
  sim.Create(2);
  ASSERT_TRUE(sim.Converge());
  sim.Resize(5);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Quota"), "Over");
  EXPECT_EQ(FindCondition(sim.pool()->status.conditions, "Quota")->message,
            "NodePool targetNodes pushes you over quota for gd-8xa100-i128 in US-EAST-04A.");
  EXPECT_EQ(sim.Reason("AtTarget"), "UnderTarget");
  EXPECT_THAT(sim.machines(), SizeIs(2));
  EXPECT_EQ(sim.CountOf("CWOverQuota"), 1);
  sim.limit = 5;
  ASSERT_TRUE(sim.Converge());
  ExpectSettled(sim, 5);
  EXPECT_EQ(sim.CountOf("CWOverQuota"), 1);
}

TEST(Simulation, NoQuotaAtAllIsNotSet) {
  Simulation sim;
  sim.limit = 0;
  sim.Create(1);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(FindCondition(sim.pool()->status.conditions, "Quota")->message,
            "Quota not found for instance type gd-8xa100-i128 in zone US-EAST-04A.");
  EXPECT_EQ(sim.CountOf("CWNodePoolQuotaCheckFailed"), 1);
  EXPECT_THAT(sim.machines(), SizeIs(0));
}

TEST(Simulation, TooFewMachinesAreTakenAndTheRestQueued) {
  Simulation sim;
  sim.limit = 1000;
  sim.Create(120);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Capacity"), "Partial");
  EXPECT_EQ(sim.pool()->status.queued_nodes, 20);
  EXPECT_EQ(sim.pool()->status.current_nodes, 100);
  EXPECT_EQ(sim.holding(), 120);
  EXPECT_EQ(sim.CountOf("CWInsufficientCapacity"), 1);
}

TEST(Simulation, UnknownTypeIsInvalidAndAsksForNothing) {
  Simulation sim;
  sim.catalogue = {true, std::nullopt, false, false};
  sim.Create(2);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Validated"), "Invalid");
  EXPECT_EQ(sim.CountOf("CWInvalidInstanceType"), 1);
  EXPECT_EQ(sim.holding(), 0);
  EXPECT_FALSE(sim.has_claim());
  sim.catalogue = Simulation().catalogue;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.NodeMachines(), sim.machines());
  EXPECT_EQ(sim.holding(), 2);
}

TEST(Simulation, APoolThatTurnsInvalidKeepsItsNodes) {
  Simulation sim;
  sim.Create(2);
  ASSERT_TRUE(sim.Converge());
  sim.catalogue.offered = false;
  sim.Resize(6);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.CountOf("CWInstanceTypeNotInZone"), 1);
  EXPECT_THAT(sim.machines(), SizeIs(2));
  EXPECT_EQ(sim.holding(), 2);
}

TEST(Simulation, BootFailuresAreReplacedAndGoToRepair) {
  Simulation sim(7);
  sim.boot_failure = 0.4;
  sim.breaker = 1000;
  sim.Create(10);
  ASSERT_TRUE(sim.Converge());
  ExpectSettled(sim, 10);
  EXPECT_GT(sim.broken().size(), 0U);
  EXPECT_EQ(sim.CountOf("CWNodeDeliverFail"), static_cast<int64_t>(sim.broken().size()));
}

TEST(Simulation, ABootThatNeverEndsTimesOut) {
  Simulation sim;
  sim.Create(1);
  while (sim.Pass()) {
  }
  EXPECT_EQ(sim.last_plan.due, sim.now() + sim.policy.boot_deadline);
  const std::string machine = *sim.machines().begin();
  sim.Advance(sim.policy.boot_deadline);
  ASSERT_TRUE(sim.Pass());
  ASSERT_TRUE(sim.Converge());
  EXPECT_TRUE(sim.broken().contains(machine));
  ExpectSettled(sim, 1);
}

TEST(Simulation, ServicesAwayAreFactsAndThePoolGoesOn) {
  Simulation sim;
  sim.Create(2);
  ASSERT_TRUE(sim.Converge());
  sim.quota_away = sim.capacity_away = sim.configuration_away = true;
  ASSERT_TRUE(sim.Pass());
  EXPECT_FALSE(sim.Pass());
  for (const char* type : {"Quota", "Capacity", "NodeReconfigurationRequired"}) {
    EXPECT_EQ(sim.Reason(type), "InternalError");
    EXPECT_EQ(FindCondition(sim.pool()->status.conditions, type)->status, "Unknown");
  }
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  sim.Resize(4);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.machines(), SizeIs(2));
  sim.quota_away = sim.capacity_away = sim.configuration_away = false;
  ASSERT_TRUE(sim.Converge());
  ExpectSettled(sim, 4);
}

TEST(Simulation, NodesOfAPoolWithoutAProfileWaitForOne) {
  Simulation sim;
  sim.configuration_away = true;
  sim.Create(1);
  ASSERT_TRUE(sim.Converge());
  ASSERT_THAT(sim.machines(), SizeIs(1));
  EXPECT_EQ(sim.state().NodesOf(kSimPool)[0]->desired.phase, Phase::kUndecided);
  sim.configuration_away = false;
  ASSERT_TRUE(sim.Converge());
  ExpectSettled(sim, 1);
}

TEST(Simulation, ThereAndBackAgainEndsWhereItBegan) {
  Simulation sim;
  sim.Create(5);
  ASSERT_TRUE(sim.Converge());
  sim.Resize(2);
  ASSERT_TRUE(sim.Converge());
  ExpectSettled(sim, 2);
  sim.Resize(5);
  ASSERT_TRUE(sim.Converge());
  ExpectSettled(sim, 5);
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
}

// A process that dies between asking and committing, a world that comes and goes, a target that is
// moved at any moment: it always ends with machines held = Nodes = holding, and was never over on
// the way.
TEST(SimulationProperty, ConvergesWhateverHappens) {
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto uniform = [&](int n) {
      return static_cast<int>(random() % static_cast<uint64_t>(n));
    };
    Simulation sim(seed);
    sim.boot_failure = 0.1;
    sim.Create(uniform(8),
               uniform(2) == 0 ? ScaleDownStrategy::kIdleOnly : ScaleDownStrategy::kPreferIdle);
    for (int step = 0; step < 60; ++step) {
      switch (uniform(9)) {
        case 0:
          sim.Resize(uniform(12));
          break;
        case 1:
          sim.Pass(/*dies=*/true);
          break;
        case 2:
          sim.quota_away = uniform(3) == 0;
          sim.capacity_away = uniform(3) == 0;
          sim.configuration_away = uniform(3) == 0;
          break;
        case 3:
          sim.Agents();
          break;
        case 4:
          sim.limit = uniform(15);
          break;
        case 5:
          if (!sim.machines().empty()) sim.SetActive(*sim.machines().begin(), uniform(2) == 0);
          break;
        case 6:
          sim.Serve();
          sim.catalogue.offered = uniform(8) != 0;
          sim.Advance(absl::Seconds(uniform(5)));
          break;
        default:
          sim.Pass();
      }
    }
    sim.quota_away = sim.capacity_away = sim.configuration_away = false;
    sim.breaker = 1000;
    sim.Enable(kSimProfile);
    sim.limit = 50;
    sim.catalogue.offered = true;
    for (const std::string& machine : sim.NodeMachines()) sim.SetActive(machine, false);
    ASSERT_TRUE(sim.Converge());
    ExpectSettled(sim, static_cast<size_t>(sim.pool()->spec.target_nodes));
    EXPECT_EQ(sim.CountOf("CWNodeAssigned") - sim.CountOf("CWNodeDeleted") -
                  sim.CountOf("CWNodeDeliverFail"),
              sim.pool()->spec.target_nodes);
    const int64_t revision = sim.revision();
    EXPECT_FALSE(sim.Pass());
    EXPECT_EQ(sim.revision(), revision);
    sim.Delete();
    ASSERT_TRUE(sim.Converge());
    EXPECT_EQ(sim.pool(), nullptr);
    EXPECT_TRUE(sim.machines().empty());
    EXPECT_FALSE(sim.has_holding());
    if (HasFailure()) return;
  }
}

TEST(SimulationProperty, IdleOnlyNeverTakesAnActiveNode) {
  int drains = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Simulation sim(seed);
    sim.Create(8);
    ASSERT_TRUE(sim.Converge());
    for (int step = 0; step < 40; ++step) {
      for (const std::string& machine : sim.NodeMachines()) {
        if (random() % 4 == 0) sim.SetActive(machine, random() % 2 == 0);
      }
      if (random() % 5 == 0) sim.Resize(static_cast<int64_t>(random() % 10));
      sim.Pass();
      for (const Action& action : sim.last_plan.actions) {
        const auto* step_node = std::get_if<StepNode>(&action);
        if (step_node == nullptr || step_node->event != NodeEvent::kDrain) continue;
        ++drains;
        EXPECT_FALSE(sim.state().table<Node>().Find(step_node->node)->observed.active);
      }
      if (random() % 2 == 0) sim.Agents();
      sim.Advance(absl::Seconds(1));
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(drains, 1'000);
}

}  // namespace
}  // namespace muster::lifecycle
