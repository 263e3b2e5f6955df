// Unhealthy Nodes, replacements that come first, and configurations that boot badly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/boot_failures.h"
#include "services/lifecycle/core/testing/simulation.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using O = ReportNode::Observation;

// Two Nodes, of whom g100 is unhealthy.
struct Sick : Simulation {
  explicit Sick(
      const std::function<void(Spec&)>& change = [](Spec&) {}, bool active = false) {
    Apply([&](Spec& spec) {
      spec.target_nodes = 2;
      change(spec);
    });
    Live();
    SetActive("g100", active);
    begin = told().size();
    if (!Report("g100", O::kUnhealthy, "Xid 79").ok()) std::abort();
    Live();
  }
  void Live() {
    if (!Converge()) std::abort();
  }
  void PassGrace() {
    Advance(policy.triage_grace);
    Live();
  }
  size_t begin = 0;
};

void PrefillOn(Spec& spec) { spec.prefill = Prefill{true, 600, 1}; }

TEST(Triage, AnUnhealthyNodeIsCordonedAndReplacedUnlessItRecovers) {
  Sick sim;
  EXPECT_EQ(sim.node("g100")->state, NodeState::kTriage);
  EXPECT_TRUE(sim.node("g100")->desired.cordoned);
  EXPECT_THAT(sim.Obstacles(), Contains("WAITS_FOR_RECOVERY"));
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  sim.PassGrace();
  EXPECT_THAT(sim.broken(), ElementsAre("g100"));
  EXPECT_THAT(sim.machines(), ElementsAre("g101", "g102"));
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  // It was cordoned once.
  const auto reasons = sim.ReasonsSince(sim.begin, "g100");
  EXPECT_EQ(std::count(reasons.begin(), reasons.end(), "CWNodeCordoned"), 1);
}

// It is seen where people look: on the pool, and with the agent's words on the Node.
TEST(Triage, ThePoolNamesUnhealthyNodesAndTheNodeHasTheAgentsWords) {
  Sick sim;
  EXPECT_EQ(sim.Says("AtTarget"), "True/TargetMet: 2 of 2 Nodes present, 1 unhealthy (g100).");
  EXPECT_THAT(sim.ReasonsSince(sim.begin, "g100"), Contains("CWNodeUnhealthy"));
  EXPECT_EQ(sim.told()[sim.begin].message, "Node g100 is unhealthy: Xid 79.");
  ASSERT_TRUE(sim.Report("g100", O::kRecovered).ok());
  sim.Live();
  EXPECT_EQ(sim.Says("AtTarget"), "True/TargetMet: NodePool has reached its target node count.");
}

TEST(Triage, ANodeThatRecoversInTimeStays) {
  Sick sim;
  ASSERT_TRUE(sim.Report("g100", O::kRecovered).ok());
  sim.PassGrace();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
  EXPECT_THAT(sim.ReasonsSince(sim.begin, "g100"),
              ElementsAre("CWNodeUnhealthy", "CWNodeCordoned", "CWNodeTainted", "CWNodeUncordoned",
                          "CWNodeUntainted"));
}

TEST(Triage, ANodeThatRecoversBeforeItsDrainIsLetGo) {
  Sick sim;
  sim.Advance(sim.policy.triage_grace);
  EXPECT_THAT(sim.Obstacles(), Not(Contains("GIVE_UP_LIMIT"))) << "it is given up";
  sim.Pass();
  ASSERT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  ASSERT_TRUE(sim.Report("g100", O::kRecovered).ok());
  sim.Live();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
  EXPECT_THAT(sim.broken(), IsEmpty());
}

