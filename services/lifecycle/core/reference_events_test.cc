// The sentences of reference/node-pool-reference.txt, "Events": each told when it says, once, about
// what it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/simulation.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using O = ReportNode::Observation;

constexpr char kNewer[] = "np-000000000002";

// A pool of so many Nodes in production, and what is told from then on.
struct Running : Simulation {
  explicit Running(int64_t nodes, const std::string& strategy = "IdleOnly") {
    Create(nodes, strategy);
    Live();
  }
  void Live() {
    if (!Settle()) std::abort();
    begin = told().size();
  }
  // `reason: message` of what was told of the pool since, of that reason.
  std::vector<std::string> PoolSays(const std::string& reason) const { return Said(false, reason); }
  std::vector<std::string> NodeSays(const std::string& reason) const { return Said(true, reason); }
  size_t begin = 0;

 private:
  std::vector<std::string> Said(bool on_node, const std::string& reason) const {
    std::vector<std::string> out;
    for (size_t i = begin; i < told().size(); ++i) {
      const Told& event = told()[i];
      if (event.on_node == on_node && event.reason == reason) out.push_back(event.message);
    }
    return out;
  }
};

// "CWNodePoolCreated: Fired when a Node Pool is created." "CWNodePoolDeleted: ... deleted."
TEST(ReferenceEvents, NodePoolCreatedAndDeleted) {
  Simulation sim;
  sim.Create(0);
  EXPECT_THAT(sim.ReasonsSince(0), ElementsAre("CWNodePoolCreated"));
  sim.Apply([](Spec& spec) { spec.node_labels = {{"a", "b"}}; });
  ASSERT_TRUE(sim.Settle());
  sim.Delete();
  sim.Delete();
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(sim.ReasonsSince(0),
              ElementsAre("CWNodePoolCreated", "CWNodePoolMetadata", "CWNodePoolDeleted"));
}

// "CWInvalidInstanceType: Fired when a Node Pool contains an invalid instance type."
// "CWInstanceTypeNotInZone: Fired when a Node Pool has an instance type not in its Zone."
TEST(ReferenceEvents, InvalidInstanceTypeAndInstanceTypeNotInZone) {
  Running sim(0);
  sim.catalogue.type.reset();
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(sim.PoolSays("CWInvalidInstanceType"),
              ElementsAre("Instance type gd-8xa100-i128 does not exist."));
  sim.catalogue = Simulation().catalogue;
  ASSERT_TRUE(sim.Settle());
  sim.catalogue.offered = false;
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(sim.PoolSays("CWInstanceTypeNotInZone"),
              ElementsAre("Instance type gd-8xa100-i128 is not available in zone US-EAST-04A."));
}

// "CWInsufficientCapacity: Fired when there is not sufficient capacity for a Node Pool."
// "CWOverQuota: Fired when the quota is insufficient for the Node Pool's targetNodes."
// "CWNodePoolQuotaCheckFailed: Fired when there is an internal error checking the quota."
// "CWNodePoolNodesRequestFailed: Fired when an error is returned when updating the Node Pool."
TEST(ReferenceEvents, WhatKeepsAPoolFromGrowingIsToldOnceEach) {
  Running sim(1);
  sim.limit = 2;
  sim.OthersTake(200);
  sim.Resize(2);
  ASSERT_TRUE(sim.Settle());
  sim.Resize(3);
  ASSERT_TRUE(sim.Settle());
  sim.quota_away = sim.capacity_away = true;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(sim.Settle());
    sim.Advance(sim.policy.retry);
  }
  for (const char* reason : {"CWInsufficientCapacity", "CWOverQuota", "CWNodePoolQuotaCheckFailed",
                             "CWNodePoolNodesRequestFailed"}) {
    EXPECT_THAT(sim.PoolSays(reason), SizeIs(1)) << reason;
  }
}

// "CWNodeRequestQueued: Fired when a request is submitted to add Nodes to a Node Pool."
// "CWNodeAssigned: Fired when a Node is assigned to a Node Pool." "CWNodeRegistered (Node,
// NodePool): Fired when Node registration succeeds." "CWNodePoolScaledUp: ... scaled up."
TEST(ReferenceEvents, OneNodeUp) {
  Running sim(0);
  sim.Resize(1);
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(sim.ReasonsSince(sim.begin), ElementsAre("CWNodeRequestQueued", "CWNodeAssigned",
                                                       "CWNodeRegistered", "CWNodePoolScaledUp"));
  EXPECT_THAT(sim.PoolSays("CWNodeRequestQueued"),
              ElementsAre("Requested 1 Node of gd-8xa100-i128."));
  EXPECT_THAT(sim.PoolSays("CWNodePoolScaledUp"), ElementsAre("NodePool scaled up to 1 Node."));
  EXPECT_THAT(sim.ReasonsSince(sim.begin, "g100"),
              ElementsAre("CWConfigStaged", "CWNodeRegistered"));
}

