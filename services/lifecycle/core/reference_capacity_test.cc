// The sentences of the public reference of NodePools, "Conditions".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/explain.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using O = ReportNode::Observation;

constexpr char kSufficient[] =
    "True/Sufficient: Sufficient capacity available for the requested instance type.";

// --- Capacity: "whether there is enough capacity available for the requested number of Nodes" ---

TEST(ReferenceCapacity, SufficientWhenNothingIsOutstanding) {
  EXPECT_EQ(Running(2).Says("Capacity"), kSufficient);
}

// "Partial: Partial capacity exists in the designated Region to fulfill the request, but not to
// completely fulfill it."
TEST(ReferenceCapacity, PartialWithFewerMachinesInServiceThanWanted) {
  Simulation sim;
  sim.Retire(97);
  sim.Create(5);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Capacity"),
            "False/Partial: 3 of 5 Nodes granted: only 3 machines of gd-8xa100-i128 in zone "
            "US-EAST-04A are in service.");
  EXPECT_EQ(sim.pool()->status.queued_nodes, 2);
  EXPECT_EQ(sim.pool()->status.current_nodes, 3);
  EXPECT_THAT(sim.Obstacles(), ElementsAre("NOT_ENOUGH_MACHINES"));
}

// "NoneAvailable: No Nodes are available of the requested type in the given Region."
TEST(ReferenceCapacity, NoneAvailableWithNoMachineInService) {
  Simulation sim;
  sim.Retire(100);
  sim.Create(2);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Capacity"),
            "False/NoneAvailable: No machine of gd-8xa100-i128 in zone US-EAST-04A is in service.");
  EXPECT_THAT(sim.Obstacles(), ElementsAre("NOT_ENOUGH_MACHINES"));
}

// What is in service may be too few for a gang: that none is in service would not be so.
TEST(ReferenceCapacity, NoneAvailableForAGangSaysHowManyAreInService) {
  Simulation sim;
  sim.Retire(97);
  sim.OthersTake(3);
  sim.whole = true;
  sim.Create(5);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(
      sim.Says("Capacity"),
      "False/NoneAvailable: No Node granted: 3 machines of gd-8xa100-i128 in zone US-EAST-04A "
      "are in service, too few for the gang.");
}

// As many as are asked for are in service, and yet make up no further whole rack: their number is
// not the reason.
TEST(ReferenceCapacity, PartialOfRacksDoesNotBlameTheNumberOfMachines) {
  for (const bool affinity : {false, true}) {
    SCOPED_TRACE(affinity);
    Simulation sim;
    sim.catalogue.type->nodes_per_rack = 4;
    sim.rack_size = 4;
    sim.no_whole_rack = true;
    sim.Retire(60);
    sim.OthersTake(36);
    if (affinity) {
      sim.matching.emplace();
      for (int i = 188; i < 200; ++i) sim.matching->insert(absl::StrCat("g", i));
      sim.Apply([](Spec& spec) { WantRowSeven(spec, 8); });
    } else {
      sim.Create(8);
    }
    ASSERT_TRUE(sim.Converge());
    EXPECT_EQ(sim.Says("Capacity"),
              affinity
                  ? "False/PartialNodeAffinity: 4 of 8 Nodes granted: 12 of 40 machines of "
                    "gd-8xa100-i128 in zone US-EAST-04A in service match the node affinity, too "
                    "few for the whole racks that are asked for."
                  : "False/Partial: 4 of 8 Nodes granted: 40 machines of gd-8xa100-i128 in zone "
                    "US-EAST-04A are in service, too few for the whole racks that are asked for.");
    EXPECT_THAT(sim.ObstacleTexts(), ElementsAre(HasSubstr("too few for the whole racks")));
  }
}

TEST(ReferenceCapacity, NoneOfRacksDoesNotBlameTheNumberOfMachines) {
  Simulation sim;
  sim.catalogue.type->nodes_per_rack = 4;
  sim.no_whole_rack = true;
  sim.matching = {"g100", "g101", "g102", "g103"};
  sim.OthersTake(100);
  sim.Apply([](Spec& spec) { WantRowSeven(spec, 4); });
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Capacity"),
            "False/NoneAvailableNodeAffinity: No Node granted: 4 of 100 machines of gd-8xa100-i128 "
            "in zone US-EAST-04A in service match the node affinity, too few for the whole racks "
            "that are asked for.");
}

