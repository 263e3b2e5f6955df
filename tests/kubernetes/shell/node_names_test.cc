#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "services/common/condition_names.h"
#include "services/common/mutex.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/testing/node_plan.h"
#include "services/kubernetes/node_reconciler.h"
#include "services/kubernetes/reporter.h"
#include "tests/kubernetes/shell/reconciler_test_base.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using kubernetes::Json;
using lifecycle::v1::Node;
using lifecycle::v1::NodeReport;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Takes every report.
class LifecycleOfNodes final : public LifecycleOfCluster {
 public:
  grpc::Status ReportNodes(grpc::ServerContext*, const lifecycle::v1::ReportNodesRequest* request,
                           lifecycle::v1::ReportNodesResponse* response) override {
    MutexLock lock(mutex_);
    for (const NodeReport& report : request->reports()) {
      reported_.push_back(report.observation());
      response->add_results();
    }
    return grpc::Status::OK;
  }

  // It has no Node.
  grpc::Status GetNode(grpc::ServerContext*, const lifecycle::v1::GetNodeRequest* request,
                       lifecycle::v1::Node*) override {
    if (absl::StrContains(request->name(), "_"))
      return {grpc::StatusCode::INVALID_ARGUMENT, "name: it must be ..."};
    return {grpc::StatusCode::NOT_FOUND, "no such Node"};
  }

  std::vector<NodeReport::Observation> reported() const {
    MutexLock lock(mutex_);
    return reported_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<NodeReport::Observation> reported_ MUSTER_GUARDED_BY(mutex_);
};

// A machine whose kubelet came up under another name: the v1 Nodes `old` and `new` are both its,
// and `old` changed last, when the cluster noticed that nobody posts there.
class NodeNamesTest : public ReconcilerTestBase {
 protected:
  NodeNamesTest() {
    Serve({&lifecycle_});
    Bind(lifecycle_);
    ReconcileNodes();
    for (const char* name : {"old", "new"}) cluster_.nodes().Put(Register(name));
    ChangeOld("/status", {{"status", {{"conditions", Ready("Unknown")}}}});
  }
  ~NodeNamesTest() override { Stop(); }