// disableUnhealthyNodeEviction true (our default): "cordoned and waits until it is idle before it
// is replaced".
TEST(Triage, WithEvictionDisabledItWaitsUntilItIsIdle) {
  Sick sim([](Spec&) {}, /*active=*/true);
  sim.PassGrace();
  sim.Advance(absl::Hours(9));
  sim.Live();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kTriage);
  EXPECT_THAT(sim.Obstacles(), Contains("WAITS_UNTIL_IDLE"));
  EXPECT_THAT(sim.Obstacles(), Not(Contains("GIVE_UP_LIMIT")));
  sim.SetActive("g100", false);
  sim.Live();
  EXPECT_THAT(sim.broken(), ElementsAre("g100"));
}

// "false: it is drained and replaced".
TEST(Triage, WithEvictionItIsDrainedAndReplaced) {
  Sick sim([](Spec& spec) { spec.disable_unhealthy_node_eviction = false; }, /*active=*/true);
  sim.PassGrace();
  EXPECT_THAT(sim.broken(), ElementsAre("g100"));
  EXPECT_THAT(sim.machines(), ElementsAre("g101", "g102"));
}

// What the field says holds for one that drains already, too: its work has a deadline, or none.
// An ill Node is lost already, but those that are taken away are no more than the budget allows.
TEST(Triage, RepairsKeepToTheBudget) {
  Sick sim(
      [](Spec& spec) {
        spec.disable_unhealthy_node_eviction = false;
        spec.max_unavailable = "1";
      },
      /*active=*/true);
  sim.stuck = {"g100", "g101"};
  sim.SetActive("g101", true);
  ASSERT_TRUE(sim.Report("g101", O::kUnhealthy, "Xid 79").ok());
  sim.OthersTake(200);
  sim.PassGrace();
  sim.Advance(sim.policy.give_up_interval);
  sim.Live();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kDraining);
  EXPECT_EQ(sim.node("g101")->state, NodeState::kTriage);
}

TEST(Triage, ADrainThatBeganFollowsTheField) {
  Sick sim;
  sim.StopClock();
  sim.busy = {"g100"};
  for (const absl::Duration wait : {sim.policy.triage_grace, sim.policy.cordon_settle}) {
    sim.Advance(wait);
    sim.Pass();
  }
  ASSERT_EQ(sim.node("g100")->state, NodeState::kDraining);
  sim.SetActive("g100", true);  // too late to be let go
  for (const bool evicts : {false, true, false, true}) {
    sim.Apply([&](Spec& spec) { spec.disable_unhealthy_node_eviction = !evicts; });
    sim.Pass();
    EXPECT_EQ(sim.node("g100")->desired.drain_deadline,
              evicts ? sim.now() + sim.policy.drain_deadline : kNever);
  }
  sim.Advance(sim.policy.drain_deadline);
  sim.Pass();
  EXPECT_TRUE(sim.node("g100")->desired.force_drain);
}

// A Node in triage that still works keeps serving; once idle it is labelled as what it is.
TEST(Triage, TheLabelSaysTriageOnceNoWorkIsLeft) {
  Sick sim([](Spec&) {}, /*active=*/true);
  const auto label = [&] {
    return sim.node("g100")->desired.labels.at("node.coreweave.cloud/state");
  };
  EXPECT_EQ(label(), "production");
  sim.SetActive("g100", false);
  EXPECT_EQ(label(), "triage");
  EXPECT_EQ(sim.node("g100")->desired.labels.at("node.coreweave.cloud/reserved"), "triage");
}

TEST(PrefillReplacement, ComesFirst) {
  Sick sim(PrefillOn);
  sim.Advance(sim.policy.triage_grace);
  sim.Drive();
  // The replacement was asked for while the Node is still there.
  EXPECT_NE(sim.node("g102"), nullptr);
  sim.Live();
  EXPECT_THAT(sim.broken(), ElementsAre("g100"));
  EXPECT_THAT(sim.machines(), ElementsAre("g101", "g102"));
  EXPECT_EQ(sim.pool()->account.prefill_nodes, 0);
  EXPECT_EQ(sim.holding(), 2);
  EXPECT_TRUE(sim.never_over && sim.fenced);
}

