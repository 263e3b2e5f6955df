#include "services/lifecycle/report_tally.h"

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
