// A server that hangs: its kernel answers, so that no timeout of TCP ends the wait, and Postgres'
// own are its own to keep.
#include "storage/postgres/answer_watchdog.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "storage/postgres/connection.h"
#include "storage/postgres/connection_pool.h"
#include "storage/postgres/transaction.h"
#include "storage/postgres/transaction_runner.h"
#include "storage/postgres/wakeup.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::storage {
namespace {

using ::muster::testing::IsOk;

constexpr absl::Duration kPatience = absl::Milliseconds(200);
constexpr Statement kWrite = {"test_write", "UPDATE journal_head SET batch = 'x'"};
constexpr Statement kAsk = {"test_ask", "SELECT pg_backend_pid()"};

TEST(AnswerWatchdog, CutsWhatOwesAnAnswerForTooLong) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  AnswerWatchdog watchdog(kPatience);
  const auto socket = std::make_shared<AskedSocket>(ends[0]);
  watchdog.Watch(socket);
  pollfd cut = {ends[0], POLLIN, 0};
  EXPECT_EQ(poll(&cut, 1, static_cast<int>(absl::ToInt64Milliseconds(3 * kPatience))), 0)
      << "owes nothing";
  socket->Asks();
  socket->Heard();
  EXPECT_EQ(poll(&cut, 1, static_cast<int>(absl::ToInt64Milliseconds(3 * kPatience))), 0)
      << "has answered";
  socket->Asks();
  testing::Until([&] { return IsReadable(ends[0]); }, "the cut");
  close(ends[0]);
  close(ends[1]);
}

// Its number may be another's by then.
TEST(AnswerWatchdog, LeavesAloneWhatHasTheNumberOfAClosedSocket) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const auto socket = std::make_shared<AskedSocket>(ends[0]);
  socket->Asks();
  int others[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, others), 0);
  ASSERT_EQ(dup3(others[0], ends[0], O_CLOEXEC), ends[0]);
  socket->CutIfOwed(std::chrono::nanoseconds(0));
  EXPECT_FALSE(IsReadable(ends[0])) << "another's was cut";
  EXPECT_TRUE(IsReadable(ends[1]));
  for (const int end : {ends[0], ends[1], others[0], others[1]}) close(end);
}

class HungServerTest : public ::testing::Test {
 protected:
  ~HungServerTest() override { Wake(); }

  // Of the only connection: its server's process stops.
  void Hang() {
    EXPECT_THAT(Ask(), IsOk());
    hung_ = session_;
    kill(hung_, SIGSTOP);
  }
  void Wake() {
    if (hung_ != 0) kill(hung_, SIGCONT);
  }
  // Who serves, into session_.
  absl::Status Ask() {
    return runner_.RunStatement([this](Transaction& tx) {
      session_ = tx.Exec(kAsk)[0][0].as<int>();
      return absl::OkStatus();
    });
  }

  testing::TestDatabase database_;
  ConnectionPool pool_{
      {.conninfo = database_.conninfo("quota"),
       .schema = "quota",
       // A process that is stopped keeps no timeout of its own: what counts is the sum.
       .statement_timeout = absl::Minutes(1),
       .answer_grace = kPatience - absl::Minutes(1)},
      1};
  std::function<void()> on_doubt_;
  TransactionRunner runner_{&pool_, {.retry_budget = absl::Minutes(1), .on_doubt = [this] {
                                       if (on_doubt_) on_doubt_();
                                     }}};
  int session_ = 0;
  int hung_ = 0;
};

TEST_F(HungServerTest, IsNotWaitedForAndAnotherConnectionServes) {
  Hang();
  EXPECT_THAT(Ask(), IsOk());
  EXPECT_NE(session_, hung_);
}

TEST_F(HungServerTest, ATransactionIsTriedAgain) {
  Hang();
  EXPECT_THAT(runner_.Run([](Transaction& tx) {
    tx.Queue(kWrite, {});
    tx.ChangesNothing();
    return absl::OkStatus();
  }),
              IsOk());
}

// It may still be done, should the server wake: nobody is told anything before that session has
// ended.
TEST_F(HungServerTest, ACommitThatItOwesIsInDoubtUntilItsSessionHasEnded) {
  Hang();
  TransactionRunner::Sent sent = runner_.Send(
      [](Transaction& tx) {
        tx.Queue(kWrite, {});
        return absl::OkStatus();
      },
      "run");
  testing::Until([&] { return IsReadable(sent.socket().fd); }, "the end of the connection");
  int doubts = 0;
  on_doubt_ = [&] {
    if (++doubts == 3) Wake();
  };
  bool committed = false;
  bool again = false;
  const absl::Status status = runner_.Finish(
      std::move(sent),
      [&](Transaction& tx) -> absl::StatusOr<bool> {
        committed =
            tx.Exec("SELECT count(*) FROM journal_head WHERE batch = 'x'")[0][0].as<int>() == 1;
        return committed;
      },
      again);
  EXPECT_GE(doubts, 3);
  EXPECT_EQ(runner_.stats().in_doubt, 1);
  EXPECT_EQ(status.ok(), committed);
  EXPECT_EQ(database_.QueryValue("SELECT count(*) FROM quota.journal_head WHERE batch = 'x'"),
            committed ? "1" : "0");
}

}  // namespace
}  // namespace muster::storage
