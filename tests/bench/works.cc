#include "tests/bench/works.h"

#include <grpcpp/grpcpp.h>
#include <muster/debug/v1/debug_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <atomic>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/common/status_macros.h"

namespace muster::bench {
namespace {

constexpr int kConnections = 2;
constexpr char kQuota[] = "organizations/bench/quotas/US-EAST-04A~gd-8xa100-i128~default";
constexpr char kCluster[] = "organizations/bench/clusters/bench";
constexpr char kPool[] = "organizations/bench/clusters/bench/nodePools/read";

absl::Status ToStatus(const grpc::Status& status) {
  return {static_cast<absl::StatusCode>(status.error_code()), status.error_message()};
}

// What one call owns while it is under way.
template <class Request, class Response>
struct Call {
  grpc::ClientContext context = {};
  Request request = {};
  Response response = {};
};

template <class Request, class Response, class Start>
void Issue(Request request, Start start, std::function<void(absl::Status)> done) {
  auto call = std::make_shared<Call<Request, Response>>();
  call->request = std::move(request);
  start(&call->context, &call->request, &call->response,
        [call, done = std::move(done)](const grpc::Status& status) { done(ToStatus(status)); });
}

}  // namespace

struct Works::Stubs {
  std::unique_ptr<quota::v1::QuotaService::Stub> quota;
  std::unique_ptr<lifecycle::v1::LifecycleService::Stub> lifecycle;
  std::unique_ptr<debug::v1::DebugService::Stub> debug;
};

Works::Works(const std::string& target) : generation_(absl::ToUnixMicros(absl::Now())) {
  for (int i = 0; i < kConnections; ++i) {
    grpc::ChannelArguments arguments;
    arguments.SetInt("muster.bench.connection",
                     i);  // channels with equal arguments would share a connection
    const auto channel =
        grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
    stubs_.push_back(
        std::make_unique<Stubs>(Stubs{quota::v1::QuotaService::NewStub(channel),
                                      lifecycle::v1::LifecycleService::NewStub(channel),
                                      debug::v1::DebugService::NewStub(channel)}));
  }
}
Works::~Works() = default;

absl::Status Works::SetUp() {
  const Stubs& stubs = StubsOf(0);
  quota::v1::UpdateQuotaRequest quota;
  quota.mutable_quota()->set_name(kQuota);
  quota.mutable_quota()->set_limit(1'000'000);
  quota.set_allow_missing(true);
  quota::v1::Quota quota_answer;
  grpc::ClientContext quota_context;
  quota_context.set_wait_for_ready(true);
  RETURN_IF_ERROR(ToStatus(stubs.quota->UpdateQuota(&quota_context, quota, &quota_answer)));

  lifecycle::v1::UpdateClusterRequest cluster;
  cluster.mutable_cluster()->set_name(kCluster);
  cluster.mutable_cluster()->set_zone("US-EAST-04A");
  lifecycle::v1::Cluster cluster_answer;
  grpc::ClientContext cluster_context;
  RETURN_IF_ERROR(
      ToStatus(stubs.lifecycle->UpdateCluster(&cluster_context, cluster, &cluster_answer)));

  lifecycle::v1::ApplyNodePoolRequest pool;
  pool.mutable_node_pool()->set_name(kPool);
  pool.mutable_node_pool()->mutable_spec()->set_instance_type("gd-8xa100-i128");
  pool.mutable_node_pool()->mutable_spec()->set_target_nodes(0);
  lifecycle::v1::NodePool pool_answer;
  grpc::ClientContext pool_context;
  return ToStatus(stubs.lifecycle->ApplyNodePool(&pool_context, pool, &pool_answer));
}

IssueCall Works::HoldHot() const {
  return [this](int slot, std::function<void(absl::Status)> done) {
    quota::v1::SyncHoldingRequest request;
    const int64_t mine = ++generation_;
    request.mutable_holding()->set_name(absl::StrCat(kQuota, "/holdings/pool-", slot));
    // `mine` alternates by slot only by chance; what matters is that most calls change something.
    request.mutable_holding()->set_nodes(mine % 2);
    request.mutable_holding()->set_generation(mine);
    Issue<quota::v1::SyncHoldingRequest, quota::v1::SyncHoldingResponse>(
        std::move(request),
        [&](auto... args) { StubsOf(slot).quota->async()->SyncHolding(args...); }, std::move(done));
  };
}

IssueCall Works::EmptyRpc() const {
  return [this](int slot, std::function<void(absl::Status)> done) {
    Issue<debug::v1::PingRequest, debug::v1::PingResponse>(
        {}, [&](auto... args) { StubsOf(slot).debug->async()->Ping(args...); }, std::move(done));
  };
}

IssueCall Works::ReadPool() const {
  return [this](int slot, std::function<void(absl::Status)> done) {
    lifecycle::v1::GetNodePoolRequest request;
    request.set_name(kPool);
    Issue<lifecycle::v1::GetNodePoolRequest, lifecycle::v1::NodePool>(
        std::move(request),
        [&](auto... args) { StubsOf(slot).lifecycle->async()->GetNodePool(args...); },
        std::move(done));
  };
}

}  // namespace muster::bench
