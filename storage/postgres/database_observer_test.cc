#include "storage/postgres/database_observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "services/common/cause.h"
#include "storage/postgres/journal_gauge.h"
#include "storage/postgres/testing/fault_plan.h"
#include "storage/postgres/transaction.h"
#include "storage/postgres/transaction_runner.h"
#include "tests/testing/patience.h"
#include "tests/testing/patient.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::storage {
namespace {

using ::muster::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

struct Seen final : DatabaseObserver {
  void ConnectionsChanged(int used, int waiting) override {
    in_use += used;
    idle += waiting;
    most_in_use = std::max(most_in_use, in_use);
  }
  void ConnectionRefused() override { ++refused; }
  void Committed(absl::Duration transaction, absl::Duration commit) override {
    ++committed;
    EXPECT_GE(transaction, commit);
    EXPECT_GT(commit, absl::ZeroDuration());
  }
  void Failed(absl::string_view sqlstate) override { ++failed[std::string(sqlstate)]; }
  void DoubtChanged(int commits) override {
    in_doubt += commits;
    most_in_doubt = std::max(most_in_doubt, in_doubt);
  }
  int in_use = 0, idle = 0, most_in_use = 0, refused = 0, committed = 0;
  int in_doubt = 0, most_in_doubt = 0;
  std::map<std::string, int> failed;
};

class DatabaseObserverTest : public ::testing::Test {
 protected:
  ConnectOptions Connect() {
    return testing::Patient(ConnectOptions{
        .conninfo = database_.conninfo("quota"), .schema = "quota", .observer = seen_});
  }
  absl::Status Run(const TransactionBody& body, RunnerOptions options = {},
                   const OutcomeResolver& resolve = nullptr) {
    return TransactionRunner(&pool_, testing::Patient(std::move(options))).Run(body, resolve);
  }
  static absl::Status Write(Transaction& tx) {
    tx.Exec("UPDATE journal_head SET batch = 'x'");
    return absl::OkStatus();
  }
  // The same, sent with COMMIT.
  static absl::Status Queue(Transaction& tx) {
    tx.Queue({"mark_head", "UPDATE journal_head SET batch = 'x'"}, {});
    return absl::OkStatus();
  }

