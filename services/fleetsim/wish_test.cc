#include "services/fleetsim/wish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/fleetsim/test_world.h"

namespace muster::fleetsim {
namespace {

using lifecycle::v1::Node;
using lifecycle::v1::NodeReport;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Change = Wish::Change;
using Power = Wish::Power;

FleetOptions AtAServer() {
  FleetOptions options = Exact();
  options.kubernetes = "";
  return options;
}

Node Running() {
  Node node = NewNode(0, kStart);
  SetState(node, Node::STATE_PRODUCTION, kStart);
  node.mutable_observed()->set_node_profile(node.desired().node_profile());
  return node;
}

// A world whose Nodes have their Kubernetes side elsewhere.
class WishTest : public ::testing::Test {
 protected:
  // What the last wish of the model for its only machine is.
  const Wish& wish() {
    for (Wish& wish : world_->model().TakeWishes()) wish_ = std::move(wish);
    return wish_;
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
  Wish wish_;
};

TEST_F(WishTest, AFirstBootEndsWithAKubeletThatIsNotReadyAtOnce) {
  Begin(AtAServer(), NewNode(0, kStart));
  EXPECT_EQ(wish().power, Power::kOff);
  world_->Run(absl::Seconds(2));
  EXPECT_EQ(wish().power, Power::kOff);
  world_->Run(absl::Hours(1));
  EXPECT_EQ(wish().power, Power::kArriving);
  EXPECT_FALSE(wish().ready);
  EXPECT_EQ(wish().reason, "KubeletNotReady");
  EXPECT_EQ(wish().create_time, kStart);
  Report(NodeReport::OBSERVATION_REGISTERED);
  EXPECT_EQ(wish().power, Power::kRunning);
  EXPECT_FALSE(wish().ready);
  world_->Run(absl::Seconds(1));
  EXPECT_TRUE(wish().ready);
  Report(NodeReport::OBSERVATION_READY);
  EXPECT_TRUE(wish().ready);
  EXPECT_THAT(world_->log().at("g100000"), ElementsAre("BOOT_STARTED@0"))
      << "the rest is for others to report";
}

TEST_F(WishTest, ABootThatFailsIsReportedAndNothingArrives) {
  FleetOptions options = AtAServer();
  options.boot_failure_rate = 1;
  Begin(options, NewNode(0, kStart));
  world_->Run(absl::Hours(1));
  EXPECT_EQ(wish().power, Power::kOff);
  EXPECT_THAT(world_->log().at("g100000"), ElementsAre("BOOT_STARTED@0", "BOOT_FAILED@3000"));
}

TEST_F(WishTest, AReconfigureRebootIsReportedAndItsReadinessIsSeen) {
  Node node = Running();
  node.mutable_observed()->set_boot_id("boot-0");
  SetState(node, Node::STATE_RECONFIGURING, kStart);
  node.mutable_desired()->set_node_profile("np-ba9876543210");
  Begin(AtAServer(), node);
  EXPECT_EQ(wish().power, Power::kRebooting);
  EXPECT_FALSE(wish().ready);
  EXPECT_EQ(wish().boot_id, "boot-0") << "as its kubelet said last";
  world_->Run(absl::Seconds(3));
  EXPECT_EQ(wish().power, Power::kRunning);
  EXPECT_FALSE(wish().ready);
  EXPECT_EQ(wish().boot_id, BootIdOf(kStart, kStart));
  world_->Run(absl::Hours(1));
  EXPECT_TRUE(wish().ready);
  EXPECT_EQ(world_->node().state(), Node::STATE_RECONFIGURING) << "the adapter says READY";
  EXPECT_THAT(world_->log().at("g100000"), ElementsAre("REGISTERED@3000"));
}

TEST_F(WishTest, AFailureIsAKubeletThatStoppedUntilItRecovers) {
  FleetOptions options = AtAServer();
  options.recovery_arrival = absl::Minutes(1);
  Begin(options, Running());
  EXPECT_TRUE(wish().ready);
  EXPECT_EQ(world_->model().Fail(1, world_->now()), 1);
  EXPECT_FALSE(wish().ready);
  EXPECT_EQ(wish().reason, kKubeletStopped);
  Report(NodeReport::OBSERVATION_UNHEALTHY, "kubelet: KubeletStopped");
  Unhealthy(true, "kubelet: KubeletStopped: a GPU");
  EXPECT_FALSE(wish().ready);
  world_->Run(absl::Hours(1));
  EXPECT_TRUE(wish().ready);
  Report(NodeReport::OBSERVATION_RECOVERED);
  EXPECT_TRUE(wish().ready);
}

TEST_F(WishTest, AStoppedKubeletStaysStoppedWhateverKubernetesSaysInItsPlace) {
  Begin(AtAServer(), Running());
  ASSERT_EQ(world_->model().Fail(1, world_->now()), 1);
  Unhealthy(true, "kubelet: KubeletStopped: a GPU");
  Unhealthy(true, "kubelet: NodeStatusUnknown: Kubelet stopped posting node status.");
  EXPECT_FALSE(wish().ready);
  EXPECT_EQ(wish().reason, kKubeletStopped);
  EXPECT_TRUE(IsSilent(wish()));
  world_->ShowAll();
  EXPECT_FALSE(wish().ready);
  SetState(world_->node(), Node::STATE_REGISTERED, world_->now());
  world_->ShowAll();
  EXPECT_FALSE(IsSilent(wish())) << "it was rebooted";
}

TEST_F(WishTest, WhoeverWasSilentWhileNobodyPlayedItComesBack) {
  Begin(AtAServer(), Running());
  Unhealthy(true, "kubelet: NodeStatusUnknown: Kubelet stopped posting node status.");
  EXPECT_TRUE(wish().ready);
  EXPECT_FALSE(IsSilent(wish()));
}

TEST_F(WishTest, OffAndRebootingMachinesAreSilent) {
  Begin(AtAServer(), NewNode(0, kStart));
  EXPECT_TRUE(IsSilent(wish()));
  world_->Run(absl::Hours(1));
  EXPECT_FALSE(IsSilent(wish())) << "booted, not ready yet";
  Node node = Running();
  SetState(node, Node::STATE_RECONFIGURING, kStart);
  node.mutable_desired()->set_node_profile("np-ba9876543210");
  Begin(AtAServer(), node);
  EXPECT_TRUE(IsSilent(wish()));
}

TEST_F(WishTest, WhatOthersFindUnhealthyHasAKubeletThatIsReady) {
  Begin(AtAServer(), Running());
  Unhealthy(true, "kubelet: the Node object is not in the cluster");
  EXPECT_TRUE(wish().ready);
}

TEST_F(WishTest, WorkMarksAndCordonsDoNotWaitForOneAnother) {
  FleetOptions options = AtAServer();
  options.work_arrival = options.mark_arrival = options.cordon_arrival = absl::Minutes(1);
  options.failure_arrival = absl::Minutes(1);
  options.interruptible_share = 1;
  Begin(options, Running());
  EXPECT_EQ(wish().work, Change::kLeave);
  world_->Run(absl::Hours(1));
  EXPECT_EQ(wish().work, Change::kBegin);
  EXPECT_EQ(wish().new_work.kind, Work::Class::kInterruptible);
  EXPECT_GE(wish().new_work.pods, 1);
  EXPECT_EQ(wish().mark, Change::kBegin);
  EXPECT_EQ(wish().cordon, Change::kBegin);
  EXPECT_FALSE(wish().ready);
  EXPECT_EQ(world_->model().NextDue(), std::nullopt) << "it is up to the adapter";
  Report(NodeReport::OBSERVATION_ACTIVE);
  EXPECT_EQ(wish().work, Change::kLeave);
  EXPECT_EQ(wish().cordon, Change::kBegin) << "still not seen";
  world_->Run(absl::Hours(100));
  EXPECT_EQ(wish().work, Change::kEnd);
  Report(NodeReport::OBSERVATION_UNSCHEDULABLE);
  world_->Run(absl::Hours(100));
  EXPECT_EQ(wish().cordon, Change::kEnd);
  EXPECT_TRUE(world_->log().empty()) << "none of it is reported";
}

TEST_F(WishTest, ADrainIsOthersButTheSwitchingOffIsReported) {
  Node node = Running();
  SetActive(node, true, kStart);
  Cordon(node, true, kStart);
  FleetOptions options = AtAServer();
  options.work_duration = absl::Hours(100);
  Begin(options, node);
  world_->Run(absl::Minutes(1));
  EXPECT_EQ(wish().work, Change::kLeave);
  EXPECT_EQ(world_->node().state(), Node::STATE_DRAINING);
  world_->Run(absl::Hours(1000));
  EXPECT_EQ(wish().work, Change::kEnd) << "work may end by itself";
  Report(NodeReport::OBSERVATION_IDLE);
  Report(NodeReport::OBSERVATION_DRAINED);
  EXPECT_EQ(wish().power, Power::kOff);
  world_->Run(absl::Hours(1));
  ASSERT_EQ(world_->log().size(), 1u);
  EXPECT_EQ(world_->log().begin()->second.size(), 1u);
  EXPECT_EQ(world_->node().state(), Node::STATE_DELETED);
}

TEST_F(WishTest, ANodeThatIsForgottenIsOff) {
  for (const bool by_snapshot : {false, true}) {
    Begin(AtAServer(), Running());
    EXPECT_EQ(wish().power, Power::kRunning);
    if (by_snapshot) {
      world_->model().BeginSnapshot();
      world_->model().EndSnapshot(world_->now(), kHistory);
    } else {
      world_->model().Remove(world_->node().name());
    }
    EXPECT_EQ(wish().power, Power::kOff);
    EXPECT_EQ(wish().machine, "g100000");
  }
}

TEST_F(WishTest, ANodeThatARestoredHistoryDoesNotKnowStaysOn) {
  Begin(AtAServer(), Running());
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
  EXPECT_EQ(wish().power, Power::kRunning);
  EXPECT_EQ(model.unknown(), 1u);
  world_->ShowAll();
  EXPECT_EQ(model.unknown(), 0u);
  snapshot("restored");
  EXPECT_EQ(wish().power, Power::kOff) << "it is gone in a history that knew it";
}

TEST_F(WishTest, NodesOfOtherClustersAreReportedAndNothingIsWishedForThem) {
  FleetOptions options = Exact();
  options.kubernetes = "organizations/acme/clusters/other/";
  Begin(options, NewNode(0, kStart));
  world_->Run(absl::Hours(1));
  EXPECT_EQ(world_->node().state(), Node::STATE_PRODUCTION);
  EXPECT_THAT(world_->model().TakeWishes(), IsEmpty());
}

TEST_F(WishTest, ARestartWishesForTheSame) {
  for (const Node::State state :
       {Node::STATE_BOOTING, Node::STATE_REGISTERED, Node::STATE_PRODUCTION, Node::STATE_TRIAGE,
        Node::STATE_CORDONED, Node::STATE_DRAINING, Node::STATE_PREPARED_FOR_TERMINATE,
        Node::STATE_DELIVERY_FAILED}) {
    SCOPED_TRACE(Node::State_Name(state));
    Node node = NewNode(0, kStart);
    SetState(node, state, kStart);
    Begin(AtAServer(), node);
    world_->Run(absl::Hours(1));
    const Wish before = wish();
    world_->Restart();
    world_->Run(absl::ZeroDuration());
    EXPECT_EQ(wish(), before);
  }
}

}  // namespace
}  // namespace muster::fleetsim
