// What one replica, or one command, may cost the others: little.
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "services/common/index_parts.h"
#include "services/common/status_macros.h"
#include "services/quota/core/audit.h"
#include "services/quota/store/testing/lane_test_base.h"

namespace muster::storage {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::kLoseConnection;
using ::muster::testing::StatusIs;

// Tells how much of the only quota a lane shows while it reads the journal.
class PeekingStore final : public ForwardingStore {
 public:
  absl::StatusOr<Change> Decode(absl::string_view kind, absl::string_view key,
                                const std::string* bytes) const override {
    if (Lane* const lane = lane_) {
      shown_.insert(lane->Peek(
          [](const quota::State& state, int64_t) { return state.Held(QuotaName(kKey)); }));
    }
    return ForwardingStore::Decode(kind, key, bytes);
  }

  void PeekAt(Lane* lane) { lane_ = lane; }
  const std::set<int64_t>& shown() const { return shown_; }

 private:
  std::atomic<Lane*> lane_ = nullptr;
  mutable std::set<int64_t> shown_;  // the lane's thread's
};

// Loads only when it is let.
class SlowStore final : public ForwardingStore {
 public:
  void Load(Transaction& tx, absl::FunctionRef<void(Revised<Change>)> emit) const override {
    if (hold_) {
      if (!begun_once_.exchange(true)) begun_.set_value();
      release_.wait();
    }
    ForwardingStore::Load(tx, emit);
  }

  void Hold() { hold_ = true; }
  void AwaitLoad() { testing::Await(begun_.get_future(), "a load"); }
  void Release() { released_.set_value(); }

 private:
  std::atomic<bool> hold_ = false;
  mutable std::atomic<bool> begun_once_ = false;
  mutable std::promise<void> begun_;
  std::promise<void> released_;
  std::shared_future<void> release_ = released_.get_future().share();
};

class QuotaLaneLoadTest : public QuotaLaneTest {
 protected:
  // Another program commits and compacts at once: no replica can follow through the journal.
  void LoseJournal() {
    database_.Execute(
        "BEGIN; SELECT 1 FROM quota.journal_head FOR UPDATE;"
        "UPDATE quota.journal_head SET revision = revision + 1, compacted_revision = revision + 1;"
        "DELETE FROM quota.journal; COMMIT");
  }

  // Of `n` commands in one batch, behind one that holds the lane until all are there.
  std::vector<absl::Status> DoTogether(
      Lane& lane, int n, int poisoned, const std::function<void()>& all_queued = [] {},
      int throwing = -1) {
    std::promise<void> begun, queued;
    std::vector<std::promise<absl::Status>> answers(static_cast<size_t>(n));
    std::promise<absl::Status> gate;
    lane.Submit(
        [&begun, once = false, wait = queued.get_future().share()](StagedState<quota::State>&,
                                                                   absl::Time) mutable {
          if (!std::exchange(once, true)) begun.set_value();
          wait.wait();
          return absl::OkStatus();
        },
        [&](const absl::Status& status, int64_t) { gate.set_value(status); });
    begun.get_future().wait();
    for (int i = 0; i < n; ++i) {
      lane.Submit(
          [i, poisoned, throwing](StagedState<quota::State>& staged, absl::Time) {
            // The tables take no negative holding.
            staged.Put(quota::Holding{QuotaName(kKey), absl::StrCat("p", i), i == poisoned ? -7 : 1,
                                      1, ""});
            if (i == throwing) throw std::bad_alloc();
            return absl::OkStatus();
          },
          [&answers, i](const absl::Status& status, int64_t) {
            answers[static_cast<size_t>(i)].set_value(status);
          });
    }
    all_queued();
    queued.set_value();
    EXPECT_THAT(gate.get_future().get(), IsOk());
    std::vector<absl::Status> statuses;
    for (auto& answer : answers) statuses.push_back(answer.get_future().get());
    return statuses;
  }

