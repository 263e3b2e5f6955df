// What keeps others waiting is told first, once, and with who must act.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/testing/told.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using O = ReportNode::Observation;

// Four Nodes under a budget of one, all with work; g100 is being drained and a Pod's budget holds
// it.
struct Held : Simulation {
  Held() {
    Apply([](Spec& spec) {
      spec.target_nodes = 4;
      spec.scale_down_strategy = ScaleDownStrategy::kPreferIdle;
      spec.max_unavailable = "1";
    });
    Live();
    for (const char* machine : {"g101", "g102", "g103"}) SetActive(machine, true, 5);
    SetActive("g100", true);
    blocked_by = {{"g100", "default/web-pdb"}};
    Resize(3);
    Live();
  }
  void Live() {
    if (!Converge()) std::abort();
  }
};

// "One drain held by a budget blocks repair, scale-down and reboots: explain must put the cause
// first, its actor, once."
TEST(Causes, ADrainThatIsHeldStandsBeforeAllThatWaitsForIt) {
  Held sim;
  ASSERT_EQ(sim.node("g100")->state, NodeState::kDraining);
  sim.Resize(1);
  sim.Stage(kNewerProfile);
  sim.Live();
  sim.Must(ReconfigureNodePool{.name = kSimPool, .evict_active = true, .max_unavailable = "100%"});
  sim.Live();
  const std::vector<std::string> texts = sim.ObstacleTexts();
  ASSERT_THAT(texts, ::testing::Not(IsEmpty()));
  EXPECT_EQ(texts[0], "DRAIN_BLOCKED user: Node g100 cannot be drained: default/web-pdb.");
  std::vector<std::string> waiting;
  for (const std::string& text : texts) {
    if (absl::StrContains(text, "DISRUPTION_BUDGET")) waiting.push_back(text);
  }
  ASSERT_THAT(waiting, SizeIs(1));
  EXPECT_THAT(waiting[0], HasSubstr("DISRUPTION_BUDGET user: "));
  EXPECT_THAT(waiting[0], HasSubstr("is used up by g100 (scale-down)"));
  EXPECT_THAT(waiting[0], HasSubstr("more Node"));
}

TEST(Causes, WithNothingInItsWayABudgetWaitsForNobody) {
  Held sim;
  sim.blocked_by.clear();
  sim.stuck = {"g100"};
  ASSERT_TRUE(sim.Report("g100", O::kDrainUnblocked).ok());
  sim.Resize(2);
  sim.Live();
  EXPECT_THAT(sim.ObstacleTexts()[0], HasSubstr("DISRUPTION_BUDGET nobody: "));
}

// "A Node in TRIAGE frees its budget slot, so that a second is evicted under budget 1."
TEST(Causes, ANodeInTriageKeepsItsSlotOfTheBudget) {
  Simulation sim;
  sim.Apply([](Spec& spec) {
    spec.target_nodes = 3;
    spec.max_unavailable = "1";
  });
  ASSERT_TRUE(sim.Converge());
  ASSERT_TRUE(sim.Report("g101", O::kUnhealthy, "Xid 79").ok());
  sim.Drive();
  ASSERT_EQ(sim.node("g101")->state, NodeState::kTriage);
  sim.SetActive("g101", true);  // no scale-down takes it
  sim.Drive();
  sim.Resize(2);
  sim.Drive();
  for (const char* machine : {"g100", "g102"})
    EXPECT_EQ(sim.node(machine)->state, NodeState::kProduction) << machine;
  EXPECT_THAT(sim.ObstacleTexts()[1],
              HasSubstr("maxUnavailable 1 (1 of 3 Nodes) is used up by g101 (unhealthy)."));
  // It is not in its own way, and two that are ill go one after the other.
  sim.SetActive("g101", false);
  ASSERT_TRUE(sim.Report("g102", O::kUnhealthy, "Xid 79").ok());
  sim.Resize(3);
  sim.stuck = {"g101", "g102"};
  sim.Drive();
  sim.Advance(sim.policy.triage_grace + sim.policy.give_up_interval);
  sim.Drive();
  const auto leaves = [&](const char* machine) {
    return sim.node(machine)->state != NodeState::kTriage;
  };
  EXPECT_NE(leaves("g101"), leaves("g102"));
}

// "Past a drain's deadline with a silent agent nobody is named."
TEST(Causes, AnAgentThatIsSilentPastADeadlineIsNamed) {
  Simulation sim;
  sim.Create(1, ScaleDownStrategy::kPreferIdle);
  ASSERT_TRUE(sim.Converge());
  sim.SetActive("g100", true);
  sim.stuck = {"g100"};
  sim.Resize(0);
  ASSERT_TRUE(sim.Converge());
  ASSERT_EQ(sim.node("g100")->state, NodeState::kDraining);
  EXPECT_THAT(
      sim.ObstacleTexts(),
      ElementsAre("LEAVING nobody: Nodes on their way out: 1. Still at work: g100 (default/job)."));
  sim.Advance(sim.policy.drain_deadline);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(
      sim.ObstacleTexts()[0],
      HasSubstr("AGENT_SILENT operator: The agent of Node g100 was to have it drained by "));
  ASSERT_TRUE(sim.Report("g100", O::kDrained).ok());
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.ObstacleTexts(),
              ElementsAre("LEAVING nobody: Nodes on their way out: 1. To be shut down by their "
                          "agents: 1."));
  // It does not end the Node either.
  sim.Advance(kTerminationGrace);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.ObstacleTexts()[0],
              HasSubstr("AGENT_SILENT operator: The agent of Node g100 was to terminate it at "));
  sim.stuck.clear();
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.Obstacles(), IsEmpty());
}

