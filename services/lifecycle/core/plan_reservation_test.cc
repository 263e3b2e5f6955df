// Nodes that an operator moves to the control plane, and takes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/testing/simulation.h"
#include "tests/testing/status_matchers.h"

namespace muster::lifecycle {
namespace {

using ::muster::testing::HasReason;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

struct Reserved : Simulation {
  explicit Reserved(const std::function<void(Spec&)>& change = [](Spec&) {}) {
    Apply([&](Spec& spec) {
      spec.target_nodes = 2;
      change(spec);
    });
    Live();
  }
  void Live() {
    if (!Converge()) std::abort();
  }
  absl::Status Order(const std::string& machine, const std::string& whom) {
    return Run(UpdateNode{.name = NodeName(kSimPool, machine), .reserved_desired = whom},
               /*validate_only=*/false)
        .status();
  }
};

TEST(Reservation, TheMachineLeavesServiceAndThePoolGetsAnother) {
  Reserved sim;
  EXPECT_TRUE(sim.Order("g100", kControlPlane).ok());
  sim.Pass();
  EXPECT_EQ(sim.node("g100")->removal_cause, RemovalCause::kReservation);
  for (int i = 0; i < 3; ++i) {
    sim.Advance(sim.policy.cordon_settle);
    sim.Live();
  }
  EXPECT_THAT(sim.broken(), ElementsAre("g100"));  // out of service, for nobody else
  EXPECT_THAT(sim.machines(), ElementsAre("g101", "g102"));
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
}

TEST(Reservation, IsTakenBackUntilTheDrainBegan) {
  Reserved sim;
  ASSERT_TRUE(sim.Order("g100", kControlPlane).ok());
  sim.Pass();
  ASSERT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  EXPECT_TRUE(sim.Order("g100", "").ok());
  sim.Pass();  // later it might be there as another Node
  EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
  EXPECT_FALSE(sim.node("g100")->desired.cordoned);
  ASSERT_TRUE(sim.Order("g100", kControlPlane).ok());
  sim.SetActive("g100", true);
  while (sim.node("g100")->state != NodeState::kDraining) {
    sim.Advance(sim.policy.cordon_settle);
    sim.Pass();
  }
  EXPECT_THAT(sim.Order("g100", ""), HasReason("NODE_STATE"));
  EXPECT_TRUE(sim.Order("g100", kControlPlane).ok());  // as it is
}

// Which may be weeks away.
TEST(Reservation, DoesNotWaitForAReconfigurationThatHasYetToRebootIt) {
  Reserved sim;
  sim.Stage(kNewerProfile);
  sim.Live();
  sim.SetActive("g100", true);
  sim.Must(ReconfigureNodePool{.name = kSimPool});
  sim.Live();
  ASSERT_EQ(sim.node("g100")->state, NodeState::kProduction);
  ASSERT_NE(sim.node("g100")->reconfigure_time, kNever);
  ASSERT_TRUE(sim.Order("g100", kControlPlane).ok());
  sim.Pass();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  EXPECT_EQ(sim.node("g100")->removal_cause, RemovalCause::kReservation);
}

TEST(Reservation, WaitsForTheDisruptionBudgetAndSaysSo) {
  Reserved sim([](Spec& spec) { spec.max_unavailable = "1"; });
  sim.SetActive("g100", true);
  ASSERT_TRUE(sim.Order("g100", kControlPlane).ok());
  ASSERT_TRUE(sim.Order("g101", kControlPlane).ok());
  sim.Pass();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  EXPECT_EQ(sim.node("g101")->state, NodeState::kProduction);
  EXPECT_THAT(sim.Obstacles(), Contains("DISRUPTION_BUDGET"));
}

// Whatever else takes the Node: its machine goes to nobody.
TEST(Reservation, HoldsWhateverTheNodeLeavesFor) {
  Reserved sim([](Spec& spec) { spec.max_unavailable = "1"; });
  ASSERT_TRUE(sim.Order("g100", kControlPlane).ok());
  ASSERT_TRUE(sim.Order("g101", kControlPlane).ok());
  sim.Apply([](Spec& spec) { spec.target_nodes = 0; });
  for (int i = 0; i < 6; ++i) {
    sim.Advance(sim.policy.cordon_settle);
    sim.Live();
  }
  EXPECT_THAT(sim.machines(), IsEmpty());
  EXPECT_THAT(sim.broken(), ElementsAre("g100", "g101"));
}

}  // namespace
}  // namespace muster::lifecycle
