#include "storage/postgres/connection_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/cause.h"
#include "storage/postgres/connection.h"
#include "storage/postgres/transaction.h"
#include "storage/postgres/transaction_runner.h"
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
  int LendOnce() {
    const auto loan = pool_.Acquire(absl::InfiniteDuration());
    EXPECT_THAT(loan.status(), IsOk());
    return loan.ok() ? (*loan)->raw().backendpid() : 0;
  }
  // As a server that is stopped does, with whoever is connected and says nothing.
  void End(int session) {
    EXPECT_EQ(
        database_.QueryValue(absl::StrCat("SELECT pg_terminate_backend(", session, ", 60000)")),
        "t");
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
  database_.Execute(
      "CREATE FUNCTION public.ends() RETURNS trigger LANGUAGE plpgsql AS"
      " $$ BEGIN RAISE EXCEPTION 'transaction timeout' USING ERRCODE = '25P04'; END $$");
  database_.Execute(
      "CREATE TRIGGER ends BEFORE UPDATE ON quota.journal_head"
      " FOR EACH ROW EXECUTE FUNCTION public.ends()");
  EXPECT_TRUE(absl::IsUnavailable(SendOne()));
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
