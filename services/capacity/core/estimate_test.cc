#include "services/capacity/core/estimate.h"

#include <gtest/gtest.h>

#include "services/capacity/core/limits.h"

namespace muster::capacity {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();

// `count` bursts of `machines`, one every `apart`.
std::vector<Burst> Every(absl::Duration apart, int count, int64_t machines = 1) {
  std::vector<Burst> bursts = {{kStart, 0}};
  for (int i = 1; i <= count; ++i) bursts.push_back({kStart + apart * i, machines});
  return bursts;
}

double Minutes(absl::Duration duration) { return absl::ToDoubleMinutes(duration); }

// The exact quantiles of the wait for the next burst, the next but two and so on: with J of n and E
// of 20.5, of T * Gamma(J) / Gamma(E), where drift takes from E.
TEST(EstimateTest, TheRangeIsThatOfTheDistribution) {
  const auto bursts = Every(absl::Minutes(10), 20);
  const absl::Time now = bursts.back().time;
  const auto next = EstimateWait(bursts, 1, now);
  ASSERT_TRUE(next);
  // E = 1 / (1 / 20.5 + 0.5 / 21.5) = 13.9: 200 min / 20.5 * E * (x^(-1 / E) - 1) at x = 0.9, 0.1.
  EXPECT_NEAR(Minutes(next->earliest), 1.03, 0.1);
  EXPECT_NEAR(Minutes(next->latest), 24.5, 1);
  // The first of two that come together is the first.
  EXPECT_EQ(EstimateWait(Every(absl::Minutes(10), 20, 2), 1, now), next);
  EXPECT_EQ(EstimateWait(Every(absl::Minutes(10), 20, 5), 5, now), next);
}

TEST(EstimateTest, TooFewBurstsTellNothing) {
  EXPECT_EQ(EstimateWait({}, 1, kStart), std::nullopt);
  for (int count = 0; count < 3; ++count) {
    const auto bursts = Every(absl::Minutes(1), count, 100);
    EXPECT_EQ(EstimateWait(bursts, 1, bursts.back().time), std::nullopt) << count;
  }
  const auto bursts = Every(absl::Minutes(1), 3);
  EXPECT_TRUE(EstimateWait(bursts, 1, bursts.back().time));
  EXPECT_EQ(EstimateWait(bursts, 0, bursts.back().time), std::nullopt);
  EXPECT_EQ(EstimateWait(bursts, -1, bursts.back().time), std::nullopt);
}

// One that brought hundreds does not tell when hundreds come again.
TEST(EstimateTest, UnequalBurstsTellLess) {
  auto bursts = Every(absl::Minutes(1), 20);
  const absl::Time now = bursts.back().time;
  const auto equal = EstimateWait(bursts, 5, now);
  bursts[7].machines = 500;
  EXPECT_EQ(EstimateWait(bursts, 500, now), std::nullopt);
  const auto unequal = EstimateWait(bursts, 5, now);
  ASSERT_TRUE(equal && unequal);
  EXPECT_GT(unequal->latest / unequal->earliest, equal->latest / equal->earliest);
  EXPECT_GT(unequal->latest, equal->latest / 2);  // the 500 count as 5
}

TEST(EstimateTest, TheLongerNothingCameTheLongerItTakes) {
  const auto bursts = Every(absl::Minutes(1), 20);
  const auto before = EstimateWait(bursts, 3, bursts.back().time);
  const auto after = EstimateWait(bursts, 3, bursts.back().time + absl::Hours(1));
  ASSERT_TRUE(before && after);
  EXPECT_GT(after->earliest, before->earliest * 2);
  EXPECT_GT(after->latest, before->latest * 2);
}

TEST(EstimateTest, TheMoreAreAheadTheLongerAndNothingIsToldOfVeryLong) {
  const auto bursts = Every(absl::Hours(1), 20, 2);
  const absl::Time now = bursts.back().time;
  auto ahead = EstimateWait(bursts, 1, now);
  ASSERT_TRUE(ahead);
  int64_t nodes = 2;
  for (; nodes <= kMaxNodes; nodes = nodes * 3 / 2 + 1) {
    const auto behind = EstimateWait(bursts, nodes, now);
    if (!behind) break;
    EXPECT_LE(ahead->earliest, behind->earliest) << nodes;
    EXPECT_LE(ahead->latest, behind->latest) << nodes;
    EXPECT_LT(behind->earliest, behind->latest) << nodes;
    EXPECT_EQ(behind->latest, absl::Floor(behind->latest, absl::Seconds(1)));
    EXPECT_EQ(behind->earliest, absl::Floor(behind->earliest, absl::Seconds(1)));
    ahead = behind;
  }
  EXPECT_GT(nodes, 500);  // 10 days and more
  EXPECT_GT(ahead->latest, kLongestWait / 3);
  EXPECT_EQ(EstimateWait(bursts, 1'000 * kMaxNodes, now), std::nullopt);
}

TEST(EstimateTest, NumbersAtTheirLimitsDoNotOverflow) {
  auto bursts = Every(absl::ZeroDuration(), 20, 1'000 * kMaxNodes);
  EXPECT_EQ(EstimateWait(bursts, 1, kStart), (WaitRange{}));
  EXPECT_EQ(EstimateWait(bursts, 1, absl::InfiniteFuture()), std::nullopt);
  bursts = Every(absl::Microseconds(1), 20, 1);
  EXPECT_TRUE(EstimateWait(bursts, 1'000 * kMaxNodes, bursts.back().time));
}

}  // namespace
}  // namespace muster::capacity
