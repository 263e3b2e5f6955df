// Histories that go back under running replicas: a standby that was promoted without the last
// commits, a backup that was restored in place. The loss is played by SQL.
#include "services/quota/store/testing/lane_test_base.h"
#include "storage/postgres/migrator.h"

namespace muster::storage {
namespace {

using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;

class QuotaHistoryTest : public QuotaLaneTest {
 protected:
  // Of a lane that does not look at the head until it is asked: as soon as one looks that had seen
  // what is lost, the history gets another name, and who meets that is told so.
  static LaneOptions Idle() {
    LaneOptions options;
    options.poll = absl::Hours(1);
    return options;
  }
  // As if what came after `revision` had never been committed.
  void GoBackTo(int64_t revision) {
    database_.Execute(absl::StrCat(
        "BEGIN; SELECT 1 FROM quota.journal_head FOR UPDATE;"
        "DELETE FROM quota.journal WHERE revision > ",
        revision, "; DELETE FROM quota.journal_author WHERE last_revision > ", revision,
        "; DELETE FROM quota.holding WHERE revision > ", revision,
        "; DELETE FROM quota.quota WHERE revision > ", revision,
        "; UPDATE quota.journal_head SET revision = ", revision,
        ", batch = coalesce((SELECT batch FROM quota.journal WHERE revision = ", revision,
        "), ''); COMMIT"));
  }
};

TEST_F(QuotaHistoryTest, AReplicaForgetsWhatTheDatabaseLost) {
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  ASSERT_THAT(Do(lane, Want("a", 9)), IsOk());
  GoBackTo(1);
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 0) << "answered from the lost future";
  ASSERT_THAT(Do(lane, Want("b", 8)), IsOk());
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 8);
  EXPECT_TRUE(lane.ready());
}

TEST_F(QuotaHistoryTest, AWriterForgetsWhatTheDatabaseLost) {
  Lane& lane = NewLane(Idle());
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  ASSERT_THAT(Do(lane, Want("a", 9)), IsOk());
  GoBackTo(1);
  // It may have been asked because of what is lost.
  EXPECT_THAT(Do(lane, Want("b", 8)), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(CountOf("holding"), 0);
  // Who asks now may still ask in the history that is left.
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 0);
  ASSERT_THAT(Do(lane, Want("b", 8)), IsOk());
  EXPECT_EQ(database_.QueryValue("SELECT sum(nodes) FROM quota.holding"), "8");
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 8);
}

