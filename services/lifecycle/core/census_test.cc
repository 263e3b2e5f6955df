#include "services/lifecycle/core/census.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/common/testing/fake_memory.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const absl::Time kCensusTime = absl::FromUnixSeconds(1'750'000'000);

Node NodeSince(NodeState state, absl::Duration since) {
  return {.name = "n", .state = state, .state_time = kCensusTime - since};
}

TEST(CensusTest, NodesByStateAndHowLongTheyAreInIt) {
  Census census;
  census.Add(NodeSince(NodeState::kBooting, absl::Seconds(60)), "Z", kCensusTime);
  census.Add(NodeSince(NodeState::kBooting, absl::Seconds(61)), "Z", kCensusTime);
  census.Add(NodeSince(NodeState::kBooting, absl::Minutes(16)), "Z", kCensusTime);
  const NodeCount& booting = census.In(NodeState::kBooting);
  EXPECT_EQ(booting.nodes, 3);
  EXPECT_EQ(booting.oldest, kCensusTime - absl::Minutes(16));
  EXPECT_THAT(booting.older, ElementsAre(2, 1, 1, 0, 0, 0));
  EXPECT_EQ(census.In(NodeState::kProduction), NodeCount());
}

TEST(CensusTest, WhoWaitsForItsAgentByZone) {
  Census census;
  for (int state = 0; state < kNodeStates; ++state) {
    for (const absl::Duration since : {absl::Minutes(15), absl::Minutes(16)}) {
      Node node = NodeSince(static_cast<NodeState>(state), since);
      node.desired.phase = Phase::kRunning;
      node.desired.phase_time = node.state_time;
      census.Add(node, "A", kCensusTime);
    }
  }
  // Until now there was no configuration.
  Node late = NodeSince(NodeState::kAssigned, absl::Hours(1));
  late.desired.phase = Phase::kRunning;
  late.desired.phase_time = kCensusTime - absl::Minutes(1);
  census.Add(late, "A", kCensusTime);
  census.Add(NodeSince(NodeState::kAssigned, absl::Hours(1)), "A",
             kCensusTime);  // nobody told it to boot
  census.Add(NodeSince(NodeState::kReconfiguring, absl::Minutes(16)), "B", kCensusTime);
  census.Add(NodeSince(NodeState::kReconfiguring, absl::Minutes(14)), "C", kCensusTime);
  // Its agent has answered; the boot deadline may be longer than that.
  census.Add(NodeSince(NodeState::kBooting, absl::Minutes(25)), "D", kCensusTime);
  census.Add(NodeSince(NodeState::kRegistered, absl::Minutes(25)), "D", kCensusTime);
  EXPECT_THAT(census.awaiting_agent,
              UnorderedElementsAre(Pair("A", 3), Pair("B", 1), Pair("C", 0), Pair("D", 0)));
}

// An order that its agent was not told yet, and a reboot that was told of, are nothing to wait for.
TEST(CensusTest, WhoWaitsForAReboot) {
  Census census;
  Node ordered = NodeSince(NodeState::kProduction, absl::Hours(1));
  ordered.orders.reboot = Reboot::kWhenIdle;
  ordered.orders.reboot_time = ordered.reconfigure_time = ordered.state_time;
  census.Add(ordered, "A", kCensusTime);
  Node back = NodeSince(NodeState::kReconfiguring, absl::Hours(1));
  back.observed.boot_time = kCensusTime - absl::Minutes(30);
  census.Add(back, "A", kCensusTime);
  census.Add(NodeSince(NodeState::kReconfiguring, absl::Hours(1)), "B", kCensusTime);
  EXPECT_THAT(census.awaiting_agent, UnorderedElementsAre(Pair("A", 0), Pair("B", 1)));
}

TEST(CensusTest, PreemptionsByPhase) {
  Node node = NodeSince(NodeState::kCordoned, absl::Minutes(1));
  node.preempt_time = kCensusTime - absl::Minutes(3);
  Census census;
  census.Add(node, "Z", kCensusTime);
  node.state = NodeState::kDraining;
  StartDrain(node.desired, kNever, kCensusTime);
  census.Add(node, "Z", kCensusTime);
  node.observed.drain_blocked_by = "a budget";
  census.Add(node, "Z", kCensusTime);
  // It is gone, its row is not yet.
  node.state = NodeState::kDeleted;
  census.Add(node, "Z", kCensusTime);
  EXPECT_EQ(census.preemptions_pending, 1);
  EXPECT_EQ(census.preemptions_draining, 2);
  EXPECT_EQ(census.drains_blocked, 1);
}

TEST(CensusTest, OfAHealthyPool) {
  Running world(3);
  const Census census = CensusOf(FakeMemory(world.state()), world.now());
  EXPECT_EQ(census.In(NodeState::kProduction).nodes, 3);
  EXPECT_THAT(census.pools_at_target, ElementsAre(Pair("TargetMet", 1)));
  EXPECT_EQ(census.conditions.at({"Quota", "True", "Under"}), 1);
  EXPECT_EQ(census.conditions.at({"Capacity", "True", "Sufficient"}), 1);
  EXPECT_EQ(census.nodes_unhealthy, 0);
}

TEST(CensusTest, APoolThatNobodyLookedAtIsNew) {
  Simulation world;
  world.Create(3);
  const Census census = CensusOf(FakeMemory(world.state()), world.now());
  EXPECT_THAT(census.pools_at_target, UnorderedElementsAre(Pair("New", 1)));
}

TEST(CensusTest, ReconfigurationsByState) {
  Outdated world(4);
  world.Ask();
  EXPECT_THAT(CensusOf(FakeMemory(world.state()), world.now()).reconfigurations,
              ElementsAre(1, 0, 0, 0, 0));
  world.Live();
  EXPECT_THAT(CensusOf(FakeMemory(world.state()), world.now()).reconfigurations,
              ElementsAre(0, 0, 0, 1, 0));
}

}  // namespace
}  // namespace muster::lifecycle
