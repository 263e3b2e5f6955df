// The sentences of the public reference of NodePools, "Conditions".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using O = ReportNode::Observation;

constexpr char kValid[] = "True/Valid: NodePool configuration is valid.";

// --- Validated: "Is the Node Pool configuration valid?" ---

// "Valid: The Node Pool configuration is correct."
TEST(ReferenceValidated, ValidWhenTheConfigurationIsCorrect) {
  EXPECT_EQ(Running(1).Says("Validated"), kValid);
}

// "Invalid: The Node Pool configuration has errors, such as an unsupported instance type or
// incorrect Node affinity." An invalid pool keeps the Nodes it has and requests none.
TEST(ReferenceValidated, InvalidWithAnUnsupportedInstanceType) {
  Running sim(2);
  const std::set<std::string> machines = sim.machines();
  sim.catalogue.type.reset();
  sim.Resize(5);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Validated"), "False/Invalid: Instance type gd-8xa100-i128 does not exist.");
  EXPECT_EQ(sim.machines(), machines);
  EXPECT_EQ(sim.CountOf("CWInvalidInstanceType"), 1);
  EXPECT_THAT(sim.Obstacles(), Contains("INVALID_SPEC"));
  sim.catalogue = Simulation().catalogue;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Validated"), kValid);
  EXPECT_THAT(sim.machines(), SizeIs(5));
}

TEST(ReferenceValidated, InvalidWithANodeAffinityThatNothingSatisfies) {
  Simulation sim;
  sim.matching.emplace();
  sim.Apply([](Spec& spec) { WantRowSeven(spec, 2); });
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Validated"),
            "False/Invalid: No machine of gd-8xa100-i128 in zone US-EAST-04A satisfies the node "
            "affinity.");
  EXPECT_THAT(sim.machines(), IsEmpty());
  EXPECT_EQ(sim.holding(), 0);
  EXPECT_EQ(sim.CountOf("CWNodePoolNodesRequestFailed"), 1);
  EXPECT_THAT(sim.Obstacles(), Contains("INVALID_SPEC"));
  sim.matching = {"g150", "g160"};
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Validated"), kValid);
  EXPECT_THAT(sim.machines(), ElementsAre("g150", "g160"));
  EXPECT_TRUE(sim.fenced);
}

// Silence is no news: what capacity said of the affinity holds until it says something else.
TEST(ReferenceValidated, InvalidByItsNodeAffinityAlsoWhileCapacityIsAway) {
  Simulation sim;
  sim.matching.emplace();
  sim.Apply([](Spec& spec) { WantRowSeven(spec, 2); });
  ASSERT_TRUE(sim.Converge());
  const std::string said = sim.Says("Validated");
  const int64_t queued = sim.CountOf("CWNodeRequestQueued");
  ASSERT_EQ(sim.Reason("Validated"), "Invalid");
  sim.capacity_away = true;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Validated"), said);
  EXPECT_EQ(sim.holding(), 0);
  const int64_t failed = sim.CountOf("CWNodePoolNodesRequestFailed");
  sim.capacity_away = false;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Validated"), said);
  EXPECT_EQ(sim.CountOf("CWNodePoolNodesRequestFailed"), failed) << "it was told";
  EXPECT_EQ(sim.CountOf("CWNodeRequestQueued"), queued);
  sim.matching = {"g150", "g160"};
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Validated"), kValid);
  EXPECT_THAT(sim.machines(), SizeIs(2));
}

