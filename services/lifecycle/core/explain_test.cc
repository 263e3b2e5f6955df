// Who must act on every obstacle that explain knows, and by when it passes where nobody has to. A
// new one without a case in testing/obstacles.h fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "services/lifecycle/core/testing/obstacles.h"

namespace muster::lifecycle {
namespace {

using obstacles::Cases;
using obstacles::Live;
using obstacles::Sim;
using obstacles::When;

std::set<std::string> AllReasons() {
  std::set<std::string> all;
  for (int i = 0; i < kDeferReasons; ++i) all.insert(DeferReasonName(static_cast<DeferReason>(i)));
  for (int i = 0; i < kObstacleReasons; ++i)
    all.insert(ObstacleReasonName(static_cast<ObstacleReason>(i)));
  return all;
}

TEST(Obstacles, EachHasACase) {
  std::set<std::string> covered;
  for (const auto& [reason, unused] : Cases()) covered.insert(reason);
  EXPECT_EQ(covered, AllReasons());
  EXPECT_FALSE(covered.contains("")) << "an enumerator without a word, or too high a count";
}

TEST(Obstacles, ThatNobodyReconcilesComesFirstAndOnlyOfWhatHasToHappen) {
  const Sim sim = Live(1);
  sim->loop.leaderless = true;
  EXPECT_TRUE(sim->Obstacles().empty()) << "it is where it should be";
  sim->Resize(51);
  EXPECT_THAT(sim->Obstacles(), ::testing::ElementsAre("NO_LEADER", "OVER_QUOTA"));
  EXPECT_THAT(sim->ObstacleTexts()[0], ::testing::Not(::testing::HasSubstr("cannot commit")));
  sim->loop.can_commit = false;
  EXPECT_THAT(sim->ObstacleTexts()[0], ::testing::HasSubstr("cannot commit"));
  sim->loop.leaderless = false;
  EXPECT_THAT(sim->Obstacles(), ::testing::ElementsAre("OVER_QUOTA")) << "another replica can";
}

// "What callers are promised in a status message, an event or explain names who must act and by
// when".
TEST(Obstacles, EachNamesWhoMustActAndByWhen) {
  for (const auto& [reason, expected] : Cases()) {
    SCOPED_TRACE(reason);
    const Sim sim = expected.make();
    const Snapshot snapshot = sim->Look();
    const std::vector<Obstacle> obstacles = Explain(snapshot, Plan(snapshot));
    const auto found = std::find_if(obstacles.begin(), obstacles.end(),
                                    [&](const Obstacle& o) { return o.reason == reason; });
    if (found == obstacles.end()) {
      ADD_FAILURE() << "is not told; " << ::testing::PrintToString(sim->ObstacleTexts());
      continue;
    }
    EXPECT_EQ(found->actor, expected.actor) << found->message;
    EXPECT_EQ(found->latest != kNever, expected.when == When::kTimed) << found->message;
    if (found->latest != kNever) {
      EXPECT_GT(found->latest, sim->now());
    }
    EXPECT_FALSE(found->subject.empty());
    EXPECT_TRUE(absl::EndsWith(found->message, ".")) << found->message;
  }
}

// Nobody is sent after what a pool does not need in order to become smaller.
TEST(Obstacles, WhatIsDeletedNeedsNeitherQuotaNorAValidSpec) {
  const auto deleted = [](const std::function<void(Simulation&)>& act) {
    const Sim sim = Live(3);
    for (const std::string& machine : sim->NodeMachines()) {
      sim->SetActive(machine, true);
      sim->blocked_by[machine] = "default/web-pdb";
    }
    act(*sim);
    sim->Delete();
    EXPECT_TRUE(sim->Converge());
    EXPECT_FALSE(sim->NodeMachines().empty());
    return sim->Obstacles();
  };
  const std::vector<std::string> wanted = deleted([](Simulation&) {});
  EXPECT_THAT(wanted, ::testing::Contains("DRAIN_BLOCKED"));
  EXPECT_EQ(deleted([](Simulation& sim) { sim.quota_not_set = true; }), wanted);
  EXPECT_EQ(deleted([](Simulation& sim) { sim.limit = 1; }), wanted);
  EXPECT_EQ(deleted([](Simulation& sim) { sim.catalogue.offered = false; }), wanted);
}

TEST(Obstacles, WhatShrinksBelowItsQuotaIsNotOverIt) {
  const Sim sim = Live(12);
  for (const std::string& machine : sim->NodeMachines()) sim->SetActive(machine, true);
  sim->Resize(5);
  sim->limit = 10;
  ASSERT_TRUE(sim->Converge());
  EXPECT_THAT(sim->Says("Quota"), ::testing::StartsWith("True/Under"));
  EXPECT_THAT(sim->Obstacles(), ::testing::ElementsAre("WAITS_UNTIL_IDLE"));
  sim->limit = 4;
  ASSERT_TRUE(sim->Converge());
  EXPECT_THAT(sim->Says("Quota"), ::testing::StartsWith("False/Over"));
  EXPECT_THAT(sim->Obstacles(), ::testing::Contains("OVER_QUOTA"));
}

// At the end of its notice a preempted Node is only told to go: its agent then has its time.
TEST(Obstacles, WhatIsPreemptedIsNotPromisedToBeGoneTooEarly) {
  const Sim sim = Cases().at("PREEMPTING").make();
  const absl::Time gone =
      sim->node("g100")->preempt_time + sim->policy.preemption_end + kTerminationGrace;
  const Snapshot snapshot = sim->Look();
  EXPECT_THAT(Explain(snapshot, Plan(snapshot)),
              ::testing::Contains(::testing::AllOf(::testing::Field(&Obstacle::reason, "LEAVING"),
                                                   ::testing::Field(&Obstacle::latest, gone))));
}

// The owner has nothing to change where repairs alone are missing.
TEST(Obstacles, ANodeAffinityThatMachinesInRepairMatchIsForWhoeverRepairs) {
  const Sim sim = Cases().at("NODE_AFFINITY").make();  // 2 Nodes, one of which it has
  Snapshot snapshot = sim->Look();
  const auto told = [&](int64_t matching, int64_t in_repair) {
    ClaimFacts& claim = snapshot.answers.claim.value;
    claim.matching = matching;
    claim.matching_in_repair = in_repair;
    for (const Obstacle& obstacle : Explain(snapshot, Plan(snapshot))) {
      if (obstacle.reason == "NODE_AFFINITY") return obstacle;
    }
    return Obstacle();
  };
  EXPECT_EQ(told(1, 0).actor, Actor::kUser);
  EXPECT_THAT(told(1, 0).message, ::testing::Not(::testing::HasSubstr("repair")));
  EXPECT_EQ(told(1, 1).actor, Actor::kCapacity);
  EXPECT_THAT(told(1, 1).message,
              ::testing::EndsWith("1 of 100 machines in service match the node affinity. In "
                                  "repair: 1 machine that matches."));
  EXPECT_EQ(told(0, 1).actor, Actor::kCapacity) << "none else matches";
  EXPECT_THAT(told(0, 2).message, ::testing::EndsWith("In repair: 2 machines that match."));
  snapshot.answers.claim.value.nodes = 4;
  EXPECT_EQ(told(1, 2).actor, Actor::kUser) << "too few match even then";
}

// Whoever waits is not told of a time that is over.
TEST(Obstacles, WhatIsOverdueHasNoTime) {
  const Policy policy;
  const struct {
    std::string made_as;  // see Cases
    absl::Duration later;
    std::string reason;
  } cases[] = {
      {"BOOTING", policy.boot_deadline, "BOOTING"},
      {"GIVE_UP_LIMIT", absl::ZeroDuration(), "BOOTING"},
      {"CONFIGURATION_WAITS", policy.boot_deadline, "CONFIGURATION_WAITS"},
      {"AGENT_SILENT", kTerminationGrace, "LEAVING"},
      {"REMOVAL_FAILED", kTerminationGrace, "LEAVING"},
      {"PREEMPTING", policy.preemption_end + kTerminationGrace, "LEAVING"},
  };
  for (const auto& [made_as, later, reason] : cases) {
    SCOPED_TRACE(made_as);
    const Sim sim = Cases().at(made_as).make();
    sim->Advance(later);
    const Snapshot snapshot = sim->Look();
    const std::vector<Obstacle> obstacles = Explain(snapshot, Plan(snapshot));
    EXPECT_THAT(obstacles,
                ::testing::Contains(::testing::AllOf(::testing::Field(&Obstacle::reason, reason),
                                                     ::testing::Field(&Obstacle::latest, kNever))))
        << ::testing::PrintToString(sim->ObstacleTexts());
  }
}

}  // namespace
}  // namespace muster::lifecycle
