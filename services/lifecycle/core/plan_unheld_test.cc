// Capacity and the rows contradict each other: one of them was restored to a past.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/lifecycle/core/testing/simulation.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::Not;
using O = ReportNode::Observation;

class Unheld : public ::testing::Test {
 protected:
  void Run(int64_t nodes) {
    sim_.Create(nodes);
    ASSERT_TRUE(sim_.Converge());
  }
  // The agent of g101 says it.
  void Say(O observation) {
    ASSERT_TRUE(sim_.Report("g101", observation).ok());
    sim_.Pass();
  }
  // Capacity does not know g101, which is on its way out for that.
  void GiveUp() {
    sim_.Forget("g101");
    ASSERT_TRUE(sim_.Converge());
    sim_.Advance(kUnheldGrace);
    sim_.Pass();
    ASSERT_EQ(sim_.node("g101")->state, NodeState::kCordoned);
  }
  void ExpectLevel(size_t nodes) {
    EXPECT_EQ(sim_.Reason("AtTarget"), "TargetMet");
    EXPECT_EQ(sim_.machines().size(), nodes);
    EXPECT_EQ(sim_.NodeMachines(), sim_.machines());
  }

  Simulation sim_;
};

TEST_F(Unheld, ANodeIsShownForTheGraceAndThenGoes) {
  Run(3);
  sim_.Forget("g101");
  ASSERT_TRUE(sim_.Converge());
  EXPECT_EQ(sim_.Reason("AtTarget"), "InternalError");
  EXPECT_THAT(sim_.Obstacles(), Contains("MACHINE_NOT_HELD"));
  // The one that capacity gave instead takes work meanwhile.
  ASSERT_NE(sim_.node("g103"), nullptr);
  EXPECT_EQ(sim_.node("g103")->state, NodeState::kProduction);
  sim_.Advance(kUnheldGrace - absl::Minutes(2));
  ASSERT_TRUE(sim_.Converge());
  ASSERT_NE(sim_.node("g101"), nullptr);
  EXPECT_EQ(sim_.node("g101")->state, NodeState::kProduction);
  sim_.Advance(absl::Minutes(3));
  ASSERT_TRUE(sim_.Converge());
  EXPECT_EQ(sim_.node("g101"), nullptr);
  ExpectLevel(3);
}

// Nothing comes instead: it goes all the same, as somebody else may have been given the machine.
TEST_F(Unheld, ANodeGoesAlsoWhereNothingComesInstead) {
  Run(2);
  sim_.OthersTake(200);
  sim_.Forget("g101");
  ASSERT_TRUE(sim_.Converge());
  sim_.Advance(kUnheldGrace);
  ASSERT_TRUE(sim_.Converge());
  EXPECT_EQ(sim_.node("g101"), nullptr);
  EXPECT_EQ(sim_.NodeMachines(), sim_.machines());
  EXPECT_EQ(sim_.Reason("AtTarget"), "UnderTarget");
}

// As an unhealthy one would.
TEST_F(Unheld, AnActiveNodeStaysUntilItIsIdleUnlessUnhealthyOnesAreEvicted) {
  for (const bool evicts : {false, true}) {
    sim_ = Simulation();
    Run(2);
    sim_.Apply([&](Spec& spec) { spec.disable_unhealthy_node_eviction = !evicts; });
    sim_.OthersTake(200);
    sim_.SetActive("g101", true);
    sim_.Forget("g101");
    ASSERT_TRUE(sim_.Converge());
    sim_.Advance(kUnheldGrace);
    ASSERT_TRUE(sim_.Converge());
    const Node* node = sim_.node("g101");
    EXPECT_EQ(node == nullptr, evicts);
    EXPECT_TRUE(node == nullptr || node->state == NodeState::kProduction);
    sim_.SetActive("g101", false);
    ASSERT_TRUE(sim_.Converge());
    EXPECT_EQ(sim_.node("g101"), nullptr);
  }
}

