// Watches that go on where they, or others before them, were.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "services/common/error.h"
#include "services/common/mutex.h"
#include "services/quota/store/testing/lane_watch_test_base.h"
#include "tests/testing/patience.h"

namespace muster::storage {
namespace {

using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;

TEST_F(QuotaLaneWatchTest, AResumedWatchGoesOnWithTheVeryNextChangeWhateverComesMeanwhile) {
  Lane& lane = NewLane(Trapped());
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 100, "", true}), IsOk());
  for (int i = 1; i <= 4; ++i) ASSERT_THAT(Do(lane, Want("a", i, i)), IsOk());
  int64_t head = 5;
  for (int64_t after = 0; after <= 5; ++after) {
    SCOPED_TRACE(after);
    // Between the journal and the changes to come.
    trap_.Set(LanePoint::kResumeLevel, [&] {
      ++head;
      ASSERT_THAT(Do(lane, Want("a", head, head)), IsOk());
    });
    // With that one; the watch may begin at once, and `head` move.
    const size_t known = static_cast<size_t>(head + 1 - after);
    const auto watcher = lane.Watch({.after_revision = after});
    std::vector<int64_t> revisions = Changes(*watcher, known);
    ++head;
    ASSERT_THAT(Do(lane, Want("a", head, head)), IsOk());
    for (const int64_t revision : Changes(*watcher, 1)) revisions.push_back(revision);
    ASSERT_EQ(revisions.size(), known + 1);
    for (size_t i = 0; i < revisions.size(); ++i)
      EXPECT_EQ(revisions[i], after + 1 + static_cast<int64_t>(i));
  }
}

TEST_F(QuotaLaneWatchTest, AResumedWatchEndsAtAGapOfTheJournal) {
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 100, "", true}), IsOk());
  for (int i = 1; i <= 4; ++i) ASSERT_THAT(Do(lane, Want("a", i, i)), IsOk());
  for (const int64_t gap : {2, 3, 5}) {
    SCOPED_TRACE(gap);
    database_.Execute(
        absl::StrCat("UPDATE quota.journal SET revision = 1000 WHERE revision = ", gap));
    const auto watcher = lane.Watch({.after_revision = 1});
    std::vector<int64_t> revisions;
    while (const auto item = NextOf(*watcher)) revisions.push_back(item->revision);
    EXPECT_THAT(*watcher->Ended(), StatusIs(absl::StatusCode::kOutOfRange));
    for (const int64_t revision : revisions) EXPECT_LT(revision, gap);
    database_.Execute(
        absl::StrCat("UPDATE quota.journal SET revision = ", gap, " WHERE revision = 1000"));
  }
}

TEST_F(QuotaLaneWatchTest, AResumedWatchIsToldWhenMemoryIsLoadedAnewMeanwhile) {
  Lane& lane = NewLane(Trapped());
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 100, "", true}), IsOk());
  trap_.Set(LanePoint::kResumeLevel, [&] {
    database_.Execute("UPDATE quota.journal_head SET incarnation = 'another'");
    while (lane.stats().history_replaced == 0) ReadLater(lane).wait();
  });
  const auto watcher = lane.Watch({.after_revision = 0});
  while (NextOf(*watcher).has_value()) {
  }
  EXPECT_THAT(*watcher->Ended(), HasReason("HISTORY_REPLACED"));
}

TEST_F(QuotaLaneWatchTest, ASlowWatcherIsCutOffWithTheRevisionToResumeFrom) {
  LaneOptions options;
  options.max_watch_queue = 3;
  Lane& lane = NewLane(options);
  const auto watcher = lane.Watch({});
  const int64_t last = MarkOf(*watcher).revision;
  for (int i = 1; i <= 10; ++i) ASSERT_THAT(Do(lane, Want("a", 0, i)), IsOk());
  EXPECT_FALSE(NextOf(*watcher).has_value());
  const absl::Status ended = *watcher->Ended();
  ASSERT_THAT(ended, HasReason("WATCH_TOO_SLOW"));
  EXPECT_EQ(error::DetailOf(ended)->metadata.at("resume_revision"), absl::StrCat(last));
  const auto again = lane.Watch({.after_revision = last});
  for (int64_t revision = last + 1; revision <= last + 6; ++revision)
    EXPECT_EQ(NextOf(*again)->revision, revision);
}

