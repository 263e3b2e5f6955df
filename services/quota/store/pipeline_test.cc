// One batch is on its way to the database, the next is decided on top of it.
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "services/quota/store/testing/lane_test_base.h"
#include "tests/testing/sql.h"

namespace muster::storage {
namespace {

using testing::Await;
using testing::IsOk;
using testing::StatusIs;

// By how many changes a batch has that is encoded before it can be sent: one of each, and none.
class QuotaPipelineTest : public QuotaLaneTest, public ::testing::WithParamInterface<size_t> {
 protected:
  // A command under way.
  struct Asked {
    std::promise<void> decided_once = {};
    std::atomic<int> decisions = 0;
    std::atomic<int64_t> held_before = -1;  // as its last decision saw it
    std::promise<absl::Status> answer = {};
    std::future<absl::Status> status = answer.get_future();

    void AwaitDecision() { Await(decided_once.get_future(), "a decision"); }
    bool answered() const {
      return status.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }
    absl::Status Status() { return Await(std::move(status), "an answer"); }
  };

  // Never locks the head only because it has not looked for long.
  static LaneOptions Lone() {
    LaneOptions options;
    options.encode_ahead = GetParam();
    options.max_time_age = absl::InfiniteDuration();
    return options;
  }

  // The server's, of the only lane that has written.
  int WritersProcess() const {
    return std::stoi(database_.QueryValue(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query = "
        "'COMMIT;'"));
  }

  // Puts a holding of `nodes`; the tables take none below zero.
  static std::shared_ptr<Asked> Ask(Lane& lane, const std::string& pool, int64_t nodes) {
    auto asked = std::make_shared<Asked>();
    lane.Submit(
        [asked, pool, nodes](StagedState<quota::State>& staged, absl::Time) {
          asked->held_before = staged.state().Held(QuotaName(kKey));
          staged.Put(quota::Holding{QuotaName(kKey), pool, nodes, 1, ""});
          if (++asked->decisions == 1) asked->decided_once.set_value();
          return absl::OkStatus();
        },
        [asked](const absl::Status& status, int64_t) { asked->answer.set_value(status); });
    return asked;
  }

  // Nobody commits as long as it is held.
  testing::OpenTransaction HoldHead() {
    return database_.Hold("SELECT 1 FROM quota.journal_head FOR UPDATE");
  }

  // Two under way: what is sent waits for the head, what is decided on it for that.
  void AskTwo(Lane& lane, int64_t first, int64_t second) {
    first_ = Ask(lane, "first", first);
    first_->AwaitDecision();
    second_ = Ask(lane, "second", second);
    second_->AwaitDecision();
  }

  // When a process dies that has two under way.
  enum class Dies { kBeforeTheFirstIsCommitted, kBeforeTheSecondIsSent };

  // Kills a process while a lane of it has two under way (EXPECT_EXIT begins that process, which
  // has another database, too). `database`, `service`: how to connect to the database of the
  // process that lives on.
  void DieWithTwoUnderWay(Dies dies, const std::string& database, const std::string& service) {
    LaneOptions options = Lone();
    std::atomic<int> sent = 0;
    options.yield = [&](LanePoint point) {
      if (point != LanePoint::kBeforeSend || ++sent != 2) return;
      if (dies == Dies::kBeforeTheSecondIsSent) kill(getpid(), SIGKILL);
    };
    options.connect.conninfo = service;
    options.connect.schema = "quota";
    const auto lane = Lane::Create(testing::Patient(std::move(options)), store_.get(), &clock_);
    if (!lane.ok()) throw std::runtime_error(lane.status().ToString());
    auto head = testing::HoldSql(database, "SELECT 1 FROM quota.journal_head FOR UPDATE");
    AskTwo(**lane, 1, 2);
    if (dies == Dies::kBeforeTheFirstIsCommitted) kill(getpid(), SIGKILL);
    head.reset();
    EXPECT_THAT(second_->Status(), IsOk()) << "the process lives";
  }

