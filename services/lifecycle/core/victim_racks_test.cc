// Pools of a type that is granted in whole racks: they shrink rack by rack.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/lifecycle/core/testing/simulation.h"

namespace muster::lifecycle {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;
using O = ReportNode::Observation;

constexpr int kRack = 18;
constexpr int kFirst = 108;  // of its rack

std::string Machine(int i) { return absl::StrCat("g", kFirst + i); }

// So many racks of 18 in production, rack-6 and those after it, each Node idle or at work in turn.
struct Racks : Simulation {
  explicit Racks(int racks, ScaleDownStrategy strategy = ScaleDownStrategy::kPreferIdle,
                 int nodes_per_rack = kRack)
      : nodes(racks * kRack) {
    limit = 100;
    rack_size = kRack;
    catalogue.type->nodes_per_rack = nodes_per_rack;
    OthersTake(kFirst - 100);
    Create(nodes, strategy);
    Live();
    for (int i = 0; i < nodes; ++i) SetActive(Machine(i), i % 2 == 0);
  }
  void Live() {
    if (!Converge()) std::abort();
  }
  // As Live, while others take every machine that is free.
  void LiveAmongOthers() {
    for (int i = 0; i < 500; ++i) {
      const bool moved = Pass() | Agents();
      OthersTake(100);
      if (moved) continue;
      if (last_plan.due > now() + absl::Minutes(1)) return;
      Advance(std::max(absl::ZeroDuration(), last_plan.due - now()));
    }
    std::abort();
  }
  // It is unhealthy for as long as it takes until it is replaced.
  void BreakDown(const std::string& machine) {
    if (!Report(machine, O::kUnhealthy, "Xid 79").ok()) std::abort();
    Advance(policy.triage_grace);
  }
  // The pool's machines of its nth rack.
  std::set<std::string> On(int rack) const {
    std::set<std::string> machines;
    for (int i = rack * kRack; i < (rack + 1) * kRack; ++i) {
      if (node(Machine(i)) != nullptr) machines.insert(Machine(i));
    }
    return machines;
  }
  const int nodes;
};

// Two racks, of which the first was given up: all of it but Machine(0), which works, is gone. Of
// the other the first `idle` do not work.
struct LastOfARack : Racks {
  explicit LastOfARack(int idle) : Racks(2, ScaleDownStrategy::kIdleOnly) {
    for (int i = 0; i < 2 * kRack; ++i) SetActive(Machine(i), i == 0 || i >= kRack + idle);
    Resize(kRack);
    Live();
    EXPECT_THAT(On(0), ElementsAre(Machine(0)));
  }
};

TEST(VictimRacks, WhatStaysIsWholeRacks) {
  Racks sim(3);
  sim.Resize(36);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), SizeIs(36));
  for (int rack = 0; rack < 3; ++rack) {
    const size_t held = sim.On(rack).size();
    EXPECT_TRUE(held == 0 || held == kRack) << rack << " " << held;
  }
}

TEST(VictimRacks, OfRacksThatAreWholeTheOneWithTheLeastWorkGoes) {
  Racks sim(2);
  sim.SetActive(Machine(kRack), false);
  sim.Resize(kRack);
  sim.Live();
  EXPECT_THAT(sim.On(0), SizeIs(kRack));
  EXPECT_THAT(sim.On(1), SizeIs(0));
}

TEST(VictimRacks, AMachineThatWasMovedCountsWhereItStands) {
  Simulation sim;
  sim.rack_size = 2;
  sim.catalogue.type->nodes_per_rack = 2;
  sim.Create(4, ScaleDownStrategy::kPreferIdle);
  ASSERT_TRUE(sim.Converge());
  sim.stands_in = {{"g101", "rack-51"}, {"g102", "rack-50"}};
  sim.Resize(2);
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.NodeMachines(), AnyOf(ElementsAre("g100", "g102"), ElementsAre("g101", "g103")));
}

