#include "tests/bench/cpu.h"

#include <gtest/gtest.h>

#include <vector>

namespace muster::bench {
namespace {

TEST(CpuTest, ACostIsSharedByTheOperations) {
  const CpuCost cost = CostOf({.server_s = 1, .postgres_s = 0.5, .client_s = 0}, 1000);
  EXPECT_DOUBLE_EQ(cost.server_us, 1000);
  EXPECT_DOUBLE_EQ(cost.postgres_us, 500);
  EXPECT_DOUBLE_EQ(cost.client_us, 0);
}

TEST(CpuTest, WithoutOperationsNothingIsKnown) {
  EXPECT_DOUBLE_EQ(CostOf({.server_s = 1}, 0).server_us, 0);
}

TEST(CpuTest, AMeterAddsUpWhatWasUsedInsideOnly) {
  // Ever used at each look; what is used between an End and the next Begin is nobody's.
  std::vector<CpuUse> looks = {{9, 8, 7}, {6, 5, 4}, {4, 3, 2}, {1, 1, 1}};
  CpuMeter meter([&] {
    const CpuUse use = looks.back();
    looks.pop_back();
    return use;
  });
  meter.Begin();
  meter.End();
  meter.Begin();
  meter.End();
  EXPECT_DOUBLE_EQ(meter.used().server_s, 3 + 3);
  EXPECT_DOUBLE_EQ(meter.used().postgres_s, 2 + 3);
  EXPECT_DOUBLE_EQ(meter.used().client_s, 1 + 3);
}

TEST(CpuTest, WhoIsNotKnownUsesNothing) {
  const CpuUse use = UseOf({});
  EXPECT_DOUBLE_EQ(use.server_s, 0);
  EXPECT_DOUBLE_EQ(use.postgres_s, 0);
}

}  // namespace
}  // namespace muster::bench
