// Services that know later requests of a pool than its rows do: lifecycle was restored to a past.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <variant>

#include "services/common/error.h"
#include "services/common/generation.h"
#include "services/lifecycle/core/testing/simulation.h"

namespace muster::lifecycle {
namespace {

struct Ahead {
  const char* name;
  int64_t quota;
  int64_t capacity;
  int64_t configuration;
};

class Rebase : public ::testing::TestWithParam<Ahead> {};

TEST_P(Rebase, ThePoolGoesOnAboveWhatTheServicesKnow) {
  Simulation sim;
  sim.Create(3);
  ASSERT_TRUE(sim.Converge());
  sim.GoAhead(GetParam().quota, GetParam().capacity, GetParam().configuration);
  sim.Resize(5);
  EXPECT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  EXPECT_EQ(sim.Reason("Quota"), "Under");
  EXPECT_EQ(sim.Reason("Capacity"), "Sufficient");
  EXPECT_EQ(sim.machines().size(), 5);
  EXPECT_EQ(sim.NodeMachines(), sim.machines());
  EXPECT_EQ(sim.holding(), 5);
  sim.Delete();
  EXPECT_TRUE(sim.Converge());
  EXPECT_EQ(sim.pool(), nullptr);
  EXPECT_FALSE(sim.has_claim());
  EXPECT_FALSE(sim.has_holding());
  EXPECT_TRUE(sim.never_over);
  EXPECT_TRUE(sim.fenced);
  EXPECT_TRUE(sim.same_twice);
}

INSTANTIATE_TEST_SUITE_P(
    Of, Rebase,
    ::testing::Values(Ahead{"Nobody", 0, 0, 0}, Ahead{"QuotaByOne", 1, 0, 0},
                      Ahead{"Quota", 1'000, 0, 0}, Ahead{"CapacityByOne", 0, 1, 0},
                      Ahead{"Capacity", 0, 1'000, 0}, Ahead{"Configuration", 0, 0, 1'000},
                      Ahead{"Both", 7, 2, 0}, Ahead{"All", 2, 7, 9},
                      Ahead{"Far", int64_t{1} << 40, int64_t{1} << 41, int64_t{1} << 42}),
    [](const auto& param_info) { return std::string(param_info.param.name); });

// What was granted in the lost future comes back into the books, and goes.
TEST(RebaseTo, MachinesOfTheLostFutureBecomeNodesAndGo) {
  Simulation sim;
  sim.Create(3);
  ASSERT_TRUE(sim.Converge());
  sim.GoAhead(4, 4, 0);
  sim.GrowClaim(2);
  sim.Resize(4);
  EXPECT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Reason("AtTarget"), "TargetMet");
  EXPECT_EQ(sim.machines().size(), 4);
  EXPECT_EQ(sim.NodeMachines(), sim.machines());
  EXPECT_EQ(sim.holding(), 4);
}

// They may run: their agents switch them off before they are given back.
TEST(RebaseTo, MachinesOfTheLostFutureAreSwitchedOffFirst) {
  Simulation sim;
  sim.Create(3);
  ASSERT_TRUE(sim.Converge());
  sim.Must(TakeLease{.holder = "a", .epoch = 2, .incarnation = "restored"});
  ASSERT_TRUE(sim.Converge());
  sim.GrowClaim(2);
  std::set<std::string> switched_off;
  for (int pass = 0; pass < 10; ++pass) {
    sim.Pass();
    for (const Node* node : sim.state().NodesOf(kSimPool)) {
      if (node->state == NodeState::kPreparedForTerminate) switched_off.insert(node->machine);
      if (node->state == NodeState::kDeleted) {
        EXPECT_THAT(switched_off, ::testing::Contains(node->machine));
      }
    }
    sim.Agents();
  }
  EXPECT_EQ(switched_off.size(), 2U);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.machines().size(), 3U);
}

// The generation that a plan raises to; 0: it does not.
RaiseGeneration Raised(int64_t known, const std::string& reason = "GENERATION_TOO_OLD") {
  Simulation sim;
  sim.Create(3);
  EXPECT_TRUE(sim.Converge());
  Snapshot snapshot = sim.Look();
  EXPECT_LT(snapshot.pool->account.generation, 100);
  auto& holding = snapshot.answers.holding;
  holding = {};
  holding.state = PeerReply<HoldingFacts>::State::kRefused;
  holding.reason = reason;
  holding.last_generation = known;
  for (const Action& action : Plan(snapshot).actions) {
    if (const auto* raise = std::get_if<RaiseGeneration>(&action)) return *raise;
  }
  return {};
}

// The same generation was used in the lost future for something else.
TEST(RebaseTo, AGenerationThatWasUsedOtherwiseIsGoneBeyond) {
  Simulation sim;
  sim.Create(3);
  ASSERT_TRUE(sim.Converge());
  Snapshot snapshot = sim.Look();
  auto& claim = snapshot.answers.claim;
  claim = {};
  claim.state = PeerReply<ClaimFacts>::State::kRefused;
  claim.reason = "GENERATION_REUSED";
  const std::vector<Action> actions = Plan(snapshot).actions;
  ASSERT_FALSE(actions.empty());
  const auto* raise = std::get_if<RaiseGeneration>(&actions.front());
  ASSERT_NE(raise, nullptr);
  EXPECT_EQ(raise->account, sim.pool()->account.generation + 1);
  EXPECT_EQ(raise->pool, 0);
}

// Requests of the lost future that are still under way must not win over later ones.
TEST(NewHistory, BeginsAboveAllThatWasAskedInTheFutureThatIsLost) {
  Simulation sim;
  sim.Create(3);
  ASSERT_TRUE(sim.Converge());
  const auto generation = [&] { return sim.pool()->account.generation; };
  sim.Must(TakeLease{.holder = "a", .epoch = 2});
  const int64_t past = generation();
  EXPECT_LT(past, kHistoryJump);
  sim.Must(TakeLease{.holder = "a", .epoch = 3, .incarnation = "restored"});
  const int64_t first = generation();
  EXPECT_GE(first, past + kHistoryJump);
  EXPECT_TRUE(CheckGeneration("claim", first, 0).ok()) << "the services take it";
  sim.Resize(4);
  EXPECT_TRUE(sim.Converge());
  EXPECT_EQ(sim.machines().size(), 4);

  // The next leader, and the same one again, are in that history too.
  const int64_t now = generation();
  sim.Must(TakeLease{.holder = "b", .epoch = 4, .incarnation = "restored"});
  sim.Must(TakeLease{.holder = "b", .epoch = 4, .incarnation = "restored"});
  EXPECT_EQ(generation(), now);
}

// What came to the pool in the future that is lost may run: its room in quota is not others' before
// it is known.
TEST(NewHistory, LowersNothingBeforeCapacityHasSaidWhatTheClaimHolds) {
  Simulation sim;
  sim.Create(3);
  ASSERT_TRUE(sim.Converge());
  sim.GrowHolding(2);
  sim.GrowClaim(2);
  sim.Must(TakeLease{.holder = "a", .epoch = 2, .incarnation = "restored"});
  sim.capacity_away = true;
  sim.Resize(4);
  for (int pass = 0; pass < 5; ++pass) {
    sim.Pass();
    EXPECT_EQ(sim.holding(), 5) << pass;
  }
  sim.capacity_away = false;
  sim.Pass();
  EXPECT_EQ(sim.NodeMachines().size(), 5U);
  EXPECT_EQ(sim.holding(), 5);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.machines().size(), 4U);
  EXPECT_EQ(sim.holding(), 4);
  EXPECT_TRUE(sim.fenced);
  EXPECT_TRUE(sim.same_twice);
}