// Also once the idle ones of the begun rack are gone, and others are the idler rack.
TEST(VictimRacks, UnderIdleOnlyTheRestOfABegunRackIsAwaited) {
  Racks sim(2, ScaleDownStrategy::kIdleOnly);
  sim.SetActive(Machine(0), false);
  sim.Resize(kRack);
  sim.Live();
  EXPECT_THAT(sim.On(0), SizeIs(8));
  EXPECT_THAT(sim.On(1), SizeIs(kRack));
  EXPECT_THAT(sim.Obstacles(), Contains("WAITS_UNTIL_IDLE"));
  for (int i = kRack; i < 2 * kRack; ++i) sim.SetActive(Machine(i), false);
  sim.Live();
  EXPECT_THAT(sim.On(1), SizeIs(kRack)) << "nobody goes in the place of those at work";
  for (int i = 0; i < kRack; ++i) sim.SetActive(Machine(i), false);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAreArray(sim.On(1)));
  EXPECT_TRUE(sim.never_over && sim.fenced && sim.same_twice);
}

// Elsewhere the sick one is before those that are idle.
TEST(VictimRacks, UnderIdleOnlyASickNodeAtWorkMakesNoOtherRackBegin) {
  Racks sim(2, ScaleDownStrategy::kIdleOnly);
  for (int i = 0; i < 2 * kRack; ++i) sim.SetActive(Machine(i), i == 0 || i >= 2 * kRack - 2);
  ASSERT_TRUE(sim.Report(Machine(0), O::kUnhealthy, "Xid 79").ok());
  sim.Live();
  ASSERT_EQ(sim.node(Machine(0))->state, NodeState::kTriage);
  sim.Resize(kRack);
  sim.Live();
  EXPECT_THAT(sim.On(0), ElementsAre(Machine(0)));
  EXPECT_THAT(sim.On(1), SizeIs(kRack));
}

// All of two racks was to go, or of one and a half: not those at work stay, but those of one rack.
TEST(VictimRacks, WhatStaysOfAShrinkThatIsTakenBackIsWholeRacks) {
  for (const bool half : {false, true}) {
    SCOPED_TRACE(half);
    Racks sim(3);
    sim.Resize(half ? 27 : kRack);
    ASSERT_TRUE(sim.Pass());
    sim.Resize(36);
    sim.Live();
    for (int rack = 0; rack < 3; ++rack) EXPECT_THAT(sim.On(rack), AnyOf(SizeIs(0), SizeIs(kRack)));
  }
}

// Until the catalogue is read nobody knows of racks: the rest of the begun one is still awaited.
// Who is named goes all the same.
TEST(VictimRacks, WhileTheCatalogueIsNotReadNoOtherRackIsBegun) {
  Racks sim(2, ScaleDownStrategy::kIdleOnly);
  sim.SetActive(Machine(0), false);
  sim.Resize(kRack);
  sim.Live();
  ASSERT_THAT(sim.On(0), SizeIs(8));
  const CatalogueFacts read = sim.catalogue;
  sim.catalogue = {};
  for (int i = 0; i < 2 * kRack; ++i) sim.SetActive(Machine(i), i < kRack);
  sim.Live();
  EXPECT_THAT(sim.On(1), SizeIs(kRack));
  EXPECT_THAT(sim.ObstacleTexts(), Contains("CATALOGUE_UNKNOWN operator: 8 Nodes more than wanted "
                                            "can go only once the catalogue is read."));
  sim.Must(
      ResizeNodePool{.name = kSimPool, .target_nodes = 25, .remove_machines = {Machine(kRack)}});
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), Not(Contains(Machine(kRack))));
  sim.catalogue = read;
  sim.Resize(kRack);
  for (int i = 0; i < kRack; ++i) sim.SetActive(Machine(i), false);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), SizeIs(kRack));
}

// Its type is known to be none: there is nothing to wait for.
TEST(VictimRacks, APoolWhoseTypeIsGoneShrinks) {
  Racks sim(2);
  sim.catalogue = {.known = true};
  sim.Resize(kRack);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), SizeIs(kRack));
}

// One by one, as the disruption budget lets them.
TEST(VictimRacks, ABudgetBeginsNoOtherRack) {
  Racks sim(2);
  sim.Apply([](Spec& spec) { spec.max_unavailable = "1"; });
  sim.Resize(kRack);
  sim.Live();
  EXPECT_THAT(sim.On(0), SizeIs(0));
  EXPECT_THAT(sim.On(1), SizeIs(kRack));
}

TEST(VictimRacks, AProtectedNodeMakesAnotherRackGoFirst) {
  Racks sim(2);
  // The one that would be first: as for work, the racks are alike.
  sim.Must(UpdateNode{.name = NodeName(kSimPool, Machine(1)),
                      .protect_until_time = sim.now() + absl::Hours(1)});
  sim.Resize(kRack);
  sim.Live();
  EXPECT_THAT(sim.On(0), SizeIs(kRack));
  EXPECT_THAT(sim.On(1), SizeIs(0));
}

