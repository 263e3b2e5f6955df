// Commits of which nobody can say at first whether they were done.
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "services/quota/store/testing/lane_test_base.h"

namespace muster::storage {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::kLoseConnection;
using ::muster::testing::StatusIs;
using ::testing::IsEmpty;

// What is to happen once: the next commit is done and reported as lost; then, before anybody asks
// what became of it, `meanwhile`.
struct Doubt {
  std::atomic<bool> lose = false;
  std::function<void()> meanwhile = {};
};

LaneOptions Doubting(const std::shared_ptr<Doubt>& doubt) {
  LaneOptions options;
  options.runner.fault = [doubt](absl::string_view site) -> Fault {
    if (site == "write/commit" && doubt->lose.exchange(false)) return {.after = kLoseConnection};
    if (absl::StartsWith(site, "settle/")) {
      if (auto meanwhile = std::exchange(doubt->meanwhile, nullptr)) meanwhile();
    }
    return {};
  };
  return options;
}

class QuotaDoubtTest : public QuotaLaneTest {
 protected:
  // Not idempotent: twice would show.
  static absl::Status OneMore(Lane& lane) {
    return DoDecide(lane, [](StagedState<quota::State>& staged, absl::Time) {
      const auto* before =
          staged.state().table<quota::Holding>().Find(QuotaName(kKey) + "/holdings/a");
      staged.Put(
          quota::Holding{QuotaName(kKey), "a", (before == nullptr ? 0 : before->nodes) + 1, 1, ""});
      return absl::OkStatus();
    });
  }
  const std::shared_ptr<Doubt> doubt_ = std::make_shared<Doubt>();
};

TEST_F(QuotaDoubtTest, ACommitWhoseJournalWasCompactedIsKnownByTheHead) {
  Lane& lane = NewLane(Doubting(doubt_));
  ASSERT_THAT(OneMore(lane), IsOk());
  doubt_->meanwhile = [&] {
    database_.Execute(
        "UPDATE quota.journal_head SET compacted_revision = revision; DELETE FROM quota.journal");
  };
  doubt_->lose = true;
  EXPECT_THAT(OneMore(lane), IsOk());
  EXPECT_EQ(database_.QueryValue("SELECT sum(nodes) FROM quota.holding"), "2") << "done twice";
}

TEST_F(QuotaDoubtTest, WhatNeitherHeadNorJournalCanTellIsUnknownAndNotDoneAgain) {
  Lane& lane = NewLane(Doubting(doubt_));
  Lane& other = NewLane();
  ASSERT_THAT(OneMore(lane), IsOk());
  doubt_->meanwhile = [&] {
    EXPECT_THAT(Do(other, quota::UpdateQuota{kKey, 10, "", true}), IsOk());
    database_.Execute(
        "UPDATE quota.journal_head SET compacted_revision = revision; DELETE FROM quota.journal");
  };
  doubt_->lose = true;
  EXPECT_THAT(OneMore(lane), StatusIs(absl::StatusCode::kUnknown));
  EXPECT_EQ(database_.QueryValue("SELECT sum(nodes) FROM quota.holding"), "2") << "done twice";
  EXPECT_THAT(OneMore(lane), IsOk());
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 3);
}

