#include "storage/postgres/auditor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/latch.h"
#include "services/common/mutex.h"

namespace muster::storage {
namespace {

using ::testing::HasSubstr;

// An auditor whose audits wait until the test lets them go, and find as their revision the how
// manieth they are.
class AuditorTest : public ::testing::Test {
 protected:
  using Answer = Awaited<absl::StatusOr<AuditReport>>;

  ~AuditorTest() override { LetAllGo(); }

  std::shared_ptr<Answer> Ask(std::function<bool()> gone = {}) {
    auto answer = std::make_shared<Answer>();
    auditor_.Run([answer](const absl::StatusOr<AuditReport>& report) { answer->Set(report); },
                 std::move(gone));
    return answer;
  }
  void AwaitBegun(int64_t count) {
    MutexLock lock(mutex_);
    while (begun_ < count) changed_.Wait(mutex_);
  }
  void LetAllGo() {
    MutexLock lock(mutex_);
    let_go_ = true;
    changed_.SignalAll();
  }

 private:
  absl::StatusOr<AuditReport> Audit() {
    MutexLock lock(mutex_);
    const int64_t mine = ++begun_;
    changed_.SignalAll();
    while (!let_go_) changed_.Wait(mutex_);
    return AuditReport{.revision = mine};
  }

  Mutex mutex_;
  CondVar changed_;
  int64_t begun_ MUSTER_GUARDED_BY(mutex_) = 0;
  bool let_go_ MUSTER_GUARDED_BY(mutex_) = false;

 protected:
  Auditor auditor_{
      {.service = "test", .interval = absl::Hours(1), .audit = [this] { return Audit(); }}};
};

TEST_F(AuditorTest, OneAuditAnswersAllWhoAskedBeforeItBegan) {
  const auto first = Ask();
  AwaitBegun(1);
  const auto second = Ask();
  const auto third = Ask();
  LetAllGo();
  EXPECT_EQ(first->Wait()->revision, 1);
  EXPECT_EQ(second->Wait()->revision, 2);
  EXPECT_EQ(third->Wait()->revision, 2);
}

TEST_F(AuditorTest, NoMoreWaitThanMay) {
  const auto first = Ask();
  AwaitBegun(1);
  std::atomic<bool> gone = false;
  std::vector<std::shared_ptr<Answer>> waiting;
  for (size_t i = 0; i < Auditor::kMostAsked; ++i)
    waiting.push_back(Ask([&gone, i] { return i == 0 && gone; }));
  const absl::Status refused = Ask()->Wait().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(error::ReasonOf(refused), "TOO_MANY_CALLS");
  ASSERT_TRUE(error::DetailOf(refused).has_value());
  EXPECT_GT(error::DetailOf(refused)->retry_after, absl::ZeroDuration());
  EXPECT_THAT(std::string(refused.message()), HasSubstr(absl::StrCat(Auditor::kMostAsked)));
  gone = true;
  const auto last = Ask();
  EXPECT_TRUE(absl::IsCancelled(waiting.front()->Wait().status())) << "it made room";
  LetAllGo();
  EXPECT_EQ(last->Wait()->revision, 2);
  EXPECT_EQ(waiting.back()->Wait()->revision, 2);
}

TEST_F(AuditorTest, WhatNobodyWaitsForIsNotBegun) {
  const auto first = Ask();
  AwaitBegun(1);
  const auto given_up = Ask([] { return true; });
  LetAllGo();
  EXPECT_EQ(first->Wait()->revision, 1);
  EXPECT_TRUE(absl::IsCancelled(given_up->Wait().status()));
  EXPECT_EQ(Ask()->Wait()->revision, 2);
  EXPECT_EQ(auditor_.stats().audits, 2);
}

TEST_F(AuditorTest, AfterStopNothingIsAudited) {
  LetAllGo();
  auditor_.Stop();
  EXPECT_TRUE(absl::IsUnavailable(Ask()->Wait().status()));
  EXPECT_EQ(auditor_.stats().audits, 0);
}

}  // namespace
}  // namespace muster::storage
