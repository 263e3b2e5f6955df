// What threads wait by: mutex.h, stopper.h, worker_signal.h, latch.h, job_queue.h, coalesced_job.h.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "services/common/coalesced_job.h"
#include "services/common/job_queue.h"
#include "services/common/latch.h"
#include "services/common/mutex.h"
#include "services/common/worker_signal.h"
#include "tests/testing/patience.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

constexpr absl::Duration kMoment = absl::Milliseconds(1);
constexpr absl::Duration kForEver = absl::InfiniteDuration();

TEST(StopperTest, EndsASleepAndAWaitWhenItIsStopped) {
  Stopper stopper;
  bool slept = true;
  bool waited = true;
  std::thread sleeper([&] { slept = stopper.Sleep(kForEver); });
  std::thread waiter([&] { waited = stopper.Wait(kForEver); });
  EXPECT_FALSE(stopper.stopped());
  stopper.Stop();
  sleeper.join();
  waiter.join();
  EXPECT_FALSE(slept);
  EXPECT_FALSE(waited);
  EXPECT_TRUE(stopper.stopped());
  EXPECT_FALSE(stopper.Sleep(absl::ZeroDuration())) << "it stays stopped";
}

TEST(StopperTest, SleepsToTheEndWhateverWakesIt) {
  Stopper stopper;
  stopper.Wake();
  const absl::Duration begin = TheSteadyClock()->Now();
  EXPECT_TRUE(stopper.Sleep(kMoment));
  EXPECT_GE(TheSteadyClock()->Now() - begin, kMoment);
}

TEST(StopperTest, WhatWokeItBeforeItWaitedIsNotLost) {
  Stopper stopper;
  stopper.Wake();
  EXPECT_TRUE(stopper.Wait(kForEver));
  EXPECT_TRUE(stopper.Wait(kMoment)) << "nobody woke it: the time is over";
}

TEST(WorkerSignalTest, AJobSaysHowItEndedOnce) {
  WorkerSignal signal;
  std::thread worker([&] { signal.JobDone(true); });
  EXPECT_TRUE(signal.AwaitJob());
  worker.join();
  signal.JobDone(false);
  EXPECT_FALSE(signal.AwaitJob());
  std::thread stopper([&] { signal.Stop(); });
  EXPECT_FALSE(signal.AwaitJob());
  stopper.join();
}

TEST(AwaitedTest, TheFirstThatIsSaidCounts) {
  Awaited<std::string> awaited;
  std::thread other([&] {
    awaited.Set("first");
    awaited.Set("second");
  });
  other.join();
  EXPECT_EQ(awaited.Wait(), "first");
}

TEST(AwaitedTest, IsNotWaitedForLongerThanAsked) {
  const auto awaited = std::make_shared<Awaited<std::unique_ptr<int>>>();
  EXPECT_EQ(awaited->WaitFor(kMoment), std::nullopt);
  std::thread other([awaited] { awaited->Set(std::make_unique<int>(7)); });
  EXPECT_THAT(awaited->WaitFor(kForEver), Optional(::testing::Pointee(7)));
  other.join();
}

TEST(LatchTest, OpensWhenNothingIsUnderWay) {
  Latch latch;
  latch.Wait(kForEver);
  latch.Begin();
  latch.Begin();
  latch.End();
  latch.Wait(kMoment);
  std::atomic<bool> ended = false;
  std::thread other([&] {
    ended = true;
    latch.End();
  });
  latch.Wait(kForEver);
  EXPECT_TRUE(ended);
  other.join();
}

TEST(JobQueueTest, RunsWhatComesInItsOrder) {
  Latch latch;
  std::string run;
  JobQueue<std::string> queue(1, [&](std::string& job) {
    run += job;
    latch.End();
  });
  for (const char* job : {"a", "b", "c"}) {
    latch.Begin();
    EXPECT_TRUE(queue.Add(0, job));
  }
  latch.Wait(kForEver);
  EXPECT_EQ(run, "abc");
}