  // Another process is killed so, and its sessions have ended.
  void LetAnotherDie(Dies dies) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    // That process runs this, too, and finds here what this one has set.
    setenv("MUSTER_TEST_DATABASE", database_.conninfo().c_str(), 0);
    setenv("MUSTER_TEST_SERVICE", database_.conninfo("quota").c_str(), 0);
    EXPECT_EXIT(
        DieWithTwoUnderWay(dies, getenv("MUSTER_TEST_DATABASE"), getenv("MUSTER_TEST_SERVICE")),
        ::testing::KilledBySignal(SIGKILL), "");
    unsetenv("MUSTER_TEST_DATABASE");
    unsetenv("MUSTER_TEST_SERVICE");
    testing::Until(
        [&] {
          return database_.QueryValue(
                     "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
                     "usename = 'muster_quota'") == "0";
        },
        "the end of its sessions");
  }

  std::shared_ptr<Asked> first_;
  std::shared_ptr<Asked> second_;
};

INSTANTIATE_TEST_SUITE_P(EncodedAhead, QuotaPipelineTest, ::testing::Values(1, 1'000'000),
                         [](const auto& test) { return test.param == 1 ? "Small" : "None"; });

TEST_P(QuotaPipelineTest, TheNextIsDecidedOnWhatIsOnItsWay) {
  Lane& lane = NewLane(Lone());
  auto head = HoldHead();
  AskTwo(lane, 1, 2);
  EXPECT_EQ(second_->held_before, 1) << "decided without the one before";
  EXPECT_FALSE(first_->answered());
  EXPECT_FALSE(second_->answered());
  EXPECT_EQ(
      lane.Peek([](const quota::State& state, int64_t) { return state.Held(QuotaName(kKey)); }), 0)
      << "shown before it was committed";
  head.reset();
  EXPECT_THAT(first_->Status(), IsOk());
  EXPECT_THAT(second_->Status(), IsOk());
  EXPECT_EQ(first_->decisions, 1);
  EXPECT_EQ(second_->decisions, 1);
  EXPECT_EQ(lane.stats().batches, 2);
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 3);
}

// The server reads no more than a socket holds before it works on it: the lane does not stand still
// until it has.
TEST_P(QuotaPipelineTest, TheNextIsDecidedWhileALargeOneIsStillBeingSent) {
  Lane& lane = NewLane(Lone());
  auto head = HoldHead();
  constexpr int kHoldings = 20'000;  // some megabytes
  auto large = std::make_shared<Asked>();
  lane.Submit(
      [large](StagedState<quota::State>& staged, absl::Time) {
        for (int i = 0; i < kHoldings; ++i)
          staged.Put(quota::Holding{QuotaName(kKey), absl::StrCat("large-", i), 1, 1, ""});
        return absl::OkStatus();
      },
      [large](const absl::Status& status, int64_t) { large->answer.set_value(status); });
  const auto next = Ask(lane, "next", 2);
  next->AwaitDecision();
  EXPECT_EQ(next->held_before, kHoldings);
  EXPECT_FALSE(large->answered());
  head.reset();
  EXPECT_THAT(large->Status(), IsOk());
  EXPECT_THAT(next->Status(), IsOk());
  EXPECT_EQ(next->decisions, 1);
  EXPECT_EQ(ReadHeld(lane).value_or(-1), kHoldings + 2);
}

