#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/kubernetes/adapter/adapter_test_base.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class NodesTest : public AdapterTest<NodesTest> {
 public:
  static AdapterStack::Options MakeOptions() { return WithoutKubelets(); }
};

TEST_F(NodesTest, IsMatchedByItsProviderIdWhateverItsName) {
  const std::string pool = Name();
  const std::string machine = Deliver(pool);
  const std::string name = Name("ip-10-0-0-1.example.internal");
  Register(name, absl::StrCat("other:///RNO2A/", machine));
  ASSERT_TRUE(AwaitState(name, "production"));
  EXPECT_EQ(LabelOf(stack().GetNode(name), "compute.coreweave.com/node-pool"), pool);
  ASSERT_TRUE(stack().AwaitHealthy(pool, 1));
  EXPECT_TRUE(AwaitEvent(name, "CWNodeRegistered")) << "what `kubectl describe node` shows";
  stack().DeleteNodePool(pool);
  EXPECT_TRUE(AwaitGone(name));
}

TEST_F(NodesTest, IsMatchedByItsNameWhenItsProviderIdIsOfNoMachine) {
  const std::string pool = Name();
  const std::string machine = Deliver(pool);
  Register(machine, "aws:///us-west-2a/i-0abcdef");
  ASSERT_TRUE(AwaitState(machine, "production"));
  EXPECT_TRUE(stack().AwaitHealthy(pool, 1));
}

TEST_F(NodesTest, IsMatchedByItsNameWithoutAProviderId) {
  const std::string pool = Name();
  const std::string machine = Deliver(pool);
  Register(machine, "");
  ASSERT_TRUE(AwaitState(machine, "production"));
  EXPECT_EQ(LabelOf(stack().GetNode(machine), "compute.coreweave.com/node-pool"), pool);
}

TEST_F(NodesTest, WhatIsLeftOfAnEarlierLifeIsDeleted) {
  const std::string pool = Name();
  const std::string machine = Deliver(pool);
  Register(machine, absl::StrCat("muster://RNO2A/", machine),
           {{"node.coreweave.cloud/node-create-time", "2020-01-01T00:00:00.000000Z"}});
  ASSERT_TRUE(AwaitGone(machine));
  EXPECT_EQ(stack().GetNodePool(pool)["status"]["currentNodes"], 0);
  Register(machine, absl::StrCat("muster://RNO2A/", machine));
  EXPECT_TRUE(AwaitState(machine, "production"));
}

// A kubelet takes the object that it finds at its start, and makes no other once that is gone.
TEST_F(NodesTest, WhatIsLeftOfAnEarlierLifeIsKeptOnceTheNextOnesKubeletHasIt) {
  const std::string pool = Name();
  const std::string machine = TakeOver({pool}).at(0);
  const Json uid = stack().GetNode(machine)["metadata"]["uid"];
  stack().StartAdapter();
  ASSERT_TRUE(AwaitState(machine, "production"));
  EXPECT_EQ(stack().GetNode(machine)["metadata"]["uid"], uid);
  EXPECT_TRUE(stack().AwaitHealthy(pool, 1));
}

TEST_F(NodesTest, ANodeOfAPoolThatMusterDoesNotKnowIsDeletedIfWeMadeItOne) {
  const std::string ours = Name("orphan");
  const std::string foreign = Name("foreign");
  for (const std::string& name : {foreign, ours}) {
    Register(name, "");
    const auto labelled = stack().client().Patch(
        kubernetes::PatchType::kApply, absl::StrCat(kNodesPath, "/", name),
        {{"apiVersion", "v1"},
         {"kind", "Node"},
         {"metadata",
          {{"name", name}, {"labels", {{"compute.coreweave.com/node-pool", "ghost"}}}}}},
        {{"fieldManager", name == ours ? "muster" : "somebody"}});
    ASSERT_TRUE(labelled.ok()) << labelled.status();
  }
  EXPECT_TRUE(AwaitGone(ours));
  EXPECT_FALSE(stack().GetNode(foreign).is_null());
}

