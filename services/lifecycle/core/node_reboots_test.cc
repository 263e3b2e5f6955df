// Reboots that are ordered of single Nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "services/lifecycle/core/testing/orders.h"
#include "tests/testing/status_matchers.h"

namespace muster::lifecycle {
namespace {

using ::muster::testing::HasReason;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Verb = OrderNode::Verb;

TEST(NodeOrders, AnIdleNodeRebootsIntoTheActiveConfiguration) {
  Ordered sim;
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kWhenIdle).ok());
  sim.Pass();
  EXPECT_TRUE(sim.desired("g100").cordoned);
  EXPECT_FALSE(sim.Reboots("g100"));  // work may be on its way
  sim.Settle();
  EXPECT_TRUE(sim.Reboots("g100"));
  EXPECT_EQ(sim.node("g100")->orders, NodeOrders());
  const size_t from = sim.told().size();
  sim.Live();
  EXPECT_EQ(sim.state_of("g100"), NodeState::kProduction);
  EXPECT_EQ(sim.node("g100")->observed.node_profile, kSimProfile);
  EXPECT_FALSE(sim.desired("g100").cordoned);
  EXPECT_THAT(sim.ReasonsSince(from, "g100"), Contains("CWReconfigureRebooted"));
}

TEST(NodeOrders, AWorkingNodeRebootsOnceItIsIdle) {
  Ordered sim;
  sim.SetActive("g100", true);
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kWhenIdle).ok());
  sim.Live();
  EXPECT_EQ(sim.state_of("g100"), NodeState::kProduction);
  EXPECT_TRUE(sim.desired("g100").cordoned);
  EXPECT_FALSE(sim.desired("g100").drain);
  EXPECT_THAT(sim.ObstacleTexts(),
              Contains("WAITS_UNTIL_IDLE user: Node g100 is rebooted once it is idle."));
  sim.SetActive("g100", false);
  sim.Settle();
  EXPECT_TRUE(sim.Reboots("g100"));
}

TEST(NodeOrders, AWorkingNodeIsDrainedFirst) {
  Ordered sim;
  sim.SetActive("g100", true);
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kWhenIdle).ok());
  sim.Pass();
  EXPECT_FALSE(sim.desired("g100").drain);
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kDrained).ok());  // takes the place of the one before
  sim.Pass();
  EXPECT_TRUE(sim.desired("g100").drain);
  EXPECT_EQ(sim.state_of("g100"), NodeState::kProduction);
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kWhenIdle).ok());  // and back: its work may stay
  sim.Pass();
  EXPECT_FALSE(sim.desired("g100").drain);
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kDrained).ok());
  sim.Pass();
  sim.Agents();
  sim.Settle();
  EXPECT_TRUE(sim.Reboots("g100"));
  sim.Live();
  EXPECT_FALSE(sim.desired("g100").drain);
  EXPECT_FALSE(sim.desired("g100").cordoned);
}

TEST(NodeOrders, RebootsKeepToTheBudgetUnlessTheyAreForced) {
  Ordered sim([](Spec& spec) { spec.max_unavailable = "1"; });
  sim.SetActive("g101", true);
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kWhenIdle).ok());
  ASSERT_TRUE(sim.Reboot("g101", Reboot::kDrained).ok());
  sim.Settle();
  EXPECT_TRUE(sim.Reboots("g100"));
  EXPECT_FALSE(sim.desired("g101").cordoned);
  EXPECT_THAT(sim.ObstacleTexts(), Contains(HasSubstr("Node g101 waits (reboot)")));
  ASSERT_TRUE(sim.Reboot("g101", Reboot::kForced).ok());
  sim.Pass();
  EXPECT_TRUE(sim.Reboots("g101"));
  EXPECT_TRUE(sim.desired("g101").cordoned);
}

