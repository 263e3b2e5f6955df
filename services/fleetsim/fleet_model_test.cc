#include "services/fleetsim/fleet_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "services/fleetsim/testing/world.h"

namespace muster::fleetsim {
namespace {

using lifecycle::v1::Node;
using lifecycle::v1::NodeReport;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<NodeReport::Observation> Observations(const FleetModel::Due& due) {
  std::vector<NodeReport::Observation> observations;
  for (const NodeReport& report : due.reports) observations.push_back(report.observation());
  return observations;
}

TEST(FleetModelTest, BootsANodeIntoItsProfile) {
  World world(Exact());
  world.Show(world.Add(NewNode(0, kStart)));
  world.Run(absl::Hours(1));
  EXPECT_THAT(world.log().at("g100000"),
              ElementsAre("BOOT_STARTED@0", "REGISTERED@3000", "READY@4000"));
  EXPECT_EQ(world.node().state(), Node::STATE_PRODUCTION);
  EXPECT_EQ(world.node().observed().node_profile(), "np-0123456789ab");
  EXPECT_EQ(world.model().NextDue(), std::nullopt);
}

TEST(FleetModelTest, DoesNotBootWhatIsNotToRunYet) {
  World world(Exact());
  Node node = NewNode(0, kStart);
  node.mutable_desired()->clear_node_profile();
  world.Show(world.Add(node));
  EXPECT_EQ(world.model().NextDue(), std::nullopt);
  node.mutable_desired()->set_node_profile("np-0123456789ab");
  node.mutable_desired()->clear_phase();
  world.Show(node);
  EXPECT_EQ(world.model().NextDue(), std::nullopt);
}

TEST(FleetModelTest, FailsTheShareOfBootsThatItIsToldTo) {
  FleetOptions options = Exact();
  options.boot_failure_rate = 0.25;
  World world(options);
  for (int i = 0; i < 2000; ++i) world.Show(world.Add(NewNode(i, kStart)));
  world.Run(absl::Minutes(1));
  int64_t failed = 0;
  for (const auto& [name, node] : world.nodes())
    failed += node.state() == Node::STATE_DELIVERY_FAILED ? 1 : 0;
  EXPECT_GT(failed, 400);
  EXPECT_LT(failed, 600);
}

TEST(FleetModelTest, DrainsAnActiveNodeAndSwitchesItOff) {
  World world(Exact());
  Node node = NewNode(0, kStart);
  SetState(node, Node::STATE_PRODUCTION, kStart);
  SetActive(node, true, kStart);
  Cordon(node, true, kStart);
  world.Show(world.Add(node));
  world.Run(absl::Minutes(1));
  EXPECT_THAT(world.log().at("g100000"),
              ElementsAre("IDLE@5000", "DRAINED@5000", "TERMINATED@7000"));
  EXPECT_EQ(world.node().state(), Node::STATE_DELETED);
}

TEST(FleetModelTest, ADrainEndsAtItsDeadline) {
  World world(Exact());
  Node node = NewNode(0, kStart);
  Cordon(node, true, kStart);
  SetTime(*node.mutable_desired()->mutable_drain_deadline(), kStart + absl::Seconds(2));
  world.Show(world.Add(node));
  world.Run(absl::Seconds(3));
  EXPECT_THAT(world.log().at("g100000"), ElementsAre("DRAINED@2000"));
}

TEST(FleetModelTest, WorkComesAndGoesUntilTheNodeIsCordoned) {
  FleetOptions options = Exact();
  options.work_arrival = absl::Seconds(10);
  options.work_duration = absl::Seconds(10);
  World world(options);
  world.Show(world.Add(NewNode(0, kStart)));
  world.Run(absl::Minutes(10));
  const std::vector<std::string>& log = world.log().at("g100000");
  ASSERT_GT(log.size(), 20u);
  for (size_t i = 3; i < log.size(); ++i)
    EXPECT_EQ(log[i].substr(0, log[i].find('@')), i % 2 == 1 ? "ACTIVE" : "IDLE");

  while (!world.node().observed().active()) world.Run(absl::Seconds(1));
  Cordon(world.node(), false, world.now());
  world.ShowAll();
  world.Run(absl::Hours(1));
  EXPECT_FALSE(world.node().observed().active()) << "work ends on a cordoned Node";
  EXPECT_EQ(world.model().NextDue(), std::nullopt) << "none starts";
}

TEST(FleetModelTest, TheSameSeedGivesTheSameStoryInWhateverOrderMessagesCome) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const FleetOptions options{.seed = seed,
                               .boot_failure_rate = 0.2,
                               .work_arrival = absl::Seconds(20),
                               .work_duration = absl::Seconds(20)};
    std::vector<int> order(30);
    for (int i = 0; i < 30; ++i) order[static_cast<size_t>(i)] = i;
    World in_order(options);
    for (int i : order) in_order.Show(in_order.Add(NewNode(i, kStart)));
    in_order.Run(absl::Minutes(2));

