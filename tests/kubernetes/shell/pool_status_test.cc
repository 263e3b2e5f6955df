#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "services/common/condition_names.h"
#include "services/common/error.h"
#include "services/common/first_edition.h"
#include "services/common/steady_clock.h"
#include "services/kubernetes/core/find_condition.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/event_mirror.h"
#include "services/kubernetes/pool_reconciler.h"
#include "services/rpc/status.h"
#include "tests/kubernetes/shell/pool_orders_test_base.h"
#include "tests/kubernetes/shell/reconciler_test_base.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

using kubernetes::Edition;
using kubernetes::Json;
using kubernetes::kStatusInterval;
using kubernetes::Outcome;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kName[] = "a";
constexpr char kAllSynced[] = "Metadata of all Nodes is synced.";
constexpr char kNoneSynced[] = "Metadata of 1 of 1 Node is not synced yet.";

// One pool that Kubernetes and Muster both have, without Nodes.
class PoolStatusTest : public ReconcilerTestBase {
 protected:
  PoolStatusTest() {
    Serve({&lifecycle_});
    kubernetes::EventMirror::Options options{.instance = "adapter"};
    options.node_of = [](const std::string&) { return kubernetes::EventNode(); };
    events_ = std::make_unique<kubernetes::EventMirror>(api_.get(), &metrics_, options);
    const auto made = api_->Create(
        kubernetes::kNodePoolsPath,
        {{"apiVersion", "compute.coreweave.com/v1alpha1"},
         {"kind", "NodePool"},
         {"metadata", {{"name", kName}, {"finalizers", Json::array({kubernetes::kFinalizer})}}},
         {"spec", {{"instanceType", "gd-8xa100-i128"}, {"targetNodes", 1}}}});
    EXPECT_TRUE(made.ok()) << made.status();
    cluster_.node_pools().Put(*made);
    KnowPool(0);
  }
  ~PoolStatusTest() override { Stop(); }

