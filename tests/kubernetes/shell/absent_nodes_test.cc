#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/node_reconciler.h"
#include "tests/kubernetes/shell/reconciler_test_base.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

constexpr int kLost = 100;

// Takes every report.
class LifecycleOfReports final : public LifecycleOfCluster {
 public:
  grpc::Status ReportNodes(grpc::ServerContext*, const lifecycle::v1::ReportNodesRequest* request,
                           lifecycle::v1::ReportNodesResponse* response) override {
    MutexLock lock(mutex_);
    for (const lifecycle::v1::NodeReport& report : request->reports()) {
      if (report.observation() == lifecycle::v1::NodeReport::OBSERVATION_UNHEALTHY)
        unhealthy_.insert(report.node());
      response->add_results();
    }
    return grpc::Status::OK;
  }

  // Names of Nodes.
  std::set<std::string> unhealthy() const {
    MutexLock lock(mutex_);
    return unhealthy_;
  }

 private:
  mutable Mutex mutex_;
  std::set<std::string> unhealthy_ MUSTER_GUARDED_BY(mutex_);
};

// A pool of machines in production, m0 and so on, none of which is seen in the cluster.
class AbsentNodesTest : public ReconcilerTestBase {
 protected:
  AbsentNodesTest() {
    Serve({&lifecycle_});
    ReconcileNodes(&clock_);
    Bind(lifecycle_);
    for (int i = 0; i < kLost; ++i) {
      lifecycle::v1::WatchLifecycleResponse told;
      told.mutable_node()->set_name(NameOf(i));
      told.mutable_node()->set_machine(MachineOf(i));
      told.mutable_node()->set_pool_uid("a-uid");
      told.mutable_node()->set_state(lifecycle::v1::Node::STATE_PRODUCTION);
      known_.Take(told, absl::Now());
    }
  }
  ~AbsentNodesTest() override { Stop(); }

  static std::string MachineOf(int i) { return absl::StrCat("m", i); }
  std::string NameOf(int i) {
    return absl::StrCat(muster_->client().PoolName("a"), "/nodes/", MachineOf(i));
  }
  // A v1 Node of the pool that no watch has told of.
  void Register(const std::string& name, const std::string& machine) {
    const auto made = api_->Create(
        kubernetes::kNodesPath,
        {{"apiVersion", "v1"},
         {"kind", "Node"},
         {"metadata", {{"name", name}, {"labels", {{muster::kPoolUidLabel, "a-uid"}}}}},
         {"spec", {{"providerID", absl::StrCat("muster://RNO2A/", machine)}}}});
    ASSERT_TRUE(made.ok()) << made.status();
  }
  absl::Status Reconcile(int i) { return nodes_->Reconcile(MachineOf(i)).status; }
  // Of v1 Nodes.
  int64_t Lists() const {
    const auto requests = api_server_.requests();
    return std::count_if(requests.begin(), requests.end(), [](const RecordedRequest& request) {
      return request.verb == "LIST" && request.path == kubernetes::kNodesPath;
    });
  }
  void AwaitUnhealthy(size_t nodes) {
    Until([&] { return lifecycle_.unhealthy().size() >= nodes; }, "the reports");
  }

  LifecycleOfReports lifecycle_;
  FakeSteadyClock clock_;
};

TEST_F(AbsentNodesTest, ManyOfAPoolAreLookedUpInOneList) {
  for (int i = 0; i < 3; ++i) Register(absl::StrCat("other", i), absl::StrCat("o", i));
  for (int i = 0; i < kLost; ++i) EXPECT_TRUE(Reconcile(i).ok()) << i;
  AwaitUnhealthy(kLost);
  EXPECT_EQ(Lists(), 1);
}

TEST_F(AbsentNodesTest, OneThatIsThereUnderANewNameIsNotReported) {
  Register("ip-10-0-0-7", MachineOf(7));
  EXPECT_TRUE(absl::IsAborted(Reconcile(7)));
  const auto seen = cluster_.NodeOf(MachineOf(7));
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->name, "ip-10-0-0-7");
  EXPECT_TRUE(Reconcile(0).ok());
  AwaitUnhealthy(1);
  EXPECT_EQ(lifecycle_.unhealthy(), std::set<std::string>{NameOf(0)});
}

// Its Nodes are there, in the other Kubernetes.
TEST_F(AbsentNodesTest, OfAClusterThatIsTurnedOverNothingIsReported) {
  lifecycle_.BindTo("another");
  EXPECT_TRUE(absl::IsAborted(Reconcile(0)));
  EXPECT_TRUE(identity_->foreign());
}

// The adapter binds one that was made anew again.
TEST_F(AbsentNodesTest, OfAClusterThatIsNobodysNothingIsReportedYet) {
  lifecycle_.BindTo("");
  EXPECT_TRUE(absl::IsAborted(Reconcile(0)));
  EXPECT_FALSE(identity_->foreign());
}

// What was listed before says nothing of what came since.
TEST_F(AbsentNodesTest, AListDoesNotStandForLong) {
  EXPECT_TRUE(Reconcile(0).ok());
  Register("ip-10-0-0-7", MachineOf(7));
  clock_.Advance(kubernetes::NodeLists::kStands);
  EXPECT_TRUE(absl::IsAborted(Reconcile(7)));
  EXPECT_EQ(Lists(), 2);
}

}  // namespace
}  // namespace muster::testing
