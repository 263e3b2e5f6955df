// The commit lane on a real domain and a real Postgres: what happens when things go wrong.
#include <atomic>
#include <future>
#include <thread>

#include "absl/strings/str_cat.h"
#include "services/common/cause.h"
#include "services/quota/store/testing/lane_test_base.h"

namespace muster::storage {
namespace {

using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::IsEmpty;

TEST_F(QuotaLaneTest, CommitsAreInTheTablesAndTheJournal) {
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 5, "", true}), IsOk());
  ASSERT_THAT(Do(lane, Want("a", 3)), IsOk());
  EXPECT_EQ(lane.revision(), 2);
  EXPECT_EQ(CountOf("holding"), 1);
  EXPECT_EQ(CountOf("journal"), 2);
}

TEST_F(QuotaLaneTest, ACommandThatChangesNothingWritesNothing) {
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, Want("a", 0)), IsOk());
  ASSERT_THAT(Do(lane, Want("a", 0)), IsOk());
  EXPECT_EQ(CountOf("journal"), 1);
}

TEST_F(QuotaLaneTest, ARefusedCommandDoesNotHurtItsNeighbours) {
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 5, "", true}), IsOk());
  std::promise<absl::Status> good, bad;
  lane.Submit(
      [](StagedState<quota::State>& staged, absl::Time) {
        staged.Put(quota::Holding{QuotaName(kKey), "bad", 1, 1, ""});
        return absl::AbortedError("changed my mind");
      },
      [&](const absl::Status& status, int64_t) { bad.set_value(status); });
  lane.Submit([](StagedState<quota::State>& staged,
                 absl::Time now) { return quota::Decide(staged, Want("good", 1), now).status(); },
              [&](const absl::Status& status, int64_t) { good.set_value(status); });
  EXPECT_THAT(bad.get_future().get(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(good.get_future().get(), IsOk());
  EXPECT_EQ(CountOf("holding"), 1);
}

TEST_F(QuotaLaneTest, WhatTheTablesRefuseFailsAlone) {
  Lane& lane = NewLane();
  // One batch: the first command holds up the lane until all are queued.
  std::promise<void> queued;
  std::shared_future<void> all_queued = queued.get_future().share();
  std::vector<std::promise<absl::Status>> answers(3);
  const auto answer = [&](size_t i) {
    return [&, i](const absl::Status& status, int64_t) { answers[i].set_value(status); };
  };
  std::promise<absl::Status> first;
  lane.Submit(
      [all_queued](StagedState<quota::State>&, absl::Time) {
        all_queued.wait();
        return absl::OkStatus();
      },
      [&](const absl::Status& status, int64_t) { first.set_value(status); });
  for (size_t i = 0; i < 3; ++i) {
    lane.Submit(
        [i](StagedState<quota::State>& staged, absl::Time) {
          staged.Put(quota::Holding{QuotaName(kKey), absl::StrCat("p", i), i == 1 ? -7 : 1, 1, ""});
          return absl::OkStatus();
        },
        answer(i));
  }
  queued.set_value();
  EXPECT_THAT(first.get_future().get(), IsOk());
  EXPECT_THAT(answers[0].get_future().get(), IsOk());
  EXPECT_THAT(answers[1].get_future().get(), StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(answers[2].get_future().get(), IsOk());
  EXPECT_EQ(CountOf("holding"), 2);
}

TEST_F(QuotaLaneTest, KilledBackendsCostNothingThatWasAcknowledged) {
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 1'000'000, "", true}), IsOk());
  std::atomic<bool> stop = false;
  std::thread killer([&] {
    for (int kills = 0; kills < 20; ++kills) database_.TerminateBackends("quota");
    stop = true;
  });
  int64_t acknowledged = 0;
  for (int pool = 0; !stop; ++pool) {
    const absl::Status status = Do(lane, Want(absl::StrCat("p", pool), 1));
    if (status.ok()) {
      ++acknowledged;
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable));
    }
  }
  killer.join();
  EXPECT_EQ(CountOf("holding"), acknowledged);
}