// Its sender stands still in the midst of it, and with it the head: nobody else waits for that for
// long.
TEST_P(QuotaPipelineTest, ABatchThatIsHalfSentKeepsNobodyFromTheHead) {
  std::promise<void> goes_on;
  std::shared_future<void> gone_on = goes_on.get_future().share();
  std::atomic<int> published = 0;
  LaneOptions options = Lone();
  options.encode_ahead = 1;
  options.yield = [&](LanePoint point) {
    if (point == LanePoint::kBeforePublish && ++published == 1) gone_on.wait();
  };
  Lane& lane = NewLane(options);
  auto head = HoldHead();
  first_ = Ask(lane, "first", 1);
  first_->AwaitDecision();
  auto large = std::make_shared<Asked>();
  lane.Submit(
      [large](StagedState<quota::State>& staged, absl::Time) {
        for (int i = 0; i < 60'000; ++i)
          staged.Put(quota::Holding{QuotaName(kKey), absl::StrCat("large-", i), 1, 1, ""});
        if (++large->decisions == 1) large->decided_once.set_value();
        return absl::OkStatus();
      },
      [large](const absl::Status& status, int64_t) { large->answer.set_value(status); });
  large->AwaitDecision();
  head.reset();
  testing::Until([&] { return published.load() == 1; }, "the first, committed");
  testing::Until(
      [&] {
        return database_.QueryValue(
                   "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND"
                   " backend_xid IS NOT NULL AND wait_event = 'ClientRead'") == "1";
      },
      "a session that waits for the rest");

  LaneOptions other = Lone();
  other.connect.statement_timeout = absl::Seconds(5);
  other.connect.idle_in_transaction_timeout = absl::Seconds(1);
  Lane& second = NewLane(other);
  testing::Until([&] { return Ask(second, "second", 2)->Status().ok(); }, "a commit by another");
  goes_on.set_value();
  EXPECT_THAT(first_->Status(), IsOk());
  EXPECT_THAT(large->Status(), IsOk()) << "it is sent again";
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 1 + 2 + 60'000);
  lanes_.pop_back();  // its sessions may not take the time that a comparison takes
}

TEST_P(QuotaPipelineTest, WhatStandsOnARefusedOneIsDecidedAgain) {
  Lane& lane = NewLane(Lone());
  auto head = HoldHead();
  AskTwo(lane, -7, 2);
  EXPECT_EQ(second_->held_before, -7);
  head.reset();
  EXPECT_THAT(first_->Status(), StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(second_->Status(), IsOk());
  EXPECT_EQ(second_->decisions, 2);
  EXPECT_EQ(second_->held_before, 0) << "decided on what was never committed";
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 2);
}

TEST_P(QuotaPipelineTest, TheSecondIsRefusedAlone) {
  Lane& lane = NewLane(Lone());
  auto head = HoldHead();
  AskTwo(lane, 1, -7);
  head.reset();
  EXPECT_THAT(first_->Status(), IsOk());
  EXPECT_THAT(second_->Status(), StatusIs(absl::StatusCode::kInternal));
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 1);
}

// A lane whose next COMMITs are done and reported as lost, so many, and whose doubt is settled in
// vain, so often.
LaneOptions Doubtful(LaneOptions options, const std::shared_ptr<std::atomic<int>>& commits,
                     const std::shared_ptr<std::atomic<int>>& settles) {
  options.runner.fault = [=](absl::string_view site) -> Fault {
    if (site == "write/commit" && commits->fetch_sub(1) > 0)
      return {.after = testing::kLoseConnection};
    if (site == "settle/SELECT 1 FROM journal_head FOR UPDATE" && settles->fetch_sub(1) > 0)
      return {.before = testing::kLoseConnection};
    return {};
  };
  return options;
}

TEST_P(QuotaPipelineTest, DoubtOfBothIsSettledForBoth) {
  const auto commits = std::make_shared<std::atomic<int>>(2);
  LaneOptions options = Doubtful(Lone(), commits, std::make_shared<std::atomic<int>>(0));
  // The lost session has ended before anybody looks for that: who has to wait for it says so to
  // those behind.
  options.runner.fault = [this, doubtful = options.runner.fault](absl::string_view site) {
    if (site == "settle/session_end") {
      testing::Until(
          [&] {
            return database_.QueryValue(
                       "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                       "AND"
                       " pid <> pg_backend_pid() AND query LIKE"
                       " '%pg_terminate_backend(pg_backend_pid())%'") == "0";
          },
          "the end of the lost session");
    }
    return doubtful(site);
  };
  Lane& lane = NewLane(options);
  auto head = HoldHead();
  AskTwo(lane, 1, 2);
  head.reset();
  EXPECT_THAT(first_->Status(), IsOk());
  EXPECT_THAT(second_->Status(), IsOk());
  EXPECT_EQ(lane.stats().in_doubt, 2);
  EXPECT_EQ(lane.stats().changes, 2) << "done twice";
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 3);
}

