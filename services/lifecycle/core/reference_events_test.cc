// The sentences of the public reference of NodePools, "Events": each told when it says, once, about
// what it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/testing/told.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using O = ReportNode::Observation;

// "CWNodePoolCreated: Fired when a Node Pool is created." "CWNodePoolDeleted: ... deleted."
TEST(ReferenceEvents, NodePoolCreatedAndDeleted) {
  Simulation sim;
  sim.Create(0);
  EXPECT_THAT(sim.ReasonsSince(0), ElementsAre("CWNodePoolCreated"));
  sim.Apply([](Spec& spec) { spec.node_labels = {{"a", "b"}}; });
  ASSERT_TRUE(sim.Converge());
  sim.Delete();
  sim.Delete();
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.ReasonsSince(0),
              ElementsAre("CWNodePoolCreated", "CWNodePoolMetadata", "CWNodePoolDeleted"));
}

// "CWInvalidInstanceType: Fired when a Node Pool contains an invalid instance type."
// "CWInstanceTypeNotInZone: Fired when a Node Pool has an instance type not in its Zone."
TEST(ReferenceEvents, InvalidInstanceTypeAndInstanceTypeNotInZone) {
  Telling sim(0);
  sim.catalogue.type.reset();
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.PoolSays("CWInvalidInstanceType"),
              ElementsAre("Instance type gd-8xa100-i128 does not exist."));
  sim.catalogue = Simulation().catalogue;
  ASSERT_TRUE(sim.Converge());
  sim.catalogue.offered = false;
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.PoolSays("CWInstanceTypeNotInZone"),
              ElementsAre("Instance type gd-8xa100-i128 is not available in zone US-EAST-04A."));
}

// "CWInsufficientCapacity: Fired when there is not sufficient capacity for a Node Pool."
// "CWOverQuota: Fired when the quota is insufficient for the Node Pool's targetNodes."
// "CWNodePoolQuotaCheckFailed: Fired when there is an internal error checking the quota."
// "CWNodePoolNodesRequestFailed: Fired when an error is returned when updating the Node Pool."
TEST(ReferenceEvents, WhatKeepsAPoolFromGrowingIsToldOnceEach) {
  Telling sim(1);
  sim.limit = 2;
  sim.OthersTake(200);
  sim.Resize(2);
  ASSERT_TRUE(sim.Converge());
  sim.Resize(3);
  ASSERT_TRUE(sim.Converge());
  sim.quota_away = sim.capacity_away = true;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(sim.Converge());
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
  Telling sim(0);
  sim.Resize(1);
  ASSERT_TRUE(sim.Converge());
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
  Telling sim(0);
  sim.boot_fails = {"g100"};
  sim.registration_fails = {"g101"};
  sim.Resize(2);
  ASSERT_TRUE(sim.Converge());
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

  // No agent took it up at all: nothing was delivered.
  sim.stuck = {"g105"};
  sim.Resize(4);
  ASSERT_TRUE(sim.Converge());
  sim.Advance(sim.policy.boot_deadline);
  sim.Pass();
  EXPECT_THAT(sim.PoolSays("CWNodeDeliverFail"),
              ElementsAre("Node g105 could not be delivered: it did not come up in time."));
  EXPECT_THAT(sim.NodeSays("CWNodeRegistrationFailed"), Not(Contains(HasSubstr("g105"))));
}

// "CWNodePoolDisabled: Fired when a Node Pool is disabled because the Node is misconfigured and is
// causing too many boot failures."
TEST(ReferenceEvents, NodePoolDisabledAfterTooManyBootFailures) {
  Telling sim(0);
  sim.boot_fails = {"g100", "g101", "g102", "g103"};
  sim.Resize(4);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.PoolSays("CWNodePoolDisabled"),
              ElementsAre("Configuration np-000000000001 was disabled because too many boots "
                          "failed: no further Node boots into it."));
}

// "CWNodePoolMetadata: Fired when metadata is updated for a Node Pool."
TEST(ReferenceEvents, NodePoolMetadataWhenLabelsChange) {
  Telling sim(2);
  sim.Apply([](Spec& spec) { spec.node_labels = {{"team", "ml"}}; });
  ASSERT_TRUE(sim.Converge());
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
  Telling sim(1);
  sim.Resize(0);
  ASSERT_TRUE(sim.Converge());
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
  Telling sim(1);
  sim.Resize(0);
  ASSERT_TRUE(sim.Pass());
  sim.begin = sim.told().size();
  sim.Resize(1);
  ASSERT_TRUE(sim.Converge());
  // The pool was not scaled: no Node came or went.
  EXPECT_THAT(sim.ReasonsSince(sim.begin), ElementsAre("CWNodeUncordoned"));
  EXPECT_THAT(sim.ReasonsSince(sim.begin, "g100"), ElementsAre("CWNodeUncordoned"));
}

