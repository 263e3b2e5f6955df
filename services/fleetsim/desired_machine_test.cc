#include "services/fleetsim/desired_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/fleetsim/testing/world.h"

namespace muster::fleetsim {
namespace {

using lifecycle::v1::Node;
using lifecycle::v1::NodeReport;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Change = DesiredMachine::Change;
using Power = DesiredMachine::Power;

FleetOptions AtAServer() {
  FleetOptions options = Exact();
  options.kubernetes = "";
  return options;
}

// A world whose Nodes have their Kubernetes side elsewhere.
class DesiredMachineTest : public ::testing::Test {
 protected:
  // What the model desired last of its only machine.
  const DesiredMachine& desired() {
    for (DesiredMachine& each : world_->model().TakeDesired()) desired_ = std::move(each);
    return desired_;
  }
  void Begin(const FleetOptions& options, const Node& node) {
    world_ = std::make_unique<World>(options);
    world_->Show(world_->Add(node));
    world_->Run(absl::ZeroDuration());
  }
  // The adapter reports.
  void Report(NodeReport::Observation observation, absl::string_view message = "") {
    NodeReport report;
    report.set_observation(observation);
    report.set_message(std::string(message));
    report.set_node_profile(world_->node().desired().node_profile());
    ASSERT_EQ(ApplyReport(world_->node(), report, world_->now()), google::rpc::OK);
    world_->ShowAll();
  }
  void Unhealthy(bool unhealthy, const std::string& message) {
    world_->node().mutable_observed()->set_unhealthy(unhealthy);
    world_->node().mutable_observed()->set_health_message(message);
    world_->ShowAll();
  }

