#include "services/kubernetes/work_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::kubernetes {
namespace {

std::string TakeKey(WorkQueue& queue) {
  const auto item = queue.Take();
  return item ? item->key : "stopped";
}

TEST(WorkQueue, GivesKeysInTheOrderThatTheyCame) {
  WorkQueue queue;
  for (const char* key : {"a", "b", "c"}) queue.Add(key);
  EXPECT_EQ(TakeKey(queue), "a");
  EXPECT_EQ(TakeKey(queue), "b");
  EXPECT_EQ(TakeKey(queue), "c");
}

// What is due is due by the time that goes by, whatever is done to the time of day.
TEST(WorkQueue, WhatIsLaterWaitsByTheSteadyClock) {
  FakeSteadyClock clock;
  WorkQueue queue({.clock = &clock});
  queue.AddAfter("later", absl::Hours(1));
  queue.Add("now");
  EXPECT_EQ(TakeKey(queue), "now");
  EXPECT_EQ(queue.counts().waiting, 0);
  clock.Advance(absl::Hours(1));
  EXPECT_EQ(TakeKey(queue), "later");
}

TEST(WorkQueue, AKeyWaitsOnce) {
  WorkQueue queue;
  for (int i = 0; i < 3; ++i) queue.Add("a");
  EXPECT_EQ(queue.counts().waiting, 1);
  EXPECT_EQ(queue.counts().adds, 1);
  EXPECT_EQ(TakeKey(queue), "a");
  EXPECT_EQ(queue.counts().waiting, 0);
  EXPECT_EQ(queue.counts().taken, 1);
  queue.Done("a");
  EXPECT_EQ(queue.counts().taken, 0);
  EXPECT_EQ(queue.counts().waiting, 0);
}

TEST(WorkQueue, AKeyThatIsTakenIsGivenOutAgainAfterDoneOnly) {
  WorkQueue queue;
  queue.Add("a");
  EXPECT_EQ(TakeKey(queue), "a");
  queue.Add("a");
  queue.Add("a");
  EXPECT_EQ(queue.counts().waiting, 0);
  queue.Add("b");
  EXPECT_EQ(TakeKey(queue), "b");
  queue.Done("a");
  EXPECT_EQ(queue.counts().waiting, 1);
  EXPECT_EQ(TakeKey(queue), "a");
  queue.Done("a");
  EXPECT_EQ(queue.counts().waiting, 0) << "once for all that was added meanwhile";
}

TEST(WorkQueue, ADelayThatIsOverWhileTheKeyIsTakenWaitsForDone) {
  WorkQueue queue;
  queue.Add("a");
  EXPECT_EQ(TakeKey(queue), "a");
  queue.AddAfter("a", absl::Microseconds(1));
  queue.AddAfter("b", absl::Milliseconds(5));
  EXPECT_EQ(TakeKey(queue), "b") << "a was due before, and is taken";
  queue.Done("a");
  EXPECT_EQ(TakeKey(queue), "a");
}

// An hour that is not cut short outlasts the test.
TEST(WorkQueue, TheEarlierTimeWins) {
  WorkQueue queue;
  queue.AddAfter("a", absl::Hours(1));
  queue.AddAfter("a", absl::Milliseconds(1));
  EXPECT_EQ(TakeKey(queue), "a");
  queue.Done("a");
  queue.AddAfter("a", absl::Milliseconds(1));
  queue.AddAfter("a", absl::Hours(1));
  EXPECT_EQ(TakeKey(queue), "a");
  queue.Done("a");
  queue.AddAfter("a", absl::ZeroDuration());
  EXPECT_EQ(queue.counts().waiting, 1) << "no delay";
}

TEST(WorkQueue, DelaysGoByTimeNotByOrder) {
  FakeSteadyClock clock;
  WorkQueue queue({.clock = &clock});
  queue.AddAfter("late", absl::Milliseconds(20));
  queue.AddAfter("soon", absl::Milliseconds(1));
  clock.Advance(absl::Seconds(1));
  EXPECT_EQ(TakeKey(queue), "soon");
  EXPECT_EQ(TakeKey(queue), "late");
}

// Fails so many times; each time it is taken again.
void Fail(WorkQueue& queue, const std::string& key, int times) {
  for (int i = 0; i < times; ++i) {
    queue.Retry(key);
    ASSERT_EQ(TakeKey(queue), key);
    queue.Done(key);
  }
}

const WorkQueue::Options kQuick = {.first_retry = absl::Microseconds(1),
                                   .last_retry = absl::Hours(1)};

TEST(WorkQueue, PausesGrowWithFailuresUntilTheyAreForgotten) {
  WorkQueue queue(kQuick);
  Fail(queue, "a", 14);
  queue.AddAfter("b", absl::Milliseconds(5));
  queue.Retry("a");  // after 8 ms at least: 2^14 us, less up to half
  EXPECT_EQ(TakeKey(queue), "b");
  queue.Done("b");
  EXPECT_EQ(TakeKey(queue), "a");
  queue.Forget("a");
  queue.Done("a");
  queue.Retry("a");
  queue.AddAfter("b", absl::Milliseconds(5));
  EXPECT_EQ(TakeKey(queue), "a");
  EXPECT_EQ(queue.counts().retries, 16);
}

TEST(WorkQueue, PausesEndAtTheLast) {
  WorkQueue queue({.first_retry = absl::Microseconds(1), .last_retry = absl::Microseconds(4)});
  Fail(queue, "a", 100);  // it would wait for years
  EXPECT_EQ(queue.counts().retries, 100);
}

TEST(WorkQueue, APauseIsAtLeastWhatTheServerAsksFor) {
  WorkQueue queue(kQuick);
  queue.AddAfter("b", absl::Milliseconds(5));
  queue.Retry("a", absl::Milliseconds(10));
  EXPECT_EQ(TakeKey(queue), "b");
  EXPECT_EQ(TakeKey(queue), "a");
}

TEST(WorkQueue, StopEndsAllWaiting) {
  WorkQueue queue;
  std::vector<std::thread> workers;
  std::atomic<int> ended = 0;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&] {
      if (!queue.Take()) ++ended;
    });
  }
  queue.Stop();
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(ended, 3);
  queue.Add("a");
  EXPECT_FALSE(queue.Take());
}

// Whatever the order of things: no key with two workers, and after its last Add one more turn.
TEST(WorkQueue, HoldsWithManyWorkers) {
  constexpr int kKeys = 5;
  constexpr int kAdds = 4000;
  WorkQueue queue(kQuick);
  std::array<std::atomic<int>, kKeys> holders = {};
  std::array<std::atomic<int>, kKeys> added = {};
  std::array<std::atomic<int>, kKeys> seen = {};
  std::atomic<int> overlaps = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      while (const auto item = queue.Take()) {
        const auto key = static_cast<size_t>(item->key[0] - '0');
        if (++holders[key] != 1) ++overlaps;
        seen[key] = added[key].load();
        if (seen[key] % 7 == 0) queue.Retry(item->key);
        if (seen[key] % 7 == 1) queue.Forget(item->key);
        --holders[key];
        queue.Done(item->key);
      }
    });
  }
  for (int i = 0; i < kAdds; ++i) {
    const auto key = static_cast<size_t>(i % kKeys);
    ++added[key];
    queue.Add(absl::StrCat(key));
  }
  // Retries come again until then.
  for (size_t key = 0; key < kKeys; ++key) {
    while (seen[key] != kAdds / kKeys) std::this_thread::yield();
  }
  queue.Stop();
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(overlaps, 0);
}

}  // namespace
}  // namespace muster::kubernetes
