#include "services/fleetsim/lease_book.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::fleetsim {
namespace {

using Outcome = LeaseBook::Outcome;
using Task = LeaseBook::Task;

constexpr absl::Duration kUptime = absl::Hours(24);
constexpr absl::Duration kInterval = absl::Seconds(10);
constexpr char kNode[] = "g100000";

class LeaseBookTest : public ::testing::Test {
 protected:
  // All that is due; answered so. How often each Node's turn came.
  std::map<std::string, int> Run(Outcome outcome = Outcome::kDone) {
    std::map<std::string, int> turns;
    while (const auto task = book_.Take(now_)) {
      ++turns[task->node];
      book_.Done(*task, outcome, absl::ZeroDuration(), now_);
    }
    return turns;
  }
  // The same while time goes on for so long, from one due time to the next.
  std::map<std::string, int> RunFor(absl::Duration time) {
    std::map<std::string, int> turns;
    const absl::Duration end = now_ + time;
    for (; now_ <= end; now_ = book_.NextDue()) {
      for (const auto& [node, count] : Run()) turns[node] += count;
    }
    now_ = end;
    return turns;
  }
  void Answer(const Task& task, Outcome outcome, absl::Duration pause = absl::ZeroDuration()) {
    book_.Done(task, outcome, pause, now_);
  }

  LeaseBook book_{{.interval = kInterval,
                   .first_retry = absl::Milliseconds(100),
                   .last_retry = absl::Seconds(5)}};
  absl::Duration now_ = kUptime;
};

TEST_F(LeaseBookTest, IsRenewedAtOnceAndThenEveryInterval) {
  EXPECT_EQ(book_.NextDue(), absl::InfiniteDuration());
  book_.Renew(kNode, "u", now_);
  const auto task = book_.Take(now_);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->node, kNode);
  EXPECT_EQ(task->uid, "u");
  EXPECT_FALSE(task->ends);
  EXPECT_FALSE(book_.Take(now_)) << "one request at a time";
  Answer(*task, Outcome::kDone);
  EXPECT_LE(book_.NextDue(), now_ + kInterval) << "its place in the interval";
  now_ = book_.NextDue();
  for (int i = 0; i < 5; ++i) {
    Run();
    EXPECT_EQ(book_.NextDue(), now_ + kInterval);
    now_ = book_.NextDue();
  }
  book_.Renew(kNode, "u", now_ - kInterval / 2);
  EXPECT_EQ(book_.NextDue(), now_) << "told again, it changes nothing";
  EXPECT_EQ(book_.kept(), 1);
}

