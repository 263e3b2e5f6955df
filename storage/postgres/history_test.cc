#include "storage/postgres/history.h"

#include <gtest/gtest.h>

#include "services/common/steady_clock.h"
#include "services/common/testing/fake_clock.h"
#include "storage/postgres/lane_clock.h"

namespace muster::storage {
namespace {

using Verdict = Continuity::Verdict;

const Position kKnown{"h1", 5, "b5"};

Head HeadAt(int64_t revision, const std::string& batch, std::optional<std::string> known_batch = {},
            int64_t compacted = 0) {
  Head head{revision, batch, compacted, "h1"};
  head.known_batch = std::move(known_batch);
  return head;
}

TEST(HistoryTest, PagesAreOfOneHistory) {
  EXPECT_TRUE(CheckSameHistory("h1", "h1").ok());
  EXPECT_TRUE(CheckSameHistory("", "h1").ok()) << "a token of the release before";
  EXPECT_EQ(CheckSameHistory("h0", "h1").code(), absl::StatusCode::kOutOfRange);
}

TEST(HistoryTest, JudgesByNameRevisionAndBatch) {
  const struct {
    Head head;
    Verdict verdict;
  } cases[] = {
      {HeadAt(5, "b5", "b5"), Verdict::kContinues},
      {HeadAt(5, "b5", {}, 5), Verdict::kContinues},  // compacted, and the head itself proves it
      {HeadAt(7, "b7", "b5"), Verdict::kContinues},
      {HeadAt(7, "b7", "b5", 4), Verdict::kContinues},
      {HeadAt(4, "b4"), Verdict::kReplaced},
      {HeadAt(0, ""), Verdict::kReplaced},
      {HeadAt(5, "x5", "x5"), Verdict::kReplaced},
      {HeadAt(7, "x7", "x5"), Verdict::kReplaced},
      {HeadAt(7, "b7", {}), Verdict::kReplaced},
      {HeadAt(7, "b7", {}, 5), Verdict::kUnproved},
      {HeadAt(7, "b7", {}, 7), Verdict::kUnproved},
  };
  for (const auto& [head, verdict] : cases) {
    const Continuity continuity = Judge(kKnown, head);
    EXPECT_EQ(continuity.verdict, verdict)
        << "head " << head.revision << " " << head.batch << ": " << continuity.reason;
    EXPECT_EQ(continuity.reason.empty(), verdict == Verdict::kContinues);
  }
}

TEST(HistoryTest, AnotherNameIsAnotherHistory) {
  Head head = HeadAt(5, "b5", "b5");
  head.incarnation = "h2";
  EXPECT_TRUE(Judge(kKnown, head).replaced());
}

TEST(HistoryTest, NothingContinuesInEverything) {
  const Position nothing{"h1", 0, ""};
  EXPECT_TRUE(Judge(nothing, HeadAt(0, "")).continues());
  EXPECT_TRUE(Judge(nothing, HeadAt(3, "b3")).continues());
  EXPECT_EQ(Judge(nothing, HeadAt(3, "b3", {}, 2)).verdict, Verdict::kUnproved);
}

TEST(HistoryTest, TimeFollowsTheDatabaseUnlessThatStepsBack) {
  const absl::Time commit = absl::FromUnixSeconds(1'000);
  EXPECT_EQ(TimeUnder(commit, commit + absl::Seconds(5), commit + absl::Hours(1)),
            commit + absl::Seconds(5));
  EXPECT_EQ(TimeUnder(commit, commit - absl::Hours(1), commit + absl::Seconds(3)),
            commit + absl::Seconds(3));
  EXPECT_EQ(TimeUnder(commit, commit - absl::Hours(1), commit - absl::Seconds(3)), commit);
}

TEST(LaneClockTest, ATestsClockStandsInForTheDatabases) {
  FakeClock fake;
  LaneClock clock(&fake);
  Head head = HeadAt(1, "b1");
  head.now = absl::FromUnixSeconds(1);
  head.commit_time = fake.Now() - absl::Seconds(1);
  EXPECT_EQ(clock.Take(head), fake.Now());
  head.commit_time = fake.Now() + absl::Seconds(1);
  EXPECT_EQ(clock.Take(head), fake.Now() + absl::Seconds(1));
  EXPECT_EQ(clock.Now(), fake.Now() + absl::Seconds(1));
}

TEST(LaneClockTest, KnowsHowOldItsHeadIsAndWhatWasCommittedSince) {
  FakeClock fake;
  FakeSteadyClock steady;
  LaneClock clock(&fake, &steady);
  Head head = HeadAt(1, "b1");
  head.commit_time = fake.Now() - absl::Seconds(9);
  clock.Take(head);
  EXPECT_EQ(clock.SinceHead(), absl::ZeroDuration());
  steady.Advance(absl::Seconds(3));
  EXPECT_EQ(clock.SinceHead(), absl::Seconds(3));
  const absl::Time committed = clock.Now();
  clock.Committed(committed);
  EXPECT_EQ(clock.SinceHead(), absl::Seconds(3));
  fake.Advance(-absl::Hours(1));
  EXPECT_EQ(clock.Now(), committed);
}

TEST(LaneClockTest, GoesOnSteadilyWhereTheDatabaseStepsBack) {
  LaneClock clock(nullptr);
  Head head = HeadAt(1, "b1");
  head.now = head.commit_time = absl::FromUnixSeconds(10'000);
  EXPECT_EQ(clock.Take(head), head.now);
  head.now -= absl::Hours(1);
  EXPECT_GE(clock.Take(head), head.commit_time);
  EXPECT_GE(clock.Now(), head.commit_time);
  // And follows it again once it has passed the last commit.
  head.now = head.commit_time + absl::Seconds(1);
  EXPECT_EQ(clock.Take(head), head.now);
}

// Whose head was committed long ago.
Head LongAgo() {
  Head head = HeadAt(1, "b1");
  head.commit_time = absl::FromUnixSeconds(1'000);
  head.now = absl::FromUnixSeconds(10'000);
  return head;
}

TEST(LaneClockTest, IsNeverBeforeWhatItSaid) {
  FakeSteadyClock steady;
  LaneClock clock(nullptr, &steady);
  Head head = LongAgo();
  clock.Take(head);
  steady.Advance(absl::Seconds(2));
  const absl::Time planned_at = clock.Now();
  EXPECT_EQ(planned_at, head.now + absl::Seconds(2));
  // Nothing was committed since, and the database's clock is set back.
  head.now -= absl::Minutes(2);
  EXPECT_EQ(clock.Take(head), planned_at);
  EXPECT_EQ(clock.Now(), planned_at);
}

TEST(LaneClockTest, GoesOnWhereTheDatabaseStepsBackAndNothingWasCommitted) {
  FakeSteadyClock steady;
  LaneClock clock(nullptr, &steady);
  Head head = LongAgo();
  clock.Take(head);
  steady.Advance(absl::Seconds(2));
  const absl::Time planned_at = clock.Now();
  head.now -= absl::Minutes(2);
  for (int i = 0; i < 60; ++i) {
    steady.Advance(absl::Seconds(1));
    head.now += absl::Seconds(1);
    clock.Take(head);
  }
  EXPECT_EQ(clock.Now(), planned_at + absl::Minutes(1));
  // Another process, whose clock is further ahead, commits.
  head.commit_time = planned_at + absl::Hours(1);
  EXPECT_EQ(clock.Take(head), head.commit_time);
}

// Few, but more than a head takes on its way: it neither waits for the database nor goes back,
// whether or not the last commit is recent.
TEST(LaneClockTest, GoesOnWhereTheDatabaseStepsBackByAFewSeconds) {
  for (const bool committed : {false, true}) {
    SCOPED_TRACE(committed);
    FakeSteadyClock steady;
    LaneClock clock(nullptr, &steady);
    Head head = LongAgo();
    if (committed) head.commit_time = head.now;
    const absl::Time said = clock.Take(head);
    head.now -= absl::Seconds(3);
    for (int passed = 1; passed <= 10; ++passed) {
      steady.Advance(absl::Seconds(1));
      head.now += absl::Seconds(1);
      EXPECT_EQ(clock.Take(head), said + absl::Seconds(passed));
      EXPECT_EQ(clock.Now(), said + absl::Seconds(passed));
    }
    // And follows it again once that is set right.
    head.now += absl::Seconds(3) + absl::Milliseconds(5);
    EXPECT_EQ(clock.Take(head), head.now);
  }
}

// Else each head that was long on its way would leave it ahead of the database for good.
TEST(LaneClockTest, WaitsForADatabaseThatIsALittleBehind) {
  FakeSteadyClock steady;
  LaneClock clock(nullptr, &steady);
  Head head = LongAgo();
  const absl::Time said = clock.Take(head);
  steady.Advance(absl::Milliseconds(100));
  head.now -= absl::Milliseconds(500);
  EXPECT_EQ(clock.Take(head), said);
}

}  // namespace
}  // namespace muster::storage
