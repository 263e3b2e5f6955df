// The sentences of the public reference of spot, to the second.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/events.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using O = ReportNode::Observation;

// "When CoreWeave designates an instance for preemption, it immediately cordons the Node to prevent
// scheduling new jobs. Running jobs continue executing normally at this stage. The system sends a
// Kubernetes warning event with the reason Preemption pending and applies the label
// qos.coreweave.cloud/pending-preemption: true to the Node."
TEST(ReferenceSpot, AtZeroTheNodeIsCordonedLabelledAndWarned) {
  SpotPool sim;
  ASSERT_TRUE(sim.settled);
  sim.Begin();
  const Node& node = *sim.node("g100");
  EXPECT_EQ(node.state, NodeState::kCordoned);
  EXPECT_EQ(node.preempt_time, sim.start);
  EXPECT_TRUE(node.desired.cordoned);
  EXPECT_FALSE(node.desired.drain);
  EXPECT_TRUE(node.observed.active);
  EXPECT_EQ(node.desired.labels.at("qos.coreweave.cloud/pending-preemption"), "true");
  EXPECT_FALSE(node.desired.labels.contains("qos.coreweave.cloud/evicted-at"));
  EXPECT_THAT(sim.NodeEvents(), ElementsAre("Preemption pending", "CWNodeCordoned"));
  EXPECT_EQ(TypeOf(EventReason::kPreemptionPending), EventType::kWarning);
  EXPECT_EQ(sim.last_plan.due, sim.start + absl::Minutes(2));
}

// "Two minutes after the initial warning, CoreWeave automatically initiates a Node drain to
// terminate workloads. The system sends another Kubernetes warning event with the reason Preemption
// in progress and applies the label qos.coreweave.cloud/evicted-at: [timestamp] to track when the
// drain started."
TEST(ReferenceSpot, TwoMinutesLaterTheDrainBeginsAndNotASecondBefore) {
  SpotPool sim;
  sim.Begin();
  sim.To(absl::Seconds(119));
  EXPECT_EQ(sim.node("g100")->state, NodeState::kCordoned);
  EXPECT_THAT(sim.NodeEvents(), SizeIs(2));
  sim.To(absl::Minutes(2));
  const Node& node = *sim.node("g100");
  EXPECT_EQ(node.state, NodeState::kDraining);
  EXPECT_TRUE(node.desired.drain);
  EXPECT_EQ(node.desired.drain_time, sim.start + absl::Minutes(2));
  EXPECT_EQ(node.desired.drain_deadline, sim.start + absl::Minutes(7));
  EXPECT_EQ(node.desired.labels.at("qos.coreweave.cloud/pending-preemption"), "true");
  EXPECT_EQ(node.desired.labels.at("qos.coreweave.cloud/evicted-at"), "2025-06-15T15-08-40Z");
  EXPECT_EQ(node.desired.annotations.at("qos.coreweave.cloud/evicted-at"), "2025-06-15T15:08:40Z");
  EXPECT_THAT(sim.NodeEvents(),
              ElementsAre("Preemption pending", "CWNodeCordoned", "CWNodeMarkedPrepareForTerminate",
                          "Preemption in progress", "CWNodeDraining"));
  EXPECT_EQ(TypeOf(EventReason::kPreemptionInProgress), EventType::kWarning);
}

// "When the Node fully drains or when the seven-minute window expires (whichever comes first),
// CoreWeave removes the instance from your cluster and Spot Node Pool. The system sends a final
// Kubernetes warning event with the reason Deleted for preemption to confirm the removal is
// complete."
TEST(ReferenceSpot, WhenTheNodeFullyDrainsItGoesAtOnce) {
  SpotPool sim;
  sim.busy.clear();  // its Pods end when they are told to
  sim.Begin();
  sim.To(absl::Minutes(2));
  EXPECT_EQ(sim.now(), sim.start + absl::Minutes(2));
  EXPECT_EQ(sim.node("g100"), nullptr);
  EXPECT_THAT(sim.machines(), IsEmpty());
  EXPECT_TRUE(sim.others().contains("g100"));
  EXPECT_EQ(sim.NodeEvents().back(), "Deleted for preemption");
  EXPECT_EQ(TypeOf(EventReason::kDeletedForPreemption), EventType::kWarning);
}