// Then it is charged for no more than what it has, also where nothing else came of the answer.
TEST(NewHistory, LowersWhatTheClaimDoesNotHold) {
  Simulation sim;
  sim.Create(3);
  ASSERT_TRUE(sim.Converge());
  sim.GrowHolding(2);
  sim.Must(TakeLease{.holder = "a", .epoch = 2, .incarnation = "restored"});
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.holding(), 3);
  EXPECT_TRUE(sim.fenced);
  EXPECT_FALSE(sim.pool()->account.claim_unknown);
}

// Of one that is invalid in the past as well: what it got when it was valid is found, and charged
// for.
TEST(NewHistory, AsksWhatTheClaimOfAnInvalidPoolHolds) {
  Simulation sim;
  sim.catalogue.offered = false;
  sim.Create(3);
  ASSERT_TRUE(sim.Converge());
  ASSERT_EQ(sim.NodeMachines().size(), 0U);
  sim.GrowHolding(2);
  sim.GrowClaim(2);
  sim.Must(TakeLease{.holder = "a", .epoch = 2, .incarnation = "restored"});
  ASSERT_TRUE(sim.Converge());
  EXPECT_FALSE(sim.pool()->account.claim_unknown);
  EXPECT_EQ(sim.NodeMachines().size(), 2U);
  sim.Resize(0);
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.machines().size(), 0U);
  EXPECT_EQ(sim.holding(), 0);
}

