// What is ordered of single Nodes, and done in time: drains and reboots, within the budget unless
// forced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/plan_parts.h"
#include "services/lifecycle/core/testing/orders.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Verb = OrderNode::Verb;

// "Its work is moved away as soon as the pool's disruption budget allows, within the time that
// drains may take. The Node stays, empty, until UncordonNode."
TEST(NodeOrders, DrainsWaitForTheBudgetAndNodesStayEmpty) {
  Ordered sim([](Spec& spec) { spec.max_unavailable = "1"; });
  sim.SetActive("g100", true);
  sim.SetActive("g101", true);
  ASSERT_TRUE(sim.Order("g100", Verb::kDrain).ok());
  ASSERT_TRUE(sim.Order("g101", Verb::kDrain).ok());
  sim.Pass();
  EXPECT_TRUE(sim.desired("g100").drain);
  EXPECT_GT(sim.desired("g100").drain_deadline,
            sim.now() + sim.policy.drain_deadline - absl::Seconds(1));
  EXPECT_FALSE(sim.desired("g101").drain);
  EXPECT_TRUE(sim.desired("g101").cordoned);
  EXPECT_THAT(sim.ObstacleTexts(),
              Contains(HasSubstr("Node g101 waits (drain): maxUnavailable 1 (1 of 3 Nodes) is used "
                                 "up by g100 (drain)")));
  sim.Live();
  EXPECT_FALSE(sim.node("g100")->observed.active);
  EXPECT_EQ(sim.state_of("g100"), NodeState::kProduction);
  EXPECT_TRUE(sim.desired("g100").drain);  // it stays empty
  EXPECT_TRUE(sim.node("g101")->observed.active);
  ASSERT_TRUE(sim.Order("g100", Verb::kUncordon).ok());
  EXPECT_FALSE(sim.desired("g100").drain);
  EXPECT_FALSE(sim.desired("g100").cordoned);
  sim.Live();
  EXPECT_FALSE(sim.node("g101")->observed.active);
}

// "No disruption budget is asked, neither the pool's nor those of Pods, and all work is deleted."
TEST(NodeOrders, AForcedDrainAsksNobody) {
  Ordered sim([](Spec& spec) { spec.max_unavailable = "1"; });
  for (const char* machine : {"g100", "g101"}) {
    sim.SetActive(machine, true);
    sim.blocked_by[machine] = "default/web";
    ASSERT_TRUE(sim.Order(machine, Verb::kDrain, /*force=*/true).ok());
  }
  sim.Pass();
  EXPECT_TRUE(sim.desired("g100").force_drain);
  EXPECT_TRUE(sim.desired("g101").force_drain);
  sim.Live();
  EXPECT_FALSE(sim.node("g101")->observed.active);
}

TEST(NodeOrders, ADrainUnderWayIsForced) {
  Ordered sim;
  sim.SetActive("g100", true);
  sim.blocked_by["g100"] = "default/web";
  ASSERT_TRUE(sim.Order("g100", Verb::kDrain).ok());
  sim.Drive();
  EXPECT_FALSE(sim.desired("g100").force_drain);
  EXPECT_EQ(sim.node("g100")->observed.drain_blocked_by, "default/web");
  ASSERT_TRUE(sim.Order("g100", Verb::kDrain, /*force=*/true).ok());
  sim.Pass();
  EXPECT_TRUE(sim.desired("g100").force_drain);
}

// Whatever comes between, triage or a removal that is taken back.
TEST(NodeOrders, ACordonOutlivesWhatHappensToTheNode) {
  Ordered sim;
  ASSERT_TRUE(sim.Order("g100", Verb::kCordon).ok());
  ASSERT_TRUE(sim.Report("g100", Simulation::O::kUnhealthy, "fan").ok());
  sim.Pass();
  ASSERT_EQ(sim.state_of("g100"), NodeState::kTriage);
  ASSERT_TRUE(sim.Report("g100", Simulation::O::kRecovered).ok());
  sim.Live();
  EXPECT_EQ(sim.state_of("g100"), NodeState::kProduction);
  EXPECT_TRUE(sim.desired("g100").cordoned);
  sim.Resize(2);
  sim.Pass();
  ASSERT_EQ(sim.state_of("g100"), NodeState::kCordoned);  // who takes no work goes first
  sim.Resize(3);
  sim.Pass();
  EXPECT_EQ(sim.state_of("g100"), NodeState::kProduction);
  EXPECT_TRUE(sim.desired("g100").cordoned);
}

// Whoever is forced is charged to the budget all the same, and before others ask it.
TEST(NodeOrders, WhoIsForcedIsChargedToTheBudget) {
  Ordered sim([](Spec& spec) { spec.max_unavailable = "1"; });
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kWhenIdle).ok());
  ASSERT_TRUE(sim.Reboot("g101", Reboot::kForced).ok());
  sim.Settle();
  EXPECT_TRUE(sim.Reboots("g101"));
  EXPECT_FALSE(sim.desired("g100").cordoned);
  EXPECT_THAT(sim.ObstacleTexts(), Contains(HasSubstr("Node g100 waits (reboot)")));
}

