#include "services/lifecycle/core/actions.h"

#include <gtest/gtest.h>

#include <tuple>

#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/testing/decide.h"

namespace muster::lifecycle {
namespace {

constexpr absl::Time kCarriedOutTime = absl::FromUnixSeconds(100);

class ActionsTest : public ::testing::Test {
 protected:
  // What does not fit is refused and changes nothing.
  template <class A>
  void ExpectRefused(Node node, const A& action) {
    const Node before = node;
    EXPECT_EQ(ReasonOf(CarryOut(node, pool_, action, kCarriedOutTime)), "NODE_STATE");
    EXPECT_EQ(node, before);
  }
  Node In(NodeState state) const {
    Node node = NodeOf(pool_, AssignNode{"g1", "r1", "np-1", true}, absl::FromUnixSeconds(1));
    node.state = state;
    return node;
  }

  const Pool pool_{.name = kSimPool, .uid = "uid-1", .zone = "US-EAST-04A"};
};

const absl::Time kAsked = kCarriedOutTime - absl::Minutes(5);
const absl::Time kGranted = kCarriedOutTime - absl::Minutes(1);

TEST_F(ActionsTest, ANodeIsAssignedAndBootsIfItsProfileIsKnown) {
  const Node node =
      NodeOf(pool_, AssignNode{"g1", "r1", "np-1", true, "", kAsked, kGranted}, kCarriedOutTime);
  EXPECT_EQ(node.name, NodeName(kSimPool, "g1"));
  EXPECT_EQ(node.rack, "r1");
  EXPECT_EQ(node.request_time, kAsked);
  EXPECT_EQ(node.grant_time, kGranted);
  EXPECT_EQ(node.pool_uid, "uid-1");
  EXPECT_EQ(node.state, NodeState::kAssigned);
  EXPECT_EQ(node.desired.phase, Phase::kRunning);
  EXPECT_EQ(node.desired.node_profile, "np-1");
  EXPECT_EQ(NodeOf(pool_, AssignNode{"g1", "r1", "", true}, kCarriedOutTime).desired.phase,
            Phase::kUndecided);
}

TEST_F(ActionsTest, ANodeIsToldToBootOnce) {
  Node node = NodeOf(pool_, AssignNode{"g1", "", "", false}, kCarriedOutTime);
  ASSERT_TRUE(CarryOut(node, pool_, OrderBoot{node.name, "np-1"}, kCarriedOutTime).ok());
  EXPECT_EQ(node.desired.node_profile, "np-1");
  ExpectRefused(node, OrderBoot{node.name, "np-2"});
}

TEST_F(ActionsTest, OnlyADrainIsForcedOrBegunAnew) {
  Node node = In(NodeState::kCordoned);
  ExpectRefused(node, ForceDrain{node.name});
  ExpectRefused(node, RestartDrain{node.name});
  ASSERT_TRUE(CarryOut(node, pool_, StepNode{node.name, NodeEvent::kDrain}, kCarriedOutTime).ok());
  ASSERT_TRUE(CarryOut(node, pool_, ForceDrain{node.name}, kCarriedOutTime).ok());
  EXPECT_TRUE(node.desired.force_drain);
  ASSERT_TRUE(
      CarryOut(node, pool_, RestartDrain{node.name}, kCarriedOutTime + absl::Seconds(9)).ok());
  EXPECT_TRUE(node.desired.force_drain) << "whose time had passed";
  EXPECT_EQ(node.desired.drain_time, kCarriedOutTime + absl::Seconds(9));
}

TEST_F(ActionsTest, OnlyANodeThatIsUpIsChosenForAReboot) {
  for (int s = 0; s < kNodeStates; ++s) {
    const auto state = static_cast<NodeState>(s);
    if (IsUp(state)) continue;
    ExpectRefused(In(state), ChooseForReboot{"", true});
    ExpectRefused(In(state), DrainInPlace{"", kCarriedOutTime});
  }
  Node node = In(NodeState::kProduction);
  ASSERT_TRUE(CarryOut(node, pool_, ChooseForReboot{node.name, true, true, kCarriedOutTime},
                       kCarriedOutTime)
                  .ok());
  EXPECT_EQ(node.reconfigure_time, kCarriedOutTime);
  EXPECT_TRUE(node.desired.cordoned && node.desired.drain);
  ASSERT_TRUE(CarryOut(node, pool_, ChooseForReboot{node.name, false}, kCarriedOutTime).ok());
  EXPECT_EQ(node.reconfigure_time, kNever);
  EXPECT_FALSE(node.desired.cordoned || node.desired.drain);
}

TEST_F(ActionsTest, APreemptionTakesOverARemovalThatHadBegun) {
  Node node = In(NodeState::kProduction);
  ASSERT_TRUE(
      CarryOut(node, pool_, SetPreemption{node.name, kCarriedOutTime}, kCarriedOutTime).ok());
  EXPECT_EQ(node.removal_cause, RemovalCause::kNone);
  node.removal_cause = RemovalCause::kScaleDown;
  ASSERT_TRUE(
      CarryOut(node, pool_, SetPreemption{node.name, kCarriedOutTime}, kCarriedOutTime).ok());
  EXPECT_EQ(node.removal_cause, RemovalCause::kPreemption);
  EXPECT_EQ(node.preempt_time, kCarriedOutTime);
}

// One that may still be let stay once it is healthy is preempted as any other.
TEST_F(ActionsTest, APreemptionTakesNothingFromRepair) {
  for (const auto& [state, relapses, expected] :
       {std::tuple(NodeState::kCordoned, 0, RemovalCause::kPreemption),
        std::tuple(NodeState::kCordoned, 1, RemovalCause::kRepair),
        std::tuple(NodeState::kDraining, 0, RemovalCause::kRepair)}) {
    SCOPED_TRACE(NodeStateName(state));
    Node node = In(state);
    node.removal_cause = RemovalCause::kRepair;
    node.observed.relapses = relapses;
    ASSERT_TRUE(
        CarryOut(node, pool_, SetPreemption{node.name, kCarriedOutTime}, kCarriedOutTime).ok());
    EXPECT_EQ(node.removal_cause, expected);
    EXPECT_EQ(node.preempt_time, kCarriedOutTime);
  }
}

// Nor from what goes on when it is taken back: a drain, and an operator's reservation.
TEST_F(ActionsTest, APreemptionTakesNothingFromWhatGoesOnWithoutIt) {
  for (const auto& [state, cause, reserved, expected] :
       {std::tuple(NodeState::kDraining, RemovalCause::kScaleDown, "", RemovalCause::kScaleDown),
        std::tuple(NodeState::kCordoned, RemovalCause::kReservation, kControlPlane,
                   RemovalCause::kReservation),
        std::tuple(NodeState::kCordoned, RemovalCause::kReservation, "",
                   RemovalCause::kPreemption)}) {
    SCOPED_TRACE(NodeStateName(state));
    Node node = In(state);
    node.removal_cause = cause;
    node.reserved_desired = reserved;
    ASSERT_TRUE(
        CarryOut(node, pool_, SetPreemption{node.name, kCarriedOutTime}, kCarriedOutTime).ok());
    EXPECT_EQ(node.removal_cause, expected);
    ASSERT_TRUE(CarryOut(node, pool_, SetPreemption{node.name, kNever}, kCarriedOutTime).ok());
    EXPECT_EQ(node.removal_cause, expected);
  }
}

TEST_F(ActionsTest, WhatCouldNotBeStagedIsForgottenWithTheNextProfile) {
  Node node = In(NodeState::kProduction);
  node.observed.staging_error = "no space";
  ASSERT_TRUE(CarryOut(node, pool_, StageProfile{node.name, "np-2"}, kCarriedOutTime).ok());
  EXPECT_EQ(node.desired.node_profile, "np-2");
  EXPECT_EQ(node.observed.staging_error, "");
}

}  // namespace
}  // namespace muster::lifecycle