// As is the rest of a rack of which one is rebooted.
TEST(VictimRacks, AProtectedOrRebootingNodeOfABegunRackIsAwaited) {
  Racks sim(2);
  sim.Stage(kNewerProfile);
  sim.Live();
  sim.stuck = {Machine(3)};
  sim.Must(ReconfigureNodePool{.name = kSimPool, .machines = {Machine(3)}});
  sim.Live();
  ASSERT_EQ(sim.node(Machine(3))->state, NodeState::kReconfiguring);
  sim.Must(UpdateNode{.name = NodeName(kSimPool, Machine(1)),
                      .protect_until_time = sim.now() + absl::Minutes(5)});
  // Named: the rack is begun.
  sim.Must(
      ResizeNodePool{.name = kSimPool, .target_nodes = kRack, .remove_machines = {Machine(0)}});
  sim.Live();
  EXPECT_THAT(sim.On(0), ElementsAre(Machine(1), Machine(3)));
  EXPECT_THAT(sim.On(1), SizeIs(kRack));
  EXPECT_THAT(sim.Obstacles(), IsSupersetOf({"PROTECTED", "WAITS_FOR_REBOOT"}));
  sim.stuck.clear();
  sim.Advance(absl::Minutes(5));
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAreArray(sim.On(1)));
}

// A rack that lacks a Node already is of no use to others as long as the pool has a part of it.
TEST(VictimRacks, ARackThatIsNotWholeGoesFirst) {
  Racks sim(2);
  for (int i = 0; i < kRack; ++i) sim.SetActive(Machine(i), false);
  sim.stuck = {Machine(kRack)};
  ASSERT_TRUE(sim.Report(Machine(kRack), O::kUnhealthy, "Xid 79").ok());
  sim.Apply([](Spec& spec) { spec.disable_unhealthy_node_eviction = false; });
  sim.Advance(sim.policy.triage_grace);
  sim.Pass();
  ASSERT_EQ(sim.node(Machine(kRack))->removal_cause, RemovalCause::kRepair);
  sim.Resize(kRack);
  sim.Live();
  EXPECT_THAT(sim.On(0), SizeIs(kRack)) << "though all of it is idle";
  EXPECT_THAT(sim.On(1), ElementsAre(Machine(kRack)));
}

// What the rack that stays has lost is not made up for by the last of the one that leaves: of that
// the pool would have a part for good.
TEST(VictimRacks, ANodeThatIsLostMeanwhileKeepsNoneOfTheRackThatLeaves) {
  Racks sim(2, ScaleDownStrategy::kIdleOnly);
  sim.SetActive(Machine(0), false);
  sim.SetActive(Machine(kRack), false);
  sim.Resize(kRack);
  sim.LiveAmongOthers();
  ASSERT_THAT(sim.On(0), AnyOf(SizeIs(8), SizeIs(kRack)));
  const int leaves = sim.On(0).size() == 8 ? 0 : 1;
  const int stays = 1 - leaves;
  ASSERT_THAT(sim.On(leaves), SizeIs(8));
  const std::string lost = Machine(stays * kRack);
  sim.BreakDown(lost);
  sim.LiveAmongOthers();
  ASSERT_THAT(sim.broken(), ElementsAre(lost));
  for (int i = 0; i < 2 * kRack; ++i) sim.SetActive(Machine(i), false);
  sim.LiveAmongOthers();
  EXPECT_THAT(sim.On(leaves), SizeIs(0));
  EXPECT_THAT(sim.On(stays), SizeIs(kRack - 1));
  sim.Repair();
  sim.LiveAmongOthers();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAreArray(sim.On(stays)));
  EXPECT_THAT(sim.On(stays), SizeIs(kRack));
  EXPECT_TRUE(sim.never_over && sim.fenced && sim.same_twice);
}

