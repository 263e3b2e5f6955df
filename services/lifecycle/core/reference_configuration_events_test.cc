// The sentences of the public reference of NodePools, "Events", about configurations: each told
// when it says, once, about what it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/testing/told.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// "CWNodeConfigStaged: Fired when the active Node Config (status.nodeProfile) for the NodePool has
// been updated. This might be a result of ... new User-Initiated changes getting staged".
// "CWConfigStaged (Node): Fired when a new Node configuration is staged on the Node by setting it
// as the desired NodeProfile during Node boot." "CWReconfigureRebooted (Node): Fired after the Node
// has been reconfigure rebooted and is determined to be up-to-date with the staged NodeProfile".
TEST(ReferenceEvents, ConfigStagedAndReconfigureRebooted) {
  Telling sim(1);
  sim.Stage(kNewerProfile);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.ReasonsSince(sim.begin), ElementsAre("CWNodeConfigStaged"));
  sim.Must(ReconfigureNodePool{.name = kSimPool});
  ASSERT_TRUE(sim.Converge());
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
  Telling sim(1);
  sim.Pend(kNewerProfile);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.ReasonsSince(sim.begin), ElementsAre("CWPendingNodeConfig"));
  sim.Promote();
  ASSERT_TRUE(sim.Converge());
  sim.RollBackTo(kSimProfile);
  ASSERT_TRUE(sim.Converge());
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
  Telling sim(1);
  sim.stuck = {"g101"};
  sim.Resize(2);
  ASSERT_TRUE(sim.Converge());
  sim.Pend(kNewerProfile);
  sim.Promote();
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.pool()->status.node_profile, kSimProfile);
  EXPECT_EQ(sim.pool()->status.waiting->node_profile, kNewerProfile);
  EXPECT_THAT(sim.PoolSays("CWNodePoolNodeConfigUpdatePending"), SizeIs(1));
  EXPECT_THAT(sim.PoolSays("CWManualUpgradeTrigger"), SizeIs(1));
  EXPECT_THAT(sim.PoolSays("CWNodePoolNodeConfigUpdated"), IsEmpty());
  EXPECT_THAT(sim.Obstacles(), Contains("CONFIGURATION_WAITS"));
  sim.stuck.clear();
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.pool()->status.node_profile, kNewerProfile);
  EXPECT_THAT(sim.PoolSays("CWManualUpgradeTrigger"), SizeIs(1));
  EXPECT_THAT(sim.PoolSays("CWNodePoolNodeConfigUpdated"), SizeIs(1));
  // The Node that was in delivery booted what it was ordered to, and must be rebooted like others.
  EXPECT_EQ(sim.node("g101")->observed.node_profile, kSimProfile);
  EXPECT_EQ(sim.node("g101")->desired.node_profile, kNewerProfile);
  EXPECT_EQ(sim.Reason("NodeReconfigurationRequired"), "StagedNodeConfig");
}

// Not for Nodes that come while it waits: they boot straight into it.
TEST(ReferenceEvents, UpdateWaitsForNoNodeThatComesMeanwhile) {
  Telling sim(1);
  sim.stuck = {"g101", "g102", "g103"};
  sim.Resize(2);
  ASSERT_TRUE(sim.Converge());
  sim.Pend(kNewerProfile);
  sim.Promote();
  sim.Resize(3);
  ASSERT_TRUE(sim.Converge());
  // What configuration said last holds while it is away.
  sim.configuration_away = true;
  sim.Resize(4);
  ASSERT_TRUE(sim.Converge());
  sim.configuration_away = false;
  ASSERT_TRUE(sim.Converge());
  ASSERT_EQ(sim.pool()->status.node_profile, kSimProfile) << "it waits for g101";
  for (const char* machine : {"g102", "g103"}) {
    EXPECT_EQ(sim.node(machine)->desired.phase, Phase::kUndecided);
    EXPECT_THAT(sim.ObstacleTexts(),
                Contains(absl::StrCat("WAITS_FOR_CONFIGURATION nobody: Node ", machine,
                                      " waits to boot the configuration that is to be active.")));
  }
  // It is active as soon as g101 has booted.
  sim.stuck.erase("g101");
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.pool()->status.node_profile, kNewerProfile);
  EXPECT_EQ(sim.node("g102")->desired.phase, Phase::kRunning);
  sim.stuck.clear();
  ASSERT_TRUE(sim.Converge());
  for (const char* machine : {"g102", "g103"})
    EXPECT_EQ(sim.node(machine)->observed.node_profile, kNewerProfile);
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
}

// "CWNodePoolNoPendingConfiguration: Fired when a user attempts to promote the
// status.pendingNodeConfiguration to become the active configuration (status.nodeProfile), but
// there is no staged configuration." "CWNodePoolNodeConfigRollbackFailed: Fired when there was an
// error rolling back the active Node configuration for the NodePool to a previous config."
TEST(ReferenceEvents, NoPendingConfigurationAndRollbackFailed) {
  Telling sim(1);
  sim.Promote();
  sim.RollBackTo("np-00000000000f");
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.ReasonsSince(sim.begin), ElementsAre("CWNodePoolNoPendingConfiguration",
                                                       "CWNodePoolNodeConfigRollbackFailed"));
}

