#include "services/lifecycle/reconcile/delay_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kZeta[] = "organizations/zeta/clusters/c1/nodePools/train";
constexpr char kAcme[] = "organizations/acme/clusters/c1/nodePools/spot";

std::string Busy(uint64_t i) {
  return absl::StrCat("organizations/busy/clusters/c1/nodePools/p", i);
}

class DelayQueueTest : public ::testing::Test {
 protected:
  FakeSteadyClock clock_;
  DelayQueue due_{&clock_};
};

TEST_F(DelayQueueTest, IsTakenInTheOrderInWhichItBecameDue) {
  due_.AddIn("b", absl::Seconds(2));
  due_.Add("z");
  clock_.Advance(absl::Seconds(3));
  due_.Add("a");
  EXPECT_THAT(due_.Take(9), ElementsAre("z", "b", "a"));
  EXPECT_THAT(due_.Take(9), IsEmpty());
}

TEST_F(DelayQueueTest, WhatMadeThemDueIsToldOnce) {
  const TraceContext a = TraceContext::New();
  const TraceContext b = TraceContext::New();
  due_.Add("pool", a);
  due_.Add("pool", b);
  due_.Add("other", a);
  due_.Add("third");
  trace::Causes causes;
  EXPECT_THAT(due_.Take(9, &causes), SizeIs(3));
  EXPECT_EQ(causes.first(), a);
  EXPECT_THAT(causes.others(), ElementsAre(b));
  due_.Add("pool");
  trace::Causes none;
  EXPECT_THAT(due_.Take(9, &none), SizeIs(1));
  EXPECT_FALSE(none.first().valid());
}

TEST_F(DelayQueueTest, ManyAtOneMomentComeInTheOrderOfArrival) {
  due_.Add("c");
  due_.Add("a");
  due_.Add("b");
  due_.Add("c");
  EXPECT_THAT(due_.Take(2), ElementsAre("c", "a"));
  EXPECT_THAT(due_.Take(2), ElementsAre("b"));
}

TEST_F(DelayQueueTest, TheEarliestTimeOfAPoolCounts) {
  due_.AddIn("a", absl::Seconds(5));
  due_.AddIn("a", absl::Seconds(9));
  due_.AddIn("b", absl::Seconds(9));
  due_.AddIn("b", absl::Seconds(4));
  EXPECT_EQ(due_.stats().scheduled, 2);
  clock_.Advance(absl::Seconds(5));
  EXPECT_THAT(due_.Take(9), ElementsAre("b", "a"));
  EXPECT_EQ(due_.stats().scheduled, 0);
}

TEST_F(DelayQueueTest, NothingIsDueBeforeItsTime) {
  due_.AddIn("a", absl::Seconds(5));
  clock_.Advance(absl::Seconds(5) - absl::Nanoseconds(1));
  EXPECT_THAT(due_.Take(9), IsEmpty());
  clock_.Advance(absl::Nanoseconds(1));
  EXPECT_THAT(due_.Take(9), ElementsAre("a"));
}

TEST_F(DelayQueueTest, ATimeThatIsOverOrNeverIsTakenAsWell) {
  due_.AddIn("never", absl::InfiniteDuration());
  due_.AddIn("late", -absl::Hours(1));
  due_.Add("now");
  EXPECT_THAT(due_.Take(9), ElementsAre("late", "now"));
  clock_.Advance(absl::Hours(100'000));
  EXPECT_THAT(due_.Take(9), IsEmpty());
  due_.Add("never");
  EXPECT_THAT(due_.Take(9), ElementsAre("never"));
}

TEST_F(DelayQueueTest, TellsHowManyAreDueAndSinceWhen) {
  due_.AddIn("later", absl::Hours(1));
  due_.Add("a");
  clock_.Advance(absl::Seconds(7));
  due_.Add("b");
  const DelayQueue::Stats stats = due_.stats();
  EXPECT_EQ(stats.scheduled, 3);
  EXPECT_EQ(stats.due, 2);
  EXPECT_EQ(stats.oldest_due, absl::Seconds(7));
}

TEST_F(DelayQueueTest, ClearedItHasNobody) {
  due_.Add("now");
  due_.AddIn("later", absl::Seconds(5));
  due_.Clear();
  EXPECT_EQ(due_.stats().scheduled, 0);
  clock_.Advance(absl::Seconds(5));
  EXPECT_THAT(due_.Take(9), IsEmpty());
  due_.Add("later");
  EXPECT_THAT(due_.Take(9), ElementsAre("later"));
}

// 300 changes a pass to 1,000 busy pools, batches of 200: a pool of an organization late in the
// alphabet, and one with a time of its own, are looked at like every other.
TEST_F(DelayQueueTest, AFlowOfChangesStarvesNobody) {
  constexpr int kPasses = 10'000;
  constexpr absl::Duration kPass = absl::Milliseconds(300);
  std::mt19937_64 random(1);
  std::map<std::string, int> last;  // pass in which it was looked at
  int longest = 0;
  std::map<std::string, int> looked;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (int i = 0; i < 300; ++i) {
      const std::string pool = Busy(random() % 1'000);
      last.try_emplace(pool, pass);
      due_.Add(pool);
    }
    if (pass % 100 == 10) {
      due_.Add(kZeta);
      due_.AddIn(kAcme, absl::Seconds(1));
    }
    for (const std::string& pool : due_.Take(200)) {
      ++looked[pool];
      if (last.contains(pool)) longest = std::max(longest, pass - last[pool]);
      last.erase(pool);
    }
    clock_.Advance(kPass);
  }
  EXPECT_EQ(looked[kZeta], kPasses / 100);
  EXPECT_EQ(looked[kAcme], kPasses / 100);
  EXPECT_THAT(looked, SizeIs(1'002));
  // All 1,002 are in at most 6 batches.
  EXPECT_LE(longest, 6);
}

// Whatever comes in whatever order: no pool is overtaken by one that became due after it, and no
// pool is lost.
TEST_F(DelayQueueTest, NobodyIsOvertaken) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    FakeSteadyClock clock;
    DelayQueue due(&clock);
    std::map<std::string, absl::Duration> expected;  // when it becomes due
    for (int step = 0; step < 300; ++step) {
      const std::string pool = Busy(random() % 40);
      const absl::Duration delay = absl::Seconds(static_cast<int64_t>(random() % 5));
      due.AddIn(pool, delay);
      const auto [it, fresh] = expected.try_emplace(pool, clock.Now() + delay);
      it->second = std::min(it->second, clock.Now() + delay);
      clock.Advance(absl::Milliseconds(static_cast<int64_t>(random() % 400)));
      if (random() % 4 != 0) continue;
      absl::Duration before = absl::ZeroDuration();
      for (const std::string& taken : due.Take(random() % 12)) {
        ASSERT_TRUE(expected.contains(taken));
        EXPECT_LE(before, expected[taken]);
        EXPECT_LE(expected[taken], clock.Now());
        before = expected[taken];
        expected.erase(taken);
      }
      for (const auto& [waits, at] : expected) EXPECT_GE(at, before) << waits;
    }
    clock.Advance(absl::Seconds(10));
    EXPECT_EQ(due.Take(1'000).size(), expected.size());
  }
}

}  // namespace
}  // namespace muster::lifecycle
