#include "storage/postgres/connection_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "absl/time/time.h"
#include "services/common/cause.h"
#include "storage/postgres/connection.h"
#include "storage/postgres/journal.h"
#include "storage/postgres/lost_session.h"
#include "storage/postgres/transaction.h"
#include "storage/postgres/transaction_runner.h"
#include "tests/testing/patience.h"
#include "tests/testing/sql.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::storage {
namespace {

using ::muster::testing::IsOk;

constexpr Statement kWrite = {"test_write", "UPDATE journal_head SET batch = 'x'"};

class ConnectionPoolTest : public ::testing::Test {
 protected:
  ConnectOptions Connect() {
    return {.current_conninfo = [this] { return conninfo_; },
            .writable_host = host_,
            .schema = "quota"};
  }
  // The server's process.
  int LendOnce() { return LendOnce(pool_); }
  static int LendOnce(ConnectionPool& pool) {
    const auto loan = pool.Acquire(absl::InfiniteDuration());
    EXPECT_THAT(loan.status(), IsOk());
    return loan.ok() ? (*loan)->raw().backendpid() : 0;
  }
  // As a server that is stopped does, with whoever is connected and says nothing.
  void End(int session) {
    EXPECT_EQ(
        database_.QueryValue(absl::StrCat("SELECT pg_terminate_backend(", session, ", 60000)")),
        "t");
  }
  void RefuseWrites(absl::string_view sqlstate) {
    database_.Execute(
        absl::Substitute("CREATE FUNCTION public.refuses_$0() RETURNS trigger LANGUAGE plpgsql AS"
                         " $$$$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '$0'; END $$$$",
                         sqlstate));
    database_.Execute(
        absl::Substitute("CREATE OR REPLACE TRIGGER refuses BEFORE UPDATE ON quota.journal_head"
                         " FOR EACH ROW EXECUTE FUNCTION public.refuses_$0()",
                         sqlstate));
  }
  // What comes of a transaction that writes, as a lane sends it.
  absl::Status SendOne() {
    bool again = false;
    return runner_.Finish(
        runner_.Send(
            [](Transaction& tx) {
              tx.Queue(kWrite, {});
              return absl::OkStatus();
            },
            "run"),
        [](Transaction&) -> absl::StatusOr<bool> { return false; }, again);
  }