TEST_F(NodesTest, WhatIsOursIsPutBackAndWhatIsNotStays) {
  const std::string node = Join(
      Name(),
      {{"nodeLabels", {{"example.com/team", "a"}}},
       {"nodeAnnotations", {{"example.com/note", "x"}}},
       {"nodeTaints",
        Json::array({{{"key", "example.com/only"}, {"value", "us"}, {"effect", "NoSchedule"}},
                     // As the Node has it anyway; twice, the API server would refuse all of them.
                     {{"key", "is_gpu"}, {"value", "true"}, {"effect", "PreferNoSchedule"}}})}});
  const Json foreign = {
      {"key", "sunk.coreweave.com/lock"}, {"value", "true"}, {"effect", "NoExecute"}};
  const Json timed = {{"key", "example.com/broken"},
                      {"effect", "NoExecute"},
                      {"timeAdded", "2026-01-01T00:00:00Z"}};
  const Json wrong = {{"key", "example.com/only"}, {"value", "them"}, {"effect", "NoSchedule"}};
  stack().PatchNode(
      node, {{"metadata",
              {{"labels", {{kState, "mine"}, {"example.com/team", nullptr}, {"their", "label"}}},
               {"annotations", {{"example.com/note", "y"}, {"their", "annotation"}}}}},
             {"spec", {{"taints", Json::array({foreign, timed, wrong})}}}});
  EXPECT_TRUE(AwaitNode(node, [&](const Json& object) {
    return LabelOf(object, kState) == "production" && LabelOf(object, "example.com/team") == "a" &&
           AnnotationOf(object, "example.com/note") == "x" &&
           TaintOf(object, "example.com/only")["value"] == "us" &&
           !TaintOf(object, "is_gpu").is_null();
  })) << stack().GetNode(node).dump(2);
  const Json object = stack().GetNode(node);
  EXPECT_EQ(LabelOf(object, "their"), "label");
  EXPECT_EQ(AnnotationOf(object, "their"), "annotation");
  EXPECT_EQ(TaintOf(object, "sunk.coreweave.com/lock"), foreign);
  EXPECT_EQ(TaintOf(object, "example.com/broken"), timed);
}

TEST_F(NodesTest, ConditionsOfOursArePutBack) {
  const std::string node = Join(Name());
  const Json before = stack().GetNode(node);
  Json conditions = Json::array();
  for (Json condition : before["status"]["conditions"]) {
    if (condition["type"] == "CWRegistered") continue;
    if (condition["type"] == "CWActive") condition["status"] = "Unknown";
    conditions.push_back(condition);
  }
  const auto written = stack().client().Patch(kubernetes::PatchType::kMerge,
                                              absl::StrCat(kNodesPath, "/", node, "/status"),
                                              {{"status", {{"conditions", conditions}}}});
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_TRUE(AwaitNode(node, [&](const Json& object) {
    for (const char* type : {"CWRegistered", "CWActive"}) {
      if (ConditionOf(object, type) != ConditionOf(before, type)) return false;
    }
    return true;
  })) << stack().GetNode(node).dump(2);
  EXPECT_EQ(ConditionOf(stack().GetNode(node), "Ready")["status"], "True");
}

TEST_F(NodesTest, WhatThePoolSaysOfItsNodesReachesThemAndLeavesThem) {
  const std::string pool = Name();
  const std::string node = Join(pool);
  const Json taint = {{"key", "example.com/only"}, {"effect", "NoSchedule"}};
  PatchSpec(pool, {{"nodeLabels", {{"example.com/team", "a"}, {"example.com/tier", "b"}}},
                   {"nodeAnnotations", {{"example.com/note", "x"}}},
                   {"nodeTaints", Json::array({taint})}});
  ASSERT_TRUE(AwaitNode(node, [&](const Json& object) {
    return LabelOf(object, "example.com/team") == "a" &&
           LabelOf(object, "example.com/tier") == "b" &&
           AnnotationOf(object, "example.com/note") == "x" &&
           TaintOf(object, "example.com/only") == taint;
  })) << stack().GetNode(node).dump(2);
  PatchSpec(pool, {{"nodeLabels", {{"example.com/team", "c"}, {"example.com/tier", nullptr}}},
                   {"nodeAnnotations", nullptr},
                   {"nodeTaints", nullptr}});
  EXPECT_TRUE(AwaitNode(node, [&](const Json& object) {
    return LabelOf(object, "example.com/team") == "c" &&
           LabelOf(object, "example.com/tier").empty() &&
           AnnotationOf(object, "example.com/note").empty() &&
           TaintOf(object, "example.com/only").is_null();
  })) << stack().GetNode(node).dump(2);
}

