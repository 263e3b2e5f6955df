#include "services/fleetsim/behaviour.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "absl/strings/numbers.h"
#include "services/fleetsim/testing/world.h"

namespace muster::fleetsim {
namespace {

using lifecycle::v1::Node;
using lifecycle::v1::NodeReport;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

constexpr char kOld[] = "np-0123456789ab";
constexpr char kNew[] = "np-ba9876543210";

Node Draining(bool active) {
  Node node = RunningNode(0);
  SetActive(node, active, kStart);
  Cordon(node, true, kStart);
  return node;
}

// What was reported of a world with this one Node after so long.
std::vector<std::string> Story(const FleetOptions& options, const Node& node,
                               absl::Duration duration) {
  World world(options);
  world.Show(world.Add(node));
  world.Run(duration);
  const auto it = world.log().find(node.machine());
  return it == world.log().end() ? std::vector<std::string>() : it->second;
}

// The kind of each report of a story.
std::set<std::string> Kinds(const std::vector<std::string>& story) {
  std::set<std::string> kinds;
  for (const std::string& line : story) kinds.insert(line.substr(0, line.find('@')));
  return kinds;
}

TEST(BehaviourTest, RebootsANodeIntoItsNewProfile) {
  Node node = RunningNode(0);
  SetState(node, Node::STATE_RECONFIGURING, kStart);
  node.mutable_desired()->set_node_profile(kNew);
  World world(Exact());
  world.Show(world.Add(node));
  world.Run(absl::Hours(1));
  EXPECT_THAT(world.log().at(kMachine), ElementsAre("REGISTERED@3000", "READY@4000"));
  EXPECT_EQ(world.node().state(), Node::STATE_PRODUCTION);
  EXPECT_EQ(world.node().observed().node_profile(), kNew);
}

// One that goes on with what it runs is rebooted all the same: another boot tells so.
TEST(BehaviourTest, RebootsANodeIntoTheSameProfile) {
  Node node = RunningNode(0);
  node.mutable_observed()->set_boot_id("boot-0");
  SetState(node, Node::STATE_RECONFIGURING, kStart);
  node.mutable_desired()->set_node_profile(node.observed().node_profile());
  World world(Exact());
  world.Show(world.Add(node));
  world.Run(absl::Hours(1));
  EXPECT_THAT(world.log().at(kMachine), ElementsAre("REGISTERED@3000", "READY@4000"));
  const std::string boot = world.node().observed().boot_id();
  EXPECT_EQ(boot, BootIdOf(kStart, kStart));
  EXPECT_NE(boot, BootIdOf(kStart, kStart + absl::Minutes(1)));
}

// Reboots every Node that is not off into the profile; returns how many are off then.
int64_t RebootAll(World& world, const char* profile) {
  for (auto& [name, node] : world.nodes()) {
    if (node.state() == Node::STATE_DELIVERY_FAILED) continue;
    SetState(node, Node::STATE_RECONFIGURING, world.now());
    node.mutable_desired()->set_node_profile(profile);
  }
  world.ShowAll();
  world.Run(absl::Minutes(1));
  return std::count_if(world.nodes().begin(), world.nodes().end(), [](const auto& entry) {
    return entry.second.state() == Node::STATE_DELIVERY_FAILED;
  });
}

TEST(BehaviourTest, RebootsFailAsBootsDoAndEachIsDrawnAnew) {
  FleetOptions options = Exact();
  options.boot_failure_rate = 0.25;
  World world(options);
  for (int i = 0; i < 1000; ++i) world.Show(world.Add(RunningNode(i)));
  const int64_t first = RebootAll(world, kNew);
  EXPECT_GT(first, 200);
  EXPECT_LT(first, 300);
  const int64_t then = RebootAll(world, kOld);
  EXPECT_GT(then, first + 130) << "a quarter of those that came back";
  EXPECT_LT(then, first + 250);
}

TEST(BehaviourTest, AFailureComesOverANodeAndMayPass) {
  FleetOptions options = Exact();
  options.failure_arrival = absl::Hours(1);
  EXPECT_THAT(Kinds(Story(options, RunningNode(0), absl::Hours(100))), ElementsAre("UNHEALTHY"))
      << "it does not recover by itself";
  options.recovery_arrival = absl::Minutes(10);
  const std::vector<std::string> story = Story(options, RunningNode(0), absl::Hours(100));
  ASSERT_GT(story.size(), 20u);
  for (size_t i = 0; i < story.size(); ++i)
    EXPECT_EQ(story[i].substr(0, story[i].find('@')), i % 2 == 0 ? "UNHEALTHY" : "RECOVERED");
}

TEST(BehaviourTest, TheShareThatIsAskedForFailsAtOnce) {
  World world(Exact());
  for (int i = 0; i < 200; ++i) world.Show(world.Add(RunningNode(i)));
  Node leaving = RunningNode(200);
  Cordon(leaving, false, kStart);
  world.Show(world.Add(leaving));
  world.Run(absl::Hours(1));
  std::set<std::string> before;
  for (int64_t expected : {10, 9}) {
    EXPECT_EQ(world.model().Fail(0.05, world.now()), expected) << "of 200, and of the 190 left";
    EXPECT_EQ(world.model().NextDue(), world.now());
    world.Run(absl::ZeroDuration());
  }
  int64_t unhealthy = 0;
  for (const auto& [name, node] : world.nodes())
    unhealthy += node.observed().unhealthy() && node.state() == Node::STATE_TRIAGE ? 1 : 0;
  EXPECT_EQ(unhealthy, 19);
  EXPECT_FALSE(world.nodes()[leaving.name()].observed().unhealthy());
  EXPECT_EQ(world.model().NextDue(), std::nullopt);
}

TEST(BehaviourTest, WhatADrainTakesFollowsFromTheClassOfTheWork) {
  FleetOptions options = Exact();
  options.grace_period = absl::Seconds(20);
  EXPECT_THAT(Story(options, Draining(true), absl::Minutes(1)),
              ElementsAre("IDLE@5000", "DRAINED@5000", "TERMINATED@7000"));
  options.interruptible_share = 1;
  EXPECT_THAT(Story(options, Draining(true), absl::Minutes(1)),
              ElementsAre("IDLE@0", "DRAINED@0", "TERMINATED@2000"));
  options.interruptible_share = 0;
  options.graceful_share = 1;
  EXPECT_THAT(Story(options, Draining(true), absl::Minutes(1)),
              ElementsAre("IDLE@20000", "DRAINED@20000", "TERMINATED@22000"));
  EXPECT_THAT(Story(options, Draining(false), absl::Minutes(1)),
              ElementsAre("DRAINED@5000", "TERMINATED@7000"))
      << "no work, no class";
}

TEST(BehaviourTest, ABudgetHoldsADrainUpForAWhile) {
  FleetOptions options = Exact();
  options.drain_block_rate = 1;
  const std::vector<std::string> story = Story(options, Draining(true), absl::Hours(1));
  ASSERT_EQ(story.size(), 5u);
  EXPECT_EQ(story[0], "DRAIN_BLOCKED@0");
  EXPECT_EQ(Kinds(story).count("DRAIN_UNBLOCKED"), 1u);
  int64_t unblocked = 0;
  int64_t drained = 0;
  ASSERT_TRUE(absl::SimpleAtoi(story[1].substr(story[1].find('@') + 1), &unblocked));
  ASSERT_TRUE(absl::SimpleAtoi(story[3].substr(story[3].find('@') + 1), &drained));
  EXPECT_NEAR(static_cast<double>(drained - unblocked), 5000, 1);
  EXPECT_EQ(Kinds(Story(options, Draining(false), absl::Hours(1))).count("DRAIN_BLOCKED"), 0u)
      << "without work there is nothing that a budget protects";
  options.graceful_share = 1;
  EXPECT_THAT(Kinds(Story(options, Draining(true), absl::Hours(1))),
              Not(Contains("DRAIN_BLOCKED")));
}

TEST(BehaviourTest, ForceAndDeadlineEndADrainThatIsHeldUp) {
  FleetOptions options = Exact();
  options.drain_block_rate = 1;
  options.drain_block_time = absl::Hours(1000);
  Node node = Draining(true);
  SetTime(*node.mutable_desired()->mutable_drain_deadline(), kStart + absl::Seconds(90));
  EXPECT_THAT(Story(options, node, absl::Hours(1)),
              ElementsAre("DRAIN_BLOCKED@0", "IDLE@90000", "DRAINED@90000", "TERMINATED@92000"));
  World world(options);
  world.Show(world.Add(Draining(true)));
  world.Run(absl::Minutes(1));
  world.node().mutable_desired()->set_force_drain(true);
  world.ShowAll();
  world.Run(absl::Minutes(1));
  EXPECT_THAT(world.log().at(kMachine),
              ElementsAre("DRAIN_BLOCKED@0", "IDLE@60000", "DRAINED@60000", "TERMINATED@62000"));
}

TEST(BehaviourTest, ADrainBeforeARebootEndsTheWorkOnly) {
  Node node = RunningNode(0);
  SetActive(node, true, kStart);
  node.mutable_desired()->set_cordoned(true);
  node.mutable_desired()->set_drain(true);
  SetTime(*node.mutable_desired()->mutable_drain_time(), kStart + absl::Seconds(1));
  World world(Exact());
  world.Run(absl::Seconds(1));
  world.Show(world.Add(node));
  world.Run(absl::Hours(1));
  EXPECT_THAT(world.log().at(kMachine), ElementsAre("CORDONED@1000", "IDLE@6000"));
}

TEST(BehaviourTest, ACordonIsToldOnce) {
  Node node = RunningNode(0);
  Cordon(node, /*drain=*/false, kStart);
  EXPECT_THAT(Story(Exact(), node, absl::Hours(1)), ElementsAre("CORDONED@0"));
}

// A cordon that follows another one is told of its own, also where nothing was seen in between.
TEST(BehaviourTest, ACordonIsToldByTheTimeItIsDesiredFrom) {
  Node node = RunningNode(0);
  node.mutable_desired()->set_cordoned(true);
  const auto view_of = [&](absl::Time ordered) {
    SetTime(*node.mutable_orders()->mutable_cordon_time(), ordered);
    return Behaviour::ViewOf(node);
  };
  Life life{.machine = node.machine(), .view = view_of(kStart + absl::Seconds(1))};
  const NodeView next = view_of(kStart + absl::Seconds(2));
  EXPECT_NE(life.view, next);
  life.view = next;
  const auto reports = Behaviour(Exact()).Reports(node.name(), life, Action::kTellCordon);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].observation(), NodeReport::OBSERVATION_CORDONED);
  EXPECT_EQ(reports[0].desired_time().seconds(), absl::ToUnixSeconds(kStart) + 2);

