#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "tests/bench/open_watches.h"
#include "tests/bench/work.h"

// What watches cost those who write what they do not watch: the specs of NodePools change in turn,
// alone, and beside many watches of other pools.
namespace muster::bench {
namespace {

using lifecycle::v1::ApplyNodePoolRequest;
using lifecycle::v1::LifecycleService;
using lifecycle::v1::NodePool;
using lifecycle::v1::WatchLifecycleRequest;
using lifecycle::v1::WatchLifecycleResponse;

constexpr char kCluster[] = "organizations/bench/clusters/watched";
constexpr size_t kCallers = 64;
constexpr int kWatches = 10'000;

std::string PoolName(size_t caller) { return absl::StrCat(kCluster, "/nodePools/p", caller); }

void SetSpec(NodePool& pool, int64_t turn) {
  pool.mutable_spec()->set_instance_type("gd-8xa100-i128");
  pool.mutable_spec()->set_target_nodes(0);
  (*pool.mutable_spec()->mutable_node_labels())["example.com/turn"] = absl::StrCat(turn);
}

absl::Status SetUpPools(const Connections& connections) {
  const auto stub = LifecycleService::NewStub(connections.Of(0).channel());
  lifecycle::v1::UpdateClusterRequest cluster;
  cluster.mutable_cluster()->set_name(kCluster);
  cluster.mutable_cluster()->set_zone("US-EAST-04A");
  RETURN_IF_ERROR(Ask(*stub, &LifecycleService::Stub::UpdateCluster, cluster).status());
  for (size_t caller = 0; caller < kCallers; ++caller) {
    ApplyNodePoolRequest request;
    request.mutable_node_pool()->set_name(PoolName(caller));
    SetSpec(*request.mutable_node_pool(), 0);
    RETURN_IF_ERROR(Ask(*stub, &LifecycleService::Stub::ApplyNodePool, request).status());
  }
  return absl::OkStatus();
}

// Watches of pools that do not exist.
using IdleWatches = OpenWatches<LifecycleService, WatchLifecycleRequest, WatchLifecycleResponse>;

IdleWatches::Options IdleOptions(const std::string& target) {
  return {.target = target,
          .count = kWatches,
          .start = [](LifecycleService::Stub& stub, auto* context, const auto* request,
                      auto* reactor) { stub.async()->WatchLifecycle(context, request, reactor); },
          .request =
              [](int number) {
                WatchLifecycleRequest request;
                request.set_name_prefix(absl::StrCat(kCluster, "/nodePools/idle-", number));
                return request;
              }};
}

}  // namespace

std::vector<Work> WatchWorks(const Connections& connections, const std::string& target) {
  const auto apply = [&connections](size_t caller) {
    const auto turn = std::make_shared<int64_t>(FirstGeneration());
    return MakeCaller<LifecycleService, ApplyNodePoolRequest, NodePool>(
        connections.Of(caller), &LifecycleService::Stub::PrepareAsyncApplyNodePool,
        [=](ApplyNodePoolRequest& request) {
          request.mutable_node_pool()->set_name(PoolName(caller));
          SetSpec(*request.mutable_node_pool(), ++*turn);
        },
        [](const NodePool&) { return Outcome{}; });
  };
  const auto set_up = [&connections] { return SetUpPools(connections); };
  std::vector<Work> works;
  works.push_back(ClosedLoop("apply_pool_64", {"empty_rpc_64"}, kCallers, apply, set_up));
  works.push_back(ClosedLoop("apply_watched_64", {"apply_pool_64"}, kCallers, apply, set_up));
  works.back().measure = [target, alone = works.back().measure](absl::Duration duration,
                                                                CpuMeter& meter) {
    const IdleWatches watches(IdleOptions(target));
    return alone(duration, meter);
  };
  return works;
}

}  // namespace muster::bench