TEST(PrefillReplacement, TheNodeStaysUntilItTakesWorkOrTheTimeIsOver) {
  Sick sim(PrefillOn);
  sim.stuck = {"g102"};
  sim.PassGrace();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kTriage);
  EXPECT_EQ(sim.pool()->account.prefill_nodes, 1);
  EXPECT_THAT(sim.Obstacles(), Contains("WAITS_FOR_REPLACEMENT"));
  EXPECT_THAT(sim.Obstacles(), Not(Contains("GIVE_UP_LIMIT")));
  sim.Advance(absl::Minutes(9));
  sim.Drive();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kTriage);
  sim.Advance(absl::Minutes(1));
  sim.Live();
  EXPECT_EQ(sim.node("g100"), nullptr);
  sim.stuck.clear();
  sim.Live();
  EXPECT_THAT(sim.machines(), ElementsAre("g101", "g102"));
}

TEST(PrefillReplacement, WithoutQuotaTheNodeGoesFirst) {
  Sick sim(PrefillOn);
  sim.limit = 2;
  sim.PassGrace();
  EXPECT_THAT(sim.broken(), ElementsAre("g100"));
  EXPECT_THAT(sim.machines(), SizeIs(2));
  // The target itself is within quota, and nobody was told otherwise.
  EXPECT_EQ(sim.Reason("Quota"), "Under");
  EXPECT_EQ(sim.CountOf("CWOverQuota"), 0);
}

// Of a pool of so many Nodes with that prefill `ill` have been so for long enough; `stuck` do not
// boot.
void HaveIll(Simulation& sim, int64_t nodes, const Prefill& prefill,
             const std::vector<std::string>& ill, const std::set<std::string>& stuck) {
  sim.Apply([&](Spec& spec) {
    spec.target_nodes = nodes;
    spec.prefill = prefill;
  });
  ASSERT_TRUE(sim.Converge());
  for (const std::string& machine : ill)
    ASSERT_TRUE(sim.Report(machine, O::kUnhealthy, "Xid 79").ok());
  sim.stuck = stuck;
  sim.Advance(sim.policy.triage_grace);
  sim.Drive();
}

TEST(PrefillReplacement, NoMoreThanMaxNodesAtATime) {
  Simulation sim;
  HaveIll(sim, 4, Prefill{true, 0, 2}, {"g100", "g101", "g102"}, {"g104", "g105"});
  EXPECT_EQ(sim.pool()->account.prefill_nodes, 2);
  EXPECT_THAT(sim.machines(), SizeIs(6));
  sim.stuck.clear();
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.broken(), ElementsAre("g100", "g101", "g102"));
  EXPECT_THAT(sim.machines(), SizeIs(4));
}

// One that is to be rebooted when it is idle asks for nothing, and keeps no place.
TEST(PrefillReplacement, OneThatIsToBeRebootedIsInNobodysWay) {
  Simulation sim;
  HaveIll(sim, 3, Prefill{true, 600, 1}, {"g100"}, {"g103", "g104"});
  ASSERT_NE(sim.node("g100")->replace_time, kNever);
  sim.SetActive("g100", true);
  sim.Apply([](Spec& spec) { spec.disable_unhealthy_node_eviction = false; });
  const OrderNode reboot{.name = NodeName(kSimPool, "g100"),
                         .verb = OrderNode::Verb::kReboot,
                         .reboot = Reboot::kWhenIdle};
  ASSERT_TRUE(sim.Run(reboot).ok());
  ASSERT_TRUE(sim.Report("g101", O::kUnhealthy, "Xid 79").ok());
  sim.Advance(sim.policy.triage_grace);
  sim.Drive();
  EXPECT_NE(sim.node("g101")->replace_time, kNever);
}

