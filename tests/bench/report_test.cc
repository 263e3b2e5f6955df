#include "tests/bench/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/bench/ratios.h"

namespace muster::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Rate Of(double per_second, double p50_ms = 1) {
  Rate rate;
  rate.per_second = per_second;
  rate.p50_ms = p50_ms;
  return rate;
}

TEST(ReportTest, AMedianIsARoundWithTheFailuresOfAll) {
  Report report;
  for (const double rate : {30, 10, 20}) {
    report.Add("work", Of(rate, rate / 10));
    report.Add("work", Of(rate, rate / 10));
  }
  Rate bad = Of(15);
  bad.failed = 7;
  report.Add("work", bad);
  EXPECT_DOUBLE_EQ(report.Median("work").per_second, 20);
  EXPECT_DOUBLE_EQ(report.Median("work").p50_ms, 2);
  EXPECT_EQ(report.Median("work").failed, 7);
}

TEST(ReportTest, ALineHasWhatItAlwaysHadAndWhatAnOperationCosts) {
  Report report;
  Rate rate = Of(2000, 0.25);
  rate.p99_ms = 0.5;
  rate.cpu = {10, 20, 30.5};
  rate.also = {{"bytes_unread", 42}};
  report.Add("work", rate);
  report.Add("yardstick", Of(1000));
  EXPECT_EQ(
      report.Json({{"work", {"yardstick", "absent"}}}),
      R"({"work": "work", "value": 2000.0, "unit": "ops/s", "p50_ms": 0.250, "p99_ms": 0.500, )"
      R"("yardstick": "yardstick", "ratio": 2.000, "failed": 0, )"
      R"("musterd_cpu_us": 10.00, "postgres_cpu_us": 20.00, "client_cpu_us": 30.50, )"
      R"("also": [{"yardstick": "absent", "ratio": 0.000}], "bytes_unread": 42.000})"
      "\n");
  EXPECT_THAT(report.Table({{"work", {"yardstick"}}}), HasSubstr("2.00 yardstick"));
}

TEST(RatiosTest, AreOfMediansByName) {
  Report report;
  for (const double rate : {900, 1000, 5000}) report.Add("hold_hot_64", Of(rate));
  report.Add("pgbench_hot_64", Of(100));
  const std::vector<Ratio> ratios = RatiosOf(report);
  EXPECT_THAT(ratios, ElementsAre(Field(&Ratio::name, "hold_hot_64/pgbench_hot_64")));
  EXPECT_DOUBLE_EQ(ratios[0].value, 10);
  EXPECT_EQ(RatioJson(ratios), "{\"ratios\": {\"hold_hot_64/pgbench_hot_64\": 10.000}}\n");
  EXPECT_THAT(RatioTable(ratios), EndsWith(">= 20.00\n"));
}

TEST(RatiosTest, OneCallAloneIsHeldAgainstAnRpcAndTwoCommits) {
  Report report;
  report.Add("hold_hot_1", Of(1, 1.0));
  report.Add("empty_rpc_1", Of(1, 0.2));
  EXPECT_THAT(RatiosOf(report), IsEmpty());
  report.Add("pgbench_hot_1", Of(1, 0.15));
  const std::vector<Ratio> ratios = RatiosOf(report);
  ASSERT_EQ(ratios.size(), 1);
  EXPECT_DOUBLE_EQ(ratios[0].value, 2);
  EXPECT_THAT(RatioTable(ratios), EndsWith("<= 1.00\n"));
}

TEST(RatiosTest, OfNothingAreAnEmptyObject) {
  EXPECT_EQ(RatioJson(RatiosOf(Report())), "{\"ratios\": {}}\n");
  EXPECT_EQ(RatioTable(RatiosOf(Report())), "");
}

}  // namespace
}  // namespace muster::bench