TEST_F(QuotaLaneTest, WhatOneReplicaReleasedIsFinalForAllAndAfterARestart) {
  Lane& one = NewLane();
  Lane& two = NewLane();
  ASSERT_THAT(Do(one, quota::UpdateQuota{kKey, 5, "", true}), IsOk());
  ASSERT_THAT(Do(one, Want("a", 2)), IsOk());
  quota::SyncHolding release = Want("a", 0, 2);
  release.release = true;
  ASSERT_THAT(Do(one, release), IsOk());
  EXPECT_THAT(Do(two, Want("a", 2, 3)), HasReason("POOL_RELEASED"));
  EXPECT_THAT(Do(two, release), IsOk());
  Lane& restarted = NewLane();
  EXPECT_THAT(Do(restarted, Want("a", 2, 1)), HasReason("POOL_RELEASED"));
  EXPECT_EQ(CountOf("released_pool"), 1);
  EXPECT_EQ(CountOf("journal"), 4);  // the quota, the holding, its end, and what it left
}

// What a service keeps for itself is no resource of the API.
TEST_F(QuotaLaneTest, NoWatchShowsReleasedPools) {
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 5, "", true}), IsOk());
  quota::SyncHolding release = Want("a", 0, 1);
  release.release = true;
  ASSERT_THAT(Do(lane, release), IsOk());
  ASSERT_THAT(Do(lane, Want("b", 1)), IsOk());
  for (const WatchOptions& options :
       {WatchOptions{}, WatchOptions{.after_revision = 0},
        WatchOptions{.after_revision = 0, .kinds = {ReleasedPool::kKind, "holding", "quota"}}}) {
    const auto watcher = lane.Watch(options);
    std::vector<std::string> kinds;
    while (kinds.size() < 2) {
      const auto item = NextOf(*watcher);
      ASSERT_TRUE(item.has_value());
      if (!item->kind.empty()) kinds.push_back(item->kind);
    }
    std::sort(kinds.begin(), kinds.end());
    EXPECT_THAT(kinds, ::testing::ElementsAre("holding", "quota"));
  }
}

TEST_F(QuotaLaneTest, ReplicasSeeEachOthersCommitsInReadsAndWatches) {
  Lane& one = NewLane();
  Lane& two = NewLane();
  const auto watcher = two.Watch({.after_revision = 0});
  ASSERT_THAT(Do(one, quota::UpdateQuota{kKey, 5, "", true}), IsOk());
  ASSERT_THAT(Do(one, Want("a", 2)), IsOk());
  EXPECT_EQ(ReadHeld(two).value_or(-1), 2) << "a read must see what was committed before it";
  ASSERT_THAT(Do(two, Want("b", 3)), IsOk());
  EXPECT_EQ(ReadHeld(one).value_or(-1), 5);
  for (int64_t revision = 1; revision <= 3; ++revision) {
    const auto item = NextOf(*watcher);
    ASSERT_TRUE(item.has_value());
    if (item->type == WatchItem::Type::kProgress) {
      --revision;
      continue;
    }
    EXPECT_EQ(item->revision, revision);
  }
}