  testing::TestDatabase database_;
  std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
  ConnectionPool pool_{Connect(), 2};
};

TEST_F(DatabaseObserverTest, IsToldOfConnectionsAndCommits) {
  EXPECT_THAT(Run(Write), IsOk());
  EXPECT_THAT(Run(Write), IsOk());
  EXPECT_EQ(seen_->committed, 2);
  EXPECT_EQ(seen_->most_in_use, 1);
  EXPECT_EQ(seen_->in_use, 0);
  EXPECT_EQ(seen_->idle, 1);
  pool_.DropIdle();
  EXPECT_EQ(seen_->idle, 0);
  EXPECT_THAT(seen_->failed, IsEmpty());
}

TEST_F(DatabaseObserverTest, IsToldWhyAnAttemptFailed) {
  for (const std::string sqlstate : {"40001", "40P01", "57P01", "53100"}) {
    int attempts = 0;
    EXPECT_THAT(
        Run([&](Transaction& tx) {
          if (++attempts == 1)
            tx.Exec("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '" + sqlstate + "'; END $$");
          return Write(tx);
        }),
        IsOk())
        << sqlstate;
  }
  EXPECT_THAT(seen_->failed,
              ElementsAre(Pair("40001", 1), Pair("40P01", 1), Pair("53100", 1), Pair("57P01", 1)));
  EXPECT_EQ(seen_->committed, 4);
  EXPECT_EQ(seen_->in_use, 0);
}

TEST_F(DatabaseObserverTest, IsToldOfACommitInDoubtUntilItIsSettled) {
  bool cut = false;
  RunnerOptions options;
  options.fault = [&](absl::string_view site) -> Fault {
    if (site != "run/commit" || std::exchange(cut, true)) return {};
    return {.after = testing::kLoseConnection};
  };
  EXPECT_THAT(Run(Write, options,
                  [&](Transaction&) -> absl::StatusOr<bool> {
                    EXPECT_EQ(seen_->in_doubt, 1);
                    return true;
                  }),
              IsOk());
  EXPECT_EQ(seen_->most_in_doubt, 1);
  EXPECT_EQ(seen_->in_doubt, 0);
}

// On a full disk each try would cost another transaction that asks what became of it, and operators
// would read of commits in doubt where there are none.
TEST_F(DatabaseObserverTest, WhatTheServerRefusedBeforeItsCommitIsNotInDoubt) {
  for (const std::string sqlstate : {"53100", "53200", "54000", "58030", "25006"}) {
    RunnerOptions options{.max_attempts = 1};
    options.fault = [&](absl::string_view site) -> Fault {
      return site == "run/commit" ? Fault{.before = RaiseSql(sqlstate)} : Fault{};
    };
    const absl::Status status = Run(Queue, options, [](Transaction&) -> absl::StatusOr<bool> {
      return absl::UnknownError("asked for nothing");
    });
    EXPECT_TRUE(absl::IsUnavailable(status)) << sqlstate << " " << status;
    EXPECT_THAT(error::CauseOf(status), ::testing::HasSubstr("injected"));
  }
  EXPECT_EQ(seen_->most_in_doubt, 0);
  EXPECT_EQ(database_.QueryValue("SELECT count(*) FROM quota.journal_head WHERE batch = 'x'"), "0");
}

// Whoever reads the log is to see that the disk is full, although the commit had to be asked for.
TEST_F(DatabaseObserverTest, WhyACommitFailedIsSaidOnceItIsSettled) {
  RunnerOptions options{.max_attempts = 1};
  options.fault = [](absl::string_view site) -> Fault {
    if (site != "run/commit") return {};
    return {.after = "DO $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$;"};
  };
  const absl::Status status =
      Run(Write, options, [](Transaction&) -> absl::StatusOr<bool> { return false; });
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(seen_->most_in_doubt, 1);
  EXPECT_THAT(error::CauseOf(status), ::testing::HasSubstr("no room"));
}

TEST_F(DatabaseObserverTest, IsToldThatNobodyIsThere) {
  ConnectOptions nowhere = Connect();
  nowhere.conninfo = "host=/nowhere user=nobody";
  ConnectionPool pool(nowhere, 1);
  EXPECT_FALSE(pool.Acquire(absl::Seconds(5)).ok());
  EXPECT_EQ(seen_->refused, 1);
  EXPECT_EQ(seen_->in_use, 0);
}

// As when a password is renewed.
TEST_F(DatabaseObserverTest, NewConnectionsAreMadeAsIsSaidByThen) {
  std::string now = "host=/nowhere user=nobody";
  ConnectOptions options = Connect();
  options.current_conninfo = [&now] { return now; };
  ConnectionPool pool(options, 1);
  EXPECT_FALSE(pool.Acquire(absl::Seconds(5)).ok());
  now = Connect().conninfo;
  EXPECT_TRUE(pool.Acquire(absl::Seconds(30)).ok());
}

TEST_F(DatabaseObserverTest, TheJournalIsMeasured) {
  database_.Execute(
      "INSERT INTO quota.journal (revision, batch, kind, key, commit_time) SELECT n, 'b', 'quota', "
      "'k', now() - interval '1 hour' FROM generate_series(1, 7) n");
  database_.Execute("UPDATE quota.journal_head SET revision = 7, compacted_revision = 2");
  const JournalGauge gauge(Connect());
  testing::Until([&] { return gauge.last().has_value(); }, "the journal's figures");
  EXPECT_EQ(gauge.last()->revision, 7);
  EXPECT_EQ(gauge.last()->changes, 7) << "what is forgotten and not deleted takes room, too";
  EXPECT_GE(gauge.last()->age, absl::Hours(1));
  // It grows older between two looks.
  const JournalGauge::Figures figures = *gauge.last();
  EXPECT_GT(figures.asked_at, absl::ZeroDuration());
  EXPECT_EQ(figures.AgeAt(figures.asked_at + absl::Seconds(10)), figures.age + absl::Seconds(10));
}

TEST_F(DatabaseObserverTest, AnEmptyJournalHasNoAge) {
  const JournalGauge gauge(Connect());
  testing::Until([&] { return gauge.last().has_value(); }, "the journal's figures");
  EXPECT_EQ(gauge.last()->changes, 0);
  EXPECT_EQ(gauge.last()->age, absl::ZeroDuration());
}

}  // namespace
}  // namespace muster::storage
