#include "services/fleetsim/lag_histogram.h"

#include <gtest/gtest.h>

namespace muster::fleetsim {
namespace {

TEST(LagTest, NothingIsNoLag) {
  EXPECT_EQ(LagHistogram().count(), 0);
  EXPECT_EQ(LagHistogram().Quantile(0.99), absl::ZeroDuration());
}

TEST(LagTest, QuantilesAreWithinAFactorOfTwo) {
  LagHistogram lag;
  for (int i = 1; i <= 1000; ++i) lag.Add(absl::Milliseconds(i));
  EXPECT_EQ(lag.count(), 1000);
  EXPECT_EQ(lag.max(), absl::Milliseconds(1000));
  for (const double quantile : {0.01, 0.1, 0.5, 0.9, 0.99, 1.0}) {
    const absl::Duration exact = absl::Milliseconds(1000) * quantile;
    EXPECT_GE(lag.Quantile(quantile), exact) << quantile;
    EXPECT_LE(lag.Quantile(quantile), 2 * exact) << quantile;
  }
}

TEST(LagTest, EarlyIsOnTimeAndVeryLateIsKept) {
  LagHistogram lag;
  lag.Add(-absl::Hours(1));
  EXPECT_EQ(lag.Quantile(1), absl::ZeroDuration());
  lag.Add(absl::Hours(24));
  EXPECT_EQ(lag.Quantile(1), absl::Hours(24));
  EXPECT_EQ(lag.Quantile(0.5), absl::Microseconds(125));
}

}  // namespace
}  // namespace muster::fleetsim