// Who waits for Nodes to leave is told what they wait for.
TEST(Causes, WhatHoldsLeavingNodesIsTold) {
  Simulation sim;
  sim.Create(3, ScaleDownStrategy::kPreferIdle);
  ASSERT_TRUE(sim.Converge());
  sim.SetActive("g100", true, 5);
  sim.stuck = {"g100", "g101", "g102"};
  sim.Resize(0);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.ObstacleTexts()[0],
              HasSubstr("Nodes on their way out: 3. Still at work: g100 (default/job and 4 more "
                        "Pods). To be drained: 2."));
}

// --- spot ---

struct Spot : Simulation {
  explicit Spot(int64_t nodes) {
    ApplySpot(nodes);
    if (!Converge()) std::abort();
    StopClock();
    OthersTake(200);
    for (const std::string& machine : NodeMachines()) Reclaim(machine, now());
    Drive();
  }
};

// "All Nodes preempted: the pool should say so, and by when."
TEST(Causes, APoolWhoseNodesAreAllPreemptedSaysSoAndByWhen) {
  Spot sim(2);
  EXPECT_EQ(sim.Says("AtTarget"),
            absl::StrCat("False/UnderTarget: 0 of 2 Nodes in service, 2 leaving (2 preempted, gone "
                         "by ",
                         absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", sim.now() + absl::Minutes(7),
                                          absl::UTCTimeZone()),
                         ")."));
}

// "A pool deleted or at 0 during a preemption's notice keeps idle Nodes until T+2."
TEST(Causes, APoolThatIsDoneWithAPreemptedNodeLetsItGoAtOnce) {
  for (const bool deleted : {true, false}) {
    SCOPED_TRACE(deleted);
    Spot sim(2);
    sim.SetActive("g101", true);
    sim.busy = {"g101"};
    deleted ? sim.Delete() : sim.Resize(0);
    sim.Drive();
    sim.Advance(sim.policy.cordon_settle);
    sim.Drive();
    EXPECT_EQ(sim.node("g100"), nullptr);
    ASSERT_NE(sim.node("g101"), nullptr);
    EXPECT_EQ(sim.node("g101")->state, NodeState::kCordoned) << "its notice is for its work";
  }
}

TEST(Causes, APreemptedNodeThatIsWantedKeepsItsNotice) {
  Spot sim(2);
  sim.Advance(absl::Seconds(119));
  sim.Drive();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kCordoned);
}

// --- rollbacks ---

// "a rollback from a broken configuration waits for its broken boots (up to 30 min): abort them".
struct BrokenRollout : Telling {
  explicit BrokenRollout(std::set<std::string> hang) : Telling(1) {
    Stage(kNewerProfile);
    Live();
    stuck = std::move(hang);
    Resize(3);
    for (int i = 0; i < 5; ++i) Pass();
    Drive();
  }
};

TEST(Causes, ARollbackFromABrokenConfigurationAbortsItsBoots) {
  BrokenRollout sim({"g101", "g102"});
  ASSERT_EQ(sim.node("g101")->desired.node_profile, kNewerProfile);
  sim.RollBackTo(kSimProfile);
  sim.stuck.clear();
  sim.Drive();
  EXPECT_EQ(sim.pool()->status.node_profile, kSimProfile) << "no deadline was waited for";
  const std::string why =
      "A Node is to be deleted: it boots a configuration that is rolled back from.";
  EXPECT_THAT(sim.PoolSays("CWNodeDeletionRequestSuccess"), ElementsAre(why));
  EXPECT_EQ(sim.CountOf("CWNodeDeletionRequestSuccess"), 2);
  sim.Live();
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  for (const Node* node : sim.state().NodesOf(kSimPool))
    EXPECT_EQ(node->observed.node_profile, kSimProfile);
  EXPECT_THAT(sim.broken(), IsEmpty()) << "the machines are sound";
}

// What boots elsewhere is waited for.
TEST(Causes, ARollbackFromOneThatBootsWaitsForItsBoots) {
  BrokenRollout sim({"g102"});
  ASSERT_EQ(sim.node("g101")->observed.node_profile, kNewerProfile);
  sim.RollBackTo(kSimProfile);
  sim.Drive();
  EXPECT_TRUE(IsInProgress(sim.node("g102")->state));
  EXPECT_EQ(sim.pool()->status.node_profile, kNewerProfile);
  // Until it fails.
  sim.stuck.clear();
  sim.boot_fails = {"g102"};
  sim.Drive();
  EXPECT_EQ(sim.pool()->status.node_profile, kSimProfile);
}

}  // namespace
}  // namespace muster::lifecycle
