#include <muster/debug/v1/debug_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "tests/bench/work.h"

// What a call costs before it does anything, and what a read of one resource costs.
namespace muster::bench {
namespace {

using debug::v1::DebugService;
using debug::v1::PingRequest;
using debug::v1::PingResponse;
using lifecycle::v1::GetNodePoolRequest;
using lifecycle::v1::LifecycleService;
using lifecycle::v1::NodePool;

constexpr char kCluster[] = "organizations/bench/clusters/bench";
constexpr char kPool[] = "organizations/bench/clusters/bench/nodePools/read";

// A cluster with one NodePool of no Nodes.
absl::Status SetUpPool(const Connections& connections) {
  const auto stub = LifecycleService::NewStub(connections.Of(0).channel());
  lifecycle::v1::UpdateClusterRequest cluster;
  cluster.mutable_cluster()->set_name(kCluster);
  cluster.mutable_cluster()->set_zone("US-EAST-04A");
  RETURN_IF_ERROR(Ask(*stub, &LifecycleService::Stub::UpdateCluster, cluster).status());
  lifecycle::v1::ApplyNodePoolRequest pool;
  pool.mutable_node_pool()->set_name(kPool);
  pool.mutable_node_pool()->mutable_spec()->set_instance_type("gd-8xa100-i128");
  pool.mutable_node_pool()->mutable_spec()->set_target_nodes(0);
  return Ask(*stub, &LifecycleService::Stub::ApplyNodePool, pool).status();
}

}  // namespace

std::vector<Work> RpcWorks(const Connections& connections) {
  const auto empty_rpc = [&connections](size_t caller) {
    return MakeCaller<DebugService, PingRequest, PingResponse>(
        connections.Of(caller), &DebugService::Stub::PrepareAsyncPing, [](PingRequest&) {},
        [](const PingResponse&) { return Outcome{}; });
  };
  const auto read_pool = [&connections](size_t caller) {
    return MakeCaller<LifecycleService, GetNodePoolRequest, NodePool>(
        connections.Of(caller), &LifecycleService::Stub::PrepareAsyncGetNodePool,
        [](GetNodePoolRequest& request) { request.set_name(kPool); },
        [](const NodePool& pool) {
          return Outcome{1, pool.name() == kPool ? 0 : 1};
        });
  };
  std::vector<Work> works;
  for (const size_t callers : {1, 64, 256, 1024})
    works.push_back(ClosedLoop(absl::StrCat("empty_rpc_", callers), {}, callers, empty_rpc, {}));
  works.push_back(ClosedLoop("read_pool_64", {"empty_rpc_64"}, 64, read_pool,
                             [&connections] { return SetUpPool(connections); }));
  return works;
}

}  // namespace muster::bench