// On a server of its own, whose settings it changes.
class QuotaStandbyTest : public ::testing::Test {
 protected:
  void WaitFor(const std::string& standby) {
    database_.Execute("ALTER SYSTEM SET synchronous_standby_names = '" + standby + "'");
    database_.Execute("SELECT pg_reload_conf()");
    if (!standby.empty()) AwaitWaits();
  }
  // Commits wait once the checkpointer has read the setting, too.
  void AwaitWaits() {
    std::atomic<bool> waits = false;
    auto commits = std::async(std::launch::async, [&] {
      while (!waits) database_.Execute("SELECT pg_logical_emit_message(true, 'test', '')");
    });
    const absl::Cleanup over = [&] { waits = true; };  // else the future would wait for ever
    testing::Until([&] { return !Waiting().empty(); }, "a commit that waits");
    waits = true;
    database_.Execute(
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    commits.get();
  }
  // Backends of the lane whose COMMIT waits for a standby.
  std::set<std::string> Waiting() {
    std::set<std::string> backends;
    for (const auto& row : database_.Query(
             "SELECT pid || ' ' || query_start FROM pg_stat_activity WHERE wait_event = 'SyncRep'"))
      backends.insert(*row[0]);
    return backends;
  }

  const std::unique_ptr<testing::PostgresCluster> cluster_ = testing::PostgresCluster::StartOwn();
  testing::TestDatabase database_{{}, *cluster_};
  const std::unique_ptr<const Store<quota::State>> store_ = NewQuotaStore();
};

TEST_F(QuotaStandbyTest, ACommitThatIsCancelledWhileItWaitsForItsStandbyIsNotToldAsDone) {
  LaneOptions options;
  options.connect = {.conninfo = database_.conninfo("quota"), .schema = "quota"};
  const auto lane = Lane::Create(testing::Patient(options), store_.get()).value();
  WaitFor("missing");
  std::promise<absl::Status> told;
  std::atomic<bool> answered = false;
  lane->Submit(
      [](StagedState<quota::State>& staged, absl::Time) {
        staged.Put(quota::Holding{QuotaName(kKey), "a", 1, 1, ""});
        return absl::OkStatus();
      },
      [&](const absl::Status& status, int64_t) {
        answered = true;
        told.set_value(status);
      });
  std::set<std::string> first;
  while (first.empty()) first = Waiting();
  database_.Execute(
      "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  // Whatever comes next: the answer, or a question that waits for the standby too.
  std::set<std::string> second;
  while (!answered && (second.empty() || second == first)) second = Waiting();
  EXPECT_FALSE(answered) << "told as done, and no standby has it";
  WaitFor("");
  EXPECT_THAT(told.get_future().get(), IsOk());
  EXPECT_EQ(lane->stats().in_doubt, 1);
  EXPECT_EQ(database_.QueryValue("SELECT sum(nodes) FROM quota.holding"), "1");
}

// A primary that was frozen, and does not know that another one leads, still says where its head
// is; only a commit that a standby acknowledges shows that it leads.
TEST_F(QuotaStandbyTest, AReadIsNotAnsweredByAServerThatNoStandbyFollows) {
  LaneOptions options;
  options.connect = {.conninfo = database_.conninfo("quota"), .schema = "quota"};
  const auto lane = Lane::Create(testing::Patient(options), store_.get()).value();
  const auto read = [&] {
    auto told = std::make_shared<std::promise<absl::Status>>();
    lane->Read([told](const absl::Status& status, const quota::State*, int64_t) {
      told->set_value(status);
    });
    return told->get_future();
  };
  EXPECT_THAT(testing::Await(read(), "a read without standbys"), IsOk());
  WaitFor("missing");
  std::future<absl::Status> first = read();
  testing::Until([&] { return !Waiting().empty(); }, "a read that waits for a standby");
  EXPECT_NE(first.wait_for(std::chrono::milliseconds(300)), std::future_status::ready);
  // Nor by one that gives up waiting: that standby has nothing.
  database_.Execute(
      "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  testing::Until([&] { return !Waiting().empty(); }, "that it asks again");
  EXPECT_NE(first.wait_for(std::chrono::milliseconds(300)), std::future_status::ready);
  WaitFor("");
  EXPECT_THAT(testing::Await(std::move(first), "the read"), IsOk());
  EXPECT_THAT(testing::Await(read(), "a read without standbys again"), IsOk());
}

// A lane whose next writes lose their connection at the given places, once each: before the head is
// moved (`move`), or looked at where nothing changes (`expect`), before COMMIT (`commit`), or after
// it (`committed`).
LaneOptions Breaking(std::shared_ptr<std::multiset<std::string>> places) {
  LaneOptions options;
  options.runner.fault = [places](absl::string_view site) -> Fault {
    const auto take = [&](const std::string& place) {
      const auto it = places->find(place);
      if (it == places->end()) return false;
      places->erase(it);
      return true;
    };
    if (site == "write/commit" && take("commit")) return {.before = kLoseConnection};
    if (site == "write/commit" && take("committed")) return {.after = kLoseConnection};
    if (site == "write/journal_move" && take("move")) return {.before = kLoseConnection};
    if (site == "write/journal_expect" && take("expect")) return {.before = kLoseConnection};
    return {};
  };
  return options;
}

TEST_F(QuotaLaneTest, ACommitThatWasDoneButReportedAsLostIsDoneOnce) {
  auto faults = std::make_shared<std::multiset<std::string>>();
  Lane& lane = NewLane(Breaking(faults));
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 5, "", true}), IsOk());
  for (int round = 0; round < 5; ++round) {
    faults->insert("committed");
    // Not idempotent on purpose: twice would show.
    ASSERT_THAT(
        DoDecide(lane,
                 [](StagedState<quota::State>& staged, absl::Time) {
                   const auto* before =
                       staged.state().table<quota::Holding>().Find(QuotaName(kKey) + "/holdings/a");
                   staged.Put(quota::Holding{QuotaName(kKey), "a",
                                             (before == nullptr ? 0 : before->nodes) + 1, 1, ""});
                   return absl::OkStatus();
                 }),
        IsOk());
    EXPECT_THAT(*faults, IsEmpty());
  }
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 5);
  EXPECT_EQ(lane.stats().in_doubt, 5);
}