TEST_F(QuotaLaneTest, TwoReplicasWith32WritersFillALimitOf100Exactly) {
  Lane& one = NewLane();
  Lane& two = NewLane();
  ASSERT_THAT(Do(one, quota::UpdateQuota{kKey, 100, "", true}), IsOk());
  // A watcher that reconnects five times sees every revision once.
  std::vector<int64_t> seen;
  std::thread watching([&] {
    for (int connection = 0; connection < 6; ++connection) {
      const auto watcher = two.Watch({.after_revision = seen.empty() ? 0 : seen.back()});
      const size_t enough = seen.size() + 16;
      while (connection == 5 ? seen.size() < 1 + 32 * 8 : seen.size() < enough) {
        const auto item = NextOf(*watcher);
        ASSERT_TRUE(item.has_value());
        if (item->type != WatchItem::Type::kProgress) seen.push_back(item->revision);
      }
      watcher->Cancel();
    }
  });
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 32; ++writer) {
    writers.emplace_back([&, writer] {
      Lane& lane = writer % 2 == 0 ? one : two;
      for (int i = 0; i < 8; ++i) {
        EXPECT_THAT(Do(lane, Want(absl::StrCat("w", writer, "-", i), 1)), IsOk());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  watching.join();
  EXPECT_EQ(ReadHeld(one).value_or(-1), 100);
  EXPECT_EQ(database_.QueryValue("SELECT sum(nodes) FROM quota.holding"), "100");
  EXPECT_EQ(database_.QueryValue(
                "SELECT count(*) = max(revision) AND min(revision) = 1 FROM quota.journal"),
            "t");
  for (size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], static_cast<int64_t>(i) + 1);
}

TEST_F(QuotaLaneTest, AReplicaThatFellBehindTheCompactedJournalLoadsAnew) {
  Lane& one = NewLane();
  Lane& two = NewLane();
  const auto watcher = two.Watch({});
  while (NextOf(*watcher)->type != WatchItem::Type::kSnapshotEnd) {
  }
  // A commit that is compacted with itself: no replica can follow it through the journal.
  ASSERT_THAT(Do(one, quota::UpdateQuota{kKey, 5, "", true}), IsOk());
  database_.Execute(
      "BEGIN; SELECT * FROM quota.journal_head FOR UPDATE;"
      "INSERT INTO quota.journal (revision, batch, kind, key) VALUES (2, 'x', 'holding', "
      "'nobody/holdings/x');"
      "UPDATE quota.journal_head SET revision = 2, compacted_revision = 2; DELETE FROM "
      "quota.journal; COMMIT");
  EXPECT_EQ(ReadHeld(two).value_or(-1), 0);
  EXPECT_EQ(two.revision(), 2);
  EXPECT_EQ(ReadHeld(one).value_or(-1), 0);
  // The watch of a replica that had to load anew ends: its client takes a snapshot again.
  while (NextOf(*watcher).has_value()) {
  }
}

// All that the journal has is older than it is kept: what comes next is one row to who is level.
TEST_F(QuotaLaneTest, TheFirstChangeAfterALongQuietIsFollowedByTheJournal) {
  LaneOptions options;
  options.journal_keep_time = absl::Hours(1);
  Lane& one = NewLane(options);
  Lane& two = NewLane(options);
  ASSERT_THAT(Do(one, quota::UpdateQuota{kKey, 5, "", true}), IsOk());
  ASSERT_THAT(ReadHeld(two), IsOk());
  const auto watcher = two.Watch({});
  while (NextOf(*watcher)->type != WatchItem::Type::kSnapshotEnd) {
  }
  clock_.Advance(absl::Minutes(61));
  ASSERT_THAT(one.CompactSome(), IsOk());
  ASSERT_THAT(Do(one, quota::UpdateQuota{kKey, 6, "", true}), IsOk());
  auto next = NextOf(*watcher);
  while (next.has_value() && next->type == WatchItem::Type::kProgress) next = NextOf(*watcher);
  ASSERT_TRUE(next.has_value()) << "the watch ended";
  EXPECT_EQ(next->type, WatchItem::Type::kChanged);
  EXPECT_EQ(next->revision, 2);
}

TEST_F(QuotaLaneTest, AReaderIsToldWhenMemoryCannotFollowTheJournal) {
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 5, "", true}), IsOk());
  database_.Execute("UPDATE quota.journal_head SET revision = revision + 5");
  EXPECT_THAT(ReadHeld(lane), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_FALSE(lane.ready());
  database_.Execute("UPDATE quota.journal_head SET revision = revision - 5");
  EXPECT_THAT(ReadHeld(lane), IsOk());
}

