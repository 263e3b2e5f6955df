// The page of a whole stack with a busy fleet, in a browser: quotas and refusals, a preemption
// under way, a rollout, a pool that somebody must act for, and how the services are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/integration/mini_muster.h"
#include "tests/page/browser_test_base.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kClusterName[] = "organizations/acme/clusters/example";

class StackTest : public BrowserTest {
 protected:
  static void SetUpTestSuite() {
    BrowserTest::SetUpTestSuite();
    MiniMuster::Options options;
    // Preemptions last longer than the test.
    options.musterd_flags = {"--page_listen=127.0.0.1:0", "--preemption_notice=30m",
                             "--preemption_end=90m"};
    options.fleetsim_flags = {"--boot_time=1200ms", "--ready_time=50ms", "--drain_time=100ms",
                              "--terminate_time=100ms", "--seed=7"};
    muster_ = std::make_unique<MiniMuster>(options);
    muster_->ApplyCatalogue();
    ApplyPool("train", "gd-8xh100ib-i128", 16);
    Await("train", 16);
    ApplyPool("example-nodepool", "gd-8xa100-i128", 16);
    ApplyPool("cheap", "gd-8xa100-i128", 8, "computeClass: spot\n  description: batch work");
    ApplyPool("greedy", "gd-8xh100ib-i128", 6);
    ApplyOverride();
    Await("example-nodepool", 16);
    Await("cheap", 8);
  }
  static void TearDownTestSuite() {
    muster_.reset();
    BrowserTest::TearDownTestSuite();
  }

  static void Ctl(const std::vector<std::string>& words) {
    const Finished finished = muster_->Ctl(words);
    if (finished.exit_code != 0) throw std::runtime_error(finished.output + muster_->LogEnds());
  }
  static void Apply(const std::string& manifest) {
    const std::string file = absl::StrCat(::testing::TempDir(), "/page-", getpid(), ".yaml");
    std::ofstream(file) << manifest;
    Ctl({"apply", "-f", file});
    unlink(file.c_str());
  }
  static void ApplyPool(const std::string& name, const std::string& type, int nodes,
                        const std::string& more = "autoscaling: false") {
    Apply(absl::StrCat(
        "apiVersion: compute.coreweave.com/v1alpha1\nkind: NodePool\nmetadata:\n  name: ", name,
        "\nspec:\n  instanceType: ", type, "\n  targetNodes: ", nodes, "\n  ", more, "\n"));
  }
  // A window that is in force, and one to come.
  static void ApplyOverride() {
    const absl::Time now = absl::Now();
    const auto time = [](absl::Time at) {
      return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", at, absl::UTCTimeZone());
    };
    Apply(absl::StrCat(
        "apiVersion: muster/v1\nkind: Quota\nmetadata:\n  organization: acme\nspec:\n"
        "  zone: US-EAST-01A\n  instanceType: gb200-4x\n  computeClass: default\n  limit: 18\n"
        "  overrides:\n  - limit: 36\n    effectiveTime: ",
        time(now - absl::Hours(1)), "\n    expireTime: ", time(now + absl::Hours(6)),
        "\n    reason: the demo of friday\n  - limit: 24\n    effectiveTime: ",
        time(now + absl::Hours(20)), "\n    expireTime: ", time(now + absl::Hours(26)), "\n"));
  }
  static void Await(const std::string& pool, int nodes) {
    const auto settled = muster_->AwaitPool(
        absl::StrCat(kClusterName, "/nodePools/", pool),
        [&](const auto* row) { return row != nullptr && IsHealthy(*row, nodes); });
    if (!settled)
      throw std::runtime_error(absl::StrCat(pool, " did not settle\n", muster_->LogEnds()));
  }

  void Open(const std::string& view) {
    browser_.Open("about:blank");
    browser_.Open(absl::StrCat("http://", muster_->page_address(), "/#/", view));
    // The foot may say that it is live before the view was drawn with all that came.
    browser_.Await(
        "muster.store.caughtUp && !muster.scheduled && "
        "document.getElementById('connection').dataset.state === 'live'");
  }
  void OpenPool(const std::string& pool) {
    Open(absl::StrCat("pool/", browser_
                                   .Evaluate(absl::StrCat("encodeURIComponent('", kClusterName,
                                                          "/nodePools/", pool, "')"))
                                   .get<std::string>()));
  }
  static std::string Quota(const std::string& key) {
    return absl::StrCat("[data-quota='organizations/acme/quotas/", key, "']");
  }
  static std::string OfPool(const std::string& pool) {
    return absl::StrCat("[data-pool='", kClusterName, "/nodePools/", pool, "']");
  }

  static inline std::unique_ptr<MiniMuster> muster_;
};

