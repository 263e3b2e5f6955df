#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/testing/objects.h"
#include "services/kubernetes/node_reconciler.h"
#include "tests/kubernetes/api_paths.h"
#include "tests/kubernetes/shell/reconciler_test_base.h"
#include "tests/testing/counted_lines.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using kubernetes::Json;
using kubernetes::Outcome;
using lifecycle::v1::Node;
using lifecycle::v1::NodeReport;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// As NodeReconciler's kEvictionRetry.
constexpr absl::Duration kAskedAgain = absl::Seconds(5);
// More than one turn asks where the clock runs.
constexpr size_t kManyPods = 10;

// Takes every report, and keeps those of what holds up a drain.
class LifecycleOfDrains final : public lifecycle::v1::LifecycleService::Service {
 public:
  grpc::Status ReportNodes(grpc::ServerContext*, const lifecycle::v1::ReportNodesRequest* request,
                           lifecycle::v1::ReportNodesResponse* response) override {
    MutexLock lock(mutex_);
    for (const NodeReport& report : request->reports()) {
      response->add_results();
      last_node_ = report.node();
      const NodeReport::Observation seen = report.observation();
      if (seen == NodeReport::OBSERVATION_DRAIN_BLOCKED) told_.push_back(report.message());
      if (seen == NodeReport::OBSERVATION_DRAIN_UNBLOCKED) told_.emplace_back();
    }
    return grpc::Status::OK;
  }

  // What was said to hold it up, in order; empty: nothing does any more.
  std::vector<std::string> told() const {
    MutexLock lock(mutex_);
    return told_;
  }
  // That the last report is about.
  std::string last_node() const {
    MutexLock lock(mutex_);
    return last_node_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> told_ MUSTER_GUARDED_BY(mutex_);
  std::string last_node_ MUSTER_GUARDED_BY(mutex_);
};

// One by which whatever is done between two looks at it takes that long.
class SteadyClockThatRuns final : public SteadyClock {
 public:
  explicit SteadyClockThatRuns(absl::Duration by) : by_(by) {}
  absl::Duration Now() const override {
    MutexLock lock(mutex_);
    return now_ += by_;
  }

 private:
  const absl::Duration by_;
  mutable Mutex mutex_;
  mutable absl::Duration now_ MUSTER_GUARDED_BY(mutex_) = absl::Hours(1);
};

// A Node that is drained, with one Pod, which a budget guards.
class DrainRetryTest : public ReconcilerTestBase {
 protected:
  DrainRetryTest() {
    Serve({&lifecycle_});
    ReconcileNodes();
    *node_.mutable_node() = kubernetes::MakeNode(Node::STATE_DRAINING);
    machine_ = node_.node().machine();
    known_.Take(node_, absl::Now());
    const Json ready = {{"type", "Ready"}, {"status", "True"}};
    cluster_.nodes().Put(
        Create(kubernetes::kNodesPath, {{"apiVersion", "v1"},
                                        {"kind", "Node"},
                                        {"metadata", {{"name", machine_}}},
                                        {"spec", {{"unschedulable", true}}},
                                        {"status", {{"conditions", Json::array({ready})}}}}));
    CreatePod("work");
    RefuseEvictions(429, 1'000);
  }
  ~DrainRetryTest() override { Stop(); }

  Json Create(const std::string& path, const Json& object) {
    const auto made = api_->Create(path, object);
    EXPECT_TRUE(made.ok()) << made.status();
    return *made;
  }

  void CreatePod(const std::string& name) {
    const Json container = {{"name", "main"}, {"image", "none"}};
    cluster_.pods().Put(Create(
        kPods,
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata", {{"name", name}, {"namespace", "default"}, {"labels", {{"app", name}}}}},
         {"spec", {{"nodeName", machine_}, {"containers", Json::array({container})}}}}));
  }
  // kManyPods in all.
  void CreateMorePods() {
    for (size_t i = 1; i < kManyPods; ++i) CreatePod(absl::StrCat("work", i));
  }
  // Paths of the requests that asked Pods to leave.
  std::set<std::string> Asked() const {
    std::set<std::string> paths;
    for (const RecordedRequest& request : api_server_.requests()) {
      if (request.verb == "DELETE" || absl::EndsWith(request.path, "/eviction"))
        paths.insert(request.path);
    }
    return paths;
  }
  void RefuseEvictions(int code, int count) {
    api_server_.FailNext({.verb = "POST",
                          .path_prefix = absl::StrCat(kPods, "/work/eviction"),
                          .code = code,
                          .count = count});
  }
  // The HTTP status of the last one.
  int LastEviction() const {
    int code = 0;
    for (const RecordedRequest& request : api_server_.requests())
      if (request.path == absl::StrCat(kPods, "/work/eviction")) code = request.code;
    return code;
  }
  // Until all that was reported so far has been taken.
  void AwaitReports() {
    // The second travels behind the answer to all that travelled with the first.
    for (int i = 0; i < 2; ++i) {
      NodeReport report;
      report.set_node(absl::StrCat("another", ++others_));
      reporter_->Report(report.node(), {report});
      Until([&] { return lifecycle_.last_node() == report.node(); }, "the reports");
    }
  }

