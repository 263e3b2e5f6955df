#include "services/kubernetes/core/event_pace.h"

#include <gtest/gtest.h>

namespace muster::kubernetes {
namespace {

constexpr absl::Duration kNow = absl::Hours(24);

// When the last of so many is made that are all there at once.
absl::Duration LastOf(int events, EventPace& pace, absl::Duration at = kNow) {
  absl::Duration wait;
  for (int i = 0; i < events; ++i) wait = pace.Take(at);
  return wait;
}

TEST(EventPace, TenSecondsOfItAreMadeAtOnce) {
  EventPace pace(600);
  EXPECT_EQ(LastOf(100, pace), absl::ZeroDuration());
  EXPECT_EQ(pace.Take(kNow), absl::Milliseconds(100));
  EXPECT_EQ(pace.Take(kNow), absl::Milliseconds(200)) << "behind the one that waits";
  EXPECT_EQ(pace.Take(kNow + absl::Milliseconds(200)), absl::Milliseconds(100));
}

TEST(EventPace, ARestGivesNoMoreThanThat) {
  EventPace pace(600);
  LastOf(100, pace);
  EXPECT_EQ(LastOf(100, pace, kNow + absl::Hours(1)), absl::ZeroDuration());
  EXPECT_EQ(pace.Take(kNow + absl::Hours(1)), absl::Milliseconds(100));
}

TEST(EventPace, ASlowOneMakesOneAtOnce) {
  EventPace pace(1);
  EXPECT_EQ(pace.Take(kNow), absl::ZeroDuration());
  EXPECT_EQ(pace.Take(kNow), absl::Minutes(1));
}

}  // namespace
}  // namespace muster::kubernetes
