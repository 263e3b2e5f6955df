#include "services/kubernetes/cluster_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::kubernetes {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Json PoolJson(const std::string& name, int version) {
  return {{"metadata", {{"name", name}, {"uid", "u"}, {"resourceVersion", absl::StrCat(version)}}}};
}

Json NodeJson(const std::string& name, int version, const std::string& provider_id = "") {
  Json json = PoolJson(name, version);
  if (!provider_id.empty()) json["spec"]["providerID"] = provider_id;
  return json;
}

// As its kubelet, or who speaks for it, says; `heartbeat`: seconds of some minute, its own word.
Json NodeJson(const std::string& name, int version, const std::string& provider_id,
              const std::string& ready, int heartbeat) {
  Json json = NodeJson(name, version, provider_id);
  json["status"]["conditions"] = Json::array(
      {{{"type", "Ready"},
        {"status", ready},
        {"lastHeartbeatTime", absl::StrCat("2025-05-30T17:36:", 10 + heartbeat, "Z")}}});
  return json;
}

Json PodJson(const std::string& name, int version, const std::string& node) {
  Json json = PoolJson(name, version);
  json["metadata"]["namespace"] = "team";
  if (!node.empty()) json["spec"]["nodeName"] = node;
  return json;
}

// A view and whom it told, since the last look.
class ClusterViewTest : public ::testing::Test {
 protected:
  std::vector<std::string> Told() { return std::exchange(told_, {}); }
  std::vector<std::string> PodsOn(const std::string& node) {
    std::vector<std::string> names;
    for (const PodObject& pod : view_.PodsOn(node)) names.push_back(pod.name);
    return names;
  }
  std::vector<std::string> PodsOf(const std::string& machine) {
    std::vector<std::string> names;
    for (const PodObject& pod : view_.PodsOf(machine)) names.push_back(pod.name);
    return names;
  }
  std::string VersionOf(const std::string& pool) {
    const auto found = view_.node_pools().Find(pool);
    return found == nullptr ? "none" : found->resource_version;
  }
  std::string NodeOf(const std::string& machine) {
    const auto found = view_.NodeOf(machine);
    return found == nullptr ? "none" : found->name;
  }

 private:
  std::vector<std::string> told_;

 protected:
  std::set<std::string> known_;  // machines that Muster has
  ClusterView view_{
      {.node_pool = [this](const std::string& key) { told_.push_back("pool " + key); },
       .machine = [this](const std::string& key) { told_.push_back(key); },
       .name_space = [this](const std::string& key) { told_.push_back("ns " + key); }},
      [this](const std::string& machine) { return known_.contains(machine); }};
  ObjectStore<NodePoolObject>& pools_ = view_.node_pools();
};

TEST_F(ClusterViewTest, TellsOfEveryChangeOnce) {
  pools_.Put(PoolJson("a", 5));
  EXPECT_THAT(Told(), ElementsAre("pool a"));
  pools_.Put(PoolJson("a", 5));
  EXPECT_THAT(Told(), IsEmpty()) << "repeated";
  pools_.Put(PoolJson("a", 4));
  EXPECT_THAT(Told(), IsEmpty()) << "out of order";
  EXPECT_EQ(VersionOf("a"), "5");
  pools_.Put(PoolJson("a", 10));
  EXPECT_EQ(VersionOf("a"), "10") << "numbers, not texts";
  EXPECT_THAT(Told(), ElementsAre("pool a"));
  pools_.Remove(PoolJson("a", 11));
  EXPECT_EQ(VersionOf("a"), "none");
  EXPECT_THAT(Told(), ElementsAre("pool a"));
  pools_.Remove(PoolJson("a", 11));
  EXPECT_THAT(Told(), IsEmpty());
  view_.namespaces().Put(PoolJson("team", 1));
  EXPECT_THAT(Told(), ElementsAre("ns team"));
}

TEST_F(ClusterViewTest, WhatIsOlderThanADeletionChangesNothing) {
  pools_.Put(PoolJson("a", 5));
  pools_.Remove(PoolJson("a", 8));
  pools_.Put(PoolJson("a", 7));
  EXPECT_EQ(VersionOf("a"), "none") << "an answer to a write that came late";
  pools_.Put(PoolJson("a", 9));
  EXPECT_EQ(VersionOf("a"), "9") << "another one of that name";
  pools_.Remove(PoolJson("a", 8));
  EXPECT_EQ(VersionOf("a"), "9") << "the deletion of the first, repeated";
}