TEST(ReferenceSpot, WhenTheSevenMinuteWindowExpiresItGoesWhateverIsLeft) {
  SpotPool sim;
  sim.Begin();
  sim.To(absl::Seconds(419));
  ASSERT_NE(sim.node("g100"), nullptr);
  EXPECT_EQ(sim.node("g100")->state, NodeState::kDraining);
  EXPECT_FALSE(sim.node("g100")->desired.force_drain);
  EXPECT_EQ(sim.node("g100")->desired.drain_time, sim.start + absl::Minutes(2)) << "begun once";
  sim.To(absl::Minutes(7));
  EXPECT_EQ(sim.node("g100"), nullptr);
  EXPECT_THAT(sim.NodeEvents(),
              ElementsAre("Preemption pending", "CWNodeCordoned", "CWNodeMarkedPrepareForTerminate",
                          "Preemption in progress", "CWNodeDraining", "CWNodeDrainingForceDelete",
                          "CWNodeTainted", "CWNodePreparedForTerminate", "Deleted for preemption"));
}

// "CoreWeave may reclaim them when capacity is needed elsewhere": what is no longer needed before
// the drain stays.
TEST(ReferenceSpot, TakenBackBeforeTheDrainTheNodeStays) {
  SpotPool sim;
  sim.Begin();
  sim.To(absl::Seconds(119));
  sim.TakeBack("g100");
  sim.Drive();
  sim.To(absl::Minutes(30));
  const Node& node = *sim.node("g100");
  EXPECT_EQ(node.state, NodeState::kProduction);
  EXPECT_EQ(node.preempt_time, kNever);
  EXPECT_FALSE(node.desired.cordoned);
  EXPECT_FALSE(node.desired.labels.contains("qos.coreweave.cloud/pending-preemption"));
  EXPECT_THAT(sim.NodeEvents(),
              ElementsAre("Preemption pending", "CWNodeCordoned", "CWNodeUncordoned"));
  // Needed again: the whole notice again.
  sim.begin = sim.told().size();
  sim.Begin();
  EXPECT_EQ(sim.NodeEvents().front(), "Preemption pending");
  sim.To(absl::Seconds(119));
  EXPECT_EQ(sim.node("g100")->state, NodeState::kCordoned);
}

TEST(ReferenceSpot, TakenBackAfterTheDrainBeganTheNodeStillGoes) {
  SpotPool sim;
  sim.Begin();
  sim.To(absl::Minutes(2));
  sim.TakeBack("g100");
  sim.To(absl::Minutes(7));
  EXPECT_EQ(sim.node("g100"), nullptr);
  EXPECT_EQ(sim.NodeEvents().back(), "Deleted for preemption");
}

// The clock is in the rows: nothing is repeated or skipped, however often or seldom a pass is made,
// and with capacity out of reach from the start of the notice.
TEST(ReferenceSpot, EveryScheduleOfPassesTellsTheSame) {
  std::vector<std::vector<std::string>> told;
  for (int schedule = 0; schedule < 3; ++schedule) {
    SpotPool sim;
    sim.Begin();
    sim.capacity_away = schedule == 2;
    if (schedule == 2) sim.Drive();
    if (schedule == 1) {
      // Only when one is due.
      ASSERT_EQ(sim.last_plan.due, sim.start + absl::Minutes(2));
      sim.Advance(absl::Minutes(2));
      sim.Drive();
      ASSERT_EQ(sim.last_plan.due, sim.start + absl::Minutes(7));
      sim.Advance(absl::Minutes(5));
      sim.Drive();
    } else {
      sim.To(absl::Minutes(7));
    }
    sim.capacity_away = false;
    sim.Drive();
    EXPECT_EQ(sim.node("g100"), nullptr);
    for (const Simulation::Told& event : sim.told()) EXPECT_EQ(event.count, 1) << event.message;
    told.push_back(sim.NodeEvents());
    EXPECT_EQ(told.back(), told.front()) << schedule;
  }
}

