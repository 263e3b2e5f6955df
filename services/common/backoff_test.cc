#include "services/common/backoff.h"

#include <gmock/gmock.h>

namespace muster {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;

constexpr absl::Duration kFirst = absl::Milliseconds(100);
constexpr absl::Duration kLast = absl::Milliseconds(350);

TEST(BackoffTest, GrowsToItsLongestAndBeginsAnewAfterSuccess) {
  Backoff backoff(kFirst, kLast);
  for (const int pause : {100, 200, 350, 350}) {
    EXPECT_EQ(backoff.longest_next(), absl::Milliseconds(pause));
    EXPECT_THAT(backoff.Next(),
                AllOf(Ge(absl::Milliseconds(pause) / 2), Le(absl::Milliseconds(pause))));
  }
  backoff.Reset();
  EXPECT_THAT(backoff.Next(), Le(kFirst));
}

TEST(BackoffTest, WaitsAsLongAsItIsAskedTo) {
  Backoff backoff(kFirst, kLast);
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(backoff.Next(absl::Seconds(1)),
                AllOf(Ge(absl::Seconds(1)), Le(absl::Milliseconds(1500))));
  }
}

TEST(BackoffTest, CountsNoFurtherThanItsLongest) {
  EXPECT_EQ(PauseAfter(0, kFirst, kLast), kFirst);
  EXPECT_EQ(PauseAfter(1, kFirst, kLast), kFirst);
  EXPECT_EQ(PauseAfter(1'000'000, kFirst, kLast), kLast);
}

TEST(BackoffTest, WhoFailsTogetherDoesNotComeBackTogether) {
  Backoff one(kFirst, kLast);
  Backoff other(kFirst, kLast);
  EXPECT_NE(one.Next(), other.Next());
}

}  // namespace
}  // namespace muster
