// Likewise of muster-kubernetes and its cluster.
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "tests/kubernetes/adapter/adapter_test_base.h"
#include "tests/kubernetes/fake_api_server/fake_api_server.h"
#include "tests/observability/fault_drill.h"
#include "tests/testing/past.h"
#include "tests/testing/patience.h"
#include "tests/testing/reserved_port.h"

namespace muster::testing {
namespace {

class AdapterFaults : public AdapterTestBase {
 protected:
  AdapterStack& stack() override { return *stack_; }
  // `lease_ttl`: of lifecycle's leader, which no stall of the machine makes another, unless the
  // server dies.
  void Start(AdapterStack::Options options, absl::string_view lease_ttl = "30s") {
    // It is where it was when it comes back.
    options.adapter_flags.push_back(absl::StrCat("--metrics_listen=127.0.0.1:", port_.number()));
    options.muster.musterd_flags = {"--audit_interval=2s", "--orphan_interval=2s",
                                    "--page_listen=127.0.0.1:0",
                                    absl::StrCat("--lease_ttl=", lease_ttl)};
    options.muster.audit_books = false;
    stack_ = std::make_unique<AdapterStack>(std::move(options));
    if (stack_->server().is_real()) GTEST_SKIP() << "faults are those of the fake server";
    prometheus_ = std::make_unique<PrometheusProcess>(
        std::vector<std::string>{stack_->muster().metrics_address()},
        std::vector<std::string>{stack_->AdapterMetricsAddress()}, kDrillTimes);
    Until([&] { return prometheus_->api().TargetsUp("muster-kubernetes") == 1; }, "the target");
    Until(
        [&] {
          return prometheus_->api()
                     .Ask("sum(muster_lifecycle_leading) + sum(leader_election_master_status) == 2")
                     .series() == 1;
        },
        "two leaders");
  }
  // `pool`: what musterctl is asked about meanwhile.
  void Run(const Fault& fault, const std::string& pool = "none") {
    Desk desk;
    desk.ctl = [this](std::vector<std::string> words) {
      if (words.front() != "debug") words.push_back("--timeout=2s");
      return stack().muster().Ctl(std::move(words));
    };
    desk.page = [this] { return stack().muster().page_address(); };
    desk.log = [this] { return stack().ServerLogs(); };
    desk.names = [this, pool] {
      return std::map<std::string, std::string>{
          {"NAME", pool},
          {"UID", pool == "none" ? "none" : MusterPool(pool).uid()},
          {"QUOTA", "RNO2A~gd-8xa100-i128~default"}};
    };
    Drill(prometheus_->api(), fault, desk);
  }
  FakeApiServer& server() { return *stack_->server().fake_or_null(); }

