// Orders to single Nodes as commands: what is told of them, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/etag.h"
#include "services/lifecycle/core/testing/orders.h"
#include "tests/testing/status_matchers.h"

namespace muster::lifecycle {
namespace {

using ::muster::testing::HasReason;
using ::testing::ElementsAre;
using Verb = OrderNode::Verb;

TEST(NodeOrders, EachIsToldOnTheNode) {
  Ordered sim;
  const size_t from = sim.told().size();
  ASSERT_TRUE(sim.Order("g100", Verb::kCordon).ok());
  EXPECT_THAT(sim.ReasonsSince(from, "g100"), ElementsAre("CWNodeOrdered", "CWNodeCordoned"));
  const size_t then = sim.told().size();
  ASSERT_TRUE(sim.Order("g100", Verb::kUncordon).ok());
  EXPECT_THAT(sim.ReasonsSince(then, "g100"), ElementsAre("CWNodeOrdered", "CWNodeUncordoned"));
  EXPECT_EQ(sim.told()[from].message, "Node g100 is ordered to take no new work.");
  EXPECT_EQ(sim.told()[then].message, "Node g100 is under no orders any more.");
}

TEST(NodeOrders, FitWhatTheNodeIs) {
  Ordered sim;
  EXPECT_THAT(sim.Order("g999", Verb::kCordon), HasReason("NOT_FOUND"));
  const std::string before = EtagOf(*sim.node("g101"));
  ASSERT_TRUE(sim.Order("g101", Verb::kDrain).ok());
  EXPECT_NE(EtagOf(*sim.node("g101")), before);
  ASSERT_TRUE(sim.Order("g101", Verb::kUncordon).ok());
  EXPECT_EQ(EtagOf(*sim.node("g101")), before);
  EXPECT_THAT(
      sim.Run(OrderNode{.name = NodeName(kSimPool, "g100"), .etag = "x", .verb = Verb::kCordon})
          .status(),
      HasReason("ETAG_MISMATCH"));
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kForced).ok());
  sim.Pass();
  EXPECT_THAT(sim.Reboot("g100", Reboot::kForced), HasReason("NODE_STATE"));
  EXPECT_TRUE(sim.Order("g100", Verb::kCordon).ok());
  sim.SetActive("g101", true);
  sim.Delete();
  EXPECT_THAT(sim.Reboot("g101", Reboot::kForced), HasReason("POOL_DELETING"));
  while (sim.state_of("g101") != NodeState::kDraining) {
    sim.Advance(sim.policy.cordon_settle);
    sim.Pass();
  }
  EXPECT_THAT(sim.Order("g101", Verb::kDrain), HasReason("NODE_STATE"));
  EXPECT_TRUE(sim.Order("g101", Verb::kUncordon).ok());  // there is nothing to take back
  EXPECT_TRUE(sim.desired("g101").drain);
}

}  // namespace
}  // namespace muster::lifecycle
