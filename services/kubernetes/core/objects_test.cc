#include "services/kubernetes/core/objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/testing/objects.h"

namespace muster::kubernetes {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// As a real API server sent it, after this adapter's writes, a cordon of its own and a kubelet's.
Json FullNode() {
  return Json::parse(R"({
    "apiVersion": "v1", "kind": "Node",
    "metadata": {
      "name": "node-7", "uid": "7a5e", "resourceVersion": "4711", "creationTimestamp": "2025-06-09T14:48:54Z",
      "labels": {"compute.coreweave.com/node-pool": "a", "kubernetes.io/os": "linux"},
      "annotations": {"team.example/note": "ours", "node.coreweave.cloud/taints": "is_gpu:PreferNoSchedule"},
      "managedFields": [
        {"manager": "muster", "operation": "Apply", "apiVersion": "v1", "time": "2025-06-09T14:49:00Z",
         "fieldsType": "FieldsV1",
         "fieldsV1": {"f:metadata": {"f:annotations": {"f:team.example/note": {}},
                                     "f:labels": {"f:compute.coreweave.com/node-pool": {}}},
                      "f:spec": {"f:unschedulable": {}}}},
        {"manager": "muster", "operation": "Apply", "apiVersion": "v1", "subresource": "status",
         "fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"CWActive\"}": {".": {}, "f:type": {}}}}}},
        {"manager": "muster", "operation": "Update", "apiVersion": "v1",
         "fieldsV1": {"f:metadata": {"f:annotations": {"f:node.coreweave.cloud/taints": {}}},
                      "f:spec": {"f:taints": {}}}},
        {"manager": "kubelet", "operation": "Update", "apiVersion": "v1",
         "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/os": {}}},
                      "f:spec": {"f:providerID": {}}}}
      ]},
    "spec": {
      "providerID": "muster://US-EAST-04A/g8fd930", "unschedulable": true,
      "taints": [
        {"key": "is_gpu", "value": "true", "effect": "PreferNoSchedule"},
        {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": "2025-06-09T15:00:00Z"}]},
    "status": {"conditions": [
      {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."},
      {"type": "CWActive", "status": "False", "reason": "Idle", "message": "Node is idle.", "lastHeartbeatTime": null}]}})");
}

TEST(ReadNode, TakesWhatIsDecidedBy) {
  const NodeObject node = ReadNode(FullNode());
  EXPECT_EQ(node.name, "node-7");
  EXPECT_EQ(node.uid, "7a5e");
  EXPECT_EQ(node.resource_version, "4711");
  EXPECT_EQ(ProviderMachine(node), "g8fd930");
  EXPECT_THAT(node.labels, ElementsAre(Pair("compute.coreweave.com/node-pool", "a"),
                                       Pair("kubernetes.io/os", "linux")));
  EXPECT_TRUE(node.unschedulable);
  EXPECT_FALSE(node.deleting);
  ASSERT_EQ(node.taints.size(), 2u);
  EXPECT_EQ(node.taints[1].key, "node.kubernetes.io/unschedulable");
  EXPECT_EQ(node.taints[1].value, "");
  EXPECT_EQ(node.taints[1].json["timeAdded"], "2025-06-09T15:00:00Z");
  ASSERT_EQ(node.conditions.size(), 1u);
  EXPECT_EQ(node.conditions[0]["type"], "CWActive");
}

TEST(ReadNode, OwnsWhatItsApplyEntryNamesAndNothingElse) {
  const NodeObject node = ReadNode(FullNode());
  EXPECT_THAT(node.own_labels, ElementsAre("compute.coreweave.com/node-pool"));
  EXPECT_THAT(node.own_annotations, ElementsAre("team.example/note"));
  EXPECT_TRUE(node.owns_unschedulable);
  EXPECT_FALSE(node.foreign_unschedulable);
}

TEST(ReadNode, TellsAForeignCordonFromOurs) {
  Json json = FullNode();
  json["metadata"]["managedFields"].push_back(
      {{"manager", "kubectl-cordon"},
       {"operation", "Update"},
       {"fieldsV1", {{"f:spec", {{"f:unschedulable", Json::object()}}}}}});
  EXPECT_TRUE(ReadNode(json).foreign_unschedulable);
  EXPECT_TRUE(ReadNode(json).owns_unschedulable);
  json["spec"]["unschedulable"] = false;
  EXPECT_FALSE(ReadNode(json).foreign_unschedulable) << "they own that it is schedulable";
  json["metadata"]["managedFields"].erase(0);
  EXPECT_FALSE(ReadNode(json).owns_unschedulable);
}

TEST(ReadNode, SaysWhyItIsNotReady) {
  Json json = FullNode();
  EXPECT_EQ(ReadNode(json).ready, false) << "Unknown is not ready";
  EXPECT_EQ(ReadNode(json).not_ready_why,
            "NodeStatusUnknown: Kubelet stopped posting node status.");
  json["status"]["conditions"][0]["status"] = "True";
  EXPECT_EQ(ReadNode(json).ready, true);
  EXPECT_EQ(ReadNode(json).not_ready_why, "");
  json["status"]["conditions"].erase(0);
  EXPECT_EQ(ReadNode(json).ready, std::nullopt);
}

TEST(ReadNode, TellsWhenItsKubeletPosted) {
  Json json = FullNode();
  EXPECT_EQ(ReadNode(json).heartbeat_time, absl::InfinitePast());
  json["status"]["conditions"][0]["lastHeartbeatTime"] = "2025-05-30T17:36:00Z";
  EXPECT_EQ(ReadNode(json).heartbeat_time, Then());
  json["status"]["conditions"][0]["lastHeartbeatTime"] = "soon";
  EXPECT_EQ(ReadNode(json).heartbeat_time, absl::InfinitePast());
}

TEST(ReadNode, MarksADeletion) {
  Json json = FullNode();
  json["metadata"]["deletionTimestamp"] = "2025-06-09T15:00:00Z";
  EXPECT_TRUE(ReadNode(json).deleting);
}

TEST(ReadNodePool, TakesWhatIsDecidedBy) {
  const Json json = Json::parse(R"({
    "apiVersion": "compute.coreweave.com/v1alpha1", "kind": "NodePool",
    "metadata": {"name": "a", "uid": "9311", "resourceVersion": "5", "generation": 3,
      "deletionTimestamp": "2025-06-09T15:00:00Z",
      "finalizers": ["foregroundDeletion", "compute.coreweave.com/nodepool"],
      "annotations": {"compute.coreweave.com/promote-configuration": "pending",
                      "compute.coreweave.com/rollback-configuration": "np-0123456789ab"}},
    "spec": {"instanceType": "gd-8xh100ib-i128", "targetNodes": 2}, "status": {"currentNodes": 1}})");
  const NodePoolObject pool = ReadNodePool(json);
  EXPECT_EQ(pool.name, "a");
  EXPECT_EQ(pool.uid, "9311");
  EXPECT_EQ(pool.generation, 3);
  EXPECT_TRUE(pool.deleting);
  EXPECT_TRUE(pool.HasFinalizer());
  EXPECT_EQ(pool.promote, "pending");
  EXPECT_EQ(pool.rollback, "np-0123456789ab");
  EXPECT_EQ(pool.spec, json["spec"]);
  EXPECT_EQ(pool.status, json["status"]);
}

