// The books held against each other when somebody asks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "services/lifecycle/api/books_auditor.h"
#include "tests/books/cloud.h"

namespace muster::testing {
namespace {

using lifecycle::BooksAuditor;
using lifecycle::BooksLine;
using lifecycle::DifferenceKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Audits : public Cloud {
 protected:
  using Answer = absl::StatusOr<BooksAuditor::Report>;

  Audits() : auditor_(&lifecycle_->lane(), {}) {}

  std::future<Answer> Ask(absl::Duration settle) {
    const auto answer = std::make_shared<std::promise<Answer>>();
    auto future = answer->get_future();
    auditor_.Audit(settle, {.done = [answer](const Answer& report) { answer->set_value(report); }});
    return future;
  }

  BooksAuditor auditor_;
};

TEST_F(Audits, ShowTheBooksSideBySideAndWhatDiffers) {
  auditor_.Start(Peers());
  AddMachines("m", 5);
  AddPool("empty", 0);
  Answer report = Ask(absl::ZeroDuration()).get();
  ASSERT_THAT(report, IsOk());
  EXPECT_THAT(report->differences, IsEmpty());
  EXPECT_THAT(report->lines,
              ElementsAre(BooksLine{"acme", kZone, kType, "default", 1, 0, 0, 0, 0}));

  Haunt("ghost", 2);
  for (const absl::Duration settle : {absl::ZeroDuration(), absl::Milliseconds(10)}) {
    report = Ask(settle).get();
    ASSERT_THAT(report, IsOk());
    EXPECT_THAT(report->differences, SizeIs(3));
    EXPECT_EQ(report->passing, 0);
    EXPECT_EQ(report->orphans, 1);
    EXPECT_FALSE(report->withheld);
    EXPECT_THAT(report->lines,
                ElementsAre(BooksLine{"", "", "", "", 0, 0, 0, 0, 1},
                            BooksLine{"acme", kZone, kType, "default", 1, 0, 2, 2, 0}));
  }
  Haunt("another", 0);
  report = Ask(absl::ZeroDuration()).get();
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->orphans, 2);
  EXPECT_TRUE(report->withheld);
}

// A claim without Nodes, asked for anew all the while: nothing of the pool stands still.
TEST_F(Audits, WhatMovesBetweenTwoSnapshotsDoesNotCount) {
  auditor_.Start(Peers());
  AddMachines("m", 5);
  const std::string uid = AddPool("train", 5).uid();
  int64_t generation = 1;
  ASSERT_THAT(SyncHolding(uid, 5), IsOk());
  ASSERT_THAT(SyncClaim(uid, 5, generation), IsOk());
  const Answer still = Ask(absl::Milliseconds(10)).get();
  ASSERT_THAT(still, IsOk());
  EXPECT_FALSE(still->differences.empty());
  // On a busy machine an audit may see no move: some audit does.
  for (int attempt = 0; attempt < 200; ++attempt) {
    auto asked = Ask(absl::Milliseconds(50));
    while (asked.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      ASSERT_THAT(SyncClaim(uid, 5, ++generation), IsOk());
    const Answer moving = asked.get();
    ASSERT_THAT(moving, IsOk());
    if (!moving->differences.empty()) continue;
    EXPECT_GT(moving->passing, 0);
    return;
  }
  FAIL() << "what moved was told as a difference each time";
}

TEST_F(Audits, ThatWaitAreAnsweredWhenItStops) {
  EXPECT_THAT(Ask(absl::ZeroDuration()).get(), StatusIs(absl::StatusCode::kUnavailable))
      << "it knows nobody yet";
  auditor_.Start(Peers());
  Haunt("ghost", 0);
  auto asked = Ask(absl::Hours(1));
  auto waits = Ask(absl::ZeroDuration());
  auditor_.Stop();
  EXPECT_THAT(asked.get(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(waits.get(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(Ask(absl::ZeroDuration()).get(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(Audits, OnlySoManyWait) {
  auditor_.Start(Peers());
  Haunt("ghost", 0);
  std::vector<std::future<Answer>> asked;
  for (int i = 0; i < 12; ++i) asked.push_back(Ask(absl::Hours(1) + absl::Seconds(i)));
  EXPECT_THAT(asked.back().get(), StatusIs(absl::StatusCode::kUnavailable));
  auditor_.Stop();
}

}  // namespace
}  // namespace muster::testing
