#include "services/common/released_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/internal_kind.h"

namespace muster {
namespace {

class State : public StateBase<State, ReleasedPool> {
 public:
  const ReleasedByTime& released() const { return released_; }
  void Reindex(const ReleasedPool* before, const ReleasedPool* after) {
    released_.Reindex(before, after);
  }

 private:
  ReleasedByTime released_;
};

constexpr absl::Duration kKeep = absl::Hours(24);
const absl::Time kStart = absl::FromUnixSeconds(1'750'000'000);

class ReleasedPoolTest : public ::testing::Test {
 protected:
  // How many rows were written.
  size_t Run(const std::string& uid, int64_t generation, absl::Duration after) {
    StagedState<State> staged(state_, 0);
    RememberReleased(staged, {uid, generation, kStart + after}, kKeep);
    return staged.changes().size();
  }

  State state_;
};

TEST_F(ReleasedPoolTest, TheFirstReleaseCounts) {
  EXPECT_EQ(FindReleased(state_, "p"), nullptr);
  EXPECT_EQ(Run("p", 3, absl::ZeroDuration()), 1u);
  const ReleasedPool first{"p", 3, kStart};
  EXPECT_EQ(*FindReleased(state_, "p"), first);
  EXPECT_EQ(Run("p", 9, absl::Hours(1)), 0u);
  EXPECT_EQ(*FindReleased(state_, "p"), first);
}

TEST_F(ReleasedPoolTest, TheOldestGoWithNewOnesAFewAtATimeAndNoneTooEarly) {
  for (int i = 0; i < 10; ++i) Run(absl::StrCat("old-", i), 1, absl::Minutes(i));
  EXPECT_EQ(Run("late", 1, absl::Minutes(9) + kKeep - absl::Microseconds(1)), 1 + kPurgedAtOnce);
  EXPECT_EQ(FindReleased(state_, "old-3"), nullptr);
  EXPECT_NE(FindReleased(state_, "old-4"), nullptr);
  Run("later", 1, absl::Minutes(9) + kKeep - absl::Microseconds(1));
  // Nine were older than that, the tenth was not.
  EXPECT_EQ(Run("last", 1, absl::Minutes(9) + kKeep - absl::Microseconds(1)), 2u);
  EXPECT_NE(FindReleased(state_, "old-9"), nullptr);
  EXPECT_EQ(state_.size(), 4u);
}

// Whatever comes and goes, by decisions that stand and by those that are taken back: no uid is
// forgotten before its time, and the index is that of the rows.
TEST_F(ReleasedPoolTest, RandomHistoriesForgetNothingTooEarly) {
  std::mt19937 random(7);
  absl::Time now = kStart;
  std::map<std::string, absl::Time> wanted;
  size_t forgotten = 0;
  for (int step = 0; step < 20'000; ++step) {
    now += absl::Minutes(random() % 30);
    const std::string uid = absl::StrCat("p", random() % 300);
    StagedState<State> staged(state_, 0);
    RememberReleased(staged, {uid, 1, now}, kKeep);
    if (random() % 5 == 0) {
      staged.RollBack();
    } else {
      for (const auto& change : staged.changes()) {
        if (!change.change.deleted()) continue;
        EXPECT_GE(now - wanted.at(change.change.key), kKeep);
        wanted.erase(change.change.key);
        ++forgotten;
      }
      wanted.emplace(uid, now);
    }
    ASSERT_EQ(state_.size(), wanted.size());
    State rebuilt;
    if (step % 100 != 0) continue;
    state_.ForEach([&](const auto& row) { rebuilt.Apply(row.change, row.revision); });
    ASSERT_TRUE(rebuilt.released() == state_.released());
    for (const auto& [kept, time] : wanted)
      ASSERT_EQ(FindReleased(state_, kept)->release_time, time);
  }
  EXPECT_GT(forgotten, 1'000u);
}

TEST(ReleasedPoolErrors, SayWhatIsRefusedAndSinceWhen) {
  const absl::Status status = error::PoolReleased("claims/p", {"p", 4, kStart});
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  const auto detail = error::DetailOf(status);
  EXPECT_EQ(detail->reason, "POOL_RELEASED");
  EXPECT_EQ(detail->resource, "claims/p");
  EXPECT_EQ(detail->metadata.at("pool_uid"), "p");
  EXPECT_EQ(detail->metadata.at("release_time"), "2025-06-15T15:06:40+00:00");
  EXPECT_TRUE(CheckReleasedKeep(kMinReleasedKeep).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(CheckReleasedKeep(kMinReleasedKeep - absl::Seconds(1))));
}

TEST(InternalKindTest, TellsBookkeepingFromResources) {
  EXPECT_TRUE(IsInternalKind(ReleasedPool::kKind));
  EXPECT_FALSE(IsInternalKind("holding"));
  EXPECT_FALSE(IsInternalKind(""));
}

}  // namespace
}  // namespace muster
