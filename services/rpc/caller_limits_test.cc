#include "services/rpc/caller_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/access/caller.h"
#include "services/common/error.h"
#include "services/rpc/guard.h"
#include "tests/testing/status_matchers.h"

namespace muster::rpc {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = CallerLimits::Kind;

std::string RetriableReasonOf(const absl::Status& status) {
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
  EXPECT_EQ(RetriableReasonOf(third.status()), "TOO_MANY_CALLS");
  EXPECT_THAT(limits.Enter("b", Kind::kCall).status(), IsOk());
  EXPECT_THAT(limits.Enter("a", Kind::kWatch).status(), IsOk()) << "watches count apart";
  first = CallerLimits::Place();
  EXPECT_THAT(limits.Enter("a", Kind::kCall).status(), IsOk());
  EXPECT_EQ(limits.stats().too_many_calls, 1);
}

// All whose tokens are refused are one caller by name, `anonymous`: a limit would hide from each
// what is wrong with his own, and pass for what a repetition mends.
TEST(CallerLimits, WhoIsNotBelievedIsToldSoWhateverIsUnderWay) {
  const Guard guard(nullptr, {.calls = 1, .watches = 1});
  access::Caller nameless;
  nameless.principal = access::kAnonymous;
  access::Caller expired = nameless;
  expired.unproven = absl::UnauthenticatedError("It has expired.");
  for (const Kind kind : {Kind::kCall, Kind::kWatch}) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(guard.Enter(expired, kind).status(), expired.unproven);
  }
  const auto call = guard.Enter(nameless, Kind::kCall);
  ASSERT_THAT(call.status(), IsOk()) << "they took nothing from who shows no token";
  EXPECT_EQ(RetriableReasonOf(guard.Enter(nameless, Kind::kCall).status()), "TOO_MANY_CALLS");
  EXPECT_EQ(guard.Enter(expired, Kind::kCall).status(), expired.unproven);
  EXPECT_EQ(guard.stats().unauthenticated, 7);
  EXPECT_EQ(guard.limited().too_many_calls, 1);
}

TEST(CallerLimits, AndSoManyWatches) {
  CallerLimits limits({.watches = 1});
  auto watch = limits.Enter("a", Kind::kWatch);
  ASSERT_THAT(watch.status(), IsOk());
  EXPECT_EQ(RetriableReasonOf(limits.Enter("a", Kind::kWatch).status()), "TOO_MANY_WATCHES");
  EXPECT_EQ(limits.stats().too_many_watches, 1);
  // A place that moves is one place.
  CallerLimits::Place moved = *std::move(watch);
  EXPECT_FALSE(limits.Enter("a", Kind::kWatch).ok());
  { const CallerLimits::Place gone = std::move(moved); }
  EXPECT_THAT(limits.Enter("a", Kind::kWatch).status(), IsOk());
}

TEST(CallerLimits, AllTogetherHaveSoManyWatches) {
  CallerLimits limits({.watches = 2, .all_watches = 3});
  std::vector<CallerLimits::Place> watches;
  for (const char* caller : {"a", "a", "b"}) watches.push_back(*limits.Enter(caller, Kind::kWatch));
  const absl::Status refused = limits.Enter("b", Kind::kWatch).status();
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("All callers together have 3 watches open")));
  EXPECT_EQ(RetriableReasonOf(refused), "TOO_MANY_WATCHES");
  EXPECT_EQ(limits.stats().too_many_watches, 1);
  EXPECT_THAT(limits.Enter("b", Kind::kCall).status(), IsOk());
  watches.pop_back();
  EXPECT_THAT(limits.Enter("c", Kind::kWatch).status(), IsOk());
}

TEST(CallerLimits, TheLastTenthOfAllWatchesIsForCallersWithFew) {
  CallerLimits limits({.watches = 2 * kFewWatchesOfACaller, .all_watches = 200});
  std::vector<CallerLimits::Place> watches;
  for (int i = 0; i < 180; ++i) watches.push_back(*limits.Enter("a", Kind::kWatch));
  EXPECT_EQ(RetriableReasonOf(limits.Enter("a", Kind::kWatch).status()), "TOO_MANY_WATCHES");
  for (int i = 0; i < 20; ++i) watches.push_back(*limits.Enter("b", Kind::kWatch));
  EXPECT_EQ(RetriableReasonOf(limits.Enter("b", Kind::kWatch).status()), "TOO_MANY_WATCHES");
}

