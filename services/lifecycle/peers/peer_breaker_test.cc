#include "services/lifecycle/peers/peer_breaker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Outcome = PeerBreaker::Outcome;

class PeerBreakerTest : public ::testing::Test {
 protected:
  using State = PeerBreaker::State;

  void Open() {
    for (int i = 0; i < PeerBreaker::kTimeoutsToOpen; ++i) {
      ASSERT_TRUE(breaker_.MayAsk({"a"}));
      breaker_.Ended(Outcome::kSilent, {"a"});
    }
    ASSERT_EQ(breaker_.state(), State::kOpen);
  }

  FakeSteadyClock clock_;
  std::set<std::string> back_;
  PeerBreaker breaker_{"quota", &clock_, [this](const auto& pools) { back_ = pools; }};
};

TEST_F(PeerBreakerTest, OpensAfterTimeoutsInARowOnly) {
  for (int i = 0; i < 10; ++i) {
    breaker_.Ended(Outcome::kSilent, {"a"});
    breaker_.Ended(Outcome::kAnswered, {"a"});
  }
  EXPECT_EQ(breaker_.state(), State::kClosed);
  EXPECT_TRUE(breaker_.MayAsk({"a"}));
  Open();
  EXPECT_FALSE(breaker_.MayAsk({"a"}));
}

TEST_F(PeerBreakerTest, AProbeATimeAndNotTooOften) {
  Open();
  EXPECT_FALSE(breaker_.BeginProbe());
  clock_.Advance(PeerBreaker::kProbeEvery);
  EXPECT_TRUE(breaker_.BeginProbe());
  EXPECT_EQ(breaker_.state(), State::kHalfOpen);
  clock_.Advance(absl::Hours(1));
  EXPECT_FALSE(breaker_.BeginProbe());
  EXPECT_FALSE(breaker_.MayAsk({"a"}));
  breaker_.ProbeEnded(Outcome::kSilent);
  EXPECT_EQ(breaker_.state(), State::kOpen);
  EXPECT_FALSE(breaker_.BeginProbe());
  clock_.Advance(PeerBreaker::kProbeEvery);
  EXPECT_TRUE(breaker_.BeginProbe());
}

TEST_F(PeerBreakerTest, AnAnswerClosesItAndThoseTurnedAwayAreTold) {
  Open();
  EXPECT_FALSE(breaker_.MayAsk({"b", "c"}));
  EXPECT_FALSE(breaker_.MayAsk({"c", "a"}));
  clock_.Advance(PeerBreaker::kProbeEvery);
  ASSERT_TRUE(breaker_.BeginProbe());
  EXPECT_THAT(back_, IsEmpty());
  breaker_.ProbeEnded(Outcome::kAnswered);
  EXPECT_THAT(back_, ElementsAre("a", "b", "c"));
  EXPECT_EQ(breaker_.unanswered(), 0U);
  EXPECT_TRUE(breaker_.MayAsk({"a"}));
  EXPECT_FALSE(breaker_.BeginProbe());
  // It takes as many timeouts as before, and nobody is told twice.
  back_.clear();
  breaker_.Ended(Outcome::kSilent, {"d"});
  EXPECT_EQ(breaker_.state(), State::kClosed);
  breaker_.Ended(Outcome::kAnswered, {"a"});
  EXPECT_THAT(back_, ElementsAre("d"));
}

TEST_F(PeerBreakerTest, WhatIsForgottenIsNeitherProbedForNorTold) {
  Open();
  EXPECT_FALSE(breaker_.MayAsk({"b"}));
  breaker_.Forget();
  EXPECT_EQ(breaker_.unanswered(), 0U);
  clock_.Advance(PeerBreaker::kProbeEvery);
  EXPECT_FALSE(breaker_.BeginProbe());
  EXPECT_TRUE(breaker_.MayAsk({"a"}));
  breaker_.Ended(Outcome::kAnswered, {"a"});
  EXPECT_THAT(back_, IsEmpty());
}

// It is asked all the same, and whoever was told so hears of its return within a probe.
TEST_F(PeerBreakerTest, OneThatSaysThatItIsAwayIsProbedToo) {
  EXPECT_FALSE(breaker_.BeginProbe());
  EXPECT_EQ(breaker_.unanswered(), 0U);
  breaker_.Ended(Outcome::kAway, {"a", "b"});
  EXPECT_EQ(breaker_.state(), State::kClosed);
  EXPECT_EQ(breaker_.unanswered(), 2U) << "what an alert knows it by";
  EXPECT_TRUE(breaker_.MayAsk({"c"}));
  EXPECT_FALSE(breaker_.BeginProbe());
  clock_.Advance(PeerBreaker::kProbeEvery);
  ASSERT_TRUE(breaker_.BeginProbe());
  EXPECT_FALSE(breaker_.BeginProbe()) << "one is under way";
  breaker_.ProbeEnded(Outcome::kAway);
  EXPECT_THAT(back_, IsEmpty());
  EXPECT_FALSE(breaker_.BeginProbe());
  clock_.Advance(PeerBreaker::kProbeEvery);
  ASSERT_TRUE(breaker_.BeginProbe());
  breaker_.ProbeEnded(Outcome::kAnswered);
  EXPECT_THAT(back_, ElementsAre("a", "b"));
  clock_.Advance(PeerBreaker::kProbeEvery);
  EXPECT_FALSE(breaker_.BeginProbe());
}

TEST_F(PeerBreakerTest, AnAnswerToAnybodyTellsThoseWhoGotNone) {
  breaker_.Ended(Outcome::kAway, {"a", "b"});
  breaker_.Ended(Outcome::kAnswered, {"c"});
  EXPECT_THAT(back_, ElementsAre("a", "b"));
}

}  // namespace
}  // namespace muster::lifecycle