    std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
    World shuffled(options);
    for (int i : order) shuffled.Show(shuffled.Add(NewNode(i, kStart)));
    for (int step = 0; step < 120; ++step) {
      shuffled.ShowAll();  // the same again changes nothing
      shuffled.Run(absl::Seconds(1));
    }
    ASSERT_EQ(in_order.log(), shuffled.log());
  }
}

TEST(FleetModelTest, ARestartLosesNothingAndChangesNoBoot) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const FleetOptions options{.seed = seed, .boot_failure_rate = 0.2};
    World steady(options);
    World restarted(options);
    for (int i = 0; i < 20; ++i) {
      steady.Show(steady.Add(NewNode(i, kStart)));
      restarted.Show(restarted.Add(NewNode(i, kStart)));
    }
    steady.Run(absl::Minutes(1));
    std::mt19937_64 random(seed);
    for (int i = 0; i < 5; ++i) {
      restarted.Run(absl::Milliseconds(random() % 1500));
      restarted.Restart();
    }
    restarted.Run(kStart + absl::Minutes(1) - restarted.now());
    ASSERT_EQ(steady.log(), restarted.log());
  }
}

TEST(FleetModelTest, SeedsDiffer) {
  World one({.seed = 1});
  World two({.seed = 2});
  one.Show(one.Add(NewNode(0, kStart)));
  two.Show(two.Add(NewNode(0, kStart)));
  one.Run(absl::Minutes(1));
  two.Run(absl::Minutes(1));
  EXPECT_NE(one.log(), two.log());
}

TEST(FleetModelTest, AMachineMayFareBetterTheNextTime) {
  const FleetOptions options{.boot_failure_rate = 0.5};
  World world(options);
  std::map<std::string, std::set<std::string>> stories;
  for (int life = 0; life < 10; ++life) {
    for (int i = 0; i < 10; ++i) world.Show(world.Add(NewNode(i, world.now())));
    world.Run(absl::Minutes(1));
    for (const auto& [name, node] : world.nodes())
      stories[name].insert(Node::State_Name(node.state()));
  }
  for (const auto& [name, story] : stories) EXPECT_EQ(story.size(), 2u) << name;
}

TEST(FleetModelTest, WhatWasLostIsSentAgainAndWhatWasRefusedIsNot) {
  FleetModel model(Exact());
  Node node = NewNode(0, kStart);
  model.Observe(node, kStart);
  auto due = model.TakeDue(kStart, 10);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(model.NextDue(), std::nullopt) << "under way";
  model.Answered(due[0], FleetModel::Outcome::kLost, kStart + absl::Seconds(1));
  EXPECT_EQ(model.NextDue(), kStart + absl::Seconds(1));
  due = model.TakeDue(kStart + absl::Seconds(1), 10);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_THAT(Observations(due[0]), ElementsAre(NodeReport::OBSERVATION_BOOT_STARTED));
  model.Answered(due[0], FleetModel::Outcome::kRefused, kStart);
  EXPECT_EQ(model.NextDue(), std::nullopt);

  SetState(node, Node::STATE_BOOTING, kStart + absl::Seconds(2));
  model.Observe(node, kStart + absl::Seconds(2));
  EXPECT_EQ(model.NextDue(), kStart + absl::Seconds(5));
  model.Answered(due[0], FleetModel::Outcome::kLost, kStart);
  EXPECT_EQ(model.NextDue(), kStart + absl::Seconds(5)) << "the Node is further than that answer";
}

