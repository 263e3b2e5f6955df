#include "services/capacity/core/estimate.h"

#include <gtest/gtest.h>

#include "services/capacity/core/limits.h"

namespace muster::capacity {
namespace {

TEST(EstimateTest, TheRangeIsOneStandardDeviationAboutTheRate) {
  // 9 a day, give or take 3: 12 Nodes take a day at 12 a day, two at 6 a day.
  EXPECT_EQ(EstimateWait(9, 12), (WaitRange{absl::Hours(24), absl::Hours(48)}));
  EXPECT_EQ(EstimateWait(kMinGrants, 1), (WaitRange{absl::Hours(4), absl::Hours(12)}));
}

TEST(EstimateTest, NothingIsToldOfTooFewOrOfNothing) {
  EXPECT_EQ(EstimateWait(kMinGrants - 1, 1), std::nullopt);
  EXPECT_EQ(EstimateWait(0, 1), std::nullopt);
  EXPECT_EQ(EstimateWait(100, 0), std::nullopt);
  EXPECT_EQ(EstimateWait(100, -1), std::nullopt);
}

TEST(EstimateTest, TheMoreWereSeenTheNarrowerTheRangeAndTheMoreAreAheadTheLonger) {
  for (int64_t grants = kMinGrants; grants < 100'000; grants = grants * 3 + 1) {
    const auto few = EstimateWait(grants, 1'000);
    const auto more = EstimateWait(grants * 4, 4'000);  // as fast, seen better
    const auto behind = EstimateWait(grants, 1'001);
    ASSERT_TRUE(few && more && behind);
    EXPECT_LT(few->earliest, few->latest);
    EXPECT_LT(few->earliest, more->earliest);
    EXPECT_GT(few->latest, more->latest);
    EXPECT_LE(few->earliest, behind->earliest);
    EXPECT_LE(few->latest, behind->latest);
    EXPECT_EQ(few->latest, absl::Floor(few->latest, absl::Seconds(1)));
  }
}

TEST(EstimateTest, NumbersAtTheirLimitsDoNotOverflow) {
  const auto range = EstimateWait(kMinGrants, 1'000 * kMaxNodes);
  ASSERT_TRUE(range);
  EXPECT_GT(range->earliest, absl::Hours(24));
  EXPECT_LT(range->latest, absl::InfiniteDuration());
}

}  // namespace
}  // namespace muster::capacity