// One that is to go once it is idle is no replacement.
TEST(PrefillReplacement, OneThatTheTargetWasLoweredForIsNone) {
  Simulation sim;
  sim.Apply([](Spec& spec) {
    spec.target_nodes = 3;
    spec.prefill = Prefill{true, 600, 1};
  });
  ASSERT_TRUE(sim.Converge());
  sim.SetActive("g102", true);
  sim.Must(ResizeNodePool{.name = kSimPool, .remove_machines = {"g102"}});
  ASSERT_TRUE(sim.Converge());
  sim.stuck = {"g103"};
  ASSERT_TRUE(sim.Report("g100", O::kUnhealthy, "Xid 79").ok());
  sim.Advance(sim.policy.triage_grace);
  sim.Drive();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kTriage);
  EXPECT_NE(sim.node("g103"), nullptr);
  sim.stuck.clear();
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.machines(), ElementsAre("g101", "g102", "g103"));
  sim.SetActive("g102", false);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.machines(), ElementsAre("g101", "g103"));
  EXPECT_EQ(sim.pool()->account.prefill_nodes, 0);
}

// The autoscaler's mark alone asks for nobody's removal.
TEST(PrefillReplacement, OneThatIsMarkedWaitsForItAsBefore) {
  for (const bool recovers : {false, true}) {
    SCOPED_TRACE(recovers);
    Sick sim(PrefillOn);
    sim.OthersTake(100);
    sim.PassGrace();
    const absl::Time since = sim.node("g100")->replace_time;
    ASSERT_NE(since, kNever);
    for (const O said : {O::kAutoscalerMarked, O::kAutoscalerUnmarked, O::kAutoscalerMarked}) {
      ASSERT_TRUE(sim.Report("g100", said).ok());
      sim.Drive();
      ASSERT_EQ(sim.node("g100")->state, NodeState::kTriage);
      EXPECT_EQ(sim.node("g100")->replace_time, since);
      EXPECT_EQ(sim.pool()->account.prefill_nodes, 1);
    }
    if (recovers) {
      ASSERT_TRUE(sim.Report("g100", O::kRecovered).ok());
    } else {
      sim.OthersLeave();
    }
    sim.Live();
    EXPECT_EQ(sim.pool()->account.prefill_nodes, 0);
    EXPECT_EQ(sim.NodeMachines().size(), 2);
    EXPECT_EQ(sim.NodeMachines().contains("g100"), recovers);
    EXPECT_EQ(sim.broken().contains("g100"), !recovers);
  }
}

// The target is lowered for it, marked before or not: it goes, and nobody comes for it.
TEST(PrefillReplacement, OneThatTheTargetIsLoweredForIsAwaitedByNobody) {
  for (const bool marked : {false, true}) {
    SCOPED_TRACE(marked);
    Sick sim(PrefillOn);
    sim.OthersTake(100);
    sim.PassGrace();
    if (marked) (void)sim.Report("g100", O::kAutoscalerMarked);
    ASSERT_EQ(sim.pool()->account.prefill_nodes, 1);
    const size_t begin = sim.told().size();
    sim.Must(ResizeNodePool{.name = kSimPool, .remove_machines = {"g100"}});
    EXPECT_EQ(sim.pool()->spec.target_nodes, 1);
    EXPECT_EQ(sim.pool()->account.prefill_nodes, 1) << "as long as it is here";
    EXPECT_EQ(sim.node("g100")->replace_time, kNever);
    sim.OthersLeave();
    sim.Live();
    EXPECT_THAT(sim.NodeMachines(), ElementsAre("g101"));
    EXPECT_THAT(sim.ReasonsSince(begin), Not(Contains("CWNodeAssigned")));
    EXPECT_EQ(sim.pool()->account.prefill_nodes, 0);
    EXPECT_EQ(sim.holding(), 1);
  }
}

