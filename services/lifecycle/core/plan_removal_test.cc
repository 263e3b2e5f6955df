// Who goes when a pool shrinks, and deletion from every state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/common/error.h"
#include "services/lifecycle/core/budget.h"
#include "services/lifecycle/core/testing/simulation.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using O = ReportNode::Observation;
using Machines = std::vector<std::string>;

struct RemovalPool : Simulation {
  explicit RemovalPool(int64_t nodes, ScaleDownStrategy strategy = ScaleDownStrategy::kIdleOnly) {
    Create(nodes, strategy);
    Live();
  }
  void Live() {
    if (!Converge()) std::abort();
  }
  void Busy(const Machines& machines) {
    for (const std::string& machine : machines) SetActive(machine, true);
  }
  void Remove(const Machines& machines) {
    Must(ResizeNodePool{.name = kSimPool, .remove_machines = machines});
  }
  // The message of the first defer of that kind in the last plan; empty: there is none.
  std::string Waits(DeferReason reason) const {
    for (const Defer& defer : last_plan.defers) {
      if (defer.reason == reason) return defer.message;
    }
    return "";
  }
  void Protect(const std::string& machine, absl::Time until) {
    Must(UpdateNode{.name = NodeName(kSimPool, machine), .protect_until_time = until});
  }
};

// "IdleOnly removes only idle Nodes. PreferIdle removes idle Nodes first and then active Nodes if
// needed."
TEST(ReferenceScaleDown, PreferIdleTakesIdleNodesFirst) {
  RemovalPool sim(3, ScaleDownStrategy::kPreferIdle);
  sim.Busy({"g100", "g102"});
  sim.Resize(2);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g100", "g102"));
  sim.Resize(1);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), SizeIs(1));
}

// "then active Nodes if needed": fewest Pods first.
TEST(ReferenceScaleDown, OfActiveNodesTheOneWithTheFewestPodsGoes) {
  RemovalPool sim(3, ScaleDownStrategy::kPreferIdle);
  sim.SetActive("g100", true, 9);
  sim.SetActive("g101", true, 2);
  sim.SetActive("g102", true, 30);
  sim.Resize(2);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g100", "g102"));
}

// "If false [CWActive], and the Node Pool is being scaled down, the Node may be selected for
// removal." A Node found active when its drain is about to start is let go again.
TEST(ReferenceScaleDown, ANodeThatTurnsActiveAtTheLastMomentIsLetGo) {
  RemovalPool sim(2);
  sim.Busy({"g100"});
  sim.Resize(1);
  ASSERT_TRUE(sim.Pass());
  ASSERT_EQ(sim.node("g101")->state, NodeState::kCordoned);
  sim.Advance(sim.policy.cordon_settle);
  sim.Busy({"g101"});
  sim.Pass();
  EXPECT_EQ(sim.node("g101")->state, NodeState::kProduction);
  EXPECT_FALSE(sim.node("g101")->desired.cordoned);
  sim.SetActive("g101", false);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), ElementsAre("g100"));
}

// Also where the cluster heard of the cordon late: its adapter was away.
TEST(ReferenceScaleDown, WorkThatCameBeforeTheNodeWasCordonedLetsItGo) {
  RemovalPool sim(2);
  sim.StopClock();
  sim.Busy({"g100"});
  sim.silent = {"g101"};
  sim.Resize(1);
  sim.Drive();
  sim.Advance(sim.policy.cordon_patience / 4);
  sim.Drive();
  ASSERT_NE(sim.node("g101"), nullptr);
  ASSERT_EQ(sim.node("g101")->state, NodeState::kCordoned);
  EXPECT_THAT(sim.Obstacles(), Contains("AGENT_SILENT"));
  sim.SetActive("g101", true);
  sim.Drive();
  EXPECT_EQ(sim.node("g101")->state, NodeState::kProduction);
}

// What deletes work need not wait for its end.
TEST(ReferenceScaleDown, ADrainThatEvictsDoesNotWaitForTheAgentToCordon) {
  RemovalPool sim(1, ScaleDownStrategy::kPreferIdle);
  sim.StopClock();
  sim.stuck = sim.silent = {"g100"};
  sim.Resize(0);
  sim.Drive();
  sim.Advance(sim.policy.cordon_settle);
  sim.Drive();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kDraining);
}