TEST_F(QuotaLaneTest, LateCommandsAndFullQueuesAreRefusedAtOnce) {
  LaneOptions options;
  options.max_queue = 2;
  Lane& lane = NewLane(options);
  EXPECT_THAT(DoDecide(
                  lane, [](StagedState<quota::State>&, absl::Time) { return absl::OkStatus(); },
                  absl::InfinitePast()),
              StatusIs(absl::StatusCode::kDeadlineExceeded));

  std::promise<void> begun, let_go;
  std::promise<absl::Status> first;
  lane.Submit(
      [&, once = false](StagedState<quota::State>&, absl::Time) mutable {
        if (!std::exchange(once, true)) begun.set_value();
        let_go.get_future().wait();
        return absl::OkStatus();
      },
      [&](const absl::Status& status, int64_t) { first.set_value(status); });
  begun.get_future().wait();
  std::vector<std::promise<absl::Status>> answers(3);
  for (auto& answer : answers) {
    lane.Submit([](StagedState<quota::State>&, absl::Time) { return absl::OkStatus(); },
                [&](const absl::Status& status, int64_t) { answer.set_value(status); });
  }
  EXPECT_THAT(answers[2].get_future().get(), StatusIs(absl::StatusCode::kUnavailable));
  let_go.set_value();
  EXPECT_THAT(first.get_future().get(), IsOk());
  EXPECT_THAT(answers[0].get_future().get(), IsOk());
  EXPECT_THAT(answers[1].get_future().get(), IsOk());
}

TEST_F(QuotaLaneTest, WhatComesAfterTheEndIsUnavailable) {
  Lane& lane = NewLane();
  const auto watcher = lane.Watch({});
  lane.Stop();
  EXPECT_THAT(Do(lane, Want("a", 0)), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(ReadHeld(lane), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(lane.Compare(), StatusIs(absl::StatusCode::kUnavailable));
  while (NextOf(*watcher).has_value()) {
  }
  EXPECT_THAT(*watcher->Ended(), StatusIs(absl::StatusCode::kUnavailable));
  lanes_.clear();
}

TEST_F(QuotaLaneTest, AJournalThatBeginsWithADeletionIsCompared) {
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, Want("a", 0)), IsOk());
  ASSERT_THAT(lane.Compact(lane.revision()), IsOk());
  quota::SyncHolding release = Want("a", 0);
  release.generation = 2;
  release.release = true;
  ASSERT_THAT(Do(lane, release), IsOk());
  const absl::StatusOr<Comparison> compared = lane.Compare();
  ASSERT_THAT(compared, IsOk());
  EXPECT_THAT(compared->differences, IsEmpty());
  EXPECT_FALSE(compared->whole_journal);
}

// Who writes alone does not ask where the head is; who does not, locks it for a while.
TEST_F(QuotaLaneTest, ALoneWriterNeedsNoLook) {
  std::atomic<int> locks = 0;
  std::atomic<int> moves = 0;
  std::atomic<int> looks = 0;
  LaneOptions options;
  options.poll = absl::Hours(1);
  options.max_time_age = absl::InfiniteDuration();
  options.runner.fault = [&](absl::string_view site) -> Fault {
    if (absl::StartsWith(site, "write/SELECT 1")) ++locks;
    if (site == "write/journal_expect") ++looks;
    if (site == "write/journal_move") ++moves;
    return {};
  };
  Lane& lane = NewLane(options);
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 50, "", true}), IsOk());
  for (int i = 1; i <= 5; ++i) ASSERT_THAT(Do(lane, Want("a", i, i)), IsOk());
  EXPECT_EQ(moves, 6);
  EXPECT_EQ(looks, 0);
  // What changes nothing is decided by all that was committed, too.
  ASSERT_THAT(Do(lane, Want("a", 5, 5)), IsOk());
  EXPECT_EQ(moves, 6);
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(locks, 0);
}