// It is silent about the affinity alone: what else is wrong comes and goes.
TEST(ReferenceValidated, FaultsOfTheSpecComeAndGoWhileCapacityIsAway) {
  constexpr char kMissing[] = "There is no gpu-driver 999.";
  for (const bool unmet : {false, true}) {
    SCOPED_TRACE(unmet);
    Simulation sim;
    if (unmet) sim.matching.emplace();
    sim.Apply([](Spec& spec) { WantRowSeven(spec, 2); });
    ASSERT_TRUE(sim.Converge());
    const std::string said = sim.Says("Validated");
    sim.configuration.problem_of_spec = true;
    sim.capacity_away = true;
    sim.configuration.problem = kMissing;
    ASSERT_TRUE(sim.Converge());
    EXPECT_EQ(sim.Says("Validated"), unmet ? absl::StrCat(said, " ", kMissing)
                                           : absl::StrCat("False/Invalid: ", kMissing));
    sim.configuration.problem.clear();
    ASSERT_TRUE(sim.Converge());
    EXPECT_EQ(sim.Says("Validated"), said);
  }
}

// "Node affinity that no machine of the zone can satisfy": one in repair can, once it is back. What
// was lost to it is asked for all the while; asked for anew, it would lose its age.
TEST(ReferenceValidated, ValidWhileTheOnlyMachineThatMatchesIsInRepair) {
  Simulation sim;
  sim.matching = {"g150"};
  sim.boot_fails = {"g150"};
  sim.Apply([](Spec& spec) { WantRowSeven(spec, 1); });
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.broken(), ElementsAre("g150"));
  EXPECT_EQ(sim.Says("Validated"), kValid);
  EXPECT_EQ(sim.Reason("Capacity"), "NoneAvailableNodeAffinity");
  EXPECT_EQ(sim.claimed(), 1);
  sim.boot_fails.clear();
  sim.Repair();
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.machines(), ElementsAre("g150"));
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  EXPECT_EQ(sim.CountOf("CWNodeRequestQueued"), 1);
  EXPECT_TRUE(sim.fenced);
}

// "InternalError: A system error occurred during validation, so the Node Pool couldn't be fully
// checked."
TEST(ReferenceValidated, InternalErrorWhileTheCatalogueCannotBeRead) {
  Simulation sim;
  sim.catalogue.known = false;
  sim.Create(1);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Validated"), "Unknown/InternalError: The catalog could not be read.");
  EXPECT_THAT(sim.machines(), IsEmpty());
  EXPECT_THAT(sim.Obstacles(), Contains("CATALOGUE_UNKNOWN"));
  sim.catalogue.known = true;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Validated"), kValid);
  EXPECT_THAT(sim.machines(), SizeIs(1));
}

// --- AtTarget: "whether the Node Pool has the expected number of active Nodes" ---

// "TargetMet: The Node Pool has exactly the number of Nodes specified in the target."
TEST(ReferenceAtTarget, TargetMetWithExactlyTheTarget) {
  Running sim(2);
  EXPECT_EQ(sim.Says("AtTarget"), "True/TargetMet: NodePool has reached its target node count.");
  EXPECT_THAT(sim.Obstacles(), IsEmpty());
}

// "UnderTarget: Fewer Nodes exist than the target. New Nodes will be created if resources are
// available."
TEST(ReferenceAtTarget, UnderTargetWithFewer) {
  Running sim(1);
  sim.OthersTake(98);
  sim.Resize(3);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("AtTarget"), "False/UnderTarget: 2 of 3 Nodes present.");
  EXPECT_THAT(sim.Obstacles(), ElementsAre("QUEUED"));
  sim.OthersLeave();
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
}

// "OverTarget: More Nodes exist than the target. Extra Nodes will be removed using the
// ScaleDownStrategy."
TEST(ReferenceAtTarget, OverTargetWithMore) {
  Running sim(3);
  for (const std::string& machine : sim.machines()) sim.SetActive(machine, true);
  sim.Resize(1);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("AtTarget"),
            "False/OverTarget: NodePool has 3 Nodes, 2 more than its target of 1.");
  EXPECT_THAT(sim.Obstacles(), ElementsAre("WAITS_UNTIL_IDLE"));
  for (const std::string& machine : sim.NodeMachines()) sim.SetActive(machine, false);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
}

