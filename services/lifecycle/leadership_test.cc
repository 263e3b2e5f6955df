// Who leads: the reconciler on a real Postgres with the other services played.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/lifecycle_service.h"
#include "services/lifecycle/peers/known_claims.h"
#include "services/lifecycle/testing/leadership_test_base.h"
#include "services/lifecycle/testing/service_test_base.h"
#include "tests/testing/counted_lines.h"
#include "tests/testing/metric_value.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"

namespace muster::lifecycle {
namespace {

using ::muster::testing::IsOk;

// A lease that lasts longer than a test waits.
class LongLead : public Leadership {
 protected:
  LongLead() : Leadership(absl::Minutes(5)) {}
};

// Whoever commits: every replica sees it happen.
TEST_F(Leadership, WhatHappensIsCountedByEveryReplica) {
  LeadWithA();
  const std::string pool = absl::StrCat(kCluster, "/nodePools/first");
  std::string node;
  Until([&] {
    b_->lane().Peek([&](const State& state, int64_t) {
      const std::vector<const Node*> nodes = state.NodesOf(pool);
      if (!nodes.empty() && nodes[0]->desired.phase == Phase::kRunning) node = nodes[0]->name;
    });
    return !node.empty();
  });
  Submit(*b_, ReportNode{.node = node, .observation = ReportNode::Observation::kBootStarted});
  for (LifecycleService* service : {a_.get(), b_.get()}) {
    Until(
        [&] {
          return testing::MetricSum(*service->census_collectable(),
                                    "muster_lifecycle_node_moves_total") == 1;
        },
        "a Node that moved");
  }
}

// What comes due at a follower is the leader's work: nothing of it is kept, and nothing missed when
// the follower comes to lead.
TEST_F(Leadership, AFollowerKeepsNothingThatIsDue) {
  LeadWithA();
  for (int i = 0; i < 5; ++i) {
    const std::string pool = Apply(absl::StrCat("brief-", i), 0);
    Submit(*b_, DeleteNodePool{.name = pool});
    Until(
        [&] {
          return b_->lane().Peek([&](const State& state, int64_t) {
            return state.table<Pool>().Find(pool) == nullptr;
          });
        },
        "the end of a pool");
  }
  // On a busy machine it may come to lead.
  Until([&] { return b_->epoch() != 0 || Metric(*b_, "muster_lifecycle_scheduled_pools") == 0; },
        "an empty queue");
  a_->StopReconciling();
  const std::string pool = Apply("between", 1);
  Until([&] { return NodesOf(*b_, pool) == 1; });
  ExpectBTakesOver();
}

TEST_F(Leadership, WhoseWritesFailDoesNotLead) {
  LeadWithA();
  trouble_.fails_all = true;
  ExpectBTakesOver();
}

TEST_F(Leadership, WhoseChangesAreRefusedByTheTablesDoesNotLead) {
  LeadWithA();
  trouble_.fails_journal = true;
  // An empty command would still be committed: it takes a plan that fails to tell.
  Apply("third", 1);
  ExpectBTakesOver();
}

TEST_F(Leadership, WhoseWriterHangsDoesNotLeadAndWritesNothingWhenItComesBack) {
  LeadWithA();
  const auto lease = [&] {
    return std::stoll(database_.QueryValue("SELECT epoch FROM lifecycle.lease"));
  };
  const int64_t before = lease();
  trouble_.hangs = true;
  Apply("third", 1);
  ExpectBTakesOver();
  const std::string pool = Apply("fourth", 1);
  trouble_.hangs = false;
  Until([&] { return NodesOf(*b_, pool) == 1 && NodesOf(*a_, pool) == 1; });
  EXPECT_NE(a_->epoch(), before) << "by the lease that it had; a busy machine may give it another";
  Until([&] { return lease() == std::max(a_->epoch(), b_->epoch()); }, "who leads by the lease");
}

TEST_F(Leadership, OneThatHealsMayLeadAgain) {
  LeadWithA();
  trouble_.fails_all = true;
  ExpectBTakesOver();
  trouble_.fails_all = false;
  b_->StopReconciling();
  EXPECT_GT(AwaitLead(*a_), 2);
}

// After an outage of a database that all services share, the lead may come back before capacity's
// watches.
TEST_F(Leadership, WhoComesToLeadAnewTellsNoPoolThatTheCatalogueIsAway) {
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  AwaitLead(*a_);
  const std::string pool = Apply("first", 1);
  Until([&] { return NodesOf(*b_, pool) == 1; });
  const Condition before = Validated(pool);
  ASSERT_EQ(before.reason, "Valid");
  const Said said("the catalogue is out of reach");
  trouble_.fails_all = true;
  Until([&] { return a_->epoch() == 0; });
  peers_.capacity.SetCatalogueAway(true);
  Until([&] { return !said.lines().empty(); }, "word of the catalogue");
  trouble_.fails_all = false;
  AwaitLead(*a_);
  peers_.capacity.SetCatalogueAway(false);
  // Its Node comes after a pass with the catalogue.
  const std::string second = Apply("second", 1);
  Until([&] { return NodesOf(*b_, second) == 1; });
  EXPECT_EQ(Validated(pool).reason, "Valid");
  EXPECT_EQ(Validated(pool).last_transition_time, before.last_transition_time);
}

// The lead that comes back while a pass lasts is a new one all the same.
TEST_F(Leadership, WhoComesToLeadAnewWithinAPassTellsNoPoolThatTheCatalogueIsAway) {
  ask_timeout_ = absl::Hours(1);
  const auto leader = NewReplica(&trouble_);
  ASSERT_THAT(leader->StartReconciling(peers_.channels()), IsOk());
  // Enough for the leader to keep what it was told of the claim.
  constexpr auto kNodes = static_cast<int64_t>(KnownClaims::kFewMachines);
  peers_.quota.SetLimit(kQuota, 2 * kNodes);
  const std::string pool = Apply("first", kNodes);
  Until([&] { return NodesOf(*b_, pool) == kNodes; });
  const Condition before = Validated(pool);
  ASSERT_EQ(before.reason, "Valid");
  const Said said("the catalogue is out of reach");
  peers_.capacity.SetSilent(true);
  const std::string second = Apply("second", 1);
  Until([&] { return peers_.capacity.waiting() > 0; }, "a pass under way");
  trouble_.fails_all = true;
  Until([&] { return leader->epoch() == 0; });
  peers_.capacity.SetCatalogueAway(true);
  Until([&] { return !said.lines().empty(); }, "word of the catalogue");
  trouble_.fails_all = false;
  AwaitLead(*leader);
  const int before_lead = peers_.capacity.named("uid-first");
  peers_.capacity.SetSilent(false);
  peers_.capacity.SetCatalogueAway(false);
  // Whoever comes to lead knows no claim.
  Until([&] { return peers_.capacity.named("uid-first") > before_lead; }, "the claim's machines");
  Until([&] { return NodesOf(*b_, second) == 1; });
  EXPECT_EQ(Validated(pool).reason, "Valid");
  EXPECT_EQ(Validated(pool).last_transition_time, before.last_transition_time);
  leader->StopReconciling();
}

// A replica that ends does not wait for its takeover: whoever stops it would kill it.
TEST_F(LongLead, ATakeoverThatHangsHoldsUpNoEnd) {
  const testing::CountedLines warnings("the lease could not be taken");
  trouble_.holds_changes = true;
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  Until([&] { return trouble_.held.load(); }, "a takeover under way");
  const auto end = std::async(std::launch::async, [&] { a_->StopReconciling(); });
  EXPECT_EQ(end.wait_for(testing::kPatience), std::future_status::ready);
  EXPECT_EQ(warnings.count(), 0) << "nothing is wrong";
  // Whatever came of it: the thread is to end.
  trouble_.holds_changes = false;
}

// Somebody's transaction has the lease's row: nobody leads, and the log says why.
TEST_F(Leadership, WhoCannotWriteTheLeaseSaysWhy) {
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  AwaitLead(*a_);
  const Said said("the lease could not be written");
  auto holder = database_.Hold("SELECT * FROM lifecycle.lease_heartbeat FOR UPDATE");
  Until([&] { return !said.lines().empty(); }, "word of the lease");
  EXPECT_EQ(a_->epoch(), 0);
  holder.reset();
  AwaitLead(*a_);
  EXPECT_THAT(said.lines(), ::testing::ElementsAre(::testing::HasSubstr("lock timeout")));
}

// Somebody alters the lease's table meanwhile: whoever stops the leader would kill it before each
// of its statements has waited for as long as any other may.
TEST_F(Leadership, ALeaseThatIsLockedHoldsUpNoEnd) {
  statement_timeout_ = absl::Minutes(2);
  const auto leader = NewReplica(nullptr);
  ASSERT_THAT(leader->StartReconciling(peers_.channels()), IsOk());
  AwaitLead(*leader);
  auto holder = database_.Hold("LOCK TABLE lifecycle.lease_heartbeat");
  Until(
      [&] {
        return database_.QueryValue(
                   "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
                   "wait_event_type = 'Lock'") != "0";
      },
      "a beat that waits");
  auto end = std::async(std::launch::async, [&] { leader->StopReconciling(); });
  EXPECT_EQ(end.wait_for(testing::kPatience), std::future_status::ready);
  holder.reset();
}

TEST_F(SteadyLead, WhosePlanTheTablesRefuseSaysWhy) {
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  AwaitLead(*a_);
  const Said said("a plan was not carried out");
  trouble_.refuses_changes = true;
  Apply("first", 1);
  Until([&] { return !said.lines().empty(); }, "word of the plan");
  EXPECT_THAT(said.lines().front(), ::testing::HasSubstr("invalid input syntax"));
  a_->StopReconciling();
}

// The leader dies, and the database's clock is set back before anybody sees it: what it wrote lies
// in the future.
TEST_F(SteadyLead, WhoDiedBeforeTheClockWasSetBackKeepsNobodyWaiting) {
  database_.Execute(
      "INSERT INTO lifecycle.lease_heartbeat (name, holder, epoch, write_time, expire_time)"
      " VALUES ('reconciler', 'who died', 1, now() + interval '2 hours',"
      " now() + interval '2 hours 1 second')");
  ASSERT_THAT(b_->StartReconciling(peers_.channels()), IsOk());
  Until([&] { return b_->epoch() != 0; }, "somebody who leads");
  EXPECT_EQ(b_->epoch(), 2);
}

// A database restored to before the lease was taken: no plan is due that could tell the leader.
TEST_F(Leadership, InAnotherHistoryTheLeaseIsTakenAnew) {
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  AwaitLead(*a_);
  database_.Execute(
      "BEGIN; SELECT 1 FROM lifecycle.journal_head FOR UPDATE; DELETE FROM lifecycle.lease;"
      "UPDATE lifecycle.journal_head SET incarnation = 'another'; COMMIT");
  const auto taken = [&] {
    return database_.QueryValue("SELECT count(*) FROM lifecycle.lease") == "1";
  };
  Until(taken, "the lease's row");
  AwaitLead(*a_);
}

// A standby without the last commits takes over under the leader, whose lease it knows: what the
// rows have forgotten may have been asked for, and the leader is to ask above that.
TEST_F(SteadyLead, InAnotherHistoryNothingIsAskedBeforeTheLeaseIsTakenAnew) {
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  const std::string pool = Apply("first", 2);
  Until([&] { return NodesOf(*a_, pool) == 2; });
  (void)QuietPlans(*a_);
  const size_t before = peers_.quota.asked().size();
  database_.Execute("UPDATE lifecycle.journal_head SET incarnation = 'another'");
  Until([&] { return peers_.quota.asked().size() > before; }, "a request");
  EXPECT_EQ(database_.QueryValue("SELECT incarnation FROM lifecycle.lease"), "another");
  const auto asked = peers_.quota.asked();
  for (size_t i = before; i < asked.size(); ++i) EXPECT_GE(asked[i].generation(), kHistoryJump);
}

// More pools than one command of the takeover raises.
class RestoredLead : public SteadyLead {
 protected:
  static constexpr size_t kPools = 5;
  RestoredLead() { most_raised_ = 2; }

