#include "services/lifecycle/core/grantable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using V = HoldingFacts::Verdict;

TEST(GrantableTest, QuotaLeavesAPoolWhatTheOthersOfItsKeyDoNotHold) {
  struct Case {
    HoldingFacts answer;
    int64_t nodes;
  };
  const Case cases[] = {
      {{V::kUnder, 0, 4, 0}, 4},             // nothing held
      {{V::kUnder, 3, 4, 3}, 4},             // its own counts for it
      {{V::kOver, 0, 4, 0}, 4},              // a target of 6 was refused whole
      {{V::kOver, 2, 10, 9}, 3},             // shared: 7 are held by others
      {{V::kOver, 5, 3, 5}, 3},              // the limit fell below what it holds
      {{V::kOver, 2, 3, 9}, 0},              // below what others hold
      {{V::kNotSet, 0, 0, 0}, 0},            // none
      {{V::kUnder, 0, 900'000, 0}, 100'000}  // no pool is larger
  };
  for (const Case& it : cases) {
    EXPECT_EQ(GrantableOf(it.answer, std::nullopt), (Grantable{it.nodes, "Quota"}));
  }
}

TEST(GrantableTest, CapacityBindsWhereItHasLessThanQuotaGrants) {
  const HoldingFacts answer{V::kUnder, 2, 10, 2};
  EXPECT_EQ(GrantableOf(answer, 7), (Grantable{7, "Capacity"}));
  EXPECT_EQ(GrantableOf(answer, 10), (Grantable{10, "Quota"}));
  EXPECT_EQ(GrantableOf(answer, 400), (Grantable{10, "Quota"}));
  EXPECT_EQ(GrantableOf(answer, 0), (Grantable{0, "Capacity"}));
}

// In a fleet that others move in, what is free is never the same twice.
TEST(GrantableTest, WhatIsFreeMovesTheNumberOnlyByMoreThanAnEighth) {
  const Grantable shown{80, "Capacity"};
  EXPECT_EQ(Steady(shown, {90, "Capacity"}, 1000), shown);
  EXPECT_EQ(Steady(shown, {70, "Capacity"}, 1000), shown);
  EXPECT_EQ(Steady(shown, {91, "Capacity"}, 1000), (Grantable{91, "Capacity"}));
  EXPECT_EQ(Steady(shown, {69, "Capacity"}, 1000), (Grantable{69, "Capacity"}));
  EXPECT_EQ(Steady({7, "Capacity"}, {6, "Capacity"}, 1000), (Grantable{6, "Capacity"})) << "small";
  EXPECT_EQ(Steady({0, "Capacity"}, {1, "Capacity"}, 1000), (Grantable{1, "Capacity"}));
}

// Quota grants all or nothing: one Node too many gets nothing.
TEST(GrantableTest, WhatQuotaGrantsIsShownAsItIs) {
  EXPECT_EQ(Steady({80, "Quota"}, {81, "Quota"}, 81), (Grantable{81, "Quota"}));
  EXPECT_EQ(Steady({80, "Capacity"}, {79, "Quota"}, 79), (Grantable{79, "Quota"}));
  EXPECT_EQ(Steady({80, "Capacity"}, {85, "Quota"}, 85), (Grantable{80, "Capacity"}));
  EXPECT_EQ(Steady({80, "Capacity"}, {78, "Capacity"}, 80), (Grantable{80, "Capacity"}));
  EXPECT_EQ(Steady({80, "Quota"}, {75, "Capacity"}, 80), (Grantable{80, "Quota"}));
  EXPECT_EQ(Steady({80, "Quota"}, {75, "Capacity"}, 79), (Grantable{75, "Capacity"}));
  EXPECT_EQ(Steady({100, "Quota"}, {105, "Capacity"}, 110), (Grantable{105, "Capacity"}))
      << "the limit was raised";
}

TEST(GrantableTest, AWarningNamesWhatBinds) {
  Spec spec;
  spec.autoscaling = true;
  spec.max_nodes = 6;
  EXPECT_EQ(
      MaxNodesWarning(spec, Grantable{4, "Quota"}),
      "spec.maxNodes is 6, and quota grants the NodePool 4 Nodes at most: a target above that "
      "gets nothing of what it adds.");
  EXPECT_EQ(MaxNodesWarning(spec, Grantable{1, "Capacity"}),
            "spec.maxNodes is 6, and capacity has the NodePool 1 Node at most: what a target above "
            "that adds waits.");
  EXPECT_EQ(MaxNodesWarning(spec, Grantable{6, "Quota"}), "");
  EXPECT_EQ(MaxNodesWarning(spec, std::nullopt), "");
  spec.autoscaling = false;
  EXPECT_EQ(MaxNodesWarning(spec, Grantable{4, "Quota"}), "");
}

// A pool that the autoscaler moves, with quota for four.
struct Autoscaled : Simulation {
  explicit Autoscaled(int64_t max_nodes) {
    limit = 4;
    Apply([&](Spec& spec) {
      spec.target_nodes = 2;
      spec.autoscaling = true;
      spec.max_nodes = max_nodes;
    });
    Live();
  }
  void Live() {
    if (!Converge()) std::abort();
  }
  std::optional<Grantable> shown() const { return pool()->status.grantable; }
};

TEST(GrantableTest, AMaxNodesAboveQuotaIsSaidAndHarmsNothing) {
  Autoscaled sim(6);
  EXPECT_EQ(sim.shown(), (Grantable{4, "Quota"}));
  EXPECT_EQ(sim.Says("MaxNodesUnreachable"),
            "True/Quota: spec.maxNodes is 6, and quota grants the NodePool 4 Nodes at most: a "
            "target above that gets nothing of what it adds.");
  EXPECT_EQ(sim.pool()->status.conditions.back().type, "MaxNodesUnreachable");
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  EXPECT_EQ(sim.Reason("Quota"), "Under");
  EXPECT_EQ(sim.CountOf("CWNodePoolMaxNodesUnreachable"), 1);
  sim.Resize(6);  // as the autoscaler does
  sim.Live();
  EXPECT_EQ(sim.Reason("Quota"), "Over");
  EXPECT_EQ(sim.shown(), (Grantable{4, "Quota"}));
  sim.Resize(4);
  sim.Live();
  EXPECT_EQ(sim.NodeMachines().size(), 4U);
  EXPECT_EQ(sim.shown(), (Grantable{4, "Quota"})) << "its own Nodes count for it";
  EXPECT_EQ(sim.CountOf("CWNodePoolMaxNodesUnreachable"), 1);
  sim.limit = 6;
  sim.Live();
  EXPECT_EQ(sim.shown(), (Grantable{6, "Quota"}));
  EXPECT_EQ(FindCondition(sim.pool()->status.conditions, "MaxNodesUnreachable"), nullptr);
  EXPECT_TRUE(sim.same_twice);
}

TEST(GrantableTest, WhatCannotBeToldNowStaysAsItWas) {
  Autoscaled sim(6);
  sim.quota_away = true;
  sim.limit = 9;
  ASSERT_TRUE(sim.Pass());
  EXPECT_EQ(sim.Reason("Quota"), "InternalError");
  EXPECT_EQ(sim.shown(), (Grantable{4, "Quota"}));
  EXPECT_EQ(sim.Reason("MaxNodesUnreachable"), "Quota");
}

TEST(GrantableTest, MachinesThatAreToBeHadAreTheOtherBound) {
  Autoscaled sim(4);
  EXPECT_EQ(FindCondition(sim.pool()->status.conditions, "MaxNodesUnreachable"), nullptr);
  sim.obtainable = 3;
  ASSERT_TRUE(sim.Pass());
  EXPECT_EQ(sim.shown(), (Grantable{3, "Capacity"}));
  EXPECT_EQ(sim.Reason("MaxNodesUnreachable"), "Capacity");
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  sim.obtainable = std::nullopt;
  EXPECT_FALSE(sim.Pass()) << "who leads anew has not heard of all machines yet";
  sim.limit = 2;
  ASSERT_TRUE(sim.Pass());
  EXPECT_EQ(sim.shown(), (Grantable{2, "Quota"}));
}

// Of what is to be had only what matches the pool's affinity, as long as that is known.
TEST(GrantableTest, MachinesThatDoNotMatchAreNotToBeHad) {
  Autoscaled sim(4);
  Snapshot snapshot = sim.Look();
  snapshot.obtainable = 4;
  snapshot.answers.claim.value.matching = 3;
  EXPECT_EQ(GrantableOf(snapshot)->nodes, 4) << "it has no affinity";
  Pool pool = *snapshot.pool;
  snapshot.pool = &pool;
  pool.spec.node_affinity = {{{"rack", "In", {"r1"}}}};
  EXPECT_EQ(GrantableOf(snapshot), (Grantable{3, "Capacity"}));
  snapshot.answers.claim = {.state = PeerReply<ClaimFacts>::State::kAway};
  EXPECT_EQ(GrantableOf(snapshot)->nodes, 4);
}

TEST(GrantableTest, OfOtherPoolsNothingIsSaid) {
  Simulation sim;
  sim.limit = 4;
  sim.Apply([](Spec& spec) {
    spec.target_nodes = 2;
    spec.max_nodes = 6;
  });
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.pool()->status.grantable, std::nullopt);
  EXPECT_EQ(FindCondition(sim.pool()->status.conditions, "MaxNodesUnreachable"), nullptr);
  Autoscaled gone(6);
  gone.Delete();
  ASSERT_TRUE(gone.Pass());
  EXPECT_EQ(gone.shown(), std::nullopt);
}

}  // namespace
}  // namespace muster::lifecycle