// "PendingDelete: The Node Pool is being deleted, and its Nodes will be removed."
TEST(ReferenceAtTarget, PendingDeleteWhileItIsDeleted) {
  Running sim(1);
  sim.removal_fails = {"g100"};
  sim.Delete();
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("AtTarget"), "False/PendingDelete: NodePool is being deleted.");
}

// "InternalError: A system error occurred while retrieving Node information for the Node Pool."
TEST(ReferenceAtTarget, InternalErrorWhenWhatIsKnownOfNodesContradictsItself) {
  Running sim(2);
  sim.OthersTake(200);
  sim.Forget("g101");
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("AtTarget"),
            "Unknown/InternalError: Nodes could not be read: capacity does not know machine g101 "
            "as the NodePool's.");
  EXPECT_THAT(sim.Obstacles(), Contains("MACHINE_NOT_HELD"));
  sim.Recall("g101");
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
}

// --- NodesRemoved: "applied to a Node Pool when it is pending deletion" ---

// "Pending: Nodes are in the process of being removed from the Node Pool." "Complete: All Nodes
// have been removed from the Node Pool, and the Node Pool's deletion is imminent."
TEST(ReferenceNodesRemoved, PendingThenCompleteThenGone) {
  Running sim(2);
  EXPECT_EQ(sim.Says("NodesRemoved"), "");
  sim.Delete();
  std::vector<std::string> said;
  for (int i = 0; i < 50 && sim.pool() != nullptr; ++i) {
    sim.Pass();
    sim.Agents();
    sim.Advance(absl::Seconds(1));
    if (sim.pool() == nullptr) break;
    if (said.empty() || said.back() != sim.Says("NodesRemoved")) {
      said.push_back(sim.Says("NodesRemoved"));
    }
  }
  EXPECT_EQ(sim.pool(), nullptr);
  EXPECT_THAT(said, ElementsAre("False/Pending: 2 Nodes are still to be removed.",
                                "True/Complete: All Nodes have been removed."));
  EXPECT_FALSE(sim.has_claim());
  EXPECT_FALSE(sim.has_holding());
}

// "InternalError: An internal error has occurred while trying to remove Nodes from the Node Pool."
TEST(ReferenceNodesRemoved, InternalErrorNamesTheNode) {
  Running sim(2);
  sim.removal_fails = {"g101"};
  sim.Delete();
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("NodesRemoved"),
            "Unknown/InternalError: Node g101 (the power does not go off) could not be removed.");
  EXPECT_EQ(sim.CountOf("CWNodePoolNodesRemoveError"), 1);
  EXPECT_THAT(sim.Obstacles(), Contains("REMOVAL_FAILED"));
  sim.removal_fails.clear();
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.pool(), nullptr);
}

// --- NodeReconfigurationRequired ---

// "AllNodesUpToDate: All of the Nodes in the Node Pool are booted into the active config."
// "StagedNodeConfig: The Node Pool has Nodes that need to be reconfigured to boot into the active
// config."
TEST(ReferenceNodeReconfigurationRequired, StagedNodeConfigUntilAllAreRebooted) {
  Running sim(2);
  constexpr char kUpToDate[] =
      "False/AllNodesUpToDate: All nodes are on the current configuration.";
  EXPECT_EQ(sim.Says("NodeReconfigurationRequired"), kUpToDate);
  sim.Stage(kNewerProfile);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.pool()->status.node_profile, kNewerProfile);
  EXPECT_EQ(sim.Says("NodeReconfigurationRequired"),
            "True/StagedNodeConfig: 2 of 2 Nodes must be reconfigure-rebooted to reach "
            "np-000000000002.");
  sim.Must(ReconfigureNodePool{.name = kSimPool});
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("NodeReconfigurationRequired"), kUpToDate);
}

