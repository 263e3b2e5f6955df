// Who leads, without a database: the heartbeat's row under clocks that are set, and what a replica
// knows of its right to lead.
#include "services/lifecycle/core/lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>

namespace muster::lifecycle {
namespace {

using KeeperStep = LeaseKeeper::Step;
using KeeperVerdict = LeaseKeeper::Verdict;

constexpr absl::Duration kTtl = absl::Seconds(5);
const absl::Time kLeaseTime = absl::FromUnixSeconds(1'760'000'000);

Heartbeat HeldHeartbeat(absl::Time written = kLeaseTime) {
  return {"a", 7, written, written + kTtl};
}

TEST(Heartbeat, IsOverAtItsEndAndWhenItWasWrittenInTheFutureBeyondDoubt) {
  const Heartbeat row = HeldHeartbeat();
  EXPECT_FALSE(IsOver(row, kLeaseTime));
  EXPECT_FALSE(IsOver(row, kLeaseTime + kTtl - absl::Microseconds(1)));
  EXPECT_TRUE(IsOver(row, kLeaseTime + kTtl));
  EXPECT_TRUE(IsOver(row, kLeaseTime + absl::Hours(1)));
  // Clocks of two machines differ a little.
  EXPECT_FALSE(IsOver(row, kLeaseTime - kTtl));
  EXPECT_TRUE(IsOver(row, kLeaseTime - kTtl - absl::Microseconds(1)));
  EXPECT_TRUE(IsOver(row, kLeaseTime - absl::Hours(24)));
}

TEST(Heartbeat, ALongOneHoldsForItsLength) {
  const Heartbeat row{"a", 1, kLeaseTime, kLeaseTime + absl::Hours(24)};
  EXPECT_FALSE(IsOver(row, kLeaseTime - absl::Hours(1)));
  EXPECT_FALSE(IsOver(row, kLeaseTime + absl::Hours(23)));
}

TEST(Heartbeat, NobodyWaitsForMoreThanTwiceItsLengthHoweverTheClockIsSet) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const auto set = absl::Milliseconds(static_cast<int64_t>(random() % 40'000) - 20'000);
    EXPECT_TRUE(IsOver(HeldHeartbeat(), kLeaseTime + set + 2 * kTtl) ||
                IsOver(HeldHeartbeat(), kLeaseTime + set))
        << set;
  }
}

TEST(Heartbeat, IsRenewedByItsHolderUnderTheSameEpoch) {
  const auto row = RenewLease(HeldHeartbeat(), 7, "a", kTtl, kLeaseTime + absl::Seconds(1));
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(*row,
            (Heartbeat{"a", 7, kLeaseTime + absl::Seconds(1), kLeaseTime + absl::Seconds(6)}));
  EXPECT_EQ(RenewLease(HeldHeartbeat(), 7, "b", kTtl, kLeaseTime + absl::Seconds(1)), std::nullopt);
}

TEST(Heartbeat, IsTakenUnderANewerEpochThanAnyKnown) {
  EXPECT_EQ(RenewLease(std::nullopt, 0, "b", kTtl, kLeaseTime)->epoch, 1);
  EXPECT_EQ(RenewLease(std::nullopt, 9, "b", kTtl, kLeaseTime)->epoch, 10) << "the row was lost";
  EXPECT_EQ(RenewLease(HeldHeartbeat(), 3, "b", kTtl, kLeaseTime + kTtl)->epoch, 8);
  EXPECT_EQ(RenewLease(HeldHeartbeat(), 12, "b", kTtl, kLeaseTime + kTtl)->epoch, 13);
  EXPECT_EQ(RenewLease(HeldHeartbeat(), 7, "a", kTtl, kLeaseTime + kTtl)->epoch, 8)
      << "its time was over";
}

TEST(Heartbeat, OneThatIsGivenUpIsOverWhereverTheClockGoes) {
  EXPECT_EQ(Release(HeldHeartbeat(), "b", kLeaseTime), std::nullopt);
  EXPECT_EQ(Release(std::nullopt, "a", kLeaseTime), std::nullopt);
  const auto row = Release(HeldHeartbeat(), "a", kLeaseTime + absl::Seconds(1));
  ASSERT_TRUE(row.has_value());
  for (const int seconds : {-3'600, -1, 0, 1, 2, 3'600})
    EXPECT_TRUE(IsOver(*row, kLeaseTime + absl::Seconds(seconds))) << seconds;
  EXPECT_EQ(RenewLease(row, 7, "b", kTtl, kLeaseTime)->epoch, 8);
}

// --- one replica ---

class Keeper : public ::testing::Test {
 protected:
  void Pass(absl::Duration time) { now_ += time; }
  void Prove() { keeper_.ProbeEnded(absl::OkStatus(), now_, keeper_.probe_writes()); }
  KeeperVerdict Answered(const absl::StatusOr<int64_t>& epoch,
                         absl::string_view incarnation = "h1") {
    (void)keeper_.Ask(now_);
    return keeper_.Answered(epoch, now_, incarnation);
  }
  void Lead(int64_t epoch) {
    Prove();
    ASSERT_EQ(Answered(epoch), KeeperVerdict::kTakeOver);
    keeper_.TookOver(epoch);
  }