  SetTime(*node.mutable_desired()->mutable_cordon_time(), kStart + absl::Seconds(3));
  life.view = Behaviour::ViewOf(node);
  const auto echoed = Behaviour(Exact()).Reports(node.name(), life, Action::kTellCordon);
  ASSERT_EQ(echoed.size(), 1u);
  EXPECT_EQ(echoed[0].desired_time().seconds(), absl::ToUnixSeconds(kStart) + 3);
}

TEST(BehaviourTest, ARestartDoesNotProlongADrainThatIsHeldUp) {
  FleetOptions options;
  options.drain_block_rate = 0.5;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    options.seed = seed;
    World steady(options);
    World restarted(options);
    steady.Show(steady.Add(Draining(true)));
    restarted.Show(restarted.Add(Draining(true)));
    steady.Run(absl::Hours(1));
    for (int i = 0; i < 20; ++i) {
      restarted.Run(absl::Seconds(3));
      restarted.Restart();
    }
    restarted.Run(kStart + absl::Hours(1) - restarted.now());
    ASSERT_EQ(steady.log(), restarted.log());
  }
}

TEST(BehaviourTest, StagingMayFailOnceAndASwitchOffToo) {
  FleetOptions options = Exact();
  options.staging_failure_rate = 1;
  options.removal_failure_rate = 1;
  Node node = RunningNode(0);
  EXPECT_TRUE(Story(options, node, absl::Hours(1)).empty()) << "nothing to stage";
  node.mutable_desired()->set_node_profile(kNew);
  EXPECT_THAT(Story(options, node, absl::Hours(1)),
              ElementsAre("STAGING_FAILED@1000", "STAGED@2000"));
  SetState(node, Node::STATE_PREPARED_FOR_TERMINATE, kStart);
  node.mutable_desired()->set_phase(lifecycle::v1::NodeDesired::PHASE_TERMINATED);
  EXPECT_THAT(Story(options, node, absl::Hours(1)),
              ElementsAre("REMOVAL_FAILED@2000", "TERMINATED@4000"));
}

