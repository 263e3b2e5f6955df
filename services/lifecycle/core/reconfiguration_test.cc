// Reconfigure reboots, from another side: how they end, what is told of them and by whom they are
// known to be needed.
#include "services/lifecycle/core/reconfiguration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using RState = Reconfiguration::State;
using ControlVerb = ControlReconfiguration::Verb;

std::vector<std::string> MessagesOf(const Simulation& sim, const std::string& reason,
                                    bool on_node) {
  std::vector<std::string> messages;
  for (const Simulation::Told& event : sim.told()) {
    if (event.reason == reason && event.on_node == on_node) messages.push_back(event.message);
  }
  return messages;
}

constexpr char kUpToDate[] = "False/AllNodesUpToDate: All nodes are on the current configuration.";

TEST(AskedNodes, AreThoseWhoseMachinesAreNamed) {
  Reconfiguration some;
  some.machines = {"g100", "g102"};
  for (const std::optional<Reconfiguration>& asked :
       {std::optional(some), std::optional(Reconfiguration())}) {
    const AskedNodes nodes(asked);
    for (const char* machine : {"g100", "g101", "g102", ""}) {
      const Node node{.machine = machine};
      EXPECT_EQ(nodes.Has(node), IsAsked(*asked, node)) << machine;
    }
  }
  EXPECT_TRUE(AskedNodes(std::nullopt).Has(Node{.machine = "g100"}));
}