  // 64 commands that wait together, and how many transactions they are.
  void Expect64InBatches(const LaneOptions& options, int64_t batches) {
    Lane& lane = NewLane(options);
    for (const absl::Status& status : DoTogether(lane, 64, -1)) EXPECT_THAT(status, IsOk());
    EXPECT_EQ(lane.stats().batches, batches);
    EXPECT_EQ(lane.revision(), 64);
  }
};

// The tries of a lane to write, and to lock the head first, which fail while the database is away.
struct Tries {
  std::atomic<int> count = 0;
  std::atomic<int> locks = 0;
  std::atomic<bool> away = false;
};

LaneOptions Counting(const std::shared_ptr<Tries>& tries) {
  LaneOptions options;
  options.runner.fault = [tries](absl::string_view site) -> Fault {
    const bool locks = absl::StartsWith(site, "write/SELECT 1");
    const bool writes = site == "write/journal_move" || site == "write/journal_expect";
    if (!locks && !writes) return {};
    ++(writes ? tries->count : tries->locks);
    return tries->away ? Fault{.before = kLoseConnection} : Fault{};
  };
  return options;
}

TEST_F(QuotaLaneLoadTest, OnePoisonAmongManyCostsTheOthersAFewCommits) {
  const auto tries = std::make_shared<Tries>();
  Lane& lane = NewLane(Counting(tries));
  constexpr int kCommands = 64;
  const std::vector<absl::Status> statuses =
      DoTogether(lane, kCommands, 37, [&] { tries->count = 0; });
  for (int i = 0; i < kCommands; ++i) {
    if (i == 37) {
      EXPECT_THAT(statuses[static_cast<size_t>(i)], StatusIs(absl::StatusCode::kInternal));
    } else {
      EXPECT_THAT(statuses[static_cast<size_t>(i)], IsOk());
    }
  }
  EXPECT_EQ(CountOf("holding"), kCommands - 1);
  EXPECT_LE(tries->count, 1 + 1 + 2 * 6)
      << "the one that holds the lane asks where the head is; 64 can be halved six times";
}

// By an operator's REVOKE: to try each command by itself would take a connection each time.
TEST_F(QuotaLaneLoadTest, NoCommandIsToBlameWhereTheHeadIsRefused) {
  const auto tries = std::make_shared<Tries>();
  LaneOptions options = Counting(tries);
  options.runner.fault = [counting = options.runner.fault](absl::string_view site) -> Fault {
    counting(site);
    if (!absl::StartsWith(site, "write/SELECT 1") && site != "write/journal_move") return {};
    return {.before = "DO $$BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '42501'; END$$;"};
  };
  Lane& lane = NewLane(options);
  for (const absl::Status& status : DoTogether(lane, 64, -1, [&] { tries->locks = 0; }))
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal));
  EXPECT_LE(tries->locks, 2) << "one for each half of those that were refused together";
}

// It would be missing for each half, too, and for each half of that.
TEST_F(QuotaLaneLoadTest, NorWhereATableIsMissing) {
  const auto tries = std::make_shared<Tries>();
  Lane& lane = NewLane(Counting(tries));
  const auto statuses = DoTogether(lane, 64, -1, [&] {
    database_.Execute("ALTER TABLE quota.holding RENAME TO elsewhere");
    tries->count = 0;
  });
  for (const absl::Status& status : statuses)
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInternal));
  EXPECT_EQ(tries->count, 2) << "the one that holds the lane, and all that were refused together";
  database_.Execute("ALTER TABLE quota.elsewhere RENAME TO holding");
  EXPECT_THAT(Do(lane, Want("a", 0)), IsOk());
}

TEST_F(QuotaLaneLoadTest, ATransactionTakesNoMoreCommandsThanItsChangesAllow) {
  LaneOptions few;
  few.max_batch_changes = 10;
  Expect64InBatches(few, 7);
}

// Postgres takes no statement of 1 GiB, whatever the number of changes.
TEST_F(QuotaLaneLoadTest, WhatIsTooMuchForOneTransactionIsDivided) {
  LaneOptions small;
  small.max_batch_bytes = 1;
  Expect64InBatches(small, 64);
}

TEST_F(QuotaLaneLoadTest, ATransactionTakesNoMoreCommandsThanItsTimeAllows) {
  LaneOptions hasty;
  hasty.max_decide = absl::ZeroDuration();
  Expect64InBatches(hasty, 64);
}

TEST_F(QuotaLaneLoadTest, WhatIsLeftOfABatchIsAnsweredWhenTheDatabaseGoesBetweenItsTransactions) {
  const auto tries = std::make_shared<Tries>();
  LaneOptions options = Counting(tries);
  options.max_batch_changes = 4;
  options.runner.retry_budget = absl::ZeroDuration();
  options.yield = [tries](LanePoint point) {
    if (point == LanePoint::kBeforePublish) tries->away = true;
  };
  Lane& lane = NewLane(options);
  const auto statuses = DoTogether(lane, 12, -1);
  for (size_t i = 0; i < statuses.size(); ++i) {
    EXPECT_THAT(statuses[i],
                StatusIs(i < 4 ? absl::StatusCode::kOk : absl::StatusCode::kUnavailable))
        << i;
  }
  EXPECT_EQ(CountOf("holding"), 4);
  tries->away = false;
}