TEST_F(StackTest, TheMapShowsWhatTheTablesSay) {
  Open("fleet");
  browser_.Await("muster.view.viewOf.size === muster.store.machines");
  // The page's watches may be behind the one that the pools were awaited by, and the legend is
  // counted now and then.
  const auto await_count = [&](const std::string& state, const std::string& count) {
    browser_.Await(absl::StrCat("document.querySelector('.legend [data-name=\"", state,
                                "\"]')?.dataset.count === '", count, "'"));
  };
  const auto& database = muster_->database();
  EXPECT_EQ(browser_.Evaluate("muster.store.machines").dump(),
            database.QueryValue("SELECT count(*) FROM capacity.machine"));
  await_count("production", database.QueryValue(
                                "SELECT count(*) FROM lifecycle.node WHERE state = 'PRODUCTION'"));
  await_count("free",
              database.QueryValue("SELECT count(*) FROM capacity.machine WHERE state = 'FREE'"));
  browser_.Screenshot(ScreenshotFile("stack-fleet"));
  EXPECT_GE(browser_.Count("section.zone"), 4);
  browser_.Evaluate("document.getElementById('by-profile').click()");
  EXPECT_THAT(browser_.Text(".legend"), HasSubstr("driver 570.124.06"));
  browser_.Screenshot(ScreenshotFile("stack-fleet-by-profile"));
  browser_.Evaluate("document.getElementById('by-state').click()");
  browser_.SetScheme("light");
  browser_.Await("muster.view.painting.scheme === 'light'");
  browser_.Screenshot(ScreenshotFile("stack-fleet-light"));
}

TEST_F(StackTest, QuotasShowWhatIsHeldAndRefusedAndOtherLimitsForATime) {
  Open("quota");
  const std::string full = Quota("RNO2A~gd-8xh100ib-i128~default");
  browser_.AwaitText(full, "6 refused");
  EXPECT_THAT(browser_.Text(full), HasSubstr("16 of 16 held"));
  EXPECT_THAT(browser_.Text(full), HasSubstr("acme/example/greedy"));
  const std::string other = Quota("US-EAST-01A~gb200-4x~default");
  EXPECT_THAT(browser_.Text(other), HasSubstr("0 of 36 held"));
  EXPECT_THAT(browser_.Text(other), HasSubstr("limit 36 in force"));
  EXPECT_THAT(browser_.Text(other), HasSubstr("the demo of friday"));
  EXPECT_EQ(browser_.Count(other + " .window"), 2);
  EXPECT_EQ(browser_.Count(other + " .window.now"), 1);
  EXPECT_THAT(browser_.Text(Quota("RNO2A~gd-8xa100-i128~spot")), Not(HasSubstr("refused")));
  browser_.Screenshot(ScreenshotFile("stack-quota"));
}

TEST_F(StackTest, TheQueueShowsWhoWaitsAndTheClocksOfSpotMachines) {
  Ctl({"scale", "nodepool", "example-nodepool", "--nodes", "20"});
  Open("queue");
  browser_.Await("document.querySelectorAll('.clock').length === 4");
  const std::string row = ".queue li" + OfPool("example-nodepool");
  browser_.AwaitText(row, "4 of 20 Nodes");
  browser_.AwaitText(row, "4 on the way from spot");
  EXPECT_EQ(browser_.Count(".clock[data-phase=notice]"), 4);
  EXPECT_THAT(browser_.Text(".clock"),
              HasSubstr("acme/example/cheap → acme/example/example-nodepool"));
  EXPECT_THAT(browser_.Text(".clock"), HasSubstr("warned"));
  browser_.Evaluate(absl::StrCat("document.querySelector(\"", row, " button\").click()"));
  browser_.AwaitText(row + " .why", "BEING_RECLAIMED");
  browser_.Screenshot(ScreenshotFile("stack-queue"));
  Open("fleet");
  browser_.Await("document.querySelector('.legend [data-name=reclaiming]')?.dataset.count === '4'");
  browser_.Screenshot(ScreenshotFile("stack-fleet-preemption"));
}

TEST_F(StackTest, ARolloutIsShownRackByRack) {
  Ctl({"publish", "release", "stable~gpu-driver~580.65.06"});
  Until(
      [&] {
        return muster_->Ctl({"promote", "nodepool", "train"}).exit_code == 0;
      },
      "a configuration to promote");
  Open("rollouts");
  EXPECT_THAT(browser_.Text("main"), HasSubstr("No pool is being reconfigured"));
  Ctl({"reconfigure", "nodepool", "train", "--max-unavailable", "25%", "--allowed-failures", "1"});
  const std::string panel = "section" + OfPool("train");
  const auto stage = [&](const std::string& name) {
    return absl::StrCat("Number(document.querySelector(\"", panel, " [data-stage=", name,
                        "]\")?.dataset.count ?? 0)");
  };
  // The agents rest in the midst of it, for as long as it is looked at.
  ASSERT_TRUE(
      muster_->AwaitPool(absl::StrCat(kClusterName, "/nodePools/train"), [](const auto* pool) {
        return pool != nullptr && pool->reconfiguration().rebooted_nodes() > 0;
      }));
  muster_->SignalFleet(SIGSTOP);
  absl::Cleanup go_on = [&] { muster_->SignalFleet(SIGCONT); };
  browser_.Await(absl::StrCat(stage("done"), " > 0 && ", stage("under-way"), " > 0 && ",
                              stage("old"), " > 0"));
  browser_.Screenshot(ScreenshotFile("stack-rollout"));
  EXPECT_THAT(browser_.Text(panel), HasSubstr("at most 25% at a time"));
  EXPECT_THAT(browser_.Text(panel), HasSubstr("driver 580.65.06"));
  EXPECT_GE(browser_.Count(panel + " .rack"), 2);
  std::move(go_on).Invoke();
  browser_.Await(absl::StrCat(stage("done"), " === 16"));
  browser_.AwaitText(panel, "done");
}