  std::unique_ptr<World> world_;
  DesiredMachine desired_;
};

TEST_F(DesiredMachineTest, AFirstBootEndsWithAKubeletThatIsNotReadyAtOnce) {
  Begin(AtAServer(), NewNode(0, kStart));
  EXPECT_EQ(desired().power, Power::kOff);
  world_->Run(absl::Seconds(2));
  EXPECT_EQ(desired().power, Power::kOff);
  world_->Run(absl::Hours(1));
  EXPECT_EQ(desired().power, Power::kArriving);
  EXPECT_FALSE(desired().ready);
  EXPECT_EQ(desired().reason, "KubeletNotReady");
  EXPECT_EQ(desired().create_time, kStart);
  Report(NodeReport::OBSERVATION_REGISTERED);
  EXPECT_EQ(desired().power, Power::kRunning);
  EXPECT_FALSE(desired().ready);
  world_->Run(absl::Seconds(1));
  EXPECT_TRUE(desired().ready);
  Report(NodeReport::OBSERVATION_READY);
  EXPECT_TRUE(desired().ready);
  EXPECT_THAT(world_->log().at("g100000"), ElementsAre("BOOT_STARTED@0"))
      << "the rest is for others to report";
}

TEST_F(DesiredMachineTest, ABootThatFailsIsReportedAndNothingArrives) {
  FleetOptions options = AtAServer();
  options.boot_failure_rate = 1;
  Begin(options, NewNode(0, kStart));
  world_->Run(absl::Hours(1));
  EXPECT_EQ(desired().power, Power::kOff);
  EXPECT_THAT(world_->log().at("g100000"), ElementsAre("BOOT_STARTED@0", "BOOT_FAILED@3000"));
}

TEST_F(DesiredMachineTest, AReconfigureRebootIsReportedAndItsReadinessIsSeen) {
  Node node = RunningNode();
  node.mutable_observed()->set_boot_id("boot-0");
  SetState(node, Node::STATE_RECONFIGURING, kStart);
  node.mutable_desired()->set_node_profile("np-ba9876543210");
  Begin(AtAServer(), node);
  EXPECT_EQ(desired().power, Power::kRebooting);
  EXPECT_FALSE(desired().ready);
  EXPECT_EQ(desired().boot_id, "boot-0") << "as its kubelet said last";
  world_->Run(absl::Seconds(3));
  EXPECT_EQ(desired().power, Power::kRunning);
  EXPECT_FALSE(desired().ready);
  EXPECT_EQ(desired().boot_id, BootIdOf(kStart, kStart));
  world_->Run(absl::Hours(1));
  EXPECT_TRUE(desired().ready);
  EXPECT_EQ(world_->node().state(), Node::STATE_RECONFIGURING) << "the adapter says READY";
  EXPECT_THAT(world_->log().at("g100000"), ElementsAre("REGISTERED@3000"));
}

TEST_F(DesiredMachineTest, AFailureIsAKubeletThatStoppedUntilItRecovers) {
  FleetOptions options = AtAServer();
  options.recovery_arrival = absl::Minutes(1);
  Begin(options, RunningNode());
  EXPECT_TRUE(desired().ready);
  EXPECT_EQ(world_->model().Fail(1, world_->now()), 1);
  EXPECT_FALSE(desired().ready);
  EXPECT_EQ(desired().reason, kKubeletStopped);
  Report(NodeReport::OBSERVATION_UNHEALTHY, "kubelet: KubeletStopped");
  Unhealthy(true, "kubelet: KubeletStopped: a GPU");
  EXPECT_FALSE(desired().ready);
  world_->Run(absl::Hours(1));
  EXPECT_TRUE(desired().ready);
  Report(NodeReport::OBSERVATION_RECOVERED);
  EXPECT_TRUE(desired().ready);
}

TEST_F(DesiredMachineTest, AStoppedKubeletStaysStoppedWhateverKubernetesSaysInItsPlace) {
  Begin(AtAServer(), RunningNode());
  ASSERT_EQ(world_->model().Fail(1, world_->now()), 1);
  Unhealthy(true, "kubelet: KubeletStopped: a GPU");
  Unhealthy(true, "kubelet: NodeStatusUnknown: Kubelet stopped posting node status.");
  EXPECT_FALSE(desired().ready);
  EXPECT_EQ(desired().reason, kKubeletStopped);
  EXPECT_TRUE(IsSilent(desired()));
  world_->ShowAll();
  EXPECT_FALSE(desired().ready);
  SetState(world_->node(), Node::STATE_REGISTERED, world_->now());
  world_->ShowAll();
  EXPECT_FALSE(IsSilent(desired())) << "it was rebooted";
}

TEST_F(DesiredMachineTest, WhoeverWasSilentWhileNobodyPlayedItComesBack) {
  Begin(AtAServer(), RunningNode());
  Unhealthy(true, "kubelet: NodeStatusUnknown: Kubelet stopped posting node status.");
  EXPECT_TRUE(desired().ready);
  EXPECT_FALSE(IsSilent(desired()));
}

TEST_F(DesiredMachineTest, OffAndRebootingMachinesAreSilent) {
  Begin(AtAServer(), NewNode(0, kStart));
  EXPECT_TRUE(IsSilent(desired()));
  world_->Run(absl::Hours(1));
  EXPECT_FALSE(IsSilent(desired())) << "booted, not ready yet";
  Node node = RunningNode();
  SetState(node, Node::STATE_RECONFIGURING, kStart);
  node.mutable_desired()->set_node_profile("np-ba9876543210");
  Begin(AtAServer(), node);
  EXPECT_TRUE(IsSilent(desired()));
}

TEST_F(DesiredMachineTest, WhatOthersFindUnhealthyHasAKubeletThatIsReady) {
  Begin(AtAServer(), RunningNode());
  Unhealthy(true, "kubelet: the Node object is not in the cluster");
  EXPECT_TRUE(desired().ready);
}

TEST_F(DesiredMachineTest, WorkMarksAndCordonsDoNotWaitForOneAnother) {
  FleetOptions options = AtAServer();
  options.work_arrival = options.mark_arrival = options.cordon_arrival = absl::Minutes(1);
  options.failure_arrival = absl::Minutes(1);
  options.interruptible_share = 1;
  Begin(options, RunningNode());
  EXPECT_EQ(desired().work, Change::kLeave);
  world_->Run(absl::Hours(1));
  EXPECT_EQ(desired().work, Change::kBegin);
  EXPECT_EQ(desired().new_work.kind, Work::Class::kInterruptible);
  EXPECT_GE(desired().new_work.pods, 1);
  EXPECT_EQ(desired().mark, Change::kBegin);
  EXPECT_EQ(desired().cordon, Change::kBegin);
  EXPECT_FALSE(desired().ready);
  EXPECT_EQ(world_->model().NextDue(), std::nullopt) << "it is up to the adapter";
  Report(NodeReport::OBSERVATION_ACTIVE);
  EXPECT_EQ(desired().work, Change::kLeave);
  EXPECT_EQ(desired().cordon, Change::kBegin) << "still not seen";
  world_->Run(absl::Hours(100));
  EXPECT_EQ(desired().work, Change::kEnd);
  Report(NodeReport::OBSERVATION_UNSCHEDULABLE);
  world_->Run(absl::Hours(100));
  EXPECT_EQ(desired().cordon, Change::kEnd);
  EXPECT_TRUE(world_->log().empty()) << "none of it is reported";
}

TEST_F(DesiredMachineTest, ADrainIsOthersButTheSwitchingOffIsReported) {
  Node node = RunningNode();
  SetActive(node, true, kStart);
  Cordon(node, true, kStart);
  FleetOptions options = AtAServer();
  options.work_duration = absl::Hours(100);
  Begin(options, node);
  world_->Run(absl::Minutes(1));
  EXPECT_EQ(desired().work, Change::kLeave);
  EXPECT_EQ(world_->node().state(), Node::STATE_DRAINING);
  world_->Run(absl::Hours(1000));
  EXPECT_EQ(desired().work, Change::kEnd) << "work may end by itself";
  Report(NodeReport::OBSERVATION_IDLE);
  Report(NodeReport::OBSERVATION_DRAINED);
  EXPECT_EQ(desired().power, Power::kOff);
  world_->Run(absl::Hours(1));
  ASSERT_EQ(world_->log().size(), 1u);
  EXPECT_EQ(world_->log().begin()->second.size(), 1u);
  EXPECT_EQ(world_->node().state(), Node::STATE_DELETED);
}

TEST_F(DesiredMachineTest, ANodeThatIsForgottenIsOff) {
  for (const bool by_snapshot : {false, true}) {
    Begin(AtAServer(), RunningNode());
    EXPECT_EQ(desired().power, Power::kRunning);
    if (by_snapshot) {
      world_->model().BeginSnapshot();
      world_->model().EndSnapshot(world_->now(), kHistory);
    } else {
      world_->model().Remove(world_->node().name());
    }
    EXPECT_EQ(desired().power, Power::kOff);
    EXPECT_EQ(desired().machine, "g100000");
  }
}

TEST_F(DesiredMachineTest, ANodeThatARestoredHistoryDoesNotKnowStaysOn) {
  Begin(AtAServer(), RunningNode());
  FleetModel& model = world_->model();
  const auto snapshot = [&](const std::string& incarnation) {
    model.BeginSnapshot();
    model.EndSnapshot(world_->now(), incarnation);
  };
  model.BeginSnapshot();
  world_->ShowAll();
  model.EndSnapshot(world_->now(), kHistory);
  snapshot("restored");
  snapshot("restored");
  EXPECT_EQ(desired().power, Power::kRunning);
  EXPECT_EQ(model.unknown(), 1u);
  world_->ShowAll();
  EXPECT_EQ(model.unknown(), 0u);
  snapshot("restored");
  EXPECT_EQ(desired().power, Power::kOff) << "it is gone in a history that knew it";
}

TEST_F(DesiredMachineTest, NodesOfOtherClustersAreReportedAndNothingIsDesiredOfThem) {
  FleetOptions options = Exact();
  options.kubernetes = "organizations/acme/clusters/other/";
  Begin(options, NewNode(0, kStart));
  world_->Run(absl::Hours(1));
  EXPECT_EQ(world_->node().state(), Node::STATE_PRODUCTION);
  EXPECT_THAT(world_->model().TakeDesired(), IsEmpty());
}

TEST_F(DesiredMachineTest, ARestartDesiresTheSame) {
  for (const Node::State state :
       {Node::STATE_BOOTING, Node::STATE_REGISTERED, Node::STATE_PRODUCTION, Node::STATE_TRIAGE,
        Node::STATE_CORDONED, Node::STATE_DRAINING, Node::STATE_PREPARED_FOR_TERMINATE,
        Node::STATE_DELIVERY_FAILED}) {
    SCOPED_TRACE(Node::State_Name(state));
    Node node = NewNode(0, kStart);
    SetState(node, state, kStart);
    Begin(AtAServer(), node);
    world_->Run(absl::Hours(1));
    const DesiredMachine before = desired();
    world_->Restart();
    world_->Run(absl::ZeroDuration());
    EXPECT_EQ(desired(), before);
  }
}

}  // namespace
}  // namespace muster::fleetsim
