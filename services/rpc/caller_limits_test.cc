#include "services/rpc/caller_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "services/common/error.h"
#include "tests/testing/status_matchers.h"

namespace muster::rpc {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;
using Kind = CallerLimits::Kind;

std::string ReasonOf(const absl::Status& status) {
  const auto detail = error::DetailOf(status);
  EXPECT_TRUE(detail && detail->retry_after) << status;
  return detail ? detail->reason : "";
}

TEST(CallerLimits, OneCallerHasSoManyCallsUnderWayAndNoOtherLess) {
  CallerLimits limits({.calls = 2});
  auto first = limits.Enter("a", Kind::kCall);
  auto second = limits.Enter("a", Kind::kCall);
  ASSERT_THAT(first.status(), IsOk());
  ASSERT_THAT(second.status(), IsOk());
  const auto third = limits.Enter("a", Kind::kCall);
  EXPECT_THAT(third.status(), StatusIs(absl::StatusCode::kResourceExhausted,
                                       HasSubstr("`a` has 2 calls under way")));
  EXPECT_EQ(ReasonOf(third.status()), "TOO_MANY_CALLS");
  EXPECT_THAT(limits.Enter("b", Kind::kCall).status(), IsOk());
  EXPECT_THAT(limits.Enter("a", Kind::kWatch).status(), IsOk()) << "watches count apart";
  first = CallerLimits::Place();
  EXPECT_THAT(limits.Enter("a", Kind::kCall).status(), IsOk());
  EXPECT_EQ(limits.stats().too_many_calls, 1);
}

TEST(CallerLimits, AndSoManyWatches) {
  CallerLimits limits({.watches = 1});
  auto watch = limits.Enter("a", Kind::kWatch);
  ASSERT_THAT(watch.status(), IsOk());
  EXPECT_EQ(ReasonOf(limits.Enter("a", Kind::kWatch).status()), "TOO_MANY_WATCHES");
  EXPECT_EQ(limits.stats().too_many_watches, 1);
  // A place that moves is one place.
  CallerLimits::Place moved = *std::move(watch);
  EXPECT_FALSE(limits.Enter("a", Kind::kWatch).ok());
  { const CallerLimits::Place gone = std::move(moved); }
  EXPECT_THAT(limits.Enter("a", Kind::kWatch).status(), IsOk());
}

TEST(CallerLimits, ARateIsHeldOnAverage) {
  FakeSteadyClock clock;
  CallerLimits limits({.calls_per_second = 10}, &clock);
  int taken = 0;
  while (limits.Enter("a", Kind::kCall).ok()) ++taken;
  EXPECT_EQ(taken, 11) << "a second's at once, and the one that is due";
  const auto refused = limits.Enter("a", Kind::kCall);
  EXPECT_EQ(ReasonOf(refused.status()), "TOO_FAST");
  EXPECT_EQ(error::DetailOf(refused.status())->retry_after, absl::Milliseconds(100));
  clock.Advance(absl::Milliseconds(100));
  EXPECT_THAT(limits.Enter("a", Kind::kCall).status(), IsOk());
  EXPECT_FALSE(limits.Enter("a", Kind::kWatch).ok()) << "watches are calls, too";
  EXPECT_THAT(limits.Enter("b", Kind::kCall).status(), IsOk());
  for (int second = 0; second < 60; ++second) {
    clock.Advance(absl::Seconds(1));
    while (limits.Enter("a", Kind::kCall).ok()) ++taken;
  }
  EXPECT_EQ(taken, 11 + 600);
}

TEST(CallerLimits, CallersThatAreIdleAreForgotten) {
  CallerLimits limits({});
  std::vector<CallerLimits::Place> places;
  for (const char* caller : {"a", "b", "b"}) places.push_back(*limits.Enter(caller, Kind::kCall));
  EXPECT_EQ(limits.size(), 2u);
  places.pop_back();
  EXPECT_EQ(limits.size(), 2u);
  places.clear();
  EXPECT_EQ(limits.size(), 0u);
}

TEST(CallerLimits, NorAreThoseWithARateRememberedForEver) {
  FakeSteadyClock clock;
  CallerLimits limits({.calls_per_second = 1}, &clock);
  for (int i = 0; i < 5'000; ++i) {
    EXPECT_TRUE(limits.Enter(std::to_string(i), Kind::kCall).ok());
    clock.Advance(absl::Milliseconds(10));
  }
  EXPECT_LE(limits.size(), 1'000u);
}

}  // namespace
}  // namespace muster::rpc