// Compared one by one so many would take until the test is given up.
TEST(AskedNodes, ManyAreFoundAmongMany) {
  std::optional<Reconfiguration> asked = Reconfiguration();
  const auto machine = [](int i) { return absl::StrCat("machine-of-a-large-cluster-", i); };
  for (int i = 0; i < 400'000; i += 2) asked->machines.push_back(machine(i));
  const AskedNodes nodes(asked);
  int64_t found = 0;
  for (int i = 0; i < 400'000; ++i) found += nodes.Has(Node{.machine = machine(i)}) ? 1 : 0;
  EXPECT_EQ(found, 200'000);
}

// Nothing is left that a halt would protect.
TEST(ReconfigureEnds, DoneThoughARebootFailedOnceNoOtherIsLeft) {
  for (const bool in_time : {true, false}) {
    SCOPED_TRACE(in_time);
    Outdated sim(1);
    (in_time ? sim.boot_fails : sim.stuck) = {"g100"};
    sim.Ask();
    sim.Live();
    if (!in_time) sim.Advance(sim.policy.boot_deadline);
    sim.Live();
    EXPECT_THAT(sim.On(kNewerProfile), ElementsAre("g101"));
    EXPECT_EQ(sim.how(), RState::kDone);
    EXPECT_THAT(sim.Obstacles(), IsEmpty());
    EXPECT_EQ(sim.Says("NodeReconfigurationRequired"), kUpToDate);
    EXPECT_THAT(
        MessagesOf(sim, "CWNodePoolReconfigureDone", false),
        ElementsAre("Reconfigure reboots are done: 0 Nodes rebooted, 1 boot failed (g100)."));
    sim.Ask();  // the next is not refused
  }
}

// The Node had been delivered: its failed reboot is told as what it is, and its end as every
// Node's.
TEST(ReconfigureEnds, AFailedRebootIsNoFailedDelivery) {
  Outdated sim(1);
  sim.boot_fails = {"g100"};
  const size_t begin = sim.told().size();
  sim.Ask();
  sim.Live();
  EXPECT_THAT(MessagesOf(sim, "CWNodeDeliverFail", false), IsEmpty());
  EXPECT_THAT(MessagesOf(sim, "CWNodeRegistrationFailed", true), IsEmpty());
  const std::string failed =
      "Node g100 did not come up from its reboot into configuration np-000000000002: no kernel.";
  EXPECT_THAT(MessagesOf(sim, "CWNodeBootFailed", false), ElementsAre(failed));
  EXPECT_THAT(MessagesOf(sim, "CWNodeBootFailed", true), ElementsAre(failed));
  EXPECT_THAT(MessagesOf(sim, "CWNodeDeletionRequestSuccess", false),
              ElementsAre("A Node is to be deleted: its boot failed."));
  const auto reasons = sim.ReasonsSince(begin);
  EXPECT_THAT(reasons, Contains("CWNodeDeleted"));
  EXPECT_THAT(reasons, Contains("CWNodePoolNodesRemoved"));
}

TEST(ReconfigureEnds, EachStepIsToldAndInTheCondition) {
  Outdated sim(2);
  constexpr char kType[] = "NodeReconfigurationRequired";
  const std::string needed =
      "True/StagedNodeConfig: 2 of 2 Nodes must be reconfigure-rebooted to reach np-000000000002.";
  for (const char* machine : {"g100", "g101"}) sim.SetActive(machine, true);
  sim.Ask();
  sim.Live();
  EXPECT_EQ(sim.Says(kType), needed + " Reconfigure reboots are under way.");
  sim.Control(ControlVerb::kPause);
  sim.Control(ControlVerb::kPause);
  sim.Live();
  EXPECT_EQ(sim.Says(kType), needed + " Reconfigure reboots are paused.");
  sim.Control(ControlVerb::kResume);
  sim.boot_fails = {"g100"};
  sim.SetActive("g100", false);
  sim.Live();
  const std::string halted = " Reconfigure reboots are halted: 1 boot failed (g100).";
  EXPECT_EQ(sim.Says(kType),
            "True/StagedNodeConfig: 1 of 2 Nodes must be reconfigure-rebooted to reach "
            "np-000000000002." +
                halted);
  sim.Control(ControlVerb::kResume);
  sim.Control(ControlVerb::kCancel);
  sim.Ask();
  sim.SetActive("g101", false);
  sim.Live();
  EXPECT_EQ(sim.Says(kType), kUpToDate);
  std::vector<std::string> steps;
  for (const Simulation::Told& event : sim.told()) {
    if (absl::StartsWith(event.reason, "CWNodePoolReconfigure")) steps.push_back(event.message);
  }
  EXPECT_THAT(steps, ElementsAre("Reconfigure reboots were asked for.",
                                 "Reconfigure reboots are paused.", "Reconfigure reboots go on.",
                                 "Reconfigure reboots are halted: 1 boot failed (g100).",
                                 "Reconfigure reboots go on.", "Reconfigure reboots are cancelled.",
                                 "Reconfigure reboots were asked for.",
                                 "Reconfigure reboots are done: 1 Node rebooted."));
}

// A Node that is ill, or was to leave, comes back on what it ran: it is waited for.
TEST(ReconfigureEnds, NotDoneBeforeNodesThatMayComeBackAreOnTheProfileOrGone) {
  for (const bool triage : {true, false}) {
    SCOPED_TRACE(triage);
    Outdated sim(2);
    sim.StopClock();
    sim.Ask();
    sim.Drive();
    sim.Advance(sim.policy.cordon_settle);  // g100 is the first
    if (triage) {
      ASSERT_TRUE(sim.Report("g101", ReportNode::Observation::kUnhealthy, "Xid 79").ok());
    } else {
      sim.Must(ResizeNodePool{.name = kSimPool, .remove_machines = {"g101"}});
      ASSERT_TRUE(sim.Pass());
      ASSERT_EQ(sim.node("g101")->state, NodeState::kCordoned);
    }
    sim.Drive();
    EXPECT_THAT(sim.On(kNewerProfile), ElementsAre("g100"));
    EXPECT_EQ(sim.how(), RState::kRunning);
    EXPECT_THAT(sim.Obstacles(), Not(IsEmpty()));
    if (triage) {
      ASSERT_TRUE(sim.Report("g101", ReportNode::Observation::kRecovered).ok());
    } else {
      sim.Resize(2);
    }
    sim.Live();
    EXPECT_THAT(sim.On(kNewerProfile), UnorderedElementsAre("g100", "g101"));
    EXPECT_EQ(sim.how(), RState::kDone);
  }
}

// One that cannot go on says why, and resuming it is refused with that; a pause does not hide it.
TEST(ReconfigureEnds, AHaltNamesItsReasonAndResumingIsRefusedWithIt) {
  Outdated sim(3);
  for (const char* machine : {"g100", "g101", "g102"}) sim.SetActive(machine, true);
  sim.Ask();
  sim.Live();
  sim.Disable(kNewerProfile);
  sim.Live();
  EXPECT_EQ(sim.how(), RState::kHalted);
  const std::string why =
      "Reconfigure reboots are halted: configuration np-000000000002 was disabled: too many boots "
      "failed.";
  EXPECT_THAT(MessagesOf(sim, "CWNodePoolReconfigureHalted", false), ElementsAre(why));
  EXPECT_THAT(sim.ObstacleTexts(), Contains("CONFIGURATION_DISABLED operator: " + why));
  sim.Control(ControlVerb::kPause);
  EXPECT_EQ(sim.how(), RState::kHalted);
  const auto refused =
      sim.Run(ControlReconfiguration{.name = kSimPool, .verb = ControlVerb::kResume});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("Configuration np-000000000002 is disabled: too many boots failed."));
  sim.Enable(kNewerProfile);
  sim.Live();
  for (const char* machine : {"g100", "g101", "g102"}) sim.SetActive(machine, false);
  sim.Control(ControlVerb::kResume);
  sim.Live();
  EXPECT_EQ(sim.how(), RState::kDone);
}

// A boot that fails while it is paused halts it all the same.
TEST(ReconfigureEnds, APauseDoesNotHideAFailure) {
  Outdated sim(2);
  sim.stuck = {"g100"};
  sim.Ask();
  sim.Live();
  sim.Control(ControlVerb::kPause);
  ASSERT_TRUE(sim.Report("g100", ReportNode::Observation::kBootFailed, "no kernel").ok());
  sim.Live();
  EXPECT_EQ(sim.how(), RState::kHalted);
  EXPECT_THAT(sim.Obstacles(), Contains("RECONFIGURATION_HALTED"));
}

// --- what Nodes run ---

ReportNode RunsNewer(const std::string& machine) {
  return {.node = NodeName(kSimPool, machine),
          .observation = ReportNode::Observation::kRegistered,
          .node_profile = kNewerProfile};
}

// Power-cycled, a Node comes up in what was staged: no reboot is needed any more.
TEST(ReconfigureEnds, WhatANodeRunsIsTakenWheneverItIsReported) {
  for (const NodeState state :
       {NodeState::kProduction, NodeState::kTriage, NodeState::kCordoned, NodeState::kDraining}) {
    SCOPED_TRACE(NodeStateName(state));
    Outdated sim(1);
    if (state == NodeState::kTriage) {
      ASSERT_TRUE(sim.Report("g100", ReportNode::Observation::kUnhealthy, "Xid 79").ok());
    } else if (state != NodeState::kProduction) {
      sim.Resize(0);
      sim.Pass();
      sim.Agents();
      if (state == NodeState::kDraining) sim.Advance(sim.policy.cordon_settle);
      sim.Pass();
    }
    ASSERT_EQ(sim.node("g100")->state, state);
    ASSERT_TRUE(sim.Run(RunsNewer("g100")).ok());
    EXPECT_EQ(sim.node("g100")->observed.node_profile, kNewerProfile);
    EXPECT_EQ(sim.node("g100")->state, state);
    if (state != NodeState::kProduction) continue;
    sim.Live();
    EXPECT_EQ(sim.Says("NodeReconfigurationRequired"), kUpToDate);
    const int64_t revision = sim.revision();
    ASSERT_TRUE(sim.Run(RunsNewer("g100")).ok());
    EXPECT_EQ(sim.revision(), revision);
  }
}

TEST(ReconfigureEnds, WhatCouldNotBeStagedIsOverWithTheBootIntoIt) {
  for (const bool reboot : {true, false}) {
    SCOPED_TRACE(reboot);
    Outdated sim(1);
    ASSERT_TRUE(
        sim.Report("g100", ReportNode::Observation::kStagingFailed, "the disk is full").ok());
    if (reboot) {
      sim.Ask();
      sim.Live();
    } else {
      ASSERT_TRUE(sim.Run(RunsNewer("g100")).ok());
    }
    EXPECT_EQ(sim.node("g100")->observed.node_profile, kNewerProfile);
    EXPECT_EQ(sim.node("g100")->observed.staging_error, "");
  }
}

// Of three Nodes only g100 runs np-000000000002; a rollback from it waits for g103. g101 and g102
// are at work.
struct RollingBack : Outdated {
  explicit RollingBack(const std::function<void(RollingBack&)>& before = [](RollingBack&) {})
      : Outdated(3) {
    for (const char* machine : {"g101", "g102"}) {
      SetActive(machine, true);
      busy.insert(machine);
    }
    Ask();
    Live();
    stuck.insert("g103");
    Resize(4);
    Live();
    before(*this);
    RollBackTo(kSimProfile);
    Live();
  }
  void Reboot(const std::string& machine, lifecycle::Reboot mode) {
    Must(OrderNode{
        .name = NodeName(kSimPool, machine), .verb = OrderNode::Verb::kReboot, .reboot = mode});
  }
};

// The user has said that he leaves that configuration.
TEST(Reconfigure, NoneRebootsIntoWhatIsBeingRolledBackFrom) {
  RollingBack sim;
  ASSERT_THAT(sim.On("np-000000000002"), ElementsAre("g100"));
  ASSERT_EQ(sim.pool()->status.node_profile, "np-000000000002") << "it waits for g103";
  sim.busy.clear();
  for (const char* machine : {"g101", "g102"}) sim.SetActive(machine, false);
  sim.Live();
  EXPECT_THAT(sim.On("np-000000000002"), ElementsAre("g100"));
  EXPECT_THAT(sim.In(NodeState::kReconfiguring), IsEmpty());
  EXPECT_THAT(sim.Obstacles(), Contains("WAITS_FOR_CONFIGURATION"));
}

TEST(Reconfigure, NoOrderRebootsIntoWhatIsBeingRolledBackFrom) {
  RollingBack sim;
  for (const char* machine : {"g100", "g101"}) sim.Reboot(machine, Reboot::kForced);
  sim.Pass();
  EXPECT_EQ(sim.node("g101")->state, NodeState::kReconfiguring);
  EXPECT_EQ(sim.node("g101")->desired.node_profile, kSimProfile);
  sim.Live();
  EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
  EXPECT_THAT(sim.ObstacleTexts(),
              Contains("WAITS_FOR_CONFIGURATION nobody: Node g100 is to be rebooted, and waits "
                       "until what it runs is rolled back from."));
  sim.stuck.clear();
  sim.Live();
  EXPECT_EQ(sim.node("g100")->observed.node_profile, kSimProfile);
  EXPECT_EQ(sim.node("g100")->orders, NodeOrders());
}

// It waits as well while configuration does not say so.
TEST(Reconfigure, NoneRebootsIntoWhatIsRolledBackFromWhileConfigurationIsAway) {
  RollingBack sim;
  sim.configuration_away = true;
  sim.busy.clear();
  for (const char* machine : {"g101", "g102"}) sim.SetActive(machine, false);
  for (const char* machine : {"g100", "g101"}) sim.Reboot(machine, Reboot::kForced);
  sim.Pass();
  EXPECT_THAT(sim.In(NodeState::kReconfiguring), ElementsAre("g101"));
  EXPECT_EQ(sim.node("g101")->desired.node_profile, kSimProfile);
  sim.Live();
  EXPECT_EQ(sim.node("g101")->state, NodeState::kProduction);
  EXPECT_THAT(sim.On(kNewerProfile), ElementsAre("g100"));
  EXPECT_THAT(sim.On(kSimProfile), ElementsAre("g101", "g102"));
  EXPECT_THAT(sim.ObstacleTexts(),
              Contains("WAITS_FOR_CONFIGURATION nobody: Node g100 is to be rebooted, and waits "
                       "until what it runs is rolled back from."));
  sim.configuration_away = false;
  sim.stuck.clear();
  sim.Live();
  EXPECT_EQ(sim.node("g100")->observed.node_profile, kSimProfile);
}

// What waits to be promoted is not left by anybody, also when the pool had it before: the active
// one boots.
TEST(Reconfigure, AnOrderRebootsIntoTheActiveOneWhileAPromotionWaits) {
  for (const char* promoted : {"np-000000000003", kSimProfile}) {
    SCOPED_TRACE(promoted);
    Outdated sim(1);
    sim.stuck.insert("g101");
    sim.Resize(2);
    sim.Live();
    sim.Pend(promoted);
    sim.Promote();
    sim.Live();
    sim.configuration_away = true;
    sim.Must(OrderNode{.name = NodeName(kSimPool, "g100"),
                       .verb = OrderNode::Verb::kReboot,
                       .reboot = Reboot::kForced});
    sim.Live();
    EXPECT_THAT(sim.On(kNewerProfile), ElementsAre("g100"));
  }
}

// Else one machine after the other would be given back until it is there again.
TEST(Reconfigure, NoBootIsEndedForARollbackWhileConfigurationIsAway) {
  RollingBack sim([](RollingBack& before) {
    before.stuck.insert("g199");
    before.OthersTake(95);  // all that are free but that one
    before.Resize(5);
    before.Live();
  });
  sim.configuration_away = true;
  sim.stuck.erase("g199");
  sim.boot_fails.insert("g199");
  sim.Live();
  ASSERT_THAT(sim.pool()->account.boot_failures.machines, ElementsAre("g199"));
  ASSERT_NE(sim.node("g103"), nullptr);
  EXPECT_EQ(sim.node("g103")->state, NodeState::kAssigned);
  sim.configuration_away = false;
  sim.Live();
  EXPECT_EQ(sim.pool()->status.node_profile, kSimProfile);
  // Now its boot is ended, for the rollback.
  ASSERT_NE(sim.node("g103"), nullptr);
  EXPECT_EQ(sim.node("g103")->state, NodeState::kPreparedForTerminate);
}

// "One that is unhealthy is not replaced."
TEST(Reconfigure, ASickNodeWhoseRebootWaitsForARollbackIsKept) {
  RollingBack sim;
  ASSERT_TRUE(sim.Report("g100", ReportNode::Observation::kUnhealthy, "fan").ok());
  sim.Reboot("g100", Reboot::kForced);
  sim.Live();
  sim.Advance(sim.policy.triage_grace);
  sim.Live();
  ASSERT_EQ(sim.pool()->status.node_profile, "np-000000000002") << "it waits for g103";
  EXPECT_EQ(sim.node("g100")->state, NodeState::kTriage);
}

}  // namespace
}  // namespace muster::lifecycle