TEST_F(ClusterViewTest, AListTakesAwayWhatItDoesNotName) {
  for (const char* name : {"a", "b", "c"}) pools_.Put(PoolJson(name, 5));
  Told();
  pools_.BeginList();
  pools_.PutListed(PoolJson("a", 5));
  pools_.PutListed(PoolJson("b", 6));
  pools_.PutListed(PoolJson("d", 6));
  EXPECT_THAT(Told(), ElementsAre("pool b", "pool d"));
  pools_.EndList("6");
  EXPECT_THAT(Told(), ElementsAre("pool c"));
  EXPECT_EQ(pools_.size(), 3u);
}

TEST_F(ClusterViewTest, AListThatFailedTakesNothingAway) {
  pools_.Put(PoolJson("a", 5));
  pools_.BeginList();
  pools_.BeginList();
  pools_.PutListed(PoolJson("a", 5));
  pools_.EndList("5");
  EXPECT_EQ(VersionOf("a"), "5");
}

TEST_F(ClusterViewTest, AStaleListTakesNoObjectBack) {
  pools_.Put(PoolJson("a", 5));
  pools_.Put(PoolJson("b", 6));
  pools_.Remove(PoolJson("b", 7));
  pools_.BeginList();
  pools_.PutListed(PoolJson("a", 3));
  pools_.PutListed(PoolJson("b", 6));
  pools_.EndList("6");
  EXPECT_EQ(VersionOf("a"), "5");
  EXPECT_EQ(VersionOf("b"), "none");
}

TEST_F(ClusterViewTest, OfARestoredServerAllIsTakenAsItIs) {
  pools_.Put(PoolJson("a", 50));
  pools_.Put(PoolJson("b", 60));
  pools_.Put(PoolJson("c", 61));
  pools_.Remove(PoolJson("c", 70));
  Told();
  pools_.BeginList();
  pools_.BeginAnew();
  pools_.PutListed(PoolJson("a", 3));
  pools_.PutListed(PoolJson("c", 4));
  pools_.EndList("4");
  EXPECT_EQ(VersionOf("a"), "3");
  EXPECT_EQ(VersionOf("b"), "none");
  EXPECT_EQ(VersionOf("c"), "4");
  EXPECT_THAT(Told(), ElementsAre("pool a", "pool c", "pool b"));
  pools_.Put(PoolJson("a", 2));
  EXPECT_EQ(VersionOf("a"), "3") << "and is measured by that from then on";
}

TEST_F(ClusterViewTest, WhatAWriteAnsweredDuringAListStays) {
  pools_.BeginList();
  pools_.Put(PoolJson("new", 9));
  pools_.EndList("8");
  EXPECT_EQ(VersionOf("new"), "9");
}

TEST_F(ClusterViewTest, FindsANodeByProviderIdElseByName) {
  view_.nodes().Put(NodeJson("node-7", 1, "muster://Z/g7"));
  EXPECT_THAT(Told(), ElementsAre("g7", "node-7")) << "whoever it may be";
  view_.nodes().Put(NodeJson("g8", 2));
  EXPECT_THAT(Told(), ElementsAre("g8"));
  EXPECT_EQ(NodeOf("g7"), "node-7");
  EXPECT_EQ(NodeOf("g8"), "g8");
  EXPECT_EQ(NodeOf("node-7"), "node-7");
  EXPECT_EQ(NodeOf("g9"), "none");
}

TEST_F(ClusterViewTest, FollowsAProviderIdThatChanges) {
  view_.nodes().Put(NodeJson("node-7", 1));
  Told();
  view_.nodes().Put(NodeJson("node-7", 2, "muster://Z/g7"));
  EXPECT_THAT(Told(), ::testing::IsSupersetOf({"g7", "node-7"}));
  view_.nodes().Put(NodeJson("node-7", 3, "muster://Z/g8"));
  EXPECT_THAT(Told(), ::testing::IsSupersetOf({"g7", "g8"})) << "the one that lost it too";
  EXPECT_EQ(NodeOf("g7"), "none");
  EXPECT_EQ(NodeOf("g8"), "node-7");
  view_.nodes().Remove(NodeJson("node-7", 4, "muster://Z/g8"));
  EXPECT_THAT(Told(), ::testing::IsSupersetOf({"g8"}));
  EXPECT_EQ(NodeOf("g8"), "none");
}

