#include "storage/postgres/commit_queue.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace muster::storage {
namespace {

// The queue looks into no state.
struct NoState {
  using Change = int;
};

class CommitQueueTest : public ::testing::Test {
 protected:
  using Queue = CommitQueue<NoState>;

  CommitQueueTest() {
    options_.poll = absl::Hours(1);
    options_.max_batch = 2;
    options_.max_queue = 3;
  }

  // Its answer goes to `answers_`.
  void Submit(const std::string& name) {
    queue_.Submit({.decide = {},
                   .done =
                       [this, name](const absl::Status& status, int64_t) {
                         answers_.push_back(name + ": " + std::string(status.message()));
                       },
                   .deadline = absl::InfiniteFuture(),
                   .incarnation = name});
  }
  // As a caller whose commands go first.
  void SubmitFirst(const std::vector<std::string>& names, uint64_t caller = 0) {
    const auto author = [] { return Author(); };
    const CurrentCaller scope(caller, author, true);
    for (const std::string& name : names) Submit(name);
  }
  std::vector<std::string> NextBatch() {
    Queue::Work work;
    if (!queue_.Await(work, options_.max_batch)) return {"stopped"};
    std::vector<std::string> names;
    for (const auto& command : work.batch) names.push_back(command.incarnation);
    return names;
  }

  using Names = std::vector<std::string>;