// "CWNodeDeliverFail: Fired when Node allocation to a Node Pool fails due to misconfigured Node
// Pool settings or internal issues." "CWNodeRegistrationFailed (Node): Fired when Node registration
// fails. See the message for additional details."
TEST(ReferenceEvents, DeliverFailAndRegistrationFailed) {
  Running sim(0);
  sim.boot_fails = {"g100"};
  sim.registration_fails = {"g101"};
  sim.Resize(2);
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(sim.PoolSays("CWNodeDeliverFail"),
              ElementsAre("Node g100 could not be delivered: no kernel."));
  // In the cluster it was already.
  EXPECT_THAT(
      sim.PoolSays("CWNodeBootFailed"),
      ElementsAre(
          "Node g101 was registered and did not become ready: the kubelet does not answer."));
  EXPECT_THAT(sim.NodeSays("CWNodeRegistrationFailed"), IsEmpty());
  EXPECT_THAT(sim.broken(), ElementsAre("g100", "g101"));
  EXPECT_THAT(sim.machines(), SizeIs(2));
  sim.stuck = {"g104"};
  sim.Resize(3);
  sim.Pass();
  sim.Pass();
  ASSERT_TRUE(sim.Report("g104", O::kBootStarted).ok());
  sim.Live();
  sim.Advance(sim.policy.boot_deadline);
  sim.Pass();
  EXPECT_THAT(sim.NodeSays("CWNodeRegistrationFailed"),
              ElementsAre("Node g104 could not be registered: it did not come up in time."));
  EXPECT_THAT(sim.PoolSays("CWNodeDeliverFail"), IsEmpty());
}

// "CWNodePoolDisabled: Fired when a Node Pool is disabled because the Node is misconfigured and is
// causing too many boot failures."
TEST(ReferenceEvents, NodePoolDisabledAfterTooManyBootFailures) {
  Running sim(0);
  sim.boot_fails = {"g100", "g101", "g102", "g103"};
  sim.Resize(4);
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(sim.PoolSays("CWNodePoolDisabled"),
              ElementsAre("Configuration np-000000000001 was disabled because too many boots "
                          "failed: no further Node boots into it."));
}

// "CWNodePoolMetadata: Fired when metadata is updated for a Node Pool."
TEST(ReferenceEvents, NodePoolMetadataWhenLabelsChange) {
  Running sim(2);
  sim.Apply([](Spec& spec) { spec.node_labels = {{"team", "ml"}}; });
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(sim.PoolSays("CWNodePoolMetadata"), ElementsAre("Updated nodeLabels."));
  EXPECT_EQ(sim.node("g101")->desired.labels.at("team"), "ml");
  EXPECT_EQ(sim.node("g101")->state, NodeState::kProduction);
}

// "CWNodePoolRemoveNodes: Fired when attempting to scale down a Node Pool."
// "CWNodeDeletionRequestSuccess: Fired when Node Pool Operator receives a request to delete a
// Node." "CWNodeMarkedPrepareForTerminate (Node, NodePool): Fired when a Node has been sent the
// signal to prepare for termination." "CWNodeCordoned (Node, NodePool)", "CWNodeTainted (Node,
// NodePool)". "CWDrainNode: Fired when a Node is being drained." "CWNodeDraining (Node, NodePool)".
// "CWNodePreparedForTerminate (Node, NodePool): Fired when a Node is prepared for termination."
// "CWNodeDeleted: Fired to indicate a Node has been deleted." "CWNodePoolNodesRemoved: Fired when
// Nodes are removed from the Node Pool." "CWNodePoolScaledDown: Fired when a Node Pool is scaled
// down."
TEST(ReferenceEvents, OneNodeDown) {
  Running sim(1);
  sim.Resize(0);
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(sim.ReasonsSince(sim.begin),
              ElementsAre("CWNodePoolRemoveNodes", "CWNodeDeletionRequestSuccess",
                          "CWNodeMarkedPrepareForTerminate", "CWNodeCordoned", "CWDrainNode",
                          "CWNodeDraining", "CWNodeTainted", "CWNodePreparedForTerminate",
                          "CWNodeDeleted", "CWNodePoolNodesRemoved", "CWNodePoolScaledDown"));
  EXPECT_THAT(sim.ReasonsSince(sim.begin, "g100"),
              ElementsAre("CWNodeMarkedPrepareForTerminate", "CWNodeCordoned", "CWNodeDraining",
                          "CWNodeTainted", "CWNodePreparedForTerminate"));
}