// What holds it up is neither forgotten nor told again.
TEST(NodeOrders, ADrainIsBlockedWhetherTheNodeIsIllOrNot) {
  Ordered sim;
  sim.SetActive("g100", true);
  sim.blocked_by["g100"] = "default/web";
  ASSERT_TRUE(sim.Order("g100", Verb::kDrain).ok());
  sim.Drive();
  for (const auto seen : {Simulation::O::kUnhealthy, Simulation::O::kRecovered}) {
    ASSERT_TRUE(sim.Report("g100", seen, "fan").ok());
    EXPECT_EQ(sim.node("g100")->observed.drain_blocked_by, "default/web");
    EXPECT_THAT(sim.Obstacles(), Contains("DRAIN_BLOCKED"));
    sim.Drive();
  }
  EXPECT_EQ(sim.CountOf("CWNodeDrainingPDBViolation"), 1);
}

TEST(NodeOrders, ADrainGoesOnWhetherTheNodeIsIllOrNot) {
  Ordered sim;
  sim.SetActive("g100", true);
  sim.busy.insert("g100");
  ASSERT_TRUE(sim.Order("g100", Verb::kDrain).ok());
  sim.Pass();
  const Desired drains = sim.desired("g100");
  ASSERT_TRUE(drains.drain);
  sim.Advance(absl::Seconds(5));
  ASSERT_TRUE(sim.Report("g100", Simulation::O::kUnhealthy, "fan").ok());
  sim.Pass();
  EXPECT_EQ(sim.desired("g100").drain_deadline, drains.drain_deadline);
  ASSERT_TRUE(sim.Report("g100", Simulation::O::kRecovered).ok());
  sim.Pass();
  EXPECT_EQ(sim.desired("g100").drain_deadline, drains.drain_deadline);
  EXPECT_TRUE(sim.desired("g100").cordoned);
  ASSERT_TRUE(sim.Reboot("g100", Reboot::kDrained).ok());
  sim.Pass();
  EXPECT_EQ(sim.desired("g100").drain_time, drains.drain_time);
  EXPECT_EQ(sim.desired("g100").drain_deadline, drains.drain_deadline);
}

// Work that comes to a Node which stays drained is not killed at once: the drain's time is its own.
TEST(NodeOrders, LateWorkHasTheTimeOfADrain) {
  Ordered sim;
  ASSERT_TRUE(sim.Order("g100", Verb::kDrain).ok());
  sim.Live();
  sim.Advance(absl::Hours(24));
  sim.busy.insert("g100");
  sim.SetActive("g100", true);
  sim.Pass();
  EXPECT_FALSE(sim.desired("g100").force_drain);
  sim.Advance(sim.policy.drain_deadline);
  sim.Pass();
  EXPECT_TRUE(sim.desired("g100").force_drain);
  sim.Agents();
  EXPECT_FALSE(sim.node("g100")->observed.active);
  EXPECT_FALSE(sim.desired("g100").force_drain);
}

// Nothing is left on it to be deleted, however long it stays drained.
TEST(NodeOrders, ADrainedNodeThatIsIdleIsNotForced) {
  Ordered sim;
  ASSERT_TRUE(sim.Order("g100", Verb::kDrain).ok());
  sim.Live();
  sim.Advance(absl::Hours(24));
  sim.Pass();
  EXPECT_FALSE(sim.desired("g100").force_drain);
  EXPECT_EQ(sim.CountOf("CWNodeDrainingForceDelete"), 0);
  sim.busy.insert("g100");
  sim.SetActive("g100", true);
  sim.Pass();
  EXPECT_FALSE(sim.desired("g100").force_drain);
}

// What held its drain up was forced away, and that nothing does any more is told a moment later.
TEST(NodeOrders, OneThatWorkWasForcedFromForcesNothingFurther) {
  Ordered sim;
  sim.SetActive("g100", true);
  ASSERT_TRUE(sim.Order("g100", Verb::kDrain).ok());
  sim.Pass();
  ASSERT_TRUE(sim.Report("g100", Simulation::O::kDrainBlocked, "default/web").ok());
  sim.Advance(sim.policy.drain_deadline);
  sim.Pass();
  ASSERT_TRUE(sim.desired("g100").force_drain);
  sim.SetActive("g100", false);
  sim.Pass();
  EXPECT_FALSE(sim.desired("g100").force_drain);
  ASSERT_TRUE(sim.Report("g100", Simulation::O::kDrainUnblocked).ok());
  sim.SetActive("g100", true);
  sim.Pass();
  EXPECT_FALSE(sim.desired("g100").force_drain) << "other work has the whole time";
}

// g100 is ill and on its way out, and work came to it.
void LeaveForRepairAtWork(Ordered& sim) {
  ASSERT_TRUE(sim.Report("g100", Simulation::O::kUnhealthy, "fan").ok());
  sim.Pass();
  sim.Advance(sim.policy.triage_grace);
  sim.Pass();
  ASSERT_EQ(sim.state_of("g100"), NodeState::kCordoned);
  sim.SetActive("g100", true);  // disableUnhealthyNodeEviction: it would wait until it is idle
  sim.Advance(sim.policy.cordon_settle);
  sim.Pass();
  ASSERT_EQ(sim.state_of("g100"), NodeState::kCordoned);
}

