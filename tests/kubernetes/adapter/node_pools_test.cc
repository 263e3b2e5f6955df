#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kubernetes/adapter/stage.h"

namespace muster::testing {
namespace {

using Json = nlohmann::json;
using ::testing::Contains;
using ::testing::IsSupersetOf;

constexpr char kPool[] = "example-nodepool";

std::vector<std::string> EventsAbout(Stage& stage, const std::string& kind) {
  std::vector<std::string> reasons;
  for (const Json& event : stage.Events()) {
    if (event["regarding"]["kind"] == kind) reasons.push_back(event["reason"]);
  }
  return reasons;
}

// "A new Node Pool in a healthy state looks like this when described", and what its Nodes carry.
TEST(NodePools, ALifeFromCreationToTheEnd) {
  Stage stage;
  const Json created = stage.Create(Stage::ExampleNodePool());
  ASSERT_TRUE(stage.AwaitHealthy(kPool, 1)) << stage.GetNodePool(kPool).dump(2) << stage.Logs();
  const Json pool = stage.GetNodePool(kPool);
  EXPECT_EQ(ConditionOf(pool, "Validated")["message"], "NodePool configuration is valid.");
  EXPECT_EQ(ConditionOf(pool, "Quota")["message"], "NodePool is within instance type quota.");
  EXPECT_EQ(ConditionOf(pool, "AtTarget")["message"],
            "NodePool has reached its target node count.");
  EXPECT_EQ(pool["status"]["inProgress"], 0);
  EXPECT_EQ(pool["status"]["queuedNodes"], 0);

  const Json node = stage.Nodes().at(0);
  const Json labels = node["metadata"]["labels"];
  EXPECT_EQ(labels["compute.coreweave.com/node-pool"], kPool);
  EXPECT_EQ(labels["compute.coreweave.com/node-pool-uid"], created["metadata"]["uid"]);
  EXPECT_EQ(labels["node.coreweave.cloud/state"], "production");
  EXPECT_EQ(ConditionOf(node, "CWRegistered")["status"], "True");
  // A real server keeps a taint of its own on Nodes that no controller looks after.
  EXPECT_THAT(node["spec"]["taints"],
              Contains(Json{{"key", "is_gpu"}, {"value", "true"}, {"effect", "PreferNoSchedule"}}));

  stage.PatchNodePool(kPool, {{"spec", {{"targetNodes", 3}}}});
  ASSERT_TRUE(stage.AwaitHealthy(kPool, 3)) << stage.Logs();
  stage.PatchNodePool(kPool, {{"spec", {{"targetNodes", 2}}}});
  ASSERT_TRUE(stage.AwaitHealthy(kPool, 2)) << stage.Logs();
  EXPECT_EQ(stage.Nodes().size(), 2u);

  stage.DeleteNodePool(kPool);
  bool complete = false;
  EXPECT_TRUE(stage.AwaitNodePool(kPool, [&](const Json& object) {
    complete |= ReasonOf(object, "NodesRemoved") == "Complete";
    return object.is_null();
  })) << stage.Logs();
  EXPECT_TRUE(complete);
  EXPECT_TRUE(stage.Await("/api/v1/nodes", [](const auto& nodes) { return nodes.empty(); }))
      << stage.Logs();
  EXPECT_THAT(EventsAbout(stage, "NodePool"),
              IsSupersetOf({"CWNodePoolCreated", "CWNodeAssigned", "CWNodeRegistered",
                            "CWNodePoolScaledUp", "CWNodePoolScaledDown"}));
  EXPECT_THAT(EventsAbout(stage, "Node"), Contains("CWNodeRegistered"));
}

}  // namespace
}  // namespace muster::testing