  absl::Duration now_ = absl::Hours(1);
  LeaseKeeper keeper_{kTtl};
};

TEST_F(Keeper, WhoHasShownNothingDoesNotAsk) {
  EXPECT_EQ(keeper_.Next(now_), KeeperStep::kWait);
  Prove();
  EXPECT_EQ(keeper_.Next(now_), KeeperStep::kRenew);
}

TEST_F(Keeper, ALeaseLastsFromTheProofNotFromTheBeat) {
  Prove();
  EXPECT_EQ(keeper_.Ask(now_), kTtl);
  Pass(absl::Seconds(2));
  EXPECT_EQ(keeper_.Ask(now_), absl::Seconds(3));
}

TEST_F(Keeper, WhoCanNotCommitAsksNoMoreAndGivesUpAfterTheTtl) {
  Lead(3);
  Pass(kTtl / 2);
  EXPECT_EQ(keeper_.Next(now_), KeeperStep::kRenew);
  Pass(absl::Milliseconds(1));
  EXPECT_EQ(keeper_.Next(now_), KeeperStep::kWait);
  EXPECT_EQ(keeper_.epoch(), 3);
  Pass(kTtl / 2);
  EXPECT_EQ(keeper_.Next(now_), KeeperStep::kGiveUp);
  EXPECT_EQ(keeper_.epoch(), 0);
  EXPECT_EQ(keeper_.Next(now_), KeeperStep::kWait) << "once";
}

TEST_F(Keeper, AProofCountsFromWhenItWasSubmitted) {
  Lead(3);
  const absl::Duration submitted = now_;
  Pass(kTtl);
  keeper_.ProbeEnded(absl::OkStatus(), submitted, false);
  EXPECT_EQ(keeper_.Next(now_), KeeperStep::kWait);
  keeper_.ProbeEnded(absl::OkStatus(), now_, false);
  keeper_.ProbeEnded(absl::OkStatus(), submitted, false);
  EXPECT_EQ(keeper_.Next(now_), KeeperStep::kRenew) << "an older one takes nothing back";
}

TEST_F(Keeper, OncePlansFailAnEmptyCommandShowsNothing) {
  Lead(3);
  for (const absl::StatusCode code :
       {absl::StatusCode::kInternal, absl::StatusCode::kUnavailable, absl::StatusCode::kUnknown,
        absl::StatusCode::kDeadlineExceeded}) {
    Pass(absl::Seconds(1));
    Prove();
    EXPECT_FALSE(keeper_.probe_writes());
    keeper_.CommandEnded(absl::Status(code, "no"), now_);
    EXPECT_TRUE(keeper_.probe_writes());
    // One that was under way when it showed.
    Pass(kTtl);
    keeper_.ProbeEnded(absl::OkStatus(), now_, /*wrote=*/false);
    EXPECT_NE(keeper_.Next(now_), KeeperStep::kRenew);
    keeper_.ProbeEnded(absl::OkStatus(), now_, /*wrote=*/true);
    EXPECT_EQ(keeper_.Next(now_), KeeperStep::kRenew);
    EXPECT_FALSE(keeper_.probe_writes());
  }
}

TEST_F(Keeper, WhoFailedToTakeOverDoesNotAskBeforeItHasWritten) {
  Prove();
  ASSERT_EQ(Answered(3), KeeperVerdict::kTakeOver);
  keeper_.CommandEnded(absl::UnavailableError("no commit"), now_);
  EXPECT_EQ(keeper_.Next(now_), KeeperStep::kWait);
  keeper_.ProbeEnded(absl::OkStatus(), now_, /*wrote=*/true);
  EXPECT_EQ(keeper_.Next(now_), KeeperStep::kRenew);
}

TEST_F(Keeper, WhatTheRulesRefuseIsNoFaultOfThePath) {
  Lead(3);
  keeper_.CommandEnded(absl::AbortedError("outdated"), now_);
  keeper_.CommandEnded(absl::FailedPreconditionError("a Node's state"), now_);
  EXPECT_FALSE(keeper_.probe_writes());
  keeper_.CommandEnded(absl::InternalError("a constraint"), now_);
  keeper_.CommandEnded(absl::OkStatus(), now_);
  EXPECT_FALSE(keeper_.probe_writes());
}

TEST_F(Keeper, AProbeThatFailsShowsNothing) {
  keeper_.ProbeEnded(absl::UnavailableError("away"), now_, false);
  EXPECT_EQ(keeper_.Next(now_), KeeperStep::kWait);
  EXPECT_FALSE(keeper_.probe_writes()) << "the database is away for all";
}

TEST_F(Keeper, GoesOnUntilItsLeaseEndsWhenBeatsAreNotAnswered) {
  Lead(3);
  Pass(kTtl);
  EXPECT_EQ(Answered(absl::UnavailableError("away")), KeeperVerdict::kNothing);
  EXPECT_EQ(keeper_.epoch(), 3);
  Prove();
  Pass(absl::Milliseconds(1));
  EXPECT_EQ(Answered(absl::UnavailableError("away")), KeeperVerdict::kStepDown);
  EXPECT_EQ(keeper_.epoch(), 0);
}

TEST_F(Keeper, StepsDownWhenAnotherHasTheLease) {
  Lead(3);
  EXPECT_EQ(Answered(0), KeeperVerdict::kStepDown);
  EXPECT_EQ(keeper_.epoch(), 0);
}

TEST_F(Keeper, TakesOverAnewWithEveryEpochHistoryAndRefusal) {
  Lead(3);
  EXPECT_EQ(Answered(3), KeeperVerdict::kNothing);
  EXPECT_EQ(Answered(4), KeeperVerdict::kTakeOver);
  EXPECT_EQ(keeper_.epoch(), 0) << "not before it is committed";
  keeper_.TookOver(4);
  EXPECT_EQ(Answered(4, "h2"), KeeperVerdict::kTakeOver);
  keeper_.TookOver(4);
  keeper_.Refused(4);
  EXPECT_EQ(Answered(4, "h2"), KeeperVerdict::kTakeOver);
  keeper_.TookOver(4);
  EXPECT_EQ(Answered(4, "h2"), KeeperVerdict::kNothing);
}

// The plan that was refused was of the lead that is over.
TEST_F(Keeper, ARefusalUnderAnOldLeadIsNothingToTheNext) {
  Lead(3);
  keeper_.Refused(3);
  EXPECT_EQ(Answered(0), KeeperVerdict::kStepDown);
  EXPECT_EQ(Answered(7), KeeperVerdict::kTakeOver);
  keeper_.TookOver(7);
  EXPECT_EQ(Answered(7), KeeperVerdict::kNothing);
  // Another of its plans waited in the lane until now.
  keeper_.Refused(3);
  EXPECT_EQ(Answered(7), KeeperVerdict::kNothing);
}

TEST_F(Keeper, SaysThatNobodyLeadsOnceNobodyHadTheLeaseForATtl) {
  Prove();
  EXPECT_FALSE(keeper_.Facts(now_).leaderless) << "it has not looked yet";
  keeper_.Saw(true, now_);
  Pass(kTtl);
  keeper_.Saw(false, now_);
  EXPECT_FALSE(keeper_.Facts(now_).leaderless) << "another may be taking over";
  Pass(absl::Milliseconds(1));
  EXPECT_TRUE(keeper_.Facts(now_).leaderless);
  // Another has it, and then no more.
  Prove();
  EXPECT_EQ(Answered(0), KeeperVerdict::kStepDown);
  EXPECT_FALSE(keeper_.Facts(now_).leaderless);
  Pass(kTtl + absl::Milliseconds(1));
  keeper_.Saw(false, now_);
  EXPECT_TRUE(keeper_.Facts(now_).leaderless);
  // A lease that is granted leads nobody before the takeover is committed.
  Prove();
  ASSERT_EQ(Answered(3), KeeperVerdict::kTakeOver);
  EXPECT_TRUE(keeper_.Facts(now_).leaderless);
  keeper_.TookOver(3);
  EXPECT_FALSE(keeper_.Facts(now_).leaderless);
}

TEST_F(Keeper, WhoCanNotLookDoesNotSayThatNobodyLeads) {
  keeper_.Saw(true, now_);
  Pass(2 * kTtl);
  EXPECT_EQ(Answered(absl::UnavailableError("away")), KeeperVerdict::kStepDown);
  EXPECT_FALSE(keeper_.Facts(now_).leaderless);
  keeper_.Saw(false, now_);
  EXPECT_TRUE(keeper_.Facts(now_).leaderless);
  Pass(2 * kTtl);
  EXPECT_TRUE(keeper_.Facts(now_).leaderless) << "a beat may wait for long";
  keeper_.Saw(std::nullopt, now_);
  EXPECT_FALSE(keeper_.Facts(now_).leaderless);
}

TEST_F(Keeper, SaysThatItCanNotCommitWhileThatFails) {
  Lead(3);
  keeper_.CommandEnded(absl::InternalError("a constraint"), now_);
  EXPECT_FALSE(keeper_.Facts(now_).can_commit);
  keeper_.CommandEnded(absl::OkStatus(), now_);
  EXPECT_TRUE(keeper_.Facts(now_).can_commit);
  keeper_.ProbeEnded(absl::UnavailableError("away"), now_, false);
  EXPECT_FALSE(keeper_.Facts(now_).can_commit);
  Prove();
  EXPECT_TRUE(keeper_.Facts(now_).can_commit);
}

TEST(Lease, IsTakenInTheHistoryOfItsTakeoverAlone) {
  State state;
  StagedState<State> staged(state, 0);
  EXPECT_FALSE(IsTakenIn(state, "one"));
  staged.Put(Lease{.holder = "a", .epoch = 1, .incarnation = "one"});
  EXPECT_TRUE(IsTakenIn(state, "one"));
  EXPECT_FALSE(IsTakenIn(state, "another"));
}

// Two replicas and their row under a clock that is set at random: whoever asks, no epoch is ever
// given to two, nor twice to one that another came after.
TEST(Lease, NoEpochIsGivenToTwo) {
  for (uint64_t seed = 0; seed < 1'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::optional<Heartbeat> row;
    absl::Time now = kLeaseTime;
    int64_t newest = 0;
    std::string newest_holder;
    for (int i = 0; i < 200; ++i) {
      now += absl::Milliseconds(static_cast<int64_t>(random() % 3'000));
      if (random() % 20 == 0) now += absl::Seconds(static_cast<int64_t>(random() % 600) - 300);
      const std::string holder = random() % 2 == 0 ? "a" : "b";
      const auto next = random() % 10 == 0 ? Release(row, holder, now)
                                           : RenewLease(row, newest, holder, kTtl, now);
      if (!next) continue;
      row = next;
      ASSERT_GE(row->epoch, newest);
      if (row->epoch == newest) {
        ASSERT_EQ(row->holder, newest_holder);
      }
      newest = row->epoch;
      newest_holder = row->holder;
    }
  }
}

}  // namespace
}  // namespace muster::lifecycle
