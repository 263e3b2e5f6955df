#include "services/rpc/change_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "tests/testing/status_matchers.h"

namespace muster::rpc {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

class ChangeLimitsTest : public ::testing::Test {
 protected:
  // One request of the account that changes so much.
  absl::Status Change(const std::string& account, int64_t changes) {
    const auto pace = limits_.Enter(account);
    if (pace.ok()) (*pace)->Add(changes);
    return pace.status();
  }

  FakeSteadyClock clock_;
  ChangeLimits limits_{60, &clock_};
};

TEST_F(ChangeLimitsTest, SoManyAtOnceThenAsTheyAreDealtOut) {
  for (int i = 0; i < 61; ++i) EXPECT_THAT(Change("acme", 1), IsOk()) << i;
  const absl::Status refused = Change("acme", 1);
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("`acme` may change 60 things a minute.")));
  EXPECT_EQ(error::ReasonOf(refused), "TOO_FAST");
  EXPECT_EQ(error::DetailOf(refused)->retry_after, absl::Seconds(1));
  EXPECT_THAT(Change("beta", 1), IsOk());
  clock_.Advance(absl::Seconds(1));
  EXPECT_THAT(Change("acme", 1), IsOk());
  EXPECT_FALSE(Change("acme", 1).ok());
  EXPECT_EQ(limits_.refused(), 2);
}

TEST_F(ChangeLimitsTest, WhatChangesMoreThanThatIsWaitedFor) {
  EXPECT_THAT(Change("acme", 180), IsOk());
  EXPECT_EQ(error::DetailOf(Change("acme", 1))->retry_after, absl::Minutes(2));
  clock_.Advance(absl::Minutes(2));
  EXPECT_THAT(Change("acme", 1), IsOk());
}

TEST_F(ChangeLimitsTest, WhatChangesNothingCountsNothing) {
  for (int i = 0; i < 1'000; ++i) EXPECT_THAT(Change("acme", 0), IsOk());
}

TEST(ChangePaceTest, ALargeChangeCountsAsSeveral) {
  constexpr size_t kStep = ChangePace::kBytesAChange;
  EXPECT_EQ(ChangePace::ChangesOf(0), 1);
  EXPECT_EQ(ChangePace::ChangesOf(kStep), 1);
  EXPECT_EQ(ChangePace::ChangesOf(kStep + 1), 2);
  EXPECT_EQ(ChangePace::ChangesOf(70 * 1'024), 18) << "the largest NodePool";
}

TEST_F(ChangeLimitsTest, ThePlatformIsNotCounted) {
  const auto pace = limits_.Enter("");
  ASSERT_THAT(pace.status(), IsOk());
  EXPECT_EQ(*pace, nullptr);
  ChangeLimits none(0, &clock_);
  EXPECT_EQ(*none.Enter("acme"), nullptr);
}

TEST_F(ChangeLimitsTest, WhoIsQuietIsForgottenButNotWhoIsNot) {
  EXPECT_THAT(Change("acme", 180), IsOk());
  const auto held = *limits_.Enter("held");
  for (int i = 0; i < 5'000; ++i) EXPECT_THAT(Change(absl::StrCat("quiet", i), 0), IsOk());
  EXPECT_LT(limits_.size(), 2'000u);
  EXPECT_FALSE(Change("acme", 1).ok());
  EXPECT_EQ(*limits_.Enter("held"), held);
}

}  // namespace
}  // namespace muster::rpc