// "CWNodePoolNodeConfigUpdateConflict: Fired when a user simulteaneouly attempts to upgrade to the
// pendingNodeConfig and rollback to a previous one."
TEST(ReferenceEvents, UpdateConflictIsToldOnceWhetherOrNotTheFirstWasSeenWaiting) {
  for (const bool seen : {false, true}) {
    SCOPED_TRACE(seen);
    Telling sim(1);
    sim.stuck = {"g101"};
    sim.Resize(2);
    sim.Live();
    sim.Pend(kNewerProfile);
    sim.Promote();
    if (seen) {
      ASSERT_TRUE(sim.Converge());
    }
    sim.RollBackTo(kSimProfile);
    ASSERT_TRUE(sim.Converge());
    EXPECT_THAT(sim.PoolSays("CWNodePoolNodeConfigUpdateConflict"), SizeIs(1));
    EXPECT_THAT(sim.PoolSays("CWManualUpgradeTrigger"), SizeIs(seen ? 1 : 0));
    EXPECT_THAT(sim.PoolSays("CWManualRollbackTrigger"), IsEmpty());
    EXPECT_EQ(sim.pool()->status.node_profile, kSimProfile);
  }
}

// What is refused while an order waits takes nothing from its end.
TEST(ReferenceEvents, AnOrderThatWaitsIsToldToItsEndWhateverIsOrderedMeanwhile) {
  Telling sim(1);
  sim.Stage(kNewerProfile);
  ASSERT_TRUE(sim.Converge());
  sim.Must(ReconfigureNodePool{.name = kSimPool});
  ASSERT_TRUE(sim.Converge());
  sim.stuck = {"g101"};
  sim.Resize(2);
  sim.Live();
  sim.RollBackTo(kSimProfile);
  ASSERT_TRUE(sim.Converge());
  ASSERT_EQ(sim.configuration.orders.back().outcome, ConfigurationOrder::Outcome::kWaiting);
  sim.RollBackTo("np-00000000000f");
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.PoolSays("CWNodePoolNodeConfigRollbackFailed"), SizeIs(1));
  EXPECT_THAT(sim.PoolSays("CWNodePoolNodeConfigUpdated"), IsEmpty());
  sim.stuck.clear();
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.PoolSays("CWNodePoolNodeConfigUpdated"),
              ElementsAre("Configuration np-000000000001 is active after a rollback."));
  EXPECT_THAT(sim.PoolSays("CWNodePoolNodeConfigRollbackFailed"), SizeIs(1));
  EXPECT_EQ(sim.pool()->account.waiting_configuration_order, 0);
}

// Configuration was restored to a past, and gives the numbers of its orders anew.
TEST(ReferenceEvents, OrdersThatAreMadeAnewAfterARestoreAreToldToo) {
  Telling sim(1);
  sim.Pend(kNewerProfile);
  sim.Promote();
  ASSERT_TRUE(sim.Converge());
  sim.RollBackTo(kSimProfile);
  ASSERT_TRUE(sim.Converge());
  const size_t told = sim.PoolSays("CWManualRollbackTrigger").size();
  ASSERT_EQ(told, 1U);
  ASSERT_EQ(sim.pool()->account.configuration_order, 2);
  sim.configuration.orders.pop_back();
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.PoolSays("CWManualUpgradeTrigger").size(), 1U) << "what is known is not told again";
  sim.Pend("np-000000000003");
  sim.Promote();
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.PoolSays("CWManualUpgradeTrigger").size(), 2U);
}

// An order that waited and came to nothing ends with an event too.
TEST(ReferenceEvents, AnOrderThatIsOvertakenWhileItWaitsIsTold) {
  for (const bool promotion : {true, false}) {
    SCOPED_TRACE(promotion);
    Telling sim(1);
    sim.Stage(kNewerProfile);
    ASSERT_TRUE(sim.Converge());
    sim.Must(ReconfigureNodePool{.name = kSimPool});
    ASSERT_TRUE(sim.Converge());
    sim.stuck = {"g101"};
    sim.Resize(2);
    sim.Live();
    sim.Pend("np-000000000003");
    promotion ? sim.Promote() : sim.RollBackTo(kSimProfile);
    ASSERT_TRUE(sim.Converge());
    ASSERT_EQ(sim.configuration.orders.back().outcome, ConfigurationOrder::Outcome::kWaiting);
    const char* failed =
        promotion ? "CWNodePoolNoPendingConfiguration" : "CWNodePoolNodeConfigRollbackFailed";
    EXPECT_THAT(sim.PoolSays(failed), IsEmpty());
    sim.configuration.orders.back().outcome = ConfigurationOrder::Outcome::kReplaced;
    sim.configuration.orders.back().message = "The pool came to want np-000000000002 instead.";
    sim.configuration.waiting.reset();
    ASSERT_TRUE(sim.Converge());
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
  Telling sim(1);
  sim.staging_fails = {"g100"};
  sim.Stage(kNewerProfile);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.NodeSays("CWNodeConfigStagingFailed"),
              ElementsAre("Node g100 could not be staged with configuration np-000000000002: the "
                          "disk is full."));
  EXPECT_EQ(sim.node("g100")->desired.node_profile, kNewerProfile);
  sim.staging_fails.clear();
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.node("g100")->observed.staging_error, "");
}

}  // namespace
}  // namespace muster::lifecycle