// Nor of Nodes of it that are cordoned so far.
TEST(VictimRacks, ANodeThatIsLostMeanwhileTakesNoRemovalBack) {
  Racks sim(2);
  sim.Apply([](Spec& spec) { spec.disable_unhealthy_node_eviction = false; });
  sim.SetActive(Machine(0), false);
  sim.Live();
  sim.StopClock();
  sim.Resize(kRack);
  sim.Pass();
  ASSERT_EQ(sim.node(Machine(0))->state, NodeState::kCordoned);
  // Long enough ago, but told only now.
  ASSERT_TRUE(sim.Report(Machine(kRack), O::kUnhealthy, "Xid 79").ok());
  sim.policy.triage_grace = absl::ZeroDuration();
  sim.Pass();
  sim.Pass();
  ASSERT_EQ(sim.node(Machine(kRack))->removal_cause, RemovalCause::kRepair);
  for (int i = 0; i < kRack; ++i) EXPECT_EQ(sim.node(Machine(i))->state, NodeState::kCordoned) << i;
  sim.LiveAmongOthers();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAreArray(sim.On(1)));
  EXPECT_THAT(sim.On(1), SizeIs(kRack - 1));
}

// Capacity would complete the rack that leaves: while the pool holds both, nothing is asked for.
TEST(VictimRacks, WhatIsLostWhileARackLeavesIsAskedForOnceItIsGone) {
  Racks sim(2);
  sim.Apply([](Spec& spec) { spec.disable_unhealthy_node_eviction = false; });
  sim.SetActive(Machine(0), false);
  for (int i = 0; i < 12; ++i) sim.stuck.insert(Machine(i));
  sim.Resize(kRack);
  sim.LiveAmongOthers();
  ASSERT_THAT(sim.On(0), SizeIs(12));
  sim.BreakDown(Machine(kRack));
  sim.LiveAmongOthers();
  ASSERT_THAT(sim.broken(), ElementsAre(Machine(kRack)));
  EXPECT_EQ(sim.claimed(), 12 + kRack - 1);
  sim.stuck.clear();
  sim.LiveAmongOthers();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAreArray(sim.On(1)));
  EXPECT_EQ(sim.claimed(), kRack);
  sim.Repair();
  sim.LiveAmongOthers();
  EXPECT_THAT(sim.On(1), SizeIs(kRack));
}

// Also where fewer are left of that rack than were lost: it is not filled up again as it empties.
TEST(VictimRacks, MoreThanARackThatLeavesHasLeftAreNotAskedForEither) {
  Racks sim(2);
  sim.policy.give_up_percent = 100;
  sim.Apply([](Spec& spec) { spec.disable_unhealthy_node_eviction = false; });
  sim.SetActive(Machine(0), false);
  sim.stuck = {Machine(0)};
  sim.Resize(kRack);
  sim.LiveAmongOthers();
  ASSERT_THAT(sim.On(0), ElementsAre(Machine(0)));
  sim.BreakDown(Machine(kRack));
  sim.BreakDown(Machine(kRack + 1));
  sim.LiveAmongOthers();
  ASSERT_THAT(sim.broken(), SizeIs(2));
  EXPECT_EQ(sim.claimed(), 1 + kRack - 2);
  EXPECT_EQ(sim.holding(), kRack) << "the charge stays";
  EXPECT_EQ(sim.pool()->account.deferred_nodes, 1);
  EXPECT_EQ(sim.pool()->status.queued_nodes, 1) << "and the one that leaves is there so far";
  // Nor while nobody can tell what a rack is, and the charge stays then, too.
  const CatalogueFacts read = sim.catalogue;
  sim.catalogue.known = false;
  sim.LiveAmongOthers();
  EXPECT_EQ(sim.claimed(), 1 + kRack - 2);
  EXPECT_EQ(sim.holding(), kRack);
  sim.catalogue = read;
  sim.stuck.clear();
  sim.LiveAmongOthers();
  EXPECT_THAT(sim.NodeMachines(), UnorderedElementsAreArray(sim.On(1)));
  EXPECT_THAT(sim.pool()->account.leaving_racks, SizeIs(0));
  EXPECT_EQ(sim.pool()->account.deferred_nodes, 0);
  EXPECT_EQ(sim.claimed(), kRack);
  sim.Repair();
  sim.LiveAmongOthers();
  EXPECT_THAT(sim.On(1), SizeIs(kRack));
  EXPECT_TRUE(sim.never_over && sim.fenced && sim.same_twice);
}

