#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "services/kubernetes/api/errors.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/test_objects.h"
#include "tests/kubernetes/shell/reconciler_test_base.h"

namespace muster::testing {
namespace {

using kubernetes::Json;
using lifecycle::v1::Node;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A Node that is to be cordoned, and whose v1 Node does not show yet whether it has work.
class WorkToldTest : public ReconcilerTestBase {
 protected:
  WorkToldTest() {
    Serve({&lifecycle_});
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

  lifecycle::v1::LifecycleService::Service lifecycle_;  // takes no reports
  lifecycle::v1::WatchLifecycleResponse told_;
};

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

}  // namespace
}  // namespace muster::testing
