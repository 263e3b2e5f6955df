#include "services/kubernetes/writer.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::kubernetes {
namespace {

constexpr absl::Duration kUptime = absl::Hours(24);
constexpr WriteBackoff::Options kOptions = {absl::Milliseconds(50), absl::Seconds(30)};

TEST(WriteBackoff, WhatNeverFailedMayBeTried) {
  WriteBackoff backoff(kOptions);
  EXPECT_EQ(backoff.PauseOf("a", kUptime), absl::ZeroDuration());
  EXPECT_EQ(backoff.size(), 0u);
}

TEST(WriteBackoff, EveryFailureInARowDoublesThePauseUpToTheLast) {
  WriteBackoff backoff(kOptions);
  absl::Duration most = kOptions.first;
  for (int i = 0; i < 40; ++i) {
    backoff.Failed("a", kUptime);
    const absl::Duration pause = backoff.PauseOf("a", kUptime);
    EXPECT_LE(pause, most);
    EXPECT_GE(pause, most / 2);
    most = std::min(2 * most, kOptions.last);
  }
  EXPECT_EQ(backoff.PauseOf("b", kUptime), absl::ZeroDuration()) << "others are not held back";
  EXPECT_EQ(backoff.PauseOf("a", kUptime + kOptions.last), absl::ZeroDuration());
}

// A minute of refusals, asked for as often as you like: some ten tries, not hundreds.
TEST(WriteBackoff, AMinuteOfRefusalsIsAFewTries) {
  WriteBackoff backoff(kOptions);
  int tries = 0;
  for (absl::Duration now = kUptime; now < kUptime + absl::Minutes(1);
       now += absl::Milliseconds(1)) {
    if (backoff.PauseOf("a", now) > absl::ZeroDuration()) continue;
    backoff.Failed("a", now);
    ++tries;
  }
  EXPECT_LE(tries, 14);
  EXPECT_GE(tries, 8);
}

TEST(WriteBackoff, TheServerMayAskForMore) {
  WriteBackoff backoff(kOptions);
  backoff.Failed("a", kUptime, absl::Minutes(2));
  EXPECT_GE(backoff.PauseOf("a", kUptime), absl::Minutes(2));
  EXPECT_LE(backoff.PauseOf("a", kUptime), absl::Minutes(3)) << "not all at once";
}

TEST(WriteBackoff, SuccessForgets) {
  WriteBackoff backoff(kOptions);
  for (int i = 0; i < 20; ++i) backoff.Failed("a", kUptime);
  backoff.Succeeded("a");
  EXPECT_EQ(backoff.PauseOf("a", kUptime), absl::ZeroDuration());
  backoff.Failed("a", kUptime);
  EXPECT_LE(backoff.PauseOf("a", kUptime), kOptions.first);
}

TEST(WriteBackoff, ObjectsThatAreGoneAreForgotten) {
  WriteBackoff backoff(kOptions);
  for (int i = 0; i < 10'000; ++i)
    backoff.Failed(absl::StrCat("node ", i), kUptime + absl::Seconds(10) * i);
  EXPECT_LE(backoff.size(), 1100u);
}

}  // namespace
}  // namespace muster::kubernetes
