// The sentences of the public reference of NodePools, "Node Pool spec" and status, and of
// that of workload scheduling about labels and taints, as far as lifecycle keeps them. What
// is refused at the API is validate_test.cc's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/common/error.h"
#include "services/lifecycle/core/metadata.h"
#include "services/lifecycle/core/testing/simulation.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::SizeIs;

struct SpecPool : Simulation {
  explicit SpecPool(const std::function<void(Spec&)>& change = [](Spec&) {}) {
    Apply([&](Spec& spec) {
      spec.target_nodes = 1;
      change(spec);
    });
    Live();
  }
  void Live() {
    if (!Converge()) std::abort();
  }
  std::string Label(const std::string& key) const {
    const auto& labels = node("g100")->desired.labels;
    const auto it = labels.find(key);
    return it == labels.end() ? "" : it->second;
  }
};

// "default is used for Reserved instances and On-Demand instances and is the default".
TEST(ReferenceSpec, ComputeClassIsDefaultUnlessSet) {
  EXPECT_EQ(SpecPool().Label("compute.coreweave.com/compute-class"), "default");
  EXPECT_EQ(SpecPool([](Spec& s) {
              s.compute_class = "spot";
            }).Label("compute.coreweave.com/compute-class"),
            "spot");
}

// "instanceType is immutable and unchangeable".
TEST(ReferenceSpec, InstanceTypeIsImmutable) {
  SpecPool sim;
  const auto status = sim.Run(sim.Applied([](Spec& s) { s.instance_type = "other"; })).status();
  EXPECT_EQ(muster::error::DetailOf(status)->fields[0].description,
            "InstanceType cannot be changed");
}

// "minNodes: The minimum number of TargetNodes allowed by the autoscaler", "maxNodes": likewise.
TEST(ReferenceSpec, TheAutoscalerStaysWithinItsBounds) {
  SpecPool sim([](Spec& s) {
    s.autoscaling = true;
    s.min_nodes = 1;
    s.max_nodes = 3;
  });
  for (const int64_t target : {0, 4}) {
    const auto status = sim.Run(ResizeNodePool{.name = kSimPool, .target_nodes = target}).status();
    EXPECT_EQ(muster::error::DetailOf(status)->fields[0].field, "target_nodes");
  }
  sim.Resize(3);
  sim.Live();
  EXPECT_THAT(sim.machines(), SizeIs(3));
}

// "List of labels / annotations / taints associated with the Nodes in the Node Pool": they reach
// running Nodes without a reboot, and leave them again.
TEST(ReferenceSpec, LabelsAnnotationsAndTaintsReachRunningNodes) {
  SpecPool sim;
  sim.Apply([](Spec& s) {
    s.node_labels = {{"team", "ml"}};
    s.node_annotations = {{"note", "x"}};
    s.node_taints = {{"team", "ml", "NoSchedule"}};
  });
  sim.Live();
  const Taint taint{"team", "ml", "NoSchedule"};
  EXPECT_EQ(sim.Label("team"), "ml");
  EXPECT_EQ(sim.node("g100")->desired.annotations.at("note"), "x");
  EXPECT_THAT(sim.node("g100")->desired.taints, Contains(taint));
  EXPECT_EQ(sim.node("g100")->state, NodeState::kProduction);
  sim.Apply([](Spec& s) {
    s.node_labels.clear();
    s.node_taints.clear();
  });
  sim.Live();
  EXPECT_EQ(sim.Label("team"), "");
  EXPECT_THAT(sim.node("g100")->desired.taints, Not(Contains(taint)));
}

// Priority, gang and affinity are asked of capacity anew: another generation each.
TEST(ReferenceSpec, PriorityGangAndAffinityAreAskedAnew) {
  SpecPool sim;
  const std::vector<std::function<void(Spec&)>> changes = {
      [](Spec& s) { s.priority = 7; }, [](Spec& s) { s.gang = true; },
      [](Spec& s) {
        s.node_affinity = {{{"row", "In", {"7"}}}};
      }};
  for (const auto& change : changes) {
    const int64_t generation = sim.pool()->account.generation;
    sim.Apply(change);
    EXPECT_GT(sim.pool()->account.generation, generation);
    sim.Live();
  }
  EXPECT_TRUE(sim.fenced);
  const int64_t generation = sim.pool()->account.generation;
  sim.Apply([](Spec& s) { s.node_labels = {{"a", "b"}}; });
  EXPECT_EQ(sim.pool()->account.generation, generation);
}

// "queuedNodes: Number of queued Nodes waiting to be assigned." "inProgress: Number of Nodes that
// have been assigned, but have not yet fully booted into the cluster." "currentNodes: Number of
// Nodes for this Node Pool present in the cluster."
TEST(ReferenceStatus, QueuedInProgressAndCurrent) {
  SpecPool sim;
  sim.OthersTake(98);
  sim.stuck = {"g199"};
  sim.Resize(5);
  sim.Live();
  EXPECT_EQ(sim.pool()->status.current_nodes, 1);
  EXPECT_EQ(sim.pool()->status.in_progress, 1);
  EXPECT_EQ(sim.pool()->status.queued_nodes, 3);
  // A Node that is being drained is still there.
  sim.SetActive("g100", true);
  sim.stuck.insert("g100");
  sim.Delete();
  sim.Live();
  EXPECT_EQ(sim.pool()->status.current_nodes, 1);
}

