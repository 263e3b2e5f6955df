#include "services/fleetsim/cluster_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/fleetsim/testing/nodes.h"

namespace muster::fleetsim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Verb = ClusterCall::Verb;

DesiredMachine Up() {
  return {.machine = kMachine,
          .create_time = kStart,
          .zone = "US-EAST-04A",
          .instance_type = "gd-8xh100ib-i128",
          .hardware = {.cpus = 128,
                       .memory_kib = 2112109804,
                       .storage_kib = 30003181568,
                       .gpus = 8,
                       .pods = 110,
                       .architecture = "amd64"},
          .power = DesiredMachine::Power::kRunning,
          .ready = true,
          .reason = "KubeletReady"};
}

// The objects of an API server, which does what plans say: as much of it as they need.
class Objects {
 public:
  // Plans and carries it out; what was planned.
  std::vector<ClusterCall> Step(const DesiredMachine& desired) {
    ClusterPlan plan = Plan(desired);
    for (const ClusterCall& call : plan.calls) Carry(call);
    return plan.calls;
  }
  ClusterPlan Plan(const DesiredMachine& desired) const {
    MachineFacts facts{.desired = &desired, .now = now};
    std::vector<NodeSeen> nodes;
    std::vector<PodSeen> pods;
    for (const auto& [path, object] : at) {
      if (object["kind"] == "Node") nodes.push_back(ReadNode(object));
      if (object["kind"] == "Pod") pods.push_back(ReadPod(object));
    }
    if (!nodes.empty()) facts.node = &nodes[0];
    for (const PodSeen& pod : pods) facts.pods.push_back(&pod);
    return PlanCluster(facts, options);
  }
  // Until there is nothing to do; how many calls it took.
  size_t Converge(const DesiredMachine& desired) {
    size_t calls = 0;
    for (int round = 0; round < 10; ++round) {
      const size_t more = Step(desired).size();
      if (more == 0) return calls;
      calls += more;
    }
    ADD_FAILURE() << "it never ends";
    return calls;
  }
  Json& node() { return at[NodePath(kMachine)]; }
  // A Pod that somebody made.
  Json& AddPod(const std::string& name) {
    return at[absl::StrCat(PodsPath("users"), "/", name)] = {
               {"kind", "Pod"},
               {"metadata", {{"name", name}, {"namespace", "users"}, {"uid", name}}},
               {"spec", {{"nodeName", kMachine}}}};
  }
  size_t pods() const {
    size_t pods = 0;
    for (const auto& [path, object] : at) pods += object["kind"] == "Pod" ? 1 : 0;
    return pods;
  }

  std::map<std::string, Json> at;
  KubeletOptions options;
  absl::Time now = kStart;

 private:
  void Carry(const ClusterCall& call) {
    if (call.verb == Verb::kDelete) {
      EXPECT_EQ(at.erase(call.path), 1u) << call.path;
    } else if (call.verb == Verb::kCreate) {
      const std::string name = call.body["metadata"]["name"];
      Json& object = at[absl::StrCat(call.path, "/", name)];
      EXPECT_TRUE(object.is_null()) << name << " is there already";
      object = call.body;
      object["metadata"]["uid"] = name;
      if (absl::EndsWith(call.path, "/pods")) object["metadata"]["namespace"] = "default";
    } else {
      const std::string path = call.path.substr(0, call.path.rfind("/status"));
      ASSERT_TRUE(at.contains(path)) << path;
      at[path].merge_patch(call.body);
      if (call.verb == Verb::kApply && path == call.path) {
        const bool cordoned = call.body.contains("spec");
        at[path]["spec"]["unschedulable"] = cordoned;
        const Json fields = {{"f:spec", {{"f:unschedulable", Json::object()}}}};
        const Json entry = {
            {"manager", kFieldManager}, {"operation", "Apply"}, {"fieldsV1", fields}};
        at[path]["metadata"]["managedFields"] = cordoned ? Json::array({entry}) : Json::array();
      }
    }
  }
};

TEST(ClusterPlanTest, CreatesTheNodeThatAKubeletWould) {
  Objects objects;
  DesiredMachine desired = Up();
  desired.power = DesiredMachine::Power::kArriving;
  desired.ready = false;
  desired.reason = "KubeletNotReady";
  EXPECT_EQ(objects.Converge(desired), 1u);
  const Json& node = objects.node();
  EXPECT_EQ(node["spec"]["providerID"], "muster://US-EAST-04A/g100000");
  EXPECT_EQ(node["metadata"]["labels"]["kubernetes.io/hostname"], kMachine);
  EXPECT_EQ(node["metadata"]["labels"]["kubernetes.io/arch"], "amd64");
  EXPECT_EQ(node["status"]["allocatable"]["nvidia.com/gpu"], "8");
  EXPECT_EQ(node["status"]["conditions"][0]["status"], "False");
  EXPECT_EQ(node["status"]["conditions"][0]["reason"], "KubeletNotReady");
  EXPECT_EQ(objects.Converge(Up()), 1u);
  EXPECT_EQ(node["status"]["conditions"][0]["status"], "True");
}

