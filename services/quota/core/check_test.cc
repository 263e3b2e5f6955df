#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/generation.h"
#include "services/quota/core/decide.h"
#include "services/quota/core/limits.h"
#include "services/quota/core/testing/key.h"
#include "tests/testing/status_matchers.h"

// What would happen, and who is in the way.
namespace muster::quota {
namespace {

using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CheckTest : public ::testing::Test {
 protected:
  static SyncHolding Want(const std::string& pool, int64_t nodes, int64_t generation = 1) {
    return {QuotaName(kKey), pool, nodes, generation, absl::StrCat("pools/", pool)};
  }
  void SetLimit(int64_t limit) {
    StagedState<State> staged(state_, revision_);
    ASSERT_THAT(Decide(staged, UpdateQuota{kKey, limit, "", true}, kNow), IsOk());
    revision_ = staged.revision();
  }
  absl::StatusOr<HoldingOutcome> Sync(const SyncHolding& command) {
    StagedState<State> staged(state_, revision_);
    auto answer = OrError(command, Decide(staged, command, kNow));
    revision_ = staged.revision();
    return answer;
  }

  State state_;
  int64_t revision_ = 0;
};

TEST_F(CheckTest, AnOverAnswerNamesWhoHoldsTheRestLargestFirst) {
  SetLimit(20);
  for (const auto& [pool, nodes] : std::vector<std::pair<std::string, int64_t>>{
           {"me", 1}, {"b", 3}, {"a", 3}, {"big", 9}, {"none", 0}}) {
    ASSERT_THAT(Sync(Want(pool, nodes)), IsOk());
  }
  const auto answer = Sync(Want("me", 6, 2));
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->verdict, Verdict::kOver);
  EXPECT_TRUE(answer->refused);
  EXPECT_THAT(answer->holders.largest,
              ElementsAre(Holder{"big", "pools/big", 9}, Holder{"a", "pools/a", 3},
                          Holder{"b", "pools/b", 3}));
  EXPECT_EQ(answer->holders.others, 0);
  EXPECT_EQ(answer->holders.other_nodes, 0);
  const auto under = Sync(Want("me", 2, 3));
  ASSERT_THAT(under, IsOk());
  EXPECT_THAT(under->holders.largest, IsEmpty());
}

TEST_F(CheckTest, HoldersBeyondTheListAreSummedUp) {
  SetLimit(1'000);
  for (int i = 0; i < 15; ++i) ASSERT_THAT(Sync(Want(absl::StrCat("p", 10 + i), i + 1)), IsOk());
  ASSERT_THAT(Sync(Want("me", 1)), IsOk());
  const auto answer = Sync(Want("me", 1'000, 2));
  ASSERT_THAT(answer, IsOk());
  ASSERT_EQ(answer->holders.largest.size(), kMaxHoldersListed);
  EXPECT_EQ(answer->holders.largest.front().nodes, 15);
  EXPECT_EQ(answer->holders.others, 5);
  EXPECT_EQ(answer->holders.other_nodes, 1 + 2 + 3 + 4 + 5);
}

TEST_F(CheckTest, MustFitTellsARefusedGrowthAsAnErrorAndTheGenerationStays) {
  SyncHolding want = Want("a", 3, 7);
  want.must_fit = true;
  EXPECT_THAT(Sync(want),
              AllOf(StatusIs(absl::StatusCode::kResourceExhausted), HasReason("QUOTA_NOT_SET")));
  SetLimit(2);
  EXPECT_THAT(Sync(want),
              AllOf(StatusIs(absl::StatusCode::kResourceExhausted), HasReason("QUOTA_EXCEEDED")));
  EXPECT_THAT(Sync(Want("a", 1, 6)), HasReason("GENERATION_TOO_OLD"));
  want.nodes = 2;
  EXPECT_THAT(Sync(want), IsOk());
  // Over without a growth is no error: nothing was refused.
  SetLimit(1);
  EXPECT_THAT(Sync(want), IsOk());
}

TEST_F(CheckTest, AGenerationOfTheFutureIsNewerThanAny) {
  SetLimit(5);
  ASSERT_THAT(Sync(Want("a", 2, 1'000)), IsOk());
  const auto answers = Check(state_, {Want("a", 3, 5), Want("b", 3, kNewestGeneration)}, kNow, 9);
  EXPECT_THAT(answers[0], HasReason("GENERATION_TOO_OLD"));
  ASSERT_THAT(answers[1], IsOk());
  EXPECT_EQ(answers[1]->verdict, Verdict::kUnder);
  EXPECT_EQ(answers[1]->revision, 9);
  const auto newest = Check(state_, {Want("a", 3, kNewestGeneration)}, kNow, 9);
  ASSERT_THAT(newest[0], IsOk());
  EXPECT_EQ(newest[0]->nodes, 3);
}

// The one promise of a Check: it says what the same requests would have got.
TEST_F(CheckTest, ACheckSaysWhatABatchGets) {
  std::mt19937 random(7);
  const auto pick = [&](int64_t below) {
    return std::uniform_int_distribution<int64_t>(0, below - 1)(random);
  };
  const auto text = [](const absl::StatusOr<HoldingOutcome>& answer) {
    if (!answer.ok()) return answer.status().ToString();
    std::string out = absl::StrCat(static_cast<int>(answer->verdict), " ", answer->nodes, " ",
                                   answer->limit, " ", answer->held, " ", answer->refused, " ",
                                   answer->holders.others, " ", answer->holders.other_nodes);
    for (const Holder& holder : answer->holders.largest)
      absl::StrAppend(&out, " ", holder.pool_uid, "=", holder.nodes);
    return out;
  };
  std::map<std::string, int> refusals;
  for (int round = 0; round < 10'000; ++round) {
    SCOPED_TRACE(round);
    // What was released stays so; now and then there are other pools.
    if (round % 25 == 0) state_ = State();
    SetLimit(pick(40));
    std::vector<SyncHolding> batch;
    for (int pool = 0; pool < 20; ++pool) {
      if (pick(2) == 0) continue;
      SyncHolding want = Want(absl::StrCat("p", pool), pick(6), 1 + round + pick(2));
      want.release = pick(10) == 0;
      want.must_fit = pick(3) == 0;
      want.at_least = pick(8) == 0;
      if (want.release) want.nodes = 0;
      if (pick(10) == 0) want.quota = absl::StrCat(want.quota, "x");
      if (pick(20) == 0) want.generation += kMaxGenerationJump;
      SyncHolding elsewhere = want;
      elsewhere.quota = absl::StrCat(want.quota, "y");
      batch.push_back(std::move(want));
      // The pool stands in the batch under two keys.
      if (pick(10) == 0) batch.push_back(std::move(elsewhere));
    }
    const int64_t revision = revision_;
    const auto checked = Check(state_, batch, kNow, revision);
    ASSERT_EQ(checked.size(), batch.size());
    for (size_t i = 0; i < batch.size(); ++i) {
      ASSERT_EQ(text(checked[i]), text(Sync(batch[i])));
      const auto detail = error::DetailOf(checked[i].status());
      if (detail) ++refusals[detail->reason];
    }
  }
  for (const char* reason : {"POOL_RELEASED", "GENERATION_OUT_OF_RANGE", "QUOTA_EXCEEDED"})
    EXPECT_GT(refusals[reason], 1'000) << reason;
}

// A pool that stands in the batch under two keys.
TEST_F(CheckTest, AReleaseCountsForTheRestOfItsBatch) {
  SetLimit(5);
  ASSERT_THAT(Sync(Want("a", 2)), IsOk());
  SyncHolding release = Want("a", 0, kNewestGeneration);
  release.release = true;
  SyncHolding elsewhere = Want("a", 1, kNewestGeneration);
  elsewhere.quota = absl::StrCat(elsewhere.quota, "x");
  const auto answers = Check(state_, {release, elsewhere, Want("b", 5)}, kNow, 9);
  EXPECT_THAT(answers[0], IsOk());
  EXPECT_THAT(answers[1], HasReason("POOL_RELEASED"));
  ASSERT_THAT(answers[2], IsOk());
  EXPECT_EQ(answers[2]->held, 5);
  EXPECT_EQ(FindReleased(state_, "a"), nullptr);
}

}  // namespace
}  // namespace muster::quota