TEST_P(QuotaPipelineTest, NobodyWaitsBehindADoubtThatLasts) {
  const auto commits = std::make_shared<std::atomic<int>>(1);
  Lane& lane = NewLane(Doubtful(Lone(), commits, std::make_shared<std::atomic<int>>(2)));
  auto head = HoldHead();
  AskTwo(lane, 1, 2);
  head.reset();
  EXPECT_THAT(second_->Status(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(first_->Status(), IsOk());
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 1) << "what was answered as not done was done";
}

TEST_P(QuotaPipelineTest, AnotherReplicaMayCommitBetweenThem) {
  std::atomic<Lane*> other = nullptr;
  LaneOptions options = Lone();
  options.poll = absl::Hours(1);
  options.yield = [&](LanePoint point) {
    if (point != LanePoint::kBeforeSend) return;
    if (Lane* const lane = other.exchange(nullptr)) {
      EXPECT_THAT(Do(*lane, Want("between", 0)), IsOk());
    }
  };
  Lane& lane = NewLane(options);
  Lane& between = NewLane();
  auto head = HoldHead();
  AskTwo(lane, 1, 2);
  other = &between;
  head.reset();
  EXPECT_THAT(first_->Status(), IsOk());
  EXPECT_THAT(second_->Status(), IsOk());
  EXPECT_EQ(second_->decisions, 2) << "committed without a look at what came before";
  EXPECT_EQ(lane.revision(), 3);
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 3);
}

// Cannot write a pool whose name is "bad".
class PickyStore final : public ForwardingStore {
 public:
  void Write(StatementSink& out, absl::Span<const Revised<Change>> changes) const override {
    ++writes_;
    for (const Revised<Change>& change : changes) {
      if (absl::EndsWith(change.change.key, "/bad")) throw std::runtime_error("bad");
    }
    ForwardingStore::Write(out, changes);
  }
  // Batches that were encoded.
  int writes() const { return writes_; }

 private:
  mutable std::atomic<int> writes_ = 0;
};

TEST_P(QuotaPipelineTest, ALargeOneIsEncodedWhileTheOtherIsOut) {
  const auto store = std::make_shared<const PickyStore>();
  Lane& lane = NewLane(Lone(), store);
  auto head = HoldHead();
  AskTwo(lane, 1, 2);
  if (GetParam() == 1)
    testing::Until([&] { return store->writes() == 2; }, "the second to be encoded");
  EXPECT_EQ(store->writes(), GetParam() == 1 ? 2 : 1);
  const auto third = Ask(lane, "third", 4);
  head.reset();
  EXPECT_THAT(first_->Status(), IsOk());
  EXPECT_THAT(second_->Status(), IsOk());
  EXPECT_THAT(third->Status(), IsOk());
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 7);
}

// Though others wait.
TEST_P(QuotaPipelineTest, AFullOneIsEncodedWhileTheOtherIsOut) {
  const auto store = std::make_shared<const PickyStore>();
  LaneOptions options = Lone();
  options.encode_ahead = 1;
  options.max_batch = 1;
  options.decide_ahead = 1;
  Lane& lane = NewLane(options, store);
  auto head = HoldHead();
  AskTwo(lane, 1, 2);
  const auto third = Ask(lane, "third", 4);
  testing::Until([&] { return store->writes() == 2; }, "the second to be encoded");
  head.reset();
  EXPECT_THAT(first_->Status(), IsOk());
  EXPECT_THAT(second_->Status(), IsOk());
  EXPECT_THAT(third->Status(), IsOk());
}

TEST_P(QuotaPipelineTest, WhatCannotBeEncodedFailsAlone) {
  Lane& lane = NewLane(Lone(), std::make_shared<const PickyStore>());
  auto head = HoldHead();
  AskTwo(lane, 1, 2);
  const auto bad = Ask(lane, "bad", 4);
  head.reset();
  EXPECT_THAT(first_->Status(), IsOk());
  EXPECT_THAT(second_->Status(), IsOk());
  EXPECT_THAT(bad->Status(), StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(Ask(lane, "last", 8)->Status(), IsOk());
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 11);
}

TEST_P(QuotaPipelineTest, ALostConnectionCostsNeither) {
  Lane& lane = NewLane(Lone());
  auto head = HoldHead();
  AskTwo(lane, 1, 2);
  testing::Until([&] { return database_.TerminateBackends("quota") > 0; }, "a session to end");
  head.reset();
  EXPECT_THAT(first_->Status(), IsOk());
  EXPECT_THAT(second_->Status(), IsOk());
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 3);
  EXPECT_EQ(CountOf("journal"), 2);
}

// The files of this process that are sockets.
std::set<int> Sockets() {
  std::set<int> sockets;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (absl::StartsWith(target, "socket:")) sockets.insert(std::stoi(entry.path().filename()));
  }
  return sockets;
}

