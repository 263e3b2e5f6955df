#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/common/clock.h"
#include "services/common/log.h"
#include "services/common/mutex.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/lifecycle_service.h"
#include "services/lifecycle/peers/testing/fake_peers.h"
#include "services/lifecycle/testing/service_test_base.h"
#include "tests/testing/metric_value.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

// For the tests of who leads and what the leader does: two replicas at one database, one of which
// may have trouble with it, and the services that they ask as fakes.
namespace muster::lifecycle {

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
                            .connect_timeout = absl::Minutes(1),
                            .statement_timeout = statement_timeout_};
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
          EXPECT_THAT(status, testing::IsOk());
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
    ASSERT_THAT(a_->StartReconciling(peers_.channels()), testing::IsOk());
    AwaitLead(*a_);
    const std::string pool = Apply("first", 1);
    Until([&] { return NodesOf(*b_, pool) == 1; });
    ASSERT_THAT(b_->StartReconciling(peers_.channels()), testing::IsOk());
  }
  // Pools of two Nodes each, brought up by A, which leads.
  void RunWithA(std::initializer_list<const char*> ids) {
    ASSERT_THAT(a_->StartReconciling(peers_.channels()), testing::IsOk());
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
  absl::Duration statement_timeout_ = absl::Seconds(15);
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

}  // namespace muster::lifecycle