TEST(NodeOrders, ADrainThatWasOrderedHoldsOnTheWayOut) {
  Ordered sim;
  LeaveForRepairAtWork(sim);
  ASSERT_TRUE(sim.Order("g100", Verb::kDrain, /*force=*/true).ok());
  sim.Pass();
  EXPECT_EQ(sim.state_of("g100"), NodeState::kDraining);
  sim.Pass();
  EXPECT_TRUE(sim.desired("g100").force_drain);
}

TEST(NodeOrders, ADrainThatWasOrderedEndsOnTheWayOut) {
  Ordered sim;
  LeaveForRepairAtWork(sim);
  ASSERT_TRUE(sim.Order("g100", Verb::kDrain).ok());
  sim.StopClock();
  sim.Pass();
  ASSERT_EQ(sim.state_of("g100"), NodeState::kDraining);
  EXPECT_EQ(sim.desired("g100").drain_deadline, sim.now() + sim.policy.drain_deadline);
}

// As a replica that knows no orders leaves a row that it writes.
TEST(NodeOrders, ACordonThatNobodyAsksForEnds) {
  Ordered sim;
  ASSERT_TRUE(sim.Order("g100", Verb::kDrain).ok());
  sim.Pass();
  Snapshot snapshot = sim.Look();
  Node lost = *sim.node("g100");
  lost.orders = {};
  snapshot.nodes[0] = &lost;
  const PoolPlan plan = Plan(snapshot);
  EXPECT_EQ(PlanLookingAtAll(snapshot), plan);
  ASSERT_THAT(plan.actions, Not(IsEmpty()));
  const auto* let_go = std::get_if<ChooseForReboot>(&plan.actions[0]);
  ASSERT_NE(let_go, nullptr);
  EXPECT_FALSE(let_go->chosen);
}

// Orders end, and whatever was ordered when is done or taken back.
TEST(NodeOrdersProperty, NothingIsLeftOfThem) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Ordered sim([&](Spec& spec) { spec.max_unavailable = random() % 2 == 0 ? "" : "1"; });
    for (int i = 0; i < 30; ++i) {
      const std::string machine = absl::StrCat("g10", random() % 3);
      const uint64_t what = random() % 10;
      if (what < 4 && sim.node(machine) != nullptr) {
        (void)sim.Run(OrderNode{.name = NodeName(kSimPool, machine),
                                .verb = static_cast<Verb>(what),
                                .force = random() % 3 == 0,
                                .reboot = static_cast<Reboot>(1 + random() % 3)});
      } else if (what == 4) {
        sim.SetActive(machine, random() % 2 == 0);
      } else if (what == 5) {
        sim.Stage(random() % 2 == 0 ? "np-000000000002" : kSimProfile);
        (void)sim.Run(ReconfigureNodePool{.name = kSimPool, .evict_active = random() % 2 == 0});
      } else if (what == 6) {
        (void)sim.Run(ControlReconfiguration{
            .name = kSimPool, .verb = static_cast<ControlReconfiguration::Verb>(random() % 3)});
      } else if (what == 7) {
        sim.Resize(static_cast<int64_t>(2 + random() % 2));
      } else {
        (void)sim.Report(machine,
                         random() % 2 == 0 ? Simulation::O::kUnhealthy : Simulation::O::kRecovered);
      }
      sim.Pass();
      if (random() % 2 == 0) sim.Agents();
      sim.Advance(absl::Seconds(random() % 40));
    }
    (void)sim.Run(
        ControlReconfiguration{.name = kSimPool, .verb = ControlReconfiguration::Verb::kCancel});
    sim.Resize(3);
    for (const std::string& machine : sim.NodeMachines()) {
      (void)sim.Order(machine, Verb::kUncordon);
      (void)sim.Report(machine, Simulation::O::kRecovered);
      sim.SetActive(machine, false);
    }
    sim.Advance(absl::Hours(1));
    ASSERT_TRUE(sim.Converge());
    for (const Node* node : sim.state().NodesOf(kSimPool)) {
      EXPECT_EQ(node->state, NodeState::kProduction) << node->machine;
      EXPECT_FALSE(node->desired.cordoned || node->desired.drain) << node->machine;
      EXPECT_EQ(node->orders, NodeOrders());
    }
    EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
    EXPECT_TRUE(sim.same_twice && sim.never_over && sim.fenced);
    if (HasFailure()) return;
  }
}

// "cordoned and drained as the pool's disruption budget allows"
TEST(NodeOrders, AReservationHoldsOnTheWayOut) {
  Ordered sim;
  LeaveForRepairAtWork(sim);
  sim.Must(UpdateNode{.name = sim.node("g100")->name, .reserved_desired = kControlPlane});
  sim.Pass();
  EXPECT_EQ(sim.state_of("g100"), NodeState::kDraining);
  EXPECT_NE(sim.desired("g100").drain_deadline, kNever);
}

}  // namespace
}  // namespace muster::lifecycle
