#include "services/lifecycle/peer_breaker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using State = PeerBreaker::State;

class PeerBreakerTest : public ::testing::Test {
 protected:
  void Open() {
    for (int i = 0; i < PeerBreaker::kTimeoutsToOpen; ++i) {
      ASSERT_TRUE(breaker_.MayAsk({"a"}));
      breaker_.Ended(false);
    }
    ASSERT_EQ(breaker_.state(), State::kOpen);
  }

  FakeSteadyClock clock_;
  std::set<std::string> back_;
  PeerBreaker breaker_{"quota", &clock_, [this](const auto& pools) { back_ = pools; }};
};

TEST_F(PeerBreakerTest, OpensAfterTimeoutsInARowOnly) {
  for (int i = 0; i < 10; ++i) {
    breaker_.Ended(false);
    breaker_.Ended(true);
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
  breaker_.Ended(false);
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
  breaker_.Ended(true);
  EXPECT_THAT(back_, ElementsAre("a", "b", "c"));
  EXPECT_TRUE(breaker_.MayAsk({"a"}));
  EXPECT_FALSE(breaker_.BeginProbe());
  // It takes as many timeouts as before, and nobody is told twice.
  back_.clear();
  breaker_.Ended(false);
  EXPECT_EQ(breaker_.state(), State::kClosed);
  breaker_.Ended(true);
  EXPECT_THAT(back_, IsEmpty());
}

}  // namespace
}  // namespace muster::lifecycle