// Its kubelet came up under another name; the object of the former stays, and changes.
TEST_F(ClusterViewTest, OfTwoNodesOfAMachineTheOneWithAKubeletCounts) {
  view_.nodes().Put(NodeJson("old", 1, "muster://Z/g7", "True", 1));
  view_.nodes().Put(NodeJson("new", 2, "muster://Z/g7", "True", 2));
  EXPECT_EQ(NodeOf("g7"), "new") << "it posted last";
  view_.nodes().Put(NodeJson("old", 3, "muster://Z/g7", "Unknown", 1));
  EXPECT_EQ(NodeOf("g7"), "new") << "whichever changed last";
  EXPECT_EQ(view_.NodeNameOf("g7"), "new");
  view_.nodes().Put(NodeJson("new", 4, "muster://Z/g7", "False", 3));
  EXPECT_EQ(NodeOf("g7"), "new") << "neither is ready";
  view_.nodes().Put(NodeJson("old", 5, "muster://Z/g7", "True", 2));
  EXPECT_EQ(NodeOf("g7"), "old") << "ready again";
  view_.nodes().Remove(NodeJson("old", 6, "muster://Z/g7"));
  EXPECT_EQ(NodeOf("g7"), "new") << "what is left";
  view_.nodes().Remove(NodeJson("new", 7, "muster://Z/g7"));
  EXPECT_EQ(NodeOf("g7"), "none");
  EXPECT_EQ(view_.NodeNameOf("g7"), "new") << "the last one";
}

TEST_F(ClusterViewTest, OneThatNamesTheMachineCountsBeforeOneThatBearsItsName) {
  view_.nodes().Put(NodeJson("g7", 1, "", "True", 2));
  view_.nodes().Put(NodeJson("new", 2, "muster://Z/g7", "False", 1));
  EXPECT_EQ(NodeOf("g7"), "new");
  view_.nodes().Put(NodeJson("new", 3, "muster://Z/g8", "False", 1));
  EXPECT_EQ(NodeOf("g7"), "g7");
}

// E.g. the boards of two servers were swapped: the name goes with the slot, the id with the board.
TEST_F(ClusterViewTest, ANodeIsNotTheMachineOfItsNameIfItSaysToBeAnotherThatMusterHas) {
  view_.nodes().Put(NodeJson("g7", 1, "muster://Z/g8"));
  view_.pods().Put(PodJson("p", 2, "g7"));
  EXPECT_EQ(NodeOf("g7"), "g7") << "Muster has no g8";
  EXPECT_THAT(PodsOf("g7"), ElementsAre("p"));
  known_ = {"g7", "g8"};
  EXPECT_EQ(NodeOf("g7"), "none");
  EXPECT_THAT(PodsOf("g7"), IsEmpty());
  EXPECT_EQ(NodeOf("g8"), "g7");
  EXPECT_THAT(PodsOf("g8"), ElementsAre("p"));
  view_.nodes().Put(NodeJson("g8", 3, "muster://Z/g7"));
  EXPECT_EQ(NodeOf("g7"), "g8");
  EXPECT_EQ(NodeOf("g8"), "g7");
  EXPECT_THAT(PodsOf("g7"), IsEmpty());
}

TEST_F(ClusterViewTest, AMachinesPodsAreThoseOfAllOfItsNodes) {
  for (const char* name : {"old", "new"}) view_.nodes().Put(NodeJson(name, 1, "muster://Z/g7"));
  view_.nodes().Put(NodeJson("g8", 1));
  view_.pods().Put(PodJson("p", 2, "old"));
  view_.pods().Put(PodJson("q", 3, "new"));
  view_.pods().Put(PodJson("r", 4, "g8"));
  EXPECT_THAT(PodsOf("g7"), UnorderedElementsAre("p", "q"));
  EXPECT_THAT(PodsOf("g8"), ElementsAre("r"));
  view_.nodes().Remove(NodeJson("new", 5, "muster://Z/g7"));
  view_.nodes().Put(NodeJson("old", 6, "muster://Z/g7"));
  EXPECT_THAT(PodsOf("g7"), UnorderedElementsAre("p", "q")) << "they outlive it";
  Told();
  view_.pods().Remove(PodJson("q", 7, "new"));
  EXPECT_THAT(Told(), UnorderedElementsAre("g7", "new"));
  EXPECT_THAT(PodsOf("g7"), ElementsAre("p"));
}

