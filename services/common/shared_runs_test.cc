#include "services/common/shared_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "services/common/latch.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using Runs = SharedRuns<std::string, std::string>;

// Runs that say what was asked, and wait to be let go.
class SharedRunsTest : public ::testing::Test {
 protected:
  Runs::Asker Note(const std::string& name, std::function<bool()> gone = {}) {
    return {std::move(gone), [this, name](const std::string& answer) {
              MutexLock lock(mutex_);
              told_.push_back(name + ": " + answer);
              changed_.SignalAll();
            }};
  }
  void AwaitRuns(size_t count) {
    MutexLock lock(mutex_);
    while (asked_.size() < count) changed_.Wait(mutex_);
  }
  void AwaitTold(size_t count) {
    MutexLock lock(mutex_);
    while (told_.size() < count) changed_.Wait(mutex_);
  }
  std::vector<std::string> told() {
    MutexLock lock(mutex_);
    return told_;
  }
  std::vector<std::string> asked() {
    MutexLock lock(mutex_);
    return asked_;
  }
  void LetGo() {
    MutexLock lock(mutex_);
    ++let_go_;
    changed_.SignalAll();
  }

  std::atomic<bool> was_abandoned_ = false;

 private:
  std::string Run(const std::string& question, absl::FunctionRef<bool()> abandoned) {
    MutexLock lock(mutex_);
    asked_.push_back(question);
    changed_.SignalAll();
    while (let_go_ < asked_.size()) changed_.Wait(mutex_);
    was_abandoned_ = abandoned();
    return question + std::to_string(asked_.size());
  }

  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> asked_ MUSTER_GUARDED_BY(mutex_);
  std::vector<std::string> told_ MUSTER_GUARDED_BY(mutex_);
  size_t let_go_ MUSTER_GUARDED_BY(mutex_) = 0;

 protected:
  Runs runs_{[this](const std::string& question, absl::FunctionRef<bool()> abandoned) {
               return Run(question, abandoned);
             },
             3};
};

TEST_F(SharedRunsTest, WhoWaitsForTheSameIsToldByOneRunThatBeganLater) {
  ASSERT_TRUE(runs_.Ask("a", Note("first")));
  AwaitRuns(1);
  // What the first run has seen by now may be older than these.
  ASSERT_TRUE(runs_.Ask("a", Note("second")));
  ASSERT_TRUE(runs_.Ask("b", Note("third")));
  ASSERT_TRUE(runs_.Ask("a", Note("fourth")));
  for (int i = 0; i < 3; ++i) LetGo();
  AwaitTold(4);
  EXPECT_THAT(told(), ElementsAre("first: a1", "second: a2", "fourth: a2", "third: b3"));
  EXPECT_THAT(asked(), ElementsAre("a", "a", "b"));
}

TEST_F(SharedRunsTest, MoreThanMayWaitAreNotTaken) {
  ASSERT_TRUE(runs_.Ask("a", Note("runs")));
  AwaitRuns(1);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(runs_.Ask("b", Note("waits")));
  EXPECT_FALSE(runs_.Ask("b", Note("too many")));
  LetGo();
  LetGo();
  AwaitTold(4);
  EXPECT_TRUE(runs_.Ask("b", Note("again")));
  LetGo();
  AwaitTold(5);
}

TEST_F(SharedRunsTest, WhatNobodyWaitsForIsNotBegunAndTheRestIsToldSo) {
  std::atomic<bool> gone = false;
  const auto left = [&] { return gone.load(); };
  ASSERT_TRUE(runs_.Ask("a", Note("first", left)));
  AwaitRuns(1);
  ASSERT_TRUE(runs_.Ask("b", Note("second", left)));
  ASSERT_TRUE(runs_.Ask("c", Note("third", left)));
  ASSERT_TRUE(runs_.Ask("c", Note("fourth")));
  gone = true;
  LetGo();
  AwaitRuns(2);
  EXPECT_TRUE(was_abandoned_);
  LetGo();
  AwaitTold(3);
  EXPECT_FALSE(was_abandoned_) << "one of two stayed";
  EXPECT_THAT(asked(), ElementsAre("a", "c"));
}

TEST(SharedRuns, StopGivesBackWhoWaits) {
  Awaited<bool> began;
  Awaited<bool> go;
  std::atomic<int> told = 0;
  SharedRuns<size_t, int> runs(
      [&](size_t, absl::FunctionRef<bool()>) {
        began.Set(true);
        return go.Wait() ? 1 : 0;
      },
      1'000'000);
  const auto ask = [&](size_t question) {
    return runs.Ask(question, {.done = [&](int) { ++told; }});
  };
  ASSERT_TRUE(ask(0));
  began.Wait();
  ASSERT_TRUE(ask(1));
  std::vector<RunAsker<int>> left;
  std::thread stop([&] { left = runs.Stop(); });
  // Until it is stopping others are taken, and come back too.
  size_t taken = 1;
  while (ask(1)) {
    ++taken;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  go.Set(true);
  stop.join();
  EXPECT_THAT(left, SizeIs(taken));
  EXPECT_EQ(told, 1) << "of the run that was under way";
  EXPECT_FALSE(ask(2));
  EXPECT_THAT(runs.Stop(), SizeIs(0));
}

TEST(SharedRuns, NoMoreThanSoManyDifferentRunsWait) {
  Awaited<bool> began;
  Awaited<bool> go;
  SharedRuns<size_t, int> runs(
      [&](size_t question, absl::FunctionRef<bool()>) {
        if (question > 0) return 0;
        began.Set(true);
        return go.Wait() ? 1 : 0;
      },
      100);
  const auto ask = [&](size_t question) { return runs.Ask(question, {.done = [](int) {}}); };
  ASSERT_TRUE(ask(0));
  began.Wait();
  for (size_t run = 1; run <= decltype(runs)::kMostRuns; ++run) EXPECT_TRUE(ask(run));
  EXPECT_FALSE(ask(99));
  EXPECT_TRUE(ask(1)) << "one that waits";
  go.Set(true);
}

}  // namespace
}  // namespace muster