  void Restore() {
    ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
    AwaitLead(*a_);
    for (size_t i = 0; i < kPools; ++i) Apply(absl::StrCat("p", i), 0);
    a_->StopReconciling();
    ASSERT_EQ(Raised(), 0U);
    database_.Execute("UPDATE lifecycle.journal_head SET incarnation = 'another'");
  }
  size_t Raised() const {
    return static_cast<size_t>(std::stoll(database_.QueryValue(absl::StrCat(
        "SELECT count(*) FROM lifecycle.node_pool WHERE ask_generation >= ", kHistoryJump))));
  }
  // Of which history the lease is.
  std::string LeaseOf() const {
    return database_.QueryValue("SELECT incarnation FROM lifecycle.lease");
  }
};

TEST_F(RestoredLead, LeadsOnceItHasRaisedAllPoolsInPieces) {
  Restore();
  const std::string before = database_.QueryValue("SELECT revision FROM lifecycle.journal_head");
  const auto leader = NewReplica(nullptr);
  ASSERT_THAT(leader->StartReconciling(peers_.channels()), IsOk());
  AwaitLead(*leader);
  EXPECT_EQ(Raised(), kPools);
  EXPECT_EQ(LeaseOf(), "another");
  const std::string writes = database_.QueryValue(absl::StrCat(
      "SELECT count(*) FROM lifecycle.journal WHERE kind = 'lease' AND revision > ", before));
  EXPECT_GE(std::stoi(writes), 2) << "the first piece and the last one write it";
  leader->StopReconciling();
}

TEST_F(RestoredLead, WhoComesInsteadBetweenThePiecesRaisesAll) {
  Restore();
  const auto first = NewReplica(&trouble_);
  const testing::CountedLines warnings("the lease could not be taken");
  trouble_.changes_left = 1;
  ASSERT_THAT(first->StartReconciling(peers_.channels()), IsOk());
  Until([&] { return warnings.count() > 0; }, "a takeover that fails");
  EXPECT_EQ(Raised(), most_raised_);
  EXPECT_NE(LeaseOf(), "another");
  EXPECT_EQ(first->epoch(), 0);
  const auto second = NewReplica(nullptr);
  ASSERT_THAT(second->StartReconciling(peers_.channels()), IsOk());
  AwaitLead(*second);
  EXPECT_EQ(Raised(), kPools);
  EXPECT_EQ(LeaseOf(), "another");
  first->StopReconciling();
  second->StopReconciling();
}

}  // namespace
}  // namespace muster::lifecycle
