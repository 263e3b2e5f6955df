// Nodes that the cluster autoscaler marked as its victims.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using O = ReportNode::Observation;

struct Marked : Running {
  using Running::Running;
  void Live() {
    if (!Converge()) std::abort();
  }
  // It is marked, of the pool's two the one that is to go, and cordoned; then work comes to it.
  void CordonAndBusy(const std::string& machine) {
    ASSERT_TRUE(Report(machine, O::kAutoscalerMarked).ok());
    Resize(1);
    ASSERT_TRUE(Pass());
    SetActive(machine, true);
    Live();
  }
  // The message of the first defer of that kind in the last plan; empty: there is none.
  std::string Waits(DeferReason reason) const {
    for (const Defer& defer : last_plan.defers) {
      if (defer.reason == reason) return defer.message;
    }
    return "";
  }
};

// The autoscaler marks its victims with its taint and lowers targetNodes by their number.
TEST(AutoscalerMarks, ExactlyTheMarkedGo) {
  Marked sim(3);
  ASSERT_TRUE(sim.Report("g102", O::kAutoscalerMarked).ok());
  sim.Resize(2);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g100", "g101"));
}

TEST(AutoscalerMarks, ABusyOneIsWaitedForUntilItIsIdleOrUnmarked) {
  Marked sim(3);
  sim.SetActive("g102", true);
  ASSERT_TRUE(sim.Report("g102", O::kAutoscalerMarked).ok());
  sim.Resize(2);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), SizeIs(3));
  EXPECT_THAT(sim.Obstacles(), ::testing::Not(::testing::Contains("MARKED_BY_AUTOSCALER")))
      << "the target asks for it";
  ASSERT_TRUE(sim.Report("g102", O::kAutoscalerUnmarked).ok());
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g101", "g102"));
}

TEST(AutoscalerMarks, AProtectedOneIsWaitedForAndNobodyGoesInstead) {
  Marked sim(3);
  const absl::Time until = sim.now() + absl::Hours(1);
  sim.Must(UpdateNode{.name = NodeName(kSimPool, "g102"), .protect_until_time = until});
  ASSERT_TRUE(sim.Report("g102", O::kAutoscalerMarked).ok());
  sim.Resize(2);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), SizeIs(3));
  EXPECT_THAT(sim.Obstacles(), Contains("PROTECTED"));
  sim.Advance(until - sim.now());
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g100", "g101"));
}

// It has given its victims up: nobody takes its taint and its cordon off again. A target that rises
// before their drain began is filled with others.
TEST(AutoscalerMarks, ATargetThatRisesAgainIsFilledWithOthers) {
  Marked sim(4);
  for (const char* machine : {"g101", "g102"})
    ASSERT_TRUE(sim.Report(machine, O::kAutoscalerMarked).ok());
  sim.Resize(1);
  ASSERT_TRUE(sim.Pass());
  ASSERT_EQ(sim.node("g102")->state, NodeState::kCordoned);
  ASSERT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  sim.Resize(4);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), SizeIs(4));
  EXPECT_THAT(sim.NodeMachines(), Contains("g100")) << "Muster chose it: it is let go";
  EXPECT_THAT(sim.NodeMachines(), Not(Contains("g101")));
  EXPECT_THAT(sim.NodeMachines(), Not(Contains("g102")));
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  EXPECT_EQ(sim.holding(), 4);
  EXPECT_TRUE(sim.never_over && sim.fenced && sim.same_twice);
}

TEST(AutoscalerMarks, OneThatItUnmarksIsLetGo) {
  Marked sim(2);
  ASSERT_TRUE(sim.Report("g101", O::kAutoscalerMarked).ok());
  sim.Resize(1);
  ASSERT_TRUE(sim.Pass());
  ASSERT_EQ(sim.node("g101")->state, NodeState::kCordoned);
  ASSERT_TRUE(sim.Report("g101", O::kAutoscalerUnmarked).ok());
  sim.Resize(2);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g100", "g101"));
  EXPECT_FALSE(sim.node("g101")->desired.cordoned);
}

// IdleOnly: work that came to it ends in peace, and no other work comes.
TEST(AutoscalerMarks, WorkThatComesToACordonedOneIsAwaited) {
  Marked sim(2);
  sim.CordonAndBusy("g101");
  EXPECT_EQ(sim.node("g101")->state, NodeState::kCordoned);
  EXPECT_FALSE(sim.node("g101")->desired.drain);
  EXPECT_EQ(sim.Waits(DeferReason::kWaitsUntilIdle),
            "Node g101 was marked by the cluster autoscaler and goes once it is idle "
            "(scaleDownStrategy IdleOnly).");
  ASSERT_TRUE(sim.Report("g101", O::kIdle).ok());
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), ElementsAre("g100"));
}

// The order's deadline is its own, whatever the pool's strategy is.
TEST(AutoscalerMarks, ADrainByForceOfOneThatIsAwaitedIsByForce) {
  Marked sim(2);
  sim.CordonAndBusy("g101");
  ASSERT_EQ(sim.node("g101")->state, NodeState::kCordoned);
  sim.Must(OrderNode{
      .name = NodeName(kSimPool, "g101"), .verb = OrderNode::Verb::kDrain, .force = true});
  for (int i = 0; i < 3; ++i) {
    sim.Advance(sim.policy.cordon_settle);
    sim.Pass();
  }
  EXPECT_TRUE(sim.node("g101")->desired.force_drain);
}

// A lowered target and a rise that came as one change: that it was lowered is not known, and who is
// marked may also be one that the autoscaler is still emptying, to lower the target once it has. So
// the Nodes stay, the others that are asked for come, and who must act is told.
TEST(AutoscalerMarks, ARiseThatSwallowsTheLoweredTargetLeavesThemWhereTheyAre) {
  Marked sim(4);
  for (const char* machine : {"g101", "g102"})
    ASSERT_TRUE(sim.Report(machine, O::kAutoscalerMarked).ok());
  sim.Resize(5);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), SizeIs(5));
  EXPECT_EQ(sim.Reason("AtTarget"), "UnderTarget");
  EXPECT_THAT(sim.Obstacles(), ElementsAre("MARKED_BY_AUTOSCALER", "MARKED_BY_AUTOSCALER"));
  sim.Resize(3);  // it lowers the target by its victims
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), Not(Contains("g101")));
  EXPECT_THAT(sim.NodeMachines(), Not(Contains("g102")));
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
}

// Marked while nobody is to go: it is there and takes no work.
TEST(AutoscalerMarks, APoolWhoseNodesCannotBeUsedIsNotAtItsTarget) {
  Marked sim(3);
  ASSERT_TRUE(sim.Report("g102", O::kAutoscalerMarked).ok());
  sim.Live();
  EXPECT_EQ(sim.Says("AtTarget"),
            "False/UnderTarget: 3 of 3 Nodes present, 1 marked for removal by the cluster "
            "autoscaler (g102).");
  const auto told = sim.CountOf("CWNodePoolScaledUp");
  ASSERT_TRUE(sim.Report("g102", O::kAutoscalerUnmarked).ok());
  sim.Live();
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  EXPECT_EQ(sim.CountOf("CWNodePoolScaledUp"), told);
}

}  // namespace
}  // namespace muster::lifecycle
