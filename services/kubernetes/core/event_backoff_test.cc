#include "services/kubernetes/core/event_backoff.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::kubernetes {
namespace {

constexpr absl::Duration kNow = absl::Hours(24);

TEST(EventBackoff, OneThatIsRefusedHoldsOthersForAMomentOnly) {
  EventBackoff backoff;
  for (int i = 0; i < 100; ++i) {
    backoff.Refused("bad", kNow);
    backoff.Written(absl::StrCat("good", i));
  }
  EXPECT_EQ(backoff.rest_until(), kNow + EventBackoff::kFirstRest);
  EXPECT_EQ(backoff.retry_time(), kNow + EventBackoff::kLongestRetry);
  EXPECT_EQ(backoff.RefusalsOf("bad"), 100);
  EXPECT_EQ(backoff.RefusalsOf("good0"), 0);
}

TEST(EventBackoff, WhenAllAreRefusedTheServerIsNotHammered) {
  EventBackoff backoff;
  absl::Duration now = kNow;
  int tries = 0;
  for (; now < kNow + absl::Minutes(1); now = backoff.rest_until())
    backoff.Refused(absl::StrCat("e", ++tries), now);
  EXPECT_LE(tries, 130) << "that were never tried";
  for (tries = 0, now = kNow; now < kNow + absl::Hours(1); now = backoff.retry_time(), ++tries)
    backoff.Refused("e1", now);
  EXPECT_LE(tries, 130);
}

TEST(EventBackoff, TheRightThatIsGivenBackIsFoundWithinHalfAMinuteAndHoldsForAll) {
  EventBackoff backoff;
  absl::Duration now = kNow;
  for (; now < kNow + absl::Hours(1); now = backoff.retry_time()) {
    for (const char* event : {"e1", "e2", "e3"}) backoff.Refused(event, now);
    EXPECT_LE(backoff.retry_time() - now, absl::Seconds(30));
  }
  backoff.Written("other");
  EXPECT_GT(backoff.retry_time(), now - absl::Seconds(1)) << "it was not one of those";
  backoff.Written("e2");
  EXPECT_LT(backoff.retry_time(), now);
  EXPECT_EQ(backoff.RefusalsOf("e2"), 0);
}

TEST(EventBackoff, WhoAsksForATimeGetsItWhateverIsWrittenMeanwhile) {
  EventBackoff backoff;
  backoff.Away(kNow, absl::ZeroDuration());
  EXPECT_EQ(backoff.rest_until(), kNow + EventBackoff::kFirstRetry);
  backoff.Away(kNow, absl::Minutes(5));
  backoff.Written("e1");
  backoff.Refused("e2", kNow);
  EXPECT_EQ(backoff.rest_until(), kNow + absl::Minutes(5));
}

TEST(EventBackoff, ForgetsWhatIsDropped) {
  EventBackoff backoff;
  backoff.Refused("e1", kNow);
  backoff.Dropped("e1");
  EXPECT_EQ(backoff.RefusalsOf("e1"), 0);
}

}  // namespace
}  // namespace muster::kubernetes