// The target rises again before it goes: its replacement is asked for again.
TEST(PrefillReplacement, OneThatTheTargetIsLoweredForNoMoreIsAwaitedAgain) {
  Sick sim(PrefillOn);
  sim.OthersTake(100);
  sim.PassGrace();
  sim.Must(ResizeNodePool{.name = kSimPool, .remove_machines = {"g100"}});
  ASSERT_NE(sim.node("g100")->asked_to_go_time, kNever);
  sim.Resize(2);
  EXPECT_EQ(sim.node("g100")->asked_to_go_time, kNever);
  sim.Drive();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kTriage);
  EXPECT_NE(sim.node("g100")->replace_time, kNever);
  EXPECT_EQ(sim.pool()->account.prefill_nodes, 1);
  sim.OthersLeave();
  sim.Live();
  EXPECT_THAT(sim.broken(), ElementsAre("g100"));
  EXPECT_EQ(sim.NodeMachines().size(), 2);
}

// One that is to go anyway takes nobody's replacement.
TEST(PrefillReplacement, IsNotThatOfOneThatGoesAnyway) {
  Simulation sim;
  sim.Apply([](Spec& spec) {
    spec.target_nodes = 3;
    spec.prefill = Prefill{true, 600, 1};
  });
  ASSERT_TRUE(sim.Converge());
  sim.OthersTake(100);
  for (const char* machine : {"g100", "g101"})
    ASSERT_TRUE(sim.Report(machine, O::kUnhealthy, "Xid 79").ok());
  sim.SetActive("g101", true);
  sim.Must(ResizeNodePool{.name = kSimPool, .remove_machines = {"g101"}});
  sim.Drive();
  sim.Advance(sim.policy.triage_grace);
  sim.Drive();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kTriage) << "g102 was there before";
  EXPECT_NE(sim.node("g100")->replace_time, kNever);
  EXPECT_EQ(sim.node("g101")->state, NodeState::kTriage) << "it has work";
}

// What keeps it here otherwise, keeps no place for another.
TEST(PrefillReplacement, IsAskedForNoMoreOnceThatIsSwitchedOff) {
  Sick sim(PrefillOn);
  sim.OthersTake(100);
  sim.PassGrace();
  ASSERT_EQ(sim.pool()->status.queued_nodes, 1);
  sim.SetActive("g100", true);
  sim.Apply([](Spec& spec) { spec.prefill.reset(); });
  sim.Live();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kTriage);
  EXPECT_EQ(sim.pool()->account.prefill_nodes, 0);
  EXPECT_EQ(sim.pool()->status.queued_nodes, 0);
  EXPECT_EQ(sim.holding(), 2);
  sim.OthersLeave();
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), ElementsAre("g100", "g101"));
  sim.SetActive("g100", false);
  sim.Live();
  EXPECT_THAT(sim.broken(), ElementsAre("g100"));
}

// Work came to one that waits for its replacement: nobody waits for it.
TEST(PrefillReplacement, OneThatWorkCameToIsInNobodysWay) {
  for (const bool comes : {true, false}) {
    SCOPED_TRACE(comes);
    Simulation sim;
    HaveIll(sim, 3, Prefill{true, 600, 1}, {"g100"}, {"g103", "g104"});
    ASSERT_NE(sim.node("g100")->replace_time, kNever);
    sim.SetActive("g100", true);
    if (comes) {
      sim.stuck.clear();
      sim.Drive();
    }
    ASSERT_TRUE(sim.Report("g101", O::kUnhealthy, "Xid 79").ok());
    sim.Advance(sim.policy.triage_grace);
    sim.Pass();
    EXPECT_EQ(sim.node("g101")->replace_time == kNever, comes) << "it takes what is there";
    sim.Drive();
    if (!comes) {
      EXPECT_EQ(sim.node("g101")->state, NodeState::kTriage);
      sim.Advance(absl::Seconds(600));
      sim.Drive();
    }
    EXPECT_EQ(sim.node("g101")->removal_cause, RemovalCause::kRepair);
    EXPECT_EQ(sim.node("g100")->state, NodeState::kTriage);
  }
}

