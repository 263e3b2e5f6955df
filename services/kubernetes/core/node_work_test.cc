// What runs on a Node: what is told of it, what a drain waits for, and when the v1 Node is gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/kubernetes/core/testing/node_plan.h"
#include "services/kubernetes/core/testing/objects.h"
#include "services/kubernetes/core/testing/simulated_node.h"

namespace muster::kubernetes {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Class = PodObject::Class;

TEST(PlanAbsence, TellsThatItsWorkIsGoneToo) {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  node.mutable_observed()->set_active(true);
  const NodePlan plan = Plan(node, nullptr);
  EXPECT_THAT(Observations(plan), ElementsAre(kIdle, kUnhealthy));
  EXPECT_EQ(plan.reports[1].message(), "kubelet: the Node object is not in the cluster");
  node.mutable_observed()->set_active(false);
  node.mutable_observed()->set_unhealthy(true);
  EXPECT_THAT(Observations(Plan(node, nullptr)), IsEmpty());
}

// Whoever deletes the object of a Node under work leaves its Pods there; it may come back to them.
TEST(PlanAbsence, IsNoEndOfTheWorkWhilePodsAreThere) {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  node.mutable_observed()->set_active(true);
  EXPECT_THAT(Observations(Plan(node, nullptr, Work(1))), ElementsAre(kUnhealthy));
  EXPECT_THAT(Observations(Plan(node, nullptr, {MakePod("a-daemon", Class::kFixed)})),
              ElementsAre(kIdle, kUnhealthy));
}

TEST(PlanAbsence, ADrainEndsWithTheLastPodOrWithItsDeadline) {
  Node node = MakeNode(Node::STATE_DRAINING);
  EXPECT_THAT(Observations(Plan(node, nullptr)), ElementsAre(kDrained));
  EXPECT_THAT(Observations(Plan(node, nullptr, {MakePod("a-daemon", Class::kFixed)})),
              ElementsAre(kDrained));
  EXPECT_THAT(Observations(Plan(node, nullptr, Work(1))), IsEmpty());
  node.mutable_desired()->set_force_drain(true);
  EXPECT_THAT(Observations(Plan(node, nullptr, Work(1))), ElementsAre(kDrained));
}

// What was last seen may be out of date, and the machine is switched off because of it.
TEST(PlanAbsence, ThatNoWorkIsLeftIsLookedUpAnewUnlessTheDrainIsForced) {
  Node node = MakeNode(Node::STATE_DRAINING);
  EXPECT_TRUE(SaysNoWork(node, nullptr, Plan(node, nullptr)));
  EXPECT_FALSE(SaysNoWork(node, nullptr, Plan(node, nullptr, Work(1)))) << "nothing is reported";
  node.mutable_desired()->set_force_drain(true);
  EXPECT_FALSE(SaysNoWork(node, nullptr, Plan(node, nullptr, Work(1))));
  Node idle = MakeNode(Node::STATE_PRODUCTION);
  idle.mutable_observed()->set_active(true);
  EXPECT_TRUE(SaysNoWork(idle, nullptr, Plan(idle, nullptr)));
  const NodeObject object = Joined(true);
  EXPECT_FALSE(SaysNoWork(idle, &object, Plan(idle, &object))) << "it is seen as it is";
}

// A NoExecute taint would end it in the moment between.
TEST(PlanWork, NoTaintIsPutWhereMusterDoesNotKnowOfTheWorkYet) {
  Node node = MakeNode(Node::STATE_TRIAGE);
  lifecycle::v1::Taint& taint = *node.mutable_desired()->add_taints();
  taint.set_key("node.coreweave.cloud/reserved");
  taint.set_effect("NoExecute");
  const NodeObject object = Joined(true);
  ASSERT_TRUE(Plan(node, &object).taints);
  const NodePlan plan = Plan(node, &object, Work(1));
  EXPECT_THAT(Observations(plan), Contains(kActive));
  EXPECT_FALSE(plan.taints);
  node.mutable_observed()->set_active(true);
  EXPECT_TRUE(Plan(node, &object, Work(1)).taints) << "it knows, and wants it";
}

TEST(PlanWork, NamesTenAndCountsAll) {
  const Node node = MakeNode(Node::STATE_PRODUCTION);
  const NodeObject object = Joined(true);
  std::vector<PodObject> pods = Work(12);
  pods.push_back(MakePod("a-daemon", Class::kFixed));
  const NodePlan plan = Plan(node, &object, pods);
  ASSERT_THAT(Observations(plan), ElementsAre(kActive));
  EXPECT_EQ(plan.reports[0].active_pod_count(), 12);
  ASSERT_EQ(plan.reports[0].active_pods_size(), 10);
  EXPECT_EQ(plan.reports[0].active_pods(0), "team/p101") << "in the order of the alphabet";
  EXPECT_EQ(plan.reports[0].active_pods(9), "team/p110");
}

TEST(PlanWork, ANameIsAtMostWhatAReportMayCarry) {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  const NodeObject object = Joined(true);
  const std::vector<PodObject> pods = {MakePod(std::string(253, 'x'), Class::kGuarded)};
  const NodePlan plan = Plan(node, &object, pods);
  ASSERT_EQ(plan.reports.at(0).active_pods_size(), 1);
  EXPECT_EQ(plan.reports[0].active_pods(0).size(), 253u);
  node.mutable_observed()->set_active(true);
  node.mutable_observed()->set_active_pod_count(1);
  node.mutable_observed()->add_active_pods(plan.reports[0].active_pods(0));
  EXPECT_THAT(Plan(node, &object, pods).reports, IsEmpty()) << "it was told";
}

// Of as many, and of the ten that are named.
TEST(PlanWork, IsToldAnewWhenOtherPodsRunOrMoreThanAreNamed) {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  const NodeObject object = Joined(true);
  node.mutable_observed()->set_active(true);
  node.mutable_observed()->set_active_pod_count(1);
  node.mutable_observed()->add_active_pods("team/another");
  EXPECT_THAT(Observations(Plan(node, &object, Work(1))), ElementsAre(kActive)) << "another";
  node.mutable_observed()->clear_active_pods();
  for (int i = 1; i <= 10; ++i)
    node.mutable_observed()->add_active_pods(absl::StrCat("team/p", 100 + i));
  node.mutable_observed()->set_active_pod_count(11);
  EXPECT_THAT(Plan(node, &object, Work(11)).reports, IsEmpty());
  EXPECT_THAT(Observations(Plan(node, &object, Work(12))), ElementsAre(kActive)) << "one more";
}

TEST(PlanWork, DaemonsAndWhatHasFinishedAreNone) {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  const NodeObject object = Joined(true);
  std::vector<PodObject> pods = {MakePod("a", Class::kFixed), MakePod("b", Class::kGuarded)};
  pods[1].finished = true;
  EXPECT_THAT(Plan(node, &object, pods).reports, IsEmpty());
  node.mutable_observed()->set_active(true);
  EXPECT_THAT(Observations(Plan(node, &object, pods)), ElementsAre(kIdle));
}

TEST(PlanWork, ChangesOfWorkAreToldWithAPauseAndFallingIdleAtOnce) {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  const NodeObject object = Joined(true);
  node.mutable_observed()->set_active(true);
  node.mutable_observed()->set_active_pod_count(1);
  node.mutable_observed()->add_active_pods("team/p101");
  EXPECT_THAT(Plan(node, &object, Work(1), "", absl::ZeroDuration()).reports, IsEmpty());
  const NodePlan early = Plan(node, &object, Work(2), "", absl::Seconds(5));
  EXPECT_THAT(early.reports, IsEmpty());
  EXPECT_EQ(early.look_again, absl::Seconds(10));
  EXPECT_TRUE(early.tells_work_later);
  EXPECT_THAT(Observations(Plan(node, &object, Work(2), "", kWorkInterval)), ElementsAre(kActive));
  EXPECT_THAT(Observations(Plan(node, &object, {}, "", absl::ZeroDuration())), ElementsAre(kIdle));
  node.mutable_observed()->set_active(false);
  EXPECT_THAT(Observations(Plan(node, &object, Work(1), "", absl::ZeroDuration())),
              ElementsAre(kActive));
}

// Its kubelet, which confirms that a Pod has ended, may be dead: the object stays for ever.
TEST(PlanWork, WhatIsLeavingADeadNodeIsNoWork) {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  node.mutable_observed()->set_active(true);
  node.mutable_observed()->set_unhealthy(true);
  NodeObject object = Joined(false);
  std::vector<PodObject> pods = Work(1);
  pods[0].deleting = true;
  pods[0].deletion_time = Then();
  EXPECT_THAT(Observations(Plan(node, &object, pods)), ElementsAre(kIdle));
  EXPECT_EQ(Plan(node, &object, pods).look_again, absl::InfiniteDuration());
  EXPECT_FALSE(IsWorkOn(&object, pods[0], Then()));
  object.ready = std::nullopt;
  EXPECT_THAT(Observations(Plan(node, &object, pods)), ElementsAre(kIdle))
      << "no kubelet has spoken";
  EXPECT_THAT(Observations(Plan(node, nullptr, pods)), IsEmpty()) << "it may come back";
  const NodeObject ready = Joined(true);
  EXPECT_THAT(Observations(Plan(node, &ready, pods)), ElementsAre(kActive)) << "until it is gone";
  EXPECT_EQ(Plan(node, &ready, pods).look_again, absl::InfiniteDuration());
  EXPECT_TRUE(IsWorkOn(&ready, pods[0], Then()));
}

// A kubelet that came up under another name confirms no end of what it ran before.
TEST(PlanWork, WhatIsLeavingAnotherNodeOfTheMachineIsNoWork) {
  const NodeObject object = Joined(true);
  std::vector<PodObject> pods = Work(1);
  pods[0].node = "former-name";
  EXPECT_TRUE(IsWorkOn(&object, pods[0], Then()));
  pods[0].deleting = true;
  pods[0].deletion_time = Then();
  EXPECT_FALSE(IsWorkOn(&object, pods[0], Then()));
}

TEST(PlanWork, WhatIsLeavingADeadNodeIsWorkUntilItsGraceIsOver) {
  Node node = MakeNode(Node::STATE_PRODUCTION);
  node.mutable_observed()->set_active(true);
  node.mutable_observed()->set_unhealthy(true);
  const NodeObject object = Joined(false);
  std::vector<PodObject> pods = Work(2);
  pods[0].deleting = true;
  pods[0].deletion_time = Then() + absl::Seconds(30);
  const NodePlan plan = Plan(node, &object, pods);
  ASSERT_THAT(Observations(plan), ElementsAre(kActive));
  EXPECT_EQ(plan.reports[0].active_pod_count(), 2);
  EXPECT_EQ(plan.look_again, absl::Seconds(30));
  pods[0].deletion_time = Then();
  EXPECT_EQ(Plan(node, &object, pods).reports.at(0).active_pod_count(), 1) << "that stays";
}

TEST(PlanDrain, OfADeadNodeEndsWhenTheGraceIsOver) {
  const Node node = MakeNode(Node::STATE_DRAINING);
  NodeObject object = Joined(false);
  object.unschedulable = true;
  std::vector<PodObject> pods = Work(1);
  pods[0].deleting = true;
  pods[0].deletion_time = Then();
  EXPECT_THAT(Observations(Plan(node, &object, pods)), Contains(kDrained));
}

TEST(PlanDrain, TellsWhatBlocksIt) {
  Node node = MakeNode(Node::STATE_DRAINING);
  NodeObject object = Joined(true);
  object.unschedulable = true;
  node.mutable_observed()->set_active(true);
  node.mutable_observed()->set_active_pod_count(1);
  node.mutable_observed()->add_active_pods("team/p101");
  const NodePlan plan = Plan(node, &object, Work(1), "team/p101: budget x");
  EXPECT_THAT(Observations(plan), ElementsAre(NodeReport::OBSERVATION_DRAIN_BLOCKED));
  EXPECT_EQ(plan.reports[0].message(), "team/p101: budget x");
  node.mutable_observed()->set_drain_blocked_by("team/p101: budget x");
  EXPECT_THAT(Plan(node, &object, Work(1), "team/p101: budget x").reports, IsEmpty());
  EXPECT_THAT(Observations(Plan(node, &object, Work(1))),
              ElementsAre(NodeReport::OBSERVATION_DRAIN_UNBLOCKED));
}

// Muster may end a drain, as that of a preemption, with Pods on the Node that were refused.
TEST(PlanDrain, OneThatIsOverIsBlockedByNothing) {
  Node node = MakeNode(Node::STATE_PREPARED_FOR_TERMINATE);
  node.mutable_desired()->set_drain(true);
  NodeObject object = Joined(true);
  object.unschedulable = true;
  EXPECT_THAT(Plan(node, &object, Work(1), "team/p101: budget x").reports, IsEmpty());
}

TEST(PlanDrain, ALongReasonIsToldOnce) {
  Node node = MakeNode(Node::STATE_DRAINING);
  const NodeObject object = Joined(true);
  std::string why = "xx";
  while (why.size() < 1200) why += "€";
  node.mutable_observed()->set_active(true);
  node.mutable_observed()->set_active_pod_count(1);
  node.mutable_observed()->add_active_pods("team/p101");
  const NodePlan plan = Plan(node, &object, Work(1), why);
  ASSERT_THAT(plan.reports, SizeIs(1));
  EXPECT_EQ(plan.reports[0].message().size(), 1022u) << "2 + 340 * 3";
  node.mutable_observed()->set_drain_blocked_by(plan.reports[0].message());
  EXPECT_THAT(Plan(node, &object, Work(1), why).reports, IsEmpty());
}

// "cordon, then evict": while something may still be put onto it, it is not drained.
TEST(PlanDrain, EndsWhenNothingIsLeftAndNothingCanCome) {
  const Node node = MakeNode(Node::STATE_DRAINING);
  NodeObject object = Joined(true);
  EXPECT_THAT(Plan(node, &object).reports, IsEmpty()) << "not cordoned yet";
  object.unschedulable = true;
  EXPECT_THAT(Observations(Plan(node, &object)), ElementsAre(kDrained));
  std::vector<PodObject> leaving = Work(1);
  leaving[0].deleting = true;
  EXPECT_THAT(Observations(Plan(node, &object, leaving)), ElementsAre(kActive))
      << "until it is gone";
}

// What came with its cordon while it is still seen active: its end has to be looked up as well.
TEST(PlanAbsence, ACordonThatSaysNoWorkIsLookedUpAnewWhateverWasSeen) {
  Node node = MakeNode(Node::STATE_CORDONED);
  NodeObject object = Joined(true);
  object.unschedulable = object.owns_unschedulable = true;
  node.mutable_observed()->set_active(true);
  node.mutable_observed()->set_active_pod_count(1);
  node.mutable_observed()->add_active_pods("team/p101");
  const NodePlan idle = Plan(node, &object);
  ASSERT_THAT(Observations(idle), ElementsAre(kIdle, NodeReport::OBSERVATION_CORDONED));
  EXPECT_TRUE(SaysNoWork(node, &object, idle));
  const NodePlan busy = Plan(node, &object, Work(1));
  ASSERT_THAT(Observations(busy), ElementsAre(NodeReport::OBSERVATION_CORDONED));
  EXPECT_FALSE(SaysNoWork(node, &object, busy)) << "its work is known, and nothing says otherwise";
}

// "of an absent Node all reports, else those that say that no work is left"
TEST(TakeBackUnconfirmed, LeavesWhatIsSeenOfANodeThatIsThere) {
  NodePlan plan;
  for (const auto observation :
       {kDrained, kIdle, NodeReport::OBSERVATION_CORDONED, kUnhealthy, kActive})
    plan.reports.emplace_back().set_observation(observation);
  NodePlan absent = plan;
  const NodeObject object = Joined(true);
  TakeBackUnconfirmed(&object, plan);
  EXPECT_THAT(Observations(plan), ElementsAre(kUnhealthy, kActive));
  TakeBackUnconfirmed(nullptr, absent);
  EXPECT_THAT(absent.reports, IsEmpty());
}

// "cordon, then evict": what is told to be drained is drained only in that state.
TEST(PlanDrain, EndsInItsOwnStateAlone) {
  Node node = MakeNode(Node::STATE_CORDONED);
  node.mutable_desired()->set_drain(true);
  node.mutable_observed()->mutable_cordon_time()->set_seconds(1);
  NodeObject object = Joined(true);
  object.unschedulable = object.owns_unschedulable = true;
  EXPECT_THAT(Plan(node, &object).reports, IsEmpty());
}

// "After its work, which is known to Muster then": its end would be told of a Node that is busy.
TEST(PlanAbsence, ACordonIsToldOnceMusterKnowsOfTheWorkThatIsLeft) {
  Node node = MakeNode(Node::STATE_CORDONED);
  node.mutable_observed()->set_unhealthy(true);
  EXPECT_THAT(Observations(Plan(node, nullptr)), ElementsAre(NodeReport::OBSERVATION_CORDONED));
  EXPECT_THAT(Plan(node, nullptr, Work(1)).reports, IsEmpty()) << "it takes the Node for idle";
  node.mutable_observed()->set_active(true);
  EXPECT_THAT(Observations(Plan(node, nullptr, Work(1))),
              ElementsAre(NodeReport::OBSERVATION_CORDONED));
}

// What is left on a Node that was given up holds none of them up.
TEST(PlanWork, TaintsArePutWhereNoWorkIsToldOfAnyMore) {
  const NodeObject object = Joined(true);
  EXPECT_TRUE(Plan(MakeNode(Node::STATE_PREPARED_FOR_TERMINATE), &object, Work(1)).taints);
}

}  // namespace
}  // namespace muster::kubernetes