// "InternalError: A system error occurred fetching the active configuration for Nodes. It's also
// possible there was a failure staging the Node Pool's active Node configuration onto outdated
// Nodes. See the condition message for more information."
TEST(ReferenceNodeReconfigurationRequired, InternalErrorWhileItCannotBeFetchedOrStaged) {
  Running sim(2);
  sim.configuration_away = true;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("NodeReconfigurationRequired"),
            "Unknown/InternalError: The configuration could not be read.");
  EXPECT_THAT(sim.Obstacles(), ElementsAre("CONFIGURATION_OUT_OF_REACH"));
  sim.configuration_away = false;
  sim.staging_fails = {"g101"};
  sim.Stage(kNewerProfile);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("NodeReconfigurationRequired"),
            "Unknown/InternalError: np-000000000002 could not be staged on Node g101 (the disk is "
            "full).");
  EXPECT_THAT(sim.Obstacles(), ElementsAre("STAGING_FAILED"));
  sim.staging_fails.clear();  // "It will keep retrying until successful."
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("NodeReconfigurationRequired"), "StagedNodeConfig");
}

const Condition* ConditionOf(const Simulation& sim, const char* type) {
  return FindCondition(sim.pool()->status.conditions, type);
}

// Without the catalogue configuration is not asked: what it would make of a new spec nobody knows.
TEST(ReferenceNodeReconfigurationRequired, IsNotSaidOfASpecThatConfigurationWasNotToldOf) {
  constexpr char kType[] = "NodeReconfigurationRequired";
  Running sim(2);
  sim.catalogue.known = false;
  sim.Apply([](Spec& spec) { spec.gpu = Gpu{"570"}; });
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(ConditionOf(sim, "Validated")->observed_generation, 2);
  EXPECT_EQ(sim.Reason(kType), "AllNodesUpToDate");
  EXPECT_EQ(ConditionOf(sim, kType)->observed_generation, 1);
  sim.catalogue.known = true;
  sim.Stage(kNewerProfile);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason(kType), "StagedNodeConfig");
  EXPECT_EQ(ConditionOf(sim, kType)->observed_generation, 2);
}

// What could not be read before is not read by not asking.
TEST(ReferenceNodeReconfigurationRequired, StaysUnknownWhileConfigurationIsNotAsked) {
  constexpr char kType[] = "NodeReconfigurationRequired";
  Running sim(2);
  sim.configuration_away = true;
  sim.Apply([](Spec& spec) { spec.gpu = Gpu{"570"}; });
  ASSERT_TRUE(sim.Converge());
  ASSERT_EQ(sim.Reason(kType), "InternalError");
  sim.catalogue.known = false;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says(kType), "Unknown/InternalError: The configuration could not be read.");
  sim.configuration_away = false;
  sim.catalogue.known = true;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason(kType), "AllNodesUpToDate");
}

// What its Nodes are held against is looked at all the same.
TEST(ReferenceNodeReconfigurationRequired, FollowsTheNodesWhileConfigurationIsNotAsked) {
  constexpr char kType[] = "NodeReconfigurationRequired";
  Outdated sim(2);
  sim.catalogue.known = false;
  sim.Apply([](Spec& spec) { spec.description = "for Mondays"; });
  sim.Live();
  EXPECT_EQ(sim.Reason(kType), "StagedNodeConfig");
  sim.Ask();
  sim.Live();
  EXPECT_EQ(sim.Reason(kType), "AllNodesUpToDate");
  EXPECT_EQ(ConditionOf(sim, kType)->observed_generation, 1);
}

TEST(ReferenceNodeReconfigurationRequired, IsNotThereBeforeConfigurationWasAsked) {
  Simulation sim;
  sim.catalogue.known = false;
  sim.Create(1);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("NodeReconfigurationRequired"), "");
  sim.catalogue.known = true;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("NodeReconfigurationRequired"), "AllNodesUpToDate");
}

// --- all of them ---