// What was sent to a session that does not run is committed when that session goes on, however long
// its client has been gone, unless somebody sees to it.
TEST_P(QuotaPipelineTest, WhatALostSessionMayStillCommitIsNotCalledUndone) {
  LaneOptions options = Lone();
  options.runner.retry_budget = absl::ZeroDuration();
  Lane& lane = NewLane(std::move(options));
  const std::set<int> before = Sockets();
  ASSERT_THAT(Ask(lane, "first", 1)->Status(), IsOk());
  std::set<int> writers = Sockets();
  for (const int socket : before) writers.erase(socket);
  const int pid = WritersProcess();

  kill(pid, SIGSTOP);
  const auto asked = Ask(lane, "second", 2);
  const auto unread = [](int socket) {
    int bytes = 0;
    return ioctl(socket, TIOCOUTQ, &bytes) == 0 && bytes > 0;
  };
  testing::Until([&] { return std::any_of(writers.begin(), writers.end(), unread); },
                 "a batch on its way");
  for (const int socket : writers) shutdown(socket, SHUT_RDWR);
  testing::Until(
      [&] {
        return asked->answered() || database_.QueryValue(
                                        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE "
                                        "'%pg_terminate_backend(pid%' AND pid <> "
                                        "pg_backend_pid()") != "0";
      },
      "an answer, or that somebody ends the session");
  kill(pid, SIGCONT);
  testing::Until([&] { return kill(pid, 0) != 0; }, "the end of the session");
  const bool committed = CountOf("journal") == 2;
  EXPECT_EQ(asked->Status().ok(), committed);
}

TEST_P(QuotaPipelineTest, AServerThatHangsIsNotWaitedForWithoutAWord) {
  LaneOptions options = Lone();
  // A server that is stopped keeps no timeout of its own: what counts is the sum.
  options.connect.statement_timeout = absl::Minutes(1);
  options.connect.answer_grace = absl::Seconds(1) - absl::Minutes(1);
  Lane& lane = NewLane(std::move(options));
  ASSERT_THAT(Ask(lane, "first", 1)->Status(), IsOk());
  const int pid = WritersProcess();
  kill(pid, SIGSTOP);
  const auto asked = Ask(lane, "second", 2);
  testing::Until([&] { return !lane.ready(); }, "the lane's word that the database is away");
  EXPECT_FALSE(asked->answered()) << "it may still be done";
  kill(pid, SIGCONT);
  const absl::Status status = asked->Status();
  EXPECT_EQ(status.ok(), CountOf("journal") == 2) << status;
  testing::Until([&] { return lane.ready(); }, "the lane's word that the database is back");
}

// Its server answers nobody, and yet stands: an end that says goodbye to it must not wait for that.
TEST_P(QuotaPipelineTest, AFrozenListenerHoldsUpNoEnd) {
  Lane& lane = NewLane(Lone());
  const std::string listens =
      "SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE datname = current_database() AND"
      " application_name LIKE '%-tailer%' AND query LIKE 'LISTEN%'";
  testing::Until([&] { return database_.QueryValue(listens) != "0"; }, "LISTEN");
  const int pid = std::stoi(database_.QueryValue(listens));
  kill(pid, SIGSTOP);
  auto stopped = std::async(std::launch::async, [&] { lane.Stop(); });
  const bool ended = stopped.wait_for(testing::kPatience) == std::future_status::ready;
  kill(pid, SIGCONT);
  EXPECT_TRUE(ended);
  stopped.get();
  lanes_.clear();
}

TEST_P(QuotaPipelineTest, AComparisonFindsNothingUnderWay) {
  Lane& lane = NewLane(Lone());
  auto head = HoldHead();
  AskTwo(lane, 1, 2);
  auto compared = std::async(std::launch::async, [&] { return lane.Compare(); });
  head.reset();
  const absl::StatusOr<Comparison> comparison = Await(std::move(compared), "a comparison");
  ASSERT_THAT(comparison, IsOk());
  EXPECT_THAT(comparison->differences, ::testing::IsEmpty());
  EXPECT_THAT(second_->Status(), IsOk());
}

