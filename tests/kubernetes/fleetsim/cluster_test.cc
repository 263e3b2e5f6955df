#include "services/fleetsim/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "services/fleetsim/agent.h"
#include "services/fleetsim/fake_server.h"
#include "tests/kubernetes/double/api_server_double.h"

namespace muster::fleetsim {
namespace {

using kubernetes::Client;
using testing::ApiServerDouble;
using Power = Wish::Power;
using Change = Wish::Change;

const absl::Time kBirth = absl::FromUnixSeconds(1'750'000'000);

std::unique_ptr<Client> Connect(const ApiServerDouble& server, const std::string& user_agent) {
  auto client = Client::Create({.server = server.url()}, {.user_agent = user_agent});
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

// All objects of a collection, as a watch shows them.
class Watched final : public kubernetes::Sink {
 public:
  using Objects = std::map<std::string, Json>;  // by name

  Watched(const ApiServerDouble& server, const std::string& path)
      : client_(Connect(server, "watcher")),
        reflector_(client_.get(),
                   {.path = path,
                    .first_retry = absl::Milliseconds(1),
                    .last_retry = absl::Milliseconds(5)},
                   this) {
    reflector_.Start();
  }
  ~Watched() override {
    client_->Stop();
    reflector_.Stop();
  }

  // Blocks until it is so.
  Objects WaitUntil(const std::function<bool(const Objects&)>& is_so) {
    MutexLock lock(mutex_);
    while (true) {
      Objects objects;
      for (const Seen* seen : view_.OnMachine("")) objects[seen->key().second] = seen->object;
      if (is_so(objects)) return objects;
      changed_.Wait(mutex_);
    }
  }
  // Blocks until there are so many, and of each it is so.
  Objects WaitForAll(size_t count, const std::function<bool(const Json&)>& is_so) {
    return WaitUntil([&](const Objects& objects) {
      return objects.size() == count &&
             std::all_of(objects.begin(), objects.end(),
                         [&](const auto& entry) { return is_so(entry.second); });
    });
  }

  void BeginList() override {
    Change([&] { view_.BeginList(); });
  }
  void EndList() override {
    Change([&] { view_.EndList(); });
  }
  void Put(const Json& object) override {
    Change([&] { view_.Put(Seen(object)); });
  }
  void Remove(const Json& object) override {
    const Seen seen(object);
    Change([&] { view_.Remove(seen.key(), seen.version); });
  }

 private:
  struct Seen {
    Seen() = default;
    explicit Seen(const Json& json)
        : object(json), version(object["metadata"]["resourceVersion"]) {}
    std::pair<std::string, std::string> key() const { return {"", object["metadata"]["name"]}; }
    Json object = {};
    std::string version = {};
  };
  void Change(const std::function<void()>& change) {
    MutexLock lock(mutex_);
    change();
    changed_.SignalAll();
  }

  const std::unique_ptr<Client> client_;
  Mutex mutex_;
  CondVar changed_;
  ClusterView<Seen> view_ MUSTER_GUARDED_BY(mutex_);
  kubernetes::Reflector reflector_;
};

std::string ReadyOf(const Json& node) {
  for (const Json& condition : node["status"]["conditions"]) {
    if (condition["type"] == "Ready") return condition["status"];
  }
  return "";
}

bool IsReady(const Json& node) { return ReadyOf(node) == "True"; }
bool Runs(const Json& pod) {
  return pod.contains("status") && pod["status"].value("phase", "") == "Running";
}
bool IsMarked(const Json& node) {
  const std::vector<Json> taints = node["spec"].value("taints", std::vector<Json>());
  return std::any_of(taints.begin(), taints.end(),
                     [](const Json& taint) { return taint["key"] == kAutoscalerTaint; });
}
bool Anything(const Json&) { return true; }

class ClusterTest : public ::testing::Test {
 protected:
  ClusterTest() : client_(Connect(server_, "test")) {
    options_.calls = 4;
    options_.first_retry = absl::Milliseconds(1);
    options_.last_retry = absl::Milliseconds(20);
    options_.kubelet.speed = 1000;
  }
  // Runs from now on.
  void Begin() {
    cluster_ = std::make_unique<Cluster>(Connect(server_, "fleetsim"), options_, clock_);
    cluster_->Start();
  }
  Wish Up(int machine) const {
    return {.machine = absl::StrCat("g", 100000 + machine),
            .create_time = kBirth,
            .zone = "US-EAST-04A",
            .power = Power::kRunning,
            .ready = true,
            .reason = "KubeletReady"};
  }
  void WantAll(
      int machines, const std::function<void(Wish&)>& change = [](Wish&) {}) {
    for (int i = 0; i < machines; ++i) {
      Wish wish = Up(i);
      change(wish);
      cluster_->Want(wish);
    }
  }
  void DeleteNode(const std::string& machine) {
    const absl::Status status = client_->Delete(NodePath(machine));
    EXPECT_TRUE(status.ok()) << status;
  }
  void AddPod(const std::string& name, const std::string& machine, int grace) {
    const Json container = {{"name", "c"}, {"image", "i"}};
    const auto added =
        client_->Create(PodsPath("default"), {{"apiVersion", "v1"},
                                              {"kind", "Pod"},
                                              {"metadata", {{"name", name}}},
                                              {"spec",
                                               {{"nodeName", machine},
                                                {"terminationGracePeriodSeconds", grace},
                                                {"containers", Json::array({container})}}}});
    EXPECT_TRUE(added.ok()) << added.status();
  }
  // A whole life of so many machines: they arrive, get ready, work, are switched off.
  void LiveAndDie(int machines);

  SystemClock clock_;
  ApiServerDouble server_;
  const std::unique_ptr<Client> client_;
  ClusterOptions options_;
  std::unique_ptr<Cluster> cluster_;
};

void ClusterTest::LiveAndDie(int machines) {
  const auto count = static_cast<size_t>(machines);
  Watched nodes(server_, "/api/v1/nodes");
  Watched pods(server_, "/api/v1/pods");
  WantAll(machines, [](Wish& wish) {
    wish.power = Power::kArriving;
    wish.ready = false;
    wish.reason = "KubeletNotReady";
  });
  nodes.WaitForAll(count, [](const Json& node) { return ReadyOf(node) == "False"; });
  WantAll(machines);
  nodes.WaitForAll(count, IsReady);
  WantAll(machines, [](Wish& wish) {
    wish.work = Change::kBegin;
    wish.new_work = {.pods = 2};
    wish.mark = Change::kBegin;
    wish.cordon = Change::kBegin;
  });
  pods.WaitForAll(3 * count, Runs);
  nodes.WaitForAll(count, [](const Json& node) {
    return node["spec"].value("unschedulable", false) && IsMarked(node);
  });
  WantAll(machines, [](Wish& wish) {
    wish.work = Change::kEnd;
    wish.mark = Change::kEnd;
    wish.cordon = Change::kEnd;
  });
  pods.WaitForAll(count, Runs);
  nodes.WaitForAll(count, [](const Json& node) {
    return !node["spec"].value("unschedulable", false) && !IsMarked(node);
  });
  WantAll(machines, [](Wish& wish) { wish.power = Power::kOff; });
  for (int i = 0; i < machines; ++i) {
    const std::string path = NodePath(Up(i).machine);
    // It may be told to fail, and yet have done it.
    absl::Status status = absl::UnknownError("");
    while (!status.ok() && !absl::IsNotFound(status)) status = client_->Delete(path);
  }
  pods.WaitForAll(0, Anything);
  nodes.WaitForAll(0, Anything);
}

TEST_F(ClusterTest, PlaysWholeLives) {
  options_.kubelet.daemon_pods = 1;
  Begin();
  LiveAndDie(10);
  EXPECT_EQ(cluster_->stats().failed, 0);
}

TEST_F(ClusterTest, WhateverTheServerDoes) {
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
  Wish now = Up(0);
  now.create_time += absl::Hours(1);
  cluster_->Want(now);
  Wish old = Up(0);
  old.ready = false;
  cluster_->Want(old);
  WantAll(1, [](Wish& wish) { wish.power = Power::kOff; });
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
  muster.Put(NewNode(0, absl::Now()));
  nodes.WaitForAll(1, [](const Json& node) { return ReadyOf(node) == "False"; });
  muster.WaitForAll(Node::STATE_BOOTING, 1);
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
