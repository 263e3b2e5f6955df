// Reconfigure reboots: rack by rack, within the budgets, paused, resumed, cancelled and halted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using RState = Reconfiguration::State;
using ControlVerb = ControlReconfiguration::Verb;

constexpr char kNewest[] = "np-000000000003";

// "For updates to take effect, perform a reconfigure reboot."
TEST(ReferenceReconfigure, UpdatesTakeEffectByAReconfigureReboot) {
  Outdated sim(2);
  EXPECT_THAT(sim.On(kNewerProfile), IsEmpty());
  EXPECT_EQ(sim.node("g100")->desired.node_profile, kNewerProfile);
  sim.Ask();
  sim.Live();
  EXPECT_THAT(sim.On(kNewerProfile), UnorderedElementsAre("g100", "g101"));
  EXPECT_EQ(sim.how(), RState::kDone);
  EXPECT_EQ(sim.pool()->reconfiguration->rebooted_nodes, 2);
  EXPECT_EQ(sim.pool()->status.revisions[1].active_nodes, 2);
  EXPECT_EQ(sim.pool()->status.revisions[0].active_nodes, 0);
}

// A new Node boots straight into the active profile.
TEST(ReferenceReconfigure, NewNodesBootStraightIntoTheActiveProfile) {
  Outdated sim(1);
  sim.Resize(2);
  sim.Live();
  EXPECT_THAT(sim.On(kNewerProfile), ElementsAre("g101"));
}

TEST(Reconfigure, OneAtATimeUnlessABudgetIsGiven) {
  Outdated sim(3);
  sim.stuck = {"g100", "g101", "g102"};
  sim.Ask();
  sim.Live();
  EXPECT_THAT(sim.In(NodeState::kReconfiguring), ElementsAre("g100"));
  EXPECT_THAT(sim.Obstacles(), Contains("DISRUPTION_BUDGET"));
}

TEST(Reconfigure, RackByRack) {
  Outdated sim(8);  // rack-25: g100 to g103, rack-26: g104 to g107
  sim.stuck = {"g101"};
  sim.Ask({.max_unavailable = "100%"});
  sim.Live();
  EXPECT_THAT(sim.In(NodeState::kReconfiguring), ElementsAre("g101"));
  EXPECT_THAT(sim.On(kNewerProfile), UnorderedElementsAre("g100", "g102", "g103"));
  EXPECT_THAT(sim.ObstacleTexts(),
              Contains("WAITS_FOR_REBOOT nobody: Node g104 is rebooted once reboots on rack "
                       "rack-25 are over."));
  sim.stuck.clear();
  sim.Live();
  EXPECT_EQ(sim.On(kNewerProfile).size(), 8U);
}

// It keeps no rack to itself.
TEST(Reconfigure, ANodeThatRebootsByAnOrderOfItsOwnIsNotWaitedFor) {
  Outdated sim(8);
  sim.stuck = {"g100"};
  sim.Must(OrderNode{.name = NodeName(kSimPool, "g100"),
                     .verb = OrderNode::Verb::kReboot,
                     .reboot = Reboot::kForced});
  sim.Live();
  sim.Ask({.machines = {"g104"}, .max_unavailable = "100%"});
  sim.Live();
  EXPECT_THAT(sim.In(NodeState::kReconfiguring), ElementsAre("g100"));
  EXPECT_THAT(sim.On(kNewerProfile), ElementsAre("g104"));
  EXPECT_EQ(sim.how(), RState::kDone);
}

TEST(Reconfigure, ThePoolsBudgetHoldsToo) {
  Outdated sim(4);
  sim.Apply([](Spec& spec) { spec.max_unavailable = "2"; });
  sim.stuck = {"g100", "g101", "g102", "g103"};
  sim.Ask({.max_unavailable = "3"});
  sim.Live();
  EXPECT_THAT(sim.In(NodeState::kReconfiguring), ElementsAre("g100", "g101"));
}

// "Empty: the pool's, or 1 when it has none."
TEST(Reconfigure, ThePoolsBudgetIsThatOfARequestWithoutOne) {
  Outdated sim(4);
  sim.Apply([](Spec& spec) { spec.max_unavailable = "2"; });
  sim.stuck = {"g100", "g101", "g102", "g103"};
  sim.Ask();
  sim.Live();
  EXPECT_THAT(sim.In(NodeState::kReconfiguring), ElementsAre("g100", "g101"));
}