  void Start(Edition edition, bool ready_condition) {
    reconciler_.emplace(kubernetes::PoolReconciler::Parts{.api = api_.get(),
                                                          .writer = writer_.get(),
                                                          .cluster = &cluster_,
                                                          .muster = &muster_->client(),
                                                          .muster_view = &known_,
                                                          .events = events_.get(),
                                                          .metrics = &metrics_,
                                                          .history = &history_,
                                                          .brake = &brake_,
                                                          .identity = identity_.get(),
                                                          .refusals = &refusals_,
                                                          .edition = edition,
                                                          .ready_condition = ready_condition,
                                                          .steady = &clock_});
  }
  // Looks at the pool; returns when it is looked at again.
  absl::Duration Reconcile() {
    const Outcome outcome = reconciler_->Reconcile(kName);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    return outcome.again;
  }
  // As if Muster had never taken a spec of the object.
  void ForgetPool() {
    known_.BeginSnapshot();
    lifecycle::v1::WatchLifecycleResponse end;
    end.set_type(type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END);
    known_.Take(end, absl::Now());
  }
  // Somebody takes the finalizers off it.
  void LetGo() { Change({{"metadata", {{"finalizers", nullptr}}}}); }
  // As Muster tells of it.
  void KnowPool(int64_t queued_nodes, bool goes = false) {
    lifecycle::v1::WatchLifecycleResponse told;
    told.mutable_node_pool()->set_name(muster_->client().PoolName(kName));
    told.mutable_node_pool()->set_uid(Object()->uid);
    told.mutable_node_pool()->set_generation(1);
    told.mutable_node_pool()->set_object_generation(1);
    told.mutable_node_pool()->mutable_status()->set_queued_nodes(queued_nodes);
    lifecycle::v1::Condition& ready = *told.mutable_node_pool()->mutable_status()->add_conditions();
    ready.set_type(condition::kReady);
    ready.set_status(condition_status::kTrue);
    ready.set_reason(reason::kReady);
    if (goes) told.mutable_node_pool()->mutable_delete_time()->set_seconds(1);
    known_.Take(told, absl::Now());
  }
  void ChangeTarget(int64_t nodes) { Change({{"spec", {{"targetNodes", nodes}}}}); }
  // Which cannot be carried out: there is no configuration service.
  void Order() {
    Change({{"metadata", {{"annotations", {{kubernetes::kPromoteAnnotation, "np-1"}}}}}});
  }
  // Its finalizer keeps it.
  void DeleteObject() {
    const std::string path = absl::StrCat(kubernetes::kNodePoolsPath, "/", kName);
    ASSERT_TRUE(api_->Delete(path).ok());
    const auto found = api_->Get(path);
    ASSERT_TRUE(found.ok()) << found.status();
    cluster_.node_pools().Put(*found);
  }
  // Looks at the pool, of which something else fails; returns when its status is looked at again.
  absl::Duration ReconcileInVain() {
    const Outcome outcome = reconciler_->Reconcile(kName);
    EXPECT_FALSE(outcome.status.ok());
    return outcome.again;
  }
  // Muster has a Node of the pool, which is not in the cluster.
  void KnowNode(lifecycle::v1::Node::State state = lifecycle::v1::Node::STATE_PRODUCTION) {
    lifecycle::v1::WatchLifecycleResponse told;
    told.mutable_node()->set_name(absl::StrCat(muster_->client().PoolName(kName), "/nodes/m"));
    told.mutable_node()->set_machine("m");
    told.mutable_node()->set_pool_uid(Object()->uid);
    told.mutable_node()->set_state(state);
    known_.Take(told, absl::Now());
  }
  // As an earlier process of the adapter showed it.
  void ShowHeld(const std::string& message) {
    const Json held = {{"type", kubernetes::kRemovalsHeld},
                       {"status", "True"},
                       {"reason", reason::kMoreThanAFew},
                       {"message", message},
                       {"observedGeneration", Object()->generation},
                       {"lastTransitionTime", "2025-05-30T17:36:00Z"}};
    const auto shown =
        api_->Patch(kubernetes::PatchType::kApply,
                    absl::StrCat(kubernetes::kNodePoolsPath, "/", kName, "/status"),
                    {{"apiVersion", kNodePoolApiVersion},
                     {"kind", "NodePool"},
                     {"metadata", {{"name", kName}}},
                     {"status", {{"conditions", Json::array({held})}}}},
                    {{"fieldManager", kubernetes::kFieldManager}, {"force", "true"}});
    ASSERT_TRUE(shown.ok()) << shown.status();
    cluster_.node_pools().Put(*shown);
  }
  std::shared_ptr<const kubernetes::NodePoolObject> Object() {
    return cluster_.node_pools().Find(kName);
  }
  // What the status says of that type: `{status}/{reason}: {message}`; empty: nothing.
  std::string Says(const char* type) {
    const Json* condition = kubernetes::FindCondition(Object()->status, type);
    if (condition == nullptr) return "";
    const auto said = [&](const char* key) { return kubernetes::TextOf((*condition)[key]); };
    return absl::StrCat(said("status"), "/", said("reason"), ": ", said("message"));
  }
  std::string Validated() { return Says(condition::kValidated); }
  // What the status says of the Nodes' metadata; empty: nothing.
  std::string MetadataSynced() {
    const Json* condition = kubernetes::FindCondition(Object()->status, kMetadataSynced);
    return condition == nullptr ? "" : kubernetes::TextOf((*condition)["message"]);
  }

  FakeSteadyClock clock_;
  LifecycleOfPools lifecycle_;
  std::optional<kubernetes::PoolReconciler> reconciler_;

 private:
  void Change(const Json& patch) {
    const auto changed = api_->Patch(kubernetes::PatchType::kMerge,
                                     absl::StrCat(kubernetes::kNodePoolsPath, "/", kName), patch);
    ASSERT_TRUE(changed.ok()) << changed.status();
    cluster_.node_pools().Put(*changed);
  }

  std::unique_ptr<kubernetes::EventMirror> events_;
};

// Of a large pool one count takes longer than the write, and every Node's turn asks for one.
TEST_F(PoolStatusTest, NodesAreCountedOnceBetweenTwoWrites) {
  Start(Edition::kBoth, true);
  EXPECT_EQ(Reconcile(), absl::InfiniteDuration());
  EXPECT_EQ(MetadataSynced(), kAllSynced);
  EXPECT_EQ(Reconcile(), kStatusInterval) << "nothing has changed, which only a count would tell";
  KnowNode();
  EXPECT_EQ(Reconcile(), kStatusInterval);
  EXPECT_EQ(MetadataSynced(), kAllSynced);
  clock_.Advance(kStatusInterval);
  EXPECT_EQ(Reconcile(), absl::InfiniteDuration());
  EXPECT_EQ(MetadataSynced(), kNoneSynced) << "what came meanwhile goes with the second";
  clock_.Advance(kStatusInterval);
  EXPECT_EQ(Reconcile(), absl::InfiniteDuration()) << "no write was made lately";
}