// A watch far behind: each of its changes is read as its reader takes it.
class QuotaLaneResumeTest : public QuotaLaneWatchTest {
 protected:
  static constexpr size_t kWindow = 3;
  static constexpr int64_t kChanges = 30;
  static constexpr int kAll = 1'000'000;
  static constexpr int kAtOnce = 2;  // watches that are resumed side by side

  // How many reads of the journal may still begin; the others wait, in the order of their arrival.
  struct ReadsLeft {
    void Set(int n) {
      MutexLock lock(mutex);
      begin_until = begun + n;
      more.SignalAll();
    }
    void Take() {
      MutexLock lock(mutex);
      const int place = arrived++;
      more.SignalAll();
      while (place >= begin_until) more.Wait(mutex);
      ++begun;
    }
    // One begins when so many wait, and then as many wait again.
    void LetOneOf(int waiting) {
      Await(waiting);
      {
        MutexLock lock(mutex);
        ++begin_until;
        more.SignalAll();
      }
      Await(waiting);
    }
    void Await(int waiting) {
      MutexLock lock(mutex);
      while (arrived - begin_until < waiting) more.Wait(mutex);
    }
    Mutex mutex;
    CondVar more;
    int arrived MUSTER_GUARDED_BY(mutex) = 0;
    int begun MUSTER_GUARDED_BY(mutex) = 0;
    int begin_until MUSTER_GUARDED_BY(mutex) = kAll;
  };

  void TearDown() override { reads_left_->Set(kAll); }
  Lane& NewLongLane(LaneOptions options = {}) {
    options.max_watch_queue = kWindow;
    options.runner.fault = [this, left = reads_left_](absl::string_view site) -> Fault {
      if (site == "resume/journal_read") left->Take();
      if (absl::StrContains(site, "journal_read")) ++journal_reads_;
      return {};
    };
    Lane& lane = NewLane(options);
    EXPECT_THAT(Do(lane, quota::UpdateQuota{kKey, 100, "", true}), IsOk());
    for (int i = 2; i <= kChanges; ++i) EXPECT_THAT(Do(lane, Want("a", i, i)), IsOk());
    return lane;
  }
  static void ExpectAll(Watcher& watcher, int64_t from) {
    const std::vector<int64_t> revisions =
        Changes(watcher, static_cast<size_t>(kChanges - from + 1));
    ASSERT_EQ(revisions.size(), static_cast<size_t>(kChanges - from + 1));
    for (size_t i = 0; i < revisions.size(); ++i)
      EXPECT_EQ(revisions[i], from + static_cast<int64_t>(i));
  }

  // What wants nothing of what the journal tells, and all of the time that this takes.
  static WatchOptions Long(uint64_t turn) {
    return {.after_revision = 0, .kinds = {"none"}, .turn = turn};
  }
  // Those that came before it have begun, or wait to be resumed.
  static void AwaitBegun(Lane& lane) { MarkOf(*lane.Watch({})); }

  const std::shared_ptr<ReadsLeft> reads_left_ = std::make_shared<ReadsLeft>();
  std::atomic<int> journal_reads_ = 0;
};

TEST_F(QuotaLaneResumeTest, IsNotCutOffHoweverFarBehind) {
  Lane& lane = NewLongLane();
  const auto watcher = lane.Watch({.after_revision = 0});
  ExpectAll(*watcher, 1);
  ASSERT_THAT(Do(lane, Want("a", 1, kChanges + 1)), IsOk());
  EXPECT_EQ(Changes(*watcher, 1), std::vector<int64_t>{kChanges + 1});
}

TEST_F(QuotaLaneResumeTest, DoesNotWaitForThoseWhoseReadersTakeNothing) {
  Lane& lane = NewLongLane();
  std::vector<std::shared_ptr<Watcher>> unread;
  for (int i = 0; i < 8; ++i) unread.push_back(lane.Watch({.after_revision = 0}));
  const auto read = lane.Watch({.after_revision = 0});
  ExpectAll(*read, 1);
  // They are where they were, and can go on.
  for (const auto& watcher : unread) {
    EXPECT_LE(watcher->waiting(), kWindow);
    EXPECT_FALSE(watcher->ended());
  }
  for (const auto& watcher : unread) ExpectAll(*watcher, 1);
}