TEST_F(Unheld, NoMoreGoThanTheBudgetAllows) {
  Run(2);
  sim_.Apply([](Spec& spec) {
    spec.target_nodes = 2;
    spec.max_unavailable = "1";
    spec.disable_unhealthy_node_eviction = false;
  });
  sim_.OthersTake(200);
  sim_.stuck = {"g100", "g101"};
  for (const char* machine : {"g100", "g101"}) {
    sim_.SetActive(machine, true);
    sim_.Forget(machine);
  }
  ASSERT_TRUE(sim_.Converge());
  sim_.Advance(kUnheldGrace);
  ASSERT_TRUE(sim_.Converge());
  sim_.Advance(sim_.policy.give_up_interval);
  ASSERT_TRUE(sim_.Converge());
  EXPECT_EQ(sim_.node("g100")->state, NodeState::kDraining);
  EXPECT_EQ(sim_.node("g101")->state, NodeState::kProduction);
}

TEST_F(Unheld, ANodeStaysWhenItsMachineIsHeldAgain) {
  Run(2);
  sim_.OthersTake(200);
  sim_.Forget("g101");
  ASSERT_TRUE(sim_.Converge());
  sim_.Recall("g101");
  ASSERT_TRUE(sim_.Converge());
  sim_.Advance(kUnheldGrace * 2);
  ASSERT_TRUE(sim_.Converge());
  ASSERT_NE(sim_.node("g101"), nullptr);
  ExpectLevel(2);
}

// It was cordoned for its machine and not for its health, which was good again long before.
TEST_F(Unheld, ANodeThatRelapsedLongAgoStaysWhenItsMachineIsHeldAgain) {
  Run(2);
  for (const O seen : {O::kUnhealthy, O::kRecovered, O::kUnhealthy, O::kRecovered}) Say(seen);
  sim_.Advance(sim_.policy.triage_grace);
  ASSERT_TRUE(sim_.Converge());
  ASSERT_EQ(sim_.node("g101")->state, NodeState::kProduction);
  ASSERT_EQ(sim_.node("g101")->observed.relapses, 1);
  sim_.Advance(absl::Hours(24));
  sim_.OthersTake(200);
  GiveUp();
  sim_.Recall("g101");
  sim_.Pass();
  EXPECT_EQ(sim_.node("g101")->state, NodeState::kProduction);
  ASSERT_TRUE(sim_.Converge());
  EXPECT_TRUE(sim_.broken().empty());
  ExpectLevel(2);
}

// One that was cordoned for a relapse is bound for repair, whatever is seen since.
TEST_F(Unheld, ANodeThatRelapsedAndWasCordonedForItGoesToRepair) {
  Run(2);
  for (const O seen : {O::kUnhealthy, O::kRecovered, O::kUnhealthy}) Say(seen);
  sim_.Advance(sim_.policy.triage_grace);
  sim_.Pass();
  ASSERT_EQ(sim_.node("g101")->state, NodeState::kCordoned);
  Say(O::kRecovered);
  EXPECT_EQ(sim_.node("g101")->state, NodeState::kCordoned);
  ASSERT_TRUE(sim_.Converge());
  EXPECT_TRUE(sim_.broken().contains("g101"));
}

// They go by themselves, or stay: a target that falls by one takes one that is held.
TEST_F(Unheld, AScaleDownTakesNoneOfThem) {
  Run(10);
  const std::vector<std::string> forgotten = {"g100", "g101", "g102", "g103", "g104"};
  for (const std::string& machine : forgotten) sim_.Forget(machine);
  ASSERT_TRUE(sim_.Converge());
  ASSERT_EQ(sim_.NodeMachines().size(), 15U);
  sim_.Resize(9);
  ASSERT_TRUE(sim_.Converge());
  for (const std::string& machine : forgotten) {
    ASSERT_NE(sim_.node(machine), nullptr) << machine;
    EXPECT_EQ(sim_.node(machine)->state, NodeState::kProduction) << machine;
  }
  EXPECT_EQ(sim_.NodeMachines().size(), 14U);
}