// A process that was down all the while finds the notice over and takes the Node at once.
TEST(ReferenceSpot, AfterALongPauseNothingIsSkippedButTime) {
  SpotPool sim;
  sim.Begin();
  sim.Advance(absl::Minutes(30));
  sim.Drive();
  EXPECT_EQ(sim.node("g100"), nullptr);
  EXPECT_THAT(sim.NodeEvents(),
              ElementsAre("Preemption pending", "CWNodeCordoned", "CWNodeMarkedPrepareForTerminate",
                          "Preemption in progress", "CWNodeDraining", "CWNodeDrainingForceDelete",
                          "CWNodeTainted", "CWNodePreparedForTerminate", "Deleted for preemption"));
}

// "If all instances in a Spot Node Pool are preempted, the pool itself remains active but
// effectively scales to zero instances. The Spot Node Pool continues to exist in your cluster
// configuration and automatically attempts to provision new instances when capacity becomes
// available again in the region."
TEST(ReferenceSpot, AFullyPreemptedPoolRemainsAndRefillsByItself) {
  SpotPool sim(3);
  sim.start = sim.now();
  for (const std::string& machine : std::set(sim.machines())) sim.Reclaim(machine, sim.now());
  sim.Drive();
  sim.To(absl::Minutes(7));
  ASSERT_NE(sim.pool(), nullptr);
  EXPECT_THAT(sim.machines(), IsEmpty());
  EXPECT_EQ(sim.pool()->spec.target_nodes, 3);
  EXPECT_EQ(sim.pool()->status.current_nodes, 0);
  EXPECT_EQ(sim.pool()->status.queued_nodes, 3);
  EXPECT_EQ(ReasonOf(sim.pool()->status.conditions, "AtTarget"), "UnderTarget");
  EXPECT_EQ(ReasonOf(sim.pool()->status.conditions, "Capacity"), "QueuedAwaitingCapacity");
  sim.OthersLeave();
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.machines(), SizeIs(3));
  EXPECT_EQ(sim.pool()->status.current_nodes, 3);
  EXPECT_EQ(ReasonOf(sim.pool()->status.conditions, "AtTarget"), "TargetMet");
}

// Its machines go one by one: it is short all the while, and that is told once.
TEST(Preemption, APoolThatIsShortStaysSoWhileMoreOfItIsPreempted) {
  SpotPool sim(3);
  sim.busy.clear();
  sim.Begin();
  sim.To(absl::Minutes(2));
  ASSERT_EQ(sim.node("g100"), nullptr);
  ASSERT_EQ(sim.Reason("Capacity"), "QueuedAwaitingCapacity");
  ASSERT_EQ(sim.pool()->status.queued_nodes, 1);
  const absl::Time since =
      FindCondition(sim.pool()->status.conditions, "Capacity")->last_transition_time;
  for (const char* machine : {"g101", "g102"}) {
    sim.start = sim.now();
    sim.Reclaim(machine, sim.now());
    sim.Drive();
    sim.To(absl::Minutes(2));
    ASSERT_EQ(sim.node(machine), nullptr);
    const Condition& capacity = *FindCondition(sim.pool()->status.conditions, "Capacity");
    EXPECT_EQ(capacity.reason, "QueuedAwaitingCapacity");
    EXPECT_EQ(capacity.last_transition_time, since);
  }
  EXPECT_EQ(sim.pool()->status.queued_nodes, 3);
  EXPECT_EQ(sim.CountOf("CWInsufficientCapacity"), 1);
}

// A Node is preempted in whatever state it is: one that is not in the cluster goes at once, one
// that is on its way out is never slower for it.
TEST(ReferenceSpot, PreemptedInEveryState) {
  struct Case {
    const char* name;
    std::function<void(SpotPool&)> bring;
    NodeState from;
    NodeState to;
  };
  const auto reboot = [](SpotPool& s) {
    s.busy.clear();
    s.SetActive("g100", false);
    s.Stage(kNewerProfile);
    s.Drive();
    s.stuck = {"g100"};
    s.Must(ReconfigureNodePool{.name = kSimPool});
    s.Drive();
    s.Advance(s.policy.cordon_settle);
    s.Drive();
  };
  const std::vector<Case> cases = {
      {"production", [](SpotPool&) {}, NodeState::kProduction, NodeState::kCordoned},
      {"triage", [](SpotPool& s) { (void)s.Report("g100", O::kUnhealthy, "Xid 79"); },
       NodeState::kTriage, NodeState::kCordoned},
      {"reconfiguring", reboot, NodeState::kReconfiguring, NodeState::kPreparedForTerminate},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    SpotPool sim;
    c.bring(sim);
    ASSERT_EQ(sim.node("g100")->state, c.from);
    sim.stuck = {"g100"};
    sim.Begin();
    EXPECT_EQ(sim.node("g100")->state, c.to);
    EXPECT_EQ(sim.node("g100")->removal_cause, RemovalCause::kPreemption);
    sim.stuck.clear();
    sim.To(absl::Minutes(7));
    EXPECT_EQ(sim.node("g100"), nullptr);
    EXPECT_EQ(sim.NodeEvents().back(), "Deleted for preemption");
  }
}