TEST_F(PoolStatusTest, LikewiseForReadyAlone) {
  Start(Edition::kCurrent, true);
  EXPECT_EQ(Reconcile(), absl::InfiniteDuration());
  EXPECT_EQ(Reconcile(), kStatusInterval);
}

// One that has left stays known until its machine was taken back, e.g. while capacity is away.
TEST_F(PoolStatusTest, ANodeThatHasLeftIsNotOutOfService) {
  Start(Edition::kCurrent, true);
  for (const auto state :
       {lifecycle::v1::Node::STATE_DELETED, lifecycle::v1::Node::STATE_DELIVERY_FAILED}) {
    KnowNode(state);
    (void)Reconcile();
    EXPECT_THAT(Says(condition::kReady), StartsWith("True/Ready")) << state;
    clock_.Advance(kStatusInterval);
  }
  KnowNode();
  (void)Reconcile();
  EXPECT_THAT(Says(condition::kReady), StartsWith("False/NodesNotInService: 1 of 1"));
}

TEST_F(PoolStatusTest, WhereNoneAreCountedAStatusThatIsAsItShouldBeWaitsForNothing) {
  Start(Edition::kCurrent, false);
  EXPECT_EQ(Reconcile(), absl::InfiniteDuration());
  EXPECT_EQ(Reconcile(), absl::InfiniteDuration());
}

// What becomes of the Nodes that the pool has does not depend on whether its new spec is taken.
TEST_F(PoolStatusTest, IsShownThoughMusterTakesNothing) {
  Bind(lifecycle_);
  Start(Edition::kCurrent, false);
  EXPECT_EQ(Reconcile(), absl::InfiniteDuration());
  lifecycle_.Answer({grpc::StatusCode::PERMISSION_DENIED, "not by you"});
  ChangeTarget(2);
  KnowPool(1);
  clock_.Advance(kStatusInterval);
  EXPECT_EQ(ReconcileInVain(), absl::InfiniteDuration());
  EXPECT_EQ(Object()->status["queuedNodes"], 1);

  DeleteObject();
  KnowPool(2);
  clock_.Advance(kStatusInterval);
  EXPECT_EQ(ReconcileInVain(), absl::InfiniteDuration());
  EXPECT_EQ(Object()->status["queuedNodes"], 2);
}

// What the pool's owner cannot mend, and nothing else would tell him.
TEST_F(PoolStatusTest, SaysThatMusterForbidsIt) {
  Start(Edition::kCurrent, false);
  ForgetPool();
  lifecycle_.Answer({grpc::StatusCode::PERMISSION_DENIED, "not by you"});
  (void)ReconcileInVain();
  EXPECT_THAT(Validated(), StartsWith("Unknown/InternalError: Muster does not let"));
  EXPECT_THAT(Validated(), HasSubstr("not by you"));

  lifecycle_.Answer(grpc::Status::OK);
  EXPECT_EQ(Reconcile(), absl::InfiniteDuration());
  KnowPool(1);
  clock_.Advance(kStatusInterval);
  EXPECT_EQ(Reconcile(), absl::InfiniteDuration());
  EXPECT_EQ(Validated(), "");
}

TEST_F(PoolStatusTest, SaysThatMusterForbidsItsDeletion) {
  Bind(lifecycle_);
  Start(Edition::kCurrent, false);
  DeleteObject();
  lifecycle_.Answer({grpc::StatusCode::PERMISSION_DENIED, "not by you"});
  (void)ReconcileInVain();
  EXPECT_THAT(Says(condition::kNodesRemoved),
              StartsWith("Unknown/InternalError: Muster does not let the adapter delete"));
  EXPECT_THAT(Says(condition::kNodesRemoved), HasSubstr("not by you"));

  lifecycle_.Answer(grpc::Status::OK);
  clock_.Advance(kStatusInterval);
  EXPECT_EQ(Reconcile(), absl::InfiniteDuration());
  EXPECT_EQ(Says(condition::kNodesRemoved), "") << "from now on it is Muster's to say";
}

// Muster's database was restored to a time before it.
TEST_F(PoolStatusTest, ADeletedOneThatIsKeptSaysSo) {
  Start(Edition::kCurrent, false);
  history_.Enter("restored");
  ForgetPool();
  DeleteObject();
  EXPECT_EQ(Reconcile(), absl::Seconds(15));
  EXPECT_THAT(Says(condition::kNodesRemoved),
              StartsWith("Unknown/InternalError: Muster's history"));
  EXPECT_TRUE(Object()->HasFinalizer());
}