TEST(ReadNodePool, HasNotAnothersFinalizer) {
  const Json json = {{"metadata", {{"name", "a"}, {"finalizers", {"foregroundDeletion"}}}}};
  EXPECT_FALSE(ReadNodePool(json).HasFinalizer());
}

TEST(ReadPod, KnowsWhoStays) {
  Json pod = MakePodJson("x");
  EXPECT_EQ(ReadPod(pod).kind, PodObject::Class::kGuarded);
  EXPECT_EQ(ReadPod(pod).key(), "team/x");
  EXPECT_EQ(ReadPod(pod).node, "g8fd930");
  pod["metadata"]["ownerReferences"][0]["kind"] = "DaemonSet";
  EXPECT_EQ(ReadPod(pod).kind, PodObject::Class::kFixed);
  EXPECT_FALSE(ReadPod(pod).IsWork());
  pod["metadata"]["ownerReferences"][0]["controller"] = false;
  EXPECT_EQ(ReadPod(pod).kind, PodObject::Class::kGuarded) << "not its controller";
  pod["metadata"]["annotations"] = {{"kubernetes.io/config.mirror", "4d7f"}};
  EXPECT_EQ(ReadPod(pod).kind, PodObject::Class::kFixed);
}

TEST(ReadPod, KnowsTheClassesInBothSpellings) {
  const auto kind = [](const char* key, const char* value) {
    return ReadPod(MakePodJson("x", {{key, value}})).kind;
  };
  EXPECT_EQ(kind("qos.coreweave.cloud/interruptable", "true"), PodObject::Class::kInterruptable);
  EXPECT_EQ(kind("qos.coreweave.cloud/graceful-interruptible", "true"),
            PodObject::Class::kGraceful);
  EXPECT_EQ(kind("qos.coreweave.com/graceful-interruptible", "true"), PodObject::Class::kGraceful);
  EXPECT_EQ(kind("qos.coreweave.cloud/interruptable", "false"), PodObject::Class::kGuarded);
  EXPECT_EQ(kind("qos.coreweave.com/graceful-interruptible", ""), PodObject::Class::kGuarded);
  Json daemon = MakePodJson("x", {{"qos.coreweave.cloud/interruptable", "true"}});
  daemon["metadata"]["ownerReferences"][0]["kind"] = "DaemonSet";
  EXPECT_EQ(ReadPod(daemon).kind, PodObject::Class::kFixed) << "whatever its label";
}

