#include <thread>

#include "services/fleetsim/agent.h"
#include "services/fleetsim/testing/fake_server.h"
#include "tests/kubernetes/fleetsim/cluster_test_base.h"

namespace muster::fleetsim {
namespace {

capacity::v1::InstanceType TypeOf(const std::string& id, int vcpus) {
  capacity::v1::InstanceType type;
  type.set_name("instanceTypes/" + id);
  type.set_vcpus(vcpus);
  return type;
}

class LivesTest : public ClusterTest {
 protected:
  // A whole life of so many machines: they arrive, get ready, work, are switched off.
  void LiveAndDie(int machines);
};

void LivesTest::LiveAndDie(int machines) {
  const auto count = static_cast<size_t>(machines);
  Watched nodes(server_, "/api/v1/nodes");
  Watched pods(server_, "/api/v1/pods");
  Watched leases(server_, kLeasesPath);
  WantAll(machines, [](DesiredMachine& desired) {
    desired.power = Power::kArriving;
    desired.ready = false;
    desired.reason = "KubeletNotReady";
  });
  nodes.WaitForAll(count, [](const Json& node) { return ReadyOf(node) == "False"; });
  WantAll(machines);
  const Watched::Objects there = nodes.WaitForAll(count, IsReady);
  leases.WaitForAll(count, [&](const Json& lease) { return IsOwnedByItsNode(lease, there); });
  WantAll(machines, [](DesiredMachine& desired) {
    desired.work = Change::kBegin;
    desired.new_work = {.pods = 2};
    desired.mark = Change::kBegin;
    desired.cordon = Change::kBegin;
  });
  pods.WaitForAll(3 * count, Runs);
  nodes.WaitForAll(count, [](const Json& node) {
    return node["spec"].value("unschedulable", false) && IsMarked(node);
  });
  WantAll(machines, [](DesiredMachine& desired) {
    desired.work = Change::kEnd;
    desired.mark = Change::kEnd;
    desired.cordon = Change::kEnd;
  });
  pods.WaitForAll(count, Runs);
  nodes.WaitForAll(count, [](const Json& node) {
    return !node["spec"].value("unschedulable", false) && !IsMarked(node);
  });
  WantAll(machines, [](DesiredMachine& desired) { desired.power = Power::kOff; });
  for (int i = 0; i < machines; ++i) {
    const std::string path = NodePath(Up(i).machine);
    // It may be told to fail, and yet have done it.
    absl::Status status = absl::UnknownError("");
    while (!status.ok() && !absl::IsNotFound(status)) status = client_->Delete(path);
  }
  pods.WaitForAll(0, Anything);
  nodes.WaitForAll(0, Anything);
  leases.WaitForAll(0, Anything);
}

TEST_F(LivesTest, PlaysWholeLives) {
  options_.kubelet.daemon_pods = 1;
  Begin();
  LiveAndDie(10);
  EXPECT_EQ(cluster_->stats().failed, 0);
}

TEST_F(LivesTest, WhateverTheServerDoes) {
  options_.kubelet.daemon_pods = 1;
  server_.Set({.stale_lists = 3,
               .repeat_events = 0.2,
               .reorder_events = 0.2,
               .cut_streams = absl::Milliseconds(50)});
  server_.FailNext({.verb = "LIST", .code = 500, .count = 3});
  server_.FailNext({.verb = "POST", .code = 500, .count = 5});
  server_.FailNext({.verb = "POST", .code = 503, .count = 5, .is_carried_out = true});
  server_.FailNext({.verb = "PATCH", .code = 409, .count = 10});
  server_.FailNext({.verb = "PATCH", .code = 500, .count = 5, .is_carried_out = true});
  server_.FailNext({.verb = "DELETE", .code = 500, .count = 5, .is_carried_out = true});
  Begin();
  LiveAndDie(10);
  EXPECT_GT(cluster_->stats().failed, 0);
}

TEST_F(ClusterTest, AServerThatWasAwayGetsEverything) {
  server_.SetRefusing(true);
  Begin();
  WantAll(5);
  server_.SetRefusing(false);
  Watched nodes(server_, "/api/v1/nodes");
  nodes.WaitForAll(5, IsReady);
}

TEST_F(ClusterTest, ANodeThatSomebodyDeletesIsCreatedAgain) {
  Begin();
  WantAll(1);
  Watched nodes(server_, "/api/v1/nodes");
  const std::string uid = nodes.WaitForAll(1, IsReady).begin()->second["metadata"]["uid"];
  DeleteNode(Up(0).machine);
  nodes.WaitForAll(
      1, [&](const Json& node) { return node["metadata"]["uid"] != uid && IsReady(node); });
}

TEST_F(ClusterTest, AnEarlierLifeHasNoSay) {
  Begin();
  Watched nodes(server_, "/api/v1/nodes");
  DesiredMachine now = Up(0);
  now.create_time += absl::Hours(1);
  cluster_->Want(now);
  DesiredMachine old = Up(0);
  old.ready = false;
  cluster_->Want(old);
  WantAll(1, [](DesiredMachine& desired) { desired.power = Power::kOff; });
  const auto seen = nodes.WaitForAll(1, IsReady);
  EXPECT_EQ(seen.begin()->second["metadata"]["annotations"][kLifeAnnotation], LifeMark(now));
}

TEST_F(ClusterTest, PodsOfOthersRunAndEndInTheFleetsTime) {
  Begin();
  WantAll(1);
  Watched nodes(server_, "/api/v1/nodes");
  Watched pods(server_, "/api/v1/pods");
  nodes.WaitForAll(1, IsReady);
  AddPod("foreign", Up(0).machine, 200);  // 0.2 s of the fleet's
  AddPod("elsewhere", "another-node", 30);
  pods.WaitUntil([](const Watched::Objects& all) {
    return all.contains("foreign") && Runs(all.at("foreign"));
  });
  const std::string path = absl::StrCat(PodsPath("default"), "/foreign");
  ASSERT_TRUE(client_->Delete(path).ok());
  const auto left =
      pods.WaitUntil([](const Watched::Objects& all) { return !all.contains("foreign"); });
  ASSERT_TRUE(left.contains("elsewhere"));
  EXPECT_FALSE(Runs(left.at("elsewhere"))) << "not on a machine of ours";
}

TEST_F(ClusterTest, WhatIsAsItShouldBeIsNotWritten) {
  Begin();
  WantAll(5);
  Watched nodes(server_, "/api/v1/nodes");
  Watched pods(server_, "/api/v1/pods");
  nodes.WaitForAll(5, IsReady);
  EXPECT_EQ(cluster_->stats().calls, 5);
  WantAll(5);
  AddPod("foreign", Up(4).machine, 30);
  pods.WaitForAll(1, Runs);
  EXPECT_EQ(cluster_->stats().calls, 6);
}

TEST_F(ClusterTest, AnAgentTellsItWhatMusterWants) {
  using lifecycle::v1::Node;
  FakeServer muster;
  Begin();
  AgentOptions options;
  options.server = muster.address();
  options.fleet.boot_time = absl::Milliseconds(2);
  options.fleet.ready_time = absl::Milliseconds(1);
  options.fleet.terminate_time = absl::Milliseconds(1);
  options.fleet.kubernetes = "";
  options.fail_share = 1;
  Agent agent(options, clock_, cluster_.get());
  std::thread runner([&] { agent.Run(); });
  Watched nodes(server_, "/api/v1/nodes");
  Node assigned = NewNode(0, absl::Now());
  (*assigned.mutable_desired()->mutable_labels())["node.kubernetes.io/instance-type"] = "turin-gp";
  muster.Put(assigned);
  muster.WaitForAll(Node::STATE_BOOTING, 1);
  // Its type is not published yet: nobody can tell what the machine has.
  muster.WaitForTypesRead(5);
  EXPECT_EQ(cluster_->stats().nodes, 0);
  muster.Publish(TypeOf("gd-1xgh200", 72));
  muster.Publish(TypeOf("turin-gp", 192));
  const auto there = nodes.WaitForAll(1, [](const Json& node) { return ReadyOf(node) == "False"; });
  EXPECT_EQ(there.begin()->second["status"]["allocatable"]["cpu"], "192");
  const auto move_to = [&](Node::State state) {
    Node node = muster.nodes().at(0);
    SetState(node, state, absl::Now());
    muster.Put(node);
  };
  move_to(Node::STATE_REGISTERED);
  nodes.WaitForAll(1, IsReady);
  move_to(Node::STATE_PRODUCTION);
  while (agent.FailNodes() == 0) std::this_thread::yield();  // until it has seen that
  nodes.WaitForAll(1, [](const Json& node) { return ReadyOf(node) == "False"; });
  Node node = muster.nodes().at(0);
  node.mutable_desired()->set_phase(lifecycle::v1::NodeDesired::PHASE_TERMINATED);
  SetState(node, Node::STATE_PREPARED_FOR_TERMINATE, absl::Now());
  muster.Put(node);
  muster.WaitForAll(Node::STATE_DELETED, 1);
  agent.Stop();
  runner.join();
}

TEST(ClusterCreateTest, SaysWhatIsWrongWithItsKubeconfig) {
  const SystemClock clock;
  const auto cluster = Cluster::Create({.kubeconfig = "/nonexistent"}, clock);
  EXPECT_TRUE(absl::IsNotFound(cluster.status())) << cluster.status();
}

}  // namespace
}  // namespace muster::fleetsim