// spec.prefill.maxNodes: "0 means 1".
TEST(PrefillReplacement, OneAtATimeUnlessMoreIsSaid) {
  Simulation sim;
  HaveIll(sim, 3, Prefill{true, 0, 0}, {"g100", "g101"}, {"g103"});
  EXPECT_EQ(sim.pool()->account.prefill_nodes, 1);
  EXPECT_THAT(sim.machines(), SizeIs(4));
}

TEST(PrefillReplacement, ANodeThatRecoversMakesItSuperfluous) {
  Sick sim(PrefillOn);
  sim.stuck = {"g102"};
  sim.PassGrace();
  ASSERT_TRUE(sim.Report("g100", O::kRecovered).ok());
  sim.stuck.clear();
  sim.Live();
  EXPECT_THAT(sim.machines(), SizeIs(2));
  EXPECT_EQ(sim.holding(), 2);
  EXPECT_THAT(sim.broken(), IsEmpty());
}

// --- the breaker ---

struct BrokenBoots : Simulation {
  BrokenBoots() {
    Create(1);
    if (!Converge()) std::abort();
    boot_failure = 1;
    Resize(5);
    if (!Converge()) std::abort();
  }
};

TEST(Breaker, ADisabledConfigurationRequestsNothingMore) {
  BrokenBoots sim;
  EXPECT_TRUE(sim.pool()->status.revisions[0].disabled);
  EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
  const auto broken = sim.broken();
  EXPECT_THAT(broken, Not(IsEmpty()));
  sim.Advance(absl::Hours(1));
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.broken(), broken);
  EXPECT_THAT(sim.Obstacles(), Contains("CONFIGURATION_DISABLED"));
  for (const Node* node : sim.state().NodesOf(kSimPool)) {
    EXPECT_TRUE(node->state == NodeState::kProduction || node->desired.phase == Phase::kUndecided);
  }
}

int64_t Counted(const Simulation& sim) {
  const Status& status = sim.pool()->status;
  return status.queued_nodes + status.in_progress + status.current_nodes;
}

// The first configuration of a pool never boots.
TEST(Breaker, ADisabledConfigurationIsSaidAndWhatCannotBootIsGivenBack) {
  Simulation sim;
  sim.boot_failure = 1;
  sim.Create(4);
  ASSERT_TRUE(sim.Converge());
  const std::string why =
      "Configuration np-000000000001 is disabled: too many boots failed, and no further Node boots "
      "into it.";
  EXPECT_EQ(sim.Says("NodeReconfigurationRequired"), "Unknown/InternalError: " + why);
  EXPECT_THAT(sim.ObstacleTexts(), Contains("CONFIGURATION_DISABLED operator: " + why));
  EXPECT_THAT(sim.machines(), Not(IsEmpty()));
  EXPECT_EQ(Counted(sim), 4);
  sim.Resize(6);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(Counted(sim), 6);
  sim.Advance(kUnbootableGrace);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.machines(), IsEmpty());
  EXPECT_EQ(Counted(sim), 6);
  sim.boot_failure = 0;
  sim.Enable(kSimProfile);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  EXPECT_EQ(sim.Reason("NodeReconfigurationRequired"), "AllNodesUpToDate");
}

TEST(Breaker, AnotherProfileHeals) {
  BrokenBoots sim;
  sim.boot_failure = 0;
  sim.Stage(kNewerProfile);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  EXPECT_THAT(sim.machines(), SizeIs(5));
}

TEST(Breaker, EnablingItAgainHealsAndCountsAnew) {
  BrokenBoots sim;
  sim.boot_failure = 0;
  sim.Enable(kSimProfile);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  EXPECT_THAT(sim.machines(), SizeIs(5));
  EXPECT_THAT(sim.pool()->account.boot_failures.machines, IsEmpty());
}

