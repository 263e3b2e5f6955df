#include "services/lifecycle/core/plan_draft.h"

#include <gtest/gtest.h>

#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

class PlanDraftTest : public ::testing::Test {
 protected:
  PlanDraftTest() : snapshot_(*SnapshotOf(sim_.state(), kSimPool)) {
    snapshot_.now = absl::FromUnixSeconds(1'750'000'000);
  }

  Running sim_{2};
  Snapshot snapshot_;
};

TEST_F(PlanDraftTest, AnActionIsAddedIfItFitsAndChangesSomething) {
  const PlanFacts facts(snapshot_);
  Draft draft(facts);
  Node& node = draft.nodes.begin()->second;
  EXPECT_FALSE(draft.Step(node, NodeEvent::kRecovered, "it is not ill"));
  EXPECT_FALSE(draft.Apply(node, ForceDrain{node.name, "it is not drained"}));
  EXPECT_FALSE(draft.Apply(node, StageProfile{node.name, node.desired.node_profile}));
  EXPECT_TRUE(draft.Step(node, NodeEvent::kCordon, "why not", RemovalCause::kScaleDown));
  EXPECT_EQ(node.state, NodeState::kCordoned);
  EXPECT_EQ(draft.KeptNodes(), 1);
  EXPECT_EQ(draft.TakePlan().actions.size(), 1U);
  EXPECT_EQ(snapshot_.nodes[0]->state, NodeState::kProduction) << "the rows stay as they are";
}

TEST_F(PlanDraftTest, ADeferThatTimeEndsMakesThePlanDue) {
  const PlanFacts facts(snapshot_);
  Draft draft(facts);
  draft.AddDefer(DeferReason::kMoreThanWanted, "a", "m");
  draft.AddDefer(DeferReason::kProtected, "b", "m", facts.now + absl::Hours(2));
  draft.AddDefer(DeferReason::kProtected, "c", "m", facts.now + absl::Hours(1));
  const PoolPlan plan = draft.TakePlan();
  EXPECT_EQ(plan.defers.size(), 3U);
  EXPECT_EQ(plan.due, facts.now + absl::Hours(1));
}

TEST_F(PlanDraftTest, StepsAreBounded) {
  const PlanFacts facts(snapshot_);
  Draft draft(facts);
  for (size_t i = 0; i < kMaxStepsAPlan; ++i) {
    EXPECT_TRUE(draft.HasStepsLeft());
    draft.AddStep(RemovePool{});
  }
  EXPECT_FALSE(draft.HasStepsLeft());
}

TEST_F(PlanDraftTest, WhatTheBudgetRefusesIsDeferredWithWhoUsesIt) {
  Pool pool = *snapshot_.pool;
  pool.spec.max_unavailable = "1";
  snapshot_.pool = &pool;
  const PlanFacts facts(snapshot_);
  Draft draft(facts);
  auto it = draft.nodes.begin();
  const Node& first = it->second;
  const Node& second = (++it)->second;
  EXPECT_TRUE(draft.MayDisrupt(first, "repair"));
  EXPECT_FALSE(draft.MayDisrupt(second, "scale-down"));
  const PoolPlan plan = draft.TakePlan();
  ASSERT_EQ(plan.defers.size(), 1U);
  EXPECT_EQ(plan.defers[0].reason, DeferReason::kDisruptionBudget);
  EXPECT_EQ(plan.defers[0].subject, second.name);
  EXPECT_NE(plan.defers[0].message.find(first.machine), std::string::npos);
}

TEST_F(PlanDraftTest, ADisabledProfileBootsNobody) {
  snapshot_.answers.configuration.state = PeerReply<ConfigurationFacts>::State::kHere;
  ConfigurationFacts& answer = snapshot_.answers.configuration.value;
  answer.active = "np-2";
  EXPECT_EQ(PlanFacts(snapshot_).BootProfile(), "np-2");
  answer.revisions = {{.node_profile = "np-2", .disabled = true}};
  EXPECT_EQ(PlanFacts(snapshot_).BootProfile(), "");
  EXPECT_EQ(PlanFacts(snapshot_).profile, "np-2");
  // While configuration is away, what was published counts.
  snapshot_.answers.configuration.state = PeerReply<ConfigurationFacts>::State::kAway;
  EXPECT_EQ(PlanFacts(snapshot_).BootProfile(), snapshot_.pool->status.node_profile);
}

}  // namespace
}  // namespace muster::lifecycle