// "CWNodeUncordoned (Node, NodePool)".
TEST(ReferenceEvents, UncordonedWhenARemovalIsCancelled) {
  Running sim(1);
  sim.Resize(0);
  ASSERT_TRUE(sim.Pass());
  sim.begin = sim.told().size();
  sim.Resize(1);
  ASSERT_TRUE(sim.Settle());
  // The pool was not scaled: no Node came or went.
  EXPECT_THAT(sim.ReasonsSince(sim.begin), ElementsAre("CWNodeUncordoned"));
  EXPECT_THAT(sim.ReasonsSince(sim.begin, "g100"), ElementsAre("CWNodeUncordoned"));
}

TEST(ReferenceEvents, NotScaledUpWhenATargetOutOfReachIsTakenBack) {
  Running sim(2);
  sim.limit = 2;
  sim.Resize(5);
  ASSERT_TRUE(sim.Settle());
  sim.Resize(2);
  ASSERT_TRUE(sim.Settle());
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  EXPECT_THAT(sim.ReasonsSince(sim.begin), ElementsAre("CWOverQuota"));
}

// "CWNodeDrainingPDBViolation (Node, NodePool): Fired when a Node is being drained and certain pods
// cannot be evicted due to a Pod Disruption Budget." "CWNodeDrainingForceDelete (Node, NodePool):
// Fired when a Node is being drained as part of internal automation and pods were deleted
// ungracefully."
TEST(ReferenceEvents, DrainingPDBViolationThenForceDelete) {
  Running sim(1, "PreferIdle");
  sim.SetActive("g100", true);
  sim.blocked_by = {{"g100", "default/web-pdb"}};
  sim.Resize(0);
  ASSERT_TRUE(sim.Settle());
  const std::string blocked = "Node g100 cannot be drained: default/web-pdb.";
  EXPECT_THAT(sim.PoolSays("CWNodeDrainingPDBViolation"), ElementsAre(blocked));
  EXPECT_THAT(sim.NodeSays("CWNodeDrainingPDBViolation"), ElementsAre(blocked));
  EXPECT_THAT(sim.Obstacles(), Contains("DRAIN_BLOCKED"));
  sim.Advance(sim.policy.drain_deadline - absl::Minutes(2));
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(sim.PoolSays("CWNodeDrainingForceDelete"), IsEmpty());
  sim.Advance(absl::Minutes(2));
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(sim.PoolSays("CWNodeDrainingForceDelete"), SizeIs(1));
  EXPECT_THAT(sim.NodeSays("CWNodeDrainingForceDelete"), SizeIs(1));
  EXPECT_THAT(sim.machines(), IsEmpty());
}

// A budget that lets go again ends the drain before its deadline.
TEST(ReferenceEvents, ABudgetThatLetsGoNeedsNoForce) {
  Running sim(1, "PreferIdle");
  sim.SetActive("g100", true);
  sim.blocked_by = {{"g100", "default/web-pdb"}};
  sim.Resize(0);
  ASSERT_TRUE(sim.Settle());
  sim.blocked_by.clear();
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(sim.machines(), IsEmpty());
  EXPECT_THAT(sim.PoolSays("CWNodeDrainingForceDelete"), IsEmpty());
}

// "CWNodePoolNodesRemoveError: Fired when an error occurs during Node removal."
TEST(ReferenceEvents, NodesRemoveErrorOnce) {
  Running sim(1);
  sim.removal_fails = {"g100"};
  sim.Resize(0);
  ASSERT_TRUE(sim.Settle());
  sim.Advance(absl::Hours(1));
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(sim.PoolSays("CWNodePoolNodesRemoveError"),
              ElementsAre("Node g100 could not be removed: the power does not go off."));
}