TEST(ClusterPlanTest, AnnouncesWhatTheMachineHas) {
  Objects objects;
  objects.Converge(Up());
  const Json all = {{"cpu", "128"},
                    {"memory", "2112109804Ki"},
                    {"ephemeral-storage", "30003181568Ki"},
                    {"pods", "110"},
                    {"nvidia.com/gpu", "8"}};
  EXPECT_EQ(objects.node()["status"]["capacity"], all);
  EXPECT_EQ(objects.node()["status"]["allocatable"], all);
  EXPECT_EQ(objects.node()["status"]["nodeInfo"]["architecture"], "amd64");
}

TEST(ClusterPlanTest, WhatIsAnnouncedWronglyIsSetRight) {
  Objects objects;
  objects.Converge(Up());
  objects.node()["status"]["capacity"]["cpu"] = "1";
  objects.node()["status"]["capacity"]["rdma/ib"] = "8";
  EXPECT_EQ(objects.Converge(Up()), 1u);
  EXPECT_EQ(objects.node()["status"]["capacity"]["cpu"], "128");
  EXPECT_EQ(objects.node()["status"]["capacity"]["rdma/ib"], "8") << "a device plugin's";
}

TEST(ClusterPlanTest, WaitsUntilTheNodeOfAnEarlierLifeIsGone) {
  Objects objects;
  objects.Converge(Up());
  DesiredMachine next = Up();
  next.create_time += absl::Hours(1);
  next.power = DesiredMachine::Power::kArriving;
  next.ready = false;
  next.reason = "KubeletNotReady";
  EXPECT_THAT(objects.Step(next), IsEmpty());
  objects.at.clear();
  EXPECT_EQ(objects.Converge(next), 1u);
  EXPECT_EQ(ReadNode(objects.node()).life, LifeMark(next));
}

TEST(ClusterPlanTest, TakesTheNodeOfAnEarlierLifeOverOnceMusterDoes) {
  Objects objects;
  objects.Converge(Up());
  DesiredMachine next = Up();
  next.create_time += absl::Hours(1);
  EXPECT_EQ(objects.Converge(next), 1u);
  EXPECT_EQ(ReadNode(objects.node()).life, LifeMark(next));
}