// Somebody else booted it, e.g. by its power button, and it came up in what was staged.
TEST_F(NodesTest, WhatItRunsIsToldWheneverItChanges) {
  const std::string pool = Name();
  const std::string node = Join(pool);
  const auto runs = [&] { return MusterNodesOf(pool).at(0).observed().node_profile(); };
  const std::string before = runs();
  ASSERT_EQ(before, MusterNodesOf(pool).at(0).desired().node_profile());
  const auto says = [&](const std::string& profile) {
    stack().PatchNode(
        node, {{"metadata", {{"annotations", {{"node.coreweave.cloud/node-profile", profile}}}}}});
  };
  says("np-0123456789ab");
  Until([&] { return runs() == "np-0123456789ab"; }, "the profile that the Node says it runs");
  says(before);
  Until([&] { return runs() == before; }, "the profile that it runs again");
}

TEST_F(NodesTest, OneThatIsNotReadyIsInTriageUntilItIs) {
  const std::string node = Join(Name());
  SetReady(node, false);
  ASSERT_TRUE(AwaitState(node, "triage"));
  EXPECT_TRUE(AwaitNode(node, [](const Json& object) {
    return TaintOf(object, "node.coreweave.cloud/reserved").value("effect", "") == "NoExecute";
  }));
  SetReady(node, true);
  EXPECT_TRUE(AwaitNode(node, [](const Json& object) {
    return LabelOf(object, kState) == "production" &&
           TaintOf(object, "node.coreweave.cloud/reserved").is_null();
  }));
}

TEST_F(NodesTest, PodsMakeItActiveAndThoseOfDaemonSetsAndMirrorsDoNot) {
  const std::string node = Join(Name());
  const Json daemon_set = {{"apiVersion", "apps/v1"},
                           {"kind", "DaemonSet"},
                           {"name", "agent"},
                           {"uid", "0b6b0b5a"},
                           {"controller", true}};
  const std::string daemon = Name("daemon");
  const std::string mirror = Name("mirror");
  const std::string work = Name("work");
  CreatePod(daemon, node, {{"metadata", {{"ownerReferences", Json::array({daemon_set})}}}});
  CreatePod(mirror, node,
            {{"metadata", {{"annotations", {{"kubernetes.io/config.mirror", "x"}}}}}});
  CreatePod(work, node);
  ASSERT_TRUE(AwaitActive(node));
  const std::string message = ConditionOf(stack().GetNode(node), "CWActive")["message"];
  EXPECT_THAT(message, HasSubstr("default/" + work));
  EXPECT_THAT(message, Not(HasSubstr(daemon)));
  EXPECT_THAT(message, Not(HasSubstr(mirror)));
  // A Pod that has ended is no work either, though it is still there.
  const auto ended = stack().client().Patch(kubernetes::PatchType::kMerge,
                                            absl::StrCat(kDefaultPodsPath, "/", work, "/status"),
                                            {{"status", {{"phase", "Succeeded"}}}});
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_TRUE(AwaitActive(node, false));
}

TEST_F(NodesTest, ACordonOfSomebodyElseIsLeftAlone) {
  const std::string pool = Name();
  const std::string node = Join(pool);
  stack().PatchNode(node, {{"spec", {{"unschedulable", true}}}});
  // What is ours changes meanwhile.
  PatchSpec(pool, {{"nodeLabels", {{"example.com/round", "1"}}}});
  ASSERT_TRUE(AwaitNode(
      node, [](const Json& object) { return LabelOf(object, "example.com/round") == "1"; }));
  EXPECT_TRUE(IsCordoned(stack().GetNode(node)));
  // Reports to Muster and writes to the API server go their own ways.
  Until([&] { return MusterNodesOf(pool).at(0).observed().unschedulable(); }, "the report of it");
  stack().PatchNode(node, {{"spec", {{"unschedulable", nullptr}}}});
  PatchSpec(pool, {{"nodeLabels", {{"example.com/round", "2"}}}});
  ASSERT_TRUE(AwaitNode(
      node, [](const Json& object) { return LabelOf(object, "example.com/round") == "2"; }));
  EXPECT_FALSE(IsCordoned(stack().GetNode(node)));
}

class RebootTest : public AdapterTest<RebootTest> {
 public:
  static AdapterStack::Options MakeOptions() {
    AdapterStack::Options options = WithoutKubelets();
    // Nobody but the adapter says that the work has left, or that the Node is back.
    for (const char* flag : {"--drain_time=24h", "--ready_time=24h"})
      options.muster.fleetsim_flags.emplace_back(flag);
    return options;
  }

