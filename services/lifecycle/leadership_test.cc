// Who leads, and what makes pools due: the reconciler on a real Postgres with the other services
// played.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <initializer_list>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/common/clock.h"
#include "services/common/log.h"
#include "services/common/mutex.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/lifecycle_service.h"
#include "services/lifecycle/peers/testing/fake_peers.h"
#include "services/lifecycle/reconcile/delay_queue.h"
#include "services/lifecycle/reconcile/peer_watches.h"
#include "services/lifecycle/testing/service_test_base.h"
#include "tests/testing/counted_lines.h"
#include "tests/testing/metric_value.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::lifecycle {
namespace {

using ::muster::testing::IsOk;

// What goes wrong with a replica's connection to its database.
struct Trouble {
  std::atomic<bool> fails_all = false;        // every write
  std::atomic<bool> fails_journal = false;    // every write that changes something
  std::atomic<bool> refuses_changes = false;  // likewise, and not as if another replica had written
  std::atomic<bool> hangs = false;            // no write begins
  std::atomic<bool> holds_changes = false;    // no write that changes something ends
  std::atomic<bool> held = false;             // one was held so
  std::atomic<int> changes_left = -1;  // writes that change something until all fail; -1: no end

  storage::Fault operator()(absl::string_view site) {
    if (!absl::StartsWith(site, "write/")) return {};
    // The head is not locked yet.
    while (hangs && absl::StrContains(site, "FOR UPDATE")) std::this_thread::yield();
    while (holds_changes && absl::StrContains(site, "journal_append")) {
      held = true;
      std::this_thread::yield();
    }
    const bool changes = absl::StrContains(site, "journal_append");
    if (fails_all || (changes && (fails_journal || changes_left == 0)))
      return {.before = "SELECT 1/0;"};
    // A connection prepares the statement before its first use.
    if (site == "write/journal_append" && changes_left > 0) --changes_left;
    if (refuses_changes && changes) return {.before = "SELECT 'x'::int;"};
    return {};
  }
};

// The log's lines with some words in them, while it lives.
class Said {
 public:
  explicit Said(std::string words) {
    log::SetSink([this, words = std::move(words)](absl::string_view line) {
      const MutexLock lock(mutex_);
      if (absl::StrContains(line, words)) lines_.emplace_back(line);
    });
  }
  ~Said() { log::SetSink({}); }
  std::vector<std::string> lines() const {
    const MutexLock lock(mutex_);
    return lines_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> lines_ MUSTER_GUARDED_BY(mutex_);
};

class Leadership : public ::testing::Test {
 protected:
  explicit Leadership(absl::Duration lease_ttl = absl::Seconds(1))
      : lease_ttl_(lease_ttl), a_(NewReplica(&trouble_)), b_(NewReplica(nullptr)) {
    Submit(*b_, UpdateCluster{.cluster = {.name = kCluster, .zone = "US-EAST-04A"}});
  }
  ~Leadership() override {
    trouble_.hangs = trouble_.holds_changes = false;
    a_->StopReconciling();
    b_->StopReconciling();
  }

