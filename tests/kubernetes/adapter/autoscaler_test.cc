#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/kubernetes/adapter/adapter_test_base.h"

// The calls of the upstream cluster autoscaler and of its provider for NodePools, one by one: it
// has no other way to say which Nodes are to go than its taint.
namespace muster::testing {
namespace {

using ::testing::ElementsAre;

constexpr char kVictim[] = "ToBeDeletedByClusterAutoscaler";
constexpr char kCandidate[] = "DeletionCandidateOfClusterAutoscaler";

class AutoscalerTest : public AdapterTest<AutoscalerTest> {
 protected:
  // ListNodePools: those that autoscale.
  std::vector<Json> NodeGroups() {
    std::vector<Json> groups;
    const auto listed = autoscaler_->List(kNodePoolsPath, {}, [&](const Json& pool) {
      if (pool["spec"].value("autoscaling", false)) groups.push_back(pool);
    });
    EXPECT_TRUE(listed.ok()) << listed.status();
    return groups;
  }
  // GetCoreWeaveNodesByNodeGroupUID.
  std::vector<std::string> NodesOfGroup(const Json& group) {
    std::vector<std::string> names;
    const std::string uid = group["metadata"]["uid"];
    const auto listed =
        autoscaler_->List(kNodesPath, {{"labelSelector", absl::StrCat(kPoolUidLabel, "=", uid)}},
                          [&](const Json& node) { names.push_back(node["metadata"]["name"]); });
    EXPECT_TRUE(listed.ok()) << listed.status();
    return names;
  }
  // AddTaint: get, append, update; again after a conflict.
  void Taint(const std::string& name, const std::string& key, const std::string& effect) {
    const std::string path = absl::StrCat(kNodesPath, "/", name);
    absl::Status status = absl::AbortedError("");
    while (absl::IsAborted(status)) {
      auto node = autoscaler_->Get(path);
      ASSERT_TRUE(node.ok()) << node.status();
      const Json taint = {{"key", key},
                          {"value", absl::StrCat(absl::ToUnixSeconds(absl::Now()))},
                          {"effect", effect}};
      (*node)["spec"]["taints"].push_back(taint);
      status = autoscaler_->Replace(path, *node).status();
    }
    ASSERT_TRUE(status.ok()) << status;
  }
  // SetSize: within its bounds, by merge patch, and read again.
  Json SetSize(const Json& group, int64_t size) {
    EXPECT_GE(size, group["spec"].value("minNodes", 0));
    EXPECT_LE(size, group["spec"].value("maxNodes", 0));
    const std::string path =
        absl::StrCat(kNodePoolsPath, "/", group["metadata"]["name"].get<std::string>());
    const auto patched = autoscaler_->Patch(kubernetes::PatchType::kMerge, path,
                                            {{"spec", {{"targetNodes", size}}}});
    EXPECT_TRUE(patched.ok()) << patched.status();
    const auto read = autoscaler_->Get(path);
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? *read : group;
  }
  // DeleteNodes.
  Json Remove(const Json& group, const std::vector<std::string>& victims) {
    for (const std::string& victim : victims) Taint(victim, kVictim, "NoSchedule");
    return SetSize(
        group, group["spec"]["targetNodes"].get<int64_t>() - static_cast<int64_t>(victims.size()));
  }
  // Makes them the last that Muster would choose by itself: they had work a moment ago.
  void Work(const std::vector<std::string>& nodes) {
    std::vector<std::string> pods;
    for (const std::string& node : nodes) {
      pods.push_back(Name("work"));
      CreatePod(pods.back(), node);
    }
    for (const std::string& node : nodes) ASSERT_TRUE(AwaitActive(node));
    for (const std::string& pod : pods) EndPod(pod);
    for (const std::string& node : nodes) ASSERT_TRUE(AwaitActive(node, false));
  }
  static std::vector<std::string> Without(std::vector<std::string> all,
                                          const std::vector<std::string>& some) {
    for (const std::string& name : some)
      all.erase(std::remove(all.begin(), all.end(), name), all.end());
    std::sort(all.begin(), all.end());
    return all;
  }

  const std::unique_ptr<kubernetes::Client> autoscaler_ =
      stack().server().Connect("cluster-autoscaler");
};

TEST_F(AutoscalerTest, JustTheNodesWithItsTaintLeave) {
  CreateHealthyPool(Name("fixed"));
  const std::string pool = Name();
  const std::string uid =
      CreateHealthyPool(pool, {{"autoscaling", true}, {"maxNodes", 8}, {"targetNodes", 8}});
  std::vector<Json> groups = NodeGroups();
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0]["metadata"]["name"], pool);

  // Down by three, each from another place in the list; all others have been idle for longer.
  std::vector<std::string> nodes = NodesOfGroup(groups[0]);
  ASSERT_EQ(nodes.size(), 8u);
  const std::vector<std::string> victims = {nodes[1], nodes[4], nodes[7]};
  Work(victims);
  Json group = Remove(groups[0], victims);
  ASSERT_TRUE(stack().AwaitHealthy(pool, 5));
  EXPECT_EQ(NodeNamesOf(uid), Without(nodes, victims));

  // Up by two: those that were there stay.
  nodes = NodesOfGroup(group);
  group = SetSize(group, group["spec"]["targetNodes"].get<int64_t>() + 2);
  ASSERT_TRUE(stack().AwaitHealthy(pool, 7));
  EXPECT_THAT(NodeNamesOf(uid), ::testing::IsSupersetOf(nodes));

