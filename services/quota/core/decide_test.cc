#include "services/quota/core/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "services/common/generation.h"
#include "services/common/testing/absent_rows.h"
#include "services/quota/core/audit.h"
#include "services/quota/core/testing/key.h"
#include "tests/testing/status_matchers.h"

namespace muster::quota {
namespace {

using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::IsEmpty;

// Commits each command at once, as a lane with batches of one does.
class DecideTest : public ::testing::Test {
 protected:
  template <class Command>
  auto Run(const Command& command, absl::Time now = kNow) {
    StagedState<State> staged(state_, revision_);
    auto result = [&] {
      if constexpr (requires { Decide(staged, command, now, policy_); }) {
        return Decide(staged, command, now, policy_);
      } else {
        return Decide(staged, command, now);
      }
    }();
    revision_ = staged.revision();
    last_changes_ = staged.changes().size();
    return result;
  }
  void SetLimit(int64_t limit) { ASSERT_THAT(Run(UpdateQuota{kKey, limit, "", true}), IsOk()); }
  SyncHolding Want(const std::string& pool, int64_t nodes, int64_t generation = 1) {
    return {QuotaName(kKey), pool, nodes, generation, pool};
  }
  HoldingOutcome Sync(const SyncHolding& command) {
    const auto answer = Run(command);
    EXPECT_THAT(answer, IsOk());
    return answer.value_or(HoldingOutcome{});
  }