TEST(Reconfigure, NamedMachinesOnly) {
  Outdated sim(3);
  sim.Ask({.machines = {"g101"}});
  sim.Live();
  EXPECT_THAT(sim.On(kNewerProfile), ElementsAre("g101"));
  EXPECT_EQ(sim.how(), RState::kDone);
}

TEST(Reconfigure, ABusyNodeIsAwaitedUnlessItsWorkMayBeEvicted) {
  for (const bool evict : {false, true}) {
    SCOPED_TRACE(evict);
    Outdated sim(1);
    sim.SetActive("g100", true);
    sim.Ask({.evict_active = evict});
    sim.Pass();
    EXPECT_EQ(sim.node("g100")->desired.drain, evict) << "not for a moment";
    sim.Live();
    EXPECT_EQ(sim.On(kNewerProfile).size(), evict ? 1U : 0U);
    if (evict) continue;
    EXPECT_TRUE(sim.node("g100")->desired.cordoned);
    EXPECT_FALSE(sim.node("g100")->desired.drain);
    EXPECT_THAT(sim.Obstacles(), Contains("WAITS_UNTIL_IDLE"));
    sim.SetActive("g100", false);
    sim.Live();
    EXPECT_THAT(sim.On(kNewerProfile), ElementsAre("g100"));
  }
}

// One that is idle does not wait for work that came to the one that was chosen before it was
// cordoned.
TEST(Reconfigure, ANodeThatGetsWorkBeforeItIsCordonedGivesWay) {
  Outdated sim(2);
  sim.Ask();
  sim.Pass();
  ASSERT_TRUE(sim.node("g100")->desired.cordoned);
  sim.SetActive("g100", true);
  sim.Live();
  EXPECT_THAT(sim.On(kNewerProfile), ElementsAre("g101"));
  EXPECT_TRUE(sim.node("g100")->desired.cordoned) << "it has its turn once no other is idle";
  sim.SetActive("g100", false);
  sim.Live();
  EXPECT_THAT(sim.On(kNewerProfile), UnorderedElementsAre("g100", "g101"));
  EXPECT_EQ(sim.how(), RState::kDone);
}

TEST(Reconfigure, ToOneIdleNodeOnlyOneGivesWay) {
  Outdated sim(3);
  sim.Ask({.max_unavailable = "2"});
  sim.Pass();
  for (const char* machine : {"g100", "g101"}) {
    ASSERT_NE(sim.node(machine)->reconfigure_time, kNever);
    sim.SetActive(machine, true);
  }
  sim.Pass();
  EXPECT_EQ(sim.node("g100")->reconfigure_time, kNever);
  EXPECT_NE(sim.node("g101")->reconfigure_time, kNever);
}

// Kubernetes may have bound Pods to it before it was cordoned.
TEST(Reconfigure, AnIdleNodeIsCordonedBeforeItReboots) {
  Outdated sim(1);
  sim.StopClock();
  sim.Ask();
  sim.Drive();
  EXPECT_TRUE(sim.node("g100")->desired.cordoned);
  EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
  EXPECT_THAT(sim.Obstacles(), Contains("WAITS_UNTIL_IDLE"));
  EXPECT_EQ(sim.last_plan.due, sim.now() + sim.policy.cordon_settle);
  sim.SetActive("g100", true);  // such a Pod has begun
  sim.Advance(sim.policy.cordon_settle);
  sim.Drive();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
  sim.SetActive("g100", false);
  sim.Drive();
  EXPECT_THAT(sim.On(kNewerProfile), ElementsAre("g100"));
}