TEST_F(LeaseBookTest, ManyNodesSpreadOverTheInterval) {
  constexpr int kNodes = 10'000;
  constexpr int kParts = 20;
  for (int i = 0; i < kNodes; ++i) book_.Renew(absl::StrCat("g", 100'000 + i), "u", now_);
  EXPECT_EQ(Run().size(), static_cast<size_t>(kNodes));
  RunFor(kInterval);
  std::map<std::string, int> all;
  for (int part = 0; part < kParts; ++part) {
    int turns = 0;
    for (const auto& [node, count] : RunFor(kInterval / kParts)) {
      turns += count;
      all[node] += count;
    }
    EXPECT_NEAR(turns, kNodes / kParts, kNodes / kParts / 5) << part;
  }
  EXPECT_EQ(all.size(), static_cast<size_t>(kNodes)) << "none is left out";
  EXPECT_EQ(book_.kept(), kNodes);
}

TEST_F(LeaseBookTest, ADelayDoesNotBunchThem) {
  constexpr int kNodes = 1000;
  for (int i = 0; i < kNodes; ++i) book_.Renew(absl::StrCat("g", 100'000 + i), "u", now_);
  RunFor(2 * kInterval);
  now_ += kInterval / 2;  // nobody gets to it
  EXPECT_NEAR(static_cast<double>(Run().size()), kNodes / 2, kNodes / 10);
  RunFor(kInterval);
  for (int part = 0; part < 4; ++part)
    EXPECT_NEAR(static_cast<double>(RunFor(kInterval / 4).size()), kNodes / 4, kNodes / 20);
}

TEST_F(LeaseBookTest, WhereThereIsNoRoomTheIntervalGrowsForAllAlike) {
  std::map<std::string, int> turns;
  for (int i = 0; i < 100; ++i) book_.Renew(absl::StrCat("g", i), "u", now_);
  for (int i = 0; i < 1000; ++i) {  // each takes a second
    const auto task = book_.Take(now_);
    ASSERT_TRUE(task);
    ++turns[task->node];
    now_ += absl::Seconds(1);
    Answer(*task, Outcome::kDone);
  }
  for (const auto& [node, count] : turns) EXPECT_NEAR(count, 10, 1) << node;
}

TEST_F(LeaseBookTest, ASilentKubeletRenewsNothingUntilItIsBack) {
  book_.Renew(kNode, "u", now_);
  Run();
  book_.Leave(kNode);
  EXPECT_EQ(book_.kept(), 0);
  EXPECT_EQ(book_.NextDue(), absl::InfiniteDuration());
  book_.Renew(kNode, "u", now_ + absl::Hours(1));
  EXPECT_EQ(book_.NextDue(), now_ + absl::Hours(1)) << "at once";
}

TEST_F(LeaseBookTest, ItFallsSilentInTheMiddleOfARequest) {
  book_.Renew(kNode, "u", now_);
  const auto task = book_.Take(now_);
  ASSERT_TRUE(task);
  book_.Leave(kNode);
  Answer(*task, Outcome::kFailed);
  EXPECT_EQ(book_.NextDue(), absl::InfiniteDuration());
  book_.Renew(kNode, "u", now_);
  EXPECT_TRUE(book_.Take(now_));
}

TEST_F(LeaseBookTest, AnotherNodeOfTheNameIsItsOwnerAtOnce) {
  book_.Renew(kNode, "u", now_);
  Run();
  book_.Renew(kNode, "v", now_);
  const auto task = book_.Take(now_);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->uid, "v");
  book_.Renew(kNode, "w", now_);
  EXPECT_FALSE(book_.Take(now_)) << "after the one under way";
  Answer(*task, Outcome::kDone);
  const auto next = book_.Take(now_);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->uid, "w");
}

TEST_F(LeaseBookTest, EndsWithItsNode) {
  book_.Renew(kNode, "u", now_);
  Run();
  book_.End(kNode, now_);
  book_.End(kNode, now_ + absl::Hours(1));
  auto task = book_.Take(now_);
  ASSERT_TRUE(task);
  EXPECT_TRUE(task->ends);
  Answer(*task, Outcome::kFailed);
  EXPECT_GT(book_.NextDue(), now_) << "tried again, but not at once";
  now_ = book_.NextDue();
  EXPECT_EQ(Run().size(), 1u);
  EXPECT_EQ(book_.NextDue(), absl::InfiniteDuration());
  book_.End(kNode, now_);
  EXPECT_EQ(book_.NextDue(), absl::InfiniteDuration()) << "it is forgotten";
}

TEST_F(LeaseBookTest, WhatWasNeverWrittenIsNotDeleted) {
  book_.End(kNode, now_);
  book_.Renew(kNode, "u", now_);
  book_.End(kNode, now_);
  EXPECT_EQ(book_.NextDue(), absl::InfiniteDuration());
  EXPECT_EQ(book_.kept(), 0);
}

TEST_F(LeaseBookTest, WhatIsWrittenWhileItsNodeGoesIsDeletedAfterIt) {
  book_.Renew(kNode, "u", now_);
  const auto task = book_.Take(now_);
  ASSERT_TRUE(task);
  book_.End(kNode, now_);
  EXPECT_FALSE(book_.Take(now_));
  Answer(*task, Outcome::kDone);
  const auto end = book_.Take(now_);
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->ends);
  book_.Renew(kNode, "v", now_);  // the next life of the machine
  Answer(*end, Outcome::kDone);
  const auto next = book_.Take(now_);
  ASSERT_TRUE(next);
  EXPECT_FALSE(next->ends);
  EXPECT_EQ(next->uid, "v");
}

TEST_F(LeaseBookTest, AFailureIsTriedAgainWithGrowingPauses) {
  book_.Renew(kNode, "u", now_);
  book_.Renew("other", "u", now_);
  absl::Duration last = absl::ZeroDuration();
  for (int i = 0; i < 10; ++i) {
    while (const auto task = book_.Take(now_))
      Answer(*task, task->node == kNode ? Outcome::kFailed : Outcome::kDone);
    book_.Leave("other");
    const absl::Duration pause = book_.NextDue() - now_;
    EXPECT_GE(pause, last);
    EXPECT_LE(pause, absl::Seconds(5));
    last = pause;
    now_ = book_.NextDue();
  }
  EXPECT_EQ(last, absl::Seconds(5));
  const auto task = book_.Take(now_);
  ASSERT_TRUE(task);
  Answer(*task, Outcome::kFailed, absl::Seconds(17));
  EXPECT_EQ(book_.NextDue(), now_ + absl::Seconds(17)) << "as the server asked";
}

TEST_F(LeaseBookTest, AServerThatIsAwayIsNotAskedForEveryNode) {
  for (int i = 0; i < 1000; ++i) book_.Renew(absl::StrCat("g", i), "u", now_);
  const absl::Duration begin = now_;
  int asked = 0;
  for (; now_ < begin + absl::Minutes(1); now_ = book_.NextDue()) {
    const auto task = book_.Take(now_);
    ASSERT_TRUE(task);
    Answer(*task, Outcome::kUnreachable);
    ++asked;
  }
  EXPECT_LE(asked, 20);
  EXPECT_EQ(RunFor(kInterval).size(), 1000u) << "it is back: all are renewed";
}

}  // namespace
}  // namespace muster::fleetsim