// Of those that are cordoned whoever has work is let go first.
TEST(ReferenceScaleDown, ATargetThatRisesByLessLetsThoseGoThatWork) {
  RemovalPool sim(3, ScaleDownStrategy::kPreferIdle);
  sim.Busy({"g102"});
  sim.Resize(0);
  ASSERT_TRUE(sim.Pass());
  for (const char* machine : {"g100", "g101", "g102"})
    ASSERT_EQ(sim.node(machine)->state, NodeState::kCordoned) << machine;
  sim.Resize(1);
  ASSERT_TRUE(sim.Pass());
  EXPECT_EQ(sim.node("g102")->state, NodeState::kProduction);
  EXPECT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  EXPECT_EQ(sim.node("g101")->state, NodeState::kCordoned);
}

// Then those that are well, whatever they are called: a Node that is ill takes no work.
TEST(ReferenceScaleDown, ATargetThatRisesByLessKeepsThoseThatAreWell) {
  RemovalPool sim(3);
  ASSERT_TRUE(sim.Report("g100", O::kUnhealthy, "Xid 79").ok());
  sim.Pass();
  ASSERT_EQ(sim.node("g100")->state, NodeState::kTriage);
  sim.Resize(0);
  ASSERT_TRUE(sim.Pass());
  for (const char* machine : {"g100", "g101", "g102"})
    ASSERT_EQ(sim.node(machine)->state, NodeState::kCordoned) << machine;
  sim.Resize(1);
  ASSERT_TRUE(sim.Pass());
  EXPECT_EQ(sim.node("g101")->state, NodeState::kProduction);
  EXPECT_FALSE(sim.node("g101")->desired.cordoned);
  EXPECT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  EXPECT_EQ(sim.node("g102")->state, NodeState::kCordoned);
}

TEST(NamedVictims, ExactlyThoseGo) {
  RemovalPool sim(4);
  sim.Remove({"g101", "g103"});
  EXPECT_EQ(sim.pool()->spec.target_nodes, 2);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g100", "g102"));
}

TEST(NamedVictims, ABusyOneIsWaitedForAndNobodyGoesInstead) {
  RemovalPool sim(3);
  sim.Busy({"g101"});
  sim.Remove({"g101"});
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), SizeIs(3));
  EXPECT_EQ(sim.Reason("AtTarget"), "OverTarget");
  EXPECT_THAT(sim.Waits(DeferReason::kWaitsUntilIdle), HasSubstr("1 Node more than wanted"));
  sim.SetActive("g101", false);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g100", "g102"));
}

// "no other goes in its place" holds for all of them: names stand until they left.
TEST(NamedVictims, NamesStandBesideLaterOnesAndLowerTargets) {
  for (const bool by_name : {true, false}) {
    SCOPED_TRACE(by_name);
    RemovalPool sim(4);
    sim.Busy({"g100"});
    sim.Remove({"g100"});
    sim.Live();
    if (by_name) {
      sim.Remove({"g101"});
    } else {
      sim.Resize(2);  // g101 goes: it is idle for as long as the others
    }
    sim.Live();
    EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g100", "g102", "g103"));
    sim.SetActive("g100", false);
    sim.Live();
    EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g102", "g103"));
  }
}

TEST(NamedVictims, AProtectedOneIsRefusedWithATimeForPeople) {
  RemovalPool sim(2);
  sim.Protect("g100", absl::FromUnixMillis(1'760'000'000'123));
  const auto refused = sim.Run(ResizeNodePool{.name = kSimPool, .remove_machines = {"g100"}});
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("protected until 2025-10-09T08:53:20Z."));
}

TEST(NamedVictims, OneThatIsProtectedLaterIsTakenBack) {
  RemovalPool sim(3);
  sim.Busy({"g100"});
  sim.Remove({"g100"});
  sim.Live();
  sim.Protect("g100", sim.now() + absl::Hours(1));
  sim.Protect("g100", kNever);
  sim.SetActive("g100", false);
  sim.Live();
  // Who has been idle for longest goes.
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g100", "g102"));
}

// "No scale-down takes it until then": nor one that has chosen it and has not begun its drain.
TEST(NamedVictims, OneThatIsCordonedAndThenProtectedComesBackAndAnotherGoes) {
  RemovalPool sim(3);
  sim.Remove({"g100"});
  sim.Pass();
  ASSERT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  sim.Protect("g100", sim.now() + absl::Hours(1));
  sim.Pass();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), SizeIs(2));
  EXPECT_THAT(sim.NodeMachines(), Contains("g100"));
}