TEST_F(QuotaHistoryTest, AReplicaIsNotFooledByAHistoryThatGrewPastItsOwn) {
  Lane& stale = NewLane(Idle());
  ASSERT_THAT(Do(stale, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  ASSERT_THAT(Do(stale, Want("a", 1)), IsOk());
  GoBackTo(1);
  Lane& fresh = NewLane();
  ASSERT_THAT(Do(fresh, Want("b", 4)), IsOk());
  ASSERT_THAT(Do(fresh, Want("c", 5)), IsOk());
  EXPECT_EQ(ReadHeld(stale).value_or(-1), 9);
  ASSERT_THAT(Do(stale, Want("d", 9)), IsOk());
  EXPECT_EQ(database_.QueryValue("SELECT sum(nodes) FROM quota.holding"), "9")
      << "given although nothing was free";
}

TEST_F(QuotaHistoryTest, AHistoryOfTheSameLengthIsNotTheSame) {
  Lane& stale = NewLane(Idle());
  ASSERT_THAT(Do(stale, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  ASSERT_THAT(Do(stale, Want("a", 1)), IsOk());
  GoBackTo(1);
  Lane& fresh = NewLane();
  ASSERT_THAT(Do(fresh, Want("b", 9)), IsOk());
  EXPECT_EQ(ReadHeld(stale).value_or(-1), 9);
  ASSERT_THAT(Do(stale, Want("d", 9)), IsOk());
  EXPECT_EQ(database_.QueryValue("SELECT sum(nodes) FROM quota.holding"), "9");
}

TEST_F(QuotaHistoryTest, WhatWasMadeFromALostHistoryIsNotDoneInAnother) {
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  const auto incarnation = [&] {
    return lane.PeekAt([](const quota::State&, const Position& at) { return at.incarnation; });
  };
  const auto submit = [&](const std::string& made_in) {
    std::promise<absl::Status> told;
    lane.Submit([](StagedState<quota::State>& staged,
                   absl::Time now) { return quota::Decide(staged, Want("a", 1), now).status(); },
                [&](const absl::Status& status, int64_t) { told.set_value(status); },
                absl::InfiniteFuture(), made_in);
    return told.get_future().get();
  };
  const std::string before = incarnation();
  EXPECT_THAT(submit(before), IsOk());
  GoBackTo(1);
  ASSERT_EQ(ReadHeld(lane).value_or(-1), 0);
  // Planned before, handed in after.
  EXPECT_THAT(submit(before), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(CountOf("holding"), 0);
  EXPECT_THAT(submit(incarnation()), IsOk());
}

TEST_F(QuotaHistoryTest, WatchesOfALostHistoryEnd) {
  Lane& lane = NewLane(Idle());
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  ASSERT_THAT(Do(lane, Want("a", 9)), IsOk());
  const auto watcher = lane.Watch({});
  while (NextOf(*watcher)->type != WatchItem::Type::kSnapshotEnd) {
  }
  GoBackTo(1);
  Lane& fresh = NewLane();
  ASSERT_THAT(Do(fresh, Want("b", 4)), IsOk());
  ASSERT_THAT(Do(fresh, Want("c", 5)), IsOk());
  ReadHeld(lane).status().IgnoreError();
  const auto item = NextOf(*watcher);
  ASSERT_FALSE(item.has_value()) << "went on with revision " << item->revision;
  EXPECT_THAT(*watcher->Ended(), HasReason("HISTORY_REPLACED"));
}

TEST_F(QuotaHistoryTest, AnIdleReplicaFindsOutByItself) {
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  const auto watcher = lane.Watch({});
  MarkOf(*watcher);
  // As long as before, and nobody asks. Marks of progress may come first.
  database_.Execute("UPDATE quota.journal_head SET incarnation = 'another'");
  const auto ended = [&] {
    while (watcher->Next().has_value()) {
    }
    return watcher->Ended().has_value();
  };
  testing::Until(ended, "the end of a watch of a lost history");
  EXPECT_THAT(*watcher->Ended(), HasReason("HISTORY_REPLACED"));
}

TEST_F(QuotaHistoryTest, AClientThatResumesInALostHistoryIsToldSo) {
  Lane& lane = NewLane(Idle());
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  ASSERT_THAT(Do(lane, Want("a", 9)), IsOk());
  const WatchItem mark = MarkOf(*lane.Watch({}));
  ASSERT_EQ(mark.revision, 2);
  const WatchOptions resume{.after_revision = mark.revision, .incarnation = mark.incarnation};
  GoBackTo(1);
  Lane& fresh = NewLane();
  ASSERT_THAT(Do(fresh, Want("b", 4)), IsOk());
  ASSERT_THAT(Do(fresh, Want("c", 5)), IsOk());
  // The one that had seen the lost history finds out when it is asked; then all know.
  ASSERT_EQ(ReadHeld(lane).value_or(-1), 9);
  for (Lane* replica : {&lane, &fresh}) {
    const auto watcher = replica->Watch(resume);
    const auto item = NextOf(*watcher);
    ASSERT_FALSE(item.has_value()) << "was sent revision " << item->revision;
    EXPECT_THAT(*watcher->Ended(), HasReason("HISTORY_REPLACED"));
    EXPECT_THAT(*watcher->Ended(), StatusIs(absl::StatusCode::kOutOfRange));
  }
}

TEST_F(QuotaHistoryTest, AClientThatResumesWhereALostHistoryWasIsToldAtOnce) {
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  ASSERT_THAT(Do(lane, Want("a", 9)), IsOk());
  GoBackTo(1);
  // Nothing but the watch itself makes the replica look.
  const auto watcher = lane.Watch({.after_revision = 2});
  while (NextOf(*watcher).has_value()) {
  }
  EXPECT_THAT(*watcher->Ended(), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 0);
}

TEST_F(QuotaHistoryTest, AClientResumesInItsOwnHistory) {
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  const WatchItem mark = MarkOf(*lane.Watch({}));
  EXPECT_FALSE(mark.incarnation.empty());
  ASSERT_THAT(Do(lane, Want("a", 9)), IsOk());
  const auto watcher =
      lane.Watch({.after_revision = mark.revision, .incarnation = mark.incarnation});
  EXPECT_EQ(NextOf(*watcher)->revision, 2);
}

TEST_F(QuotaHistoryTest, ARestoreUnderTwoRunningReplicasReachesBothAndTheirWatches) {
  Lane& one = NewLane();
  Lane& two = NewLane();
  ASSERT_THAT(Do(one, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
  ASSERT_THAT(Do(one, Want("a", 4)), IsOk());
  ASSERT_THAT(Do(two, Want("b", 5)), IsOk());
  std::vector<std::shared_ptr<Watcher>> watchers;
  for (Lane* lane : {&one, &two}) {
    watchers.push_back(lane->Watch({}));
    MarkOf(*watchers.back());
  }
  GoBackTo(2);
  const Migrator migrator(
      {.conninfo = database_.conninfo(), .dir = testing::MigrationsDir(), .schemas = {"quota"}});
  const auto names = migrator.NewHistory();
  ASSERT_THAT(names, IsOk());
  ASSERT_EQ(names->size(), 1u);
  for (Lane* lane : {&one, &two}) EXPECT_EQ(ReadHeld(*lane).value_or(-1), 4);
  for (const auto& watcher : watchers) {
    while (NextOf(*watcher).has_value()) {
    }
    EXPECT_THAT(*watcher->Ended(), HasReason("HISTORY_REPLACED"));
  }
  for (Lane* lane : {&one, &two}) {
    // Rows go back first, then the history gets its new name: who looks in between sees two losses.
    EXPECT_THAT(lane->stats().history_replaced, ::testing::AnyOf(1, 2));
    EXPECT_EQ(MarkOf(*lane->Watch({})).incarnation, names->front().second);
  }
}

TEST_F(QuotaHistoryTest, NothingIsTakenForALossThatIsNone) {
  Lane& one = NewLane();
  Lane& two = NewLane();
  ASSERT_THAT(Do(one, quota::UpdateQuota{kKey, 100, "", true}), IsOk());
  for (int i = 1; i <= 10; ++i) {
    ASSERT_THAT(Do(i % 2 == 0 ? one : two, Want("a", i, i)), IsOk());
    ASSERT_EQ(ReadHeld(one).value_or(-1), i);
  }
  database_.TerminateBackends("quota");
  while (!ReadHeld(two).ok()) {
  }
  EXPECT_EQ(one.stats().history_replaced + two.stats().history_replaced, 0);
}

// What time a command is decided at.
absl::Time DecidedAt(Lane& lane, const std::string& pool) {
  absl::Time at;
  EXPECT_THAT(QuotaLaneTest::DoDecide(
                  lane,
                  [&](StagedState<quota::State>& staged, absl::Time now) {
                    at = now;
                    return quota::Decide(staged, QuotaLaneTest::Want(pool, 0), now).status();
                  }),
              IsOk());
  return at;
}

TEST_F(QuotaHistoryTest, CommandsAreDecidedAtTheDatabasesTime) {
  database_clock_ = true;
  const auto database_now = [&] {
    return absl::FromUnixMicros(std::stoll(
        database_.QueryValue("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")));
  };
  // A lane learns the time when it loads, and is behind it from then on by as long as that answer
  // took.
  const absl::Time before = database_now();
  Lane& lane = NewLane();
  const absl::Time decided = DecidedAt(lane, "a");
  EXPECT_LE(before, decided);
  EXPECT_LE(decided, database_now());
  EXPECT_GE(lane.clock().Now(), decided);
}

TEST_F(QuotaHistoryTest, TimeNeverGoesBackInAHistory) {
  database_clock_ = true;
  Lane& lane = NewLane();
  DecidedAt(lane, "a");
  // As if the server before this one had been an hour ahead.
  database_.Execute(
      "UPDATE quota.journal_head SET commit_time = clock_timestamp() + interval '1 hour'");
  const absl::Time ahead = absl::FromUnixMicros(std::stoll(database_.QueryValue(
      "SELECT (extract(epoch FROM commit_time) * 1000000)::bigint FROM quota.journal_head")));
  const absl::Time first = DecidedAt(lane, "b");
  EXPECT_GE(first, ahead);
  // Nor does it stand still until the old time comes again.
  EXPECT_GT(DecidedAt(lane, "c"), first);
  EXPECT_GE(DecidedAt(NewLane(), "d"), first);
  // What is told of the past goes by the same time.
  EXPECT_EQ(
      database_.QueryValue("SELECT count(*) FROM quota.journal later JOIN quota.journal sooner"
                           " ON sooner.revision < later.revision"
                           " AND sooner.commit_time > later.commit_time"),
      "0");
  EXPECT_NE(
      database_.QueryValue(
          "SELECT count(*) FROM quota.journal WHERE commit_time > now() + interval '50 minutes'"),
      "0");
}

TEST_F(QuotaHistoryTest, AClockOfTheTestsNeverTurnsAHistoryBackEither) {
  Lane& lane = NewLane();
  const absl::Time first = DecidedAt(lane, "a");
  EXPECT_EQ(first, clock_.Now());
  clock_.Advance(-absl::Hours(1));
  EXPECT_EQ(DecidedAt(lane, "b"), first);
  EXPECT_EQ(lane.clock().Now(), first);
}

}  // namespace
}  // namespace muster::storage