// Each has rows of its own, which nothing but its reader ever takes.
TEST_F(QuotaLaneResumeTest, IsReadLittleAheadWhereMuchWaitsForTheSameCaller) {
  LaneOptions options;
  options.max_read_ahead = 400;  // more than one row takes, less than two do
  options.least_window = 1;
  Lane& lane = NewLongLane(options);
  const auto waits = [](const std::shared_ptr<Watcher>& watcher, size_t changes) {
    testing::Until([&] { return watcher->waiting() >= changes; }, "what it is given");
  };
  const auto unread = lane.Watch({.after_revision = 0, .turn = 1});
  waits(unread, 2);
  const auto another = lane.Watch({.after_revision = 0, .turn = 1});
  waits(another, 1);
  const auto of_another = lane.Watch({.after_revision = 0, .turn = 2});
  waits(of_another, 2);
  EXPECT_EQ(another->waiting(), 1u);
  EXPECT_EQ(unread->waiting(), 2u) << "what is read ahead ends by its bytes, not by the window";
  for (const auto& watcher : {unread, another, of_another}) ExpectAll(*watcher, 1);
}

TEST_F(QuotaLaneResumeTest, TakesTurnsWithThoseOfOthers) {
  Lane& lane = NewLongLane();
  reads_left_->Set(0);
  std::vector<std::shared_ptr<Watcher>> many;
  for (int i = 0; i < 20; ++i) many.push_back(lane.Watch(Long(1)));
  AwaitBegun(lane);
  reads_left_->Await(kAtOnce);
  const auto other = lane.Watch({.after_revision = kChanges - 1, .turn = 2});
  AwaitBegun(lane);
  // Those that were at work before it came, one whose turn it was, and it.
  for (int i = 0; i < kAtOnce + 2; ++i) reads_left_->LetOneOf(kAtOnce);
  EXPECT_EQ(Changes(*other, 1), std::vector<int64_t>{kChanges});
  reads_left_->Set(kAll);
  ASSERT_THAT(Do(lane, Want("a", 1, kChanges + 1)), IsOk());
  EXPECT_EQ(Changes(*other, 1), std::vector<int64_t>{kChanges + 1});
}

TEST_F(QuotaLaneResumeTest, WaitsForNobodyWhereNothingIsToBeRead) {
  Lane& lane = NewLongLane();
  const WatchItem mark = MarkOf(*lane.Watch({}));
  reads_left_->Set(0);
  std::vector<std::shared_ptr<Watcher>> many;
  for (int i = 0; i < 5; ++i) many.push_back(lane.Watch(Long(1)));
  const auto level =
      lane.Watch({.after_revision = mark.revision, .incarnation = mark.incarnation, .turn = 1});
  AwaitBegun(lane);
  ASSERT_THAT(Do(lane, Want("a", 1, kChanges + 1)), IsOk());
  EXPECT_EQ(Changes(*level, 1), std::vector<int64_t>{kChanges + 1});
}

TEST_F(QuotaLaneResumeTest, IsForgottenWhenItsReaderIsGone) {
  Lane& lane = NewLongLane();
  auto gone = lane.Watch({.after_revision = 0});
  ExpectAll(*lane.Watch({.after_revision = 0}), 1);
  const int reads = journal_reads_;
  gone->Cancel();
  const std::weak_ptr<Watcher> kept = gone;
  gone.reset();
  ExpectAll(*lane.Watch({.after_revision = kChanges - 1}), kChanges);
  while (!kept.expired()) std::this_thread::yield();
  EXPECT_LE(journal_reads_, reads + 2) << "nobody wants the rest of it";
}

TEST_F(QuotaLaneResumeTest, EndsWithTheServer) {
  Lane& lane = NewLongLane();
  const auto watcher = lane.Watch({.after_revision = 0});
  const auto first = NextOf(*watcher);
  ASSERT_TRUE(first.has_value());
  lanes_.clear();
  while (NextOf(*watcher).has_value()) {
  }
  EXPECT_THAT(*watcher->Ended(), StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace muster::storage