  LifecycleOfDrains lifecycle_;
  lifecycle::v1::WatchLifecycleResponse node_;
  std::string machine_;
  int others_ = 0;
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
  RefuseEvictions(403, 1'000);
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

// An API server that is away, busy or lost a race says nothing of the budget.
TEST_F(DrainRetryTest, ABudgetHoldsUntilThePodIsAnsweredOtherwise) {
  api_server_.FailNoMore();
  const auto runs = api_->Patch(kubernetes::PatchType::kMerge, absl::StrCat(kPods, "/work/status"),
                                {{"status", {{"phase", "Running"}}}});
  ASSERT_TRUE(runs.ok()) << runs.status();
  Create(kBudgetsPath,
         {{"apiVersion", "policy/v1"},
          {"kind", "PodDisruptionBudget"},
          {"metadata", {{"name", "web"}, {"namespace", "default"}}},
          {"spec", {{"minAvailable", 1}, {"selector", {{"matchLabels", {{"app", "work"}}}}}}}});
  FakeSteadyClock clock;
  ReconcileNodes(&clock);
  (void)nodes_->Reconcile(machine_);
  AwaitReports();
  const auto is_blocked = HasSubstr("default/work: The disruption budget web");
  ASSERT_THAT(lifecycle_.told(), ElementsAre(is_blocked));
  node_.mutable_node()->mutable_observed()->set_drain_blocked_by(lifecycle_.told()[0]);
  known_.Take(node_, absl::Now());
  for (const int code : {503, 409, 429, 504}) {
    RefuseEvictions(code, 1);
    clock.Advance(kAskedAgain);
    (void)nodes_->Reconcile(machine_);
    EXPECT_EQ(LastEviction(), code);
    AwaitReports();
    EXPECT_THAT(lifecycle_.told(), ElementsAre(is_blocked)) << code;
  }
  RefuseEvictions(403, 1);
  clock.Advance(kAskedAgain);
  (void)nodes_->Reconcile(machine_);
  AwaitReports();
  EXPECT_THAT(lifecycle_.told(), ElementsAre(is_blocked, "")) << "it is not the budget any more";
}

// A worker that asks all Pods of a Node one after another serves no other Node meanwhile.
TEST_F(DrainRetryTest, WhereAnswersTakeLongOthersHaveTheirTurnBetween) {
  api_server_.FailNoMore();
  CreateMorePods();
  node_.mutable_node()->mutable_observed()->set_drain_blocked_by("default/work9: a budget");
  known_.Take(node_, absl::Now());
  const SteadyClockThatRuns clock(absl::Seconds(2));
  ReconcileNodes(&clock);
  EXPECT_EQ(nodes_->Reconcile(machine_).again, absl::ZeroDuration());
  EXPECT_LT(Asked().size(), kManyPods);
  AwaitReports();
  EXPECT_THAT(lifecycle_.told(), IsEmpty()) << "who was held may not have been asked yet";
  for (size_t turn = 1; turn < kManyPods; ++turn) (void)nodes_->Reconcile(machine_);
  EXPECT_THAT(Asked(), SizeIs(kManyPods));
  // What earlier turns reported is through: this one's report goes.
  AwaitReports();
  (void)nodes_->Reconcile(machine_);
  AwaitReports();
  EXPECT_THAT(lifecycle_.told(), Contains(""));
}

// By the end of a turn whoever took it up is due again.
TEST_F(DrainRetryTest, WhoeverTakesUpWholeTurnsLeavesNobodyOut) {
  CreateMorePods();
  api_server_.FailNext({.path_prefix = kPods, .code = 503, .count = 1'000});
  const SteadyClockThatRuns clock(absl::Seconds(10));
  ReconcileNodes(&clock);
  for (size_t turn = 0; turn < kManyPods; ++turn) (void)nodes_->Reconcile(machine_);
  EXPECT_THAT(Asked(), SizeIs(kManyPods));
}

TEST_F(DrainRetryTest, WhoeverIsForcedOutLeavesNobodyOut) {
  CreateMorePods();
  node_.mutable_node()->mutable_desired()->set_force_drain(true);
  known_.Take(node_, absl::Now());
  const SteadyClockThatRuns clock(absl::Seconds(10));
  ReconcileNodes(&clock);
  // As far as is seen they never go: nothing watches.
  for (size_t turn = 0; turn < kManyPods; ++turn) (void)nodes_->Reconcile(machine_);
  EXPECT_THAT(Asked(), SizeIs(kManyPods));
}

}  // namespace
}  // namespace muster::testing
