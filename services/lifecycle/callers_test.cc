// What a client asks for and is told beside the pool itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/error.h"
#include "services/common/timestamp.h"
#include "services/lifecycle/testing/service_test_base.h"
#include "tests/testing/watch_messages.h"

namespace muster::lifecycle {
namespace {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class CallersTest : public LifecycleServiceTest {
 protected:
  v1::ResizeNodePoolRequest To(int64_t target, bool must_fit = false) {
    v1::ResizeNodePoolRequest request;
    request.set_name(kPool);
    request.set_target_nodes(target);
    request.set_must_fit(must_fit);
    return request;
  }
  v1::NodePool Get() {
    v1::GetNodePoolRequest request;
    request.set_name(kPool);
    return Call(*replica_->stub, &Stub::GetNodePool, request).value_or(v1::NodePool());
  }
  template <class Response>
  static std::vector<std::string> NamesOf(const absl::StatusOr<Response>& page) {
    std::vector<std::string> names;
    EXPECT_THAT(page, IsOk());
    if (!page.ok()) return names;
    for (const auto& pool : page->node_pools())
      names.push_back(pool.name().substr(pool.name().rfind('/') + 1));
    return names;
  }
};

TEST_F(CallersTest, WhatMustFitAndDoesNotIsRefusedAndNothingIsWritten) {
  Reconcile();
  peers_.quota.SetLimit(kQuota, 4);
  v1::ApplyNodePoolRequest request = Pool(5);
  request.set_must_fit(true);
  while (replica_->service->epoch() == 0) absl::SleepFor(absl::Milliseconds(1));  // that is written
  const int64_t revision = replica_->service->lane().revision();
  const absl::Status refused = Call(*replica_->stub, &Stub::ApplyNodePool, request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused, HasReason("QUOTA_EXCEEDED"));
  const auto detail = muster::error::DetailOf(refused);
  EXPECT_EQ(detail->resource, kQuota);
  EXPECT_EQ(detail->metadata.at("asked"), "5");
  v1::GetNodePoolRequest get;
  get.set_name(kPool);
  EXPECT_THAT(Call(*replica_->stub, &Stub::GetNodePool, get).status(), HasReason("NOT_FOUND"));
  EXPECT_EQ(replica_->service->lane().revision(), revision);

  request.mutable_node_pool()->mutable_spec()->set_target_nodes(4);
  ASSERT_THAT(Call(*replica_->stub, &Stub::ApplyNodePool, request), IsOk());
  EXPECT_THAT(Call(*replica_->stub, &Stub::ResizeNodePool, To(5, true)).status(),
              HasReason("QUOTA_EXCEEDED"));
  v1::UpdateNodePoolRequest update;
  *update.mutable_node_pool() = Pool(5).node_pool();
  update.mutable_update_mask()->add_paths("spec.target_nodes");
  update.set_must_fit(true);
  EXPECT_THAT(Call(*replica_->stub, &Stub::UpdateNodePool, update).status(),
              HasReason("QUOTA_EXCEEDED"));
  EXPECT_EQ(Get().spec().target_nodes(), 4);
}

// Also where the pool is invalid, and asks for nothing until it is not: the same is judged.
TEST_F(CallersTest, ADryRunSaysOfQuotaWhatTheCallSays) {
  Reconcile();
  ASSERT_THAT(Apply(3), IsOk());
  ASSERT_TRUE(AwaitReason("Ready", "Ready", 3).has_value());
  peers_.quota.SetLimit(kQuota, 4);
  peers_.capacity.ChangeZone("US-EAST-04A", {});
  ASSERT_TRUE(AwaitReason("Validated", "Invalid").has_value());
  const auto call = [&](bool must_fit, bool validate_only) {
    v1::ResizeNodePoolRequest request = To(5, must_fit);
    request.set_validate_only(validate_only);
    return Call(*replica_->stub, &Stub::ResizeNodePool, request);
  };
  EXPECT_THAT(call(true, true).status(), HasReason("QUOTA_EXCEEDED"));
  EXPECT_THAT(call(true, false).status(), HasReason("QUOTA_EXCEEDED"));
  v1::ApplyNodePoolRequest other = Pool(5);
  other.mutable_node_pool()->set_name(absl::StrCat(kPool, "-2"));
  other.set_must_fit(true);
  other.set_validate_only(true);
  EXPECT_THAT(Call(*replica_->stub, &Stub::ApplyNodePool, other).status(),
              HasReason("QUOTA_EXCEEDED"));
  const auto tried = call(false, true);
  const auto taken = call(false, false);
  ASSERT_THAT(tried, IsOk());
  ASSERT_THAT(taken, IsOk());
  EXPECT_NE(tried->preview().invalid(), "");
  ASSERT_THAT(taken->warnings(), SizeIs(1));
  EXPECT_THAT(tried->warnings(), ElementsAre(taken->warnings(0)));
}

TEST_F(CallersTest, WhatTakesNoMoreIsNotRefusedForQuota) {
  Reconcile();
  ASSERT_THAT(Apply(3), IsOk());
  ASSERT_TRUE(AwaitReason("Ready", "Ready", 3).has_value());
  peers_.quota.SetLimit(kQuota, 1);
  EXPECT_THAT(Call(*replica_->stub, &Stub::ResizeNodePool, To(2, true)), IsOk());
  v1::UpdateNodePoolRequest update;
  update.mutable_node_pool()->set_name(kPool);
  update.mutable_node_pool()->mutable_spec()->set_description("for Mondays");
  update.set_must_fit(true);
  EXPECT_THAT(Call(*replica_->stub, &Stub::UpdateNodePool, update), IsOk());
}

TEST_F(CallersTest, WhatIsWrongIsToldBeforeQuotaIsAsked) {
  Reconcile();
  ASSERT_THAT(Apply(3), IsOk());
  v1::UpdateNodePoolRequest update;
  *update.mutable_node_pool() = Pool(1'000'001).node_pool();
  update.mutable_update_mask()->add_paths("spec.target_nodes");
  update.set_must_fit(true);
  const auto say = [&] { return Call(*replica_->stub, &Stub::UpdateNodePool, update).status(); };
  EXPECT_THAT(say(), HasFieldViolation("spec.targetNodes"));
  peers_.quota.SetAway(true);
  EXPECT_THAT(say(), HasFieldViolation("spec.targetNodes"));
  update.mutable_node_pool()->mutable_spec()->set_target_nodes(5);
  EXPECT_EQ(say().code(), absl::StatusCode::kUnavailable) << "nothing else is wrong";
  update.mutable_update_mask()->set_paths(0, "*");
  update.mutable_node_pool()->mutable_spec()->clear_instance_type();
  EXPECT_THAT(say(), HasFieldViolation("spec.instanceType"));
}

// "What was taken and will not do what it says, for people"
TEST_F(CallersTest, WhoChangesTheSpecOfAKubernetesObjectIsTold) {
  v1::ApplyNodePoolRequest object = Pool(3);
  object.mutable_node_pool()->set_object_generation(1);
  const auto of_adapter = Call(*replica_->stub, &Stub::ApplyNodePool, object);
  ASSERT_THAT(of_adapter, IsOk());
  EXPECT_THAT(of_adapter->warnings(), Not(Contains(HasSubstr("Kubernetes object"))));
  v1::UpdateNodePoolRequest update;
  update.mutable_node_pool()->set_name(kPool);
  update.mutable_node_pool()->mutable_spec()->set_description("for Mondays");
  const auto taken = Call(*replica_->stub, &Stub::UpdateNodePool, update);
  ASSERT_THAT(taken, IsOk());
  EXPECT_THAT(taken->warnings(), Contains(HasSubstr("is a Kubernetes object, whose spec")));
  v1::ResizeNodePoolRequest resize;
  resize.set_name(kPool);
  resize.set_target_nodes(2);
  const auto resized = Call(*replica_->stub, &Stub::ResizeNodePool, resize);
  ASSERT_THAT(resized, IsOk());
  EXPECT_THAT(resized->warnings(), Contains(HasSubstr("is a Kubernetes object, whose spec")));
}

TEST_F(CallersTest, WithoutQuotasWordNothingMustFit) {
  Reconcile();
  peers_.quota.SetAway(true);
  v1::ApplyNodePoolRequest request = Pool(3);
  request.set_must_fit(true);
  const absl::Status refused = Call(*replica_->stub, &Stub::ApplyNodePool, request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  const auto taken = Apply(3);
  ASSERT_THAT(taken, IsOk()) << "who does not ask for it is not held up";
  ASSERT_THAT(taken->warnings(), SizeIs(1));
  EXPECT_THAT(taken->warnings(0), HasSubstr("is not known: quota did not say"));
}

// "FAILED_PRECONDITION, POOL_RELEASED: not to be tried again"
TEST_F(CallersTest, WhatQuotaRefusesForGoodIsRefusedForGood) {
  Reconcile();
  peers_.quota.SetEntryRefusal(
      muster::error::Make(absl::StatusCode::kFailedPrecondition, "It was released.",
                          {.reason = "POOL_RELEASED", .resource = "pool"}));
  for (const bool validate_only : {false, true}) {
    SCOPED_TRACE(validate_only);
    v1::ApplyNodePoolRequest request = Pool(3);
    request.set_must_fit(true);
    request.set_validate_only(validate_only);
    const absl::Status refused = Call(*replica_->stub, &Stub::ApplyNodePool, request).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(refused, HasReason("POOL_RELEASED"));
    EXPECT_EQ(refused.message(), "It was released.");
  }
  const auto taken = Apply(3);
  ASSERT_THAT(taken, IsOk());
  ASSERT_THAT(taken->warnings(), SizeIs(1));
  EXPECT_THAT(taken->warnings(0), HasSubstr("covers it is not known: It was released."));
}

// As that of a pool whose object outlived it, and which was made again by that.
TEST_F(CallersTest, APoolThatWasReleasedStaysSoOnceQuotaHasForgottenIt) {
  Reconcile();
  peers_.quota.SetEntryRefusal(
      muster::error::Make(absl::StatusCode::kFailedPrecondition, "It was released.",
                          {.reason = "POOL_RELEASED", .resource = "pool"}));
  ASSERT_THAT(Apply(3), IsOk());
  ASSERT_TRUE(Await(*replica_->stub, [](const v1::NodePool& pool) {
                return pool.account().released();
              }).has_value());
  peers_.quota.SetEntryRefusal(absl::OkStatus());
  // Nor is it promised what it will not get.
  for (const bool validate_only : {false, true}) {
    SCOPED_TRACE(validate_only);
    v1::ResizeNodePoolRequest resize = To(4, /*must_fit=*/true);
    resize.set_validate_only(validate_only);
    EXPECT_THAT(Call(*replica_->stub, &Stub::ResizeNodePool, resize).status(),
                HasReason("POOL_RELEASED"));
  }
  v1::ResizeNodePoolRequest dry_run = To(4);
  dry_run.set_validate_only(true);
  const auto tried = Call(*replica_->stub, &Stub::ResizeNodePool, dry_run);
  ASSERT_THAT(tried, IsOk());
  EXPECT_EQ(tried->preview().quota().reason(), "InternalError");
  EXPECT_THAT(tried->warnings(), SizeIs(1));
  const auto raised = Apply(4);
  ASSERT_THAT(raised, IsOk());
  EXPECT_THAT(raised->warnings(), SizeIs(1));
  const auto so = Await(*replica_->stub, [](const v1::NodePool& pool) {
    for (const auto& condition : pool.status().conditions()) {
      if (condition.type() == "Quota") return condition.observed_generation() == 2;
    }
    return false;
  });
  ASSERT_TRUE(so.has_value());
  EXPECT_THAT(peers_.quota.holdings(), IsEmpty());
  EXPECT_THAT(peers_.capacity.claims(), IsEmpty());
}

TEST_F(CallersTest, AnOrderBeyondTheQuotaIsTakenWithAWarning) {
  Reconcile();
  peers_.quota.SetLimit(kQuota, 4);
  auto taken = Apply(3);
  ASSERT_THAT(taken, IsOk());
  EXPECT_THAT(taken->warnings(), IsEmpty());
  v1::ResizeNodePoolRequest resize = To(5000);
  resize.set_request_id("r1");
  taken = Call(*replica_->stub, &Stub::ResizeNodePool, resize);
  ASSERT_THAT(taken, IsOk());
  EXPECT_EQ(taken->spec().target_nodes(), 5000);
  ASSERT_THAT(taken->warnings(), SizeIs(1));
  EXPECT_THAT(taken->warnings(0), HasSubstr(absl::StrCat(kQuota, " does not cover it (limit ")));
  const auto again = Call(*replica_->stub, &Stub::ResizeNodePool, resize);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->warnings_size(), 1) << "the same answer";
}

TEST_F(CallersTest, ReadyIsWhatAClientWaitsFor) {
  Reconcile();
  const auto made = Apply(2);
  ASSERT_THAT(made, IsOk());
  const auto& conditions = made->status().conditions();
  ASSERT_EQ(conditions.size(), 2);
  EXPECT_EQ(conditions[0].type(), "Ready");
  EXPECT_EQ(conditions[0].status(), "False");
  EXPECT_EQ(conditions[1].type(), "Reconciling");
  const auto ready = AwaitReason("Ready", "Ready", 2);
  ASSERT_TRUE(ready.has_value());
  v1::ListNodesRequest nodes;
  nodes.set_parent(kPool);
  nodes.set_filter("state = PRODUCTION");
  const auto serving = Call(*replica_->stub, &Stub::ListNodes, nodes);
  ASSERT_THAT(serving, IsOk());
  EXPECT_EQ(serving->nodes_size(), 2);
  EXPECT_EQ(ready->etag(), made->etag()) << "nobody else wrote it";
}

TEST_F(CallersTest, AWatchAfterAnAnswerTellsWhatComesLater) {
  const auto made = Apply(2);
  ASSERT_THAT(made, IsOk());
  ASSERT_GT(made->revision(), 0);
  const auto resized = Call(*replica_->stub, &Stub::ResizeNodePool, To(3));
  ASSERT_THAT(resized, IsOk());
  EXPECT_GT(resized->revision(), made->revision());
  EXPECT_EQ(Get().revision(), replica_->service->lane().revision());

  v1::WatchLifecycleRequest request;
  request.mutable_start()->set_after_revision(made->revision());
  request.set_name_prefix(kPool);
  request.add_kinds(v1::WatchLifecycleRequest::KIND_NODE_POOL);
  grpc::ClientContext context;
  const auto stream = replica_->stub->WatchLifecycle(&context, request);
  v1::WatchLifecycleResponse message;
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_EQ(message.revision(), resized->revision());
  EXPECT_EQ(message.node_pool().spec().target_nodes(), 3);
  context.TryCancel();
}

TEST_F(CallersTest, AWatchOfAZoneTellsOfNoOther) {
  const std::string west = "organizations/acme/clusters/west";
  v1::UpdateClusterRequest cluster;
  cluster.mutable_cluster()->set_name(west);
  cluster.mutable_cluster()->set_zone("US-WEST-01A");
  ASSERT_THAT(Call(*replica_->stub, &Stub::UpdateCluster, cluster), IsOk());
  v1::ApplyNodePoolRequest pool = Pool(1);
  pool.mutable_node_pool()->set_name(west + "/nodePools/train");
  ASSERT_THAT(Call(*replica_->stub, &Stub::ApplyNodePool, pool), IsOk());

  v1::WatchLifecycleRequest request;
  request.set_zone("US-EAST-04A");
  request.add_kinds(v1::WatchLifecycleRequest::KIND_CLUSTER);
  request.add_kinds(v1::WatchLifecycleRequest::KIND_NODE_POOL);
  grpc::ClientContext context;
  const auto stream = replica_->stub->WatchLifecycle(&context, request);
  EXPECT_THAT(testing::SnapshotKeys(*stream), ElementsAre(kCluster));
  pool.mutable_node_pool()->mutable_spec()->set_target_nodes(2);
  ASSERT_THAT(Call(*replica_->stub, &Stub::ApplyNodePool, pool), IsOk());
  ASSERT_THAT(Apply(2), IsOk());
  EXPECT_EQ(testing::NextChange(*stream).key(), kPool);
  context.TryCancel();

  request.set_zone("us-east");
  grpc::ClientContext refused;
  const auto none = replica_->stub->WatchLifecycle(&refused, request);
  EXPECT_THAT(testing::SnapshotKeys(*none), IsEmpty());
  EXPECT_THAT(rpc::FromGrpcStatus(none->Finish()), HasFieldViolation("zone"));
}

TEST_F(CallersTest, AnUpdateWritesWhatItsMaskNamesOrWhatIsSet) {
  ASSERT_THAT(Apply(2), IsOk());
  v1::UpdateNodePoolRequest request;
  request.mutable_node_pool()->set_name(kPool);
  request.mutable_node_pool()->mutable_spec()->set_description("for Mondays");
  auto pool = Call(*replica_->stub, &Stub::UpdateNodePool, request);
  ASSERT_THAT(pool, IsOk());
  EXPECT_EQ(pool->spec().target_nodes(), 2);
  EXPECT_EQ(pool->spec().description(), "for Mondays");
  EXPECT_THAT(pool->changed_fields().paths(), ElementsAre("spec.description"));
  request.mutable_node_pool()->mutable_spec()->clear_description();
  EXPECT_THAT(Call(*replica_->stub, &Stub::UpdateNodePool, request).status(),
              HasFieldViolation("update_mask"))
      << "nothing is named";
  request.mutable_update_mask()->add_paths("spec.description");
  pool = Call(*replica_->stub, &Stub::UpdateNodePool, request);
  ASSERT_THAT(pool, IsOk());
  EXPECT_EQ(pool->spec().description(), "");
  request.mutable_update_mask()->set_paths(0, "status.node_profile");
  EXPECT_THAT(Call(*replica_->stub, &Stub::UpdateNodePool, request).status(),
              HasFieldViolation("update_mask"));
  request.mutable_update_mask()->set_paths(0, "spec.target_nodes");
  EXPECT_THAT(Call(*replica_->stub, &Stub::UpdateNodePool, request).status(),
              HasFieldViolation("spec.targetNodes"));
  request.mutable_update_mask()->set_paths(0, "spec.description");
  request.mutable_node_pool()->set_etag(pool->etag());
  ASSERT_THAT(Call(*replica_->stub, &Stub::ResizeNodePool, To(3)), IsOk());
  EXPECT_THAT(Call(*replica_->stub, &Stub::UpdateNodePool, request), IsOk())
      << "it is so: whose answer was lost, and who repeats it, is not refused";
  request.mutable_node_pool()->mutable_spec()->set_description("for Tuesdays");
  EXPECT_THAT(Call(*replica_->stub, &Stub::UpdateNodePool, request).status(),
              HasReason("ETAG_MISMATCH"));
}

TEST_F(CallersTest, NobodysScaleIsUndoneUnseen) {
  const auto made = Apply(2);
  ASSERT_THAT(made, IsOk());
  ASSERT_THAT(Call(*replica_->stub, &Stub::ResizeNodePool, To(3)), IsOk()) << "somebody else's";
  v1::UpdateNodePoolRequest update;
  update.mutable_node_pool()->set_name(kPool);
  update.mutable_node_pool()->mutable_spec()->set_description("for Mondays");
  ASSERT_THAT(Call(*replica_->stub, &Stub::UpdateNodePool, update), IsOk());
  EXPECT_EQ(Get().spec().target_nodes(), 3);

  v1::ApplyNodePoolRequest whole = Pool(2);
  whole.mutable_node_pool()->set_etag(made->etag());
  whole.mutable_node_pool()->mutable_spec()->set_description("for Tuesdays");
  EXPECT_THAT(Call(*replica_->stub, &Stub::ApplyNodePool, whole).status(),
              HasReason("ETAG_MISMATCH"));
  EXPECT_EQ(Get().spec().target_nodes(), 3);
  whole.mutable_node_pool()->clear_etag();
  const auto applied = Call(*replica_->stub, &Stub::ApplyNodePool, whole);
  ASSERT_THAT(applied, IsOk());
  EXPECT_THAT(applied->changed_fields().paths(),
              ::testing::UnorderedElementsAre("spec.target_nodes", "spec.description"))
      << "who wants no etag is told what he changed";
}

TEST_F(CallersTest, ListsAreFilteredAndOrdered) {
  for (const auto& [id, priority] : {std::pair("a", 1), std::pair("b", 3), std::pair("c", 2)}) {
    v1::ApplyNodePoolRequest request = Pool(priority);
    request.mutable_node_pool()->set_name(absl::StrCat(kCluster, "/nodePools/", id));
    request.mutable_node_pool()->mutable_spec()->set_priority(priority);
    ASSERT_THAT(Call(*replica_->stub, &Stub::ApplyNodePool, request), IsOk());
  }
  v1::ListNodePoolsRequest list;
  list.set_parent(kCluster);
  list.set_order_by("spec.priority desc");
  EXPECT_THAT(NamesOf(Call(*replica_->stub, &Stub::ListNodePools, list)),
              ElementsAre("b", "c", "a"));
  list.set_filter("spec.target_nodes > 1 AND status.conditions.Ready != True");
  EXPECT_THAT(NamesOf(Call(*replica_->stub, &Stub::ListNodePools, list)), ElementsAre("b", "c"));
  list.set_filter("spec.colour = red");
  EXPECT_THAT(Call(*replica_->stub, &Stub::ListNodePools, list).status(),
              HasFieldViolation("filter"));

  v1::ListEventsRequest events;
  events.set_parent(kCluster);
  events.set_order_by("last_time desc");
  events.set_filter("reason = CWNodePoolCreated AND object:nodePools/b");
  const auto page = Call(*replica_->stub, &Stub::ListEvents, events);
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->events_size(), 1);
  EXPECT_GT(page->revision(), 0);
  events.clear_filter();
  const auto all = Call(*replica_->stub, &Stub::ListEvents, events);
  ASSERT_THAT(all, IsOk());
  ASSERT_EQ(all->events_size(), 3);
  EXPECT_THAT(all->events(0).object(), HasSubstr("nodePools/c")) << "the newest first";
}

// What follows a trial sends the etag of what is there.
TEST_F(CallersTest, AClusterThatIsOnlyTriedHasTheEtagOfWhatIsThere) {
  v1::UpdateClusterRequest request;
  v1::Cluster& cluster = *request.mutable_cluster();
  cluster.set_name("organizations/acme/clusters/tried");
  cluster.set_zone("US-EAST-04A");
  const auto update = [&](const std::string& version, bool tries) {
    cluster.set_kubernetes_version(version);
    request.set_validate_only(tries);
    return Call(*replica_->stub, &Stub::UpdateCluster, request);
  };
  auto tried = update("1.32", true);
  ASSERT_THAT(tried, IsOk());
  EXPECT_EQ(tried->etag(), "") << "there is none";
  const auto made = update("1.32", false);
  ASSERT_THAT(made, IsOk());
  tried = update("1.33", true);
  ASSERT_THAT(tried, IsOk());
  EXPECT_EQ(tried->kubernetes_version(), "1.33");
  EXPECT_EQ(tried->etag(), made->etag());
  v1::BindClusterRequest bind;
  bind.set_name(cluster.name());
  bind.set_kubernetes_uid("uid-1");
  bind.set_validate_only(true);
  const auto bound = Call(*replica_->stub, &Stub::BindCluster, bind);
  ASSERT_THAT(bound, IsOk());
  EXPECT_EQ(bound->etag(), made->etag());
  v1::AllowRemovalsRequest allow;
  allow.set_name(cluster.name());
  allow.set_nodes(3);
  allow.set_validate_only(true);
  const auto allowed = Call(*replica_->stub, &Stub::AllowRemovals, allow);
  ASSERT_THAT(allowed, IsOk());
  EXPECT_EQ(allowed->etag(), made->etag());
  ASSERT_THAT(update("1.31", false), IsOk());
  cluster.set_etag(tried->etag());
  EXPECT_THAT(update("1.33", false).status(), HasReason("ETAG_MISMATCH"));
}

// With it, what was tried is done only if nobody wrote meanwhile.
TEST_F(CallersTest, ANodePoolThatIsOnlyTriedHasTheEtagOfWhatIsThere) {
  const auto ask = [&](int64_t target, bool tries, const std::string& etag) {
    v1::ApplyNodePoolRequest request = Pool(target);
    request.mutable_node_pool()->set_etag(etag);
    request.set_validate_only(tries);
    return Call(*replica_->stub, &Stub::ApplyNodePool, request);
  };
  Reconcile();
  auto tried = ask(1, true, "");
  ASSERT_THAT(tried, IsOk());
  EXPECT_EQ(tried->etag(), "") << "there is none";
  const auto made = ask(1, false, "");
  ASSERT_THAT(made, IsOk());
  tried = ask(2, true, "");
  ASSERT_THAT(tried, IsOk());
  EXPECT_TRUE(tried->has_preview());
  EXPECT_EQ(tried->etag(), made->etag());
  ASSERT_THAT(ask(2, false, tried->etag()), IsOk());
  EXPECT_THAT(ask(3, false, tried->etag()).status(), HasReason("ETAG_MISMATCH"));
}

TEST_F(CallersTest, ANodeThatIsOnlyTriedHasTheEtagOfWhatIsThere) {
  Reconcile();
  ASSERT_THAT(Apply(1), IsOk());
  ASSERT_TRUE(AwaitReason("AtTarget", "TargetMet", 1).has_value());
  v1::ListNodesRequest list;
  list.set_parent(kPool);
  const auto nodes = Call(*replica_->stub, &Stub::ListNodes, list);
  ASSERT_THAT(nodes, IsOk());
  ASSERT_THAT(nodes->nodes(), SizeIs(1));
  v1::CordonNodeRequest cordon;
  cordon.set_name(nodes->nodes(0).name());
  cordon.set_validate_only(true);
  const auto tried = Call(*replica_->stub, &Stub::CordonNode, cordon);
  ASSERT_THAT(tried, IsOk());
  EXPECT_TRUE(tried->has_preview());
  EXPECT_EQ(tried->etag(), nodes->nodes(0).etag());
  EXPECT_TRUE(tried->orders().has_cordon_time());
  // A replica that cannot ask the other services.
  EXPECT_EQ(Call(*NewReplica()->stub, &Stub::CordonNode, cordon).status().code(),
            absl::StatusCode::kUnavailable);
  cordon.set_validate_only(false);
  cordon.set_etag(tried->etag());
  const auto cordoned = Call(*replica_->stub, &Stub::CordonNode, cordon);
  ASSERT_THAT(cordoned, IsOk());
  EXPECT_NE(cordoned->etag(), tried->etag());
}

// The test's replicas have no patience with agents.
TEST_F(CallersTest, GetNodeTellsFromWhenOnTheCordonCounts) {
  Reconcile();
  ASSERT_THAT(Apply(1), IsOk());
  ASSERT_TRUE(AwaitReason("AtTarget", "TargetMet", 1).has_value());
  v1::ListNodesRequest list;
  list.set_parent(kPool);
  const auto nodes = Call(*replica_->stub, &Stub::ListNodes, list);
  ASSERT_THAT(nodes, IsOk());
  ASSERT_THAT(nodes->nodes(), SizeIs(1));
  v1::GetNodeRequest get;
  get.set_name(nodes->nodes(0).name());
  const auto before = Call(*replica_->stub, &Stub::GetNode, get);
  ASSERT_THAT(before, IsOk());
  EXPECT_FALSE(before->has_cordon_effective_time());
  EXPECT_FALSE(before->desired().has_cordon_time());
  v1::CordonNodeRequest cordon;
  cordon.set_name(get.name());
  ASSERT_THAT(Call(*replica_->stub, &Stub::CordonNode, cordon), IsOk());
  const auto cordoned = Call(*replica_->stub, &Stub::GetNode, get);
  ASSERT_THAT(cordoned, IsOk());
  ASSERT_TRUE(cordoned->has_cordon_effective_time());
  EXPECT_EQ(FromTimestamp(cordoned->cordon_effective_time()),
            FromTimestamp(cordoned->orders().cordon_time()));
  EXPECT_EQ(FromTimestamp(cordoned->desired().cordon_time()),
            FromTimestamp(cordoned->orders().cordon_time()));
}

TEST_F(CallersTest, AClusterGoesOnceItHasNoPools) {
  ASSERT_THAT(Apply(1), IsOk());
  v1::DeleteClusterRequest request;
  request.set_name(kCluster);
  EXPECT_THAT(Call(*replica_->stub, &Stub::DeleteCluster, request).status(),
              HasReason("CLUSTER_IN_USE"));
  v1::UpdateClusterRequest other;
  other.mutable_cluster()->set_name("organizations/acme/clusters/empty");
  other.mutable_cluster()->set_zone("US-EAST-04A");
  const auto made = Call(*replica_->stub, &Stub::UpdateCluster, other);
  ASSERT_THAT(made, IsOk());
  EXPECT_GT(made->revision(), 0);
  request.set_name(other.cluster().name());
  request.set_validate_only(true);
  ASSERT_THAT(Call(*replica_->stub, &Stub::DeleteCluster, request), IsOk());
  request.set_validate_only(false);
  ASSERT_THAT(Call(*replica_->stub, &Stub::DeleteCluster, request), IsOk());
  EXPECT_THAT(Call(*replica_->stub, &Stub::DeleteCluster, request).status(),
              HasReason("NOT_FOUND"));
}

}  // namespace
}  // namespace muster::lifecycle