TEST_F(QuotaLaneTest, ACommitThatWasLostIsDoneAgain) {
  auto faults = std::make_shared<std::multiset<std::string>>();
  Lane& lane = NewLane(Breaking(faults));
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 5, "", true}), IsOk());
  *faults = {"move", "commit", "commit"};
  ASSERT_THAT(Do(lane, Want("a", 3)), IsOk());
  EXPECT_THAT(*faults, IsEmpty());
  *faults = {"expect"};
  ASSERT_THAT(Do(lane, Want("a", 3)), IsOk()) << "which changes nothing";
  EXPECT_THAT(*faults, IsEmpty());
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 3);
}

TEST_F(QuotaLaneTest, ACommitThatWasLostForTooLongIsUnavailableNotUnknown) {
  auto faults = std::make_shared<std::multiset<std::string>>();
  LaneOptions options = Breaking(faults);
  options.runner.retry_budget = absl::ZeroDuration();
  Lane& lane = NewLane(options);
  *faults = {"commit"};
  EXPECT_THAT(Do(lane, Want("a", 0)), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(CountOf("holding"), 0);
  EXPECT_THAT(Do(lane, Want("a", 0)), IsOk());
}

TEST_F(QuotaLaneTest, AnotherReplicaMayCommitBeforeAnUnknownOutcomeIsSettled) {
  auto faults = std::make_shared<std::multiset<std::string>>();
  std::atomic<Lane*> other = nullptr;
  LaneOptions options;
  options.runner.fault = [faults, &other](absl::string_view site) -> Fault {
    if (site == "write/commit" && faults->erase("committed") > 0) return {.after = kLoseConnection};
    // The head no longer bears our batch's id when we ask; the journal's row does.
    if (absl::StartsWith(site, "settle/") && faults->erase("settle") > 0) {
      EXPECT_THAT(Do(*other, Want("other", 1)), IsOk());
    }
    return {};
  };
  Lane& lane = NewLane(options);
  other = &NewLane();
  ASSERT_THAT(Do(lane, quota::UpdateQuota{kKey, 9, "", true}), IsOk());
  *faults = {"committed", "settle"};
  ASSERT_THAT(Do(lane, Want("a", 3)), IsOk());
  EXPECT_THAT(*faults, IsEmpty());
  EXPECT_EQ(ReadHeld(lane).value_or(-1), 4);
  EXPECT_EQ(CountOf("journal"), 3);
}

}  // namespace
}  // namespace muster::storage