TEST(ReferenceSpot, PreemptedOnItsWayIn) {
  for (const NodeState state :
       {NodeState::kAssigned, NodeState::kBooting, NodeState::kRegistered}) {
    SCOPED_TRACE(std::string(NodeStateName(state)));
    Simulation sim;
    sim.configuration_away = state == NodeState::kAssigned;
    sim.ApplySpot(1);
    for (int i = 0; i < 9 && (sim.node("g100") == nullptr || sim.node("g100")->state != state);
         ++i) {
      sim.Pass();
      if (sim.node("g100") == nullptr || sim.node("g100")->state == state) continue;
      sim.Agents();
    }
    ASSERT_NE(sim.node("g100"), nullptr);
    ASSERT_EQ(sim.node("g100")->state, state);
    sim.OthersTake(200);
    sim.Reclaim("g100", sim.now());
    ASSERT_TRUE(sim.Converge());
    EXPECT_EQ(sim.node("g100"), nullptr);
    EXPECT_TRUE(sim.others().contains("g100"));
    const std::vector<std::string> reasons = sim.ReasonsSince(0, "g100");
    EXPECT_EQ(std::count(reasons.begin(), reasons.end(), "Preemption pending"), 1);
    EXPECT_EQ(reasons.back(), "Deleted for preemption");
  }
}

// A drain under way for another cause ends no later than the preemption would, and its work is
// warned as long: after that it is drained as for a preemption.
TEST(ReferenceSpot, PreemptedWhileItIsDrained) {
  SpotPool sim;
  sim.DrainForScaleDown();
  ASSERT_EQ(sim.node("g100")->state, NodeState::kDraining);
  const absl::Time deadline = sim.node("g100")->desired.drain_deadline;
  ASSERT_EQ(deadline, sim.now() + sim.policy.drain_deadline);
  sim.begin = sim.told().size();
  sim.Begin();
  EXPECT_EQ(sim.node("g100")->desired.drain_deadline, sim.start + absl::Minutes(7));
  sim.To(absl::Seconds(119));
  EXPECT_THAT(sim.NodeEvents(), ElementsAre("Preemption pending"));
  EXPECT_EQ(sim.last_plan.due, sim.start + absl::Minutes(2));
  sim.To(absl::Minutes(2));
  const Desired& desired = sim.node("g100")->desired;
  EXPECT_EQ(desired.drain_time, sim.start + absl::Minutes(2));
  EXPECT_EQ(desired.drain_deadline, sim.start + absl::Minutes(7));
  EXPECT_THAT(sim.NodeEvents(), ElementsAre("Preemption pending", "Preemption in progress"));
  sim.To(absl::Minutes(7));
  EXPECT_EQ(sim.node("g100"), nullptr);
  EXPECT_EQ(sim.NodeEvents().back(), "Deleted for preemption");
}

TEST(ReferenceSpot, ForTrialsBothTimesAreShorter) {
  SpotPool sim;
  sim.policy.preemption_notice = absl::Seconds(3);
  sim.policy.preemption_end = absl::Seconds(8);
  sim.Begin();
  sim.To(absl::Seconds(3));
  EXPECT_EQ(sim.node("g100")->desired.drain_deadline, sim.start + absl::Seconds(8));
  sim.To(absl::Seconds(8));
  EXPECT_EQ(sim.node("g100"), nullptr);
}

// A preemption gives no drain more time than it had.
TEST(ReferenceSpot, ADrainThatEndsSoonerKeepsItsEnd) {
  SpotPool sim;
  sim.DrainForScaleDown();
  const absl::Time deadline = sim.node("g100")->desired.drain_deadline;
  sim.Advance(sim.policy.drain_deadline - absl::Minutes(2));
  sim.Begin();
  ASSERT_EQ(sim.node("g100")->state, NodeState::kDraining);
  EXPECT_EQ(sim.node("g100")->desired.drain_deadline, deadline);
}

