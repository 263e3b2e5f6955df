// Nodes that are given up because time went by: a share of the pool within an interval, so that a
// clock that is wrong costs little.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/testing/simulation.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::Not;

class GiveUp : public ::testing::Test {
 protected:
  // A pool whose Nodes were all told to boot and say nothing any more.
  void Boot(int64_t target) {
    sim_.limit = 10'000;
    sim_.Deliver(static_cast<int>(std::max<int64_t>(0, target - 100)));
    sim_.Create(target);
    Silence();
    PassAll();
    ASSERT_EQ(sim_.pool()->status.in_progress, target);
  }
  // No agent says anything.
  void Silence() {
    for (int i = 0; i < 100; ++i) sim_.stuck.insert(absl::StrCat("g", 100 + i));
    for (int i = 0; i < 2'000; ++i) sim_.stuck.insert(absl::StrCat("m", 1'000 + i));
  }
  void PassAll() {
    for (int i = 0; i < 100 && sim_.Pass(); ++i) {
    }
  }
  // Nodes that were given up so far and have not gone, and machines that went to repair.
  size_t Lost() const {
    const std::vector<const Node*> nodes = sim_.state().NodesOf(kSimPool);
    return sim_.broken().size() +
           static_cast<size_t>(std::count_if(nodes.begin(), nodes.end(), [](const Node* node) {
             return node->state == NodeState::kDeliveryFailed ||
                    node->removal_cause == RemovalCause::kRepair;
           }));
  }
  bool Disabled() const {
    return std::any_of(sim_.configuration.revisions.begin(), sim_.configuration.revisions.end(),
                       [](const NodeConfiguration& revision) { return revision.disabled; });
  }
  std::string Explained(absl::string_view reason) {
    const Snapshot snapshot = sim_.Look();
    for (const Obstacle& obstacle : Explain(snapshot, Plan(snapshot))) {
      if (obstacle.reason == reason) return obstacle.message;
    }
    return "";
  }

  Simulation sim_;
};