TEST(CallerLimits, TheRequestsOfOneCallerHaveSoManyBytesTogether) {
  CallerLimits limits({.request_bytes = 100});
  auto call = limits.Enter("a", Kind::kCall, 60);
  auto watch = limits.Enter("a", Kind::kWatch, 40);
  ASSERT_THAT(call.status(), IsOk());
  ASSERT_THAT(watch.status(), IsOk());
  const absl::Status refused = limits.Enter("a", Kind::kCall, 1).status();
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted,
                                HasSubstr("`a` has requests of 100 bytes under way")));
  EXPECT_EQ(RetriableReasonOf(refused), "TOO_MANY_CALLS");
  EXPECT_FALSE(limits.Enter("a", Kind::kWatch, 1).ok());
  EXPECT_EQ(limits.stats().too_many_bytes, 2);
  EXPECT_THAT(limits.Enter("b", Kind::kCall, 100).status(), IsOk());
  // A place that moves holds its bytes once.
  CallerLimits::Place moved = *std::move(call);
  EXPECT_FALSE(limits.Enter("a", Kind::kCall, 1).ok());
  moved = CallerLimits::Place();
  EXPECT_THAT(limits.Enter("a", Kind::kCall, 60).status(), IsOk());
}

TEST(CallerLimits, ALargeRequestIsTakenWhenItIsAlone) {
  CallerLimits limits({.request_bytes = 100});
  const auto watch = limits.Enter("a", Kind::kWatch, 10);
  ASSERT_THAT(watch.status(), IsOk());
  const auto alone = limits.Enter("a", Kind::kCall, 101);
  ASSERT_THAT(alone.status(), IsOk()) << "watches are open all the time";
  EXPECT_FALSE(limits.Enter("a", Kind::kCall, 1).ok());
  EXPECT_FALSE(limits.Enter("a", Kind::kWatch, 101).ok());
}

TEST(CallerLimits, ARateIsHeldOnAverage) {
  FakeSteadyClock clock;
  CallerLimits limits({.calls_per_second = 10}, &clock);
  int taken = 0;
  while (limits.Enter("a", Kind::kCall).ok()) ++taken;
  EXPECT_EQ(taken, 11) << "a second's at once, and the one that is due";
  const auto refused = limits.Enter("a", Kind::kCall);
  EXPECT_EQ(RetriableReasonOf(refused.status()), "TOO_FAST");
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

// Tells of its start, and holds its place until it is told to end.
class FakeCall final : public CallerLimits::CallInLine {
 public:
  FakeCall(std::string name, std::vector<std::string>& started)
      : name_(std::move(name)), started_(started) {}
  void Start() override {
    started_.push_back(name_);
    if (ends_at_once) place = CallerLimits::Place();
  }
  bool ends_at_once = false;

 private:
  const std::string name_;
  std::vector<std::string>& started_;
};

class CallerLinesTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeCall> Call(const std::string& caller, const std::string& name) {
    auto call = std::make_shared<FakeCall>(name, started_);
    call->place = *limits_.Enter(caller, Kind::kCall);
    if (limits_.Begin(call->place)) {
      started_.push_back(name);
    } else {
      limits_.Wait(call);
    }
    return call;
  }
  std::vector<std::string> Started() { return std::exchange(started_, {}); }

  FakeSteadyClock clock_;
  CallerLimits limits_{{.calls = 100, .running_calls = 2}, &clock_};
  std::vector<std::string> started_;
};

TEST_F(CallerLinesTest, WhoeverIsAloneWaitsForNobody) {
  std::vector<std::shared_ptr<FakeCall>> calls = {Call("other", "o")};
  clock_.Advance(absl::Seconds(1));
  for (const char* name : {"1", "2", "3", "4"}) calls.push_back(Call("a", name));
  EXPECT_THAT(Started(), ElementsAre("o", "1", "2"))
      << "the other has called within a second before the first";
  clock_.Advance(absl::Seconds(2));
  calls.push_back(Call("a", "5"));
  EXPECT_THAT(Started(), ElementsAre("3", "4")) << "two at a time, and in order";
  calls.push_back(Call("a", "6"));
  EXPECT_THAT(Started(), ElementsAre("5", "6"));
  EXPECT_EQ(limits_.waiting(), 0);
}

TEST_F(CallerLinesTest, BesideOthersSoManyAreAtWorkAndTheRestFollowsInOrder) {
  std::vector<std::shared_ptr<FakeCall>> calls;
  for (const char* name : {"1", "2", "3", "4", "5"}) calls.push_back(Call("a", name));
  const auto other = Call("b", "other");
  EXPECT_THAT(Started(), ElementsAre("1", "2", "other")) << "another's call waits for none of them";
  EXPECT_EQ(limits_.waiting(), 3);
  calls[1]->place = CallerLimits::Place();
  EXPECT_THAT(Started(), ElementsAre("3"));
  // One that ends at once makes room for the next, and that one for the last.
  calls[3]->ends_at_once = true;
  calls[0]->place = CallerLimits::Place();
  EXPECT_THAT(Started(), ElementsAre("4", "5"));
  EXPECT_EQ(limits_.waiting(), 0);
}

