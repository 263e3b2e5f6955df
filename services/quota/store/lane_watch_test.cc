// Snapshots and changes that watches are told of between the lane's steps.
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/quota/store/testing/lane_watch_test_base.h"
#include "tests/testing/patience.h"
#include "tests/testing/sql.h"

namespace muster::storage {
namespace {

using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;

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

}  // namespace
}  // namespace muster::storage