TEST(ReadPod, OneThatHasFinishedIsNoWork) {
  Json pod = MakePodJson("x");
  EXPECT_TRUE(ReadPod(pod).IsWork());
  for (const char* phase : {"Succeeded", "Failed"}) {
    pod["status"]["phase"] = phase;
    EXPECT_TRUE(ReadPod(pod).finished);
    EXPECT_FALSE(ReadPod(pod).IsWork());
  }
  pod["status"]["phase"] = "Pending";
  EXPECT_TRUE(ReadPod(pod).IsWork());
  pod["metadata"]["deletionTimestamp"] = "2025-06-09T15:00:00Z";
  EXPECT_TRUE(ReadPod(pod).IsWork()) << "until it is gone";
  EXPECT_EQ(ReadPod(pod).deletion_time, absl::FromUnixSeconds(1'749'481'200));
}

TEST(ReadNamespace, TakesItsOrganization) {
  Json json = {
      {"metadata",
       {{"name", "team"}, {"uid", "9311"}, {"labels", {{"ns.coreweave.cloud/org", "acme"}}}}}};
  EXPECT_EQ(ReadNamespace(json).uid, "9311");
  EXPECT_EQ(ReadNamespace(json).organization, "acme");
  json["metadata"]["labels"] = {{"ns.coreweave.cloud/org-name", "x"}};
  EXPECT_EQ(ReadNamespace(json).organization, "");
}

// Every member of an object in turn becomes something else: it reads as empty, and nothing throws.
void Distort(const Json& whole, const Json::json_pointer& at, void (*read)(const Json&)) {
  const Json garbage[] = {nullptr,       7, -7, 1.5, true, "x", Json::array({nullptr, 7, "x"}),
                          Json::object()};
  for (const Json& value : garbage) {
    Json copy = whole;
    copy[at] = value;
    EXPECT_NO_THROW(read(copy)) << at.to_string() << " = " << value;
  }
  const Json& inner = whole[at];
  for (const auto& item : inner.items()) {
    if (inner.is_structured()) Distort(whole, at / item.key(), read);
  }
}

TEST(Read, LivesWithGarbage) {
  const Json::json_pointer root;
  Distort(FullNode(), root, [](const Json& json) { ReadNode(json); });
  Distort(MakePodJson("x", {{"a", "b"}}), root, [](const Json& json) { ReadPod(json); });
  Distort(
      {{"metadata",
        {{"name", "a"}, {"generation", 1}, {"finalizers", {"x"}}, {"annotations", {{"a", "b"}}}}},
       {"spec", {{"targetNodes", 1}}},
       {"status", Json::object()}},
      root, [](const Json& json) { ReadNodePool(json); });
  EXPECT_EQ(ReadNodePool({{"metadata", {{"generation", "3"}}}}).generation, 0);
  EXPECT_THAT(ReadNode({{"metadata", {{"labels", {{"a", 1}, {"b", "2"}}}}}}).labels,
              ElementsAre(Pair("b", "2")));
  EXPECT_THAT(ReadNode(Json::array()).taints, IsEmpty());
}

TEST(ProviderMachine, IsTheLastPart) {
  NodeObject node;
  EXPECT_EQ(ProviderMachine(node), "");
  node.provider_id = "aws:///us-east-1a/i-0abc";
  EXPECT_EQ(ProviderMachine(node), "i-0abc");
  node.provider_id = "g8fd930";
  EXPECT_EQ(ProviderMachine(node), "g8fd930");
}

TEST(OptionsToDelete, HoldForTheObjectOfThatUidOnly) {
  EXPECT_EQ(OptionsToDelete("7a5e"), Json({{"apiVersion", "v1"},
                                           {"kind", "DeleteOptions"},
                                           {"preconditions", {{"uid", "7a5e"}}}}));
}

// What others apply or update is not taken away by what we leave out.
TEST(ReadNode, OwnsNothingThatAnotherManagerApplies) {
  Json json = FullNode();
  json["metadata"]["managedFields"].push_back(
      {{"manager", "team-tool"},
       {"operation", "Apply"},
       {"fieldsV1", {{"f:metadata", {{"f:labels", {{"f:team.example/tier", Json::object()}}}}}}}});
  const NodeObject node = ReadNode(json);
  EXPECT_THAT(node.own_labels, ElementsAre("compute.coreweave.com/node-pool"));
  EXPECT_THAT(node.own_annotations, ElementsAre("team.example/note"));
  EXPECT_TRUE(node.owns_unschedulable);
}

TEST(ReadNode, TakesTheBootAndOurFieldsWithoutTheirOwnMark) {
  Json json = FullNode();
  json["status"]["nodeInfo"] = {{"bootID", "b-1"}};
  json["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"]["f:labels"]["."] = Json::object();
  EXPECT_EQ(ReadNode(json).boot_id, "b-1");
  EXPECT_THAT(ReadNode(json).own_labels, ElementsAre("compute.coreweave.com/node-pool"));
}

TEST(ReadNodePool, TakesItsVersionAndWhatIsGrantable) {
  const Json json = {
      {"metadata",
       {{"name", "a"}, {"resourceVersion", "5"}, {"annotations", {{kGrantable, "7"}}}}}};
  EXPECT_EQ(ReadNodePool(json).resource_version, "5");
  EXPECT_EQ(ReadNodePool(json).grantable, "7");
}

TEST(ReadPod, TakesItsVersionAndThatItIsLeaving) {
  Json json = MakePodJson("p");
  EXPECT_EQ(ReadPod(json).resource_version, "7");
  EXPECT_FALSE(ReadPod(json).deleting);
  json["metadata"]["deletionTimestamp"] = "2025-05-30T17:36:00Z";
  EXPECT_TRUE(ReadPod(json).deleting);
  EXPECT_EQ(ReadPod(json).deletion_time, Then());
}

}  // namespace
}  // namespace muster::kubernetes