// Who is decided and not sent is told so at once, not when what is sent is through.
TEST_P(QuotaPipelineTest, WhatIsNotSentWhenTheIntakeEndsIsNotDone) {
  Lane& lane = NewLane(Lone());
  auto head = HoldHead();
  AskTwo(lane, 1, 2);
  lane.StopIntake();
  EXPECT_THAT(second_->Status(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_FALSE(first_->answered());
  head.reset();
  EXPECT_THAT(first_->Status(), IsOk());
  EXPECT_EQ(CountOf("holding"), 1);
  lane.Stop();
  lanes_.clear();
}

// What the end of a process leaves is what it answered: the next one goes on from there.
TEST_P(QuotaPipelineTest, TheEndLeavesWhatWasAnswered) {
  Lane& lane = NewLane(Lone());
  auto head = HoldHead();
  AskTwo(lane, 1, 2);
  auto stopped = std::async(std::launch::async, [&] { lane.Stop(); });
  const absl::Status second = second_->Status();  // told when the intake ends
  head.reset();
  const absl::Status first = first_->Status();
  Await(std::move(stopped), "the lane's end");
  lanes_.clear();
  EXPECT_EQ(ReadHeld(NewLane()).value_or(-1), (first.ok() ? 1 : 0) + (second.ok() ? 2 : 0));
}

// Small ones are sent before what is committed is published: nobody has heard of the first when the
// process dies.
TEST_P(QuotaPipelineTest, AProcessKilledBetweenTheTwoLeavesTheFirst) {
  LetAnotherDie(Dies::kBeforeTheSecondIsSent);
  EXPECT_EQ(CountOf("journal"), 1);
  Lane& lane = NewLane(Lone());
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 1);
  EXPECT_EQ(lane.revision(), 1);
  EXPECT_THAT(Ask(lane, "second", 2)->Status(), IsOk());
  EXPECT_EQ(lane.revision(), 2);
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 3);
}

// What is sent may be committed by a session whose client is dead; what stands on it never is.
TEST_P(QuotaPipelineTest, AProcessKilledBeforeTheAnswerLeavesTheFirstOrNothing) {
  LetAnotherDie(Dies::kBeforeTheFirstIsCommitted);
  const int64_t journal = CountOf("journal");
  EXPECT_LE(journal, 1);
  Lane& lane = NewLane(Lone());
  EXPECT_EQ(ReadHeld(lane).value_or(-1), journal);
  EXPECT_EQ(lane.revision(), journal);
  EXPECT_THAT(Ask(lane, "second", 2)->Status(), IsOk());
  EXPECT_EQ(ReadHeld(lane).value_or(-1), journal + 2);
}

// One that takes long to decide does not hold up the answer to who came before.
TEST_P(QuotaPipelineTest, FewAreDecidedBeforeTheLaneLooksForAnAnswer) {
  LaneOptions options = Lone();
  options.decide_ahead = 1;
  Lane& lane = NewLane(options);
  auto head = HoldHead();
  first_ = Ask(lane, "first", 1);
  first_->AwaitDecision();
  std::promise<void> blocks, goes_on;
  std::vector<std::future<absl::Status>> others;
  std::atomic<int> decided = 0;
  for (int i = 0; i < 3; ++i) {
    const auto answer = std::make_shared<std::promise<absl::Status>>();
    others.push_back(answer->get_future());
    lane.Submit(
        [&, i](StagedState<quota::State>&, absl::Time) {
          if (++decided == 1) {
            blocks.set_value();
            goes_on.get_future().wait();
          } else if (i == 2) {
            EXPECT_EQ(lane.revision(), 1) << "its answer was there before this was decided";
          }
          return absl::OkStatus();
        },
        [answer](const absl::Status& status, int64_t) { answer->set_value(status); });
  }
  Await(blocks.get_future(), "the lane at its next decision");
  head.reset();
  // A commit is seen before its session has answered: it has when it waits for the next word. The
  // session of the load has said COMMIT, too, without a semicolon.
  testing::Until(
      [&] {
        return CountOf("journal") == 1 &&
               database_.QueryValue(
                   "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
                   "query = 'COMMIT;' AND state = 'idle' AND wait_event = 'ClientRead'") == "1";
      },
      "the answer to the first");
  goes_on.set_value();
  for (auto& other : others) EXPECT_THAT(Await(std::move(other), "an answer"), IsOk());
}

}  // namespace
}  // namespace muster::storage
