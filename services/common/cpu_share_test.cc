#include "services/common/cpu_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace muster {
namespace {

// Threads that do one piece of slow work after the other, on as many processors, by a clock that
// the test moves.
class CpuShareTest : public ::testing::Test {
 protected:
  // `piece`: what each piece of its work takes.
  void AddThread(absl::Duration piece) {
    threads_.push_back({.piece = piece, .until = now_ + piece});
    threads_.back().stretch = std::make_unique<CpuStretch>(&share_);
  }
  void Go(absl::Duration time) {
    const absl::Duration end = now_ + time;
    while (true) {
      Thread& next =
          *std::min_element(threads_.begin(), threads_.end(),
                            [](const Thread& a, const Thread& b) { return a.until < b.until; });
      if (next.until > end) break;
      now_ = next.until;
      Step(next);
    }
    now_ = end;
  }
  // How much of a core the thread took of `time`.
  double TakenBy(size_t thread, absl::Duration time) const {
    return absl::FDivDuration(threads_[thread].took, time);
  }

  CpuShare share_;

 private:
  struct Thread {
    absl::Duration piece = {};
    absl::Duration until = {};
    bool works = true;
    absl::Duration took = {};
    std::unique_ptr<CpuStretch> stretch = {};
  };

  void Step(Thread& thread) {
    if (thread.works) {
      thread.took += thread.piece;
      thread.stretch->EndWork(thread.piece);
    }
    const absl::Duration pause = thread.stretch->NextPause();
    thread.works = pause == absl::ZeroDuration();
    if (thread.works) {
      thread.stretch.reset();
      thread.stretch = std::make_unique<CpuStretch>(&share_);
    }
    thread.until = now_ + (thread.works ? thread.piece : pause);
  }

  absl::Duration now_ = absl::ZeroDuration();
  std::vector<Thread> threads_;
};

constexpr absl::Duration kLong = absl::Minutes(10);

TEST_F(CpuShareTest, OneAloneTakesHalfACore) {
  AddThread(absl::Milliseconds(300));
  Go(kLong);
  EXPECT_NEAR(TakenBy(0, kLong), 0.5, 0.01);
}

TEST_F(CpuShareTest, ManyTakeOneCoreTogetherInEqualPartsWhateverTheyDo) {
  for (const int pieces : {1, 20, 300, 2'000}) AddThread(absl::Milliseconds(pieces));
  Go(kLong);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(TakenBy(i, kLong), 0.25, 0.01) << i;
}

TEST_F(CpuShareTest, WhatTakesLittleDoesNotWaitForTheEndOfWhatTakesLong) {
  const CpuStretch takes_long(&share_);
  AddThread(absl::Milliseconds(5));
  Go(kLong);
  EXPECT_NEAR(TakenBy(0, kLong), 0.5, 0.01);
}

TEST_F(CpuShareTest, ARestEndsSoonerWhenOthersHaveGone) {
  auto other = std::make_unique<CpuStretch>(&share_);
  auto another = std::make_unique<CpuStretch>(&share_);
  CpuStretch mine(&share_);
  EXPECT_EQ(share_.at_it(), 3);
  mine.EndWork(absl::Milliseconds(15));
  EXPECT_EQ(mine.NextPause(), absl::Milliseconds(20));
  other.reset();
  another.reset();
  EXPECT_EQ(mine.NextPause(), absl::Milliseconds(5));
  EXPECT_EQ(mine.NextPause(), absl::ZeroDuration());
}

TEST(CpuStretch, WithoutAShareRestsForAsLongAsItWorked) {
  CpuStretch stretch(nullptr);
  stretch.EndWork(absl::Milliseconds(3));
  EXPECT_EQ(stretch.NextPause(), absl::Milliseconds(3));
  EXPECT_EQ(stretch.NextPause(), absl::ZeroDuration());
}

}  // namespace
}  // namespace muster