// The cluster may not have heard of the cordon yet: its adapter may be away.
TEST(Reconfigure, AnIdleNodeRebootsOnceItsAgentHasCordonedIt) {
  for (const bool tells : {true, false}) {
    SCOPED_TRACE(tells);
    Outdated sim(1);
    sim.StopClock();
    sim.stuck = sim.silent = {"g100"};
    sim.Ask();
    sim.Drive();
    sim.Advance(sim.policy.cordon_settle);
    sim.Drive();
    EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
    EXPECT_THAT(sim.Obstacles(), ElementsAre("WAITS_UNTIL_IDLE"));
    sim.Advance(sim.policy.cordon_patience / 4);
    sim.Drive();
    EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
    EXPECT_THAT(sim.Obstacles(), Contains("AGENT_SILENT"));
    const absl::Time late = sim.node("g100")->reconfigure_time + sim.policy.cordon_patience;
    if (tells) {
      ASSERT_TRUE(sim.Report("g100", ReportNode::Observation::kCordoned).ok());
      sim.Drive();
      EXPECT_EQ(sim.last_plan.due, sim.now() + sim.policy.cordon_settle);
      sim.Advance(sim.policy.cordon_settle);
    } else {
      EXPECT_EQ(sim.last_plan.due, late);
      sim.Advance(late - sim.now());
    }
    sim.Drive();
    EXPECT_EQ(sim.node("g100")->state, NodeState::kReconfiguring);
  }
}

// One that was chosen while its work was not to be evicted.
TEST(Reconfigure, WorkOnAChosenNodeIsEvictedOnceItMayBe) {
  Outdated sim(1);
  sim.SetActive("g100", true);
  sim.Ask();
  sim.Live();
  ASSERT_TRUE(sim.node("g100")->desired.cordoned);
  sim.Control(ControlVerb::kCancel);
  sim.Ask({.evict_active = true});
  ASSERT_TRUE(sim.node("g100")->desired.cordoned) << "no plan came between";
  sim.Live();
  EXPECT_THAT(sim.On(kNewerProfile), ElementsAre("g100"));
}

// What an order that is over had chosen is not the next one's.
TEST(Reconfigure, NothingOfACancelledOrderIsCarriedOutByTheNext) {
  for (const bool others : {true, false}) {
    SCOPED_TRACE(others);
    Outdated sim(2);
    sim.SetActive("g100", true);
    sim.SetActive("g101", true);
    sim.blocked_by = {{"g100", "default/web-pdb"}};
    sim.Ask({.machines = {"g100"}, .evict_active = true});
    sim.Live();
    ASSERT_TRUE(sim.node("g100")->desired.drain);
    sim.Control(ControlVerb::kCancel);
    if (others) {
      sim.Ask({.machines = {"g101"}});
    } else {
      sim.Ask();
    }
    ASSERT_TRUE(sim.node("g100")->desired.drain) << "no plan came between";
    sim.blocked_by.clear();
    sim.Live();
    EXPECT_FALSE(sim.node("g100")->desired.drain);
    EXPECT_TRUE(sim.node("g100")->observed.active) << "its work is not evicted";
    sim.SetActive("g100", false);
    sim.Live();
    EXPECT_EQ(sim.On(kNewerProfile).size(), others ? 0U : 1U);
  }
}

// The drain is another's: it is not taken back, nor asked for again and again.
TEST(Reconfigure, AChosenNodeThatIsOrderedToDrainIsLeftToThatOrder) {
  Outdated sim(1);
  sim.SetActive("g100", true);
  sim.blocked_by = {{"g100", "default/web-pdb"}};
  sim.Ask();
  sim.Live();
  sim.Must(OrderNode{.name = NodeName(kSimPool, "g100"), .verb = OrderNode::Verb::kDrain});
  ASSERT_TRUE(sim.Converge());
  EXPECT_TRUE(sim.node("g100")->desired.drain);
}

TEST(Reconfigure, PauseLetsChosenNodesGoAndResumeGoesOn) {
  Outdated sim(2);
  sim.SetActive("g100", true);
  sim.SetActive("g101", true);
  sim.blocked_by = {{"g100", "default/web-pdb"}};
  sim.Ask({.evict_active = true});
  sim.Live();
  ASSERT_THAT(sim.Obstacles(), Contains("DRAIN_BLOCKED"));
  sim.Control(ControlVerb::kPause);
  sim.Live();
  EXPECT_FALSE(sim.node("g100")->desired.cordoned);
  EXPECT_FALSE(sim.node("g100")->desired.drain);
  // Nothing is left of the drain that is over.
  EXPECT_THAT(sim.Obstacles(), ElementsAre("RECONFIGURATION_PAUSED"));
  sim.Advance(absl::Hours(1));
  sim.Live();
  EXPECT_THAT(sim.On(kNewerProfile), IsEmpty());
  sim.blocked_by.clear();
  sim.Control(ControlVerb::kResume);
  sim.Live();
  EXPECT_THAT(sim.On(kNewerProfile), UnorderedElementsAre("g100", "g101"));
}