TEST_F(QuotaLaneLoadTest, AnExceptionEndsOneCallOfItsBatch) {
  Lane& lane = NewLane();
  const std::vector<absl::Status> statuses = DoTogether(
      lane, 8, -1, [] {}, /*throwing=*/3);
  for (size_t i = 0; i < statuses.size(); ++i) {
    EXPECT_THAT(statuses[i], StatusIs(i == 3 ? absl::StatusCode::kInternal : absl::StatusCode::kOk))
        << i;
  }
  EXPECT_EQ(CountOf("holding"), 7) << "what it wrote before is taken back";
}

TEST_F(QuotaLaneLoadTest, APoisonedBatchStopsWhenTheDatabaseGoes) {
  const auto tries = std::make_shared<Tries>();
  LaneOptions options = Counting(tries);
  options.poll = absl::Hours(1);
  options.max_time_age = absl::InfiniteDuration();
  options.runner.retry_budget = absl::ZeroDuration();
  // The database goes when the batch was refused, and its halves are to be tried.
  options.runner.fault = [tries, counting = options.runner.fault](absl::string_view site) {
    if (absl::StartsWith(site, "write/SELECT 1")) tries->away = true;
    return counting(site);
  };
  Lane& lane = NewLane(options);
  std::promise<absl::Status> last, behind;
  const auto statuses = DoTogether(lane, 12, 5, [&] {
    tries->count = 0;
    // The last of the batch sees to it that somebody waits behind it.
    lane.Submit(
        [&, once = false](StagedState<quota::State>&, absl::Time) mutable {
          if (!std::exchange(once, true)) {
            lane.Submit([](StagedState<quota::State>&, absl::Time) { return absl::OkStatus(); },
                        [&](const absl::Status& status, int64_t) { behind.set_value(status); });
          }
          return absl::OkStatus();
        },
        [&](const absl::Status& status, int64_t) { last.set_value(status); });
  });
  for (const absl::Status& status : statuses)
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(last.get_future().get(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(behind.get_future().get(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(tries->count, 2) << "the one that holds the lane, and the batch";
  EXPECT_EQ(tries->locks, 1) << "tried in vain once, then again, or for who came behind";
  EXPECT_FALSE(lane.ready()) << "SERVING while nothing can be written";
  EXPECT_EQ(CountOf("holding"), 0);
  tries->away = false;
  EXPECT_THAT(Do(lane, Want("a", 0)), IsOk());
  EXPECT_GE(lane.stats().failed_batches, 1);
  EXPECT_LT(lane.stats().done_commands, lane.stats().commands);
}

// However the journal is read: what was committed together is seen together.
TEST_F(QuotaLaneLoadTest, AReplicaShowsNoPartOfACommand) {
  Lane& writer = NewLane();
  LaneOptions options;
  options.catch_up_chunk = 3;
  const auto store = std::make_shared<PeekingStore>();
  Lane& follower = NewLane(std::move(options), store);
  store->PeekAt(&follower);
  constexpr int64_t kHoldings = 8;
  const auto put = [](const std::string& prefix) {
    return [prefix](StagedState<quota::State>& staged, absl::Time) {
      for (int64_t i = 0; i < kHoldings; ++i)
        staged.Put(quota::Holding{QuotaName(kKey), absl::StrCat(prefix, i), 1, 1, ""});
      return absl::OkStatus();
    };
  };
  EXPECT_THAT(DoDecide(writer, put("a")), IsOk());
  EXPECT_EQ(ReadHeld(follower).value_or(-1), kHoldings);
  EXPECT_THAT(DoDecide(writer, put("b")), IsOk());
  EXPECT_THAT(DoDecide(writer, put("c")), IsOk());
  EXPECT_EQ(ReadHeld(follower).value_or(-1), 3 * kHoldings);
  EXPECT_FALSE(store->shown().empty()) << "nobody looked while it was read";
  for (const int64_t held : store->shown()) EXPECT_EQ(held % kHoldings, 0) << held;
}

TEST_F(QuotaLaneLoadTest, AReplicaThatLoadsAnewHoldsNobodyUp) {
  const auto store = std::make_shared<SlowStore>();
  LaneOptions options;
  options.poll = absl::Hours(1);
  Lane& slow = NewLane(options, store);
  Lane& healthy = NewLane();
  ASSERT_THAT(Do(slow, quota::UpdateQuota{kKey, 50, "", true}), IsOk());
  LoseJournal();
  store->Hold();
  // Its next write finds that the journal does not reach back.
  std::promise<absl::Status> told;
  slow.Submit([](StagedState<quota::State>& staged,
                 absl::Time now) { return quota::Decide(staged, Want("a", 3), now).status(); },
              [&](const absl::Status& status, int64_t) { told.set_value(status); });
  store->AwaitLoad();
  EXPECT_THAT(Do(healthy, Want("b", 2)), IsOk());
  EXPECT_FALSE(slow.ready());
  store->Release();
  EXPECT_THAT(told.get_future().get(), IsOk());
  EXPECT_EQ(ReadHeld(slow).value_or(-1), 5);
  EXPECT_TRUE(slow.ready());
}

// What waited for the head in vain was not committed: nobody need ask.
TEST_F(QuotaLaneLoadTest, AHeadThatSomebodyHoldsIsNoDoubt) {
  LaneOptions options;
  options.connect.statement_timeout = absl::Seconds(10);  // the lock's is somewhat shorter
  Lane& lane = NewLane(options);
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 50, "", true}), IsOk());
  testing::OpenTransaction holder = database_.Hold("SELECT * FROM quota.journal_head FOR UPDATE");
  EXPECT_THAT(Do(lane, Want("a", 3)), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(lane.stats().in_doubt, 0);
  holder.reset();
  EXPECT_THAT(Do(lane, Want("a", 3)), IsOk());
}

TEST_F(QuotaLaneLoadTest, AComparisonHoldsNobodyUp) {
  const auto store = std::make_shared<SlowStore>();
  Lane& lane = NewLane({}, store);
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 50, "", true}), IsOk());
  store->Hold();
  absl::StatusOr<Comparison> comparison = absl::UnknownError("not made");
  std::thread comparing([&] { comparison = lane.Compare(); });
  absl::Cleanup end = [&] {
    store->Release();
    comparing.join();
  };
  store->AwaitLoad();
  EXPECT_THAT(Do(lane, Want("a", 3)), IsOk());
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 3);
  std::move(end).Invoke();
  ASSERT_THAT(comparison, IsOk());
  EXPECT_THAT(comparison->differences, ::testing::IsEmpty());
  EXPECT_EQ(comparison->revision, 2) << "what was committed meanwhile is compared too";
}