// Else a restart would end it, and begin it anew: another time, and another event.
TEST_F(PoolStatusTest, WhatAnEarlierProcessHeldIsShownUntilItIsKnownToBeOver) {
  Start(Edition::kCurrent, false);
  ShowHeld("three");
  EXPECT_EQ(Reconcile(), kubernetes::kWatchIsLate);
  EXPECT_EQ(Says(kubernetes::kRemovalsHeld), "True/MoreThanAFew: three");
  brake_.Look(absl::Now(), absl::ZeroDuration());
  clock_.Advance(kStatusInterval);
  EXPECT_EQ(Reconcile(), absl::InfiniteDuration());
  EXPECT_EQ(Says(kubernetes::kRemovalsHeld), "");
}

TEST_F(PoolStatusTest, SaysThatTheApiServerRefusesTheFinalizer) {
  using Fault = std::pair<int, const char*>;
  for (const auto& [code, message] :
       {Fault(403, ""), Fault(422, ""), Fault(500, "failed calling webhook \"a.b\": no route")}) {
    SCOPED_TRACE(code);
    Start(Edition::kCurrent, false);
    ForgetPool();
    LetGo();
    api_server_.FailNext({.verb = "PATCH",
                          .code = code,
                          .count = 1'000,
                          .body_contains = kubernetes::kFinalizer,
                          .message = message});
    (void)ReconcileInVain();
    EXPECT_THAT(Validated(), StartsWith("Unknown/InternalError: The API server"));
    EXPECT_FALSE(Object()->HasFinalizer());

    api_server_.FailNoMore();
    clock_.Advance(kStatusInterval);
    const auto is_taken = [&] { return reconciler_->Reconcile(kName).status.ok(); };
    Until(is_taken, "that the finalizer is tried again");
    EXPECT_TRUE(Object()->HasFinalizer());
    KnowPool(1);
    clock_.Advance(kStatusInterval);
    EXPECT_EQ(Reconcile(), absl::InfiniteDuration());
    EXPECT_EQ(Validated(), "");
  }
}

TEST_F(PoolStatusTest, AFailureOfTheApiServersOwnPasses) {
  Start(Edition::kCurrent, false);
  ForgetPool();
  LetGo();
  api_server_.FailNext({.verb = "PATCH",
                        .code = 500,
                        .body_contains = kubernetes::kFinalizer,
                        .message = "etcdserver: leader changed"});
  (void)ReconcileInVain();
  EXPECT_EQ(Validated(), "");
}

// The cluster's etcd is a copy of another cluster's, with all of its NodePools and their statuses.
TEST_F(PoolStatusTest, SaysThatAnotherPoolHasItsUid) {
  Start(Edition::kCurrent, false);
  ForgetPool();
  lifecycle_.Answer(rpc::ToGrpcStatus(error::FailedPrecondition("UID_MISMATCH", kName, "taken")));
  EXPECT_EQ(Reconcile(), 20 * absl::Seconds(15));
  EXPECT_THAT(Validated(), StartsWith("False/Invalid: metadata.uid: "));
}

// One of its name, which the watch will tell of.
TEST_F(PoolStatusTest, SaysNothingOfAPoolThatItHasNotSeenYet) {
  Start(Edition::kCurrent, false);
  ForgetPool();
  lifecycle_.Have("another");
  lifecycle_.Answer(rpc::ToGrpcStatus(error::FailedPrecondition("UID_MISMATCH", kName, "another")));
  (void)ReconcileInVain();
  EXPECT_EQ(Validated(), "");
}

// What fails may be tried again much later.
TEST_F(PoolStatusTest, AStatusThatWaitsDoesNotWaitForAnOrderThatFails) {
  Start(Edition::kCurrent, false);
  EXPECT_EQ(Reconcile(), absl::InfiniteDuration());
  Order();
  KnowPool(1);
  EXPECT_EQ(ReconcileInVain(), kStatusInterval);
}

TEST_F(PoolStatusTest, NorForADeletionThatIsRefused) {
  Bind(lifecycle_);
  Start(Edition::kCurrent, false);
  EXPECT_EQ(Reconcile(), absl::InfiniteDuration());
  api_server_.FailNext({.verb = "DELETE", .code = 403});
  KnowPool(1, true);
  EXPECT_EQ(ReconcileInVain(), kStatusInterval);
}

}  // namespace
}  // namespace muster::testing