TEST(ClusterPlanTest, CreatesItAgainWhileTheMachineRunsOnly) {
  Objects objects;
  objects.Converge(Up());
  objects.node()["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  EXPECT_THAT(objects.Step(Up()), IsEmpty()) << "it has to be gone first";
  objects.at.clear();
  DesiredMachine desired = Up();
  for (const auto power : {DesiredMachine::Power::kOff, DesiredMachine::Power::kRebooting}) {
    desired.power = power;
    EXPECT_THAT(objects.Step(desired), IsEmpty());
  }
  EXPECT_EQ(objects.Converge(Up()), 1u);
}

TEST(ClusterPlanTest, PutsBackWhatOthersSayOfReady) {
  Objects objects;
  objects.Converge(Up());
  objects.node()["status"]["conditions"][0]["status"] = "Unknown";
  EXPECT_EQ(objects.Converge(Up()), 1u);
  EXPECT_TRUE(ReadNode(objects.node()).ready);
}

// While nothing could be written it went down and came up.
TEST(ClusterPlanTest, ABootThatNobodySawIsTold) {
  Objects objects;
  DesiredMachine up = Up();
  up.boot_id = "boot-1";
  objects.Converge(up);
  EXPECT_EQ(objects.node()["status"]["nodeInfo"]["bootID"], "boot-1");
  up.boot_id = "boot-2";
  EXPECT_EQ(objects.Converge(up), 1u);
  EXPECT_EQ(objects.node()["status"]["nodeInfo"]["bootID"], "boot-2");
}

TEST(ClusterPlanTest, WhatIsSaidInPlaceOfASilentKubeletStands) {
  Objects objects;
  objects.Converge(Up());
  DesiredMachine silent = Up();
  silent.ready = false;
  silent.reason = kKubeletStopped;
  DesiredMachine rebooting = Up();
  rebooting.power = DesiredMachine::Power::kRebooting;
  rebooting.ready = false;
  rebooting.reason = "KubeletNotReady";
  for (const DesiredMachine& desired : {silent, rebooting}) {
    EXPECT_EQ(objects.Converge(desired), 1u);
    Json& ready = objects.node()["status"]["conditions"][0];
    ready["status"] = "Unknown";
    ready["reason"] = kNodeStatusUnknown;
    EXPECT_EQ(objects.Converge(desired), 0u) << desired.reason;
    EXPECT_EQ(objects.Converge(Up()), 1u) << "it is back";
  }
}

TEST(ClusterPlanTest, OnlyOursMarksAndCordonsComeAndGo) {
  Objects objects;
  objects.Converge(Up());
  const Json foreign = {{"key", "other"}, {"effect", "NoExecute"}, {"timeAdded", "x"}};
  objects.node()["spec"]["taints"] = Json::array({foreign});
  DesiredMachine begin = Up();
  begin.mark = begin.cordon = DesiredMachine::Change::kBegin;
  EXPECT_EQ(objects.Converge(begin), 2u);
  const Json& spec = objects.node()["spec"];
  EXPECT_THAT(spec["taints"], SizeIs(2));
  EXPECT_EQ(spec["taints"][0], foreign);
  EXPECT_EQ(spec["taints"][1]["key"], kAutoscalerTaint);
  EXPECT_EQ(spec["unschedulable"], true);
  EXPECT_EQ(objects.Converge(Up()), 0u) << "they stay until they are to go";
  DesiredMachine end = Up();
  end.mark = end.cordon = DesiredMachine::Change::kEnd;
  EXPECT_EQ(objects.Converge(end), 2u);
  EXPECT_EQ(spec["taints"], Json::array({foreign}));
  EXPECT_EQ(spec["unschedulable"], false);

  const Json mark = {{"key", kAutoscalerTaint}, {"value", "1750000000"}};
  objects.node()["spec"]["taints"] = Json::array({mark});
  objects.node()["spec"]["unschedulable"] = true;
  EXPECT_EQ(objects.Converge(end), 0u) << "somebody else's";
}

TEST(ClusterPlanTest, TheTaintsThatWereSeenAreTheOnesThatChange) {
  Objects objects;
  objects.Converge(Up());
  objects.node()["metadata"]["resourceVersion"] = "17";
  DesiredMachine begin = Up();
  begin.mark = DesiredMachine::Change::kBegin;
  const ClusterPlan plan = objects.Plan(begin);
  ASSERT_THAT(plan.calls, SizeIs(1));
  EXPECT_EQ(plan.calls[0].body["metadata"]["resourceVersion"], "17");
}

TEST(ClusterPlanTest, WorkIsPodsThatComeRunAndGo) {
  Objects objects;
  objects.options.speed = 10;
  objects.Converge(Up());
  DesiredMachine begin = Up();
  begin.work = DesiredMachine::Change::kBegin;
  begin.new_work = {.kind = Work::Class::kGraceful,
                    .number = 3,
                    .pods = 4,
                    .grace_period = absl::Milliseconds(2910)};
  EXPECT_EQ(objects.Converge(begin), 8u) << "created and set to run";
  const Json& pod = objects.at[absl::StrCat(PodsPath("default"), "/work-g100000-3-0")];
  EXPECT_EQ(pod["spec"]["nodeName"], kMachine);
  EXPECT_EQ(pod["spec"]["terminationGracePeriodSeconds"], 30);
  EXPECT_EQ(pod["metadata"]["labels"]["qos.coreweave.cloud/graceful-interruptible"], "true");
  EXPECT_FALSE(pod["metadata"]["labels"].contains("qos.coreweave.cloud/interruptable"));
  EXPECT_EQ(pod["status"]["phase"], "Running");

  objects.at.erase(absl::StrCat(PodsPath("default"), "/work-g100000-3-2"));
  EXPECT_EQ(objects.Converge(begin), 2u) << "as many as were asked for";
  begin.new_work.number = 0;
  EXPECT_EQ(objects.Converge(begin), 0u) << "after a restart, which lost count: the work is there";
  objects.at.erase(absl::StrCat(PodsPath("default"), "/work-g100000-3-2"));
  EXPECT_EQ(objects.Converge(Up()), 0u) << "what others end stays ended";
  objects.AddPod("foreign");
  DesiredMachine end = Up();
  end.work = DesiredMachine::Change::kEnd;
  EXPECT_EQ(objects.Converge(end), 4u) << "three end, the other one begins to run";
  EXPECT_EQ(objects.pods(), 1u);
}

TEST(ClusterPlanTest, DaemonsArePutBack) {
  Objects objects;
  objects.options.daemon_pods = 2;
  EXPECT_EQ(objects.Converge(Up()), 5u) << "the Node, two Pods, twice running";
  const std::string path = absl::StrCat(PodsPath("default"), "/daemon-g100000-1");
  EXPECT_EQ(objects.at[path]["metadata"]["ownerReferences"][0]["kind"], "DaemonSet");
  EXPECT_EQ(objects.at[path]["metadata"]["ownerReferences"][0]["controller"], true);
  objects.at.erase(path);
  EXPECT_EQ(objects.Converge(Up()), 2u);
  DesiredMachine end = Up();
  end.work = DesiredMachine::Change::kEnd;
  EXPECT_EQ(objects.Converge(end), 0u) << "they are no work";
}

TEST(ClusterPlanTest, APodEndsAfterItsGracePeriodInTheFleetsTime) {
  Objects objects;
  objects.options.speed = 10;
  objects.Converge(Up());
  Json& pod = objects.AddPod("foreign");
  objects.Converge(Up());
  EXPECT_EQ(pod["status"]["phase"], "Running");
  pod["metadata"]["deletionTimestamp"] =
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", kStart + absl::Seconds(30), absl::UTCTimeZone());
  pod["metadata"]["deletionGracePeriodSeconds"] = 30;
  const ClusterPlan waits = objects.Plan(Up());
  EXPECT_THAT(waits.calls, IsEmpty());
  EXPECT_EQ(waits.look_again, kStart + absl::Seconds(3));
  objects.now += absl::Seconds(3);
  const std::vector<ClusterCall> calls = objects.Step(Up());
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls[0].verb, Verb::kDelete);
  EXPECT_EQ(calls[0].body["gracePeriodSeconds"], 0);
  EXPECT_EQ(calls[0].body["preconditions"]["uid"], "foreign");
}

