#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "tests/kubernetes/adapter/adapter_test_base.h"
#include "tests/testing/patience.h"
#include "tests/testing/sockets.h"

// The adapter and the fleet's agents call Muster by mutual TLS.
namespace muster::testing {
namespace {

class MutualTlsTest : public AdapterTest<MutualTlsTest> {
 public:
  static AdapterStack::Options MakeOptions() {
    AdapterStack::Options options;
    options.muster.tls = true;
    return options;
  }
};

TEST_F(MutualTlsTest, APoolComesUpAndGrows) {
  const std::string pool = Name();
  const std::string uid = CreateHealthyPool(pool, {{"targetNodes", 1}});
  PatchSpec(pool, {{"targetNodes", 2}});
  EXPECT_TRUE(stack().AwaitHealthy(pool, 2)) << stack().GetNodePool(pool).dump(2);
  EXPECT_EQ(NodesOf(uid).size(), 2u);
}

// Five times both sides get new certificates, while the adapter's watch goes on, and what it and
// the agents report arrives.
TEST_F(MutualTlsTest, RenewalsEndNoWatchAndLoseNoReport) {
  const std::string pool = Name();
  CreateHealthyPool(pool, {{"targetNodes", 1}});
  MiniMuster& muster = stack().muster();
  const auto is_taken = [](const std::string& metrics, int count) {
    return absl::StrContains(
        metrics,
        absl::StrCat("muster_tls_certificate_reloads_total{result=\"taken\"} ", count, "\n"));
  };
  const auto failures = [&] {
    const std::string logs = stack().ServerLogs();
    std::vector<size_t> counts;
    for (const char* failure : {"the watch of Muster ended", "reports did not arrive"})
      counts.push_back(std::vector<std::string>(absl::StrSplit(logs, failure)).size() - 1);
    return counts;
  };
  const std::vector<size_t> before = failures();
  for (int taken = 2; taken <= 6; ++taken) {
    muster.RenewCertificate();
    muster.RenewCaller("muster-kubernetes");
    Until(
        [&] {
          return is_taken(HttpGet(muster.metrics_address(), "/metrics", absl::Minutes(1)), taken) &&
                 is_taken(stack().AdapterMetrics(), taken);
        },
        "the new certificates");
    const int nodes = 1 + taken % 2;
    PatchSpec(pool, {{"targetNodes", nodes}});
    ASSERT_TRUE(stack().AwaitHealthy(pool, nodes)) << stack().GetNodePool(pool).dump(2);
  }
  EXPECT_EQ(failures(), before) << stack().LogEnds();
}

// A slip in the policy file: that Muster shows nothing of a cluster that it does not show proves
// nothing.
TEST_F(MutualTlsTest, WhereMusterDoesNotShowTheClusterNothingGoes) {
  const std::string pool = Name();
  const std::string uid = CreateHealthyPool(pool, {{"targetNodes", 2}});
  const auto uids = [&] {
    std::set<std::string> uids;
    for (const Json& node : NodesOf(uid)) uids.insert(node["metadata"]["uid"]);
    return uids;
  };
  const std::set<std::string> before = uids();
  ASSERT_EQ(before.size(), 2U);
  const auto kept = [&](absl::string_view kind) {
    const std::string line =
        absl::StrCat("muster_kubernetes_removals_withheld_total{kind=\"", kind, "\"} ");
    Until(
        [&] {
          const std::string metrics = stack().AdapterMetrics();
          return absl::StrContains(metrics, line) && !absl::StrContains(metrics, line + "0\n");
        },
        absl::StrCat("one that is kept: ", kind));
  };
  stack().muster().WritePolicy({}, "another");
  kept("node");
  stack().DeleteNodePool(pool);
  kept("node_pool");
  EXPECT_EQ(uids(), before);
  EXPECT_FALSE(stack().GetNodePool(pool)["metadata"]["finalizers"].empty());

  stack().muster().WritePolicy({});
  Until([&] { return stack().GetNodePool(pool).is_null(); }, "the end of the deletion");
  // Others than who deletes the NodePool delete them.
  EXPECT_TRUE(AwaitNodeNames(uid, {}));
}

}  // namespace
}  // namespace muster::testing
