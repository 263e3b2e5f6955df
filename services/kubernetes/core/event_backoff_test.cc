#include "services/kubernetes/core/event_backoff.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::kubernetes {
namespace {

constexpr absl::Duration kSomeDay = absl::Hours(24);

TEST(EventBackoff, OneThatIsRefusedHoldsOthersForAMomentOnly) {
  EventBackoff backoff;
  for (int i = 0; i < 100; ++i) {
    backoff.Refused("bad", kSomeDay);
    backoff.Written(absl::StrCat("good", i));
  }
  EXPECT_EQ(backoff.rest_until(), kSomeDay + EventBackoff::kFirstRest);
  EXPECT_EQ(backoff.retry_time(), kSomeDay + EventBackoff::kLongestRetry);
  EXPECT_EQ(backoff.RefusalsOf("bad"), 100);
  EXPECT_EQ(backoff.RefusalsOf("good0"), 0);
}

TEST(EventBackoff, WhenAllAreRefusedTheServerIsNotHammered) {
  EventBackoff backoff;
  absl::Duration now = kSomeDay;
  int tries = 0;
  for (; now < kSomeDay + absl::Minutes(1); now = backoff.rest_until())
    backoff.Refused(absl::StrCat("e", ++tries), now);
  EXPECT_LE(tries, 130) << "that were never tried";
  for (tries = 0, now = kSomeDay; now < kSomeDay + absl::Hours(1);
       now = backoff.retry_time(), ++tries)
    backoff.Refused("e1", now);
  EXPECT_LE(tries, 130);
}

TEST(EventBackoff, TheRightThatIsGivenBackIsFoundWithinHalfAMinuteAndHoldsForAll) {
  EventBackoff backoff;
  absl::Duration now = kSomeDay;
  for (; now < kSomeDay + absl::Hours(1); now = backoff.retry_time()) {
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
  backoff.Away(kSomeDay, absl::ZeroDuration());
  EXPECT_EQ(backoff.rest_until(), kSomeDay + EventBackoff::kFirstRetry);
  backoff.Away(kSomeDay, absl::Minutes(5));
  backoff.Written("e1");
  backoff.Refused("e2", kSomeDay);
  EXPECT_EQ(backoff.rest_until(), kSomeDay + absl::Minutes(5));
}

TEST(EventBackoff, NewOnesThatAreRefusedPutNoRetryOff) {
  EventBackoff backoff;
  backoff.Refused("e1", kSomeDay);
  const absl::Duration retry = kSomeDay + EventBackoff::kFirstRetry;
  for (int i = 1; i <= 60; ++i) {
    const absl::Duration now = kSomeDay + absl::Seconds(i);
    backoff.Refused(absl::StrCat("fresh", i), now);
    EXPECT_EQ(backoff.retry_time(), retry);
    EXPECT_EQ(backoff.RetryIsDue(now), now >= retry);
  }
}

TEST(EventBackoff, OneAtATimeIsTriedBeforeAllOthers) {
  EventBackoff backoff;
  EXPECT_FALSE(backoff.RetryIsDue(kSomeDay)) << "none was refused";
  backoff.Refused("e1", kSomeDay);
  backoff.Refused("e2", kSomeDay);
  const absl::Duration now = backoff.retry_time();
  EXPECT_TRUE(backoff.RetryIsDue(now));
  backoff.Trying(now);
  EXPECT_FALSE(backoff.RetryIsDue(now));
  EXPECT_LT(now, backoff.retry_time())
      << "and none behind them either, until it is known what came of it";
  backoff.Written("e1");
  EXPECT_LT(backoff.retry_time(), now);
  EXPECT_FALSE(backoff.RetryIsDue(now)) << "they do not wait, and are in nobody's way";
  backoff.Trying(now);
  EXPECT_LT(backoff.retry_time(), now) << "nor for each other";
  backoff.Refused("e3", now);
  EXPECT_EQ(backoff.retry_time(), now + EventBackoff::kFirstRetry);
}

TEST(EventBackoff, ForgetsWhatIsDropped) {
  EventBackoff backoff;
  backoff.Refused("e1", kSomeDay);
  backoff.Dropped("e1");
  EXPECT_EQ(backoff.RefusalsOf("e1"), 0);
  const absl::Duration later = kSomeDay + absl::Hours(1);
  backoff.Refused("e2", later);
  EXPECT_EQ(backoff.retry_time(), later + EventBackoff::kFirstRetry);
}

TEST(EventBackoff, OneThatIsDroppedEndsNoOthersPause) {
  EventBackoff backoff;
  backoff.Refused("e1", kSomeDay);
  backoff.Refused("e2", kSomeDay);
  const absl::Duration retry = backoff.retry_time();
  backoff.Dropped("e1");
  EXPECT_EQ(backoff.retry_time(), retry);
  EXPECT_FALSE(backoff.RetryIsDue(kSomeDay));
}

}  // namespace
}  // namespace muster::kubernetes