  LaneOptions options_;
  Queue queue_{options_};
  Names answers_;
};

TEST_F(CommitQueueTest, CallersTakeTurnsAndNoneFillsTheQueue) {
  options_.max_queue = 10;
  const auto author = [] { return Author(); };
  {
    const CurrentCaller scope(1, author);
    for (const char* name : {"a1", "a2", "a3", "a4", "a5"}) Submit(name);
    EXPECT_EQ(answers_, Names());
    Submit("a6");
    EXPECT_EQ(answers_, (Names{"a6: Too many requests wait to be committed."}));
  }
  {
    const CurrentCaller scope(2, author);
    Submit("b1");
  }
  Submit("own");
  EXPECT_EQ(NextBatch(), (Names{"a1", "b1"}));
  EXPECT_EQ(NextBatch(), (Names{"own", "a2"}));
  EXPECT_EQ(NextBatch(), (Names{"a3", "a4"}));
  EXPECT_EQ(NextBatch(), Names{"a5"});
}

TEST_F(CommitQueueTest, SomeGoFirstAndTheOthersDoNotStarve) {
  options_.max_queue = 12;
  options_.max_batch = 6;
  for (const char* name : {"a1", "a2", "a3", "a4"}) Submit(name);
  SubmitFirst({"r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8"});
  EXPECT_EQ(NextBatch(), (Names{"r1", "r2", "r3", "a1", "r4", "r5"}));
  EXPECT_EQ(NextBatch(), (Names{"r6", "r7", "r8", "a2", "a3", "a4"}));
  EXPECT_TRUE(answers_.empty());
}

TEST_F(CommitQueueTest, NeitherStarvesWhereThereIsRoomForOne) {
  options_.max_queue = 12;
  options_.max_batch = 1;
  for (const char* name : {"a1", "a2"}) Submit(name);
  SubmitFirst({"r1", "r2", "r3", "r4", "r5", "r6", "r7"});
  Names handed_out;
  for (int i = 0; i < 8; ++i) handed_out.push_back(NextBatch().front());
  EXPECT_EQ(handed_out, (Names{"r1", "r2", "r3", "a1", "r4", "r5", "r6", "a2"}));
}

TEST_F(CommitQueueTest, WhatGoesFirstTakesTurnsAndHasRoomOfItsOwn) {
  options_.max_queue = 2;
  for (const char* name : {"a1", "a2"}) Submit(name);
  SubmitFirst({"r1"}, 1);
  SubmitFirst({"r2"}, 1);
  EXPECT_EQ(answers_, (Names{"r2: Too many requests wait to be committed."}));
  SubmitFirst({"s1"}, 2);
  SubmitFirst({"t1"}, 3);
  EXPECT_EQ(answers_.back(), "t1: Too many requests wait to be committed.");
  EXPECT_EQ(NextBatch(), (Names{"r1", "s1"}));
  EXPECT_EQ(NextBatch(), (Names{"a1", "a2"}));
}

TEST_F(CommitQueueTest, HandsOutBatchesInTheOrderOfTheirComing) {
  for (const char* name : {"a", "b", "c"}) Submit(name);
  EXPECT_EQ(NextBatch(), (Names{"a", "b"}));
  EXPECT_EQ(NextBatch(), Names{"c"});
  EXPECT_EQ(queue_.accepted(), 3);
  EXPECT_TRUE(answers_.empty());
}

TEST_F(CommitQueueTest, RefusesWhatIsTooMuchAndWhatComesAfterTheEnd) {
  for (const char* name : {"a", "b", "c", "d"}) Submit(name);
  EXPECT_EQ(answers_, Names{"d: Too many requests wait to be committed."});
  EXPECT_EQ(queue_.accepted(), 3);
  queue_.CloseIntake();
  Submit("e");
  EXPECT_EQ(answers_.back(), "e: The server stops.");
  EXPECT_EQ(NextBatch(), (Names{"a", "b"})) << "what waited is handed out all the same";
}

TEST_F(CommitQueueTest, FailsWhatWaits) {
  for (const char* name : {"a", "b"}) Submit(name);
  SubmitFirst({"r"});
  queue_.Fail(absl::UnavailableError("Away."));
  EXPECT_EQ(answers_, (Names{"r: Away.", "a: Away.", "b: Away."}));
  EXPECT_EQ(queue_.accepted(), 0);
}

TEST_F(CommitQueueTest, APokeIsWorkWithoutABatch) {
  queue_.Poke();
  EXPECT_EQ(NextBatch(), Names{});
}

TEST_F(CommitQueueTest, WhoWaitsInVainIsToLookAtTheHead) {
  options_.poll = absl::Milliseconds(1);
  Queue::Work work;
  ASSERT_TRUE(queue_.Await(work, options_.max_batch));
  EXPECT_TRUE(work.look);
}

// Else each call costs a look at the head while the lane waits for its commit: when it is busiest.
TEST_F(CommitQueueTest, ACommandWakesNobodyWhoHasNoRoomForIt) {
  int answers[2];
  ASSERT_EQ(pipe(answers), 0);
  std::thread caller([&] {
    // Most likely it sleeps by then. Where it does not, nothing could wake it.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    Submit("a");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    close(answers[1]);
  });
  Queue::Work work;
  ASSERT_TRUE(queue_.Await(work, 0, {.fd = answers[0]}));
  EXPECT_TRUE(work.answered) << "it was woken by a command that it cannot take";
  EXPECT_FALSE(work.look);
  caller.join();
  close(answers[0]);
  EXPECT_EQ(NextBatch(), Names{"a"});
}

TEST_F(CommitQueueTest, StopsOnceAndHandsOutNothingMore) {
  Submit("a");
  EXPECT_TRUE(queue_.Stop());
  EXPECT_FALSE(queue_.Stop());
  EXPECT_EQ(NextBatch(), Names{"stopped"});
}

TEST_F(CommitQueueTest, AnInspectionRunsOnTheThreadThatWorks) {
  std::thread::id inspected_on;
  absl::Status status = absl::UnknownError("not yet");
  std::thread caller(
      [&] { status = queue_.Inspect([&] { inspected_on = std::this_thread::get_id(); }); });
  Queue::Work work;
  ASSERT_TRUE(queue_.Await(work, 0));
  ASSERT_TRUE(work.inspection);
  work.inspection();
  caller.join();
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(inspected_on, std::this_thread::get_id());
}

TEST_F(CommitQueueTest, AnInspectionThatRunsIsWaitedForWhateverElseWaitsWhenTheLaneStops) {
  absl::Status status = absl::UnknownError("not yet");
  std::atomic<bool> ran = false;
  std::thread caller([&] { status = queue_.Inspect([&] { ran = true; }); });
  Queue::Work work;
  ASSERT_TRUE(queue_.Await(work, 0));
  ASSERT_TRUE(work.inspection);
  // Of two more one waits; that is so once the other is refused.
  std::atomic<int> refused = 0;
  const auto ask = [&] {
    EXPECT_TRUE(absl::IsUnavailable(queue_.Inspect([] { ADD_FAILURE() << "stopped"; })));
    ++refused;
  };
  std::thread second(ask);
  std::thread third(ask);
  while (refused == 0) std::this_thread::yield();
  queue_.Stop();
  second.join();
  third.join();
  work.inspection();
  caller.join();
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_TRUE(ran);
}

TEST_F(CommitQueueTest, AnInspectionThatNeverBeginsIsGivenUpWhenTheLaneStops) {
  std::atomic<bool> ran = false;
  absl::Status status;
  std::thread caller([&] { status = queue_.Inspect([&] { ran = true; }); });
  queue_.Stop();
  caller.join();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace muster::storage