TEST(JobQueueTest, RunsWhatIsOfDifferentOwnersInTurns) {
  Awaited<bool> may_begin;
  Latch latch;
  std::string run;
  JobQueue<std::string> queue(1, [&](std::string& job) {
    if (run.empty()) may_begin.Wait();
    run += job;
    latch.End();
  });
  for (const auto& [owner, job] : std::vector<std::pair<uint64_t, std::string>>{
           {0, "first "}, {1, "a"}, {1, "b"}, {1, "c"}, {2, "A"}, {2, "B"}}) {
    latch.Begin();
    EXPECT_TRUE(queue.Add(owner, std::string(job)));
  }
  may_begin.Set(true);
  latch.Wait(kForEver);
  EXPECT_EQ(run, "first aAbBc");
}

// A queue whose first job runs until it may end.
struct Busy {
  explicit Busy(size_t most = JobQueue<std::string>::kUnbounded)
      : queue(
            1,
            [this](std::string& job) {
              if (job != "first") return;
              begins.Set(true);
              may_end.Wait();
            },
            most) {
    EXPECT_TRUE(queue.Add(0, "first"));
    begins.Wait();
  }
  ~Busy() { may_end.Set(true); }

  Awaited<bool> begins;
  Awaited<bool> may_end;
  JobQueue<std::string> queue;
};

TEST(JobQueueTest, TakesNoMoreThanMayWait) {
  Busy busy(1);
  EXPECT_TRUE(busy.queue.Add(0, "second"));
  std::string third = "third";
  EXPECT_FALSE(busy.queue.Add(0, std::move(third)));
  EXPECT_EQ(third, "third") << "it stays its caller's";
}

TEST(JobQueueTest, ReturnsWhatWaitsWhenItStops) {
  Busy busy;
  EXPECT_TRUE(busy.queue.Add(0, "second"));
  std::vector<std::string> left;
  std::thread stopper([&] { left = busy.queue.Stop(); });
  while (busy.queue.Add(0, "late")) {
  }
  busy.may_end.Set(true);
  stopper.join();
  ASSERT_FALSE(left.empty());
  EXPECT_EQ(left[0], "second");
  EXPECT_THAT(busy.queue.Stop(), ElementsAre());
}

TEST(CoalescedJobTest, AfterAQuietTimeItRunsAtOnce) {
  Awaited<bool> runs;
  CoalescedJob job(kForEver, [&] { runs.Set(true); });
  job.Request();
  runs.Wait();
}

TEST(CoalescedJobTest, WhatIsRequestedWhileItRunsOrRestsIsOneMoreRun) {
  std::atomic<int> runs = 0;
  Awaited<bool> begins;
  Awaited<bool> may_end;
  CoalescedJob job(kForEver, [&] {
    if (++runs > 1) return;
    begins.Set(true);
    may_end.Wait();
  });
  job.Request();
  begins.Wait();
  job.Request();
  may_end.Set(true);
  job.Request();
  // Long enough for one that does not rest.
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(runs, 1);
  job.Stop();
  EXPECT_EQ(runs, 2) << "nothing that was requested is left undone";
  job.Request();
  job.Stop();
  EXPECT_EQ(runs, 2);
}

TEST(CoalescedJobTest, TheRestEnds) {
  std::atomic<int> runs = 0;
  Latch latch;
  CoalescedJob job(absl::Milliseconds(1), [&] {
    ++runs;
    latch.End();
  });
  for (int i = 1; i <= 3; ++i) {
    latch.Begin();
    job.Request();
    latch.Wait(kForEver);
    EXPECT_EQ(runs, i);
  }
}

// One that waits for an instant without readers gets it, though another reader comes before each of
// them goes.
TEST(SharedMutexTest, ReadersInTurnLetAWriterIn) {
  SharedMutex mutex;
  std::atomic<bool> wrote = false;
  std::atomic<int> entries = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      const auto give_up = std::chrono::steady_clock::now() + testing::kPatience;
      while (!wrote && std::chrono::steady_clock::now() < give_up) {
        const ReaderLock lock(mutex, ReaderLock::kInTurn);
        // Until the other one came in, or has to stand behind the writer.
        const int seen = ++entries;
        for (int look = 0; look < 100 && entries == seen && !wrote; ++look) absl::SleepFor(kMoment);
        const ReaderLock again(mutex);  // who reads may read
      }
      EXPECT_TRUE(wrote);
    });
  }
  std::thread writer([&] {
    absl::SleepFor(kMoment);
    const WriterLock lock(mutex);
    wrote = true;
  });
  writer.join();
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace muster