// Neither is it replaced meanwhile, nor is it as ill as before when it is back.
TEST(NodeOrders, AnUnhealthyNodeCanBeRebooted) {
  Ordered sim;
  ASSERT_TRUE(sim.Report("g100", Simulation::O::kUnhealthy, "fan").ok());
  sim.Pass();
  ASSERT_EQ(sim.state_of("g100"), NodeState::kTriage);
  sim.SetActive("g100", true);
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kDrained).ok());
  sim.Pass();
  EXPECT_TRUE(sim.desired("g100").drain);
  sim.Advance(sim.policy.triage_grace);
  sim.SetActive("g100", false);
  sim.Settle();
  EXPECT_TRUE(sim.Reboots("g100"));
  sim.Live();
  EXPECT_EQ(sim.state_of("g100"), NodeState::kProduction);
  EXPECT_FALSE(sim.node("g100")->observed.unhealthy);
  EXPECT_EQ(sim.node("g100")->removal_cause, RemovalCause::kNone);
}

void FailToRebootASickNode(Ordered& sim) {
  ASSERT_TRUE(sim.Report("g100", Simulation::O::kUnhealthy, "fan").ok());
  sim.Pass();
  sim.boot_fails.insert("g100");
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kForced).ok());
  sim.Pass();
  ASSERT_TRUE(sim.Reboots("g100"));
  sim.Live();
  EXPECT_EQ(sim.CountOf("CWNodeBootFailed"), 1);
}

// What a reboot of a sick Node comes to says nothing of its configuration, nor of other reboots.
TEST(NodeOrders, AFailedRebootOfASickNodeHaltsNoReconfigurationOfAll) {
  Ordered sim;
  sim.Stage(kNewerProfile);
  sim.Live();
  sim.SetActive("g101", true);
  sim.busy.insert("g101");
  sim.Must(ReconfigureNodePool{.name = kSimPool});
  FailToRebootASickNode(sim);
  EXPECT_THAT(sim.pool()->reconfiguration->failed_machines, IsEmpty());
  EXPECT_NE(sim.pool()->reconfiguration->state, Reconfiguration::State::kHalted);
}

TEST(NodeOrders, AFailedRebootOfASickNodeIsNobodyElses) {
  Ordered sim;
  sim.Stage(kNewerProfile);
  sim.Live();
  sim.SetActive("g101", true);
  sim.Must(ReconfigureNodePool{.name = kSimPool, .machines = {"g101"}});
  FailToRebootASickNode(sim);
  EXPECT_THAT(sim.pool()->account.boot_failures.machines, IsEmpty());
  EXPECT_THAT(sim.pool()->reconfiguration->failed_machines, IsEmpty());
}

// It is out of service already: its own drain does not keep it.
TEST(NodeOrders, ADrainedNodeIsReconfigured) {
  Ordered sim;
  sim.Stage(kNewerProfile);
  sim.Live();
  ASSERT_TRUE(sim.Order("g100", Verb::kDrain).ok());
  sim.Live();
  sim.Must(ReconfigureNodePool{.name = kSimPool, .machines = {"g100"}});
  sim.Live();
  EXPECT_EQ(sim.node("g100")->observed.node_profile, "np-000000000002");
  EXPECT_TRUE(sim.desired("g100").cordoned);
}

// Nor does it keep others from theirs for longer than its own takes.
TEST(NodeOrders, ADrainedNodeIsReconfiguredBeforeOthers) {
  Ordered sim;
  sim.Stage(kNewerProfile);
  sim.Live();
  ASSERT_TRUE(sim.Order("g102", Verb::kDrain).ok());
  sim.Live();
  sim.Must(ReconfigureNodePool{.name = kSimPool});
  sim.Live();
  EXPECT_EQ(sim.node("g102")->observed.node_profile, "np-000000000002");
}

// Whose agent tells no boots could not tell that it rebooted.
TEST(NodeOrders, ANodeWhoseBootIsNotKnownIsRebootedIntoAnotherConfigurationOnly) {
  Ordered sim;
  Snapshot snapshot = sim.Look();
  Node quiet = *sim.node("g100");
  quiet.observed.boot_id.clear();
  quiet.orders.reboot = Reboot::kForced;
  snapshot.nodes[0] = &quiet;
  const auto reboots = [&] {
    const PoolPlan plan = Plan(snapshot);
    return std::any_of(plan.actions.begin(), plan.actions.end(), [](const Action& action) {
      return std::holds_alternative<StepNode>(action);
    });
  };
  EXPECT_FALSE(reboots());
  quiet.observed.node_profile = "np-000000000000";
  EXPECT_TRUE(reboots());
}

