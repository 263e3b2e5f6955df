// Watches and reads between the lane's steps: what a test holds up there, and what must hold.
#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "absl/strings/match.h"
#include "services/common/author.h"
#include "services/common/current_caller.h"
#include "services/common/error.h"
#include "services/quota/store/testing/lane_test_base.h"
#include "tests/testing/lane_trap.h"
#include "tests/testing/sql.h"

namespace muster::storage {
namespace {

using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;

class QuotaLaneWatchTest : public QuotaLaneTest {
 protected:
  // The next `n` changes; marks between them must not be ahead of what comes after them.
  static std::vector<int64_t> Changes(Watcher& watcher, size_t n) {
    std::vector<int64_t> revisions;
    int64_t mark = 0;
    while (revisions.size() < n) {
      const auto item = NextOf(watcher, revisions);
      if (!item.has_value()) break;
      if (item->type == WatchItem::Type::kSnapshotEnd || item->type == WatchItem::Type::kProgress) {
        mark = item->revision;
      } else if (item->type != WatchItem::Type::kSnapshot) {
        EXPECT_GT(item->revision, mark) << "a mark said that it had been sent";
        revisions.push_back(item->revision);
      }
    }
    return revisions;
  }
  // What a read answers, later.
  static std::future<int64_t> ReadLater(Lane& lane) {
    auto promise = std::make_shared<std::promise<int64_t>>();
    lane.Read([promise](const absl::Status& status, const quota::State* state, int64_t) {
      promise->set_value(status.ok() ? state->Held(QuotaName(kKey)) : -1);
    });
    return promise->get_future();
  }
  LaneOptions Trapped() const {
    LaneOptions options;
    options.yield = trap_.Hook();
    return options;
  }
  testing::LaneTrap trap_;
};

TEST_F(QuotaLaneWatchTest, AReadThatComesWhileTheHeadIsAskedAsksForItself) {
  Lane& lane = NewLane(Trapped());
  Lane& other = NewLane();
  ASSERT_THAT(Do(other, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  std::future<int64_t> late;
  trap_.Set(LanePoint::kAfterBarrier, [&] {
    // The head has answered. Somebody commits and is told so; who asks now must see it.
    ASSERT_THAT(Do(other, Want("a", 7)), IsOk());
    late = ReadLater(lane);
  });
  EXPECT_GE(ReadLater(lane).get(), 0);
  EXPECT_EQ(late.get(), 7);
}

TEST_F(QuotaLaneWatchTest, WhoReadsMuchMakesNobodyElseWaitForAllOfIt) {
  LaneOptions options = Trapped();
  options.max_reads = 2;
  Lane& lane = NewLane(options);
  std::vector<uint64_t> answered;  // the callers, on the reads' one thread
  std::promise<void> all;
  const auto read_as = [&](uint64_t turn) {
    const auto author = [] { return Author(); };
    const CurrentCaller caller(turn, author);
    lane.Read([&, turn](const absl::Status& status, const quota::State*, int64_t) {
      EXPECT_THAT(status, IsOk());
      answered.push_back(turn);
      if (answered.size() == 8) all.set_value();
    });
  };
  trap_.Set(LanePoint::kBeforeBarrier, [&] {
    for (int i = 0; i < 6; ++i) read_as(1);
    read_as(2);
  });
  read_as(1);
  testing::Await(all.get_future(), "the answers");
  EXPECT_THAT(answered, ::testing::ElementsAre(1, 1, 2, 1, 1, 1, 1, 1));
}

// Each question of its own would last as long as the database hangs.
TEST_F(QuotaLaneWatchTest, WhoStandsBehindAQuestionThatFailsFailsWithIt) {
  LaneOptions options = Trapped();
  options.max_reads = 2;
  std::atomic<bool> away = false;
  options.runner.fault = [&](absl::string_view site) -> Fault {
    if (!away || !absl::StartsWith(site, "barrier")) return {};
    return {.before = testing::kLoseConnection};
  };
  options.runner.retry_budget = absl::ZeroDuration();
  Lane& lane = NewLane(options);
  ASSERT_EQ(ReadLater(lane).get(), 0);
  std::vector<std::future<int64_t>> reads;
  trap_.Set(LanePoint::kBeforeBarrier, [&] {
    for (int i = 0; i < 6; ++i) reads.push_back(ReadLater(lane));
    // The next question is for two of them, the others stand behind it.
    trap_.Set(LanePoint::kBeforeBarrier, [&] {
      away = true;
      trap_.Set(LanePoint::kAfterBarrier, [&] { away = false; });
    });
  });
  EXPECT_EQ(ReadLater(lane).get(), 0);
  for (auto& read : reads) EXPECT_EQ(testing::Await(std::move(read), "an answer"), -1);
}

TEST_F(QuotaLaneWatchTest, AReadSeesWhatIsCommittedBeforeItAndPublishedAfterIt) {
  Lane& lane = NewLane(Trapped());
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  std::future<int64_t> early;
  trap_.Set(LanePoint::kBeforePublish, [&] { early = ReadLater(lane); });
  ASSERT_THAT(Do(lane, Want("a", 7)), IsOk());
  EXPECT_EQ(early.get(), 7);
}

TEST_F(QuotaLaneWatchTest, MemoryThatMovesBeforeAReadWaitsForItIsSeen) {
  LaneOptions options = Trapped();
  options.read_poll = absl::Hours(1);
  Lane& lane = NewLane(options);
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  const auto kept = std::make_shared<std::promise<void>>();
  const auto published = std::make_shared<std::promise<void>>();
  std::future<int64_t> read;
  trap_.Set(LanePoint::kReadsKept, [kept, published] {
    kept->set_value();
    published->get_future().wait();
  });
  trap_.Set(LanePoint::kBeforePublish, [&] {
    read = ReadLater(lane);
    kept->get_future().wait();
  });
  ASSERT_THAT(Do(lane, Want("a", 7)), IsOk());
  published->set_value();
  EXPECT_EQ(testing::Await(std::move(read), "the read"), 7);
}

// So that whoever looks for signs of life finds none in a lane that hangs.
TEST_F(QuotaLaneWatchTest, WhoAsksForItsLocksIsNotAnsweredWhileOneIsHeld) {
  Lane& lane = NewLane();
  struct Steps {
    std::promise<void> hangs, goes_on;
    std::atomic<bool> armed = false;
  };
  const auto steps = std::make_shared<Steps>();
  lane.Subscribe([steps](absl::Span<const Revised<quota::State::Change>>) {
    if (!steps->armed.exchange(false)) return;
    steps->hangs.set_value();
    steps->goes_on.get_future().wait();
  });
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  steps->armed = true;
  lane.Submit([](StagedState<quota::State>& staged,
                 absl::Time now) { return quota::Decide(staged, Want("a", 1), now).status(); },
              [](const absl::Status&, int64_t) {});
  steps->hangs.get_future().wait();
  EXPECT_TRUE(lane.ready());
  std::future<bool> answer =
      std::async(std::launch::async, [&lane] { return lane.ReadyWithLocks(); });
  EXPECT_EQ(answer.wait_for(std::chrono::milliseconds(250)), std::future_status::timeout);
  steps->goes_on.set_value();
  EXPECT_TRUE(answer.get());
}

TEST_F(QuotaLaneWatchTest, ASnapshotAndTheChangesAfterItLeaveNothingOutAndSendNothingTwice) {
  Lane& lane = NewLane(Trapped());
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  ASSERT_THAT(Do(lane, Want("a", 1)), IsOk());
  struct Steps {
    std::promise<absl::Status> written;
    std::promise<void> committed, published;
    std::atomic<bool> armed = false;
  };
  const auto steps = std::make_shared<Steps>();
  lane.Subscribe([steps](absl::Span<const Revised<quota::State::Change>>) {
    if (steps->armed.exchange(false)) steps->published.set_value();
  });
  trap_.Set(LanePoint::kBeforePublish, [steps] { steps->committed.set_value(); });
  trap_.Set(LanePoint::kSnapshotTaken, [&lane, steps] {
    // Committed while the watch begins: in its snapshot it is not, so it must come after it.
    steps->armed = true;
    lane.Submit([](StagedState<quota::State>& staged,
                   absl::Time now) { return quota::Decide(staged, Want("b", 2), now).status(); },
                [steps](const absl::Status& status, int64_t) { steps->written.set_value(status); });
    steps->committed.get_future().wait();
    // The lane waits at the door that this watch holds shut; were it open, it would be through
    // soon.
    steps->published.get_future().wait_for(std::chrono::milliseconds(250));
  });
  const auto watcher = lane.Watch({});
  std::map<std::string, int> seen;
  int64_t last = 0;
  const auto take_up_to = [&](int64_t revision) {
    while (last < revision) {
      const auto item = NextOf(*watcher);
      ASSERT_TRUE(item.has_value());
      last = std::max(last, item->revision);
      if (!item->key.empty()) ++seen[item->key];
    }
  };
  take_up_to(2);
  ASSERT_THAT(steps->written.get_future().get(), IsOk());
  ASSERT_THAT(Do(lane, Want("c", 3)), IsOk());
  take_up_to(4);
  EXPECT_EQ(seen.size(), 4u) << "something was left out";
  for (const auto& [key, times] : seen) EXPECT_EQ(times, 1) << key;
}

TEST_F(QuotaLaneWatchTest, ThoseWhoSeeTheSameHaveOneListBetweenThem) {
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  ASSERT_THAT(Do(lane, Want("a", 1)), IsOk());
  ASSERT_THAT(Do(lane, Want("b", 1)), IsOk());
  constexpr int kRows = 3;
  std::vector<std::shared_ptr<Watcher>> unread;
  // How often watches that begin now ask whether they see a row: once for each row of a list.
  const auto asked = [&](const std::vector<WatchOptions>& all) {
    const auto times = std::make_shared<std::atomic<int>>(0);
    const auto before = static_cast<int64_t>(unread.size());
    for (WatchOptions options : all) {
      options.sees = [times](absl::string_view, int64_t) { return ++*times > 0; };
      unread.push_back(lane.Watch(std::move(options)));
    }
    const auto begun = [&] {
      return lane.stats().watchers == before + static_cast<int64_t>(all.size());
    };
    testing::Until(begun, "the watches");
    return times->load();
  };
  const WatchOptions acme{.kinds = {"quota", "holding"}, .sees_text = "acme"};
  EXPECT_EQ(asked(std::vector<WatchOptions>(50, acme)), kRows);
  EXPECT_EQ(asked({{.kinds = {"holding", "quota"}, .sees_text = "acme"}}), 0) << "in any order";
  EXPECT_EQ(asked({{.kinds = acme.kinds, .sees_text = "beta"}}), kRows) << "it may see others";
  EXPECT_EQ(asked({{.kinds = acme.kinds}, {.kinds = acme.kinds}}), 2 * kRows) << "nobody knows";
  const std::string name = QuotaName(kKey);
  EXPECT_GT(asked({{.kinds = acme.kinds, .key_prefix = name, .sees_text = "acme"}}), 0) << "less";
  for (const auto& watcher : unread) EXPECT_EQ(MarkOf(*watcher).revision, 3);
}

// Each commit makes another list of what they begin with.
TEST_F(QuotaLaneWatchTest, ACallerWhoTakesNoSnapshotIsGivenOnlySoMany) {
  LaneOptions options;
  options.max_snapshot_rows = 3;
  options.few_snapshot_rows = 0;
  Lane& lane = NewLane(options);
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  ASSERT_THAT(Do(lane, Want("a", 1)), IsOk());
  const auto begun = [&](int64_t watches) {
    testing::Until([&] { return lane.stats().watchers == watches; }, "the watches");
  };
  const auto first = lane.Watch({.turn = 1});
  begun(1);
  ASSERT_THAT(Do(lane, Want("b", 1)), IsOk());
  const auto second = lane.Watch({.turn = 1});
  begun(2);
  const auto shared = lane.Watch({.turn = 1});
  begun(3);
  ASSERT_THAT(Do(lane, Want("c", 1)), IsOk());
  const auto third = lane.Watch({.turn = 1});
  EXPECT_FALSE(NextOf(*third).has_value());
  EXPECT_THAT(*third->Ended(), HasReason("TOO_MANY_WATCHES"));
  EXPECT_EQ(MarkOf(*lane.Watch({.turn = 2})).revision, 4) << "another caller";
  EXPECT_EQ(MarkOf(*shared).revision, 3);
  EXPECT_EQ(MarkOf(*second).revision, 3);
  EXPECT_EQ(MarkOf(*lane.Watch({.turn = 1})).revision, 4) << "it has taken most";
  EXPECT_EQ(MarkOf(*first).revision, 2);
}

TEST_F(QuotaLaneWatchTest, ACallerWhoTakesNoSnapshotIsGivenSmallOnes) {
  LaneOptions options;
  options.max_snapshot_rows = 3;
  options.few_snapshot_rows = 2;
  Lane& lane = NewLane(options);
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  for (const char* pool : {"a", "b"}) ASSERT_THAT(Do(lane, Want(pool, 1)), IsOk());
  const auto unread = lane.Watch({.turn = 1});
  testing::Until([&] { return lane.stats().watchers == 1; }, "the watch");
  // So that none is of the same list.
  ASSERT_THAT(Do(lane, Want("a", 2, 2)), IsOk());
  EXPECT_EQ(MarkOf(*lane.Watch({.kinds = {"quota"}, .turn = 1})).revision, 4);
  EXPECT_EQ(MarkOf(*lane.Watch({.kinds = {"holding"}, .turn = 1})).revision, 4);
  EXPECT_EQ(lane.stats().refused_watches, 0);
  const auto large = lane.Watch({.turn = 1});
  EXPECT_FALSE(NextOf(*large).has_value());
  EXPECT_THAT(*large->Ended(), HasReason("TOO_MANY_WATCHES"));
  EXPECT_EQ(lane.stats().refused_watches, 1);
  // Also where another caller has the list already.
  const auto another = lane.Watch({.turn = 2});
  EXPECT_EQ(NextOf(*another)->type, WatchItem::Type::kSnapshot);
  const auto again = lane.Watch({.turn = 1});
  EXPECT_FALSE(NextOf(*again).has_value());
  EXPECT_THAT(*again->Ended(), HasReason("TOO_MANY_WATCHES"));
  EXPECT_EQ(lane.stats().refused_watches, 2);
  EXPECT_EQ(MarkOf(*unread).revision, 3);
}

TEST_F(QuotaLaneWatchTest, ASnapshotIsOfWhatIsUnderItsPrefix) {
  Lane& lane = NewLane();
  quota::QuotaKey longer = kKey;
  longer.organization += "-2";
  for (const quota::QuotaKey& key : {kKey, longer})
    ASSERT_THAT(Do(lane, quota::UpdateQuota{key, 10, "", true}), IsOk());
  ASSERT_THAT(Do(lane, Want("a", 1)), IsOk());
  const auto keys = [&](const std::string& prefix) {
    const auto watcher = lane.Watch({.key_prefix = prefix});
    std::vector<std::string> found;
    while (const auto item = NextOf(*watcher)) {
      if (item->type == WatchItem::Type::kSnapshotEnd) break;
      found.push_back(item->key);
    }
    return found;
  };
  using Keys = std::vector<std::string>;
  const std::string quota = QuotaName(kKey);
  const std::string holding = quota + "/holdings/a";
  EXPECT_EQ(keys(quota), (Keys{quota, holding}));
  EXPECT_EQ(keys("organizations/acme"), (Keys{quota, holding}));
  EXPECT_EQ(keys("organizations/acme/"), (Keys{quota, holding}));
  EXPECT_EQ(keys("organizations/acme-2"), Keys{QuotaName(longer)});
  EXPECT_EQ(keys("organizations/acm"), Keys{});
  EXPECT_EQ(keys("").size(), 3u);
}

TEST_F(QuotaLaneWatchTest, WhatIsCommittedBetweenTwoSnapshotsReachesBothOnce) {
  std::vector<std::shared_ptr<Watcher>> watchers;
  Lane* lane = nullptr;
  int begun = 0;  // on the one thread that begins them
  LaneOptions options;
  options.yield = [&](LanePoint point) {
    if (point != LanePoint::kNextSnapshot) return;
    // Two lists that wait together, and a change before the second.
    if (begun == 0) {
      watchers.push_back(lane->Watch({}));
      watchers.push_back(lane->Watch({.kinds = {"quota", "holding"}}));
    } else if (begun == 2) {
      ASSERT_THAT(Do(*lane, Want("b", 2)), IsOk());
    }
    ++begun;
  };
  lane = &NewLane(options);
  ASSERT_THAT(Do(*lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  ASSERT_THAT(Do(*lane, Want("a", 1)), IsOk());
  const auto first = lane->Watch({});
  MarkOf(*first);
  testing::Until([&] { return lane->stats().watchers == 3; }, "the watches");
  ASSERT_THAT(Do(*lane, Want("c", 3)), IsOk());
  std::vector<int64_t> marks;
  for (const auto& watcher : watchers) {
    std::map<std::string, int> seen;
    for (int64_t at = 0; at < 4;) {
      const auto item = NextOf(*watcher);
      ASSERT_TRUE(item.has_value());
      if (item->type == WatchItem::Type::kSnapshotEnd) marks.push_back(item->revision);
      if (!item->key.empty()) ++seen[item->key];
      at = std::max(at, item->revision);
    }
    EXPECT_EQ(seen.size(), 4u) << "something was left out";
    for (const auto& [key, times] : seen) EXPECT_EQ(times, 1) << key;
  }
  EXPECT_THAT(marks, ::testing::ElementsAre(2, 3));
}

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

TEST_F(QuotaLaneWatchTest, ProgressIsToldUnderLoadAndNeverAheadOfAChange) {
  LaneOptions options;
  options.poll = absl::Hours(1);  // the lane is never found idle
  options.progress_interval = absl::ZeroDuration();
  Lane& lane = NewLane(options);
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 100, "", true}), IsOk());
  const auto watcher = lane.Watch({.kinds = {std::string(quota::Quota::kKind)}});
  EXPECT_EQ(MarkOf(*watcher).revision, 1);
  for (int64_t i = 1; i <= 5; ++i) {
    // A change that does not match, and one that does.
    ASSERT_THAT(Do(lane, Want("a", i, i)), IsOk());
    const auto mark = NextOf(*watcher);
    ASSERT_TRUE(mark.has_value());
    EXPECT_EQ(mark->type, WatchItem::Type::kProgress);
    EXPECT_EQ(mark->revision, 2 * i);
    EXPECT_FALSE(mark->incarnation.empty());
    ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 100 + i, "", true}), IsOk());
    EXPECT_EQ(Changes(*watcher, 1), std::vector<int64_t>{2 * i + 1});
  }
}