// Memory is read piece by piece, and others commit between any two of them: of what was read
// already, and of what was not.
TEST_F(QuotaLaneLoadTest, AnAuditHoldsNobodyUpAndIsExact) {
  LaneOptions options;
  Lane* lane = nullptr;
  int pieces = 0;
  constexpr int kHoldings = 2 * static_cast<int>(kPiece) + 500;
  const auto name = [](int i) { return absl::StrCat("h", 20'000 + i); };
  options.yield = [&](LanePoint point) {
    if (point != LanePoint::kNextPiece) return;
    ++pieces;
    quota::SyncHolding gone = Want(name(pieces), 0, 2);
    gone.release = true;
    EXPECT_THAT(Do(*lane, gone), IsOk());
    EXPECT_THAT(Do(*lane, Want(name(kHoldings - pieces), 2, 2)), IsOk());
    EXPECT_THAT(Do(*lane, Want(name(-pieces), 1)), IsOk());
    EXPECT_THAT(Do(*lane, Want(name(kHoldings + pieces), 1)), IsOk());
  };
  lane = &NewLane(options);
  ASSERT_THAT(Do(*lane, quota::UpdateQuota{kKey, 10'000, "", true}), IsOk());
  ASSERT_THAT(DoDecide(*lane,
                       [&](StagedState<quota::State>& staged, absl::Time now) -> absl::Status {
                         for (int i = 0; i < kHoldings; ++i)
                           RETURN_IF_ERROR(quota::Decide(staged, Want(name(i), 1), now).status());
                         return absl::OkStatus();
                       }),
              IsOk());
  const StateAudit<quota::State> what{.rules = quota::Audit, .parts = quota::IndexParts};
  const auto audit = lane->Audit(what);
  ASSERT_THAT(audit, IsOk());
  EXPECT_THAT(audit->violations, ::testing::IsEmpty());
  EXPECT_GE(pieces, 3);
  database_.Execute(
      absl::StrCat("UPDATE quota.holding SET nodes = 7 WHERE pool_uid = '", name(1'500), "'"));
  EXPECT_THAT(lane->Audit(what)->violations,
              ::testing::IsSupersetOf({::testing::HasSubstr("memory beside tables: holding"),
                                       ::testing::HasSubstr("counted as held")}));
  database_.Execute(
      absl::StrCat("UPDATE quota.holding SET nodes = 1 WHERE pool_uid = '", name(1'500), "'"));
}

TEST_F(QuotaLaneLoadTest, AComparisonSeesWhatSomebodyWroteToTheTables) {
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 50, "", true}), IsOk());
  ASSERT_THAT(Do(lane, Want("a", 3)), IsOk());
  database_.Execute("UPDATE quota.holding SET nodes = 4");
  EXPECT_EQ(lane.Compare()->differences.size(), 2u);
  database_.Execute("UPDATE quota.holding SET nodes = 3");
}

// A table is fetched in parts; that the last is full, or has one row, leaves nothing out.
TEST_F(QuotaLaneLoadTest, ALargeTableIsLoadedInPartsAndWhole) {
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 20'000, "", true}), IsOk());
  int64_t pools = 0;
  for (const int64_t upto : {10'000, 10'001}) {
    ASSERT_THAT(
        DoDecide(lane,
                 [=](StagedState<quota::State>& staged, absl::Time now) -> absl::Status {
                   for (int64_t i = pools; i < upto; ++i) {
                     RETURN_IF_ERROR(
                         quota::Decide(staged, Want(absl::StrCat("p", i), 1), now).status());
                   }
                   return absl::OkStatus();
                 }),
        IsOk());
    pools = upto;
    std::atomic<int> parts = 0;
    LaneOptions options;
    options.runner.fault = [&parts](absl::string_view site) -> Fault {
      if (absl::EndsWith(site, "all_holding")) ++parts;
      return {};
    };
    Lane& loaded = NewLane(options);
    EXPECT_EQ(ReadHeld(loaded).value_or(-1), upto);
    EXPECT_EQ(parts, 2) << "after the first";
    EXPECT_THAT(loaded.Compare()->differences, ::testing::IsEmpty());
    lanes_.pop_back();
  }
}

class OwnCluster {
 protected:
  const std::unique_ptr<testing::PostgresCluster> cluster_ = testing::PostgresCluster::StartOwn();
};

// On a server of its own: a transaction of anybody's that stays open, in whatever database, keeps
// what rows leave behind.
class QuotaChurnTest : private OwnCluster, public QuotaLaneTest {
 protected:
  QuotaChurnTest() : QuotaLaneTest(*cluster_) {
    database_.Execute("ALTER SYSTEM SET autovacuum = off");
    database_.Execute("SELECT pg_reload_conf()");
  }
};

// What rows leave behind when they change is used again, by them and by their indexes, without
// waiting for a vacuum.
TEST_F(QuotaChurnTest, ALongChurnLeavesTablesAsLargeAsTheyWere) {
  constexpr int64_t kPools = 1'000;
  constexpr int kEarly = 10;
  constexpr int kLate = 60;
  Lane& lane = NewLane();
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 2 * kPools, "", true}), IsOk());
  const auto sizes = [&] {
    std::map<std::string, double> bytes;
    for (const auto& row : database_.Query(
             "SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relnamespace = "
             "'quota'::regnamespace AND relkind IN ('r', 'i') AND relname !~ '^journal_?(pkey)?$'"))
      bytes[*row[0]] = std::stod(*row[1]);
    return bytes;
  };
  std::map<std::string, double> early;
  for (int turn = 1; turn <= kLate; ++turn) {
    ASSERT_THAT(DoDecide(lane,
                         [=](StagedState<quota::State>& staged, absl::Time now) -> absl::Status {
                           for (int64_t i = 0; i < kPools; ++i) {
                             const auto want = Want(absl::StrCat("p", i), turn % 2, turn);
                             RETURN_IF_ERROR(quota::Decide(staged, want, now).status());
                           }
                           return absl::OkStatus();
                         }),
                IsOk());
    if (turn == kEarly) early = sizes();
  }
  for (const auto& [table, bytes] : sizes()) EXPECT_LE(bytes, 1.5 * early[table]) << table;
}

}  // namespace
}  // namespace muster::storage
