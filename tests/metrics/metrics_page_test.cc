// What a server that works shows on its page: sound, true, and as the reference says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "services/kubernetes/metrics.h"
#include "services/rpc/metrics.h"
#include "tests/integration/child.h"
#include "tests/integration/mini_muster.h"
#include "tests/metrics/reference.h"
#include "tests/testing/issuer.h"
#include "tests/testing/patience.h"
#include "tests/testing/sockets.h"
#include "tests/testing/temp_folder.h"

namespace muster::testing {
namespace {

using ::testing::ElementsAre;

constexpr char kReference[] = MUSTER_SOURCE_DIR "/deploy/observability/metrics.md";
constexpr char kUpdate[] = "MUSTER_WRITE_REFERENCE=1 ctest --preset dev -R '^metrics_page_test$'";

std::string PageOf(const MiniMuster& muster) {
  const std::string answer = HttpGet(muster.metrics_address(), "/metrics", absl::Seconds(30));
  const size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

// What promtool says against the page; empty: nothing.
std::string FaultsOf(const std::string& page) {
  const std::string file = absl::StrCat(::testing::TempDir(), "/page-", getpid());
  std::ofstream(file) << page;
  const Finished checked =
      RunProgram({"/bin/sh", "-c", absl::StrCat("promtool check metrics <", file)});
  unlink(file.c_str());
  return checked.exit_code == 0
             ? checked.output
             : absl::StrCat("promtool (deploy/install-packages has it): ", checked.output);
}

// A spot pool beside the example.
void ApplySpot(const MiniMuster& muster, int nodes) {
  const std::string file = absl::StrCat(::testing::TempDir(), "/spot-", getpid(), ".yaml");
  std::ofstream(file) << absl::StrReplaceAll(
      ReadFile(MUSTER_SOURCE_DIR "/deploy/local/example-nodepool.yaml"),
      {{"example-nodepool", "spot"},
       {"spec:", "spec:\n  computeClass: spot"},
       {"targetNodes: 1", absl::StrCat("targetNodes: ", nodes)}});
  const Finished applied = muster.Ctl({"apply", "-f", file});
  unlink(file.c_str());
  ASSERT_EQ(applied.exit_code, 0) << applied.output;
}

// All families of the adapter, each with a sample.
std::string AdapterPage() {
  rpc::Metrics metrics;
  kubernetes::WorkQueue queue;
  const auto adapter = std::make_shared<kubernetes::Metrics>(metrics.registry(), "host");
  adapter->Add("node", 1, &queue);
  adapter->Requested({.method = "GET", .code = 200});
  adapter->Reconciled("node", kubernetes::Result::kSuccess, absl::ZeroDuration(),
                      absl::ZeroDuration());
  adapter->SetLeader("muster", true);
  metrics.Add(adapter);
  return metrics.Text();
}

std::string ReferenceOf(const std::string& server, const std::string& adapter) {
  MetricDescriptions of_adapter = DescriptionsIn(adapter);
  const MetricDescriptions of_server = DescriptionsIn(server);
  for (const auto& [name, metric] : of_server) of_adapter.erase(name);
  return absl::StrCat(
      "# Metrics\n\nMade from the pages of servers; to make it anew: `", kUpdate,
      "`.\n\n"
      "- Figures of the state (gauges) and of what happens to it (`muster_quota_*`,\n"
      "  `muster_capacity_*`, `muster_lifecycle_*` of pools and Nodes, `muster_configuration_*`) "
      "are\n"
      "  the same on every replica, whoever committed: take `max by (...)` over replicas, not "
      "`sum`.\n"
      "  Counters begin at a replica's start.\n"
      "- `grpc_server_*`, `muster_watch_*`, `process_*`, `muster_log_*`, `muster_trace_*`, "
      "`muster_tls_*`, audits, `muster_lane_*`,\n"
      "  `muster_database_*`, the loop, the rollout of releases and agents' reports are of one "
      "replica: `sum` them.\n"
      "- Labels are of closed sets: states, reasons and phases of the program; zones, instance "
      "types\n"
      "  and classes of the catalogue (`muster_quota_*`: those that a Quota is for), and `other` "
      "for\n"
      "  all else that pools name. Organizations are there only with\n"
      "  `--metrics_organizations=N`: N of them, and `other`.\n"
      "- stable: name, labels and meaning stay. evolving: goes with how Muster works inside.\n\n"
      "## musterd\n\n",
      TableOf(of_server), "\n## muster-kubernetes\n\nThese, and of the above `grpc_server_*`, ",
      "`process_*`, `muster_build_info`, `muster_log_*`, `muster_tls_*` and `muster_trace_*`.\n\n",
      TableOf(of_adapter));
}

void ExpectReference(const std::string& now) {
  if (getenv("MUSTER_WRITE_REFERENCE") != nullptr) {
    std::ofstream(kReference) << now;
    return;
  }
  EXPECT_EQ(ReadFile(kReference), now) << "The reference is made anew by: " << kUpdate;
}

// 24 machines: of 4 spot Nodes two give way when the example wants 22.
TEST(MetricsPage, OfABusyFleetIsSoundTrueAndAsTheReferenceSays) {
  TempFolder folder;
  Issuer issuer;
  issuer.AddRsaKey("rsa");
  std::ofstream(folder.Path("keys.json")) << issuer.KeySet();
  MiniMuster muster(
      {.musterd_flags = {"--metrics_organizations=5", "--preemption_notice=1s",
                         "--preemption_end=3s", "--token_keys_file=" + folder.Path("keys.json"),
                         absl::StrCat("--token_issuer=", Issuer::kName),
                         absl::StrCat("--token_audience=", Issuer::kAudience)},
       .tls = true});
  muster.ApplyCatalogue();
  muster.ApplyExample();
  ASSERT_TRUE(muster.AwaitSettled(1)) << muster.LogEnds();
  ApplySpot(muster, 4);
  ASSERT_EQ(muster.Ctl({"wait", "nodepool", "spot"}).exit_code, 0) << muster.LogEnds();
  ASSERT_TRUE(muster.Resize(22).ok());
  ASSERT_TRUE(muster.Await([](const lifecycle::v1::NodePool* pool) {
    return pool != nullptr && IsHealthy(*pool, 22);
  })) << muster.LogEnds();

  std::string page;
  const auto value = [&](const std::string& sample) { return SampleIn(page, sample); };
  const std::string type = R"(zone="RNO2A",instance_type="gd-8xa100-i128")";
  const std::string spot = absl::StrCat("{", type, R"(,compute_class="spot"})");
  Until(
      [&] {
        page = PageOf(muster);
        return value("muster_capacity_waiting_nodes" + spot) == 2 &&
               value(R"(muster_lifecycle_preemptions_total{phase="done"})") == 2 &&
               value(R"(muster_lifecycle_nodes{state="PRODUCTION"})") == 24;
      },
      "the spot pool to wait for what it gave");
  EXPECT_EQ(value(absl::StrCat("muster_quota_held_nodes{", type, R"(,compute_class="default"})")),
            22);
  EXPECT_EQ(value(R"(muster_quota_organization_held_nodes{organization="acme"})"), 26);
  EXPECT_EQ(value(absl::StrCat("muster_capacity_machines{", type, R"(,state="HELD"})")), 24);
  EXPECT_EQ(value("muster_capacity_waiting_claims" + spot), 1);
  EXPECT_GT(value("muster_capacity_oldest_wait_seconds" + spot), 0);
  EXPECT_EQ(value(R"(muster_capacity_wait_seconds_count{compute_class="default"})"), 22);
  EXPECT_EQ(value("muster_lifecycle_request_to_service_seconds_count"), 26);
  EXPECT_EQ(value("muster_lifecycle_delivery_seconds_count"), 26);
  EXPECT_EQ(value("muster_lifecycle_preemption_seconds_count"), 2);
  EXPECT_EQ(value(R"(muster_lifecycle_pool_conditions{condition="AtTarget",status="True",)"
                  R"(reason="TargetMet"})"),
            1);
  EXPECT_EQ(value(R"(muster_configuration_pools)"), 2);
  EXPECT_GT(value(R"(muster_lifecycle_agent_last_report_timestamp_seconds{zone="RNO2A"})"), 1.7e9);

  EXPECT_EQ(FaultsOf(page), "");
  EXPECT_EQ(FaultsOf(AdapterPage()), "");
  ExpectReference(ReferenceOf(page, AdapterPage()));
}

TEST(Reference, IsReadOffAPage) {
  const MetricDescriptions metrics = DescriptionsIn(
      "# HELP a_total What a counts, x | y.\n# TYPE a_total counter\n"
      "a_total{x=\"1,2\",y=\"\"} 3\na_total{x=\"2\"} 4\n"
      "# HELP b_seconds How long.\n# TYPE b_seconds histogram\n"
      "b_seconds_bucket{z=\"1\",le=\"+Inf\"} 1\nb_seconds_sum{z=\"1\"} 1\n");
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics.at("a_total").type, "counter");
  EXPECT_EQ(metrics.at("a_total").help, "What a counts, x | y.");
  EXPECT_THAT(metrics.at("a_total").labels, ElementsAre("x", "y"));
  EXPECT_THAT(metrics.at("b_seconds").labels, ElementsAre("z"));
  EXPECT_THAT(
      TableOf(metrics),
      ::testing::HasSubstr("| `a_total` | counter | x, y | What a counts, x \\| y. | stable |\n"));
  EXPECT_EQ(SampleIn("a{x=\"1\"} 3\na_total 4.5\n", "a_total"), 4.5);
}

// The check can fail.
TEST(Reference, PromtoolSaysWhatIsWrong) { EXPECT_NE(FaultsOf("# TYPE a counter\na 1\n"), ""); }

}  // namespace
}  // namespace muster::testing