TEST_F(QuotaLaneWatchTest, AWatcherThatIsGoneIsForgottenWithoutACommit) {
  LaneOptions options;
  options.poll = absl::Milliseconds(5);
  options.progress_interval = absl::ZeroDuration();
  Lane& lane = NewLane(options);
  auto watcher = lane.Watch({});
  MarkOf(*watcher);
  EXPECT_EQ(lane.stats().watchers, 1);
  watcher->Cancel();
  EXPECT_EQ(lane.stats().watchers, 0);
  const std::weak_ptr<Watcher> kept = watcher;
  watcher.reset();
  testing::Until([&] { return kept.expired(); }, "nobody who keeps it");
}

TEST_F(QuotaLaneWatchTest, TheJournalKeepsAsMuchAsItIsTold) {
  LaneOptions options;
  options.journal_keep = 4;
  Lane& lane = NewLane(options);
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 5, "", true}), IsOk());
  for (int i = 1; i <= 9; ++i) ASSERT_THAT(Do(lane, Want("a", i % 2, i)), IsOk());
  const absl::StatusOr<bool> more = lane.CompactSome();
  ASSERT_THAT(more, IsOk());
  EXPECT_FALSE(*more);
  EXPECT_EQ(database_.QueryValue("SELECT string_agg(revision::text, ' ' ORDER BY revision) FROM "
                                 "quota.journal"),
            "7 8 9 10");
  EXPECT_EQ(NextOf(*lane.Watch({.after_revision = 6}))->revision, 7);
  const auto gone = lane.Watch({.after_revision = 5});
  EXPECT_FALSE(NextOf(*gone).has_value());
  EXPECT_THAT(*gone->Ended(), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_FALSE(lane.CompactSome().value());  // nothing more to forget
}