// The same past three times, with a history between that had begun anew itself.
TEST(NewHistory, BeginsAboveAllOfTheHistoriesBeforeHoweverOftenTheyWentBack) {
  const auto restored = [](int times, absl::Duration later) {
    Simulation sim;
    sim.Create(3);
    EXPECT_TRUE(sim.Converge());
    sim.Advance(later);
    for (int64_t i = 0; i < times; ++i) {
      sim.Advance(absl::Seconds(1));
      sim.Must(
          TakeLease{.holder = "a", .epoch = 2 + i, .incarnation = absl::StrCat("history ", i)});
    }
    return sim.pool()->account.generation;
  };
  EXPECT_GT(restored(1, absl::Seconds(10)), restored(2, absl::ZeroDuration()));
  EXPECT_GT(restored(1, absl::Minutes(1)), restored(5, absl::Seconds(30)));
}

// Who applies a pool of the lost future again, by its uid, begins there as well.
TEST(NewHistory, IsWhereNewPoolsBegin) {
  State rows;
  StagedState<State> staged(rows, 0);
  staged.Put(Cluster{.name = kSimCluster, .zone = "US-EAST-04A"});
  staged.Put(Lease{.holder = "a", .epoch = 1, .generation_floor = 77});
  ApplyNodePool command{.name = kSimPool, .uid = "u"};
  command.spec.instance_type = "gd-8xa100-i128";
  command.target_nodes = 1;
  ASSERT_TRUE(Decide(staged, command, absl::UnixEpoch()).ok());
  const PoolAccount& account = rows.table<Pool>().Find(kSimPool)->account;
  EXPECT_EQ(account.generation, 77);
  EXPECT_TRUE(account.claim_unknown);

  command.name += "-2";
  command.uid.clear();
  command.new_uid = "u2";
  ASSERT_TRUE(Decide(staged, command, absl::UnixEpoch()).ok());
  EXPECT_FALSE(rows.table<Pool>().Find(command.name)->account.claim_unknown) << "nobody knew of it";
}

// All at once they would be a transaction that no timeout leaves time for.
class NewHistoryOfMany : public ::testing::Test {
 protected:
  static constexpr size_t kPools = 2 * kMaxRaisedPools + 1;
  NewHistoryOfMany() {
    staged_.Put(Cluster{.name = kSimCluster, .zone = "US-EAST-04A"});
    staged_.Put(Lease{.holder = "a", .epoch = 1, .incarnation = "first"});
    for (size_t i = 0; i < kPools; ++i) {
      Pool pool;
      pool.name = absl::StrCat(kSimCluster, "/nodePools/p", i);
      pool.zone = "US-EAST-04A";
      staged_.Put(std::move(pool));
    }
  }
  const Lease& lease() const { return *rows_.table<Lease>().Find(Lease::kName); }
  StatusOrOutcome Take(const TakeLease& command) {
    return Decide(staged_, command, absl::UnixEpoch());
  }
  // Where the command that is to follow begins.
  std::string RaisedThrough(const TakeLease& command) {
    const StatusOrOutcome outcome = Take(command);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? outcome->raised_through : "";
  }
  size_t Raised() const {
    size_t raised = 0;
    for (const auto& [name, pool] : rows_.table<Pool>().rows()) {
      if (!pool.row->account.claim_unknown) continue;
      EXPECT_EQ(pool.row->account.generation, lease().generation_floor) << "once";
      ++raised;
    }
    return raised;
  }