TEST(NodeOrders, AReservationIsNotHeldUpByAReboot) {
  Ordered sim;
  sim.SetActive("g100", true);
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kWhenIdle).ok());
  sim.Pass();
  sim.Must(UpdateNode{.name = NodeName(kSimPool, "g100"), .reserved_desired = kControlPlane});
  sim.Pass();
  EXPECT_EQ(sim.state_of("g100"), NodeState::kCordoned);
}

// A reboot of a Node that is on the active configuration ends as that of any other: by its agent's
// word, not by what was known before.
TEST(NodeOrders, ARebootEndsWhenTheNodeIsBack) {
  Ordered sim;
  const std::string name = NodeName(kSimPool, "g100");
  const auto registered = [&](const std::string& boot_id) {
    return sim
        .Run(ReportNode{.node = name,
                        .observation = Simulation::O::kRegistered,
                        .node_profile = kSimProfile,
                        .boot_id = boot_id})
        .status();
  };
  ASSERT_TRUE(registered("boot-1").ok());
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kForced).ok());
  sim.Pass();
  EXPECT_THAT(sim.Report("g100", Simulation::O::kReady), HasReason("NODE_STATE"));
  EXPECT_THAT(registered("boot-1"), HasReason("NODE_STATE"));
  EXPECT_THAT(sim.Report("g100", Simulation::O::kReady), HasReason("NODE_STATE"));
  EXPECT_TRUE(registered("boot-2").ok());
  EXPECT_EQ(sim.node("g100")->observed.boot_id, "boot-2");
  EXPECT_TRUE(registered("boot-2").ok());  // the answer was lost
  EXPECT_TRUE(sim.Report("g100", Simulation::O::kReady).ok());
  EXPECT_EQ(sim.state_of("g100"), NodeState::kProduction);
}

// Else what its kubelet said before the reboot would pass for the word of the new boot.
TEST(NodeOrders, ABootThatIsToldWithoutAnIdIsNotTheOneBefore) {
  Ordered sim;
  const auto registered = [&](const std::string& boot_id) {
    return sim
        .Run(ReportNode{.node = NodeName(kSimPool, "g100"),
                        .observation = Simulation::O::kRegistered,
                        .node_profile = kSimProfile,
                        .boot_id = boot_id})
        .status();
  };
  ASSERT_TRUE(registered("boot-1").ok());
  ASSERT_TRUE(registered("").ok());
  EXPECT_EQ(sim.node("g100")->observed.boot_id, "boot-1") << "it need not have booted";
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kForced).ok());
  sim.Pass();
  ASSERT_EQ(sim.state_of("g100"), NodeState::kReconfiguring);
  ASSERT_TRUE(registered("").ok());
  EXPECT_EQ(sim.node("g100")->observed.boot_time, sim.now());
  EXPECT_EQ(sim.node("g100")->observed.boot_id, "");
  EXPECT_TRUE(registered("boot-2").ok());
  EXPECT_EQ(sim.node("g100")->observed.boot_id, "boot-2");
}

TEST(NodeOrders, ARebootIntoADisabledConfigurationIsOneIntoItsOwn) {
  Ordered sim;
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kForced).ok());
  const auto boots_into = [&](std::initializer_list<const char*> disabled) {
    Snapshot snapshot = sim.Look();
    snapshot.answers.configuration.value.active = "np-000000000009";
    snapshot.answers.configuration.value.revisions.clear();
    for (const char* profile : disabled) {
      NodeConfiguration revision;
      revision.node_profile = profile;
      revision.disabled = true;
      snapshot.answers.configuration.value.revisions.push_back(revision);
    }
    for (const Action& action : Plan(snapshot).actions) {
      if (const auto* step = std::get_if<StepNode>(&action)) return step->node_profile;
    }
    return std::string("none");
  };
  EXPECT_EQ(boots_into({}), "np-000000000009");
  EXPECT_EQ(boots_into({"np-000000000009"}), kSimProfile);
  EXPECT_EQ(boots_into({"np-000000000009", kSimProfile}), "none");
}

}  // namespace
}  // namespace muster::lifecycle