// "NoneAvailableNodeAffinity: No Nodes are available for the requested instance type due to
// Affinity constraints."
TEST(ReferenceCapacity, NoneAvailableNodeAffinityWhenNoneMatches) {
  Simulation sim;
  sim.matching.emplace();
  sim.Apply([](Spec& spec) { WantRowSeven(spec, 2); });
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Capacity"),
            "False/NoneAvailableNodeAffinity: None of 100 machines of gd-8xa100-i128 in zone "
            "US-EAST-04A in service matches the node affinity.");
}

// "PartialNodeAffinity: Partial capacity is available to fulfill the requested targetNodes, full
// capacity is not available due to Affinity constraints."
TEST(ReferenceCapacity, PartialNodeAffinityWhenTooFewMatch) {
  Simulation sim;
  sim.matching = {"g150", "g160"};
  sim.Apply([](Spec& spec) { WantRowSeven(spec, 3); });
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Capacity"),
            "False/PartialNodeAffinity: 2 of 3 Nodes granted: only 2 of 100 machines of "
            "gd-8xa100-i128 in zone US-EAST-04A in service match the node affinity.");
  EXPECT_THAT(sim.Obstacles(), ElementsAre("NODE_AFFINITY"));
  sim.matching->insert("g170");
  ASSERT_TRUE(sim.Converge());
  EXPECT_THAT(sim.machines(), ElementsAre("g150", "g160", "g170"));
  EXPECT_EQ(sim.Says("Capacity"), kSufficient);
}

// "QueuedAwaitingCapacity: Request for additional Nodes has been queued and is awaiting for
// additional capacity to become available."
TEST(ReferenceCapacity, QueuedAwaitingCapacityWhileOthersHoldTheMachines) {
  Simulation sim;
  sim.OthersTake(99);
  sim.Create(3);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Capacity"),
            "False/QueuedAwaitingCapacity: 2 of 3 Nodes queued, awaiting capacity of "
            "gd-8xa100-i128 in zone US-EAST-04A.");
  EXPECT_EQ(sim.CountOf("CWInsufficientCapacity"), 1);
  sim.OthersLeave();
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Capacity"), kSufficient);
}

// While spot machines are reclaimed for it, that is said first, and by when: a machine that is
// reclaimed is shut down at T+7, whatever becomes of its drain. What is not given back then is
// named, and who must act.
TEST(ReferenceCapacity, WhatIsReclaimedForAPoolIsExplained) {
  Running sim(1);
  sim.OthersTake(99);
  sim.Resize(4);
  ASSERT_TRUE(sim.Converge());
  const absl::Time start = sim.now();
  sim.reclaimed = {
      3, {{"g900", start}, {"g901", start + absl::Minutes(20)}}, start + absl::Minutes(21)};
  const auto at = [](absl::Time time) {
    return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
  };
  const auto reclaiming = [&](absl::string_view machines, absl::Time until) {
    return absl::StrCat(machines, " being reclaimed from spot for this NodePool, until ", at(until),
                        " at the latest.");
  };
  const auto look = [&] {
    const Snapshot snapshot = sim.Look();
    std::vector<Obstacle> obstacles = Explain(snapshot, Plan(snapshot));
    EXPECT_EQ(obstacles.back().reason, "QUEUED");
    obstacles.pop_back();
    return obstacles;
  };
  const std::string three = "3 machines of gd-8xa100-i128 in zone US-EAST-04A are";
  const absl::Time end = start + absl::Minutes(21) + kPreemptionEnd;
  std::vector<Obstacle> obstacles = look();
  ASSERT_THAT(obstacles, SizeIs(1));
  EXPECT_EQ(obstacles[0].reason, "BEING_RECLAIMED");
  EXPECT_EQ(obstacles[0].actor, Actor::kNobody);
  EXPECT_EQ(obstacles[0].latest, end);
  EXPECT_EQ(obstacles[0].message, reclaiming(three, end));
  // Asked later, the same.
  sim.Advance(absl::Minutes(5));
  EXPECT_EQ(look(), obstacles);

  sim.Advance(kPreemptionEnd + kTerminationGrace - absl::Minutes(5));
  obstacles = look();
  ASSERT_THAT(obstacles, SizeIs(2));
  EXPECT_EQ(obstacles[0].reason, "AGENT_SILENT");
  EXPECT_EQ(obstacles[0].actor, Actor::kOperator);
  EXPECT_EQ(obstacles[0].message,
            absl::StrCat("Machine g900, reclaimed from spot for this NodePool, was to be shut down "
                         "at ",
                         at(start + kPreemptionEnd), ", and its agent has not said that it is."));
  EXPECT_EQ(obstacles[1].message,
            reclaiming("2 machines of gd-8xa100-i128 in zone US-EAST-04A are", end));
  EXPECT_EQ(obstacles[1].latest, end);

  // The last has had its notice; its agent has its time.
  sim.Advance(end - sim.now());
  EXPECT_EQ(look().back().latest, end + kTerminationGrace);
  sim.Advance(kTerminationGrace);
  obstacles = look();
  ASSERT_THAT(obstacles, SizeIs(3));
  EXPECT_EQ(obstacles[1].reason, "AGENT_SILENT");
}