  State rows_;
  StagedState<State> staged_{rows_, 0};
};

TEST_F(NewHistoryOfMany, BeginsInPieces) {
  TakeLease command{.holder = "b", .epoch = 2, .incarnation = "restored"};
  for (size_t raised = kMaxRaisedPools; raised < kPools; raised += kMaxRaisedPools) {
    command.raised_through = RaisedThrough(command);
    ASSERT_FALSE(command.raised_through.empty());
    EXPECT_EQ(Raised(), raised);
    EXPECT_EQ(lease().incarnation, "first") << "who comes now begins anew";
  }
  EXPECT_EQ(RaisedThrough(command), "");
  EXPECT_EQ(Raised(), kPools);
  EXPECT_EQ(lease().incarnation, "restored");
  EXPECT_EQ(lease().epoch, 2);
}

TEST_F(NewHistoryOfMany, BeginsAnewWithWhoeverComesInBetween) {
  TakeLease first{.holder = "b", .epoch = 2, .incarnation = "restored"};
  first.raised_through = RaisedThrough(first);
  const int64_t floor = lease().generation_floor;
  TakeLease second{.holder = "c", .epoch = 3, .incarnation = "restored"};
  second.raised_through = RaisedThrough(second);
  EXPECT_EQ(second.raised_through, first.raised_through);
  EXPECT_GT(lease().generation_floor, floor);
  EXPECT_EQ(muster::error::ReasonOf(Take(first).status()), "STALE_LEADER");
  while (!second.raised_through.empty()) second.raised_through = RaisedThrough(second);
  EXPECT_EQ(Raised(), kPools);
}

// A standby that is promoted takes nobody's lease away.
TEST_F(NewHistoryOfMany, BeginsUnderTheEpochThatItsHolderHas) {
  TakeLease command{.holder = "a", .epoch = 1, .incarnation = "promoted"};
  do {
    command.raised_through = RaisedThrough(command);
  } while (!command.raised_through.empty());
  EXPECT_EQ(Raised(), kPools);
  EXPECT_EQ(lease().incarnation, "promoted");
  const TakeLease another{.holder = "b", .epoch = 1, .incarnation = "restored"};
  EXPECT_EQ(muster::error::ReasonOf(Take(another).status()), "STALE_LEADER");
}

// The same past once more, an hour later: what was asked in between is lost as well.
TEST(NewHistory, BeginsHigherThanTheOneBeforeFromTheSamePast) {
  const auto restored = [](absl::Duration later) {
    Simulation sim;
    sim.Create(3);
    EXPECT_TRUE(sim.Converge());
    sim.Advance(later);
    sim.Must(TakeLease{.holder = "a", .epoch = 2, .incarnation = "restored"});
    return sim.pool()->account.generation;
  };
  EXPECT_GE(restored(absl::Hours(1)), restored(absl::ZeroDuration()) + 3'600);
}

TEST(RebaseTo, OnlyWhatIsNewerThanTheRowsIsGoneBeyond) {
  EXPECT_EQ(Raised(100).account, 101);
  EXPECT_EQ(Raised(100).pool, 0);
  EXPECT_EQ(Raised(1).account, 0);  // a late word on a request of long ago
  EXPECT_EQ(Raised(0).account, 0);  // a service that does not say
  EXPECT_EQ(Raised(100, "POOL_RELEASED").account, 0);
  EXPECT_EQ(Raised(kMaxGeneration).account, kMaxGeneration + 1);
  EXPECT_EQ(Raised(kMaxGeneration + 1).account, 0);
  EXPECT_EQ(Raised(std::numeric_limits<int64_t>::max()).account, 0);
}

}  // namespace
}  // namespace muster::lifecycle
