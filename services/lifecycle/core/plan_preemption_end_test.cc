// Preemptions that are taken back, or overtaken by another cause.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using O = ReportNode::Observation;

// Nobody needs its machine: its drain goes on as it was, with evictions and the deadline that it
// had.
TEST(Preemption, TakenBackADrainForAnotherCauseIsThatAgain) {
  SpotPool sim;
  sim.DrainForScaleDown();
  ASSERT_EQ(sim.node("g100")->state, NodeState::kDraining);
  const absl::Time since = sim.node("g100")->desired.drain_time;
  const absl::Time deadline = sim.node("g100")->desired.drain_deadline;
  sim.begin = sim.told().size();
  sim.Begin();
  ASSERT_LT(sim.node("g100")->desired.drain_deadline, deadline);
  sim.To(absl::Seconds(119));
  sim.TakeBack("g100");
  sim.Drive();
  sim.To(absl::Minutes(14));
  const Node& node = *sim.node("g100");
  EXPECT_EQ(node.state, NodeState::kDraining);
  EXPECT_EQ(node.removal_cause, RemovalCause::kScaleDown);
  EXPECT_EQ(node.preempt_time, kNever);
  EXPECT_EQ(node.desired.drain_time, since);
  EXPECT_EQ(node.desired.drain_deadline, deadline);
  EXPECT_FALSE(node.desired.labels.contains("qos.coreweave.cloud/pending-preemption"));
  EXPECT_THAT(sim.NodeEvents(), ElementsAre("Preemption pending"));
  sim.To(absl::Minutes(15));
  EXPECT_EQ(sim.node("g100"), nullptr);
  EXPECT_THAT(sim.NodeEvents(), Not(Contains("Deleted for preemption")));
}

// Its end was counted from when the strategy came to have one, long after it began.
TEST(Preemption, TakenBackADrainThatWasGivenItsEndLaterHasNoLessTimeThanWithIt) {
  SpotPool sim;
  sim.DrainForScaleDown();
  ASSERT_EQ(sim.node("g100")->state, NodeState::kDraining);
  sim.ShrinkToNothing(ScaleDownStrategy::kIdleOnly);
  sim.Advance(absl::Hours(1));
  sim.ShrinkToNothing(ScaleDownStrategy::kPreferIdle);
  ASSERT_EQ(sim.node("g100")->desired.drain_deadline, sim.now() + sim.policy.drain_deadline);
  sim.Begin();
  sim.To(absl::Minutes(1));
  sim.TakeBack("g100");
  sim.Drive();
  EXPECT_FALSE(sim.node("g100")->desired.force_drain);
  EXPECT_GE(sim.node("g100")->desired.drain_deadline, sim.start + sim.policy.preemption_end);
}

// One that was cordoned for a relapse goes to repair, with nothing of the preemption left.
TEST(Preemption, TakenBackANodeThatIsBoundForRepairGoesThere) {
  SpotPool sim(2);
  sim.busy.clear();
  sim.SetActive("g100", false);
  for (const O seen : {O::kUnhealthy, O::kRecovered, O::kUnhealthy}) {
    ASSERT_TRUE(sim.Report("g100", seen).ok());
    sim.Drive();
  }
  sim.Advance(sim.policy.triage_grace);
  sim.Drive();
  ASSERT_EQ(sim.node("g100")->removal_cause, RemovalCause::kRepair);
  sim.Begin();
  ASSERT_NE(sim.node("g100")->preempt_time, kNever);
  ASSERT_TRUE(sim.Report("g100", O::kRecovered).ok());
  sim.TakeBack("g100");
  sim.Drive();
  const Node& node = *sim.node("g100");
  EXPECT_EQ(node.state, NodeState::kCordoned);
  EXPECT_EQ(node.removal_cause, RemovalCause::kRepair);
  EXPECT_EQ(node.preempt_time, kNever);
  EXPECT_FALSE(node.desired.labels.contains("qos.coreweave.cloud/pending-preemption"));
  ASSERT_TRUE(sim.Converge());
  EXPECT_TRUE(sim.broken().contains("g100"));
  EXPECT_EQ(sim.node("g100"), nullptr);
}

TEST(Preemption, TakenBackANodeThatItsReservationTakesOutGoesOn) {
  SpotPool sim(2);
  sim.busy.clear();
  sim.Apply([](Spec& spec) { spec.max_unavailable = "1"; });
  ASSERT_TRUE(sim.Run(UpdateNode{.name = NodeName(kSimPool, "g100"),
                                 .reserved_desired = std::string(kControlPlane)})
                  .ok());
  sim.Pass();
  ASSERT_EQ(sim.node("g100")->removal_cause, RemovalCause::kReservation);
  ASSERT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  sim.Begin();
  ASSERT_NE(sim.node("g100")->preempt_time, kNever);
  // Back in service it would have to wait for room in the budget.
  ASSERT_TRUE(sim.Report("g101", O::kUnhealthy, "Xid 79").ok());
  const size_t before = sim.told().size();
  sim.TakeBack("g100");
  sim.Pass();
  const Node& node = *sim.node("g100");
  EXPECT_EQ(node.state, NodeState::kCordoned);
  EXPECT_EQ(node.removal_cause, RemovalCause::kReservation);
  EXPECT_EQ(node.preempt_time, kNever);
  EXPECT_THAT(sim.ReasonsSince(before, "g100"), IsEmpty());
}

// It is as lost to the pool as one that was taken away.
TEST(Preemption, TakenBackAnUnhealthyNodeCountsInTheBudgetAtOnce) {
  SpotPool sim(2);
  sim.busy.clear();
  sim.SetActive("g100", false);
  sim.Apply([](Spec& spec) { spec.max_unavailable = "1"; });
  sim.Begin();
  ASSERT_EQ(sim.node("g100")->removal_cause, RemovalCause::kPreemption);
  ASSERT_TRUE(sim.Report("g100", O::kUnhealthy).ok());
  sim.TakeBack("g100");
  sim.Must(UpdateNode{.name = NodeName(kSimPool, "g101"),
                      .reserved_desired = std::string(kControlPlane)});
  sim.Pass();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kTriage);
  EXPECT_EQ(sim.node("g101")->state, NodeState::kProduction);
  EXPECT_THAT(sim.Obstacles(), Contains("DISRUPTION_BUDGET"));
}

// The reservation is withdrawn: the preemption's clock runs on all the same.
TEST(Preemption, WithoutItsReservationTheNodeIsPreemptedAsAnyOther) {
  SpotPool sim(2);
  sim.Must(UpdateNode{.name = NodeName(kSimPool, "g100"),
                      .reserved_desired = std::string(kControlPlane)});
  sim.Pass();
  ASSERT_EQ(sim.node("g100")->removal_cause, RemovalCause::kReservation);
  sim.Begin();
  sim.Must(UpdateNode{.name = NodeName(kSimPool, "g100"), .reserved_desired = ""});
  sim.To(absl::Seconds(119));
  EXPECT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  EXPECT_EQ(sim.node("g100")->preempt_time, sim.start);
  sim.To(absl::Minutes(2));
  EXPECT_EQ(sim.node("g100")->state, NodeState::kDraining);
  sim.To(absl::Minutes(7));
  EXPECT_EQ(sim.node("g100"), nullptr);
  EXPECT_TRUE(sim.others().contains("g100"));
}

}  // namespace
}  // namespace muster::lifecycle