  // Muster's Node, which is thought to have other work than it has.
  void Know(Node::State state) {
    lifecycle::v1::WatchLifecycleResponse told;
    *told.mutable_node() = kubernetes::MakeNode(state);
    told.mutable_node()->mutable_observed()->set_active(true);
    machine_ = told.node().machine();
    known_.Take(told, absl::Now());
  }
  // Of the same pool.
  void KnowBooting(const std::string& machine) {
    lifecycle::v1::WatchLifecycleResponse told;
    Node& node = *told.mutable_node();
    node = kubernetes::MakeNode(Node::STATE_BOOTING);
    node.set_name(absl::StrCat("organizations/acme/clusters/c1/nodePools/a/nodes/", machine));
    node.set_machine(machine);
    known_.Take(told, absl::Now());
  }
  // `old` was left by an earlier life of the machine, in which it was told to go. Its kubelet
  // posted there last at that time.
  void EndOld(const std::string& heartbeat_time = "2025-05-30T17:35:00Z") {
    Json conditions = Ready("Unknown");
    conditions[0]["lastHeartbeatTime"] = heartbeat_time;
    conditions.push_back({{"type", condition::kNodeRemoval}, {"status", "True"}});
    ChangeOld("/status", {{"status", {{"conditions", conditions}}}});
    const Json life = {{kubernetes::kLifeAnnotation, "2025-05-30T17:35:59.999999Z"}};
    ChangeOld("", {{"metadata", {{"annotations", life}}}});
  }
  // As one that Muster knew it may go.
  void LetOldGo() { history_.See("h", cluster_.nodes().Find("old")->uid); }
  bool IsThere(const std::string& node) {
    const auto found = api_->Get(absl::StrCat(kubernetes::kNodesPath, "/", node));
    EXPECT_TRUE(found.ok() || absl::IsNotFound(found.status())) << found.status();
    return found.ok();
  }
  // Of which no view knows yet.
  Json CreatePod(const std::string& node) {
    const Json container = {{"name", "main"}, {"image", "none"}};
    const auto made = api_->Create(
        kPods, {{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata", {{"name", "work"}, {"namespace", "default"}}},
                {"spec", {{"nodeName", node}, {"containers", Json::array({container})}}}});
    EXPECT_TRUE(made.ok()) << made.status();
    return *made;
  }
  absl::Status Reconcile() { return nodes_->Reconcile(machine_).status; }
  std::vector<NodeReport::Observation> AwaitReports() {
    Until([&] { return !lifecycle_.reported().empty(); }, "the reports");
    return lifecycle_.reported();
  }
  static auto SaysThatItWorks() {
    return AllOf(Contains(kubernetes::kActive),
                 Each(Not(AnyOf(kubernetes::kIdle, kubernetes::kDrained, kubernetes::kUnhealthy))));
  }

  LifecycleOfNodes lifecycle_;

 private:
  static Json Ready(const std::string& status) {
    return Json::array({{{"type", "Ready"}, {"status", status}}});
  }
  void ChangeOld(const std::string& part, const Json& patch) {
    const auto changed = api_->Patch(kubernetes::PatchType::kMerge,
                                     absl::StrCat(kubernetes::kNodesPath, "/old", part), patch);
    EXPECT_TRUE(changed.ok()) << changed.status();
    cluster_.nodes().Put(*changed);
  }
  Json Register(const std::string& name) {
    const auto made =
        api_->Create(kubernetes::kNodesPath,
                     {{"apiVersion", "v1"},
                      {"kind", "Node"},
                      {"metadata", {{"name", name}}},
                      {"spec", {{"providerID", "muster://Z/g8fd930"}, {"unschedulable", true}}},
                      {"status", {{"conditions", Ready("True")}}}});
    EXPECT_TRUE(made.ok()) << made.status();
    return *made;
  }

  std::string machine_;
};

TEST_F(NodeNamesTest, ItsWorkIsWhereItsKubeletIs) {
  Know(Node::STATE_PRODUCTION);
  cluster_.pods().Put(CreatePod("new"));
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_THAT(AwaitReports(), SaysThatItWorks());
}

// The v1 Node `new` bears the name of a machine that has yet to boot.
TEST_F(NodeNamesTest, ItIsNotTheMachineWhoseNameItBears) {
  Know(Node::STATE_PRODUCTION);
  KnowBooting("new");
  EXPECT_TRUE(nodes_->Reconcile("new").status.ok());
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_THAT(AwaitReports(),
              Not(AnyOf(Contains(kubernetes::kRegistered), Contains(kubernetes::kReady))));
  EXPECT_TRUE(IsThere("new"));
}

TEST_F(NodeNamesTest, ItIsNotDrainedWhileThereIsWork) {
  Know(Node::STATE_DRAINING);
  cluster_.pods().Put(CreatePod("new"));
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_THAT(AwaitReports(), SaysThatItWorks());
}

// The watch of Pods is late.
TEST_F(NodeNamesTest, WhetherItIsDrainedIsLookedUpByAllOfItsNames) {
  Know(Node::STATE_DRAINING);
  CreatePod("old");
  EXPECT_TRUE(absl::IsAborted(Reconcile()));
  EXPECT_THAT(lifecycle_.reported(), IsEmpty());
}

TEST_F(NodeNamesTest, WhatAnEarlierLifeLeftGoesAndItsPodsAreNoWork) {
  EndOld();
  LetOldGo();
  Know(Node::STATE_DRAINING);
  cluster_.pods().Put(CreatePod("old"));
  const auto old = api_->Get(absl::StrCat(kubernetes::kNodesPath, "/old"));
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_THAT(AwaitReports(),
              AllOf(Contains(kubernetes::kDrained), Not(Contains(kubernetes::kActive))));
  EXPECT_FALSE(IsThere("old"));
  EXPECT_TRUE(IsThere("new"));
  // Its Pods are there until the cluster collects them.
  cluster_.nodes().Remove(*old);
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_THAT(lifecycle_.reported(), Not(Contains(kubernetes::kActive)));
}

TEST_F(NodeNamesTest, WhatAnEarlierLifeLeftGoesThoughSomethingOfThisOneIsRefused) {
  EndOld();
  LetOldGo();
  Know(Node::STATE_PRODUCTION);
  api_server_.FailNext({.verb = "PATCH",
                        .path_prefix = absl::StrCat(kubernetes::kNodesPath, "/new"),
                        .code = 403,
                        .count = 1'000});
  EXPECT_FALSE(Reconcile().ok());
  EXPECT_FALSE(IsThere("old"));
}

TEST_F(NodeNamesTest, WhereAPolicyKeepsItThatIsTold) {
  EndOld();
  LetOldGo();
  Know(Node::STATE_PRODUCTION);
  api_server_.FailNext({.verb = "DELETE", .code = 403, .message = "kept by a policy"});
  EXPECT_FALSE(Reconcile().ok());
  EXPECT_TRUE(IsThere("old"));
  EXPECT_THAT(undeleted_, ElementsAre(AllOf(StartsWith("old: "), HasSubstr("kept by a policy"))));
}

TEST_F(NodeNamesTest, AServerThatIsAwayRefusesNoDeletion) {
  EndOld();
  LetOldGo();
  Know(Node::STATE_PRODUCTION);
  for (const int code : {409, 410, 429, 503}) {
    api_server_.FailNext({.verb = "DELETE", .code = code});
    // A write that failed is held back for a while.
    testing::Until([&] { return !absl::StrContains(Reconcile().message(), "held back"); },
                   "the deletion to be asked for");
  }
  EXPECT_THAT(undeleted_, IsEmpty());
}

// In a history that is not accepted what Muster says of lives proves nothing.
TEST_F(NodeNamesTest, WhatAnEarlierLifeLeftCountsWhileItIsKept) {
  EndOld();
  Know(Node::STATE_DRAINING);
  cluster_.pods().Put(CreatePod("old"));
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_THAT(AwaitReports(), SaysThatItWorks());
  EXPECT_TRUE(IsThere("old"));
}

// Another cloud's controller has written its provider id.
TEST_F(NodeNamesTest, AnOrphanGoesThoughItsProviderIdIsNoMachines) {
  const std::string path = absl::StrCat(kubernetes::kNodesPath, "/orphan");
  const auto made = api_->Create(
      kubernetes::kNodesPath,
      {{"apiVersion", "v1"},
       {"kind", "Node"},
       {"metadata", {{"name", "orphan"}}},
       {"spec", {{"providerID", "cloud://account/kube-x_1"}}},
       {"status",
        {{"conditions", Json::array({{{"type", condition::kNodeRemoval}, {"status", "True"}}})}}}});
  ASSERT_TRUE(made.ok()) << made.status();
  const auto ours = api_->Patch(
      kubernetes::PatchType::kApply, path,
      {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"labels", {{kPoolLabel, "a"}}}}}},
      {{"fieldManager", kubernetes::kFieldManager}, {"force", "true"}});
  ASSERT_TRUE(ours.ok()) << ours.status();
  cluster_.nodes().Put(*ours);
  history_.See("h", cluster_.nodes().Find("orphan")->uid);
  EXPECT_TRUE(nodes_->Reconcile("orphan").status.ok());
  EXPECT_FALSE(IsThere("orphan"));
}

// A kubelet of this life has posted there: it may run what is there.
TEST_F(NodeNamesTest, WhatThisLifeTookOverStaysAndItsPodsAreWork) {
  EndOld("2025-05-31T00:00:00Z");
  LetOldGo();
  Know(Node::STATE_PRODUCTION);
  cluster_.pods().Put(CreatePod("old"));
  EXPECT_TRUE(Reconcile().ok());
  EXPECT_THAT(AwaitReports(), SaysThatItWorks());
  EXPECT_TRUE(IsThere("old"));
}

}  // namespace
}  // namespace muster::testing