TEST_F(GiveUp, AClockThatIsAheadFailsAShareOfTheBootsOnly) {
  Boot(1'000);
  sim_.Advance(absl::Minutes(31));
  PassAll();
  EXPECT_EQ(Lost(), 100);
  EXPECT_FALSE(Disabled());
  EXPECT_THAT(sim_.Obstacles(), Contains("GIVE_UP_LIMIT"));
  sim_.stuck.clear();
  sim_.Deliver(1'200);
  EXPECT_TRUE(sim_.Converge());
  EXPECT_EQ(sim_.Reason("AtTarget"), "TargetMet");
  EXPECT_EQ(Lost(), 100);
  EXPECT_THAT(sim_.Obstacles(), Not(Contains("GIVE_UP_LIMIT")));
}

TEST_F(GiveUp, AClockThatIsAheadReplacesAShareOfTheUnhealthyOnly) {
  sim_.Create(40);
  ASSERT_TRUE(sim_.Converge());
  for (const std::string& machine : sim_.machines()) {
    ASSERT_TRUE(sim_.Report(machine, Simulation::O::kUnhealthy, "no link").ok());
  }
  Silence();
  PassAll();
  sim_.Advance(absl::Minutes(31));
  PassAll();
  EXPECT_EQ(Lost(), 4);
  EXPECT_THAT(sim_.Obstacles(), Contains("GIVE_UP_LIMIT"));
}

TEST_F(GiveUp, ExplainSaysHowManyWaitAndUntilWhen) {
  Boot(20);
  sim_.StopClock();
  sim_.Advance(absl::Minutes(31));
  PassAll();
  EXPECT_EQ(Lost(), 2);
  const absl::Time next = sim_.now() + absl::Minutes(10);
  EXPECT_EQ(Explained("GIVE_UP_LIMIT"),
            absl::StrCat("Not given up yet: 18 Nodes past the boot deadline; at most 2 of this "
                         "NodePool are given up in 10m, the next at ",
                         absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", next, absl::UTCTimeZone()), "."));
  sim_.Pass();
  EXPECT_EQ(sim_.last_plan.due, next);
}

// Failures that are true are carried out all the same, only not all at once; the configuration that
// none of them boots is disabled after three intervals.
TEST_F(GiveUp, ThoseThatNeverBootAreAllGivenUp) {
  Boot(20);
  sim_.Advance(absl::Minutes(31));
  for (size_t interval = 0; interval < 3; ++interval) {
    PassAll();
    EXPECT_EQ(Lost(), 2 * (interval + 1));
    EXPECT_EQ(Disabled(), interval == 2);
    sim_.Advance(absl::Minutes(10));
  }
  for (int interval = 0; interval < 20; ++interval) {
    PassAll();
    sim_.Advance(absl::Minutes(10));
  }
  for (int i = 100; i < 120; ++i) EXPECT_TRUE(sim_.broken().contains(absl::StrCat("g", i))) << i;
  EXPECT_THAT(sim_.Obstacles(), Not(Contains("GIVE_UP_LIMIT")));
}

TEST_F(GiveUp, ASmallPoolGivesUpOneAtOnce) {
  Boot(3);
  sim_.Advance(absl::Minutes(30));
  PassAll();
  EXPECT_EQ(Lost(), 1);
  sim_.Advance(absl::Minutes(10) - absl::Seconds(1));
  PassAll();
  EXPECT_EQ(Lost(), 1);
  sim_.Advance(absl::Seconds(1));
  PassAll();
  EXPECT_EQ(Lost(), 2);
}

// The longest late first, whatever the Nodes are called.
TEST_F(GiveUp, TheLongestLateGoFirst) {
  sim_.breaker = 1'000;
  Boot(10);
  sim_.Resize(20);
  sim_.Advance(absl::Minutes(5));
  PassAll();
  const absl::Time second = sim_.node("g119")->desired.phase_time;
  ASSERT_LT(sim_.node("g109")->desired.phase_time, second);
  sim_.Advance(absl::Minutes(40));
  for (int interval = 0; interval < 5; ++interval) {
    PassAll();
    sim_.Advance(absl::Minutes(10));
  }
  for (int i = 100; i < 110; ++i) EXPECT_TRUE(sim_.broken().contains(absl::StrCat("g", i))) << i;
  EXPECT_EQ(sim_.broken().size(), 10);
}

TEST_F(GiveUp, TheLongestIllGoFirst) {
  sim_.Create(3);
  ASSERT_TRUE(sim_.Converge());
  ASSERT_TRUE(sim_.Report("g101", Simulation::O::kUnhealthy, "Xid 79").ok());
  sim_.Advance(absl::Minutes(1));
  ASSERT_TRUE(sim_.Report("g100", Simulation::O::kUnhealthy, "Xid 79").ok());
  sim_.Advance(sim_.policy.triage_grace);
  sim_.Pass();
  EXPECT_EQ(sim_.node("g101")->state, NodeState::kCordoned);
  EXPECT_EQ(sim_.node("g101")->removal_cause, RemovalCause::kRepair);
  EXPECT_EQ(sim_.node("g100")->state, NodeState::kTriage);
  EXPECT_THAT(sim_.Obstacles(), Contains("GIVE_UP_LIMIT"));
}

TEST_F(GiveUp, TheRowsKeepTheCountAndNothingIsWrittenMeanwhile) {
  Boot(20);
  sim_.Advance(absl::Minutes(31));
  PassAll();
  const auto given_up = sim_.pool()->account.given_up;
  EXPECT_EQ(given_up.nodes, 2);
  EXPECT_LE(given_up.since, sim_.now());
  EXPECT_TRUE(given_up.boot_counted);
  EXPECT_THAT(sim_.pool()->account.boot_failures.machines, ::testing::SizeIs(1));
  const int64_t revision = sim_.revision();
  for (int i = 0; i < 9; ++i) {
    sim_.Advance(absl::Minutes(1));
    sim_.Pass();
  }
  EXPECT_EQ(sim_.revision(), revision);
}

// A reboot of an ill Node that takes too long says nothing of what it boots: the next one counts.
TEST_F(GiveUp, TheBootThatCountsIsNoneOfAnIllNode) {
  sim_.Create(20);
  ASSERT_TRUE(sim_.Converge());
  const auto reboot = [&](const std::string& machine) {
    sim_.Must(OrderNode{.name = NodeName(kSimPool, machine),
                        .verb = OrderNode::Verb::kReboot,
                        .reboot = Reboot::kForced});
    sim_.Pass();
    ASSERT_EQ(sim_.node(machine)->state, NodeState::kReconfiguring);
  };
  ASSERT_TRUE(sim_.Report("g100", Simulation::O::kUnhealthy, "fan").ok());
  sim_.Pass();
  Silence();
  reboot("g100");
  sim_.Advance(absl::Minutes(1));
  reboot("g101");
  sim_.Advance(sim_.policy.boot_deadline);
  PassAll();
  EXPECT_EQ(Lost(), 2);
  EXPECT_THAT(sim_.pool()->account.boot_failures.machines, ::testing::ElementsAre("g101"));
}

// A clock that comes back from the future: nobody is given up before that time is over.
TEST_F(GiveUp, ATimeThatIsStillToComeCountsAsNow) {
  Boot(20);
  sim_.Advance(absl::Minutes(62));
  PassAll();
  EXPECT_EQ(Lost(), 2);
  sim_.Advance(-absl::Minutes(31));
  PassAll();
  EXPECT_EQ(Lost(), 2);
  EXPECT_TRUE(sim_.same_twice);
}

// Agents that say that a boot failed are believed, however many they are.
TEST_F(GiveUp, WhatAgentsReportIsNotBounded) {
  Boot(20);
  for (int i = 100; i < 110; ++i) {
    ASSERT_TRUE(sim_.Report(absl::StrCat("g", i), Simulation::O::kBootFailed, "no kernel").ok());
  }
  EXPECT_EQ(Lost(), 10);
  EXPECT_THAT(sim_.pool()->account.boot_failures.machines, ::testing::SizeIs(10));
}

}  // namespace
}  // namespace muster::lifecycle