// "InternalError: An internal error has occurred while attempting to check capacity."
TEST(ReferenceCapacity, InternalErrorWhileCapacityIsOutOfReach) {
  Running sim(1);
  sim.capacity_away = true;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Capacity"), "Unknown/InternalError: Capacity could not be checked.");
  EXPECT_EQ(sim.CountOf("CWNodePoolNodesRequestFailed"), 1);
  EXPECT_EQ(sim.last_plan.due, sim.now() + sim.policy.retry);
  sim.capacity_away = false;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Capacity"), kSufficient);
}

// --- Quota ---

// "Under: The organization is under quota for the Node Pool's instance type." "Over: ... over
// quota". All or nothing, and no Node is taken away because a limit fell.
TEST(ReferenceQuota, UnderThenOverThenUnder) {
  Running sim(2);
  EXPECT_EQ(sim.Says("Quota"), "True/Under: NodePool is within instance type quota.");
  sim.limit = 1;
  sim.Resize(3);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Quota"),
            "False/Over: NodePool targetNodes pushes you over quota for gd-8xa100-i128 in "
            "US-EAST-04A.");
  EXPECT_THAT(sim.machines(), SizeIs(2));
  EXPECT_EQ(sim.holding(), 2);
  EXPECT_EQ(sim.CountOf("CWOverQuota"), 1);
  EXPECT_THAT(sim.Obstacles(), ElementsAre("OVER_QUOTA"));
  sim.limit = 3;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Quota"), "Under");
  EXPECT_THAT(sim.machines(), SizeIs(3));
}

// "NotSet: The organization does not have a quota set for the Node Pool's instance type."
TEST(ReferenceQuota, NotSetWithoutALimit) {
  Simulation sim;
  sim.limit = 0;
  sim.Create(1);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Quota"),
            "False/NotSet: Quota not found for instance type gd-8xa100-i128 in zone US-EAST-04A.");
  EXPECT_THAT(sim.machines(), IsEmpty());
  EXPECT_THAT(sim.Obstacles(), ElementsAre("QUOTA_NOT_SET"));
}

// "InternalError: An internal error has occurred attempting to check the quota." The last granted
// holding stays in force.
TEST(ReferenceQuota, InternalErrorWhileQuotaIsOutOfReach) {
  Running sim(2);
  sim.quota_away = true;
  sim.Resize(3);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("Quota"), "Unknown/InternalError: Quota could not be checked.");
  EXPECT_EQ(sim.CountOf("CWNodePoolQuotaCheckFailed"), 1);
  EXPECT_THAT(sim.machines(), SizeIs(2));
  // Within it a broken Node is still replaced.
  sim.boot_fails = {"g100"};
  ASSERT_TRUE(sim.Report("g100", O::kUnhealthy, "Xid 79").ok());
  sim.Advance(sim.policy.triage_grace);
  sim.Drive();
  sim.Advance(sim.policy.cordon_settle);
  sim.Drive();
  EXPECT_EQ(sim.node("g100"), nullptr);
  EXPECT_THAT(sim.machines(), SizeIs(2));
  sim.quota_away = false;
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("Quota"), "Under");
  EXPECT_THAT(sim.machines(), SizeIs(3));
}

}  // namespace
}  // namespace muster::lifecycle