// "CWNodeConfigStaged: Fired when the active Node Config (status.nodeProfile) for the NodePool has
// been updated. This might be a result of ... new User-Initiated changes getting staged".
// "CWConfigStaged (Node): Fired when a new Node configuration is staged on the Node by setting it
// as the desired NodeProfile during Node boot." "CWReconfigureRebooted (Node): Fired after the Node
// has been reconfigure rebooted and is determined to be up-to-date with the staged NodeProfile".
TEST(ReferenceEvents, ConfigStagedAndReconfigureRebooted) {
  Running sim(1);
  sim.Stage(kNewer);
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(sim.ReasonsSince(sim.begin), ElementsAre("CWNodeConfigStaged"));
  sim.Must(ReconfigureNodePool{.name = kSimPool});
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(sim.ReasonsSince(sim.begin, "g100"),
              ElementsAre("CWNodeCordoned", "CWNodeTainted", "CWConfigStaged", "CWNodeUncordoned",
                          "CWNodeUntainted", "CWReconfigureRebooted"));
  EXPECT_THAT(sim.NodeSays("CWReconfigureRebooted"),
              ElementsAre("Node g100 was rebooted into configuration np-000000000002."));
}

// "CWPendingNodeConfig: Fired when the status.pendingNodeConfiguration is updated on the NodePool."
// "CWManualUpgradeTrigger: Fired when a user upgrades a NodePool to the pending configuration."
// "CWNodePoolNodeConfigUpdated: Fired when the active Node Config (status.nodeProfile) for the
// NodePool has been updated. This might be a result of promoting the pendingNodeConfiguration or
// rolling back to a previous configuration." "CWManualRollbackTrigger: Fired when a user rolls back
// a NodePool to a previous configuration."
TEST(ReferenceEvents, PendingPromotedAndRolledBack) {
  Running sim(1);
  sim.Pend(kNewer);
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(sim.ReasonsSince(sim.begin), ElementsAre("CWPendingNodeConfig"));
  sim.Promote();
  ASSERT_TRUE(sim.Settle());
  sim.RollBackTo(kSimProfile);
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(
      sim.ReasonsSince(sim.begin),
      ElementsAre("CWPendingNodeConfig", "CWManualUpgradeTrigger", "CWNodePoolNodeConfigUpdated",
                  "CWNodeConfigStaged", "CWManualRollbackTrigger", "CWNodePoolNodeConfigUpdated",
                  "CWNodeConfigStaged"));
  EXPECT_THAT(sim.PoolSays("CWNodePoolNodeConfigUpdated"),
              ElementsAre("Configuration np-000000000002 is active after a promotion.",
                          "Configuration np-000000000001 is active after a rollback."));
}

// "CWNodePoolNodeConfigUpdatePending: Fired when a Node Config update is pending due to nodes being
// mid-delivery. The update will complete once Nodes have booted into the cluster."
TEST(ReferenceEvents, UpdatePendingWhileNodesAreMidDelivery) {
  Running sim(1);
  sim.stuck = {"g101"};
  sim.Resize(2);
  ASSERT_TRUE(sim.Settle());
  sim.Pend(kNewer);
  sim.Promote();
  ASSERT_TRUE(sim.Settle());
  EXPECT_EQ(sim.pool()->status.node_profile, kSimProfile);
  EXPECT_EQ(sim.pool()->status.waiting->node_profile, kNewer);
  EXPECT_THAT(sim.PoolSays("CWNodePoolNodeConfigUpdatePending"), SizeIs(1));
  EXPECT_THAT(sim.PoolSays("CWManualUpgradeTrigger"), SizeIs(1));
  EXPECT_THAT(sim.PoolSays("CWNodePoolNodeConfigUpdated"), IsEmpty());
  EXPECT_THAT(sim.Obstacles(), Contains("CONFIGURATION_WAITS"));
  sim.stuck.clear();
  ASSERT_TRUE(sim.Settle());
  EXPECT_EQ(sim.pool()->status.node_profile, kNewer);
  EXPECT_THAT(sim.PoolSays("CWManualUpgradeTrigger"), SizeIs(1));
  EXPECT_THAT(sim.PoolSays("CWNodePoolNodeConfigUpdated"), SizeIs(1));
  // The Node that was in delivery booted what it was ordered to, and must be rebooted like others.
  EXPECT_EQ(sim.node("g101")->observed.node_profile, kSimProfile);
  EXPECT_EQ(sim.node("g101")->desired.node_profile, kNewer);
  EXPECT_EQ(sim.Reason("NodeReconfigurationRequired"), "StagedNodeConfig");
}

