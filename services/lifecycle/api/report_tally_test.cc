#include "services/lifecycle/api/report_tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(ReportTally, CountsWhatCameOfThem) {
  ReportTally tally;
  tally.Count({absl::OkStatus(), absl::NotFoundError("a"), absl::FailedPreconditionError("b"),
               absl::FailedPreconditionError("c"), absl::InternalError("d")});
  std::map<std::string, double> counts;
  const std::vector<prometheus::MetricFamily> families = tally.Collect();
  for (const auto& metric : families.at(0).metric)
    counts[metric.label.at(0).value] = metric.counter.value;
  EXPECT_THAT(counts, ElementsAre(Pair("accepted", 1), Pair("does_not_fit", 2), Pair("failed", 1),
                                  Pair("unknown_node", 1)));
}

TEST(ReportTally, TellsWhenAZoneWasLastHeard) {
  const absl::Time now = absl::FromUnixSeconds(1'750'000'000);
  ReportTally tally;
  tally.Heard({{"RNO2A", 2}, {"US-EAST-04A", 1}}, now);
  tally.Heard({{"RNO2A", 5}}, now + absl::Seconds(30));
  tally.Heard({{"RNO2A", 1}}, now);  // another thread's, late
  std::map<std::string, std::pair<double, double>> zones;
  const std::vector<prometheus::MetricFamily> families = tally.Collect();
  for (const auto& metric : families.at(1).metric)
    zones[metric.label.at(0).value].first = metric.counter.value;
  for (const auto& metric : families.at(2).metric)
    zones[metric.label.at(0).value].second = metric.gauge.value;
  EXPECT_THAT(zones, ElementsAre(Pair("RNO2A", Pair(8, 1'750'000'030)),
                                 Pair("US-EAST-04A", Pair(1, 1'750'000'000))));
}

TEST(ReportTally, UnknownNodesAreToBeLoggedNowAndThen) {
  FakeSteadyClock clock;
  ReportTally tally(&clock);
  EXPECT_FALSE(tally.Count({absl::OkStatus(), absl::FailedPreconditionError("b")}));
  const auto first = tally.Count({absl::NotFoundError("n1"), absl::NotFoundError("n2")});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->reports, 2);
  EXPECT_EQ(first->example, "n2");
  clock.Advance(ReportTally::kLogInterval - absl::Seconds(1));
  EXPECT_FALSE(tally.Count({absl::NotFoundError("n3")}));
  clock.Advance(absl::Seconds(1));
  const auto second = tally.Count({absl::OkStatus()});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->reports, 1);
  EXPECT_FALSE(tally.Count({absl::OkStatus()}));
}

}  // namespace
}  // namespace muster::lifecycle