// What was shown stays so, from when it was: nobody else goes, and the grace does not begin anew.
TEST_F(Unheld, ACallThatIsNotAnsweredTakesNothingBack) {
  Run(3);
  sim_.Forget("g101");
  ASSERT_TRUE(sim_.Converge());
  sim_.Advance(absl::Minutes(10));
  sim_.capacity_away = true;
  sim_.Pass();
  EXPECT_EQ(sim_.Reason("AtTarget"), "InternalError");
  for (const std::string& machine : sim_.NodeMachines())
    EXPECT_EQ(sim_.node(machine)->state, NodeState::kProduction) << machine;
  sim_.capacity_away = false;
  ASSERT_TRUE(sim_.Converge());
  sim_.Advance(kUnheldGrace - absl::Minutes(10));
  ASSERT_TRUE(sim_.Converge());
  EXPECT_EQ(sim_.node("g101"), nullptr);
  ExpectLevel(3);
}

TEST_F(Unheld, ANodeThatWasGivenUpIsNotBackBecauseACallIsNotAnswered) {
  Run(3);
  GiveUp();
  sim_.capacity_away = true;
  sim_.Pass();
  EXPECT_EQ(sim_.node("g101")->state, NodeState::kCordoned);
  sim_.capacity_away = false;
  ASSERT_TRUE(sim_.Converge());
  EXPECT_EQ(sim_.node("g101"), nullptr);
  EXPECT_EQ(sim_.pool()->account.given_up.nodes, 1);
}

TEST_F(Unheld, NorBecauseItWasIllForAWhileMeanwhile) {
  Run(3);
  GiveUp();
  sim_.capacity_away = true;
  for (const O seen : {O::kUnhealthy, O::kRecovered}) Say(seen);
  EXPECT_EQ(sim_.node("g101")->state, NodeState::kCordoned);
}

TEST_F(Unheld, ANodeThatRecoversIsBackThoughACallIsNotAnswered) {
  Run(2);
  ASSERT_TRUE(sim_.Report("g100", O::kUnhealthy, "fan").ok());
  sim_.Pass();
  sim_.Advance(sim_.policy.triage_grace);
  sim_.Pass();
  ASSERT_EQ(sim_.node("g100")->state, NodeState::kCordoned);
  ASSERT_TRUE(sim_.Report("g100", O::kRecovered).ok());
  sim_.capacity_away = true;
  sim_.Pass();
  EXPECT_EQ(sim_.node("g100")->state, NodeState::kProduction);
}

// Capacity that forgot a pool's claim does not cost it all its Nodes at once.
TEST_F(Unheld, NotManyGoAtOnce) {
  Run(20);
  for (int i = 100; i < 120; ++i) sim_.Forget(absl::StrCat("g", i));
  ASSERT_TRUE(sim_.Converge());
  const auto left = [&] {
    int64_t nodes = 0;
    for (int i = 100; i < 120; ++i) {
      const Node* node = sim_.node(absl::StrCat("g", i));
      nodes += node != nullptr && node->state == NodeState::kProduction ? 1 : 0;
    }
    return nodes;
  };
  EXPECT_EQ(left(), 20);
  sim_.Advance(kUnheldGrace);
  ASSERT_TRUE(sim_.Converge());
  EXPECT_LT(left(), 20);
  EXPECT_GE(left(), 15);
  EXPECT_THAT(sim_.Obstacles(), Contains("GIVE_UP_LIMIT"));
  for (int i = 0; i < 20 && left() > 0; ++i) {
    sim_.Advance(absl::Minutes(10));
    ASSERT_TRUE(sim_.Converge());
  }
  EXPECT_THAT(sim_.Obstacles(), Not(Contains("GIVE_UP_LIMIT")));
  ExpectLevel(20);
}