// Those that went first are gone, and nothing but the account tells that the rest was to go as
// well.
TEST(VictimRacks, TheLastOfARackThatLeavesGoesThoughAsManyOthersAreLost) {
  LastOfARack sim(1);
  EXPECT_THAT(sim.pool()->account.leaving_racks, SizeIs(1));
  sim.BreakDown(Machine(kRack));
  sim.LiveAmongOthers();
  ASSERT_THAT(sim.broken(), ElementsAre(Machine(kRack)));
  EXPECT_THAT(sim.On(0), ElementsAre(Machine(0))) << "it is at work";
  EXPECT_THAT(sim.ObstacleTexts(),
              Contains(HasSubstr("1 Node in racks that are given up stay until they are idle")));
  sim.SetActive(Machine(0), false);
  sim.LiveAmongOthers();
  EXPECT_THAT(sim.On(0), SizeIs(0));
  EXPECT_THAT(sim.pool()->account.leaving_racks, SizeIs(0));
  sim.Repair();
  sim.LiveAmongOthers();
  EXPECT_THAT(sim.On(1), SizeIs(kRack));
  EXPECT_TRUE(sim.never_over && sim.fenced && sim.same_twice);
}

// Whatever the last of it goes for.
TEST(VictimRacks, ARackThatLeavesIsNotForgottenWhenItsLastGoesForRepair) {
  LastOfARack sim(2);
  sim.policy.give_up_percent = 100;
  sim.BreakDown(Machine(kRack));
  sim.BreakDown(Machine(kRack + 1));
  sim.Live();
  ASSERT_THAT(sim.broken(), SizeIs(2));
  EXPECT_EQ(sim.claimed(), 1 + kRack - 2);
  sim.stuck = {Machine(0)};
  sim.BreakDown(Machine(0));
  sim.SetActive(Machine(0), false);
  sim.Live();
  ASSERT_EQ(sim.node(Machine(0))->removal_cause, RemovalCause::kRepair);
  EXPECT_THAT(sim.pool()->account.leaving_racks, SizeIs(1));
  EXPECT_EQ(sim.claimed(), kRack - 2) << "its machine goes back, and is not asked for again";
  sim.stuck.clear();
  sim.LiveAmongOthers();
  EXPECT_THAT(sim.On(0), SizeIs(0));
  EXPECT_EQ(sim.claimed(), kRack);
}

// Whose target asks for that rack again keeps it.
TEST(VictimRacks, ARackThatWasToLeaveStaysIfTheTargetRises) {
  LastOfARack sim(1);
  sim.Resize(2 * kRack);
  sim.Live();
  EXPECT_THAT(sim.pool()->account.leaving_racks, SizeIs(0));
  for (int i = 0; i < 2 * kRack; ++i) sim.SetActive(Machine(i), false);
  sim.Live();
  EXPECT_THAT(sim.NodeMachines(), SizeIs(2 * kRack));
}

// Who is named goes, whichever rack it is of, and makes its rack the first.
TEST(VictimRacks, NamedOnesComeFirst) {
  Racks sim(3);
  sim.Must(ResizeNodePool{
      .name = kSimPool, .target_nodes = 36, .remove_machines = {Machine(2 * kRack)}});
  sim.Live();
  EXPECT_THAT(sim.On(2), SizeIs(0));
  EXPECT_THAT(sim.NodeMachines(), SizeIs(36));
}

// Two half racks stay then: nobody goes who was not to.
TEST(VictimRacks, NamedOnesOfTwoRacksTakeNobodyElseAlong) {
  Racks sim(2);
  std::vector<std::string> named;
  for (int i = 0; i < kRack / 2; ++i) {
    named.push_back(Machine(i));
    named.push_back(Machine(kRack + i));
  }
  sim.Must(
      ResizeNodePool{.name = kSimPool, .target_nodes = kRack, .remove_machines = std::move(named)});
  sim.Live();
  EXPECT_THAT(sim.On(0), SizeIs(kRack / 2));
  EXPECT_THAT(sim.On(1), SizeIs(kRack / 2));
  EXPECT_EQ(sim.On(0).count(Machine(0)), 0U);
}

TEST(VictimRacks, OfATypeWithoutRacksWhoIsIdleGoes) {
  Racks sim(2, ScaleDownStrategy::kIdleOnly, /*nodes_per_rack=*/0);
  sim.Resize(kRack);
  sim.Live();
  EXPECT_THAT(sim.On(0), SizeIs(9));
  EXPECT_THAT(sim.On(1), SizeIs(9));
}

}  // namespace
}  // namespace muster::lifecycle