TEST(FleetModelTest, ASnapshotForgetsWhatIsGoneAndAsksAgainForWhatDidNotHappen) {
  FleetModel model(Exact());
  model.Observe(NewNode(0, kStart), kStart);
  model.Observe(NewNode(1, kStart), kStart);
  for (const FleetModel::Due& due : model.TakeDue(kStart, 10)) {
    model.Answered(due, FleetModel::Outcome::kAccepted, kStart);
  }
  EXPECT_EQ(model.NextDue(), std::nullopt);
  model.BeginSnapshot();
  model.Observe(NewNode(1, kStart), kStart);
  model.EndSnapshot(kStart, kHistory);
  EXPECT_EQ(model.size(), 1u);
  const auto due = model.TakeDue(kStart, 10);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].node, NewNode(1, kStart).name());
}

TEST(FleetModelTest, OfWhatARestoredHistoryDoesNotKnowItGoesOnToReport) {
  FleetModel model(Exact());
  const Node young = NewNode(0, kStart);
  model.BeginSnapshot();
  model.Observe(young, kStart);
  model.EndSnapshot(kStart, kHistory);
  for (const char* incarnation : {"restored", "restored", "restored once more"}) {
    for (const FleetModel::Due& due : model.TakeDue(kStart, 10))
      model.Answered(due, FleetModel::Outcome::kRefused, kStart);
    EXPECT_EQ(model.NextDue(), std::nullopt);
    model.BeginSnapshot();
    model.EndSnapshot(kStart, incarnation);
    EXPECT_EQ(model.size(), 1u);
    EXPECT_EQ(model.unknown(), 1u);
    EXPECT_EQ(model.NextDue(), kStart) << "the restored history is told, too";
  }
  Node elsewhere = young;
  elsewhere.set_name("organizations/acme/clusters/c1/nodePools/other/nodes/g100000");
  model.Observe(elsewhere, kStart);
  EXPECT_EQ(model.unknown(), 0u);
  EXPECT_EQ(model.size(), 1u) << "the machine went on as another Node";
  EXPECT_EQ(model.TakeDue(kStart, 10).at(0).node, elsewhere.name());
}

TEST(FleetModelTest, ARemovedNodeIsNeverDue) {
  FleetModel model(Exact());
  model.Observe(NewNode(0, kStart), kStart);
  model.Remove(NewNode(0, kStart).name());
  model.Remove("no such Node");
  EXPECT_THAT(model.TakeDue(kStart + absl::Hours(1), 10), IsEmpty());
  EXPECT_EQ(model.size(), 0u);
}

TEST(FleetModelTest, AnAnswerForAFormerNodeDoesNotCountForTheNextOfItsName) {
  FleetModel model(Exact());
  model.Observe(NewNode(0, kStart), kStart);
  const auto due = model.TakeDue(kStart, 10);
  ASSERT_EQ(due.size(), 1u);
  model.Remove(due[0].node);
  const absl::Time later = kStart + absl::Seconds(1);
  Node next = NewNode(0, later);
  next.mutable_desired()->clear_phase();
  model.Observe(next, later);
  ASSERT_EQ(model.NextDue(), std::nullopt) << "it is not to boot yet";
  model.Answered(due[0], FleetModel::Outcome::kLost, later);
  EXPECT_EQ(model.NextDue(), std::nullopt);
}

TEST(FleetModelTest, AServerWhoseClockIsAheadIsNotWaitedFor) {
  FleetModel model(Exact());
  Node node = NewNode(0, kStart);
  SetState(node, Node::STATE_BOOTING, kStart + absl::Hours(1));
  model.Observe(node, kStart);
  EXPECT_EQ(model.NextDue(), kStart + absl::Seconds(3));
}

TEST(FleetModelTest, TakesNoMoreThanAsked) {
  FleetModel model(Exact());
  for (int i = 0; i < 25; ++i) model.Observe(NewNode(i, kStart), kStart);
  EXPECT_EQ(model.TakeDue(kStart, 10).size(), 10u);
  EXPECT_EQ(model.TakeDue(kStart, 10).size(), 10u);
  EXPECT_EQ(model.TakeDue(kStart, 10).size(), 5u);
}

}  // namespace
}  // namespace muster::fleetsim