// It waits for a database, or for a caller who does not read: no work of the server's.
TEST_F(CallerLinesTest, OneThatIsAtWorkForLongHoldsUpNoOther) {
  std::vector<std::shared_ptr<FakeCall>> calls = {Call("b", "other")};
  for (const char* name : {"1", "2", "3", "4", "5", "6"}) calls.push_back(Call("a", name));
  EXPECT_THAT(Started(), ElementsAre("other", "1", "2"));
  clock_.Advance(absl::Milliseconds(249));
  EXPECT_TRUE(limits_.Nudge(*calls[6])) << "it waits";
  EXPECT_THAT(Started(), IsEmpty());
  clock_.Advance(absl::Milliseconds(251));
  const auto again = Call("b", "another");
  EXPECT_FALSE(limits_.Nudge(*calls[3])) << "its turn has come";
  EXPECT_THAT(Started(), ElementsAre("another", "3", "4"));
  // The ends of those that count no longer count for nothing.
  calls[1]->place = CallerLimits::Place();
  calls[2]->place = CallerLimits::Place();
  EXPECT_THAT(Started(), IsEmpty());
  calls[3]->place = CallerLimits::Place();
  EXPECT_THAT(Started(), ElementsAre("5"));
}

// Threads take the time and then the lock: whoever is late counts with the others.
TEST_F(CallerLinesTest, ATimeThatIsLateForgetsNobody) {
  std::vector<std::shared_ptr<FakeCall>> calls = {Call("b", "other")};
  clock_.Advance(absl::Milliseconds(250));
  for (const char* name : {"1", "2"}) calls.push_back(Call("a", name));
  clock_.Advance(-absl::Milliseconds(1));
  calls.push_back(Call("a", "3"));
  EXPECT_THAT(Started(), ElementsAre("other", "1", "2"));
}

// Who is turned away is nobody beside whom others are to be spared.
TEST_F(CallerLinesTest, OnlyWhoIsLetInIsThereBesideOthers) {
  std::vector<std::shared_ptr<FakeCall>> calls = {Call("a", "first")};
  clock_.Advance(absl::Seconds(2));
  const auto denied = limits_.Enter("b", Kind::kCall);
  for (const char* name : {"1", "2", "3"}) calls.push_back(Call("a", name));
  EXPECT_THAT(Started(), ElementsAre("first", "1", "2", "3"));
}

TEST_F(CallerLinesTest, WhatIsGivenUpIsNotStartedAndLeavesNoGap) {
  std::vector<std::shared_ptr<FakeCall>> calls;
  for (const char* name : {"1", "2", "3", "4"}) calls.push_back(Call("a", name));
  const auto other = Call("b", "other");
  EXPECT_FALSE(limits_.GiveUp(*calls[0])) << "it is at work";
  EXPECT_TRUE(limits_.GiveUp(*calls[2]));
  EXPECT_FALSE(limits_.GiveUp(*calls[2])) << "once";
  EXPECT_EQ(limits_.waiting(), 1);
  calls[2]->place = CallerLimits::Place();
  Started();
  calls[0]->place = CallerLimits::Place();
  EXPECT_THAT(Started(), ElementsAre("4"));
  calls.clear();
  EXPECT_EQ(limits_.size(), 1u) << "who has nothing under way is forgotten";
}

TEST_F(CallerLinesTest, ALongLineOfCallsThatEndAtOnceNeedsNoDeepStack) {
  CallerLimits limits({.calls = 1'000'000, .running_calls = 1}, &clock_);
  auto first = limits.Enter("a", Kind::kCall);
  EXPECT_TRUE(limits.Begin(*first));
  auto other = limits.Enter("b", Kind::kCall);
  EXPECT_TRUE(limits.Begin(*other));
  for (int i = 0; i < 200'000; ++i) {
    const auto call = std::make_shared<FakeCall>("", started_);
    call->ends_at_once = true;
    call->place = *limits.Enter("a", Kind::kCall);
    ASSERT_FALSE(limits.Begin(call->place));
    limits.Wait(call);
  }
  EXPECT_EQ(limits.waiting(), 200'000);
  first = CallerLimits::Place();
  EXPECT_EQ(limits.waiting(), 0);
  EXPECT_EQ(Started().size(), 200'000u);
}

}  // namespace
}  // namespace muster::rpc