// "The list is sorted by creation timestamp": also after a rollback, when configuration lists last
// what is active again.
TEST(ReferenceStatus, RevisionsAreSortedByCreationTimestamp) {
  SpecPool sim;
  NodeConfiguration newer = SpecPool::Made(kNewerProfile);
  newer.created_at += absl::Hours(1);
  sim.configuration.revisions.insert(sim.configuration.revisions.begin(), newer);
  sim.Live();
  const Status& status = sim.pool()->status;
  ASSERT_THAT(status.revisions, ::testing::SizeIs(2));
  EXPECT_EQ(status.revisions[0].node_profile, kSimProfile);
  EXPECT_EQ(status.revisions[0].active_nodes, 1);
  EXPECT_EQ(status.revisions[1].node_profile, kNewerProfile);
  EXPECT_EQ(status.node_profile, kSimProfile);
}

// "node.kubernetes.io/instance-type", "node.kubernetes.io/type ... the new Node Instance ID".
TEST(ReferenceScheduling, NodesCarryTheirInstanceType) {
  SpecPool sim;
  EXPECT_EQ(sim.Label("node.kubernetes.io/instance-type"), "gd-8xa100-i128");
  EXPECT_EQ(sim.Label("node.kubernetes.io/type"), "gd-8xa100-i128");
}

// "state: Identifies the Node's state in the lifecycle, such as production, zap, or triage."
// "reserved: If the Node is reserved for user workloads and /state is production, the value is the
// customer's Org ID. If /state is not production, the value is the same as /state."
// "If /reserved-desired does not match the /reserved label, the Node is pending."
TEST(ReferenceScheduling, StateAndReservedFollowTheLifecycle) {
  Simulation sim;
  sim.Create(1);
  while (sim.node("g100") == nullptr) sim.Pass();
  const auto label = [&](const char* key) {
    return sim.node("g100")->desired.labels.at(absl::StrCat("node.coreweave.cloud/", key));
  };
  EXPECT_EQ(label("state"), "zap");
  EXPECT_EQ(label("reserved"), "control-plane");  // pending: no workloads
  EXPECT_EQ(label("reserved-desired"), "acme");
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(label("state"), "production");
  EXPECT_EQ(label("reserved"), "acme");
  EXPECT_EQ(label("reserved-desired"), "acme");
  ASSERT_TRUE(sim.Report("g100", Simulation::O::kUnhealthy, "Xid 79").ok());
  EXPECT_EQ(label("state"), "triage");
  EXPECT_EQ(label("reserved"), "triage");
}

// "reserved-desired: Overrides a Node's reserved value. If /reserved-desired does not match the
// /reserved label, the Node is pending. This procedure moves Nodes from the organization's
// reservation to the control-plane reservation to prevent workloads from being scheduled on pending
// Nodes."
TEST(ReferenceScheduling, ReservedDesiredMovesANodeToTheControlPlane) {
  SpecPool sim;
  sim.SetActive("g100", true);
  sim.Must(UpdateNode{.name = NodeName(kSimPool, "g100"), .reserved_desired = kControlPlane});
  sim.Pass();
  EXPECT_EQ(sim.Label("node.coreweave.cloud/reserved-desired"), "control-plane");
  EXPECT_EQ(sim.Label("node.coreweave.cloud/reserved"), "acme");  // what is on it goes on
  EXPECT_TRUE(sim.node("g100")->desired.cordoned);                // nothing new comes to it
  // Drained, and still there.
  sim.removal_fails = {"g100"};
  sim.SetActive("g100", false);
  for (int i = 0; i < 3; ++i) {
    sim.Advance(sim.policy.cordon_settle);
    sim.Live();
  }
  ASSERT_EQ(sim.node("g100")->state, NodeState::kPreparedForTerminate);
  EXPECT_EQ(sim.Label("node.coreweave.cloud/state"), "zap");
  EXPECT_EQ(sim.Label("node.coreweave.cloud/reserved-desired"), "control-plane");
  EXPECT_EQ(sim.Label("node.coreweave.cloud/reserved"), "control-plane");
  EXPECT_THAT(
      sim.node("g100")->desired.taints,
      Contains(Taint{"node.coreweave.cloud/reserved", ReservedHash("control-plane"), "NoExecute"}));
}

// "The taint value is a hash of the /reserved label, such as control-plane or triage."
// "GPU Nodes have the is_gpu=true:PreferNoSchedule taint". "CPU taint: is_cpu_compute, NoSchedule".
TEST(ReferenceScheduling, TaintsOfGpuCpuAndReservedNodes) {
  SpecPool sim;
  EXPECT_THAT(sim.node("g100")->desired.taints,
              ::testing::ElementsAre(Taint{"is_gpu", "true", "PreferNoSchedule"}));
  ASSERT_TRUE(sim.Report("g100", Simulation::O::kUnhealthy, "Xid 79").ok());
  EXPECT_THAT(
      sim.node("g100")->desired.taints,
      Contains(Taint{"node.coreweave.cloud/reserved", ReservedHash("triage"), "NoExecute"}));
  Simulation cpu;
  cpu.catalogue.type->gpus = 0;
  cpu.Create(1);
  ASSERT_TRUE(cpu.Converge());
  EXPECT_THAT(cpu.node("g100")->desired.taints,
              ::testing::ElementsAre(Taint{"is_cpu_compute", "", "NoSchedule"}));
}

}  // namespace
}  // namespace muster::lifecycle