// How many cells of the store are in a state.
std::string Cells(const std::string& state) {
  return absl::StrCat("[...muster.store.cells()].filter((i) => muster.store.stateName(i) === '",
                      state, "').length");
}

TEST_F(StackTest, ShowsTheFleetAsItWas) {
  const std::string pool =
      absl::StrCat("muster.store.documents.pool.get('", kClusterName, "/nodePools/past')");
  ApplyPool("past", "cd-gp-a192-genoa", 3);
  Await("past", 3);
  const std::string then = muster_->database().QueryValue(
      "SELECT ceil(extract(epoch FROM clock_timestamp()) * 1000)::bigint");
  ApplyPool("past", "cd-gp-a192-genoa", 1);
  Await("past", 1);
  Open("fleet");
  browser_.Await("!document.getElementById('moment').disabled");
  const int production = browser_.Evaluate(Cells("production"));
  browser_.Evaluate(absl::StrCat(
      "(() => { const slider = document.getElementById('moment'); slider.value = ", then,
      "; slider.dispatchEvent(new Event('input')); })()"));
  browser_.Await(absl::StrCat("muster.moment === ", then));
  EXPECT_EQ(browser_.Evaluate(pool + ".target"), 3);
  EXPECT_EQ(browser_.Evaluate(pool + ".current"), 3);
  EXPECT_EQ(browser_.Evaluate(Cells("production")), production + 2);
  EXPECT_EQ(browser_.Evaluate(Cells("free")), 0);
  EXPECT_EQ(browser_.Evaluate("muster.store.machines"), browser_.Evaluate("muster.live.machines"));
  browser_.Await("!muster.scheduled");
  browser_.Screenshot(ScreenshotFile("stack-fleet-as-it-was"));
  for (const char* view : {"quota", "pools", "queue", "rollouts", "health"}) {
    browser_.Evaluate(absl::StrCat("location.hash = '#/", view, "'"));
    browser_.Await(absl::StrCat("document.getElementById('main').className === 'view-", view,
                                "' && !muster.scheduled"));
    if (view == std::string("queue")) {
      browser_.AwaitText(".queues", "Told of now alone.");
    } else if (view == std::string("quota")) {
      browser_.AwaitText(Quota("RNO2A~cd-gp-a192-genoa~default"), "3 of 8 held");
      browser_.Screenshot(ScreenshotFile("stack-quota-as-it-was"));
    }
  }
  browser_.Evaluate("document.getElementById('to-now').click()");
  browser_.Await(absl::StrCat("muster.moment === null && ", pool, ".target === 1"));
  Ctl({"delete", "nodepool", "past"});
}

TEST_F(StackTest, APoolsPageSaysWhoMustAct) {
  OpenPool("greedy");
  browser_.AwaitText("#obstacles", "OVER_QUOTA");
  EXPECT_THAT(browser_.Text("#obstacles"), HasSubstr("quota admin"));
  browser_.AwaitText("#conditions", "Over");
  browser_.AwaitText("#events", "CWOverQuota");
  EXPECT_EQ(browser_.Text("[data-figure=target] b"), "6");
  EXPECT_EQ(browser_.Text("[data-figure=current] b"), "0");
  browser_.Screenshot(ScreenshotFile("stack-pool-over-quota"));
  OpenPool("train");
  browser_.Await(
      "document.querySelector('#obstacles .chip.well') && document.querySelector('#events td')");
  EXPECT_THAT(browser_.Text(".pool-head"), HasSubstr("Healthy"));
  EXPECT_THAT(browser_.Text("#configuration"), HasSubstr("active"));
  browser_.Screenshot(ScreenshotFile("stack-pool"));
  Open("pools");
  // That of the past goes from here once the page hears that it is gone.
  browser_.Await("document.querySelectorAll('tr[data-pool]').length === 4");
  EXPECT_THAT(browser_.Text("tr" + OfPool("greedy")), HasSubstr("Quota: Over"));
  browser_.Screenshot(ScreenshotFile("stack-pools"));
}

TEST_F(StackTest, HealthShowsLanesAndTheLeader) {
  Open("health");
  browser_.Await("document.querySelectorAll('.card .chip.well').length >= 8");
  for (const char* service : {"lifecycle", "capacity", "quota", "configuration"}) {
    for (const char* part : {"live", "ready"})
      browser_.AwaitText(absl::StrCat("[data-service=", service, "]"), part);
  }
  browser_.AwaitText("[data-service=lifecycle]", "this one, epoch ");
  browser_.Screenshot(ScreenshotFile("stack-health"));
}

}  // namespace
}  // namespace muster::testing
