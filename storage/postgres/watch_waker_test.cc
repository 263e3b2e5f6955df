// When readers are woken.
#include "storage/postgres/watch_waker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "services/common/latch.h"

namespace muster::storage {
namespace {

// Longer than any test.
constexpr absl::Duration kForEver = absl::Hours(1);

// A watcher whose reader waits.
std::shared_ptr<Watcher> Waiting(absl::AnyInvocable<void()> woken) {
  auto watcher = std::make_shared<Watcher>(WatchOptions{}, 10);
  watcher->NotifyWhenReady(std::move(woken));
  return watcher;
}

TEST(WatchWakerTest, AfterAQuietTimeAReaderIsWokenAtOnce) {
  WatchWaker waker(kForEver);
  Awaited<bool> woken;
  waker.Add({Waiting([&] { woken.Set(true); })});
  woken.Wait();
}

// What comes while it rests is told together, by one wake; at the end nobody is left to be woken.
TEST(WatchWakerTest, WhoIsToBeWokenWhileItRestsWaitsForItsEnd) {
  WatchWaker waker(kForEver);
  Awaited<bool> woken;
  waker.Add({Waiting([&] { woken.Set(true); })});
  woken.Wait();
  std::atomic<int> later = 0;
  const auto second = Waiting([&] { ++later; });
  waker.Add({second, second});
  waker.Add({Waiting([&] { ++later; })});
  // Long enough for one that does not rest.
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(later, 0);
  waker.Stop();
  EXPECT_EQ(later, 2);
}

TEST(WatchWakerTest, TheRestEnds) {
  WatchWaker waker(absl::Milliseconds(1));
  for (int i = 0; i < 3; ++i) {
    Awaited<bool> woken;
    waker.Add({Waiting([&] { woken.Set(true); })});
    woken.Wait();
  }
}

}  // namespace
}  // namespace muster::storage
