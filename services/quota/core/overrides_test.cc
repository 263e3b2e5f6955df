#include "services/quota/core/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "services/quota/core/decide.h"
#include "services/quota/core/limits.h"
#include "services/quota/core/testing/key.h"
#include "tests/testing/status_matchers.h"

namespace muster::quota {
namespace {

using ::muster::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::Time At(int hours) { return kNow + absl::Hours(hours); }

class OverridesTest : public ::testing::Test {
 protected:
  template <class Command>
  auto Run(const Command& command, absl::Time now) {
    StagedState<State> staged(state_, revision_);
    auto result = Decide(staged, command, now);
    revision_ = staged.revision();
    return result;
  }
  const Quota& Row() const { return *state_.table<Quota>().Find(QuotaName(kKey)); }
  Verdict Want(int64_t nodes, absl::Time now) {
    const auto answer = Run(SyncHolding{QuotaName(kKey), "p", nodes, ++generation_, "p"}, now);
    EXPECT_THAT(answer, IsOk());
    return answer->verdict;
  }

  State state_;
  int64_t revision_ = 0;
  int64_t generation_ = 0;
};

// Two that touch: no moment belongs to both or to none.
TEST_F(OverridesTest, AnOverrideIsInForceFromItsEffectiveTimeUpToItsExpireTime) {
  Quota quota{kKey, 1, kNow, kNow, {{5, At(1), At(2), ""}, {7, At(2), At(3), ""}}};
  const absl::Duration tick = absl::Microseconds(1);
  EXPECT_EQ(LimitAt(quota, At(1) - tick), 1);
  EXPECT_EQ(LimitAt(quota, At(1)), 5);
  EXPECT_EQ(LimitAt(quota, At(2) - tick), 5);
  EXPECT_EQ(LimitAt(quota, At(2)), 7);
  EXPECT_EQ(LimitAt(quota, At(3)), 1);
  EXPECT_EQ(NextChange(quota), At(1));
  quota.update_time = At(1);
  EXPECT_EQ(NextChange(quota), At(2));
  quota.update_time = At(2);
  EXPECT_EQ(NextChange(quota), At(3));
  quota.update_time = At(3);
  EXPECT_EQ(NextChange(quota), absl::InfiniteFuture());
}

TEST_F(OverridesTest, DecisionsFollowTheClockNotTheRow) {
  ASSERT_THAT(Run(CreateQuota{kKey, 2, {{5, At(1), At(2), "launch"}}}, kNow), IsOk());
  EXPECT_EQ(Want(5, At(1) - absl::Microseconds(1)), Verdict::kOver);
  EXPECT_EQ(Want(5, At(1)), Verdict::kUnder);
  EXPECT_EQ(Want(5, At(2)), Verdict::kOver);
  EXPECT_EQ(state_.Held(QuotaName(kKey)), 5);
  EXPECT_EQ(LimitInForce(Row()), 2);
}

TEST_F(OverridesTest, SettlingWritesWhatChangedOnceAndDropsWhatLapsed) {
  ASSERT_THAT(Run(CreateQuota{kKey, 2, {{5, At(1), At(2), ""}, {7, At(3), At(4), ""}}}, kNow),
              IsOk());
  EXPECT_EQ(state_.NextChangeOfAll(), At(1));
  EXPECT_EQ(Run(ApplyOverrides{}, kNow), 0u);
  EXPECT_EQ(Run(ApplyOverrides{}, At(1)), 1u);
  EXPECT_EQ(LimitInForce(Row()), 5);
  const int64_t revision = revision_;
  EXPECT_EQ(Run(ApplyOverrides{}, At(1)), 0u);
  EXPECT_EQ(revision_, revision);
  EXPECT_EQ(Run(ApplyOverrides{}, At(2)), 1u);
  EXPECT_EQ(LimitInForce(Row()), 2);
  EXPECT_THAT(Row().overrides, ElementsAre(LimitOverride{7, At(3), At(4), ""}));
  // Nobody was there for both ends of the second one.
  EXPECT_EQ(Run(ApplyOverrides{}, At(9)), 1u);
  EXPECT_THAT(Row().overrides, IsEmpty());
  EXPECT_EQ(state_.NextChangeOfAll(), absl::InfiniteFuture());
}

TEST_F(OverridesTest, SettlingGoesOnWhereItStopped) {
  const int many = static_cast<int>(kMaxApplied) + 10;
  for (int i = 0; i < many; ++i) {
    QuotaKey key = kKey;
    key.instance_type = absl::StrCat("t", i);
    ASSERT_THAT(Run(CreateQuota{key, 2, {{5, At(1), At(2), ""}}}, kNow), IsOk());
  }
  EXPECT_EQ(Run(ApplyOverrides{}, At(1)), kMaxApplied);
  EXPECT_EQ(Run(ApplyOverrides{}, At(1)), 10u);
  EXPECT_EQ(state_.NextChangeOfAll(), At(2));
}

TEST_F(OverridesTest, AnUpdateReplacesOverridesAndLeavesOutWhatLapsed) {
  ASSERT_THAT(Run(CreateQuota{kKey, 2, {{5, At(1), At(2), ""}}}, kNow), IsOk());
  UpdateQuota update{kKey, 3};
  ASSERT_THAT(Run(update, kNow), IsOk());
  EXPECT_EQ(Row().overrides.size(), 1u);
  update.overrides = {{{5, At(1), At(2), ""}, {6, At(3), At(5), ""}}};
  ASSERT_THAT(Run(update, At(4)), IsOk());
  EXPECT_THAT(Row().overrides, ElementsAre(LimitOverride{6, At(3), At(5), ""}));
  EXPECT_EQ(LimitInForce(Row()), 6);
  const int64_t revision = revision_;
  ASSERT_THAT(Run(update, At(4)), IsOk());
  EXPECT_EQ(revision_, revision);
  update.overrides.emplace();
  ASSERT_THAT(Run(update, At(4)), IsOk());
  EXPECT_EQ(LimitInForce(Row()), 3);
  EXPECT_EQ(state_.NextChangeOfAll(), absl::InfiniteFuture());
}

TEST_F(OverridesTest, ADeletedQuotaIsNotWaitedFor) {
  ASSERT_THAT(Run(CreateQuota{kKey, 2, {{5, At(1), At(2), ""}}}, kNow), IsOk());
  ASSERT_THAT(Run(DeleteQuota{QuotaName(kKey)}, kNow), IsOk());
  EXPECT_EQ(state_.NextChangeOfAll(), absl::InfiniteFuture());
  EXPECT_EQ(Run(ApplyOverrides{}, At(1)), 0u);
}

}  // namespace
}  // namespace muster::quota
