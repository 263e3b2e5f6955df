#include "services/rpc/line_pace.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace muster::rpc {
namespace {

int Admitted(LinePace& pace, int asked) {
  int admitted = 0;
  for (int i = 0; i < asked; ++i) admitted += pace.Admit().has_value() ? 1 : 0;
  return admitted;
}

TEST(LinePaceTest, SoManyAtOnceThenSoManyASecond) {
  FakeSteadyClock clock;
  LinePace pace(100, &clock);
  EXPECT_EQ(Admitted(pace, 1'000), 100);
  clock.Advance(absl::Milliseconds(500));
  EXPECT_EQ(Admitted(pace, 1'000), 50);
  clock.Advance(absl::Hours(1));
  EXPECT_EQ(Admitted(pace, 1'000), 100);
}

TEST(LinePaceTest, TheNextLineTellsHowManyWereLeftOut) {
  FakeSteadyClock clock;
  LinePace pace(2, &clock);
  EXPECT_EQ(pace.Admit(), 0);
  EXPECT_EQ(pace.Admit(), 0);
  EXPECT_EQ(Admitted(pace, 7), 0);
  clock.Advance(absl::Milliseconds(500));
  EXPECT_EQ(pace.Admit(), 7);
  clock.Advance(absl::Seconds(1));
  EXPECT_EQ(pace.Admit(), 0);
}

// Threads that look at the clock at the turn of a second do not begin it more than once.
TEST(LinePaceTest, ThreadsTogetherHaveNoMore) {
  constexpr int kThreads = 8, kSeconds = 50;
  FakeSteadyClock clock;
  LinePace pace(100, &clock);
  std::atomic<int> admitted = 0;
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      while (!over) admitted += Admitted(pace, 100);
    });
  }
  for (int i = 0; i < kSeconds; ++i) {
    std::this_thread::yield();
    clock.Advance(absl::Seconds(1));
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(admitted, 100 + 100 * kSeconds);
}

}  // namespace
}  // namespace muster::rpc
