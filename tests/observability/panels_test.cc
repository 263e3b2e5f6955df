// Debian's Prometheus scrapes a whole stack with a busy fleet: every query of every panel has data,
// and every rule works. What they gave is written to panels.md of the build.
#include "tests/observability/panels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/kubernetes/adapter/adapter_test_base.h"
#include "tests/observability/prometheus_process.h"
#include "tests/testing/issuer.h"
#include "tests/testing/patience.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

using ::testing::IsEmpty;

class PanelsTest : public AdapterTest<PanelsTest> {
 public:
  static AdapterStack::Options MakeOptions() {
    AdapterStack::Options options;
    static const TempFolder folder;
    Issuer issuer;
    issuer.AddRsaKey("rsa");
    std::ofstream(folder.Path("keys.json")) << issuer.KeySet();
    options.muster.musterd_flags = {"--metrics_organizations=5",
                                    "--preemption_notice=1s",
                                    "--preemption_end=3s",
                                    "--audit_interval=2s",
                                    "--orphan_interval=2s",
                                    "--token_keys_file=" + folder.Path("keys.json"),
                                    absl::StrCat("--token_issuer=", Issuer::kName),
                                    absl::StrCat("--token_audience=", Issuer::kAudience)};
    options.muster.tls = true;
    return options;
  }

 protected:
  // Deliveries, boots, a drain, reboots into a new release, a preemption, and a queue. 24 machines.
  void MakeTheFleetBusy() {
    CreateHealthyPool("busy", {{"targetNodes", 4}});
    CreateHealthyPool("spot", {{"targetNodes", 4}, {"computeClass", "spot"}});
    Ctl({"publish", "release", "stable~gpu-driver~580.65.06"});
    Until(
        [&] {
          return stack().muster().Ctl({"promote", "nodepool", "busy"}).exit_code == 0;
        },
        "a configuration to promote");
    Ctl({"reconfigure", "nodepool", "busy", "--max-unavailable", "100%"});
    PatchSpec("busy", {{"targetNodes", 22}});
    CreatePool("late", {{"targetNodes", 2}});
    PatchSpec("late", {{"targetNodes", 1}});
  }
};

TEST_F(PanelsTest, HaveData) {
  const Dashboards dashboards(absl::StrCat(kObservability, "dashboards.yaml"));
  const PrometheusProcess process({stack().muster().metrics_address()},
                                  {stack().AdapterMetricsAddress()});
  const Prometheus prometheus = process.api();
  // What happens from now on is told from what was before.
  Until(
      [&] {
        return prometheus.TargetsUp("muster") + prometheus.TargetsUp("muster-kubernetes") == 2;
      },
      "two targets");
  MakeTheFleetBusy();

  std::vector<PanelAnswer> answers;
  const auto missing = [&] {
    std::string names;
    for (const PanelAnswer& entry : answers)
      if (!entry.has_data())
        absl::StrAppend(&names, entry.query.dashboard, ", ", entry.query.panel, ": ",
                        entry.query.expression, " ", entry.answer.error, "\n");
    return names;
  };
  // Twice the usual: reboots and preemptions take their time.
  const auto give_up = std::chrono::steady_clock::now() + 2 * kPatience;
  do {
    // Somebody asks, too.
    stack().muster().Ctl({"get", "nodepools"});
    answers = AskAll(dashboards, prometheus, "30s");
  } while (!missing().empty() && std::chrono::steady_clock::now() < give_up);
  EXPECT_EQ(missing(), "");
  EXPECT_THAT(prometheus.BrokenRules(), IsEmpty());
  std::cout << TableOf(answers);
  std::ofstream(MUSTER_PANELS) << TableOf(answers);
}

}  // namespace
}  // namespace muster::testing