TEST(Breaker, WhatFailedBeforeItWasEnabledIsNotCounted) {
  Pool pool;
  pool.status.revisions = {{.node_profile = kSimProfile, .enable_count = 1}};
  pool.account.boot_failures = {kSimProfile, 0, {"g1", "g2"}};
  Node node;
  node.machine = "g3";
  node.state = NodeState::kBooting;
  node.desired.node_profile = kSimProfile;
  CountBootFailure(pool, node);
  EXPECT_EQ(pool.account.boot_failures, (BootFailures{kSimProfile, 1, {"g3"}}));
}

TEST(Breaker, ASuccessBetweenFailuresResetsTheCount) {
  Simulation sim;
  sim.boot_fails = {"g100", "g101", "g103", "g104"};
  sim.Create(1);  // fails twice, then g102 comes up
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.CountOf("CWNodeDeliverFail"), 2);
  sim.Resize(2);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.CountOf("CWNodeDeliverFail"), 4);
  EXPECT_EQ(sim.CountOf("CWNodePoolDisabled"), 0);
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
}

// "all others through the Eviction API, so that disruption budgets hold"
TEST(Triage, WhatIsEvictedIsNotThrownOffByATaint) {
  Sick sim([](Spec& spec) { spec.disable_unhealthy_node_eviction = false; }, /*active=*/true);
  sim.busy = {"g100"};
  sim.PassGrace();
  ASSERT_EQ(sim.node("g100")->state, NodeState::kDraining);
  ASSERT_TRUE(sim.node("g100")->observed.active);
  EXPECT_EQ(sim.node("g100")->desired.labels.at("node.coreweave.cloud/state"), "production");
  for (const Taint& taint : sim.node("g100")->desired.taints)
    EXPECT_NE(taint.effect, "NoExecute") << taint.key;
}

// "leaves once its replacement takes work"
TEST(Triage, ALimitThatFallsSendsNobodyAwayBeforeItsReplacement) {
  Sick sim(PrefillOn);
  sim.stuck = {"g102"};
  sim.PassGrace();
  ASSERT_EQ(sim.node("g100")->state, NodeState::kTriage);
  ASSERT_NE(sim.node("g102"), nullptr);
  sim.limit = 2;
  sim.Live();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kTriage);
}

TEST(Triage, WhoIsLetStayGoesOnBeingLookedAt) {
  Sick sim;
  sim.Resize(1);
  sim.Pass();
  ASSERT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  sim.Resize(2);
  sim.Pass();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kTriage);
  EXPECT_TRUE(sim.node("g100")->desired.cordoned);
}

// "An unhealthy one without work keeps the taint all the way out": whatever it leaves for.
TEST(Triage, TheTaintStaysOnWhoeverLeaves) {
  for (const bool deletes : {true, false}) {
    Sick sim;
    ASSERT_EQ(sim.node("g100")->desired.labels.at("node.coreweave.cloud/state"), "triage");
    deletes ? sim.Delete() : sim.Resize(1);
    sim.Pass();
    ASSERT_EQ(sim.node("g100")->state, NodeState::kCordoned);
    EXPECT_EQ(sim.node("g100")->desired.labels.at("node.coreweave.cloud/state"), "triage");
    EXPECT_EQ(sim.CountOf("CWNodeUntainted"), 0);
  }
}

// Whatever it leaves for, its machine is given to nobody before it was looked at.
TEST(Triage, TheMachineOfWhoeverIsIllGoesToRepair) {
  for (const bool deletes : {true, false}) {
    SCOPED_TRACE(deletes);
    Sick sim;
    deletes ? sim.Delete() : sim.Resize(1);
    sim.Live();
    EXPECT_EQ(sim.node("g100"), nullptr);
    EXPECT_THAT(sim.broken(), ElementsAre("g100"));
  }
}

}  // namespace
}  // namespace muster::lifecycle