TEST(BehaviourTest, MarksComeToIdleNodesAndNoWorkToCordonedOnes) {
  FleetOptions options = Exact();
  options.mark_arrival = absl::Minutes(1);
  options.cordon_arrival = absl::Minutes(1);
  Node busy = RunningNode(0);
  SetActive(busy, true, kStart);
  options.work_duration = absl::Hours(1000);
  EXPECT_THAT(Kinds(Story(options, busy, absl::Hours(1))),
              ElementsAre("SCHEDULABLE", "UNSCHEDULABLE"));
  EXPECT_THAT(
      Kinds(Story(options, RunningNode(0), absl::Hours(1))),
      ElementsAre("AUTOSCALER_MARKED", "AUTOSCALER_UNMARKED", "SCHEDULABLE", "UNSCHEDULABLE"));
  options.cordon_duration = absl::Hours(1000);
  options.work_arrival = absl::Seconds(10);
  Node closed = RunningNode(0);
  closed.mutable_observed()->set_unschedulable(true);
  EXPECT_THAT(Kinds(Story(options, closed, absl::Hours(1))), Not(Contains("ACTIVE")));
}

TEST(BehaviourTest, EveryKindOfReportIsMade) {
  const FleetOptions options{.boot_failure_rate = 0.2,
                             .work_arrival = absl::Seconds(20),
                             .work_duration = absl::Minutes(1),
                             .interruptible_share = 0.2,
                             .graceful_share = 0.2,
                             .drain_block_rate = 0.5,
                             .failure_arrival = absl::Minutes(5),
                             .recovery_arrival = absl::Minutes(1),
                             .mark_arrival = absl::Minutes(2),
                             .mark_duration = absl::Minutes(1),
                             .cordon_arrival = absl::Minutes(5),
                             .cordon_duration = absl::Minutes(1),
                             .staging_failure_rate = 0.5,
                             .removal_failure_rate = 0.5};
  World world(options);
  for (int i = 0; i < 200; ++i) world.Show(world.Add(NewNode(i, kStart)));
  world.Run(absl::Minutes(5));
  for (auto& [name, node] : world.nodes()) node.mutable_desired()->set_node_profile(kNew);
  world.ShowAll();
  world.Run(absl::Minutes(5));
  for (const bool drain : {false, true}) {
    for (auto& [name, node] : world.nodes()) {
      if (node.state() == (drain ? Node::STATE_CORDONED : Node::STATE_PRODUCTION))
        Cordon(node, drain, world.now());
    }
    world.ShowAll();
    world.Run(drain ? absl::Hours(1) : absl::Seconds(1));
  }
  std::set<std::string> made;
  for (const auto& [machine, story] : world.log()) made.merge(Kinds(story));
  for (int kind = 1; kind < NodeReport::Observation_ARRAYSIZE; ++kind)
    EXPECT_EQ(
        made.count(
            NodeReport::Observation_Name(static_cast<NodeReport::Observation>(kind)).substr(12)),
        1u)
        << NodeReport::Observation_Name(static_cast<NodeReport::Observation>(kind));
}

}  // namespace
}  // namespace muster::fleetsim