  State state_;
  Policy policy_;
  int64_t revision_ = 0;
  size_t last_changes_ = 0;
};

TEST_F(DecideTest, GrowthWithinTheLimitIsGranted) {
  SetLimit(10);
  const HoldingOutcome answer = Sync(Want("a", 10));
  EXPECT_EQ(answer.verdict, Verdict::kUnder);
  EXPECT_EQ(answer.nodes, 10);
  EXPECT_EQ(answer.held, 10);
  EXPECT_EQ(answer.limit, 10);
}

TEST_F(DecideTest, GrowthThatDoesNotFitIsRefusedWholeAndTheHoldingStays) {
  SetLimit(10);
  Sync(Want("a", 6));
  Sync(Want("b", 3));
  const HoldingOutcome answer = Sync(Want("b", 5, 2));
  EXPECT_EQ(answer.verdict, Verdict::kOver);
  EXPECT_EQ(answer.nodes, 3);
  EXPECT_EQ(answer.held, 9);
}

TEST_F(DecideTest, AMissingQuotaAndALimitOfZeroAreBothNotSet) {
  EXPECT_EQ(Sync(Want("a", 1)).verdict, Verdict::kNotSet);
  SetLimit(0);
  EXPECT_EQ(Sync(Want("a", 1, 2)).verdict, Verdict::kNotSet);
  EXPECT_EQ(state_.Held(QuotaName(kKey)), 0);
}

TEST_F(DecideTest, TheSameRequestTwiceHasTheEffectOfOne) {
  SetLimit(10);
  Sync(Want("a", 4));
  const HoldingOutcome again = Sync(Want("a", 4));
  EXPECT_EQ(last_changes_, 0u);
  EXPECT_EQ(again.held, 4);
}

TEST_F(DecideTest, AnOlderGenerationIsRefusedEvenAfterARefusedGrowth) {
  SetLimit(10);
  Sync(Want("a", 20, 7));
  EXPECT_THAT(Run(Want("a", 5, 6)),
              AllOf(StatusIs(absl::StatusCode::kAborted), HasReason("GENERATION_TOO_OLD")));
  EXPECT_EQ(last_changes_, 0u);
  EXPECT_EQ(Sync(Want("a", 5, 8)).verdict, Verdict::kUnder);
}

// Whoever knows less than quota does lowers nothing by what it says.
TEST_F(DecideTest, AtLeastRaisesAndNeverLowers) {
  SetLimit(30);
  Sync(Want("a", 20, 7));
  SyncHolding at_least = Want("a", 10, 7);
  at_least.at_least = true;
  const HoldingOutcome stays = Sync(at_least);
  EXPECT_EQ(stays.verdict, Verdict::kUnder);
  EXPECT_EQ(stays.nodes, 20);
  EXPECT_FALSE(stays.refused);
  EXPECT_EQ(last_changes_, 0u);
  at_least.generation = 6;
  EXPECT_THAT(Run(at_least), HasReason("GENERATION_TOO_OLD"));
  at_least.generation = 8;
  EXPECT_EQ(Sync(at_least).nodes, 20);
  at_least.nodes = 25;
  EXPECT_EQ(Sync(at_least).nodes, 25);
  at_least.nodes = 31;
  EXPECT_EQ(Sync(at_least).verdict, Verdict::kOver);
  EXPECT_EQ(state_.Held(QuotaName(kKey)), 25);
  // It is no more than that request: the next one says how many.
  EXPECT_EQ(Sync(Want("a", 10, 9)).nodes, 10);
  at_least.generation = 10;
  at_least.nodes = 0;
  at_least.release = true;
  EXPECT_EQ(Sync(at_least).held, 0);
  // Of a quota that has forgotten it all.
  at_least = Want("b", 5);
  at_least.at_least = true;
  EXPECT_EQ(Sync(at_least).nodes, 5);
}

// By it the audit finds what was charged after a release.
TEST_F(DecideTest, AHoldingIsUpdatedWhenItsNodesChange) {
  SetLimit(10);
  const auto updated = [&](const SyncHolding& command, absl::Time now) {
    EXPECT_THAT(Run(command, now), IsOk());
    const std::string name = ToString(HoldingName{command.quota, command.pool_uid});
    return state_.table<Holding>().Find(name)->update_time;
  };
  const absl::Time later = kNow + absl::Minutes(1);
  EXPECT_EQ(updated(Want("a", 3), kNow), kNow);
  EXPECT_EQ(updated(Want("a", 3, 2), later), kNow);   // only a newer generation
  EXPECT_EQ(updated(Want("a", 11, 3), later), kNow);  // refused
  EXPECT_EQ(updated(Want("a", 4, 4), later), later);
}

TEST_F(DecideTest, ALoweredLimitTakesNothingAwayAndNothingGrowsMeanwhile) {
  SetLimit(10);
  Sync(Want("a", 6));
  Sync(Want("b", 2));
  SetLimit(5);
  EXPECT_EQ(Sync(Want("a", 6)).verdict, Verdict::kOver);
  EXPECT_EQ(Sync(Want("b", 3, 2)).nodes, 2);
  EXPECT_EQ(Sync(Want("a", 3, 2)).verdict, Verdict::kUnder);
  EXPECT_EQ(state_.Held(QuotaName(kKey)), 5);
}

TEST_F(DecideTest, ReleaseRemovesTheHolding) {
  SetLimit(10);
  Sync(Want("a", 6));
  SyncHolding release = Want("a", 0, 2);
  release.release = true;
  EXPECT_EQ(Sync(release).held, 0);
  EXPECT_EQ(state_.table<Holding>().size(), 0u);
  EXPECT_EQ(Sync(release).nodes, 0);
  EXPECT_EQ(last_changes_, 0u);
}

// Every request at every state that a pool's uid can be in.
// No generation is left to compare with.
TEST_F(DecideTest, ARepeatedReleaseIsAnsweredHoweverFarItsPoolHasCome) {
  SetLimit(10);
  Sync(Want("a", 4, kMaxGenerationJump));
  SyncHolding release = Want("a", 0, kMaxGenerationJump + 1);
  release.release = true;
  Sync(release);
  EXPECT_EQ(Sync(release).nodes, 0);
}

TEST_F(DecideTest, ReleasedIsFinal) {
  SetLimit(10);
  QuotaKey other = kKey;
  other.zone = "US-EAST-04B";
  ASSERT_THAT(Run(UpdateQuota{other, 10, "", true}), IsOk());
  SyncHolding elsewhere = Want("gone", 2);
  elsewhere.quota = QuotaName(other);
  Sync(Want("gone", 4));
  Sync(elsewhere);
  SyncHolding release = Want("gone", 0, 2);
  release.release = true;
  Sync(release);
  SyncHolding never = Want("never", 0);
  never.release = true;
  Sync(never);  // of a holding that was never there: it may be under way still
  EXPECT_EQ(last_changes_, 1u);

  for (const char* uid : {"gone", "never"}) {
    for (const int64_t generation : {1, 2, 3, 1'000}) {
      for (const QuotaKey& key : {kKey, other}) {
        SyncHolding late = Want(uid, 1, generation);
        late.quota = QuotaName(key);
        EXPECT_THAT(Run(late), AllOf(StatusIs(absl::StatusCode::kFailedPrecondition),
                                     HasReason("POOL_RELEASED")));
        EXPECT_EQ(last_changes_, 0u);
      }
      SyncHolding again = Want(uid, 0, generation);
      again.release = true;
      EXPECT_EQ(Sync(again).nodes, 0);
      EXPECT_EQ(last_changes_, 0u);
    }
  }
  EXPECT_EQ(state_.Held(QuotaName(kKey)), 0);
  // What it holds under another key goes by a release of its own, which is fenced as ever.
  EXPECT_EQ(state_.Held(QuotaName(other)), 2);
  EXPECT_THAT(Audit(state_), IsEmpty());
  elsewhere.nodes = 0;
  elsewhere.release = true;
  elsewhere.generation = 0;
  EXPECT_THAT(Run(elsewhere), HasReason("GENERATION_TOO_OLD"));
  elsewhere.generation = 2;
  EXPECT_EQ(Sync(elsewhere).held, 0);
  EXPECT_EQ(state_.Held(QuotaName(other)), 0);
}

TEST_F(DecideTest, AReleasedPoolIsForgottenAfterItsTime) {
  const auto release = [&](const char* uid, absl::Duration after) {
    SyncHolding command = Want(uid, 0);
    command.release = true;
    ASSERT_THAT(Run(command, kNow + after), IsOk());
  };
  for (const absl::Duration keep : {kReleasedKeep, absl::Hours(2), absl::Hours(72)}) {
    SCOPED_TRACE(keep);
    state_ = State();
    policy_.released_keep = keep;
    release("a", absl::ZeroDuration());
    release("b", keep - absl::Seconds(1));
    EXPECT_NE(FindReleased(state_, "a"), nullptr);
    release("c", keep);
    EXPECT_EQ(FindReleased(state_, "a"), nullptr);
    EXPECT_NE(FindReleased(state_, "b"), nullptr);
  }
}

TEST_F(DecideTest, AGenerationOfTheFarFutureIsRefused) {
  SetLimit(10);
  constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(Run(Want("a", 1, kGreatest)), AllOf(StatusIs(absl::StatusCode::kInvalidArgument),
                                                  HasReason("GENERATION_OUT_OF_RANGE")));
  EXPECT_EQ(last_changes_, 0u);
  Sync(Want("a", 1));
  EXPECT_THAT(Run(Want("a", 2, kGreatest)), HasReason("GENERATION_OUT_OF_RANGE"));
  EXPECT_EQ(Sync(Want("a", 2, 2)).nodes, 2);  // one such call does no harm
}

TEST_F(DecideTest, SpotHasItsOwnRows) {
  SetLimit(10);
  QuotaKey spot = kKey;
  spot.compute_class = ComputeClass::kSpot;
  EXPECT_EQ(Sync({QuotaName(spot), "a", 1, 1, "a"}).verdict, Verdict::kNotSet);
}

TEST_F(DecideTest, CreateMakesWhatIsNotThereAndChangesNothingThatIs) {
  EXPECT_THAT(Run(CreateQuota{kKey, 5}), IsOk());
  EXPECT_THAT(Run(CreateQuota{kKey, 6}),
              AllOf(StatusIs(absl::StatusCode::kAlreadyExists), HasReason("ALREADY_EXISTS")));
  EXPECT_EQ(last_changes_, 0u);
  const Quota* quota = state_.table<Quota>().Find(QuotaName(kKey));
  EXPECT_EQ(quota->limit, 5);
  EXPECT_EQ(quota->create_time, kNow);
}

TEST_F(DecideTest, AnUpdateThatNamesNoLimitLeavesIt) {
  SetLimit(5);
  EXPECT_THAT(Run(UpdateQuota{kKey}), IsOk());
  EXPECT_EQ(state_.table<Quota>().Find(QuotaName(kKey))->limit, 5);
  EXPECT_EQ(last_changes_, 0u);
}

TEST_F(DecideTest, UpdateHonoursEtagAndAllowMissing) {
  EXPECT_THAT(Run(UpdateQuota{kKey, 5}), StatusIs(absl::StatusCode::kNotFound));
  SetLimit(5);
  const std::string etag = EtagOf(*state_.table<Quota>().Find(QuotaName(kKey)));
  Sync(Want("a", 1));  // does not change the etag
  EXPECT_THAT(Run(UpdateQuota{kKey, 6, "wrong"}),
              AllOf(StatusIs(absl::StatusCode::kAborted), HasReason("ETAG_MISMATCH")));
  EXPECT_THAT(Run(UpdateQuota{kKey, 6, etag}, kNow + absl::Seconds(1)), IsOk());
  const Quota* quota = state_.table<Quota>().Find(QuotaName(kKey));
  EXPECT_EQ(quota->limit, 6);
  EXPECT_EQ(quota->create_time, kNow);
  EXPECT_EQ(quota->update_time, kNow + absl::Seconds(1));
  EXPECT_THAT(Run(UpdateQuota{kKey, 6}), IsOk());
  EXPECT_EQ(last_changes_, 0u);
}

// As of whoever's answer was lost.
TEST_F(DecideTest, AnUpdateThatIsSoAlreadyNeedsNoEtag) {
  SetLimit(5);
  const std::string etag = EtagOf(*state_.table<Quota>().Find(QuotaName(kKey)));
  const UpdateQuota update{kKey, 6, etag};
  EXPECT_THAT(Run(update), IsOk());
  EXPECT_EQ(last_changes_, 1u);
  EXPECT_THAT(Run(update, kNow + absl::Seconds(1)), IsOk());
  EXPECT_EQ(last_changes_, 0u);
  SetLimit(7);
  EXPECT_THAT(Run(update), AllOf(StatusIs(absl::StatusCode::kAborted), HasReason("ETAG_MISMATCH")));
  EXPECT_EQ(last_changes_, 0u);
  EXPECT_EQ(state_.table<Quota>().Find(QuotaName(kKey))->limit, 7);
}

// A history that was restored counts its revisions again: a Quota that was changed anew has another
// etag all the same.
TEST(QuotaEtag, IsOfWhatTheQuotaSaysAndNotOfItsRevision) {
  const LimitOverride override{8, kNow, kNow + absl::Hours(1), "launch"};
  const Quota quota{kKey, 5, kNow, kNow, {override}};
  const std::string etag = EtagOf(quota);
  EXPECT_EQ(EtagOf(Quota(quota)), etag);
  const std::vector<void (*)(Quota&)> changes = {
      [](Quota& q) { q.key.zone = "US-EAST-04B"; },
      [](Quota& q) { q.limit = 6; },
      [](Quota& q) { q.create_time += absl::Microseconds(1); },
      [](Quota& q) { q.update_time += absl::Microseconds(1); },
      [](Quota& q) { q.overrides.clear(); },
      [](Quota& q) { q.overrides[0].limit = 9; },
      [](Quota& q) { q.overrides[0].effective_time += absl::Microseconds(1); },
      [](Quota& q) { q.overrides[0].expire_time += absl::Microseconds(1); },
      [](Quota& q) { q.overrides[0].reason = "other"; },
  };
  std::set<std::string> etags = {etag};
  for (const auto& change : changes) {
    Quota changed = quota;
    change(changed);
    etags.insert(EtagOf(changed));
  }
  EXPECT_EQ(etags.size(), changes.size() + 1);
}

// Those that clients have stay what they are.
TEST(QuotaEtag, IsTheSameInEveryProcess) {
  EXPECT_EQ(EtagOf(Quota{kKey, 5, kNow, kNow, {}}), "f7c93879d3cf8028");
}

TEST(QuotaEtag, OfAnotherHistoryIsRefused) {
  const auto set_limit = [](State& state, int64_t limit, const std::string& etag, absl::Time now) {
    StagedState<State> staged(state, 500);
    const UpdateQuota command{kKey, limit, etag, etag.empty()};
    return Decide(staged, command, now);
  };
  State lost, restored;
  ASSERT_THAT(set_limit(lost, 20, "", kNow), IsOk());
  ASSERT_THAT(set_limit(restored, 30, "", kNow + absl::Minutes(1)), IsOk());
  const auto row = [](const State& state) {
    return *state.table<Quota>().FindVersioned(QuotaName(kKey));
  };
  ASSERT_EQ(row(lost).revision, row(restored).revision);
  EXPECT_THAT(set_limit(restored, 21, EtagOf(*row(lost).row), kNow + absl::Minutes(2)),
              HasReason("ETAG_MISMATCH"));
  EXPECT_EQ(row(restored).row->limit, 30);
}

// "or with an etag: who has one saw a Quota"
TEST_F(DecideTest, AnUpdateWithAnEtagMakesNoQuota) {
  EXPECT_THAT(Run(UpdateQuota{kKey, 5, "1", true}),
              AllOf(StatusIs(absl::StatusCode::kNotFound), HasReason("NOT_FOUND")));
  EXPECT_EQ(last_changes_, 0u);
  EXPECT_EQ(state_.table<Quota>().Find(QuotaName(kKey)), nullptr);
}

TEST_F(DecideTest, ADeletedQuotaLeavesItsHoldings) {
  SetLimit(5);
  Sync(Want("a", 3));
  EXPECT_THAT(Run(DeleteQuota{QuotaName(kKey), "wrong"}), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(Run(DeleteQuota{QuotaName(kKey)}), IsOk());
  EXPECT_THAT(Run(DeleteQuota{QuotaName(kKey)}), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Run(DeleteQuota{QuotaName(kKey), "", true}), IsOk());
  EXPECT_EQ(Sync(Want("a", 3)).verdict, Verdict::kNotSet);
  EXPECT_EQ(state_.Held(QuotaName(kKey)), 3);
}

TEST(State, WhatIsDeletedAndNeverWasChangesNothing) {
  EXPECT_EQ(RowsAfterAbsentOnesGo<State>(), 0);
}

}  // namespace
}  // namespace muster::quota