// "CWNodePoolNoPendingConfiguration: Fired when a user attempts to promote the
// status.pendingNodeConfiguration to become the active configuration (status.nodeProfile), but
// there is no staged configuration." "CWNodePoolNodeConfigRollbackFailed: Fired when there was an
// error rolling back the active Node configuration for the NodePool to a previous config."
TEST(ReferenceEvents, NoPendingConfigurationAndRollbackFailed) {
  Running sim(1);
  sim.Promote();
  sim.RollBackTo("np-00000000000f");
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(sim.ReasonsSince(sim.begin), ElementsAre("CWNodePoolNoPendingConfiguration",
                                                       "CWNodePoolNodeConfigRollbackFailed"));
}

// "CWNodePoolNodeConfigUpdateConflict: Fired when a user simulteaneouly attempts to upgrade to the
// pendingNodeConfig and rollback to a previous one."
TEST(ReferenceEvents, UpdateConflictIsToldOnceWhetherOrNotTheFirstWasSeenWaiting) {
  for (const bool seen : {false, true}) {
    SCOPED_TRACE(seen);
    Running sim(1);
    sim.stuck = {"g101"};
    sim.Resize(2);
    sim.Live();
    sim.Pend(kNewer);
    sim.Promote();
    if (seen) {
      ASSERT_TRUE(sim.Settle());
    }
    sim.RollBackTo(kSimProfile);
    ASSERT_TRUE(sim.Settle());
    EXPECT_THAT(sim.PoolSays("CWNodePoolNodeConfigUpdateConflict"), SizeIs(1));
    EXPECT_THAT(sim.PoolSays("CWManualUpgradeTrigger"), SizeIs(seen ? 1 : 0));
    EXPECT_THAT(sim.PoolSays("CWManualRollbackTrigger"), IsEmpty());
    EXPECT_EQ(sim.pool()->status.node_profile, kSimProfile);
  }
}

// An order that waited and came to nothing ends with an event too.
TEST(ReferenceEvents, AnOrderThatIsOvertakenWhileItWaitsIsTold) {
  for (const bool promotion : {true, false}) {
    SCOPED_TRACE(promotion);
    Running sim(1);
    sim.Stage(kNewer);
    ASSERT_TRUE(sim.Settle());
    sim.stuck = {"g101"};
    sim.Resize(2);
    sim.Live();
    sim.Pend("np-000000000003");
    promotion ? sim.Promote() : sim.RollBackTo(kSimProfile);
    ASSERT_TRUE(sim.Settle());
    ASSERT_EQ(sim.configuration.orders.back().outcome, ConfigurationOrder::Outcome::kWaiting);
    const char* failed =
        promotion ? "CWNodePoolNoPendingConfiguration" : "CWNodePoolNodeConfigRollbackFailed";
    EXPECT_THAT(sim.PoolSays(failed), IsEmpty());
    sim.configuration.orders.back().outcome = ConfigurationOrder::Outcome::kReplaced;
    sim.configuration.orders.back().message = "The pool came to want np-000000000002 instead.";
    sim.configuration.waiting.reset();
    ASSERT_TRUE(sim.Settle());
    EXPECT_THAT(sim.PoolSays(failed),
                ElementsAre(promotion ? "The promotion of np-000000000003 was not carried out. The "
                                        "pool came to want np-000000000002 instead."
                                      : "The rollback to np-000000000001 was not carried out. The "
                                        "pool came to want np-000000000002 instead."));
    EXPECT_THAT(sim.PoolSays("CWNodePoolNodeConfigUpdated"), SizeIs(0));
  }
}

// "CWNodeConfigStagingFailed (Node): Fired when the Node Pool Operator attempted to stage the
// NodePool's active configuration on an existing Node in the cluster to prepare it for a
// reconfigure reboot, but was not able to do so. It will keep retrying until successful."
TEST(ReferenceEvents, ConfigStagingFailedUntilItSucceeds) {
  Running sim(1);
  sim.staging_fails = {"g100"};
  sim.Stage(kNewer);
  ASSERT_TRUE(sim.Settle());
  EXPECT_THAT(sim.NodeSays("CWNodeConfigStagingFailed"),
              ElementsAre("Node g100 could not be staged with configuration np-000000000002: the "
                          "disk is full."));
  EXPECT_EQ(sim.node("g100")->desired.node_profile, kNewer);
  sim.staging_fails.clear();
  ASSERT_TRUE(sim.Settle());
  EXPECT_EQ(sim.node("g100")->observed.staging_error, "");
}

}  // namespace
}  // namespace muster::lifecycle
