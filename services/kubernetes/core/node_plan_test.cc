#include "services/kubernetes/core/node_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/testing/node_plan.h"
#include "services/kubernetes/core/testing/objects.h"
#include "services/kubernetes/core/testing/simulated_node.h"

namespace muster::kubernetes {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Class = PodObject::Class;

constexpr auto kCordoned = NodeReport::OBSERVATION_CORDONED;

NodeObject OfLife(const std::string& mark) {
  NodeObject object = Joined(true);
  object.annotations[kLifeAnnotation] = mark;
  return object;
}

// What follows in a state: reports (with the v1 Node absent, not ready, ready) and whether the v1
// Node is written to.
struct Row {
  Node::State state;
  std::vector<NodeReport::Observation> absent;
  std::vector<NodeReport::Observation> not_ready;
  std::vector<NodeReport::Observation> ready;
  bool written_not_ready;
  bool written_ready;
};

const std::vector<Row>& Table() {
  static const auto& rows = *new std::vector<Row>{
      {Node::STATE_ASSIGNED, {}, {kRegistered}, {kRegistered, kReady}, false, false},
      {Node::STATE_BOOTING, {}, {kRegistered}, {kRegistered, kReady}, false, false},
      {Node::STATE_REGISTERED, {}, {}, {kReady}, true, false},
      {Node::STATE_PRODUCTION, {kUnhealthy}, {kUnhealthy}, {}, true, true},
      {Node::STATE_RECONFIGURING, {}, {}, {}, true, true},
      {Node::STATE_TRIAGE, {kUnhealthy}, {kUnhealthy}, {}, true, true},
      {Node::STATE_CORDONED, {kUnhealthy, kCordoned}, {kUnhealthy}, {}, true, true},
      // Drained is one that nothing new can come to.
      {Node::STATE_DRAINING, {kDrained}, {kUnhealthy}, {}, true, true},
      {Node::STATE_PREPARED_FOR_TERMINATE, {}, {}, {}, true, true},
      {Node::STATE_DELETED, {}, {}, {}, false, false},
      {Node::STATE_DELIVERY_FAILED, {}, {}, {}, false, false},
  };
  return rows;
}

TEST(PlanNode, FollowsTheTable) {
  for (const Row& row : Table()) {
    SCOPED_TRACE(Node::State_Name(row.state));
    const Node node = MakeNode(row.state);
    const NodeObject not_ready = Joined(false);
    const NodeObject ready = Joined(true);
    EXPECT_EQ(Observations(Plan(node, nullptr)), row.absent);
    EXPECT_FALSE(Plan(node, nullptr).writes());
    EXPECT_EQ(Observations(Plan(node, &not_ready)), row.not_ready);
    EXPECT_EQ(Observations(Plan(node, &ready)), row.ready);
    const auto written = [](const NodePlan& plan) {
      return plan.apply && plan.taints && plan.apply_status;
    };
    EXPECT_EQ(written(Plan(node, &not_ready)), row.written_not_ready);
    EXPECT_EQ(written(Plan(node, &ready)), row.written_ready);
    const bool over = row.state == Node::STATE_DELETED || row.state == Node::STATE_DELIVERY_FAILED;
    EXPECT_EQ(Plan(node, &ready).remove, over);
    NodeObject deleting = ready;
    deleting.deleting = true;
    EXPECT_FALSE(Plan(node, &deleting).remove) << "asked already";
  }
}

// In a history that is not accepted, of which life a v1 Node is proves nothing.
TEST(PlanNode, OneOfAnotherLifeIsKeptOrGoesOnWhereMusterIsDoubted) {
  for (const char* mark : {"2025-05-30T17:35:59.999999Z", "2025-05-30T17:36:01.000000Z"}) {
    for (const Row& row : Table()) {
      SCOPED_TRACE(absl::StrCat(mark, " ", Node::State_Name(row.state)));
      const Node node = MakeNode(row.state);
      NodeObject object = OfLife(mark);
      object.labels[kPoolUidLabel] = "of-another-pool";
      object.heartbeat_time = Then() + absl::Seconds(1);
      NodePlan plan = PlanNode({.node = &node, .object = &object, .doubted = true, .now = Then()});
      EXPECT_TRUE(plan.keep);
      EXPECT_FALSE(plan.writes());
      EXPECT_THAT(plan.reports, IsEmpty());

      object.labels[kPoolUidLabel] = node.pool_uid();
      plan = PlanNode({.node = &node, .object = &object, .doubted = true, .now = Then()});
      const bool over =
          row.state == Node::STATE_DELETED || row.state == Node::STATE_DELIVERY_FAILED;
      EXPECT_EQ(plan.keep, over);
      EXPECT_FALSE(plan.remove);
      EXPECT_EQ(Observations(plan), row.ready);
      EXPECT_EQ(plan.apply.has_value(), row.written_ready) << "with the new mark";
    }
  }
}

TEST(PlanNode, OursIsUnknownWithoutANodeOfItsLife) {
  const Node node = MakeNode(Node::STATE_PRODUCTION);
  NodeObject object = OfLife(LifeMark(node));
  EXPECT_FALSE(IsUnknown(nullptr, object)) << "not ours";
  object.labels[kPoolLabel] = "a";
  object.own_labels.insert(kPoolLabel);
  EXPECT_TRUE(IsUnknown(nullptr, object));
  EXPECT_FALSE(IsUnknown(&node, object));
  object.annotations[kLifeAnnotation] = "2025-05-30T17:36:01.000000Z";
  EXPECT_TRUE(IsUnknown(&node, object));
  object.deleting = true;
  EXPECT_FALSE(IsUnknown(&node, object));
}

TEST(PlanNode, OneOfAnEarlierLifeIsRemovedWhateverTheState) {
  const NodeObject object = OfLife("2025-05-30T17:35:59.999999Z");
  for (const Row& row : Table()) {
    const Node node = MakeNode(row.state);
    const NodePlan plan = Plan(node, &object, {MakePod("a", Class::kGuarded)});
    EXPECT_TRUE(plan.remove);
    EXPECT_THAT(plan.reports, IsEmpty());
    EXPECT_FALSE(plan.apply || plan.taints || plan.apply_status);
    EXPECT_LT(CompareLives(node, object), 0);
  }
}

// A kubelet takes the object that it finds at its start, and makes no other once that is gone.
TEST(PlanNode, OneOfAnEarlierLifeGoesOnWhereTheKubeletOfNowPosts) {
  NodeObject object = OfLife("2025-05-30T17:35:59.999999Z");
  object.heartbeat_time = Then() + absl::Seconds(1);
  for (const Row& row : Table()) {
    SCOPED_TRACE(Node::State_Name(row.state));
    Node node = MakeNode(row.state);
    const bool runs = node.desired().phase() == lifecycle::v1::NodeDesired::PHASE_RUNNING;
    EXPECT_EQ(IsTakenOver(node, object), runs);
    const NodePlan plan = Plan(node, &object);
    EXPECT_EQ(plan.remove, !runs);
    EXPECT_EQ(Observations(plan), runs ? row.ready : std::vector<NodeReport::Observation>());
    EXPECT_EQ(plan.apply.has_value(), runs && row.written_ready) << "with the new mark";
    NodeObject before = object;
    before.heartbeat_time = Then();
    EXPECT_TRUE(Plan(node, &before).remove) << "a kubelet of the earlier life's";
    node.mutable_desired()->clear_node_profile();
    EXPECT_TRUE(Plan(node, &object).remove) << "no kubelet can run yet";
  }
}

TEST(PlanNode, OneOfAnEarlierLifeThatIsNotReadyYetGoesOnToo) {
  const Node node = MakeNode(Node::STATE_BOOTING);
  NodeObject object = OfLife("2025-05-30T17:35:59.999999Z");
  object.heartbeat_time = Then() + absl::Seconds(1);
  object.ready = false;
  const NodePlan plan = Plan(node, &object);
  EXPECT_FALSE(plan.remove);
  EXPECT_THAT(Observations(plan), ElementsAre(kRegistered));
}

TEST(PlanNode, OneOfALaterLifeIsLeftAlone) {
  NodeObject object = OfLife("2025-05-30T17:36:00.123457Z");
  object.heartbeat_time = Then() + absl::Seconds(1);
  for (const Row& row : Table()) {
    const Node node = MakeNode(row.state);
    EXPECT_FALSE(IsTakenOver(node, object));
    const NodePlan plan = Plan(node, &object, {MakePod("a", Class::kGuarded)});
    EXPECT_FALSE(plan.writes());
    EXPECT_THAT(plan.reports, IsEmpty());
    EXPECT_GT(CompareLives(node, object), 0);
  }
}

TEST(PlanNode, NoPoolsMachineIsLeftAlone) {
  const NodeObject object = Joined(true);
  const NodePlan plan = PlanNode({.object = &object});
  EXPECT_FALSE(plan.writes());
  EXPECT_THAT(plan.reports, IsEmpty());
}

TEST(PlanNode, EveryReportNamesTheNodeAndItsLife) {
  const Node node = MakeNode(Node::STATE_BOOTING);
  const NodeObject object = Joined(true);
  const NodePlan plan = Plan(node, &object);
  ASSERT_THAT(plan.reports, SizeIs(2));
  for (const NodeReport& report : plan.reports) {
    EXPECT_EQ(report.node(), node.name());
    EXPECT_EQ(report.node_create_time().nanos(), node.create_time().nanos());
  }
  EXPECT_EQ(plan.reports[0].node_profile(), "np-0123456789ab");
}

TEST(PlanArrival, WaitsUntilItIsDecidedWhatToBoot) {
  Node node = MakeNode(Node::STATE_ASSIGNED);
  const NodeObject object = Joined(true);
  node.mutable_desired()->clear_node_profile();
  EXPECT_THAT(Plan(node, &object).reports, IsEmpty());
  EXPECT_FALSE(Plan(node, &object).writes());
  node = MakeNode(Node::STATE_BOOTING);
  node.mutable_desired()->set_phase(lifecycle::v1::NodeDesired::PHASE_TERMINATED);
  EXPECT_THAT(Plan(node, &object).reports, IsEmpty());
}

TEST(PlanArrival, IsBackFromAReboot) {
  Node node = MakeNode(Node::STATE_RECONFIGURING);
  const NodeObject ready = Joined(true);
  const NodeObject not_ready = Joined(false);
  node.mutable_observed()->set_node_profile("np-before");
  EXPECT_THAT(Observations(Plan(node, &ready)), IsEmpty()) << "it was not rebooted yet";
  node.mutable_observed()->set_node_profile("np-0123456789ab");
  EXPECT_THAT(Observations(Plan(node, &ready)), IsEmpty()) << "it ran that before";
  node.mutable_observed()->mutable_boot_time()->set_seconds(1'750'000'000);
  EXPECT_THAT(Observations(Plan(node, &not_ready)), IsEmpty());
  EXPECT_THAT(Observations(Plan(node, &ready)), ElementsAre(kReady));
}

// Into what it ran before: its kernel's word alone tells that it was rebooted.
TEST(PlanArrival, IsBackFromARebootIntoTheSame) {
  Node node = MakeNode(Node::STATE_RECONFIGURING);
  node.mutable_observed()->set_node_profile("np-0123456789ab");
  node.mutable_observed()->set_boot_id("boot-1");
  NodeObject object = Joined(true);
  object.boot_id = "boot-1";
  object.annotations[kProfileAnnotation] = "np-0123456789ab";
  EXPECT_THAT(Observations(Plan(node, &object)), IsEmpty()) << "it was not rebooted yet";
  object.boot_id = "boot-2";
  NodePlan plan = Plan(node, &object);
  ASSERT_THAT(Observations(plan), ElementsAre(NodeReport::OBSERVATION_REGISTERED));
  EXPECT_EQ(plan.reports[0].node_profile(), "np-0123456789ab");
  EXPECT_EQ(plan.reports[0].boot_id(), "boot-2");
  object.annotations.clear();  // one that does not say what it runs
  plan = Plan(node, &object);
  ASSERT_THAT(Observations(plan), ElementsAre(NodeReport::OBSERVATION_REGISTERED));
  EXPECT_EQ(plan.reports[0].node_profile(), "np-0123456789ab");
  node.mutable_observed()->set_boot_id("boot-2");
  node.mutable_observed()->mutable_boot_time()->set_seconds(1'750'000'000);
  EXPECT_THAT(Observations(Plan(node, &object)), ElementsAre(kReady)) << "known";
}

// Whoever does not know which boot it was cannot tell that it was another.
TEST(PlanArrival, OfOneThatTellsNoBootItsProfileTells) {
  Node node = MakeNode(Node::STATE_RECONFIGURING);
  node.mutable_observed()->set_node_profile("np-0123456789ab");
  NodeObject object = Joined(true);
  object.annotations[kProfileAnnotation] = "np-0123456789ab";
  EXPECT_THAT(Observations(Plan(node, &object)), IsEmpty());
  node.mutable_observed()->set_node_profile("np-before");
  EXPECT_THAT(Observations(Plan(node, &object)), ElementsAre(NodeReport::OBSERVATION_REGISTERED));
}

TEST(PlanBoot, TellsOfOneThatNobodyOrdered) {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  node.mutable_observed()->set_node_profile("np-0123456789ab");
  NodeObject object = Joined(true);
  EXPECT_THAT(Observations(Plan(node, &object)), IsEmpty());
  object.boot_id = "boot-1";
  const NodePlan plan = Plan(node, &object);
  ASSERT_THAT(Observations(plan), ElementsAre(NodeReport::OBSERVATION_REGISTERED));
  EXPECT_EQ(plan.reports[0].node_profile(), "np-0123456789ab");
  node.mutable_observed()->set_boot_id("boot-1");
  EXPECT_THAT(Observations(Plan(node, &object)), IsEmpty()) << "known";
}

// One such report would have all that go with it refused.
TEST(PlanBoot, TellsNothingThatNoReportMayBear) {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  node.mutable_observed()->set_node_profile("np-0123456789ab");
  NodeObject object = Joined(true);
  for (const std::string& bad : {std::string(65, 'x'), std::string("a\0b", 3)}) {
    object.boot_id = bad;
    object.annotations[kProfileAnnotation] = bad;
    EXPECT_THAT(Observations(Plan(node, &object)), IsEmpty());
  }
}

TEST(PlanHealth, TellsOfTheKubelet) {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  const NodeObject not_ready = Joined(false);
  const NodeObject ready = Joined(true);
  const NodePlan plan = Plan(node, &not_ready);
  EXPECT_EQ(plan.reports[0].message(), "kubelet: KubeletNotReady: network is not ready");
  node.mutable_observed()->set_unhealthy(true);
  node.mutable_observed()->set_health_message(plan.reports[0].message());
  EXPECT_THAT(Observations(Plan(node, &not_ready)), IsEmpty()) << "known";
  EXPECT_THAT(Observations(Plan(node, &ready)), ElementsAre(kRecovered));
  node.mutable_observed()->set_health_message("GPU 3 fell off the bus");
  EXPECT_THAT(Observations(Plan(node, &ready)), IsEmpty()) << "somebody else's word";
}

// Nor may this have its batch refused.
TEST(PlanHealth, TellsWhyInAsManyWordsAsAReportMayBear) {
  const Node node = MakeNode(Node::STATE_PRODUCTION);
  NodeObject object = Joined(false);
  object.not_ready_why = absl::StrCat(std::string("a\0b", 3), std::string(2000, 'x'));
  const NodePlan plan = Plan(node, &object);
  EXPECT_THAT(plan.reports[0].message(), StartsWith("kubelet: a bxxx"));
  EXPECT_EQ(plan.reports[0].message().size(), 1024u);
}

TEST(PlanDrain, WhatCannotBeToldAsItIsIsToldOnce) {
  Node node = MakeNode(Node::STATE_DRAINING);
  node.mutable_observed()->set_drain_blocked_by("default/web: a b");
  const NodeObject object = Joined(true);
  const NodePlan plan = Plan(node, &object, {}, std::string("default/web: a\0b", 16));
  EXPECT_THAT(Observations(plan), Not(Contains(NodeReport::OBSERVATION_DRAIN_BLOCKED)));
}

TEST(PlanHealth, OneWithoutAReadyConditionIsNeither) {
  const Node node = MakeNode(Node::STATE_PRODUCTION);
  NodeObject object = Joined(true);
  object.ready = std::nullopt;
  EXPECT_THAT(Observations(Plan(node, &object)), IsEmpty());
}

// What a report carries is UTF-8, or the whole call is lost.
TEST(PlanHealth, ALongReasonIsCutBetweenCharacters) {
  const Node node = MakeNode(Node::STATE_PRODUCTION);
  NodeObject object = Joined(false);
  for (int lead = 0; lead < 3; ++lead) {
    object.not_ready_why = std::string(static_cast<size_t>(lead), 'x');
    while (object.not_ready_why.size() < 1200) object.not_ready_why += "€";
    const std::string message = Plan(node, &object).reports.at(0).message();
    EXPECT_LE(message.size(), 1024u);
    EXPECT_EQ((message.size() - std::string(kKubeletSays).size() - static_cast<size_t>(lead)) % 3,
              0u);
  }
}

TEST(PlanMetadata, OfOneThatIsRefusedTheCordonGoesFirst) {
  Node node = MakeNode(Node::STATE_CORDONED);
  node.mutable_desired()->set_cordoned(true);
  NodeObject object = Joined(true);
  NodeFacts facts{.node = &node, .object = &object, .metadata_refused = true};
  const NodePlan first = PlanNode(facts);
  EXPECT_EQ(first.cordon, CordonPatch(node, object));
  EXPECT_EQ(first.apply, MetadataPatch(node, object)) << "it may be taken by now";
  EXPECT_EQ(first.taints, TaintsPatch(node, object));
  object.unschedulable = object.owns_unschedulable = true;
  const NodePlan next = PlanNode(facts);
  EXPECT_FALSE(next.cordon);
  EXPECT_EQ(next.apply, MetadataPatch(node, object));
  facts.metadata_refused = false;
  object.unschedulable = object.owns_unschedulable = false;
  EXPECT_FALSE(PlanNode(facts).cordon);
  EXPECT_EQ(PlanNode(facts).apply, MetadataPatch(node, object));
}

TEST(PlanMarks, TellOfTheAutoscaler) {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  NodeObject object = Joined(true);
  object.taints.push_back({.key = kAutoscalerTaint, .effect = "NoSchedule"});
  EXPECT_THAT(Observations(Plan(node, &object)),
              ElementsAre(NodeReport::OBSERVATION_AUTOSCALER_MARKED));
  node.mutable_observed()->set_autoscaler_marked(true);
  EXPECT_THAT(Plan(node, &object).reports, IsEmpty());
  object.taints.clear();
  EXPECT_THAT(Observations(Plan(node, &object)),
              ElementsAre(NodeReport::OBSERVATION_AUTOSCALER_UNMARKED));
}

TEST(PlanMarks, TellOfAForeignCordon) {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  NodeObject object = Joined(true);
  object.foreign_unschedulable = true;
  EXPECT_THAT(Observations(Plan(node, &object)),
              ElementsAre(NodeReport::OBSERVATION_UNSCHEDULABLE));
  node.mutable_observed()->set_unschedulable(true);
  EXPECT_THAT(Plan(node, &object).reports, IsEmpty());
  object.foreign_unschedulable = false;
  EXPECT_THAT(Observations(Plan(node, &object)), ElementsAre(NodeReport::OBSERVATION_SCHEDULABLE));
}

TEST(PlanCordon, IsToldOnceItIsThereAfterTheWorkThatCameBefore) {
  Node node = MakeNode(Node::STATE_CORDONED);
  NodeObject object = Joined(true);
  EXPECT_THAT(Plan(node, &object).reports, IsEmpty()) << "it is yet to be cordoned";
  object.unschedulable = object.owns_unschedulable = true;
  const NodePlan plan = Plan(node, &object);
  EXPECT_THAT(Observations(plan), ElementsAre(kCordoned));
  EXPECT_TRUE(SaysNoWork(node, &object, plan)) << "it is looked up before that there is none";
  const NodePlan busy = Plan(node, &object, Work(1));
  EXPECT_THAT(Observations(busy), ElementsAre(kActive, kCordoned));
  EXPECT_FALSE(SaysNoWork(node, &object, busy));
  EXPECT_THAT(Observations(Plan(node, nullptr)), ElementsAre(kUnhealthy, kCordoned));
  node.mutable_observed()->mutable_cordon_time()->set_seconds(1);
  EXPECT_THAT(Plan(node, &object).reports, IsEmpty());
}

TEST(PlanCordon, IsToldWithTheCordonThatIsMeant) {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  node.mutable_desired()->set_cordoned(true);
  NodeObject object = Joined(true);
  object.unschedulable = object.owns_unschedulable = true;
  const auto told = [&] {
    const NodePlan plan = Plan(node, &object);
    EXPECT_THAT(Observations(plan), ElementsAre(kCordoned));
    return plan.reports.at(0).desired_time().seconds();
  };
  *node.mutable_state_time() = Stamp(kThen);
  EXPECT_EQ(told(), kThen);
  *node.mutable_orders()->mutable_cordon_time() = Stamp(kThen + 2);
  EXPECT_EQ(told(), kThen + 2);
  *node.mutable_reconfigure_time() = Stamp(kThen + 1);
  EXPECT_EQ(told(), kThen + 2);
  *node.mutable_reconfigure_time() = Stamp(kThen + 3);
  EXPECT_EQ(told(), kThen + 3);
  *node.mutable_desired()->mutable_cordon_time() = Stamp(kThen + 4);
  EXPECT_EQ(told(), kThen + 4);
}

TEST(OrphanName, NeedsALabelThatIsOurs) {
  NodeObject object = Joined(true);
  EXPECT_EQ(OrphanName(object, "g8fd930"), "");
  object.labels[kPoolLabel] = "a";
  EXPECT_EQ(OrphanName(object, "g8fd930"), "") << "somebody else's";
  object.own_labels.insert(kPoolLabel);
  EXPECT_EQ(OrphanName(object, "g8fd930"), "nodePools/a/nodes/g8fd930");
}

// "an unhealthy Node is cordoned and waits until it is idle": in triage as in production.
TEST(PlanCordon, IsToldOfEveryNodeThatStays) {
  for (const Node::State state :
       {Node::STATE_PRODUCTION, Node::STATE_TRIAGE, Node::STATE_CORDONED}) {
    Node node = MakeNode(state);
    node.mutable_desired()->set_cordoned(true);
    NodeObject object = Joined(true);
    object.unschedulable = object.owns_unschedulable = true;
    EXPECT_THAT(Observations(Plan(node, &object)), ElementsAre(kCordoned)) << state;
  }
}

// Before it is ready, too, and not once nothing more comes of it.
TEST(PlanMarks, AreToldOfANodeThatIsThereToStay) {
  NodeObject object = Joined(false);
  object.foreign_unschedulable = true;
  EXPECT_THAT(Observations(Plan(MakeNode(Node::STATE_REGISTERED), &object)),
              ElementsAre(NodeReport::OBSERVATION_UNSCHEDULABLE));
  EXPECT_THAT(Plan(MakeNode(Node::STATE_PREPARED_FOR_TERMINATE), &object).reports, IsEmpty());
}

}  // namespace
}  // namespace muster::kubernetes