// Those that stay are charged for beside those that come instead: another request than before,
// which a late copy of that one must not undo.
TEST_F(Unheld, WhatIsChargedForMoreIsAskedAnew) {
  Run(2);
  const int64_t before = sim_.pool()->account.generation;
  sim_.Forget("g101");
  ASSERT_TRUE(sim_.Converge());
  EXPECT_EQ(sim_.holding(), 3);
  EXPECT_GT(sim_.pool()->account.generation, before);
  EXPECT_TRUE(sim_.fenced);
}

// The claim grew in a future that was lost; the rows know of no request.
TEST_F(Unheld, APoolLearnsWhatItsClaimHolds) {
  Run(0);
  sim_.GoAhead(2, 2, 0);
  sim_.GrowClaim(3);
  ASSERT_TRUE(sim_.Converge());
  EXPECT_EQ(sim_.machines().size(), 0U);
  ExpectLevel(0);
}

TEST_F(Unheld, ADeletedPoolLearnsWhatItsClaimHolds) {
  Run(0);
  sim_.GoAhead(2, 2, 0);
  sim_.GrowClaim(3);
  sim_.Delete();
  ASSERT_TRUE(sim_.Converge());
  EXPECT_EQ(sim_.pool(), nullptr);
  EXPECT_FALSE(sim_.has_claim());
  EXPECT_TRUE(sim_.machines().empty());
}

// --- a machine of two pools ---

constexpr char kOther[] = "organizations/acme/clusters/c1/nodePools/other";

class Taken : public Unheld {
 protected:
  // The claim of another pool holds the first one's machine.
  void SetUp() override {
    Run(1);
    state_ = sim_.state();
    ApplyNodePool command{.name = kOther, .new_uid = "uid-2", .type = sim_.catalogue.type};
    command.spec = sim_.pool()->spec;
    command.target_nodes = 1;
    ASSERT_TRUE(Decided(command).ok());
  }
  template <class Command>
  absl::Status Decided(const Command& command) {
    StagedState<State> staged(state_, revision_);
    const absl::Status status = Decide(staged, command, sim_.now()).status();
    revision_ = staged.revision();
    return status;
  }
  absl::Status Assign(const std::string& machine) {
    return Decided(ApplyPlan{kOther,
                             "uid-2",
                             state_.VersionOf(kOther),
                             "a",
                             1,
                             {AssignNode{machine, "", "", true, "capacity granted it"}}});
  }

  State state_;
  int64_t revision_ = 1'000;
};

TEST_F(Taken, APlanThatMakesItANodeIsOutdated) {
  EXPECT_TRUE(absl::IsAborted(Assign("g100")));
  EXPECT_EQ(state_.TakenElsewhere("uid-2", {"g100", "g101"}), std::vector<std::string>{"g100"});
  EXPECT_TRUE(state_.TakenElsewhere("uid-1", {"g100"}).empty());
  EXPECT_TRUE(Assign("g101").ok());
}

TEST_F(Taken, ThePlanDoesWithoutItAndLooksAgain) {
  Snapshot snapshot = sim_.Look();
  snapshot.answers.claim.value.machines = {"g100", "g150", "g151"};
  snapshot.answers.claim.value.taken = {"g150"};
  const PoolPlan plan = Plan(snapshot);
  std::vector<std::string> assigned;
  for (const Action& action : plan.actions) {
    if (const auto* assign = std::get_if<AssignNode>(&action)) assigned.push_back(assign->machine);
  }
  EXPECT_EQ(assigned, std::vector<std::string>{"g151"});
  EXPECT_LE(plan.due, snapshot.now + snapshot.policy.retry);
  std::vector<std::string> reasons;
  for (const Defer& defer : plan.defers) reasons.push_back(DeferReasonName(defer.reason));
  EXPECT_THAT(reasons, Contains("MACHINE_TAKEN"));
}

}  // namespace
}  // namespace muster::lifecycle