TEST_F(QuotaLaneWatchTest, WatchersAreCountedWhileTheyWatch) {
  Lane& lane = NewLane();
  EXPECT_EQ(lane.stats().watchers, 0);
  const auto watcher = lane.Watch({});
  while (NextOf(*watcher)->type != WatchItem::Type::kSnapshotEnd) {
  }
  EXPECT_EQ(lane.stats().watchers, 1);
  watcher->Cancel();
  EXPECT_EQ(lane.stats().watchers, 0);
}

// A replica that alone loses the database, while the others commit.
class QuotaLaneAwayTest : public QuotaLaneWatchTest {
 protected:
  Lane& NewLaneThatLoses(absl::Duration watch_grace) {
    LaneOptions options;
    options.poll = absl::Milliseconds(5);
    options.progress_interval = absl::Milliseconds(1);
    options.watch_grace = watch_grace;
    options.runner.retry_budget = absl::ZeroDuration();
    options.runner.fault = [this](absl::string_view site) -> Fault {
      if (away_) return {.before = testing::kLoseConnection};
      if (site != "write/commit" || !lose_) return {};
      away_ = true;
      return {.after = testing::kLoseConnection};
    };
    return NewLane(options);
  }
  std::atomic<bool> away_ = false;
  std::atomic<bool> lose_ = false;  // with the next commit: nobody can say whether it was done
};