TEST(ClusterPlanTest, ASilentKubeletNeitherEndsNorStartsPods) {
  DesiredMachine stopped = Up();
  stopped.ready = false;
  stopped.reason = kKubeletStopped;
  DesiredMachine rebooting = Up();
  rebooting.power = DesiredMachine::Power::kRebooting;
  rebooting.ready = false;
  rebooting.reason = "KubeletNotReady";
  DesiredMachine off = Up();
  off.power = DesiredMachine::Power::kOff;
  for (const DesiredMachine& desired : {stopped, rebooting, off}) {
    Objects objects;
    objects.Converge(Up());
    objects.Converge(desired);
    objects.AddPod("pending");
    for (const char* name : {"leaving", "overdue"}) {
      Json& metadata = objects.AddPod(name)["metadata"];
      metadata["deletionTimestamp"] = "2036-01-01T00:00:00Z";
      metadata["deletionGracePeriodSeconds"] = 30;
    }
    objects.at[absl::StrCat(PodsPath("users"), "/overdue")]["metadata"]["deletionTimestamp"] =
        "2025-01-01T00:00:00Z";
    const ClusterPlan plan = objects.Plan(desired);
    EXPECT_THAT(plan.calls, IsEmpty()) << desired.reason;
    EXPECT_EQ(plan.look_again, absl::InfiniteFuture());
    EXPECT_THAT(objects.Plan(Up()).calls, SizeIs(desired == off ? 2 : 3)) << "it is back";
  }
}

TEST(ClusterPlanTest, APodWithNoTimeToGoEndsAtOnceAndIsNotEndedTwice) {
  for (const int grace : {0, 1}) {
    Objects objects;
    objects.Converge(Up());
    Json& pod = objects.AddPod("foreign");
    pod["metadata"]["deletionTimestamp"] = "2036-01-01T00:00:00Z";
    pod["metadata"]["deletionGracePeriodSeconds"] = grace;
    EXPECT_THAT(objects.Plan(Up()).calls, SizeIs(1));
    pod["metadata"]["finalizers"] = Json::array({"somebody/waits"});
    EXPECT_THAT(objects.Plan(Up()).calls, SizeIs(grace)) << "held: ended by the first deletion";
  }
}

TEST(ClusterPlanTest, NothingIsLeftOnAMachineThatIsOffAndHasNoNode) {
  Objects objects;
  objects.options.daemon_pods = 1;
  objects.Converge(Up());
  objects.AddPod("foreign");
  DesiredMachine off = Up();
  off.power = DesiredMachine::Power::kOff;
  EXPECT_EQ(objects.Converge(off), 0u) << "the Node first";
  objects.at.erase(NodePath(kMachine));
  EXPECT_EQ(objects.Converge(off), 2u);
  EXPECT_TRUE(objects.at.empty());
}

}  // namespace
}  // namespace muster::fleetsim
