#include "services/lifecycle/core/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "services/common/resource_name.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

Pool LabelledPool() {
  Pool pool{.name = "organizations/acme/clusters/c1/nodePools/train",
            .uid = "uid-1",
            .zone = "US-EAST-04A"};
  pool.spec.instance_type = "gd-8xa100-i128";
  pool.spec.node_labels = {{"team", "ml"}};
  pool.spec.node_taints = {{"team", "ml", "NoSchedule"}};
  return pool;
}

TEST(Metadata, InProduction) {
  const Metadata metadata =
      DesiredMetadata(LabelledPool(), Node{.state = NodeState::kProduction}, true);
  EXPECT_THAT(metadata.labels,
              ElementsAre(Pair("compute.coreweave.com/compute-class", "default"),
                          Pair("compute.coreweave.com/node-pool", "train"),
                          Pair("compute.coreweave.com/node-pool-uid", "uid-1"),
                          Pair("node.coreweave.cloud/reserved", "acme"),
                          Pair("node.coreweave.cloud/reserved-desired", "acme"),
                          Pair("node.coreweave.cloud/state", "production"),
                          Pair("node.kubernetes.io/instance-type", "gd-8xa100-i128"),
                          Pair("node.kubernetes.io/type", "gd-8xa100-i128"), Pair("team", "ml"),
                          Pair("topology.kubernetes.io/region", "US-EAST-04"),
                          Pair("topology.kubernetes.io/zone", "US-EAST-04A")));
  EXPECT_THAT(metadata.taints, ElementsAre(Taint{"team", "ml", "NoSchedule"},
                                           Taint{"is_gpu", "true", "PreferNoSchedule"}));
}

// kube-apiserver refuses all that is written with one that is none.
TEST(Metadata, EveryLabelHasALabelsValue) {
  const std::string longest(63, 'a');
  Pool pool{.name = "organizations/" + longest + "/clusters/c1/nodePools/" + longest,
            .uid = longest};
  pool.spec.instance_type = longest;
  for (const char* zone : {"Z-A", "A--B", "1A", "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123-A"}) {
    ASSERT_TRUE(IsZoneId(zone)) << zone;
    pool.zone = zone;
    const Node node{.state = NodeState::kProduction};
    for (const auto& [key, value] : DesiredMetadata(pool, node, true).labels)
      EXPECT_TRUE(IsLabelValue(value)) << zone << " " << key << "=" << value;
  }
}

// kube-apiserver refuses a list with two taints of a key and effect, and with it all else that is
// written with it.
TEST(Metadata, ATaintThatTheNodeHasAnywayIsThereOnce) {
  Pool pool = LabelledPool();
  pool.spec.node_taints = {{"is_gpu", "mine", "PreferNoSchedule"}, {"is_gpu", "true", "NoExecute"}};
  Node node{.state = NodeState::kProduction};
  EXPECT_THAT(DesiredMetadata(pool, node, true).taints,
              ElementsAre(Taint{"is_gpu", "true", "NoExecute"},
                          Taint{"is_gpu", "true", "PreferNoSchedule"}));
  // Nor is a Node taken for one with GPUs for what its pool says.
  pool.spec.node_taints = {{"is_gpu", "true", "PreferNoSchedule"},
                           {"is_cpu_compute", "", "NoSchedule"}};
  for (const bool gpu : {false, true}) {
    node.desired.taints = DesiredMetadata(pool, node, gpu).taints;
    EXPECT_EQ(HasGpus(node), gpu);
    node.state = NodeState::kTriage;
  }
}

TEST(Metadata, ReservedSaysWhoMayUseTheNode) {
  const auto of = [](NodeState state, const char* key) {
    return DesiredMetadata(LabelledPool(), Node{.state = state}, false)
        .labels.at(std::string("node.coreweave.cloud/") + key);
  };
  EXPECT_EQ(of(NodeState::kBooting, "state"), "zap");
  EXPECT_EQ(of(NodeState::kBooting, "reserved"), "control-plane");
  EXPECT_EQ(of(NodeState::kBooting, "reserved-desired"), "acme");
  EXPECT_EQ(of(NodeState::kTriage, "reserved"), "triage");
  EXPECT_EQ(of(NodeState::kReconfiguring, "state"), "production-reboot");
  EXPECT_EQ(of(NodeState::kDraining, "reserved"), "acme");
  EXPECT_EQ(of(NodeState::kPreparedForTerminate, "reserved"), "zap");
  // Moved to the control plane, from the end of its drain on. Until then as if it were not.
  for (const auto& [state, reserved] :
       {std::pair(NodeState::kTriage, "triage"),
        std::pair(NodeState::kReconfiguring, "production-reboot"),
        std::pair(NodeState::kProduction, "acme"), std::pair(NodeState::kCordoned, "acme"),
        std::pair(NodeState::kDraining, "acme"),
        std::pair(NodeState::kPreparedForTerminate, "control-plane")}) {
    const Node moved{.state = state, .reserved_desired = kControlPlane};
    EXPECT_THAT(DesiredMetadata(LabelledPool(), moved, false).labels,
                Contains(Pair("node.coreweave.cloud/reserved", reserved)));
  }
  EXPECT_THAT(
      DesiredMetadata(LabelledPool(), Node{.state = NodeState::kTriage}, false).taints,
      ElementsAre(Taint{"team", "ml", "NoSchedule"}, Taint{"is_cpu_compute", "", "NoSchedule"},
                  Taint{"node.coreweave.cloud/reserved", ReservedHash("triage"), "NoExecute"}));
}

}  // namespace
}  // namespace muster::lifecycle