TEST(Reconfigure, CancelEndsIt) {
  Outdated sim(2);
  sim.SetActive("g100", true);
  sim.SetActive("g101", true);
  sim.Ask();
  sim.Live();
  sim.Control(ControlVerb::kCancel);
  sim.Control(ControlVerb::kCancel);
  sim.Live();
  EXPECT_EQ(sim.how(), RState::kCancelled);
  EXPECT_FALSE(sim.node("g100")->desired.cordoned);
  sim.SetActive("g100", false);
  sim.Live();
  EXPECT_THAT(sim.On(kNewerProfile), IsEmpty());
  EXPECT_FALSE(
      sim.Run(ControlReconfiguration{.name = kSimPool, .verb = ControlVerb::kResume}).ok());
}

TEST(Reconfigure, HaltsByItselfWhenABootFailsAndResumes) {
  Outdated sim(3);
  sim.boot_fails = {"g100"};
  sim.Ask();
  sim.Live();
  EXPECT_EQ(sim.how(), RState::kHalted);
  EXPECT_THAT(sim.pool()->reconfiguration->failed_machines, ElementsAre("g100"));
  EXPECT_THAT(sim.broken(), ElementsAre("g100"));
  EXPECT_THAT(sim.Obstacles(), Contains("RECONFIGURATION_HALTED"));
  EXPECT_THAT(sim.On(kNewerProfile), ElementsAre("g103"));  // the one that came instead
  sim.Control(ControlVerb::kResume);
  sim.Live();
  EXPECT_EQ(sim.how(), RState::kDone);
  EXPECT_EQ(sim.On(kNewerProfile).size(), 3U);
}

TEST(Reconfigure, ARebootThatNeverEndsTimesOut) {
  Outdated sim(2);
  sim.stuck = {"g100"};
  sim.Ask();
  sim.Live();
  EXPECT_EQ(sim.last_plan.due, sim.node("g100")->desired.phase_time + sim.policy.boot_deadline);
  sim.Advance(sim.policy.boot_deadline);
  sim.Live();
  EXPECT_THAT(sim.broken(), ElementsAre("g100"));
  EXPECT_EQ(sim.how(), RState::kHalted);
}

// A release in the middle: who is rebooting comes back with what it was sent to, and goes again.
TEST(Reconfigure, ANewReleaseInTheMiddleIsReachedByAll) {
  Outdated sim(3);
  sim.stuck = {"g101"};
  sim.Ask();
  sim.Live();
  ASSERT_THAT(sim.In(NodeState::kReconfiguring), ElementsAre("g101"));
  sim.Stage(kNewest);
  sim.Live();
  EXPECT_EQ(sim.node("g101")->desired.node_profile, kNewerProfile);
  sim.stuck.clear();
  sim.Live();
  EXPECT_EQ(sim.On(kNewest).size(), 3U);
  EXPECT_EQ(sim.how(), RState::kDone);
}

// So many Nodes, up to date, and one more that boots and keeps a promotion of np-000000000003
// waiting.
struct Promoting : Outdated {
  explicit Promoting(int64_t nodes) : Outdated(nodes) {
    Ask();
    Live();
    stuck = {absl::StrCat("g", 100 + nodes)};
    Resize(nodes + 1);
    Live();
    Pend(kNewest);
    Promote();
    Live();
  }
};

// Asked for while a promotion waits, they are of what is promoted.
TEST(Reconfigure, WaitsForAConfigurationThatIsToBeActive) {
  Promoting sim(8);
  ASSERT_EQ(sim.pool()->status.node_profile, kNewerProfile) << "the promotion waits for g108";
  sim.Ask({.max_unavailable = "100%"});
  sim.Live();
  EXPECT_EQ(sim.how(), RState::kRunning);
  EXPECT_THAT(sim.ObstacleTexts(),
              Contains("WAITS_FOR_CONFIGURATION nobody: Reconfigure reboots wait for the "
                       "configuration that is to be active."));
  sim.stuck.clear();
  sim.Live();
  EXPECT_EQ(sim.how(), RState::kDone);
  EXPECT_EQ(sim.pool()->reconfiguration->rebooted_nodes, 9);
  EXPECT_EQ(sim.On(kNewest).size(), 9U);
  EXPECT_THAT(sim.Obstacles(), IsEmpty());
}