TEST(NamedVictims, ATargetThatRisesAgainForgetsThem) {
  RemovalPool sim(3);
  sim.Busy({"g101"});
  sim.Remove({"g101"});
  sim.Live();
  sim.Resize(3);
  sim.SetActive("g101", false);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), SizeIs(3));
  sim.Resize(2);  // g100 is idle longer
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAre("g101", "g102"));
}

TEST(NamedVictims, OneThatRebootsIsWaitedForAndNobodyGoesInstead) {
  RemovalPool sim(2);
  sim.Stage(kNewerProfile);
  sim.Live();
  sim.Must(ReconfigureNodePool{.name = kSimPool, .machines = {"g101"}});
  sim.stuck = {"g101"};
  sim.Live();
  ASSERT_EQ(sim.node("g101")->state, NodeState::kReconfiguring);
  sim.Remove({"g101"});
  sim.Live();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
  EXPECT_THAT(sim.Obstacles(), Contains("WAITS_FOR_REBOOT"));
  sim.stuck.clear();
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), ElementsAre("g100"));
}

TEST(NamedVictims, WhatIsWrongNamesItsField) {
  RemovalPool sim(2);
  const auto fault = [&](const Machines& machines) {
    const auto status =
        sim.Run(ResizeNodePool{.name = kSimPool, .remove_machines = machines}).status();
    const auto detail = muster::error::DetailOf(status);
    return detail->fields.empty() ? detail->reason : detail->fields[0].field;
  };
  EXPECT_EQ(fault({"g100", "g999"}), "remove_machines[1]");
  EXPECT_EQ(fault({"g100", "g100"}), "remove_machines[1]");
  sim.Protect("g100", sim.now() + absl::Hours(1));
  EXPECT_EQ(fault({"g100"}), "NODE_PROTECTED");
  EXPECT_EQ(sim.pool()->spec.target_nodes, 2);
}

TEST(Protection, OthersGoAndAProtectedNodeOnlyOnceItsTimeIsOver) {
  RemovalPool sim(2);
  const absl::Time until = sim.now() + absl::Hours(1);
  sim.Protect("g100", until);
  sim.Resize(1);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), ElementsAre("g100"));
  sim.Resize(0);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), ElementsAre("g100"));
  EXPECT_THAT(sim.Obstacles(), Contains("PROTECTED"));
  EXPECT_EQ(sim.last_plan.due, until);
  sim.Advance(until - sim.now());
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), IsEmpty());
}

TEST(DisruptionBudget, ANumberBoundsAScaleDownAndTheDenialNamesItsUsers) {
  RemovalPool sim(4);
  sim.Apply([](Spec& spec) { spec.max_unavailable = "1"; });
  sim.stuck = {"g100"};
  sim.Resize(1);
  sim.Live();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kDraining);
  EXPECT_EQ(sim.node("g101")->state, NodeState::kProduction);
  EXPECT_EQ(sim.Waits(DeferReason::kDisruptionBudget),
            "Node g101 waits (scale-down): maxUnavailable 1 (1 of 4 Nodes) is used up by g100 "
            "(scale-down).");
  EXPECT_THAT(sim.Obstacles(), Contains("DISRUPTION_BUDGET"));
  sim.stuck.clear();
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), ElementsAre("g103"));
}

// A percentage is rounded down, and at least 1; all voluntary causes share it.
TEST(DisruptionBudget, APercentageIsSharedByAllCauses) {
  EXPECT_EQ(MaxUnavailable("50%", 5), 2);
  EXPECT_EQ(MaxUnavailable("10%", 5), 1);
  RemovalPool sim(4);
  sim.Apply([](Spec& spec) { spec.max_unavailable = "25%"; });
  ASSERT_TRUE(sim.Report("g103", O::kUnhealthy, "Xid 79").ok());
  sim.stuck = {"g103"};
  sim.Advance(sim.policy.triage_grace);
  sim.Live();
  ASSERT_EQ(sim.node("g103")->removal_cause, RemovalCause::kRepair);
  sim.Resize(2);
  sim.Live();
  EXPECT_THAT(sim.Waits(DeferReason::kDisruptionBudget), HasSubstr("used up by g103 (repair)"));
  EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
}

// --- deletion ---