  testing::TestDatabase database_;
  std::string conninfo_ = database_.conninfo("quota");
  const std::shared_ptr<WritableHost> host_ = std::make_shared<WritableHost>();
  ConnectionPool pool_{Connect(), 1};
  // A doubt that cannot be settled would be waited for.
  TransactionRunner runner_{&pool_, {.on_doubt = [this] { runner_.Abort(); }}};
};

TEST_F(ConnectionPoolTest, LendsAgainWhatCameBack) { EXPECT_EQ(LendOnce(), LendOnce()); }

TEST_F(ConnectionPoolTest, DoesNotLendWhatItsServerHasEnded) {
  const int session = LendOnce();
  End(session);
  EXPECT_NE(LendOnce(), session);
}

TEST_F(ConnectionPoolTest, WhatIsSentAfterAServersEndIsNotInDoubt) {
  End(LendOnce());
  EXPECT_THAT(SendOne(), IsOk());
  EXPECT_EQ(runner_.stats().in_doubt, 0);
}

// Else its callers would wait for the end of the outage, for an answer that is known.
TEST_F(ConnectionPoolTest, NorIsItWhereNoServerIsThereAnyMore) {
  End(LendOnce());
  conninfo_ = "host=/nowhere user=nobody";
  EXPECT_TRUE(absl::IsUnavailable(SendOne()));
  EXPECT_EQ(runner_.stats().in_doubt, 0);
}

// As each transaction does that gets an id once these run out, or a trigger of the operator's: only
// what COMMIT warns of is about the commit.
TEST_F(ConnectionPoolTest, AWarningBeforeCommitCastsNoDoubtOnIt) {
  database_.Execute(
      "CREATE FUNCTION public.warn() RETURNS trigger LANGUAGE plpgsql AS"
      " $$ BEGIN RAISE WARNING 'the database must be vacuumed'; RETURN NEW; END $$");
  database_.Execute(
      "CREATE TRIGGER warn BEFORE UPDATE ON quota.journal_head"
      " FOR EACH ROW EXECUTE FUNCTION public.warn()");
  const int session = LendOnce();
  EXPECT_THAT(SendOne(), IsOk());
  EXPECT_EQ(runner_.stats().in_doubt, 0);
  EXPECT_EQ(LendOnce(), session) << "the connection serves on";
}

// Not as what the tables refuse, of which each half of a batch would be tried by itself.
TEST_F(ConnectionPoolTest, ATransactionThatTheServerEndedForItsAgeMayBeTriedAgain) {
  RefuseWrites("25P04");
  EXPECT_TRUE(absl::IsUnavailable(SendOne()));
}

// Until it is vacuumed. To ask whether it was committed would take such an id, too.
TEST_F(ConnectionPoolTest, AServerWithoutIdsForTransactionsIsAwayAndLeavesNoDoubt) {
  RefuseWrites("54000");
  EXPECT_TRUE(absl::IsUnavailable(SendOne()));
  EXPECT_EQ(runner_.stats().in_doubt, 0);
}

// As long as its disk is full, each try to write would cost all readers theirs.
TEST_F(ConnectionPoolTest, WhatAServerLacksCostsNoOtherConnection) {
  ConnectionPool other(Connect(), 1);
  const int before = LendOnce(other);
  for (const absl::string_view sqlstate : {"53100", "54000"}) {
    RefuseWrites(sqlstate);
    EXPECT_TRUE(absl::IsUnavailable(SendOne())) << sqlstate;
    EXPECT_EQ(LendOnce(other), before) << sqlstate;
  }
}

// Of a role that takes another one, e.g. where whoever logs in is another one each hour.
class RoleTakenTest : public ConnectionPoolTest {
 protected:
  RoleTakenTest() {
    database_.Execute(absl::Substitute(
        "CREATE ROLE $0; GRANT $0 TO muster_quota; GRANT USAGE ON SCHEMA quota TO $0;"
        " GRANT SELECT, UPDATE ON quota.journal_head, quota.journal TO $0;"
        " ALTER ROLE muster_quota IN DATABASE $1 SET role = $0",
        role_, database_.name()));
  }
  ~RoleTakenTest() override {
    database_.Execute(
        absl::Substitute("ALTER ROLE muster_quota IN DATABASE $1 RESET role;"
                         " DROP OWNED BY $0; DROP ROLE $0",
                         role_, database_.name()));
  }
  std::string Sessions(absl::string_view which) {
    return database_.QueryValue(absl::StrCat(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND ", which));
  }

  const std::string role_ = absl::StrCat("works_", database_.name());
};

TEST_F(RoleTakenTest, ALostSessionIsEnded) {
  const testing::OpenTransaction head = database_.Hold("SELECT FROM quota.journal_head FOR UPDATE");
  const std::string session = absl::StrCat("pid = ", LendOnce());
  TransactionRunner::Sent sent = runner_.Send(
      [](Transaction& tx) {
        tx.Queue(kWrite, {});
        return absl::OkStatus();
      },
      "run");
  testing::Until([&] { return Sessions(session + " AND wait_event_type = 'Lock'") == "1"; },
                 "a batch that waits for the head");
  shutdown(sent.socket().fd, SHUT_RDWR);
  bool again = false;
  const absl::Status status = runner_.Finish(
      std::move(sent), [](Transaction&) -> absl::StatusOr<bool> { return false; }, again);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(Sessions(session), "0") << "it may commit yet";
}

TEST_F(RoleTakenTest, WhoHoldsTheHeadIsEnded) {
  const testing::OpenTransaction half_sent =
      testing::HoldSql(conninfo_, "UPDATE quota.journal_head SET batch = 'x'");
  testing::Until(
      [&] { return Sessions("backend_xid IS NOT NULL AND wait_event = 'ClientRead'") == "1"; },
      "a session that waits for the rest");
  int ended = 0;
  EXPECT_THAT(runner_.RunStatement(
                  [&](Transaction& tx) {
                    ended = journal::EndStalled(tx, absl::ZeroDuration());
                    EXPECT_EQ(tx.Exec("SELECT current_user")[0][0].c_str(), role_);
                    return absl::OkStatus();
                  },
                  "free head"),
              IsOk());
  EXPECT_EQ(ended, 1);
}

// After a failover another session may have its number.
TEST_F(ConnectionPoolTest, ALostSessionIsEndedAtItsOwnServerOnly) {
  ConnectionPool other(Connect(), 1);
  const auto lent = other.Acquire(absl::InfiniteDuration());
  ASSERT_THAT(lent.status(), IsOk());
  const SessionId session{(*lent)->raw().backendpid(), (*lent)->server_start()};
  ASSERT_NE(session.server_start, "");
  const auto end = [&](const SessionId& lost) {
    return runner_.Run([&](Transaction& tx) { return EndSession(tx, lost); });
  };
  EXPECT_THAT(end({session.process, "2026-01-01 00:00:00+00"}), IsOk());
  EXPECT_FALSE((*lent)->HasNews());
  EXPECT_THAT(end(session), IsOk());
  EXPECT_TRUE((*lent)->HasNews());
}

// A server that hangs has not ended them, and each would be waited for.
TEST_F(ConnectionPoolTest, ALostConnectionIsOneOfAllPoolsOfTheServer) {
  ConnectionPool other(Connect(), 1);
  TransactionRunner others(&other, {});
  const auto ask = [&] {
    int session = 0;
    EXPECT_THAT(others.RunStatement([&](Transaction& tx) {
      session = tx.Exec("SELECT pg_backend_pid()")[0][0].as<int>();
      return absl::OkStatus();
    }),
                IsOk());
    return session;
  };
  const int before = ask();
  EXPECT_EQ(ask(), before);
  {
    const auto lent = other.Acquire(absl::InfiniteDuration());
    pool_.ConnectionLost();
  }
  EXPECT_NE(ask(), before) << "on loan";
  const int then = ask();
  pool_.ConnectionLost();
  EXPECT_NE(ask(), then) << "idle";
}

TEST_F(ConnectionPoolTest, TriesTheHostFirstThatTookWritesLast) {
  const std::string folder = database_.QueryValue("SHOW unix_socket_directories");
  const std::string nowhere = "host=/nowhere,";
  conninfo_ = absl::StrReplaceAll(conninfo_, {{"host=", nowhere}});
  ASSERT_THAT(conninfo_, ::testing::HasSubstr(nowhere));
  LendOnce();
  EXPECT_THAT(EffectiveConninfo(pool_.options()),
              ::testing::HasSubstr(absl::StrCat("host='", folder, ",/nowhere'")));
}

TEST_F(ConnectionPoolTest, TimesOfTheEnvironmentAreRefused) {
  for (const char* variable : {"PGTZ", "PGDATESTYLE"}) {
    setenv(variable, variable == absl::string_view("PGTZ") ? "Asia/Kolkata" : "German", 1);
    const absl::Status status = pool_.Acquire(absl::InfiniteDuration()).status();
    unsetenv(variable);
    EXPECT_TRUE(absl::IsUnavailable(status)) << variable;
    EXPECT_THAT(error::CauseOf(status), ::testing::HasSubstr("unset PGTZ and PGDATESTYLE"));
  }
  LendOnce();
}

TEST_F(ConnectionPoolTest, AServerLearnsThatItsClientsHostIsGone) {
  EXPECT_THAT(EffectiveConninfo(pool_.options()), ::testing::HasSubstr("-c tcp_keepalives_idle=5"));
  LendOnce();
}

}  // namespace
}  // namespace muster::storage
