// Events that tell of what was meant, once: a target that was reached, a taint that was put on,
// metadata that changed, and the one cause of what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using O = ReportNode::Observation;

// Reasons that begin with `prefix` told of the pool since told()[from], with their messages.
std::vector<std::string> MessagesSince(const Simulation& sim, size_t from,
                                       absl::string_view prefix) {
  std::vector<std::string> messages;
  for (size_t i = from; i < sim.told().size(); ++i) {
    const Simulation::Told& event = sim.told()[i];
    if (!event.on_node && absl::StartsWith(event.reason, prefix)) messages.push_back(event.message);
  }
  return messages;
}

// "CWNodePoolScaledUp: Fired when a Node Pool is scaled up." Who replaces another scales nothing.
TEST(ReferenceScaled, AReplacementScalesNothing) {
  for (const bool prefill : {false, true}) {
    SCOPED_TRACE(prefill);
    Running sim(2);
    if (prefill) sim.Apply([](Spec& spec) { spec.prefill = Prefill{true, 600, 1}; });
    const size_t begin = sim.told().size();
    ASSERT_TRUE(sim.Report("g100", O::kUnhealthy, "Xid 79").ok());
    sim.Advance(sim.policy.triage_grace);
    ASSERT_TRUE(sim.Converge());
    ASSERT_THAT(sim.broken(), ElementsAre("g100"));
    ASSERT_EQ(sim.Reason("AtTarget"), "TargetMet");
    EXPECT_THAT(MessagesSince(sim, begin, "CWNodePoolScaled"), IsEmpty());
  }
}

// It was scaled up, though not as far as was asked first.
TEST(ReferenceScaled, ARiseThatWasCutShortIsToldWhenItIsReached) {
  Running sim(2);
  sim.limit = 100;
  sim.OthersTake(68);
  const size_t begin = sim.told().size();
  sim.Resize(60);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(MessagesSince(sim, begin, "CWNodePoolScaled"), IsEmpty());
  sim.Resize(32);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(MessagesSince(sim, begin, "CWNodePoolScaled"),
              ElementsAre("NodePool scaled up to 32 Nodes."));
}

// No pass saw the pool under or over its target.
TEST(ReferenceScaled, ATargetThatIsLoweredToWhatALossHasLeftIsTold) {
  Running sim(2);
  const size_t begin = sim.told().size();
  sim.Must(OrderNode{.name = NodeName(kSimPool, "g100"),
                     .verb = OrderNode::Verb::kReboot,
                     .reboot = Reboot::kForced});
  sim.Pass();
  ASSERT_TRUE(sim.Report("g100", O::kBootFailed, "no kernel").ok());
  sim.Resize(1);
  ASSERT_EQ(sim.Reason("AtTarget"), "TargetMet");
  ASSERT_TRUE(sim.Converge());
  ASSERT_EQ(sim.NodeMachines(), std::set<std::string>{"g101"});
  EXPECT_THAT(MessagesSince(sim, begin, "CWNodePoolScaled"),
              ElementsAre("NodePool scaled down to 1 Node."));
}

// "CWNodePoolMetadata: Fired when metadata is updated for a Node Pool."
TEST(ReferenceMetadata, IsToldOfAPoolWithoutNodesAndOnceOfOneWithMany) {
  for (const int64_t nodes : {0, 3}) {
    SCOPED_TRACE(nodes);
    Running sim(nodes);
    sim.Apply([](Spec& spec) {
      spec.node_labels = {{"team", "ml"}};
      spec.node_annotations = {{"owner", "ml"}};
      spec.node_taints = {{"team", "ml", "NoSchedule"}};
    });
    ASSERT_TRUE(sim.Converge());
    sim.Resize(nodes + 1);
    ASSERT_TRUE(sim.Converge());
    EXPECT_THAT(MessagesSince(sim, 0, "CWNodePoolMetadata"),
                ElementsAre("Updated nodeLabels, nodeAnnotations, nodeTaints."));
  }
}

// "CWNodeTainted (Node, NodePool): Fired when a Node is tainted as part of internal automation."
// "CWNodeUntainted": with the taint itself, not with the cordon.
TEST(ReferenceTaints, AreToldWhenATaintOfOursIsPutOnOrTakenOff) {
  Running sim(1);
  sim.SetActive("g100", true);
  const size_t begin = sim.told().size();
  ASSERT_TRUE(sim.Report("g100", O::kUnhealthy, "Xid 79").ok());
  EXPECT_THAT(sim.ReasonsSince(begin),
              AllOf(Contains("CWNodeCordoned"), Not(Contains("CWNodeTainted"))));
  sim.SetActive("g100", false);
  EXPECT_EQ(sim.node("g100")->desired.labels.at("node.coreweave.cloud/state"), "triage");
  EXPECT_THAT(sim.ReasonsSince(begin, "g100"), Contains("CWNodeTainted"));
  EXPECT_THAT(MessagesSince(sim, begin, "CWNodeTainted"),
              ElementsAre("A Node was tainted: node.coreweave.cloud/reserved:NoExecute."));
  ASSERT_TRUE(sim.Report("g100", O::kRecovered).ok());
  EXPECT_THAT(sim.ReasonsSince(begin),
              AllOf(Contains("CWNodeUncordoned"), Contains("CWNodeUntainted")));
}

// A type that does not exist has no quota either: the cause is told alone.
TEST(ReferenceEvents, AnUnknownTypeIsToldAlone) {
  Simulation sim;
  sim.quota_not_set = true;
  sim.catalogue.type.reset();
  sim.Create(2);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.CountOf("CWInvalidInstanceType"), 1);
  for (const auto& [name, event] : sim.state().table<Event>().rows())
    EXPECT_TRUE(event.row->type != "Warning" || event.row->reason == "CWInvalidInstanceType")
        << event.row->reason.get();
  sim.catalogue = Simulation().catalogue;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.CountOf("CWNodePoolQuotaCheckFailed"), 1);
}

// "CWReconfigureRebooted (Node): Fired after the Node has been reconfigure rebooted": with what it
// booted. Something newer that was staged meanwhile is not booted by it.
TEST(ReferenceEvents, ARebootThatWasOvertakenTellsItsOwnProfile) {
  Outdated sim(1);
  sim.stuck = {"g100"};
  sim.Ask({.machines = {"g100"}});
  sim.Live();
  ASSERT_EQ(sim.node("g100")->state, NodeState::kReconfiguring);
  sim.Stage("np-000000000003");
  sim.Live();
  sim.Control(ControlReconfiguration::Verb::kPause);
  sim.stuck.clear();
  sim.Live();
  EXPECT_EQ(sim.told().back().reason, "CWReconfigureRebooted");
  EXPECT_EQ(sim.told().back().message,
            "Node g100 was rebooted into configuration np-000000000002.");
  EXPECT_EQ(sim.Says("NodeReconfigurationRequired"),
            "True/StagedNodeConfig: 1 of 1 Node must be reconfigure-rebooted to reach "
            "np-000000000003. Reconfigure reboots are paused.");
}

}  // namespace
}  // namespace muster::lifecycle