TEST(ReferenceSpot, PreemptedOnceItIsOffItJustGoes) {
  SpotPool sim;
  sim.busy.clear();
  sim.removal_fails = {"g100"};
  sim.Delete();
  sim.Drive();
  sim.Advance(sim.policy.cordon_settle);
  sim.Drive();
  ASSERT_EQ(sim.node("g100")->state, NodeState::kPreparedForTerminate);
  sim.begin = sim.told().size();
  sim.Begin();
  EXPECT_EQ(sim.node("g100")->preempt_time, kNever);
  EXPECT_THAT(sim.NodeEvents(), IsEmpty());
}

// "Spot Node Pools are supported in all General Access Availability Zones": elsewhere the pool is
// invalid, keeps what it has and asks for nothing.
TEST(ReferenceSpot, OnlyInGeneralAccessZones) {
  Simulation sim;
  sim.catalogue.general_access = false;
  sim.ApplySpot(1);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(ReasonOf(sim.pool()->status.conditions, "Validated"), "Invalid");
  EXPECT_THAT(sim.machines(), IsEmpty());
  EXPECT_THAT(sim.Obstacles(), ::testing::Contains("INVALID_SPEC"));
  sim.catalogue.general_access = true;
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.machines(), Not(IsEmpty()));
}

// "and for all instance types except Superchip-powered instances (for example, GH200, GB200,
// GB300)."
TEST(ReferenceSpot, NotForSuperchips) {
  Simulation sim;
  sim.catalogue.type->superchip = true;
  const auto refused = sim.Run(sim.Applied([](Spec& spec) {
    spec.compute_class = "spot";
    spec.target_nodes = 1;
  }));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sim.pool(), nullptr);
}

// The target did not rise: who is idle goes on, and its machine may be what is needed elsewhere.
TEST(Preemption, OfABusyNodeLetsNoIdleVictimStay) {
  SpotPool sim(4);
  sim.Resize(3);
  sim.Pass();
  std::string victim;
  for (const Node* node : sim.state().NodesOf(kSimPool)) {
    if (node->removal_cause == RemovalCause::kScaleDown) victim = node->machine;
  }
  ASSERT_NE(victim, "");
  ASSERT_NE(victim, "g100") << "it is busy";
  sim.Reclaim("g100", sim.now());
  sim.Pass();
  ASSERT_NE(sim.node("g100")->preempt_time, kNever);
  EXPECT_EQ(sim.node(victim)->state, NodeState::kCordoned);
  sim.TakeBack("g100");
  sim.Drive();
  sim.Advance(sim.policy.cordon_settle);
  sim.Drive();
  EXPECT_EQ(sim.node(victim), nullptr);
  EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
}

// A rise lets it stay all the same.
TEST(Preemption, OfABusyNodeDoesNotHideARise) {
  SpotPool sim(4);
  sim.Resize(3);
  sim.Pass();
  sim.Reclaim("g100", sim.now());
  sim.Pass();
  sim.Resize(4);
  sim.Pass();
  for (const Node* node : sim.state().NodesOf(kSimPool)) {
    EXPECT_EQ(node->state, node->machine == "g100" ? NodeState::kCordoned : NodeState::kProduction)
        << node->machine;
  }
}

// It would not be replaced: enough stay.
TEST(Preemption, NamingAVictimThatIsPreemptedMeanwhileLowersNothingMore) {
  SpotPool sim(4);
  sim.Resize(3);
  sim.Pass();
  std::string victim;
  for (const Node* node : sim.state().NodesOf(kSimPool)) {
    if (node->removal_cause == RemovalCause::kScaleDown) victim = node->machine;
  }
  ASSERT_NE(victim, "");
  sim.Reclaim(victim, sim.now());
  sim.Pass();
  ASSERT_EQ(sim.node(victim)->removal_cause, RemovalCause::kPreemption);
  sim.Must(ResizeNodePool{.name = kSimPool, .remove_machines = {victim}});
  EXPECT_EQ(sim.pool()->spec.target_nodes, 3);
}

}  // namespace
}  // namespace muster::lifecycle
