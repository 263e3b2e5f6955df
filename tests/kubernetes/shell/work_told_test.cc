#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "services/common/mutex.h"
#include "services/kubernetes/api/errors.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/testing/objects.h"
#include "tests/kubernetes/shell/reconciler_test_base.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using kubernetes::Json;
using lifecycle::v1::Node;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Takes every report.
class LifecycleOfObservations final : public LifecycleOfCluster {
 public:
  grpc::Status ReportNodes(grpc::ServerContext*, const lifecycle::v1::ReportNodesRequest* request,
                           lifecycle::v1::ReportNodesResponse* response) override {
    MutexLock lock(mutex_);
    for (const lifecycle::v1::NodeReport& report : request->reports()) {
      reported_.insert(lifecycle::v1::NodeReport::Observation_Name(report.observation()));
      response->add_results();
    }
    return grpc::Status::OK;
  }
  std::set<std::string> reported() const {
    MutexLock lock(mutex_);
    return reported_;
  }

 private:
  mutable Mutex mutex_;
  std::set<std::string> reported_ MUSTER_GUARDED_BY(mutex_);
};

// A Node that is to be cordoned, and whose v1 Node does not show yet whether it has work.
class WorkToldTest : public ReconcilerTestBase {
 protected:
  WorkToldTest() {
    Serve({&lifecycle_});
    Bind(lifecycle_);
    ReconcileNodes();
    *told_.mutable_node() = kubernetes::MakeNode(Node::STATE_CORDONED);
    known_.Take(told_, absl::Now());
    const Json ready = {{"type", "Ready"}, {"status", "True"}};
    const auto made =
        api_->Create(kubernetes::kNodesPath, {{"apiVersion", "v1"},
                                              {"kind", "Node"},
                                              {"metadata", {{"name", machine()}}},
                                              {"status", {{"conditions", Json::array({ready})}}}});
    EXPECT_TRUE(made.ok()) << made.status();
    cluster_.nodes().Put(*made);
  }
  ~WorkToldTest() override { Stop(); }

  const std::string& machine() const { return told_.node().machine(); }
  bool IsCordoned() const {
    const auto object = cluster_.NodeOf(machine());
    return object != nullptr && object->unschedulable;
  }

  // What was reported so far, each once.
  std::set<std::string> Reported() const { return lifecycle_.reported(); }
  static Json WorkOn(const std::string& node) {
    return {{"apiVersion", "v1"},
            {"kind", "Pod"},
            {"metadata", {{"name", "job"}, {"namespace", "default"}}},
            {"spec", {{"nodeName", node}}}};
  }
  void Cordon() {
    ASSERT_TRUE(nodes_->Reconcile(machine()).status.ok());
    ASSERT_TRUE(IsCordoned());
  }

  LifecycleOfObservations lifecycle_;
  lifecycle::v1::WatchLifecycleResponse told_;
};

TEST_F(WorkToldTest, ACordonIsToldWithTheWorkThatCameBefore) {
  Cordon();
  const auto pod = api_->Create(kPods, WorkOn(machine()));
  ASSERT_TRUE(pod.ok()) << pod.status();
  // No watch has told of it yet.
  EXPECT_TRUE(absl::IsAborted(nodes_->Reconcile(machine()).status));
  EXPECT_TRUE(nodes_->Reconcile(machine()).status.ok());
  Until([&] { return !Reported().empty(); }, "the reports");
  EXPECT_THAT(Reported(), ElementsAre("OBSERVATION_ACTIVE", "OBSERVATION_CORDONED"));
}

TEST_F(WorkToldTest, ACordonOfAnIdleNodeIsTold) {
  Cordon();
  EXPECT_TRUE(nodes_->Reconcile(machine()).status.ok());
  Until([&] { return !Reported().empty(); }, "the report");
  EXPECT_THAT(Reported(), ElementsAre("OBSERVATION_CORDONED"));
}

// The Node may be another Kubernetes's by now.
TEST_F(WorkToldTest, NoCordonIsToldOfAClusterThatIsTurnedOver) {
  Cordon();
  lifecycle_.BindTo("another");
  EXPECT_TRUE(absl::IsAborted(nodes_->Reconcile(machine()).status));
  EXPECT_TRUE(identity_->foreign());
}

// After a refusal the cordon is written first, and alone.
TEST_F(WorkToldTest, ItIsToldOnceThoughTheCordonIsWrittenApart) {
  const absl::Status refused = kubernetes::StatusOfAnswer(
      "PATCH", 403, R"({"kind": "Status", "message": "No."})", absl::ZeroDuration());
  (void)refusals_.Note({"a", told_.node().pool_uid()}, machine(), refused);
  EXPECT_TRUE(nodes_->Reconcile(machine()).status.ok());
  EXPECT_TRUE(IsCordoned());
  EXPECT_THAT(turned_, IsEmpty()) << "the v1 Node does not show it yet";
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(nodes_->Reconcile(machine()).status.ok());
  EXPECT_THAT(turned_, ElementsAre("Node is idle."));
}

// Or its conditions would say what was before the refusal for as long as that stands.
TEST_F(WorkToldTest, ItIsToldThoughTheMetadataIsRefused) {
  api_server_.FailNext({.verb = "PATCH",
                        .path_prefix = absl::StrCat(kubernetes::kNodesPath, "/", machine()),
                        .code = 403,
                        .count = 1'000'000,
                        .body_contains = "is_gpu"});
  EXPECT_TRUE(absl::IsPermissionDenied(nodes_->Reconcile(machine()).status));
  EXPECT_THAT(turned_, ElementsAre("Node is idle."));
  EXPECT_FALSE(cluster_.NodeOf(machine())->conditions.empty());
  for (int i = 0; i < 2; ++i) (void)nodes_->Reconcile(machine());
  EXPECT_THAT(turned_, ElementsAre("Node is idle.")) << "once";
}

}  // namespace
}  // namespace muster::testing