  // Down to one, one after another as it does it.
  while (group["spec"]["targetNodes"] > 4) {
    nodes = NodesOfGroup(group);
    const std::vector<std::string> victim = {nodes.back()};
    Work(victim);
    group = Remove(group, victim);
    ASSERT_TRUE(AwaitNodeNames(uid, Without(nodes, victim)));
  }
}

// Somebody raises the target again before the drain of the victims began. It never takes its taint
// off again: what it marked goes, and others come.
TEST_F(AutoscalerTest, ATargetThatRisesAgainIsFilledWithOthers) {
  const std::string pool = Name();
  const std::string uid =
      CreateHealthyPool(pool, {{"autoscaling", true}, {"maxNodes", 4}, {"targetNodes", 4}});
  const std::vector<std::string> nodes = NodeNamesOf(uid);
  const std::vector<std::string> victims = {nodes[0], nodes[2]};
  // A moment after its cordon an idle Node is gone, perhaps while a watch begins anew.
  std::set<std::string> cordoned;
  bool begun = false;
  ASSERT_TRUE(stack().Await(kNodesPath, [&](const AdapterStack::Objects& all) {
    if (!std::exchange(begun, true)) Remove(stack().GetNodePool(pool), victims);
    for (const std::string& victim : victims) {
      const auto node = all.find(victim);
      if (node == all.end() || IsCordoned(node->second)) cordoned.insert(victim);
    }
    return cordoned.size() == victims.size();
  }));
  SetSize(stack().GetNodePool(pool), 4);
  const std::vector<std::string> kept = Without(nodes, victims);
  ASSERT_TRUE(stack().Await(kNodesPath, [&](const AdapterStack::Objects& all) {
    return std::none_of(victims.begin(), victims.end(),
                        [&](const std::string& victim) { return all.contains(victim); });
  }));
  ASSERT_TRUE(stack().AwaitHealthy(pool, 4));
  EXPECT_THAT(NodeNamesOf(uid), ::testing::IsSupersetOf(kept));
  for (const Json& node : NodesOf(uid)) {
    EXPECT_FALSE(IsCordoned(node)) << node["metadata"]["name"];
    EXPECT_TRUE(TaintOf(node, kVictim).is_null()) << node["metadata"]["name"];
  }
}

// It reads nothing but the spec: what maxNodes should be is told to whoever sets it.
TEST_F(AutoscalerTest, WhatWouldBeGrantedIsToldToWhoeverSetsMaxNodes) {
  constexpr char kGrantable[] = "compute.coreweave.com/grantable-nodes";
  const std::string pool = Name();
  CreateHealthyPool(pool, {{"instanceType", "cd-gp-i96-icelake"},
                           {"autoscaling", true},
                           {"maxNodes", 6},
                           {"targetNodes", 1}});
  ASSERT_TRUE(AwaitReason(pool, "MaxNodesUnreachable", "Quota"));
  ASSERT_TRUE(stack().AwaitNodePool(
      pool, [&](const Json& object) { return AnnotationOf(object, kGrantable) == "4"; }));
  Json object = stack().GetNodePool(pool);
  EXPECT_EQ(object["status"]["grantableNodes"], 4);
  EXPECT_EQ(object["status"]["grantableNodesBoundBy"], "Quota");
  EXPECT_TRUE(AwaitEvent(pool, "CWNodePoolMaxNodesUnreachable"));

  // Six are refused whole.
  object = SetSize(object, 6);
  ASSERT_TRUE(AwaitReason(pool, "Quota", "Over"));
  EXPECT_EQ(AnnotationOf(stack().GetNodePool(pool), kGrantable), "4");
  PatchSpec(pool, {{"maxNodes", 4}, {"targetNodes", 4}});
  ASSERT_TRUE(stack().AwaitHealthy(pool, 4));
  ASSERT_TRUE(stack().AwaitNodePool(
      pool, [&](const Json& now) { return ConditionOf(now, "MaxNodesUnreachable").is_null(); }));
  EXPECT_EQ(AnnotationOf(stack().GetNodePool(pool), kGrantable), "4");
  PatchSpec(pool, {{"autoscaling", false}});
  EXPECT_TRUE(stack().AwaitNodePool(pool, [&](const Json& now) {
    return !now["status"].contains("grantableNodes") &&
           !now["metadata"].value("annotations", Json::object()).contains(kGrantable);
  }));
}

// It thinks about Nodes first; that is no order to go.
TEST_F(AutoscalerTest, ItsTaintOfCandidatesMarksNobody) {
  const std::string pool = Name();
  const std::string uid =
      CreateHealthyPool(pool, {{"autoscaling", true}, {"maxNodes", 2}, {"targetNodes", 2}});
  const std::vector<std::string> nodes = NodeNamesOf(uid);
  Work({nodes[1]});
  Taint(nodes[0], kCandidate, "PreferNoSchedule");
  Taint(nodes[1], kVictim, "NoSchedule");
  SetSize(stack().GetNodePool(pool), 1);
  ASSERT_TRUE(stack().AwaitHealthy(pool, 1));
  EXPECT_THAT(NodeNamesOf(uid), ElementsAre(nodes[0]));
  EXPECT_FALSE(TaintOf(stack().GetNode(nodes[0]), kCandidate).is_null());
}

}  // namespace
}  // namespace muster::testing