  const ReservedPort port_;
  std::unique_ptr<AdapterStack> stack_;
  std::unique_ptr<PrometheusProcess> prometheus_;
};

TEST_F(AdapterFaults, AnAdapterThatDied) {
  Start(AdapterStack::Options());
  Run({.name = "kill -9 of the only muster-kubernetes",
       .inject = [&] { stack().KillAdapter(); },
       .mend = [&] { stack().StartAdapter(); },
       .alerts = {"MusterAdapterDown", "MusterAdapterNoLeader"},
       .panel = "Kubernetes adapter: Leader",
       .runbook = "Do: bring it back"});
}

TEST_F(AdapterFaults, AServerThatRefusesWrites) {
  Start(AdapterStack::Options());
  CreateHealthyPool("refused", {{"targetNodes", 1}});
  int64_t nodes = 1;
  Run({.name = "the API server answers 500 to every write",
       .inject = [&] { server().FailNext({.verb = "PATCH", .count = 1'000'000}); },
       .mend = [&] { server().FailNoMore(); },
       .meanwhile =
           [&] {
             stack().muster().Ctl(
                 {"scale", "nodepool", "refused", "--nodes", absl::StrCat(1 + ++nodes % 3)});
             // What failed is not tried again at once; what is new is.
             CreatePool(Name("refused"), {{"targetNodes", 0}});
           },
       .alerts = {"MusterAdapterWriteErrors", "MusterAdapterReconcileErrors"},
       .may_fire = {"MusterAdapterLag", "MusterAdapterNoLeader"},
       .panel = "Kubernetes adapter: Answers",
       .runbook = "`5xx`, `<error>`: the API server itself"},
      "refused");
}

TEST_F(AdapterFaults, ADrainThatABudgetBlocks) {
  Start(AdapterStack::Options());
  const std::string uid =
      CreateHealthyPool("guarded", {{"lifecycle", {{"scaleDownStrategy", "PreferIdle"}}}});
  CreatePod("web", NodeNamesOf(uid).at(0), {{"metadata", {{"labels", {{"app", "web"}}}}}});
  Run({.name = "a PodDisruptionBudget that allows no eviction, and a pool that shrinks",
       .inject =
           [&] {
             Guard("web", "web");
             PatchSpec("guarded", {{"targetNodes", 0}});
           },
       .mend =
           [&] { ASSERT_TRUE(stack().client().Delete(absl::StrCat(kBudgetsPath, "/web")).ok()); },
       .alerts = {"MusterDrainsBlocked"},
       .panel = "Fleet: Blocked drains",
       .runbook = "Do: tell the customer"},
      "guarded");
}

TEST_F(AdapterFaults, AnEtcdThatWasRestored) {
  AdapterStack::Options options;
  options.adapter_flags = {"--removals_unasked=1", "--removals_unasked_percent=0"};
  Start(options);
  AwaitAccepted();
  const auto past = server().Save();
  CreateHealthyPool("first", {{"targetNodes", 1}});
  CreateHealthyPool("second", {{"targetNodes", 1}});
  Run({.name = "etcd restored to before two pools",
       .inject = [&] { server().Restore(past); },
       .mend =
           [&] {
             Ctl({"allow", "removals", "example", "--node-pools=2", "--nodes=2"});
           },
       .alerts = {"MusterAdapterHoldsRemovals"},
       .may_fire = {"MusterAdapterUnknownObjects"},
       .panel = "Kubernetes adapter: Held removals",
       .runbook = "`musterctl allow removals CLUSTER --node-pools=N --nodes=N`"},
      "first");
}

TEST_F(AdapterFaults, AMusterThatWasRestored) {
  Start(AdapterStack::Options(), "1s");
  AwaitAccepted();
  const Past past(stack().muster().database(), "lifecycle");
  CreateHealthyPool("young", {{"targetNodes", 1}});
  std::string incarnation;
  Run({.name = "lifecycle's database restored to before a pool whose object was removed by force",
       .inject =
           [&] {
             stack().KillAdapter();
             stack().PatchNodePool("young", {{"metadata", {{"finalizers", nullptr}}}});
             stack().DeleteNodePool("young");
             stack().muster().Kill();
             incarnation = past.Restore();
             stack().muster().Start();
             stack().StartAdapter();
           },
       // As an operator accepts it.
       .mend =
           [&] {
             const auto written = stack().client().Patch(
                 kubernetes::PatchType::kMerge, kAdapterLease,
                 {{"metadata",
                   {{"annotations", {{"compute.coreweave.com/history", incarnation}}}}}});
             ASSERT_TRUE(written.ok()) << written.status();
           },
       .alerts = {"MusterAdapterUnknownObjects"},
       .may_fire = {"MusterNoLeader", "MusterDown", "MusterReplicaDown", "MusterAdapterDown",
                    "MusterAdapterNoLeader", "MusterOrphansWithheld", "MusterHistoryReplaced",
                    "MusterAdapterHoldsRemovals"},
       .may_linger = {"MusterOrphansWithheld"},
       .panel = "Kubernetes adapter: Unknown",
       .runbook = "Do: `after-a-restore.md`, \"Clusters\""});
}

TEST_F(AdapterFaults, AnotherKubernetes) {
  Start(AdapterStack::Options());
  const auto found = stack().client().Get("/api/v1/namespaces/kube-system");
  ASSERT_TRUE(found.ok()) << found.status();
  const auto uid = (*found)["metadata"]["uid"].get<std::string>();
  Run({.name = "the cluster is bound to another Kubernetes than the adapter is at",
       .inject =
           [&] {
             Ctl({"bind", "cluster", "example", "--kubernetes-uid=another",
                  absl::StrCat("--replaces=", uid)});
             Until([&] { return !stack().AdapterRuns(); }, "the adapter's end");
             stack().StartAdapter();
           },
       .mend =
           [&] {
             Ctl({"bind", "cluster", "example", absl::StrCat("--kubernetes-uid=", uid),
                  "--replaces=another"});
           },
       .alerts = {"MusterAdapterRefused"},
       .may_fire = {"MusterAdapterDown", "MusterAdapterNoLeader"},
       .panel = "Kubernetes adapter: Refused",
       .runbook = "`musterctl bind cluster CLUSTER --kubernetes-uid=NEW --replaces=OLD`"});
}

TEST_F(AdapterFaults, AServerThatIsSlow) {
  Start(AdapterStack::Options());
  Run({.name = "the API server takes five seconds for each status, and sixty NodePools are created",
       .inject =
           [&] {
             server().Set({.slow_writes = absl::Seconds(5), .slow_part = "/status"});
             for (int i = 0; i < 60; ++i)
               CreatePool(absl::StrCat("slow-", i), {{"targetNodes", 0}});
           },
       .mend = [&] { server().Set({}); },
       .alerts = {"MusterAdapterLag"},
       .panel = "Kubernetes adapter: Mirror lag",
       .runbook = "give the API server room"},
      "slow-0");
}

// Nobody waits for an hour here: what happened while there was no adapter is made almost that old.
TEST_F(AdapterFaults, EventsThatWaitTooLong) {
  Start(AdapterStack::Options(), "1s");
  CreateHealthyPool("told", {{"targetNodes", 1}});
  const TestDatabase& database = stack().muster().database();
  const auto events = [&] {
    return std::stoi(database.QueryValue("SELECT count(*) FROM lifecycle.event"));
  };
  Run({.name = "--events_per_minute=1, and events that have waited for almost an hour",
       .inject =
           [&] {
             stack().KillAdapter();
             const int before = events();
             Ctl({"scale", "nodepool", "told", "--nodes=8"});
             // One is written at once, and each writer keeps one while it waits.
             Until([&] { return events() >= before + 5; }, "events");
             stack().muster().Kill();
             database.Execute(
                 "UPDATE lifecycle.event SET last_time = now() - interval '59 minutes 30 seconds', "
                 "first_time = least(first_time, now() - interval '59 minutes 30 seconds')");
             stack().muster().Start();
             stack().StartAdapter(0, {"--events_per_minute=1"});
           },
       .mend =
           [&] {
             stack().KillAdapter();
             stack().StartAdapter();
           },
       .alerts = {"MusterAdapterEventsDropped"},
       .may_fire = {"MusterNoLeader", "MusterDown", "MusterReplicaDown", "MusterAdapterDown",
                    "MusterAdapterNoLeader"},
       .panel = "Kubernetes adapter: Events",
       .runbook = "raise `--events_per_minute`"},
      "told");
}

}  // namespace
}  // namespace muster::testing
