// A Node that is preempted while something else is to happen to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/testing/simulation.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::Not;

// A spot pool of one busy Node, g100.
struct BusySpot : Simulation {
  explicit BusySpot(bool keeps_unhealthy = true) {
    Apply([&](Spec& spec) {
      spec.compute_class = "spot";
      spec.target_nodes = 1;
      spec.disable_unhealthy_node_eviction = keeps_unhealthy;
    });
    if (!Converge()) std::abort();
    SetActive("g100", true);
    busy.insert("g100");
    Converge();
    OthersTake(200);
  }
  void After(absl::Duration by) {
    Advance(by);
    Pass();
  }
};

// Each once a Node, whichever cause ends it.
TEST(PreemptedMeanwhile, ADepartureThatWasToldForAnotherCauseIsNotToldAgain) {
  BusySpot sim;
  sim.SetActive("g100", false);
  ASSERT_TRUE(sim.Report("g100", Simulation::O::kUnhealthy, "fan").ok());
  sim.Pass();
  sim.After(sim.policy.triage_grace);
  sim.SetActive("g100", true);  // it is let end its work
  ASSERT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  ASSERT_EQ(sim.node("g100")->removal_cause, RemovalCause::kRepair);
  const int64_t told = sim.CountOf("CWNodeMarkedPrepareForTerminate");
  const int64_t asked = sim.CountOf("CWNodeDeletionRequestSuccess");
  ASSERT_GT(told, 0);
  ASSERT_GT(asked, 0);
  sim.Advance(absl::Seconds(5));
  sim.Reclaim("g100", sim.now());
  sim.Pass();
  ASSERT_EQ(sim.node("g100")->removal_cause, RemovalCause::kPreemption);
  sim.After(sim.policy.preemption_notice);
  ASSERT_EQ(sim.node("g100")->state, NodeState::kDraining);
  EXPECT_EQ(sim.CountOf("CWNodeMarkedPrepareForTerminate"), told);
  EXPECT_EQ(sim.CountOf("CWNodeDeletionRequestSuccess"), asked);
}

// A kubelet that is ready again says nothing of the disk for which the Node was given up.
TEST(PreemptedMeanwhile, ANodeThatDrainsForRepairGoesToRepair) {
  BusySpot sim(/*keeps_unhealthy=*/false);
  ASSERT_TRUE(sim.Report("g100", Simulation::O::kUnhealthy, "fan").ok());
  sim.Pass();
  sim.After(sim.policy.triage_grace);
  sim.After(sim.policy.cordon_settle);
  ASSERT_EQ(sim.node("g100")->state, NodeState::kDraining);
  ASSERT_EQ(sim.node("g100")->removal_cause, RemovalCause::kRepair);
  sim.Reclaim("g100", sim.now());
  sim.Pass();
  ASSERT_NE(sim.node("g100")->preempt_time, kNever);
  ASSERT_TRUE(sim.Report("g100", Simulation::O::kRecovered).ok());
  sim.After(sim.policy.preemption_end);
  sim.Converge();
  EXPECT_THAT(sim.broken(), Contains("g100"));
  EXPECT_THAT(sim.others(), Not(Contains("g100")));
}

// It is not let stay when it recovers; its work is warned as that of any other.
TEST(PreemptedMeanwhile, ACordonedNodeThatGoesToAndFroGoesToRepairAfterItsNotice) {
  BusySpot sim(/*keeps_unhealthy=*/false);
  for (const auto seen :
       {Simulation::O::kUnhealthy, Simulation::O::kRecovered, Simulation::O::kUnhealthy}) {
    ASSERT_TRUE(sim.Report("g100", seen, "fan").ok());
    sim.Pass();
  }
  sim.After(sim.policy.triage_grace);
  ASSERT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  sim.Reclaim("g100", sim.now());
  sim.Pass();
  ASSERT_TRUE(sim.Report("g100", Simulation::O::kRecovered).ok());
  sim.After(sim.policy.preemption_notice - absl::Seconds(1));
  ASSERT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  sim.After(absl::Seconds(1));
  ASSERT_EQ(sim.node("g100")->state, NodeState::kDraining);
  sim.After(sim.policy.preemption_end - sim.policy.preemption_notice);
  sim.Converge();
  EXPECT_THAT(sim.broken(), Contains("g100"));
  EXPECT_THAT(sim.others(), Not(Contains("g100")));
}

// DrainNodeRequest.force: "at once".
TEST(PreemptedMeanwhile, ADrainByForceDoesNotWaitForTheEndOfTheNotice) {
  BusySpot sim;
  sim.Reclaim("g100", sim.now());
  sim.Pass();
  ASSERT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  sim.Must(OrderNode{
      .name = NodeName(kSimPool, "g100"), .verb = OrderNode::Verb::kDrain, .force = true});
  sim.After(sim.policy.cordon_settle);
  sim.Pass();
  const Node* node = sim.node("g100");
  EXPECT_TRUE(node == nullptr || node->state != NodeState::kCordoned) << "it drains, or is gone";
}

}  // namespace
}  // namespace muster::lifecycle
