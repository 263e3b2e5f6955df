#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/test_objects.h"
#include "services/kubernetes/node_reconciler.h"
#include "tests/kubernetes/shell/reconciler_test_base.h"
#include "tests/testing/counted_lines.h"

namespace muster::testing {
namespace {

using kubernetes::Json;
using kubernetes::Outcome;
using lifecycle::v1::Node;

// As NodeReconciler's kEvictionRetry.
constexpr absl::Duration kAskedAgain = absl::Seconds(5);

// A Node that is drained, with one Pod, which a budget guards.
class DrainRetryTest : public ReconcilerTestBase {
 protected:
  DrainRetryTest() {
    Serve({&lifecycle_});
    ReconcileNodes();
    lifecycle::v1::WatchLifecycleResponse told;
    *told.mutable_node() = kubernetes::MakeNode(Node::STATE_DRAINING);
    machine_ = told.node().machine();
    known_.Take(told, absl::Now());
    const Json ready = {{"type", "Ready"}, {"status", "True"}};
    cluster_.nodes().Put(
        Create(kubernetes::kNodesPath, {{"apiVersion", "v1"},
                                        {"kind", "Node"},
                                        {"metadata", {{"name", machine_}}},
                                        {"spec", {{"unschedulable", true}}},
                                        {"status", {{"conditions", Json::array({ready})}}}}));
    const Json container = {{"name", "main"}, {"image", "none"}};
    cluster_.pods().Put(Create(
        kPods, {{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata", {{"name", "work"}, {"namespace", "default"}}},
                {"spec", {{"nodeName", machine_}, {"containers", Json::array({container})}}}}));
    api_server_.FailNext({.verb = "POST",
                          .path_prefix = absl::StrCat(kPods, "/work/eviction"),
                          .code = 429,
                          .count = 1'000});
  }
  ~DrainRetryTest() override { Stop(); }

  Json Create(const std::string& path, const Json& object) {
    const auto made = api_->Create(path, object);
    EXPECT_TRUE(made.ok()) << made.status();
    return *made;
  }

  lifecycle::v1::LifecycleService::Service lifecycle_;  // takes no reports
  std::string machine_;
};

TEST_F(DrainRetryTest, ALabelThatIsRefusedDoesNotPutItOff) {
  api_server_.FailNext({.verb = "PATCH",
                        .path_prefix = absl::StrCat(kubernetes::kNodesPath, "/", machine_),
                        .code = 403,
                        .count = 1'000});
  const Outcome refused = nodes_->Reconcile(machine_);
  EXPECT_TRUE(absl::IsPermissionDenied(refused.status)) << refused.status;
  EXPECT_LE(refused.again, kAskedAgain);
  // The label's pause is not over yet.
  const Outcome held_back = nodes_->Reconcile(machine_);
  EXPECT_FALSE(held_back.status.ok());
  EXPECT_LE(held_back.again, kAskedAgain);
}

// Many Pods of many Nodes may be refused by the same webhook.
TEST_F(DrainRetryTest, AnEvictionThatIsForbiddenIsToldOnceAMinute) {
  api_server_.FailNoMore();
  api_server_.FailNext({.verb = "POST",
                        .path_prefix = absl::StrCat(kPods, "/work/eviction"),
                        .code = 403,
                        .count = 1'000});
  FakeSteadyClock clock;
  ReconcileNodes(&clock);
  const CountedLines lines("a Pod could not be asked to leave");
  for (int i = 0; i < 10; ++i) {
    EXPECT_LE(nodes_->Reconcile(machine_).again, kAskedAgain);
    clock.Advance(kAskedAgain);
  }
  EXPECT_EQ(lines.count(), 1);
  clock.Advance(absl::Minutes(1));
  (void)nodes_->Reconcile(machine_);
  EXPECT_EQ(lines.count(), 2);
}

}  // namespace
}  // namespace muster::testing
