#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <future>
#include <string>

#include "services/lifecycle/core/names.h"
#include "services/lifecycle/lifecycle_service.h"
#include "services/lifecycle/peers/testing/fake_peers.h"
#include "services/lifecycle/testing/service_test_base.h"
#include "tests/testing/once.h"

// A mutation that bears an id is carried out once.
namespace muster::lifecycle {
namespace {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::HasReason;
using ::muster::testing::IsOk;

class OnePoolTest : public testing::ServiceTest<LifecycleService, v1::LifecycleService> {
 protected:
  OnePoolTest() : ServiceTest("lifecycle") {
    v1::UpdateClusterRequest cluster;
    cluster.mutable_cluster()->set_name(kCluster);
    cluster.mutable_cluster()->set_zone("US-EAST-04A");
    EXPECT_THAT(Call(&Stub::UpdateCluster, cluster), IsOk());
    v1::ApplyNodePoolRequest apply;
    apply.mutable_node_pool()->set_name(kPool);
    apply.mutable_node_pool()->mutable_spec()->set_instance_type("gd-8xa100-i128");
    apply.mutable_node_pool()->mutable_spec()->set_target_nodes(1);
    EXPECT_THAT(Call(&Stub::ApplyNodePool, apply), IsOk());
  }
  template <class Request>
  static Request Of() {
    Request request;
    request.set_name(kPool);
    return request;
  }
  // A Node of the pool that capacity is asked for nowhere.
  void AddNode(const std::string& machine) {
    std::promise<absl::Status> done;
    service_->lane().Submit(
        [&](StagedState<State>& staged, absl::Time now) {
          const Pool* pool = staged.state().table<Pool>().Find(kPool);
          staged.Put(Node{.name = NodeName(kPool, machine),
                          .machine = machine,
                          .pool_uid = pool->uid,
                          .state = NodeState::kProduction,
                          .state_time = now,
                          .create_time = now});
          return absl::OkStatus();
        },
        [&](const absl::Status& status, int64_t) { done.set_value(status); });
    ASSERT_THAT(done.get_future().get(), IsOk());
  }
  size_t kept() {
    return service_->lane().Peek(
        [](const State& state, int64_t) { return state.table<KeptRequest>().size(); });
  }
  v1::NodePool GetPool() { return *Call(&Stub::GetNodePool, Of<v1::GetNodePoolRequest>()); }
};

using LifecycleRequestIdTest = testing::OnceTest<OnePoolTest>;

TEST_F(LifecycleRequestIdTest, EveryMutationOfAPool) {
  auto resize = Of<v1::ResizeNodePoolRequest>();
  resize.set_target_nodes(5);
  ExpectOnce(&Stub::ResizeNodePool, resize, "resize");
  ExpectOnce(&Stub::ReconfigureNodePool, Of<v1::ReconfigureNodePoolRequest>(), "reconfigure");
  ExpectOnce(&Stub::PauseReconfiguration, Of<v1::PauseReconfigurationRequest>(), "pause");
  ExpectOnce(&Stub::ResumeReconfiguration, Of<v1::ResumeReconfigurationRequest>(), "resume");
  ExpectOnce(&Stub::CancelReconfiguration, Of<v1::CancelReconfigurationRequest>(), "cancel");
  ExpectOnce(&Stub::DeleteNodePool, Of<v1::DeleteNodePoolRequest>(), "delete");
}

TEST_F(LifecycleRequestIdTest, WhatComesLateDoesNotUndoWhatWasSaidSince) {
  auto resize = Of<v1::ResizeNodePoolRequest>();
  resize.set_target_nodes(5);
  resize.set_request_id("r5");
  ASSERT_THAT(Call(&Stub::ResizeNodePool, resize), IsOk());
  resize.set_target_nodes(2);
  EXPECT_THAT(Call(&Stub::ResizeNodePool, resize), HasReason("REQUEST_ID_REUSED"));
  resize.set_request_id("r2");
  ASSERT_THAT(Call(&Stub::ResizeNodePool, resize), IsOk());
  resize.set_target_nodes(5);
  resize.set_request_id("r5");
  const auto told = Call(&Stub::ResizeNodePool, resize);
  ASSERT_THAT(told, IsOk());
  EXPECT_EQ(told->spec().target_nodes(), 5);
  EXPECT_EQ(GetPool().spec().target_nodes(), 2);
}

TEST_F(LifecycleRequestIdTest, TrialsAndRefusalsKeepNothing) {
  auto resize = Of<v1::ResizeNodePoolRequest>();
  resize.set_target_nodes(5);
  resize.set_request_id("r");
  resize.set_validate_only(true);
  // Nobody to ask what would come of it.
  EXPECT_EQ(Call(&Stub::ResizeNodePool, resize).status().code(), absl::StatusCode::kUnavailable);
  auto pause = Of<v1::PauseReconfigurationRequest>();
  pause.set_request_id("r");
  EXPECT_THAT(Call(&Stub::PauseReconfiguration, pause), HasReason("NO_RECONFIGURATION"));
  resize.clear_validate_only();
  EXPECT_THAT(Call(&Stub::ResizeNodePool, resize), IsOk());
  EXPECT_EQ(GetPool().spec().target_nodes(), 5);
}

TEST_F(LifecycleRequestIdTest, OfNodesAndClusters) {
  AddNode("g1");
  v1::UpdateNodeRequest protect;
  protect.mutable_node()->set_name(NodeName(kPool, "g1"));
  protect.mutable_node()->mutable_protect_until_time()->set_seconds(4'000'000'000);
  ExpectOnce(&Stub::UpdateNode, protect, "protect");
  const auto order = [&](auto request) {
    request.set_name(NodeName(kPool, "g1"));
    return request;
  };
  ExpectOnce(&Stub::CordonNode, order(v1::CordonNodeRequest()), "cordon");
  ExpectOnce(&Stub::DrainNode, order(v1::DrainNodeRequest()), "drain");
  ExpectOnce(&Stub::UncordonNode, order(v1::UncordonNodeRequest()), "uncordon");
  v1::RebootNodeRequest reboot = order(v1::RebootNodeRequest());
  reboot.set_mode(v1::NodeOrders::REBOOT_WHEN_IDLE);
  ExpectOnce(&Stub::RebootNode, reboot, "reboot");
  v1::UpdateClusterRequest cluster;
  cluster.mutable_cluster()->set_name(kCluster);
  cluster.mutable_cluster()->set_zone("US-EAST-04A");
  cluster.mutable_cluster()->set_kubernetes_version("1.33");
  ExpectOnce(&Stub::UpdateCluster, cluster, "cluster");
  v1::BindClusterRequest bind;
  bind.set_name(kCluster);
  bind.set_kubernetes_uid("k1");
  bind.set_adopt(true);
  ExpectOnce(&Stub::BindCluster, bind, "bind");
  v1::AllowRemovalsRequest allow;
  allow.set_name(kCluster);
  allow.set_nodes(3);
  ExpectOnce(&Stub::AllowRemovals, allow, "allow");
}

TEST_F(LifecycleRequestIdTest, APoolThatIsGoneIsDeletedOnce) {
  auto remove = Of<v1::DeleteNodePoolRequest>();
  remove.set_name(std::string(kPool) + "-none");
  remove.set_allow_missing(true);
  ExpectOnce(&Stub::DeleteNodePool, remove, "none");
  // One that is created since is not what was meant.
  v1::ApplyNodePoolRequest apply;
  apply.mutable_node_pool()->set_name(remove.name());
  apply.mutable_node_pool()->mutable_spec()->set_instance_type("gd-8xa100-i128");
  apply.mutable_node_pool()->mutable_spec()->set_target_nodes(1);
  ASSERT_THAT(Call(&Stub::ApplyNodePool, apply), IsOk());
  remove.set_request_id("none");
  EXPECT_THAT(Call(&Stub::DeleteNodePool, remove), IsOk());
  v1::GetNodePoolRequest get;
  get.set_name(remove.name());
  const auto pool = Call(&Stub::GetNodePool, get);
  ASSERT_THAT(pool, IsOk());
  EXPECT_FALSE(pool->has_delete_time());
}

// What would come of a mutation is asked of the other services: on a way of its own.
TEST_F(LifecycleRequestIdTest, APreviewChecksTheIdAndKeepsNothing) {
  FakePeers peers;
  ASSERT_THAT(service_->StartReconciling(peers.channels()), IsOk());
  auto resize = Of<v1::ResizeNodePoolRequest>();
  resize.set_target_nodes(5);
  resize.set_validate_only(true);
  resize.set_request_id("not one");
  EXPECT_THAT(Call(&Stub::ResizeNodePool, resize), HasFieldViolation("request_id"));
  resize.set_request_id("r");
  const auto preview = Call(&Stub::ResizeNodePool, resize);
  ASSERT_THAT(preview, IsOk());
  EXPECT_TRUE(preview->has_preview());
  EXPECT_EQ(kept(), 0u);
  // Nor is an answer that was kept told instead of what would come of it now.
  resize.clear_validate_only();
  const auto done = Call(&Stub::ResizeNodePool, resize);
  ASSERT_THAT(done, IsOk());
  EXPECT_FALSE(done->has_preview());
  EXPECT_EQ(kept(), 1u);
  resize.set_validate_only(true);
  const auto again = Call(&Stub::ResizeNodePool, resize);
  ASSERT_THAT(again, IsOk());
  EXPECT_TRUE(again->has_preview());
  service_->StopReconciling();
}

}  // namespace
}  // namespace muster::lifecycle