// It was found by that, as it has no provider id.
TEST_F(ClusterViewTest, ANodeThatBearsTheMachinesNameIsKnownAfterItIsGoneToo) {
  view_.nodes().Put(NodeJson("g7", 1));
  view_.nodes().Put(NodeJson("new", 2, "muster://Z/g7"));
  view_.pods().Put(PodJson("p", 3, "g7"));
  view_.nodes().Remove(NodeJson("g7", 4));
  EXPECT_THAT(PodsOf("g7"), ElementsAre("p")) << "another one is there";
  view_.nodes().Put(NodeJson("g7", 5));
  view_.nodes().Remove(NodeJson("new", 6, "muster://Z/g7"));
  view_.nodes().Remove(NodeJson("g7", 7));
  EXPECT_THAT(PodsOf("g7"), ElementsAre("p")) << "another one is gone, too";
  EXPECT_EQ(view_.NodeNameOf("g7"), "g7") << "the last one";
}

TEST_F(ClusterViewTest, KnowsThePodsOfANode) {
  view_.nodes().Put(NodeJson("node-7", 1, "muster://Z/g7"));
  Told();
  view_.pods().Put(PodJson("p", 1, ""));
  EXPECT_THAT(Told(), IsEmpty()) << "on no Node yet";
  view_.pods().Put(PodJson("p", 2, "node-7"));
  EXPECT_THAT(Told(), UnorderedElementsAre("g7", "node-7"));
  view_.pods().Put(PodJson("q", 3, "node-7"));
  EXPECT_THAT(PodsOn("node-7"), UnorderedElementsAre("p", "q"));
  EXPECT_THAT(PodsOn("g7"), IsEmpty()) << "by the Node's name";
  Told();
  view_.pods().Remove(PodJson("p", 4, "node-7"));
  EXPECT_THAT(Told(), UnorderedElementsAre("g7", "node-7"));
  EXPECT_THAT(PodsOn("node-7"), ElementsAre("q"));
}

// A Pod does not move; one of its name may come up elsewhere before its end was seen.
TEST_F(ClusterViewTest, BothNodesAreToldWhenAPodsNamesakeIsElsewhere) {
  view_.pods().Put(PodJson("db-0", 1, "g7"));
  Told();
  view_.pods().Put(PodJson("db-0", 5, "g8"));
  EXPECT_THAT(Told(), UnorderedElementsAre("g7", "g8"));
  EXPECT_THAT(PodsOn("g7"), IsEmpty());
  EXPECT_THAT(PodsOn("g8"), ElementsAre("db-0"));
  view_.pods().Put(PodJson("db-0", 9, ""));
  EXPECT_THAT(Told(), ElementsAre("g8"));
  EXPECT_THAT(PodsOn("g8"), IsEmpty());
}

TEST_F(ClusterViewTest, PodsThatAListDoesNotNameLeaveTheirNode) {
  view_.pods().Put(PodJson("p", 1, "g7"));
  view_.pods().BeginList();
  view_.pods().EndList("2");
  EXPECT_THAT(PodsOn("g7"), IsEmpty());
}

// Its Pods outlive it, and they bear its name, not the machine's.
TEST_F(ClusterViewTest, TheNameOfAV1NodeIsKnownAfterItIsGone) {
  EXPECT_EQ(view_.NodeNameOf("m1"), "m1") << "none was seen";
  view_.nodes().Put(NodeJson("worker-1", 1, "muster://Z/m1"));
  EXPECT_EQ(view_.NodeNameOf("m1"), "worker-1");
  view_.pods().Put(PodJson("job", 2, "worker-1"));
  view_.nodes().Remove(NodeJson("worker-1", 3, "muster://Z/m1"));
  EXPECT_EQ(NodeOf("m1"), "none");
  EXPECT_EQ(view_.NodeNameOf("m1"), "worker-1");
  EXPECT_THAT(PodsOn(view_.NodeNameOf("m1")), ElementsAre("job"));
  Told();
  view_.pods().Remove(PodJson("job", 4, "worker-1"));
  EXPECT_THAT(Told(), UnorderedElementsAre("worker-1", "m1")) << "the machine's drain may be over";
  view_.nodes().Put(NodeJson("worker-1", 5, "muster://Z/m2"));
  EXPECT_EQ(view_.NodeNameOf("m2"), "worker-1");
  EXPECT_EQ(view_.NodeNameOf("m1"), "m1") << "that name is another machine's now";
  view_.nodes().Remove(NodeJson("worker-1", 6, "muster://Z/m2"));
  view_.nodes().Put(NodeJson("worker-2", 7, "muster://Z/m2"));
  EXPECT_EQ(view_.NodeNameOf("m2"), "worker-2");
}

}  // namespace
}  // namespace muster::kubernetes