// "UNAVAILABLE: the server shuts down, or has been without its database for half a minute; a watch
// does not begin while the server is without its database."
TEST_F(QuotaLaneAwayTest, WatchesEndAndNoneBegins) {
  Lane& lane = NewLaneThatLoses(absl::ZeroDuration());
  Lane& other = NewLane();
  const auto watcher = lane.Watch({});
  const WatchItem mark = MarkOf(*watcher);
  away_ = true;
  ASSERT_THAT(Do(other, Want("a", 0, 1)), IsOk());
  while (NextOf(*watcher).has_value()) {
  }
  EXPECT_THAT(*watcher->Ended(), StatusIs(absl::StatusCode::kUnavailable));
  const WatchOptions where_it_was = {.after_revision = mark.revision,
                                     .incarnation = mark.incarnation};
  for (const WatchOptions& begin : {WatchOptions(), where_it_was}) {
    const auto refused = lane.Watch(begin);
    EXPECT_FALSE(NextOf(*refused).has_value());
    EXPECT_THAT(*refused->Ended(), StatusIs(absl::StatusCode::kUnavailable));
  }
  away_ = false;
  testing::Until([&] { return lane.ready() && lane.revision() > mark.revision; }, "it is back");
  EXPECT_EQ(MarkOf(*lane.Watch({})).revision, mark.revision + 1);
}

// The lane's thread tries to find out what became of its commit, and does nothing else meanwhile.
TEST_F(QuotaLaneAwayTest, WatchesEndWhileACommitIsInDoubt) {
  Lane& lane = NewLaneThatLoses(absl::ZeroDuration());
  const auto watcher = lane.Watch({});
  MarkOf(*watcher);
  lose_ = true;
  std::future<absl::Status> done =
      std::async(std::launch::async, [&] { return Do(lane, Want("a", 0, 1)); });
  while (NextOf(*watcher).has_value()) {
  }
  EXPECT_THAT(*watcher->Ended(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_NE(done.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  lose_ = false;
  away_ = false;
  EXPECT_THAT(done.get(), IsOk());
}

TEST_F(QuotaLaneAwayTest, WatchesOutliveAShortAbsence) {
  Lane& lane = NewLaneThatLoses(absl::Hours(1));
  Lane& other = NewLane();
  const auto watcher = lane.Watch({});
  MarkOf(*watcher);
  away_ = true;
  testing::Until([&] { return !lane.ready(); }, "it is away");
  ASSERT_THAT(Do(other, Want("a", 0, 1)), IsOk());
  away_ = false;
  EXPECT_THAT(Changes(*watcher, 1), ::testing::SizeIs(1));
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