// Also where all are outdated already: each reboots once, and as its preview told.
TEST(Reconfigure, NoNodeRebootsTwiceBecauseAPromotionWaits) {
  Outdated sim(8);
  sim.stuck = {"g108"};
  sim.Resize(9);
  sim.Live();
  sim.Pend(kNewest);
  sim.Promote();
  sim.Live();
  ASSERT_EQ(sim.pool()->status.node_profile, kNewerProfile) << "the promotion waits for g108";
  sim.Ask({.max_unavailable = "100%"});
  sim.Live();
  EXPECT_THAT(sim.In(NodeState::kReconfiguring), IsEmpty());
  EXPECT_EQ(sim.On(kSimProfile).size(), 8U);
  EXPECT_THAT(sim.Obstacles(), Contains("WAITS_FOR_CONFIGURATION"));
  sim.stuck.clear();
  sim.Live();
  EXPECT_EQ(sim.how(), RState::kDone);
  EXPECT_EQ(sim.pool()->reconfiguration->rebooted_nodes, 9);
  EXPECT_EQ(sim.On(kNewest).size(), 9U);
}

// Who waits for it goes on working.
TEST(Reconfigure, NoNodeIsKeptFromWorkUntilAConfigurationIsActive) {
  Promoting sim(2);
  sim.Ask();
  sim.Live();
  EXPECT_FALSE(sim.node("g100")->desired.cordoned);
  sim.Control(ControlVerb::kCancel);
  sim.Live();
  EXPECT_EQ(sim.how(), RState::kCancelled);
  EXPECT_THAT(sim.Obstacles(), Not(Contains("WAITS_FOR_CONFIGURATION")));
}

// What became active meanwhile is not known.
TEST(Reconfigure, IsNotDoneWhileConfigurationIsAway) {
  Outdated sim(2);
  sim.Ask();
  sim.Live();
  sim.Stage(kNewest);
  sim.configuration_away = true;
  sim.Ask();
  sim.Live();
  EXPECT_EQ(sim.how(), RState::kRunning);
  EXPECT_THAT(sim.Obstacles(), Contains("WAITS_FOR_CONFIGURATION"));
  sim.configuration_away = false;
  sim.Live();
  EXPECT_EQ(sim.how(), RState::kDone);
  EXPECT_EQ(sim.pool()->reconfiguration->rebooted_nodes, 2);
  EXPECT_THAT(sim.On(kNewest), UnorderedElementsAre("g100", "g101"));
}

// Where there is no Node none can become outdated: new ones boot straight into what is active.
TEST(Reconfigure, OfNoNodesIsDoneAtOnce) {
  Simulation sim;
  sim.Create(0);
  ASSERT_TRUE(sim.Converge());
  sim.configuration_away = true;
  sim.Must(ReconfigureNodePool{.name = kSimPool});
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.pool()->reconfiguration->state, RState::kDone);
}

// A boot that fails after something newer was staged is a failure of what was booted.
TEST(Reconfigure, AFailureCountsAgainstTheProfileThatWasBooted) {
  Simulation sim;
  sim.stuck = {"g100"};
  sim.Create(1);
  sim.Drive();
  using O = ReportNode::Observation;
  ASSERT_TRUE(sim.Report("g100", O::kBootStarted).ok());
  ASSERT_TRUE(sim.Run(ReportNode{.node = NodeName(kSimPool, "g100"),
                                 .observation = O::kRegistered,
                                 .node_profile = kSimProfile})
                  .ok());
  sim.Stage(kNewerProfile);
  sim.Drive();
  ASSERT_EQ(sim.node("g100")->desired.node_profile, kNewerProfile);
  ASSERT_TRUE(sim.Report("g100", O::kBootFailed, "the kubelet does not answer").ok());
  EXPECT_EQ(sim.pool()->account.boot_failures.node_profile, kSimProfile);
}

}  // namespace
}  // namespace muster::lifecycle