// The server that another took the writes over from may live on, and would say nothing any more.
TEST_F(QuotaLaneTest, WhoHasLostItsServerListensAnew) {
  const auto listener = [this] {
    return database_.QueryValue(
        "SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE datname = current_database() AND"
        " application_name LIKE '%-tailer%' AND query LIKE 'LISTEN%'");
  };
  LaneOptions options;
  const auto host = options.connect.writable_host;
  NewLane(std::move(options));
  testing::Until([&] { return listener() != "0"; }, "LISTEN");
  const std::string before = listener();
  host->Lost();
  testing::Until([&] { return listener() != "0" && listener() != before; }, "LISTEN anew");
}

// As long as the one that is known, and another: its revisions do not tell.
TEST_F(QuotaLaneTest, AHeadOfAnotherHistoryIsNotGoneOnFrom) {
  LaneOptions options;
  options.poll = absl::Hours(1);
  Lane& lane = NewLane(options);
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 50, "", true}), IsOk());
  database_.Execute(
      "UPDATE quota.journal_head SET batch = 'another'; UPDATE quota.journal SET batch = "
      "'another'");
  EXPECT_THAT(Do(lane, Want("a", 1)), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(lane.stats().history_replaced, 1);
  // Who comes before the lane is done with that batch is told the same.
  testing::Until([&] { return Do(lane, Want("a", 1)).ok(); }, "a command in the history of now");
}

bool Granted(Lane& lane, const quota::SyncHolding& command) {
  bool granted = false;
  EXPECT_THAT(QuotaLaneTest::DoDecide(lane,
                                      [&](StagedState<quota::State>& staged, absl::Time now) {
                                        const auto outcome = quota::Decide(staged, command, now);
                                        granted = outcome.ok() && !outcome->refused;
                                        return outcome.status();
                                      }),
              IsOk());
  return granted;
}

// The announcements of others are lost.
LaneOptions Deaf() {
  LaneOptions options;
  options.poll = absl::Hours(1);
  options.runner.fault = [](absl::string_view site) -> Fault {
    return {.before = site == "announce/journal_notify" ? "SELECT 1 / 0; " : ""};
  };
  return options;
}

TEST_F(QuotaLaneTest, WhoMissesWhatAnotherWroteDecidesAnew) {
  Lane& lane = NewLane(Deaf());
  Lane& other = NewLane(Deaf());
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  int generation = 0;
  for (int round = 0; round < 20; ++round) {
    // Each sees the other's, or more than ten would be held.
    ASSERT_THAT(Do(other, Want("b", 7, ++generation)), IsOk());
    int64_t seen = 0;
    ASSERT_THAT(DoDecide(lane,
                         [&](StagedState<quota::State>& staged, absl::Time) {
                           seen = staged.state().Held(QuotaName(kKey));
                           return absl::OkStatus();
                         }),
                IsOk());
    EXPECT_EQ(seen, 7) << "what changes nothing";
    ASSERT_THAT(Do(other, Want("b", 0, ++generation)), IsOk());
    ASSERT_THAT(Do(other, Want("b", 7, ++generation)), IsOk());
    EXPECT_FALSE(Granted(lane, Want("a", 4, ++generation)));
    EXPECT_TRUE(Granted(lane, Want("a", 3, ++generation)));
    ASSERT_THAT(Do(other, Want("b", 0, ++generation)), IsOk());
    ASSERT_THAT(Do(lane, Want("a", 0, ++generation)), IsOk());
  }
}

// It may be of any organization's.
TEST_F(QuotaLaneTest, AChangeThatCannotBeReadIsNotNamedToCallers) {
  Lane& lane = NewLane(Deaf());
  Lane& other = NewLane(Deaf());
  ASSERT_THAT(Do(other, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  database_.Execute("UPDATE quota.journal SET change = change || '\\xff'");
  const absl::Status status = Do(lane, Want("a", 1));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(status.message(), "Change 1 of the journal cannot be read.");
  EXPECT_THAT(error::CauseOf(status), ::testing::HasSubstr("acme")) << "for operators";
  database_.Execute("UPDATE quota.journal SET change = substring(change FOR length(change) - 1)");
  testing::Until([&] { return Do(lane, Want("a", 1)).ok(); }, "a journal that can be read");
}

}  // namespace
}  // namespace muster::storage