TEST(ReferenceEvents, NotScaledUpWhenATargetOutOfReachIsTakenBack) {
  Telling sim(2);
  sim.limit = 2;
  sim.Resize(5);
  ASSERT_TRUE(sim.Converge());
  sim.Resize(2);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  EXPECT_THAT(sim.ReasonsSince(sim.begin), ElementsAre("CWOverQuota"));
}

// "CWNodeDrainingPDBViolation (Node, NodePool): Fired when a Node is being drained and certain pods
// cannot be evicted due to a Pod Disruption Budget." "CWNodeDrainingForceDelete (Node, NodePool):
// Fired when a Node is being drained as part of internal automation and pods were deleted
// ungracefully."
TEST(ReferenceEvents, DrainingPDBViolationThenForceDelete) {
  Telling sim(1, ScaleDownStrategy::kPreferIdle);
  sim.SetActive("g100", true);
  sim.blocked_by = {{"g100", "default/web-pdb"}};
  sim.Resize(0);
  ASSERT_TRUE(sim.Converge());
  const std::string blocked = "Node g100 cannot be drained: default/web-pdb.";
  EXPECT_THAT(sim.PoolSays("CWNodeDrainingPDBViolation"), ElementsAre(blocked));
  EXPECT_THAT(sim.NodeSays("CWNodeDrainingPDBViolation"), ElementsAre(blocked));
  EXPECT_THAT(sim.Obstacles(), Contains("DRAIN_BLOCKED"));
  sim.Advance(sim.policy.drain_deadline - absl::Minutes(2));
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.PoolSays("CWNodeDrainingForceDelete"), IsEmpty());
  sim.Advance(absl::Minutes(2));
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.PoolSays("CWNodeDrainingForceDelete"), SizeIs(1));
  EXPECT_THAT(sim.NodeSays("CWNodeDrainingForceDelete"), SizeIs(1));
  EXPECT_THAT(sim.machines(), IsEmpty());
}

// A budget that lets go again ends the drain before its deadline.
TEST(ReferenceEvents, ABudgetThatLetsGoNeedsNoForce) {
  Telling sim(1, ScaleDownStrategy::kPreferIdle);
  sim.SetActive("g100", true);
  sim.blocked_by = {{"g100", "default/web-pdb"}};
  sim.Resize(0);
  ASSERT_TRUE(sim.Converge());
  sim.blocked_by.clear();
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.machines(), IsEmpty());
  EXPECT_THAT(sim.PoolSays("CWNodeDrainingForceDelete"), IsEmpty());
}

// "CWNodePoolNodesRemoveError: Fired when an error occurs during Node removal."
TEST(ReferenceEvents, NodesRemoveErrorOnce) {
  Telling sim(1);
  sim.removal_fails = {"g100"};
  sim.Resize(0);
  ASSERT_TRUE(sim.Converge());
  sim.Advance(absl::Hours(1));
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.PoolSays("CWNodePoolNodesRemoveError"),
              ElementsAre("Node g100 could not be removed: the power does not go off."));
}

TEST(ReferenceEvents, NodePoolDisabledIsToldThoughAnotherBecameActive) {
  Telling sim(0);
  sim.Retire(97);  // g197, g198, g199 are left
  sim.stuck = sim.boot_fails = {"g197", "g198", "g199"};
  sim.Resize(3);
  ASSERT_TRUE(sim.Converge());
  sim.Stage(kNewerProfile);
  ASSERT_TRUE(sim.Converge());
  ASSERT_EQ(sim.pool()->status.node_profile, kSimProfile);
  sim.stuck.clear();
  ASSERT_TRUE(sim.Converge());
  ASSERT_EQ(sim.pool()->status.node_profile, "np-000000000002");
  EXPECT_THAT(sim.PoolSays("CWNodePoolDisabled"),
              ElementsAre("Configuration np-000000000001 was disabled because too many boots "
                          "failed: no further Node boots into it."));
}

}  // namespace
}  // namespace muster::lifecycle