  std::unique_ptr<LifecycleService> NewReplica(Trouble* trouble) {
    LifecycleService::Options options;
    options.lane.connect = {.conninfo = database_.conninfo("lifecycle"),
                            .schema = "lifecycle",
                            .connect_timeout = absl::Minutes(1)};
    if (trouble != nullptr)
      options.lane.runner.fault = [trouble](auto site) { return (*trouble)(site); };
    options.clock = &clock_;
    options.loop.lease_ttl = lease_ttl_;
    options.loop.ask_timeout = ask_timeout_;
    options.loop.policy.retry = retry_;
    options.loop.most_raised = most_raised_;
    options.orphans.interval = orphan_interval_;
    options.orphans.event_keep = event_keep_;
    auto created = LifecycleService::Create(std::move(options));
    if (!created.ok()) throw std::runtime_error(created.status().ToString());
    return *std::move(created);
  }
  template <class Command>
  void Submit(LifecycleService& service, Command command) {
    std::atomic<bool> done = false;
    service.lane().Submit(
        [command](StagedState<State>& staged, absl::Time now) {
          return Decide(staged, command, now).status();
        },
        [&](const absl::Status& status, int64_t) {
          EXPECT_THAT(status, IsOk());
          done = true;
        });
    Until([&] { return done.load(); });
  }
  // Through the healthy replica.
  std::string Apply(const std::string& id, int64_t target,
                    const std::string& instance_type = "gd-8xa100-i128",
                    const std::string& cluster = kCluster) {
    const std::string name = absl::StrCat(cluster, "/nodePools/", id);
    ApplyNodePool command{.name = name,
                          .new_uid = absl::StrCat("uid-", id),
                          .type = TypeFacts{instance_type, 8, false, 0}};
    command.spec.instance_type = instance_type;
    command.spec.target_nodes = target;
    command.target_nodes = target;
    Submit(*b_, command);
    return name;
  }
  static void Until(const std::function<bool()>& so, absl::string_view what = "a lead or a Node") {
    testing::Until(so, what);
  }
  static int64_t NodesOf(LifecycleService& service, const std::string& pool) {
    return service.lane().Peek([&](const State& state, int64_t) {
      return static_cast<int64_t>(state.NodesOf(pool).size());
    });
  }
  // What the healthy replica shows.
  Condition Validated(const std::string& pool) {
    return b_->lane().Peek([&](const State& state, int64_t) {
      return *FindCondition(state.table<Pool>().Find(pool)->status.conditions, "Validated");
    });
  }
  // By which lease it leads, once it does.
  static int64_t AwaitLead(const LifecycleService& replica) {
    int64_t epoch = 0;
    Until([&] { return (epoch = replica.epoch()) != 0; });
    return epoch;
  }
  void LeadWithA() {
    ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
    AwaitLead(*a_);
    const std::string pool = Apply("first", 1);
    Until([&] { return NodesOf(*b_, pool) == 1; });
    ASSERT_THAT(b_->StartReconciling(peers_.channels()), IsOk());
  }
  // Pools of two Nodes each, brought up by A, which leads.
  void RunWithA(std::initializer_list<const char*> ids) {
    ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
    for (const char* id : ids) {
      const std::string pool = Apply(id, 2);
      Until([&] { return NodesOf(*a_, pool) == 2; });
    }
  }
  // B leads, and does A's work.
  void ExpectBTakesOver() {
    const int64_t led = AwaitLead(*b_);
    Until([&] { return a_->epoch() == 0; });
    // On a busy machine a holder may come too late, and lead anew.
    EXPECT_GT(led, 1);
    const std::string pool = Apply("second", 2);
    Until([&] { return NodesOf(*b_, pool) == 2; });
  }
  // The value of a metric, all labels added up.
  static double Metric(LifecycleService& service, const std::string& name) {
    return testing::MetricSum(*service.collectable(), name);
  }
  // Plans made once nothing more is to do.
  double QuietPlans(LifecycleService& service) {
    const auto idle = [&] { return Metric(service, "muster_lifecycle_due_pools") == 0; };
    double plans = 0;
    for (int quiet = 0; quiet < 60; ++quiet) {
      Until(idle);
      const double now = Metric(service, "muster_lifecycle_plans_total");
      if (now != plans) quiet = 0;
      plans = now;
      // The lane has had its say: what it published made due what it does.
      Submit(service, TakeLease{.holder = Holder(service), .epoch = service.epoch()});
    }
    return plans;
  }
  static std::string Holder(LifecycleService& service) {
    return service.lane().Peek([](const State& state, int64_t) {
      return state.table<Lease>().Find(Lease::kName)->holder;
    });
  }

