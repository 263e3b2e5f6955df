#include "services/kubernetes/core/node_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/node_plan.h"
#include "services/kubernetes/core/testing/objects.h"
#include "services/kubernetes/core/testing/simulated_node.h"

namespace muster::kubernetes {
namespace {

using lifecycle::v1::Node;

// A Node in production, and the v1 Node after everything that is ours was put on it.
struct NodePair {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  SimulatedNode live{MakeNodeJson(true)};
  NodePair() { Converge(); }
  void Converge() {
    if (const auto patch = TaintsPatch(node, live.Read())) live.Merge(*patch);
    if (const auto patch = MetadataPatch(node, live.Read())) live.Apply(*patch);
    if (const auto patch = ConditionsPatch(node, live.Read())) live.ApplyStatus(*patch);
  }
  bool settled() const {
    const NodeObject object = live.Read();
    return !MetadataPatch(node, object) && !TaintsPatch(node, object) &&
           !ConditionsPatch(node, object);
  }
};

TEST(MetadataPatch, PutsWhatMusterWantsOnce) {
  const NodePair pair;
  EXPECT_TRUE(pair.settled());
  const NodeObject object = pair.live.Read();
  EXPECT_EQ(object.labels.at(kPoolLabel), "a");
  EXPECT_EQ(object.labels.at("kubernetes.io/os"), "linux");
  EXPECT_EQ(object.annotations.at("team.example/note"), "ours");
  EXPECT_EQ(object.annotations.at(kLifeAnnotation), "2025-05-30T17:36:00.123456Z");
  EXPECT_FALSE(object.unschedulable);
  EXPECT_EQ(MetadataStateOf(pair.node, &object), MetadataState::kSynced);
}

TEST(MetadataPatch, IsAnApplyOfThisNodeAlone) {
  const Json patch = *MetadataPatch(MakeNode(Node::STATE_CORDONED), ReadNode(MakeNodeJson(true)));
  EXPECT_EQ(patch["metadata"]["name"], "g8fd930");
  EXPECT_EQ(patch["metadata"]["uid"], "u-1") << "so that none is made";
  EXPECT_EQ(patch["spec"], Json({{"unschedulable", true}}));
  EXPECT_FALSE(patch["metadata"].contains("resourceVersion"));
}

// What is refused beside it does not hold a cordon up: nothing of it is in its patch.
TEST(CordonPatch, LeavesAllElseAsItIs) {
  NodePair pair;
  EXPECT_EQ(CordonPatch(pair.node, pair.live.Read()), std::nullopt);
  (*pair.node.mutable_desired()->mutable_labels())["example.com/team"] = "a";
  for (const bool cordoned : {true, false}) {
    pair.node.mutable_desired()->set_cordoned(cordoned);
    const Json before = pair.live.json();
    const auto patch = CordonPatch(pair.node, pair.live.Read());
    ASSERT_TRUE(patch);
    pair.live.Apply(*patch);
    EXPECT_EQ(pair.live.Read().unschedulable, cordoned);
    for (const char* map : {"labels", "annotations"})
      EXPECT_EQ(pair.live.json()["metadata"][map], before["metadata"][map]);
    EXPECT_EQ(CordonPatch(pair.node, pair.live.Read()), std::nullopt);
  }
}

TEST(MetadataPatch, PutsBackWhatWasChanged) {
  NodePair pair;
  for (const char* map : {"labels", "annotations"}) {
    const char* key = *map == 'l' ? kPoolLabel : kLifeAnnotation;
    const std::string was = pair.live.json()["metadata"][map][key];
    pair.live.Edit("someone", {{"metadata", {{map, {{key, "x"}}}}}});
    EXPECT_FALSE(pair.settled());
    pair.Converge();
    EXPECT_EQ(pair.live.json()["metadata"][map][key], was);
    pair.live.Edit("someone", {{"metadata", {{map, {{key, nullptr}}}}}});
    EXPECT_FALSE(pair.settled());
    pair.Converge();
    EXPECT_TRUE(pair.settled());
    EXPECT_EQ(pair.live.json()["metadata"][map][key], was);
  }
}

TEST(MetadataPatch, TakesAwayWhatIsNoLongerWanted) {
  NodePair pair;
  pair.node.mutable_desired()->mutable_labels()->erase("node.coreweave.cloud/state");
  pair.node.mutable_desired()->clear_annotations();
  pair.Converge();
  EXPECT_TRUE(pair.settled());
  EXPECT_FALSE(pair.live.Read().labels.contains("node.coreweave.cloud/state"));
  EXPECT_FALSE(pair.live.Read().annotations.contains("team.example/note"));
  EXPECT_TRUE(pair.live.Read().labels.contains("kubernetes.io/os"));
}

TEST(MetadataPatch, LeavesForeignOnesAlone) {
  NodePair pair;
  pair.live.Edit(
      "someone",
      {{"metadata", {{"labels", {{"theirs", "1"}}}, {"annotations", {{"theirs", "2"}}}}}});
  EXPECT_TRUE(pair.settled());
  (*pair.node.mutable_desired()->mutable_labels())["more"] = "ours";
  pair.Converge();
  EXPECT_EQ(pair.live.Read().labels.at("theirs"), "1");
  EXPECT_EQ(pair.live.Read().annotations.at("theirs"), "2");
}

TEST(MetadataPatch, CordonsAndLetsGo) {
  NodePair pair;
  pair.node.mutable_desired()->set_cordoned(true);
  pair.Converge();
  EXPECT_TRUE(pair.settled());
  EXPECT_TRUE(pair.live.Read().unschedulable);
  EXPECT_FALSE(pair.live.Read().foreign_unschedulable);
  pair.live.Edit("kubectl", {{"spec", {{"unschedulable", nullptr}}}});
  EXPECT_FALSE(pair.settled()) << "somebody uncordoned it";
  pair.Converge();
  EXPECT_TRUE(pair.live.Read().unschedulable);
  pair.live.Edit("kubectl", {{"spec", {{"unschedulable", false}}}});
  pair.Converge();
  EXPECT_TRUE(pair.live.Read().unschedulable);
  pair.node.mutable_desired()->set_cordoned(false);
  pair.Converge();
  EXPECT_TRUE(pair.settled());
  EXPECT_FALSE(pair.live.Read().unschedulable);
}

TEST(MetadataPatch, AForeignCordonOutlivesOurs) {
  NodePair pair;
  pair.live.Edit("kubectl", {{"spec", {{"unschedulable", true}}}});
  EXPECT_TRUE(pair.settled()) << "it is not ours to end";
  EXPECT_TRUE(pair.live.Read().foreign_unschedulable);
  pair.node.mutable_desired()->set_cordoned(true);
  pair.Converge();
  EXPECT_TRUE(pair.live.Read().owns_unschedulable);
  pair.node.mutable_desired()->set_cordoned(false);
  pair.Converge();
  EXPECT_TRUE(pair.settled());
  EXPECT_FALSE(pair.live.Read().owns_unschedulable);
  EXPECT_TRUE(pair.live.Read().unschedulable);
  EXPECT_TRUE(pair.live.Read().foreign_unschedulable);
}

TEST(TaintsPatch, HoldsTheVersionThatWasSeen) {
  const Json patch = *TaintsPatch(MakeNode(Node::STATE_PRODUCTION), ReadNode(MakeNodeJson(true)));
  EXPECT_EQ(patch, Json::parse(R"({
    "metadata": {"uid": "u-1", "resourceVersion": "100",
                 "annotations": {"node.coreweave.cloud/taints": "is_gpu:PreferNoSchedule"}},
    "spec": {"taints": [{"key": "is_gpu", "value": "true", "effect": "PreferNoSchedule"}]}})"));
}

TEST(TaintsPatch, KeepsForeignOnesAsTheyAre) {
  NodePair pair;
  const Json theirs = Json::parse(R"([
    {"key": "sunk.coreweave.com/lock", "value": "x", "effect": "NoExecute", "timeAdded": "2025-06-09T15:00:00Z"},
    {"key": "is_gpu", "effect": "NoSchedule"}])");
  Json all = theirs;
  all.push_back(pair.live.json()["spec"]["taints"][0]);
  pair.live.Edit("someone", {{"spec", {{"taints", all}}}});
  EXPECT_TRUE(pair.settled()) << "their order is nothing to us";
  pair.node.mutable_desired()->clear_taints();
  pair.Converge();
  EXPECT_TRUE(pair.settled());
  EXPECT_EQ(pair.live.json()["spec"]["taints"], theirs);
}

TEST(TaintsPatch, ReplacesOursByValue) {
  NodePair pair;
  pair.node.mutable_desired()->mutable_taints(0)->set_value("false");
  pair.Converge();
  EXPECT_TRUE(pair.settled());
  ASSERT_EQ(pair.live.Read().taints.size(), 1u);
  EXPECT_EQ(pair.live.Read().taints[0].value, "false");
  pair.live.Edit("someone", {{"spec", {{"taints", nullptr}}}});
  pair.Converge();
  ASSERT_EQ(pair.live.Read().taints.size(), 1u) << "put back";
}

TEST(TaintsPatch, RemembersOursByTheAnnotation) {
  NodePair pair;
  pair.node.mutable_desired()->mutable_taints(0)->set_effect("NoSchedule");
  pair.Converge();
  ASSERT_EQ(pair.live.Read().taints.size(), 1u);
  EXPECT_EQ(pair.live.Read().taints[0].effect, "NoSchedule");
  EXPECT_EQ(pair.live.Read().annotations.at(kTaintsAnnotation), "is_gpu:NoSchedule");
}

// "has a value of its own": an empty one is left out, as the API server shows it.
TEST(TaintsPatch, OneWithoutValueIsSettledToo) {
  NodePair pair;
  pair.node.mutable_desired()->mutable_taints(0)->clear_value();
  pair.Converge();
  EXPECT_TRUE(pair.settled());
  EXPECT_FALSE(pair.live.json()["spec"]["taints"][0].contains("value"));
}

TEST(ConditionsPatch, PutsTheThree) {
  const NodePair pair;
  const Json conditions = pair.live.Read().conditions;
  ASSERT_EQ(conditions.size(), 3u);
  EXPECT_EQ(conditions[0], Json({{"type", "CWRegistered"},
                                 {"status", "True"},
                                 {"reason", "Registered"},
                                 {"message", "Node is registered."},
                                 {"lastTransitionTime", "2025-05-30T17:36:00Z"},
                                 {"lastHeartbeatTime", nullptr}}));
  EXPECT_EQ(pair.live.Read().ready, true) << "the kubelet's stays";
}

TEST(ConditionsPatch, PutsBackAndFollows) {
  NodePair pair;
  pair.node.mutable_conditions(1)->set_message("Node is active: team/a.");
  EXPECT_FALSE(pair.settled());
  pair.Converge();
  EXPECT_EQ(pair.live.Read().conditions[1]["message"], "Node is active: team/a.");
  pair.live.SetCondition("CWActive", "status", "Unknown");
  EXPECT_FALSE(pair.settled());
  pair.Converge();
  EXPECT_TRUE(pair.settled());
}

TEST(ConditionsPatch, AnEmptyReasonOrTimeIsAsGoodAsNone) {
  NodePair pair;
  pair.node.mutable_conditions(0)->clear_reason();
  pair.node.mutable_conditions(0)->clear_last_transition_time();
  pair.Converge();
  EXPECT_TRUE(pair.settled());
}

TEST(LifeMark, GrowsWithTime) {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  const std::string mark = LifeMark(node);
  *node.mutable_create_time() = Stamp(kThen, 123'457'000);
  EXPECT_LT(mark, LifeMark(node));
  *node.mutable_create_time() = Stamp(kThen + 1);
  EXPECT_LT(mark, LifeMark(node));
}

TEST(TaintsPatch, AddsToWhatIsThereAlready) {
  NodePair pair;
  lifecycle::v1::Taint& more = *pair.node.mutable_desired()->add_taints();
  more.set_key("node.coreweave.cloud/reserved");
  more.set_effect("NoExecute");
  pair.Converge();
  EXPECT_TRUE(pair.settled());
  ASSERT_EQ(pair.live.Read().taints.size(), 2u);
  EXPECT_EQ(pair.live.Read().taints[0].key, "is_gpu");
  EXPECT_EQ(pair.live.Read().taints[1].key, "node.coreweave.cloud/reserved");
}

// Else it would stay when it is not wanted any more.
TEST(TaintsPatch, OneThatWasThereIsRememberedAsOurs) {
  NodePair pair;
  NodeObject object = pair.live.Read();
  object.annotations.erase(kTaintsAnnotation);
  const auto patch = TaintsPatch(pair.node, object);
  ASSERT_TRUE(patch.has_value());
  EXPECT_EQ((*patch)["metadata"]["annotations"][kTaintsAnnotation], "is_gpu:PreferNoSchedule");
}

// By force, an apply takes what it names from whoever has it.
TEST(CordonPatch, NamesNothingThatIsNotOurs) {
  NodePair pair;
  pair.node.mutable_desired()->set_cordoned(true);
  const Json patch = *CordonPatch(pair.node, pair.live.Read());
  EXPECT_TRUE(patch["metadata"]["labels"].contains(kPoolLabel));
  EXPECT_FALSE(patch["metadata"]["labels"].contains("kubernetes.io/os"));
  EXPECT_FALSE(patch["metadata"]["annotations"].contains(
      "volumes.kubernetes.io/controller-managed-attach-detach"));
}

TEST(ConditionsPatch, PutsBackAPartThatIsMissing) {
  NodePair pair;
  NodeObject object = pair.live.Read();
  ASSERT_FALSE(ConditionsPatch(pair.node, object));
  object.conditions[1].erase("message");
  EXPECT_TRUE(ConditionsPatch(pair.node, object));
}

}  // namespace
}  // namespace muster::kubernetes
