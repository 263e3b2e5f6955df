#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/testing/decide.h"

namespace muster::lifecycle {
namespace {

// The leader's, of the pool as it is.
ApplyPlan PlanNow(const Simulation& sim, std::vector<Action> actions) {
  return {.pool = kSimPool,
          .uid = "uid-1",
          .version = sim.state().VersionOf(kSimPool),
          .holder = "a",
          .epoch = 1,
          .actions = std::move(actions)};
}

TEST(Decide, PlansOfTheOutdatedAndOfOldLeadersAreRefused) {
  Simulation sim;
  sim.Must(PoolOfNodes(1));
  ApplyPlan plan = PlanNow(sim, {EmitEvent{EventReason::kNodePoolMetadata, "m"}});
  ApplyPlan old_version = plan;
  --old_version.version;
  EXPECT_EQ(ReasonOf(sim.Run(old_version).status()), "PLAN_OUTDATED");
  ApplyPlan other_pool = plan;
  other_pool.uid = "uid-2";
  EXPECT_EQ(ReasonOf(sim.Run(other_pool).status()), "PLAN_OUTDATED");
  EXPECT_EQ(ReasonOf(sim.Run(TakeLease{.holder = "b", .epoch = 1}).status()), "STALE_LEADER");
  sim.Must(TakeLease{.holder = "b", .epoch = 2});
  EXPECT_EQ(ReasonOf(sim.Run(plan).status()), "STALE_LEADER");
  plan.epoch = 2;
  EXPECT_EQ(ReasonOf(sim.Run(plan).status()), "STALE_LEADER") << "an epoch of a lost future";
  plan.holder = "b";
  EXPECT_TRUE(sim.Run(plan).ok());
}

TEST(Decide, WhereNobodyHasLedYetNoPlanIsCarriedOut) {
  Simulation sim;
  sim.Must(PoolOfNodes(1));
  ApplyPlan plan = PlanNow(sim, {EmitEvent{EventReason::kNodePoolMetadata, "m"}});
  plan.epoch = 0;  // of who gave the lease up
  State past;
  StagedState<State> staged(past, 0);
  staged.Put(*sim.state().table<Pool>().Find(kSimPool));
  plan.version = staged.revision();
  EXPECT_EQ(ReasonOf(Decide(staged, plan, sim.now()).status()), "STALE_LEADER");
  staged.Put(Lease{.holder = "a", .epoch = 1});
  plan.epoch = 1;
  EXPECT_TRUE(Decide(staged, plan, sim.now()).ok());
}

TEST(Decide, OnlyTheNodesThatItChangesOutdateAPlan) {
  Simulation sim;
  sim.Create(2);
  ASSERT_TRUE(sim.Converge());
  const std::string mine = *sim.machines().begin();
  const std::string other = *sim.machines().rbegin();
  const ApplyPlan plan = PlanNow(sim, {StepNode{NodeName(kSimPool, mine), NodeEvent::kCordon},
                                       StepNode{NodeName(kSimPool, mine), NodeEvent::kDrain}});
  sim.SetActive(mine, true);
  EXPECT_EQ(ReasonOf(sim.Run(plan).status()), "PLAN_OUTDATED");
  ApplyPlan again = plan;
  again.version = sim.state().VersionOf(kSimPool);
  sim.SetActive(other, true);
  EXPECT_TRUE(sim.Run(again).ok());
}

TEST(Decide, WhatAPlanDoesToANodeIsOneChangeButForTheStepsOfItsWay) {
  Simulation sim;
  sim.Create(1);
  ASSERT_TRUE(sim.Converge());
  const std::string name = NodeName(kSimPool, *sim.machines().begin());
  // How many changes of the Node and of its events there were before the last one of the Node.
  const auto carry_out = [&](std::vector<Action> actions) {
    const int64_t revision = sim.revision();
    EXPECT_TRUE(sim.Run(PlanNow(sim, std::move(actions))).ok());
    return sim.state().table<Node>().FindVersioned(name)->revision - revision - 1;
  };
  EXPECT_EQ(carry_out({StepNode{name, NodeEvent::kCordon, RemovalCause::kRepair},
                       SetRack{.node = name, .rack = "r2"}}),
            0);
  EXPECT_GT(carry_out({StepNode{name, NodeEvent::kUncordon},
                       StepNode{name, NodeEvent::kCordon, RemovalCause::kScaleDown}}),
            0);
}

// Also where it is back at a place where it was before in the same plan, and of a Node that comes
// by it.
TEST(Decide, EveryStepOfAPlanIsAChange) {
  Simulation sim;
  sim.Create(1);
  ASSERT_TRUE(sim.Converge());
  const std::string name = NodeName(kSimPool, *sim.machines().begin());
  const auto changes_of = [&](const std::string& node, std::vector<Action> actions) {
    State state = sim.state();
    StagedState<State> staged(state, sim.revision());
    EXPECT_TRUE(Decide(staged, PlanNow(sim, std::move(actions)), sim.now()).ok());
    return std::count_if(staged.changes().begin(), staged.changes().end(), [&](const auto& made) {
      return made.change.key == node &&
             std::holds_alternative<std::shared_ptr<const Node>>(made.change.row);
    });
  };
  const StepNode cordon{name, NodeEvent::kCordon, RemovalCause::kScaleDown};
  EXPECT_EQ(changes_of(name, {cordon, StepNode{name, NodeEvent::kUncordon}, cordon,
                              StepNode{name, NodeEvent::kDrain}}),
            4);
  const std::string other = NodeName(kSimPool, "g999");
  EXPECT_EQ(changes_of(other, {AssignNode{.machine = "g999"},
                               StepNode{other, NodeEvent::kDiscard, RemovalCause::kScaleDown}}),
            2);
}

TEST(Decide, APlanThatFailsHalfwayLeavesNothing) {
  Simulation sim;
  sim.Must(PoolOfNodes(1));
  const int64_t revision = sim.revision();
  const auto status = sim.Run(
      ApplyPlan{.pool = kSimPool,
                .uid = "uid-1",
                .version = sim.state().VersionOf(kSimPool),
                .holder = "a",
                .epoch = 1,
                .actions = {AssignNode{.machine = "g1", .gpu = true},
                            StepNode{std::string(kSimPool) + "/nodes/g1", NodeEvent::kDrain}}});
  EXPECT_EQ(status.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(sim.revision(), revision);
  EXPECT_TRUE(sim.state().NodesOf(kSimPool).empty());
}

}  // namespace
}  // namespace muster::lifecycle