  const absl::Duration lease_ttl_;
  SystemClock clock_;
  absl::Duration ask_timeout_ = absl::Seconds(5);
  absl::Duration retry_ = Policy().retry;
  size_t most_raised_ = kMaxRaisedPools;
  absl::Duration orphan_interval_ = absl::Minutes(5);
  absl::Duration event_keep_ = absl::Hours(24);
  Trouble trouble_;
  testing::TestDatabase database_;
  FakePeers peers_;
  std::unique_ptr<LifecycleService> a_;
  std::unique_ptr<LifecycleService> b_;
};

// Who leads does so to the end, though the machine stands still for a while.
class SteadyLead : public Leadership {
 protected:
  SteadyLead() : Leadership(absl::Seconds(20)) {}
};

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
  const std::string pool = Apply("first", 1);
  Until([&] { return NodesOf(*b_, pool) == 1; });
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
  peers_.capacity.SetSilent(false);
  peers_.capacity.SetCatalogueAway(false);
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

TEST_F(SteadyLead, AQuietLeaderWritesNothing) {
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  AwaitLead(*a_);
  QuietPlans(*a_);
  const int64_t revision = a_->lane().revision();
  const auto expires = [&] {
    return database_.QueryValue("SELECT expire_time FROM lifecycle.lease_heartbeat");
  };
  for (int beats = 0; beats < 2; ++beats) {
    const std::string before = expires();
    Until([&] { return expires() != before; });
  }
  EXPECT_EQ(a_->lane().revision(), revision);
  EXPECT_EQ(database_.QueryValue("SELECT revision FROM lifecycle.journal_head"),
            absl::StrCat(revision));
}

// All watches of capacity's claims break and begin anew, and tell what they told before; then one
// claim changes: that pool alone is looked at.
TEST_F(SteadyLead, AQuietReconnectMakesNoPoolDue) {
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  for (int i = 0; i < 5; ++i) {
    const std::string pool = Apply(absl::StrCat("p", i), 2);
    Until([&] { return NodesOf(*a_, pool) == 2; });
  }
  const double before = QuietPlans(*a_);
  const int watches = peers_.capacity.watches();
  peers_.capacity.DropWatches();
  Until([&] { return peers_.capacity.watches() > watches; });
  peers_.capacity.Touch("uid-p3");
  Until([&] { return Metric(*a_, "muster_lifecycle_plans_total") > before; });
  EXPECT_EQ(QuietPlans(*a_), before + 1);
}

// A pool that has what it wants need not know which of its Nodes have work. One that has too many
// does: the first that falls idle goes.
TEST_F(SteadyLead, WorkMakesNoPoolDueUnlessItHasToChoose) {
  using Observation = ReportNode::Observation;
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  const std::string pool = Apply("p", 3);
  const auto all_are = [&](auto so) {
    return a_->lane().Peek([&](const State& state, int64_t) {
      const std::vector<const Node*> nodes = state.NodesOf(pool);
      return nodes.size() == 3 && absl::c_all_of(nodes, so);
    });
  };
  Until([&] { return all_are([](const Node* n) { return n->desired.phase == Phase::kRunning; }); });
  const std::vector<std::string> nodes = a_->lane().Peek([&](const State& state, int64_t) {
    std::vector<std::string> names;
    for (const Node* node : state.NodesOf(pool)) names.push_back(node->name);
    return names;
  });
  const auto report = [&](Observation observation) {
    for (const std::string& node : nodes)
      Submit(*b_, ReportNode{.node = node, .observation = observation});
  };
  for (const auto seen : {Observation::kBootStarted, Observation::kRegistered, Observation::kReady})
    report(seen);
  const double before = QuietPlans(*a_);
  report(Observation::kActive);
  report(Observation::kIdle);
  report(Observation::kActive);
  EXPECT_EQ(QuietPlans(*a_), before);
  EXPECT_TRUE(all_are([](const Node* node) { return node->observed.active; }));
  Submit(*b_, ResizeNodePool{.name = pool, .target_nodes = 2});
  QuietPlans(*a_);
  EXPECT_TRUE(all_are([](const Node* node) { return node->state == NodeState::kProduction; }));
  Submit(*b_, ReportNode{.node = nodes[1], .observation = Observation::kIdle});
  Until([&] { return !all_are([](const Node* n) { return n->state == NodeState::kProduction; }); },
        "a Node that goes");
}

// What a zone offers anew concerns the pools of that type, and what it offers no more the others.
TEST_F(SteadyLead, AZoneThatChangesMakesThePoolsDueThatItConcerns) {
  constexpr char kZone[] = "US-EAST-04A";
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  const std::string pool = Apply("first", 1);
  Until([&] { return NodesOf(*a_, pool) == 1; });
  Apply("of-another-type", 0, "other");
  const double before = QuietPlans(*a_);
  peers_.capacity.ChangeZone(kZone, {"gd-8xa100-i128", "other"});
  Until([&] { return Metric(*a_, "muster_lifecycle_plans_total") > before; });
  EXPECT_EQ(QuietPlans(*a_), before + 1);
  peers_.capacity.ChangeZone(kZone, {"other"});
  const auto validated = [&] {
    return a_->lane().Peek([&](const State& state, int64_t) {
      return std::string(ReasonOf(state.table<Pool>().Find(pool)->status.conditions, "Validated"));
    });
  };
  Until([&] { return validated() == "Invalid"; }, "word that the zone has it no more");
}

// Another pool's holding is asked for anew as its Node is replaced, or grows: no room for who waits
// for some. One after the other the same stream tells of a pool of another Quota, which is short
// too, and of whose others one leaves.
TEST_F(SteadyLead, OnlyAHoldingThatFallsWakesWhoIsShortOfQuota) {
  const auto holding = [](absl::string_view type) {
    return absl::StrCat("organizations/acme/quotas/US-EAST-04A~", type,
                        "~default/holdings/uid-other");
  };
  const std::string full = holding("gd-8xa100-i128"), other = holding("other");
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  AwaitLead(*a_);
  Apply("short", 12);  // of a limit of 10
  Apply("short-too", 12, "other");
  const auto is_short = [&](const char* type) {
    return a_->lane().Peek([&](const State& state, int64_t) {
      return state.PoolsShortOfQuota("acme", "US-EAST-04A", type, "default") != nullptr;
    });
  };
  Until([&] { return is_short("gd-8xa100-i128") && is_short("other"); });
  peers_.quota.TellHolding(full, 2, 1, 1);
  peers_.quota.TellHolding(other, 2, 1, 1);
  const double before = QuietPlans(*a_);
  const auto plans = [&] { return Metric(*a_, "muster_lifecycle_plans_total"); };
  peers_.quota.TellHolding(full, 2, 2, 1);   // a generation
  peers_.quota.TellHolding(full, 3, 3, 2);   // it grew
  peers_.quota.TellHolding(other, 1, 2, 2);  // room for "short-too"
  Until([&] { return plans() > before; });
  EXPECT_EQ(QuietPlans(*a_), before + 1);
  peers_.quota.TellHolding(full, 1, 4, 3);
  Until([&] { return plans() > before + 1; });
  EXPECT_EQ(QuietPlans(*a_), before + 2);
  // It was larger for a while that nobody told of.
  peers_.quota.DropWatches();
  peers_.quota.TellHolding(full, 1, 6, 5);
  Until([&] { return plans() > before + 2; });
}

// "A history has a name": what a restored service has lost is in no snapshot of its watch.
TEST_F(SteadyLead, AServiceThatWasRestoredIsAskedAnewForEveryPool) {
  RunWithA({"p0", "p1", "p2"});
  const auto all_are_planned_after = [&](auto& service) {
    const double before = QuietPlans(*a_);
    service.Restore();
    Until([&] { return Metric(*a_, "muster_lifecycle_plans_total") >= before + 3; });
  };
  all_are_planned_after(peers_.quota);
  all_are_planned_after(peers_.capacity);
  all_are_planned_after(peers_.configuration);
}

// "the pools that it was of are to ask for it anew before others take its place": also where the
// first by name wants more.
TEST_F(SteadyLead, ARestoredQuotaHearsOfWhatThereWasBeforeAnybodyGrows) {
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  const std::string pool = Apply("runs", 2);
  Until([&] { return NodesOf(*a_, pool) == 2; });
  Apply("a-wants-more", 12);
  const auto asks_for = [&](int64_t nodes) {
    const auto asked = peers_.quota.asked();
    return absl::c_find_if(asked, [&](const auto& ask) { return ask.nodes() == nodes; }) -
           asked.begin();
  };
  const auto is_asked = [&](int64_t nodes) {
    return asks_for(nodes) < std::ssize(peers_.quota.asked());
  };
  Until([&] { return is_asked(12); }, "a pool that is over quota");
  (void)QuietPlans(*a_);
  peers_.quota.Restore();
  Until([&] { return is_asked(12) && is_asked(2); }, "both pools' requests");
  EXPECT_LT(asks_for(2), asks_for(12));
  // Whoever takes over cannot know what quota has lost.
  (void)QuietPlans(*a_);
  a_->StopReconciling();
  Until([&] { return a_->epoch() == 0; });
  peers_.quota.Restore();
  ASSERT_THAT(b_->StartReconciling(peers_.channels()), IsOk());
  Until([&] { return is_asked(12) && is_asked(2); }, "both pools' requests");
  EXPECT_LT(asks_for(2), asks_for(12));
}

// Quota falls silent while it hears of one pool after another, and is back for whoever asks next.
TEST_F(SteadyLead, NobodyGrowsBeforeQuotaHasHeardOfAllPools) {
  RunWithA({"runs", "runs-too"});
  (void)QuietPlans(*a_);
  a_->StopReconciling();
  Until([&] { return a_->epoch() == 0; });
  Apply("a-wants-more", 8);
  peers_.quota.Restore();
  const grpc::Status too_large(grpc::StatusCode::RESOURCE_EXHAUSTED, "too large a message");
  peers_.quota.SetNextRefusals(
      {too_large, too_large, grpc::Status::OK, {grpc::StatusCode::UNAVAILABLE, "away"}});
  ASSERT_THAT(b_->StartReconciling(peers_.channels()), IsOk());
  const auto heard_of = [&](absl::string_view pool) {
    const auto decided = peers_.quota.decided();
    return absl::c_find_if(decided,
                           [&](const auto& ask) {
                             return absl::EndsWith(ask.name(),
                                                   absl::StrCat("/holdings/uid-", pool)) &&
                                    ask.nodes() > 0;
                           }) -
           decided.begin();
  };
  Until([&] { return heard_of("a-wants-more") < std::ssize(peers_.quota.decided()); },
        "the new pool's request");
  EXPECT_LT(heard_of("runs"), heard_of("a-wants-more"));
  EXPECT_LT(heard_of("runs-too"), heard_of("a-wants-more"));
}

// One pool that it cannot be told of leaves the others theirs.
TEST_F(SteadyLead, APoolThatQuotaFailsAtHoldsUpNoOther) {
  RunWithA({"runs", "runs-too"});
  a_->StopReconciling();
  Until([&] { return a_->epoch() == 0; });
  peers_.quota.Restore();
  peers_.quota.SetPoison("/holdings/uid-runs");
  ASSERT_THAT(b_->StartReconciling(peers_.channels()), IsOk());
  Until([&] { return !peers_.quota.decided().empty(); }, "the other is told of");
  const std::string more = Apply("wants-more", 3);
  Until([&] { return NodesOf(*b_, more) == 3; });
}

// While quota has not heard of all, it is asked what asks for no more: what it says of a pool that
// stays as it is is known.
TEST_F(SteadyLead, WhoStaysAsItIsIsNotHeldBackWithWhoGrows) {
  RunWithA({"runs"});
  peers_.quota.SetLimit(kQuota, 100);
  for (int i = 0; i < 11; ++i) {  // more than the others may go on without
    const std::string pool = Apply(absl::StrCat(i, "-bad"), 1);
    Until([&] { return NodesOf(*a_, pool) == 1; });
  }
  (void)QuietPlans(*a_);
  peers_.quota.SetPoison("-bad");
  peers_.quota.DropWatches();
  const std::string more = Apply("wants-more", 3);
  const auto quota = [&](const std::string& pool) {
    return b_->lane().Peek([&](const State& state, int64_t) {
      return std::string(ReasonOf(state.table<Pool>().Find(pool)->status.conditions, "Quota"));
    });
  };
  Until([&] { return quota(more) == "InternalError"; }, "word that it is held back");
  const auto heard = [&] {
    return absl::c_count_if(peers_.quota.decided(), [](const auto& ask) {
      return !ask.at_least() && absl::EndsWith(ask.name(), "/holdings/uid-runs");
    });
  };
  const auto before = heard();
  Until(
      [&] {
        peers_.capacity.Touch("uid-runs");
        return heard() > before;
      },
      "quota to be asked of who stays as it is");
  EXPECT_EQ(NodesOf(*b_, more), 0);
  peers_.quota.SetPoison("");
  Until([&] { return NodesOf(*b_, more) == 3; });
}

// It may have been restored where it stands, and answers whoever asks before it is watched again.
TEST_F(Leadership, AQuotaWhoseWatchHasEndedIsInDoubtAtOnce) {
  Apply("p", 1);
  DelayQueue due;
  std::atomic<int> doubts = 0;
  PeerWatches watches(peers_.channels(), &b_->lane(), &due, [&] { ++doubts; });
  watches.Start();
  peers_.quota.SetLimit(kQuota, 10);
  Until([&] { return due.stats().scheduled == 1; }, "what the watch told");
  EXPECT_EQ(doubts, 1) << "as it began";
  peers_.quota.DropWatches();
  Until([&] { return peers_.quota.watches() == 2; }, "the next watch");
  EXPECT_EQ(doubts, 3) << "as the first one ended, and as the next one began";
}

// Somebody has released it there, so that the pool is to show that it has none.
TEST_F(Leadership, AConfigurationThatIsGoneMakesItsPoolDue) {
  Apply("p", 1);
  Apply("q", 1);
  DelayQueue due;
  PeerWatches watches(peers_.channels(), &b_->lane(), &due, [] {});
  watches.Start();
  peers_.configuration.TellGone("uid-q");
  Until([&] { return due.stats().due > 0; }, "what the watch told");
  EXPECT_THAT(due.Take(10), ::testing::ElementsAre(absl::StrCat(kCluster, "/nodePools/q")));
}

// The same while no watch is open: the next one's snapshot shows it by what it lacks.
TEST_F(Leadership, WhatWentWhileNobodyWatchedMakesItsPoolDue) {
  for (const char* pool : {"p", "q", "r", "s"}) Apply(pool, 1);
  DelayQueue due;
  PeerWatches watches(peers_.channels(), &b_->lane(), &due, [] {});
  watches.Start();
  for (const char* uid : {"uid-p", "uid-r"}) peers_.capacity.Touch(uid);
  for (const char* uid : {"uid-q", "uid-s"}) peers_.configuration.Touch(uid);
  Until([&] { return due.stats().due == 4; }, "what the watches told");
  (void)due.Take(10);
  peers_.capacity.DropWatchesWithout("uid-p");
  Until([&] { return due.stats().due > 0; }, "the claim that is gone");
  EXPECT_THAT(due.Take(10), ::testing::ElementsAre(absl::StrCat(kCluster, "/nodePools/p")));
  peers_.configuration.DropWatchesWithout("uid-q");
  Until([&] { return due.stats().due > 0; }, "the configuration that is gone");
  EXPECT_THAT(due.Take(10), ::testing::ElementsAre(absl::StrCat(kCluster, "/nodePools/q")));
}

// What is told of a Quota or Holding concerns the pools on it, whatever its organization is called.
TEST_F(Leadership, AnOrganizationMayBeCalledAsACollectionIs) {
  DelayQueue due;
  PeerWatches watches(peers_.channels(), &b_->lane(), &due, [] {});
  watches.Start();
  size_t pools = 0;
  for (const std::string organization : {"holdings", "quotas", "organizations"}) {
    const std::string cluster = absl::StrCat("organizations/", organization, "/clusters/c1");
    Submit(*b_, UpdateCluster{.cluster = {.name = cluster, .zone = "US-EAST-04A"}});
    Apply(organization, 1, "gd-8xa100-i128", cluster);
    peers_.quota.SetLimit(
        absl::StrCat("organizations/", organization, "/quotas/US-EAST-04A~gd-8xa100-i128~default"),
        10);
    ++pools;
    Until([&] { return due.stats().scheduled == pools; }, "word of its limit");
  }
}

// Each attempt to watch quota could be the first that reaches a restored one. A pool that is not
// the first tells what is restated from what only probes.
TEST_F(SteadyLead, WhileQuotaIsAwayItIsNotToldAnewAtEveryAttemptToWatchIt) {
  constexpr int kAttempts = 20;
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  for (const char* id : {"a", "b"}) {
    const std::string pool = Apply(id, 2);
    Until([&] { return NodesOf(*a_, pool) == 2; });
  }
  (void)QuietPlans(*a_);
  const auto restated = [&] {
    return absl::c_count_if(peers_.quota.asked(), [](const auto& ask) {
      return ask.at_least() && absl::EndsWith(ask.name(), "/holdings/uid-b");
    });
  };
  const auto before = restated();
  peers_.quota.SetAway(true);
  peers_.quota.SetWatchesAway(true);
  Until([&] { return peers_.quota.refused_watches() >= kAttempts; }, "attempts to watch quota");
  EXPECT_LT(restated() - before, kAttempts);
  peers_.quota.SetAway(false);
  peers_.quota.SetWatchesAway(false);
}

// Quota may know of more than the rows do, as of a grant whose answer was lost.
TEST_F(SteadyLead, WhatIsRestatedLowersNothing) {
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  const std::string pool = Apply("runs", 2);
  Until([&] { return NodesOf(*a_, pool) == 2; });
  (void)QuietPlans(*a_);
  a_->StopReconciling();
  Until([&] { return a_->epoch() == 0; });
  peers_.quota.Restore();
  ASSERT_THAT(b_->StartReconciling(peers_.channels()), IsOk());
  // What the pool wants by now is asked for after it, as ever.
  std::vector<quota::v1::HoldingRequest> asked;
  const auto wants = [&] {
    asked = peers_.quota.asked();
    return !asked.empty() && !asked.back().at_least();
  };
  Until(wants, "the pool's own request");
  EXPECT_TRUE(asked.front().at_least());
  EXPECT_EQ(asked.front().nodes(), 2);
  EXPECT_LT(asked.front().generation(), asked.back().generation());
}

// What it did not get an answer to is another's to ask, who leads now.
TEST_F(Leadership, WhoLeadsNoMoreHasNobodyWithoutAnAnswer) {
  ASSERT_THAT(a_->StartReconciling(peers_.channels()), IsOk());
  AwaitLead(*a_);
  peers_.quota.SetAway(true);
  Apply("p", 1);
  const auto unanswered = [&] { return Metric(*a_, "muster_lifecycle_peer_unanswered_pools"); };
  Until([&] { return unanswered() == 1; });
  database_.Execute(
      "UPDATE lifecycle.lease_heartbeat SET holder = 'another', epoch = epoch + 1,"
      " write_time = now(), expire_time = now() + interval '1 hour'");
  Until([&] { return a_->epoch() == 0; });
  Until([&] { return unanswered() == 0; });
}

// Nobody who was told that a service is away waits for a time of its own to ask again.
TEST_F(Leadership, WhoIsToldThatAServiceIsAwayAsksAgainOnceItIsBack) {
  retry_ = absl::Hours(1);
  const auto leader = NewReplica(nullptr);
  ASSERT_THAT(leader->StartReconciling(peers_.channels()), IsOk());
  peers_.quota.SetAway(true);
  const std::string pool = Apply("first", 1);
  const auto quota = [&] {
    return b_->lane().Peek([&](const State& state, int64_t) {
      return std::string(ReasonOf(state.table<Pool>().Find(pool)->status.conditions, "Quota"));
    });
  };
  Until([&] { return quota() == "InternalError"; }, "word that quota is away");
  peers_.quota.SetAway(false);
  Until([&] { return quota() == "Under"; }, "quota's answer");
  Until([&] { return NodesOf(*b_, pool) == 1; });
  leader->StopReconciling();
}

// "Events of a deleted pool are kept for --event_keep": the leader forgets them then, in memory and
// in the tables, and no others.
TEST_F(Leadership, ForgetsTheEventsOfPoolsThatAreGone) {
  orphan_interval_ = absl::Milliseconds(100);
  event_keep_ = absl::Milliseconds(1);
  const auto leader = NewReplica(nullptr);
  ASSERT_THAT(leader->StartReconciling(peers_.channels()), IsOk());
  const std::string gone = Apply("gone", 0);
  const std::string lives = Apply("lives", 0);
  const auto events = [&](absl::string_view id) {
    return b_->lane().Peek([&](const State& state, int64_t) {
      const auto& rows = state.table<Event>().rows();
      return std::count_if(rows.begin(), rows.end(), [&](const auto& row) {
        return absl::StrContains(row.second.row->object, id);
      });
    });
  };
  Until([&] { return events("gone") > 0 && events("lives") > 0; }, "events");
  Submit(*b_, DeleteNodePool{.name = gone});
  Until([&] { return events("gone") == 0; }, "the end of the events");
  EXPECT_EQ(
      b_->lane().Peek([&](const State& state, int64_t) { return state.table<Pool>().Find(gone); }),
      nullptr);
  EXPECT_GT(events("lives"), 0);
  Until([&] { return leader->lane().revision() == b_->lane().revision(); }, "the same revision");
  EXPECT_EQ(database_.QueryValue("SELECT count(*) FROM lifecycle.event WHERE object LIKE '%gone%'"),
            "0");
  leader->StopReconciling();
}

TEST_F(Leadership, WhoCannotForgetEventsSaysWhy) {
  database_.Execute(
      "CREATE FUNCTION lifecycle.keep_event() RETURNS trigger LANGUAGE plpgsql AS"
      " 'BEGIN RAISE EXCEPTION ''events stay''; END';"
      "CREATE TRIGGER keep_event BEFORE DELETE ON lifecycle.event FOR EACH ROW"
      " EXECUTE FUNCTION lifecycle.keep_event()");
  orphan_interval_ = absl::Milliseconds(100);
  event_keep_ = absl::Milliseconds(1);
  const Said said("events of deleted pools could not be forgotten");
  const auto leader = NewReplica(nullptr);
  ASSERT_THAT(leader->StartReconciling(peers_.channels()), IsOk());
  const std::string gone = Apply("gone", 0);
  Until(
      [&] {
        return b_->lane().Peek(
            [](const State& state, int64_t) { return !state.table<Event>().rows().empty(); });
      },
      "events");
  Submit(*b_, DeleteNodePool{.name = gone});
  Until([&] { return !said.lines().empty(); }, "word of the events");
  EXPECT_THAT(said.lines().front(), ::testing::HasSubstr("events stay"));
  leader->StopReconciling();
}

class SilentPeer : public Leadership {
 protected:
  SilentPeer() { ask_timeout_ = absl::Milliseconds(100); }
  ~SilentPeer() override { peers_.capacity.SetSilent(false); }
};

// Quota goes on being told of new pools; then capacity speaks again, and is asked for them all.
TEST_F(SilentPeer, HoldsUpNothingThatItIsNotNeededForAndIsAskedAgainOnceItAnswers) {
  const auto leader = NewReplica(nullptr);
  ASSERT_THAT(leader->StartReconciling(peers_.channels()), IsOk());
  const std::string first = Apply("first", 1);
  Until([&] { return NodesOf(*b_, first) == 1; });
  peers_.capacity.SetSilent(true);
  std::vector<std::string> pools;
  for (size_t i = 0; i < 5; ++i) {
    pools.push_back(Apply(absl::StrCat("p", i), 1));
    Until([&] { return peers_.quota.holdings().size() == i + 2; }, "a holding");
  }
  peers_.capacity.SetSilent(false);
  for (const std::string& pool : pools) Until([&] { return NodesOf(*b_, pool) == 1; });
  leader->StopReconciling();
}

}  // namespace
}  // namespace muster::lifecycle