// Deletion from every state of a Node, also with a service away: nothing stays held.
TEST(Deletion, FromEveryState) {
  for (int steps = 0; steps < 14; ++steps) {
    for (const bool away : {false, true}) {
      SCOPED_TRACE(absl::StrCat(steps, " ", away));
      Simulation sim;
      sim.Create(2);
      for (int i = 0; i < steps; ++i) {
        if (i == 8) sim.Resize(1);
        sim.Pass();
        if (i % 2 == 1) sim.Agents();
        sim.Advance(absl::Seconds(1));
      }
      sim.Delete();
      sim.capacity_away = away;
      ASSERT_TRUE(sim.Converge());
      sim.capacity_away = false;
      ASSERT_TRUE(sim.Converge());
      EXPECT_EQ(sim.pool(), nullptr);
      EXPECT_THAT(sim.machines(), IsEmpty());
      EXPECT_FALSE(sim.has_claim() || sim.has_holding());
      EXPECT_EQ(sim.CountOf("CWNodePoolDeleted"), 1);
    }
  }
}

TEST(Deletion, ASecondOneChangesNothingAndWritesAreRefused) {
  RemovalPool sim(1);
  sim.removal_fails = {"g100"};
  sim.Delete();
  sim.Live();
  const int64_t revision = sim.revision();
  sim.Delete();
  EXPECT_EQ(sim.revision(), revision);
  const auto reason = [](const absl::Status& status) { return muster::error::ReasonOf(status); };
  EXPECT_EQ(reason(sim.Run(ResizeNodePool{.name = kSimPool, .target_nodes = 2}).status()),
            "POOL_DELETING");
  EXPECT_EQ(reason(sim.Run(sim.Applied([](Spec& spec) { spec.target_nodes = 3; })).status()),
            "POOL_DELETING");
  EXPECT_EQ(reason(sim.Run(ReconfigureNodePool{.name = kSimPool}).status()), "POOL_DELETING");
}

// A deletion waits for no work longer than the drain's deadline, and for no protection or budget.
TEST(Deletion, BusyProtectedAndBudgetedNodesGoWithinTheDeadline) {
  RemovalPool sim(2);
  sim.Busy({"g100", "g101"});
  sim.busy = {"g100", "g101"};
  sim.Protect("g100", sim.now() + absl::Hours(9));
  sim.Apply([](Spec& spec) { spec.max_unavailable = "1"; });
  sim.Delete();
  sim.Live();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kDraining);
  EXPECT_EQ(sim.node("g101")->state, NodeState::kDraining);
  sim.Advance(sim.policy.drain_deadline);
  sim.Live();
  EXPECT_EQ(sim.pool(), nullptr);
}

// Nothing hurries the drain of an idle Node; the deletion of its pool does.
TEST(Deletion, ADrainWithoutADeadlineGetsOne) {
  RemovalPool sim(1);
  sim.StopClock();
  sim.Resize(0);
  sim.Drive();
  sim.Advance(sim.policy.cordon_settle);
  sim.Pass();
  sim.Busy({"g100"});  // too late to be let go
  sim.busy = {"g100"};
  ASSERT_EQ(sim.node("g100")->state, NodeState::kDraining);
  ASSERT_EQ(sim.node("g100")->desired.drain_deadline, kNever);
  sim.Delete();
  sim.Drive();
  ASSERT_NE(sim.node("g100"), nullptr);
  EXPECT_EQ(sim.node("g100")->desired.drain_deadline, sim.now() + sim.policy.drain_deadline);
  sim.Advance(sim.policy.drain_deadline);
  sim.Drive();
  EXPECT_EQ(sim.node("g100"), nullptr);
}

// Nor is the end of work awaited on a Node that was to be repaired (disableUnhealthyNodeEviction).
TEST(Deletion, AnUnhealthyNodeAtWorkDoesNotHoldItUp) {
  RemovalPool sim(2);
  ASSERT_TRUE(sim.Report("g100", O::kUnhealthy, "Xid 79").ok());
  sim.Pass();
  sim.Advance(sim.policy.triage_grace);
  sim.Pass();
  ASSERT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  ASSERT_EQ(sim.node("g100")->removal_cause, RemovalCause::kRepair);
  sim.Busy({"g100"});  // work was on its way to it
  sim.busy = {"g100"};
  sim.Delete();
  sim.Live();
  ASSERT_NE(sim.node("g100"), nullptr);
  EXPECT_EQ(sim.node("g100")->state, NodeState::kDraining);
  sim.Advance(sim.policy.drain_deadline);
  sim.Live();
  EXPECT_EQ(sim.pool(), nullptr);
}

}  // namespace
}  // namespace muster::lifecycle
