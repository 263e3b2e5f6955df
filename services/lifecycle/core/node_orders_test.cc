// What is ordered of single Nodes, and what holds at once: cordons, and the end of all orders.
#include "services/lifecycle/core/node_orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/testing/orders.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Verb = OrderNode::Verb;

// The sentence of CordonNode: "No new work starts on the Node from now on; what runs there goes on.
// It stays in its NodePool, counts as one of its Nodes, and no budget is asked."
TEST(NodeOrders, ACordonHoldsAtOnceAndTheNodeStays) {
  Ordered sim([](Spec& spec) { spec.max_unavailable = "1"; });
  sim.SetActive("g100", true);
  ASSERT_TRUE(sim.Order("g100", Verb::kCordon).ok());
  ASSERT_TRUE(sim.Order("g101", Verb::kCordon).ok());
  EXPECT_TRUE(sim.desired("g100").cordoned);
  EXPECT_TRUE(sim.desired("g101").cordoned);
  const size_t told = sim.told().size();
  sim.Live();
  EXPECT_THAT(sim.ReasonsSince(told), IsEmpty());
  EXPECT_EQ(sim.state_of("g100"), NodeState::kProduction);
  EXPECT_FALSE(sim.desired("g100").drain);
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  EXPECT_EQ(sim.pool()->status.current_nodes, 3);
  EXPECT_THAT(sim.ObstacleTexts(),
              Contains(HasSubstr("CORDON_ORDERED user: Node g100 takes no new work")));
}

TEST(NodeOrders, WhatWasOrderedFirstSaysSinceWhen) {
  Ordered sim;
  ASSERT_TRUE(sim.Order("g100", Verb::kCordon).ok());
  const absl::Time since = sim.node("g100")->orders.cordon_time;
  const int64_t revision = sim.revision();
  sim.Advance(absl::Hours(1));
  ASSERT_TRUE(sim.Order("g100", Verb::kCordon).ok());
  EXPECT_EQ(sim.revision(), revision);  // as it is
  ASSERT_TRUE(sim.Order("g100", Verb::kDrain).ok());
  EXPECT_EQ(sim.node("g100")->orders.cordon_time, since);
  EXPECT_EQ(sim.node("g100")->orders.drain_time, sim.now());
}

TEST(NodeOrders, ANodeThatComesUpIsCordonedFromTheStart) {
  Simulation sim;
  sim.Create(1);
  while (sim.node("g100") == nullptr) sim.Pass();
  ASSERT_EQ(sim.node("g100")->state, NodeState::kAssigned);
  ASSERT_TRUE(sim.Run(OrderNode{.name = NodeName(kSimPool, "g100"), .verb = Verb::kCordon}).ok());
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
  EXPECT_TRUE(sim.node("g100")->desired.cordoned);
}

TEST(NodeOrders, AreTakenBackUntilTheRebootBegins) {
  Ordered sim;
  sim.SetActive("g100", true);
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kDrained).ok());
  sim.Pass();
  ASSERT_TRUE(sim.Order("g100", Verb::kUncordon).ok());
  EXPECT_FALSE(sim.desired("g100").cordoned);
  EXPECT_FALSE(sim.desired("g100").drain);
  EXPECT_EQ(sim.node("g100")->reconfigure_time, kNever);
  sim.SetActive("g100", false);
  sim.Live();
  EXPECT_EQ(sim.state_of("g100"), NodeState::kProduction);
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kForced).ok());
  sim.Pass();
  ASSERT_TRUE(sim.Order("g100", Verb::kUncordon).ok());
  EXPECT_TRUE(sim.Reboots("g100"));  // one that began goes on
}

// The cordon of a pool's reconfiguration is not the order's to take.
TEST(NodeOrders, UncordonLeavesWhatAReconfigurationChose) {
  Ordered sim;
  sim.SetActive("g100", true);
  sim.Stage(kNewerProfile);
  sim.Live();
  sim.Must(ReconfigureNodePool{.name = kSimPool, .machines = {"g100"}});
  sim.Pass();
  ASSERT_TRUE(sim.desired("g100").cordoned);
  ASSERT_TRUE(sim.Order("g100", Verb::kCordon).ok());
  ASSERT_TRUE(sim.Order("g100", Verb::kUncordon).ok());
  EXPECT_TRUE(sim.desired("g100").cordoned);
  EXPECT_NE(sim.node("g100")->reconfigure_time, kNever);
  ASSERT_TRUE(sim.Order("g100", Verb::kDrain).ok());
  sim.Pass();
  ASSERT_TRUE(sim.desired("g100").drain);
  ASSERT_TRUE(sim.Order("g100", Verb::kUncordon).ok());
  EXPECT_FALSE(sim.desired("g100").drain);
  sim.Pass();
  EXPECT_TRUE(sim.desired("g100").cordoned);  // it is chosen again
}

}  // namespace
}  // namespace muster::lifecycle