 protected:
  // What the Node runs, and which boot of its machine that is, as its kubelet says.
  void Boot(const std::string& node, const std::string& boot_id, const std::string& profile) {
    stack().PatchNode(
        node, {{"metadata", {{"annotations", {{"node.coreweave.cloud/node-profile", profile}}}}}});
    const auto written = stack().client().Patch(
        kubernetes::PatchType::kMerge, absl::StrCat(kNodesPath, "/", node, "/status"),
        {{"status", {{"nodeInfo", {{"bootID", boot_id}}}}}});
    ASSERT_TRUE(written.ok()) << written.status();
  }
  void AwaitBoot(const std::string& pool, const std::string& boot_id) {
    Until([&] { return MusterNodesOf(pool).at(0).observed().boot_id() == boot_id; },
          "Muster to know of " + boot_id);
  }
};

// "For updates to take effect, perform a reconfigure reboot": work is moved away first, and the
// Node is in production again when it is back, though the adapter dies on the way.
TEST_F(RebootTest, MovesWorkAwayAndEndsWhenTheNodeIsBack) {
  using lifecycle::v1::Node;
  const std::string pool = Name();
  const std::string node = Join(pool);
  const std::string before = MusterNodesOf(pool).at(0).desired().node_profile();
  Boot(node, "boot-1", before);
  AwaitBoot(pool, "boot-1");
  const std::string work = Name("work");
  const Json pod = CreatePod(
      work, node,
      {{"metadata", {{"labels", {{"qos.coreweave.cloud/graceful-interruptible", "true"}}}}},
       {"spec", {{"terminationGracePeriodSeconds", 5}}}});
  ASSERT_TRUE(AwaitActive(node));
  PatchSpec(pool, {{"gpu", {{"version", "550"}}}});
  ASSERT_TRUE(AwaitReason(pool, "NodeReconfigurationRequired", "StagedNodeConfig"));
  const std::string profile = stack().GetNodePool(pool)["status"]["nodeProfile"];
  ASSERT_NE(profile, before);

  Ctl({"reconfigure", "nodepool/" + pool, "--evict-active"});
  ASSERT_TRUE(AwaitPod(work, IsLeaving));
  ASSERT_TRUE(AwaitNode(node, IsCordoned));
  const auto leaving = stack().client().Get(absl::StrCat(kDefaultPodsPath, "/", work));
  ASSERT_TRUE(leaving.ok()) << leaving.status();
  EXPECT_EQ((*leaving)["metadata"]["deletionGracePeriodSeconds"], 5) << "its own";
  EXPECT_TRUE(ConditionOf(*leaving, "DisruptionTarget").is_null()) << "not evicted";
  if (!stack().server().is_real()) {
    const std::string uid = pod["metadata"]["uid"];
    EXPECT_EQ(stack().server().fake_or_null()->CountsOf(uid).evictions, 0);
  }
  EXPECT_EQ(MusterNodesOf(pool).at(0).state(), Node::STATE_PRODUCTION) << "its work is still there";
  EXPECT_EQ(LabelOf(stack().GetNode(node), kState), "production");

  stack().KillAdapter();
  EndPod(work);
  stack().StartAdapter();
  ASSERT_TRUE(AwaitNode(node, [](const Json& object) {
    const Json taint = TaintOf(object, "node.coreweave.cloud/reserved");
    return LabelOf(object, kState) == "production-reboot" && IsCordoned(object) &&
           !taint.is_null() && taint["effect"] == "NoExecute";
  })) << stack().GetNode(node).dump(2);
  SetReady(node, false);
  Boot(node, "boot-2", profile);
  AwaitBoot(pool, "boot-2");
  EXPECT_EQ(MusterNodesOf(pool).at(0).state(), Node::STATE_RECONFIGURING) << "it is not ready";
  SetReady(node, true);
  EXPECT_TRUE(AwaitNode(node, [](const Json& object) {
    return LabelOf(object, kState) == "production" && !IsCordoned(object) &&
           TaintOf(object, "node.coreweave.cloud/reserved").is_null();
  })) << stack().GetNode(node).dump(2);
  EXPECT_EQ(MusterNodesOf(pool).at(0).observed().node_profile(), profile);
  EXPECT_TRUE(AwaitReason(pool, "NodeReconfigurationRequired", "AllNodesUpToDate"));
  EXPECT_TRUE(AwaitEvent(node, "CWReconfigureRebooted"));
  int64_t told = 0;
  for (const Json& event : stack().Events()) {
    if (event.value(Json::json_pointer("/regarding/name"), "") == node &&
        event.value("reason", "") == "CWReconfigureRebooted")
      told += event.value(Json::json_pointer("/series/count"), int64_t{1});
  }
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace muster::testing