// Semantics 3: lastTransitionTime moves only when the status changes; observedGeneration is always
// set, and as a rule the pool's; the order stands.
TEST(ReferenceConditions, TransitionTimesMoveWithTheStatusOnly) {
  Running sim(2);
  const std::vector<Condition> before = sim.pool()->status.conditions;
  sim.Advance(absl::Hours(1));
  sim.limit = 2;
  sim.Resize(3);
  ASSERT_TRUE(sim.Converge());
  const std::vector<Condition> after = sim.pool()->status.conditions;
  const std::vector<std::string> order = {"Validated", "Capacity", "Quota", "AtTarget",
                                          "NodeReconfigurationRequired"};
  ASSERT_EQ(after.size(), order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    SCOPED_TRACE(order[i]);
    EXPECT_EQ(after[i].type, order[i]);
    EXPECT_EQ(before[i].observed_generation, 1);
    EXPECT_EQ(after[i].observed_generation, 2);
    const bool moved = order[i] == "Quota" || order[i] == "AtTarget";
    EXPECT_EQ(after[i].status != before[i].status, moved);
    EXPECT_EQ(after[i].last_transition_time != before[i].last_transition_time, moved);
  }
  sim.limit = 0;  // Over becomes NotSet: another reason of the same status
  sim.Advance(absl::Hours(1));
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Quota"), "NotSet");
  EXPECT_EQ(FindCondition(sim.pool()->status.conditions, "Quota")->last_transition_time,
            FindCondition(after, "Quota")->last_transition_time);
}

// Capacity is asked for what was added a pass later than quota.
TEST(ReferenceConditions, WhatCapacityWasNotAskedOfIsNotSaidOfTheNewTarget) {
  Running sim(2);
  sim.OthersTake(98);
  sim.Resize(10);
  ASSERT_TRUE(sim.Pass());
  EXPECT_EQ(sim.Reason("Capacity"), "Sufficient");
  EXPECT_EQ(ConditionOf(sim, "Capacity")->observed_generation, 1);
  EXPECT_EQ(ConditionOf(sim, "Quota")->observed_generation, 2);
  EXPECT_EQ(sim.Reason("AtTarget"), "UnderTarget");
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Capacity"), "QueuedAwaitingCapacity");
  EXPECT_EQ(ConditionOf(sim, "Capacity")->observed_generation, 2);
}

// --- Nodes ---

std::string NodeSays(const Simulation& sim, const std::string& machine, const char* type) {
  const Condition* c = FindCondition(sim.node(machine)->conditions, type);
  return absl::StrCat(c->status.get(), ": ", c->message.get());
}

// "CWActive: true if the Node is active." "CWRegistered: true if the Node is registered. If false,
// the Node is not registered." "CWNodeRemoval: true if the Node is pending removal."
TEST(ReferenceNodeConditions, ActiveRegisteredAndPendingRemoval) {
  Simulation sim;
  sim.Create(1);
  while (sim.Pass()) {
  }
  EXPECT_EQ(NodeSays(sim, "g100", "CWRegistered"), "False: Node is not registered.");
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(NodeSays(sim, "g100", "CWRegistered"), "True: Node is registered.");
  EXPECT_EQ(NodeSays(sim, "g100", "CWActive"), "False: Node is idle.");
  EXPECT_EQ(NodeSays(sim, "g100", "CWNodeRemoval"), "False: Node is not pending removal.");
  sim.SetActive("g100", true);
  EXPECT_EQ(NodeSays(sim, "g100", "CWActive"), "True: Node is active: default/job.");
  sim.SetActive("g100", true, 12);  // agents name a few
  EXPECT_EQ(NodeSays(sim, "g100", "CWActive"),
            "True: Node is active: default/job and 11 more Pods.");
  sim.stuck = {"g100"};
  sim.Delete();
  sim.Pass();
  EXPECT_EQ(NodeSays(sim, "g100", "CWNodeRemoval"), "True: Node is pending removal.");
}

}  // namespace
}  // namespace muster::lifecycle
