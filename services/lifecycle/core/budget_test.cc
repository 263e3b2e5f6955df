#include "services/lifecycle/core/budget.h"

#include <gtest/gtest.h>

#include <vector>

#include "services/lifecycle/core/node_machine.h"

namespace muster::lifecycle {
namespace {

TEST(Budget, NodesThatAreGoneAlreadyAreNoPartOfAPercentage) {
  std::vector<Node> nodes(8, Node{.state = NodeState::kProduction});
  for (size_t i = 5; i < 8; ++i) nodes[i].state = NodeState::kDeleted;
  std::vector<const Node*> all;
  for (const Node& node : nodes) all.push_back(&node);
  EXPECT_EQ(Budget("25%", 2, all).limit(), 1);
  EXPECT_EQ(Budget("25%", 8, all).limit(), 2);
  EXPECT_EQ(Budget("25%", 2, all, 3).limit(), 2) << "others are there";
}

// Its reboot is given up, but it is as little in service as before.
TEST(Budget, AReplacedNodeThatWasRebootingIsOutOfServiceStill) {
  const absl::Time now = absl::UnixEpoch();
  const auto ends = [&](NodeState state) {
    Node node{.state = state};
    if (state == NodeState::kProduction) {
      EXPECT_TRUE(Step(node, NodeEvent::kReconfigure, now).ok());
      EXPECT_STREQ(TakenFor(node), "reconfigure");
    }
    EXPECT_TRUE(Step(node, NodeEvent::kAbort, now).ok());
    node.removal_cause = RemovalCause::kRepair;
    return TakenFor(node);
  };
  EXPECT_STREQ(ends(NodeState::kProduction), "repair");
  EXPECT_STREQ(ends(NodeState::kBooting), nullptr) << "it never was in service";
}

TEST(Budget, SaysWhoUsesItNow) {
  Budget budget("2", 1, {}, 3);
  EXPECT_TRUE(budget.Spend("g1", "repair"));
  budget.FallIll("g2");
  budget.FallIll("g1");
  EXPECT_FALSE(budget.Spend("g3", "scale-down"));
  EXPECT_EQ(budget.Denial(),
            "maxUnavailable 2 (2 of 3 Nodes) is used up by g1 (repair), g2 (unhealthy)");
  EXPECT_TRUE(budget.Spend("g2", "repair")) << "it is out of service already";
  EXPECT_EQ(budget.Denial(),
            "maxUnavailable 2 (2 of 3 Nodes) is used up by g1 (repair), g2 (repair)");
  budget.FallIll("g4");
  EXPECT_FALSE(budget.Spend("g4", "repair")) << "those that were taken are too many";
  EXPECT_EQ(
      budget.Denial(),
      "maxUnavailable 2 (2 of 3 Nodes) is used up by g1 (repair), g2 (repair), g4 (unhealthy)");
}

// Deletion and preemption are not voluntary, and who never was in service is no loss.
TEST(Budget, CountsWhatIsTakenFromThePoolOfItsOwnAccord) {
  using S = NodeState;
  using R = RemovalCause;
  const auto leaving = [](S state, R cause) {
    Node node{.state = state, .removal_cause = cause};
    node.desired.drain = state != S::kCordoned;
    return node;
  };
  for (const S state : {S::kCordoned, S::kDraining, S::kPreparedForTerminate}) {
    EXPECT_STREQ(DisruptionOf(leaving(state, R::kScaleDown)), "scale-down");
    EXPECT_STREQ(DisruptionOf(leaving(state, R::kRepair)), "repair");
    EXPECT_STREQ(DisruptionOf(leaving(state, R::kReservation)), "reservation");
    EXPECT_EQ(DisruptionOf(leaving(state, R::kDeletion)), nullptr);
    EXPECT_EQ(DisruptionOf(leaving(state, R::kPreemption)), nullptr);
  }
  Node node = leaving(S::kPreparedForTerminate, R::kScaleDown);
  node.desired.drain = false;
  EXPECT_EQ(DisruptionOf(node), nullptr) << "it was aborted while it booted";

  node = {.state = S::kProduction};
  EXPECT_EQ(DisruptionOf(node), nullptr);
  node.desired.drain = true;
  EXPECT_STREQ(DisruptionOf(node), "drain");
  node.reconfigure_time = absl::UnixEpoch();
  EXPECT_STREQ(DisruptionOf(node), "reconfigure");
  node.orders.reboot = Reboot::kWhenIdle;
  EXPECT_STREQ(DisruptionOf(node), "reboot");

  node = {.state = S::kTriage};
  EXPECT_STREQ(DisruptionOf(node), "unhealthy");
  for (const S state : {S::kProduction, S::kBooting, S::kDraining}) {
    node = {.state = state};
    node.observed.unhealthy = true;
    EXPECT_EQ(DisruptionOf(node) != nullptr, state == S::kProduction);
  }
}

}  // namespace
}  // namespace muster::lifecycle
