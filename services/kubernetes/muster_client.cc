#include "services/kubernetes/muster_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "muster/configuration/v1/configuration_service.grpc.pb.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "services/common/backoff.h"
#include "services/common/log.h"
#include "services/common/report_limits.h"
#include "services/common/request_id.h"
#include "services/common/status_macros.h"
#include "services/common/steady_clock.h"
#include "services/common/stopper.h"
#include "services/kubernetes/repeated_failure.h"
#include "services/rpc/client/batches.h"
#include "services/rpc/client/calls.h"
#include "services/rpc/client/unretried_channel.h"

namespace muster::kubernetes {
namespace {

using configuration::v1::ConfigurationService;
using lifecycle::v1::LifecycleService;

constexpr absl::Duration kCallTimeout = absl::Seconds(20);
// Of a call that is repeated while its outcome is not known.
constexpr absl::Duration kRepeatedFor = absl::Seconds(30);
constexpr absl::Duration kFirstRepeat = absl::Milliseconds(500);
constexpr absl::Duration kLongestRepeat = absl::Seconds(5);

bool IsOutcomeUnknown(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsUnknown(status) || absl::IsDeadlineExceeded(status);
}

std::string ConfigurationName(const std::string& pool_uid) {
  return absl::StrCat("poolConfigurations/", pool_uid);
}

configuration::v1::RollbackConfigurationRequest RollbackTo(const std::string& profile,
                                                           const std::string& pool_uid) {
  configuration::v1::RollbackConfigurationRequest request;
  request.set_name(ConfigurationName(pool_uid));
  request.set_node_profile(profile);
  return request;
}

}  // namespace

struct MusterClient::Rpc {
  explicit Rpc(const Options& options) {
    const auto channel = rpc::MakeUnretriedChannel(options.server, options.credentials);
    lifecycle = LifecycleService::NewStub(channel);
    configuration = ConfigurationService::NewStub(channel);
  }

  void TellMalformed(const lifecycle::v1::NodeReport& report, const absl::Status& error) {
    const auto others = malformed.Tell(TheSteadyClock()->Now());
    if (!others) return;
    log::Warn("Muster takes a report for malformed",
              {{"node", report.node()}, {"error", error}, {"others_not_told", *others}});
  }

  template <class Stub, class Request, class Response>
  absl::StatusOr<Response> Unary(const std::shared_ptr<Stub>& stub,
                                 grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                              Response*),
                                 const Request& request) {
    return calls.Call(kCallTimeout, *stub, method, request);
  }
  // Repeats it, for some time, while its outcome is not known. The request has a request_id.
  template <class Stub, class Request, class Response>
  absl::StatusOr<Response> Repeated(const std::shared_ptr<Stub>& stub,
                                    grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                 const Request&, Response*),
                                    const Request& request) {
    Backoff backoff(kFirstRepeat, kLongestRepeat);
    const absl::Duration end = TheSteadyClock()->Now() + kRepeatedFor;
    for (absl::Duration left = kRepeatedFor;; left = end - TheSteadyClock()->Now()) {
      auto answer = calls.Call(std::min(left, kCallTimeout), *stub, method, request);
      const absl::Duration pause = backoff.Next();
      const bool is_over = TheSteadyClock()->Now() + pause >= end;
      if (!IsOutcomeUnknown(answer.status()) || is_over) return answer;
      if (!stopper.Sleep(pause)) return answer;
    }
  }

  rpc::Calls calls;
  Stopper stopper;
  RepeatedFailure malformed;
  std::shared_ptr<LifecycleService::Stub> lifecycle;
  std::shared_ptr<ConfigurationService::Stub> configuration;
};

MusterClient::MusterClient(Options options)
    : cluster_(absl::StrCat("organizations/", options.organization, "/clusters/", options.cluster)),
      rpc_(std::make_unique<Rpc>(options)) {}

MusterClient::~MusterClient() = default;

void MusterClient::Stop() {
  rpc_->stopper.Stop();
  rpc_->calls.Stop();
}

std::string MusterClient::PoolName(absl::string_view id) const {
  return absl::StrCat(cluster_, "/nodePools/", id);
}

absl::Status MusterClient::EnsureCluster(const std::string& zone,
                                         const std::string& kubernetes_version) {
  if (kubernetes_version.empty()) {
    const auto known = GetCluster();
    // Its version is somebody else's: written back, it might undo a change of just now.
    if (known.ok() && known->zone() == zone) return absl::OkStatus();
    if (!known.ok() && !absl::IsNotFound(known.status())) return known.status();
  }
  lifecycle::v1::UpdateClusterRequest request;
  request.mutable_cluster()->set_name(cluster_);
  request.mutable_cluster()->set_zone(zone);
  request.mutable_cluster()->set_kubernetes_version(kubernetes_version);
  return rpc_->Unary(rpc_->lifecycle, &LifecycleService::Stub::UpdateCluster, request).status();
}

absl::StatusOr<lifecycle::v1::Cluster> MusterClient::GetCluster() {
  lifecycle::v1::GetClusterRequest request;
  request.set_name(cluster_);
  return rpc_->Unary(rpc_->lifecycle, &LifecycleService::Stub::GetCluster, request);
}

absl::Status MusterClient::BindCluster(const std::string& kubernetes_uid, bool adopt,
                                       bool validate_only) {
  lifecycle::v1::BindClusterRequest request;
  request.set_name(cluster_);
  request.set_kubernetes_uid(kubernetes_uid);
  request.set_adopt(adopt);
  request.set_validate_only(validate_only);
  return rpc_->Unary(rpc_->lifecycle, &LifecycleService::Stub::BindCluster, request).status();
}

absl::StatusOr<lifecycle::v1::Cluster> MusterClient::AllowRemovals(int64_t node_pools,
                                                                   int64_t nodes,
                                                                   absl::Duration ttl,
                                                                   const std::string& etag) {
  lifecycle::v1::AllowRemovalsRequest request;
  request.set_name(cluster_);
  request.set_node_pools(node_pools);
  request.set_nodes(nodes);
  // With the fraction of a second: removals are taken off an order many times, and each sets its
  // end anew.
  const absl::Duration within = std::clamp(ttl, absl::Seconds(1), absl::Hours(24));
  absl::Duration fraction;
  request.mutable_ttl()->set_seconds(absl::IDivDuration(within, absl::Seconds(1), &fraction));
  request.mutable_ttl()->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(fraction)));
  request.set_etag(etag);
  request.set_request_id(NewRequestId());
  return rpc_->Repeated(rpc_->lifecycle, &LifecycleService::Stub::AllowRemovals, request);
}

absl::StatusOr<lifecycle::v1::NodePool> MusterClient::ApplyNodePool(
    const lifecycle::v1::NodePool& pool) {
  lifecycle::v1::ApplyNodePoolRequest request;
  *request.mutable_node_pool() = pool;
  return rpc_->Unary(rpc_->lifecycle, &LifecycleService::Stub::ApplyNodePool, request);
}

absl::StatusOr<lifecycle::v1::NodePool> MusterClient::GetNodePool(const std::string& name) {
  lifecycle::v1::GetNodePoolRequest request;
  request.set_name(name);
  return rpc_->Unary(rpc_->lifecycle, &LifecycleService::Stub::GetNodePool, request);
}

absl::Status MusterClient::DeleteNodePool(const lifecycle::v1::NodePool& pool) {
  lifecycle::v1::DeleteNodePoolRequest request;
  request.set_name(pool.name());
  request.set_etag(pool.etag());
  request.set_allow_missing(true);
  return rpc_->Unary(rpc_->lifecycle, &LifecycleService::Stub::DeleteNodePool, request).status();
}

absl::StatusOr<lifecycle::v1::Node> MusterClient::GetNode(const std::string& name) {
  lifecycle::v1::GetNodeRequest request;
  request.set_name(name);
  return rpc_->Unary(rpc_->lifecycle, &LifecycleService::Stub::GetNode, request);
}

absl::StatusOr<std::vector<absl::StatusCode>> MusterClient::ReportNodes(
    const std::vector<lifecycle::v1::NodeReport>& reports) {
  std::vector<absl::StatusCode> codes;
  for (size_t begin = 0, end = 0; begin < reports.size(); begin = end) {
    end = rpc::BatchEnd(reports, begin, kMaxReportsACall);
    RETURN_IF_ERROR(ReportSome(reports, begin, end, codes));
  }
  return codes;
}

absl::Status MusterClient::ReportSome(const std::vector<lifecycle::v1::NodeReport>& reports,
                                      size_t begin, size_t end,
                                      std::vector<absl::StatusCode>& codes) {
  lifecycle::v1::ReportNodesRequest request;
  for (size_t i = begin; i < end; ++i) *request.add_reports() = reports[i];
  const auto response = rpc_->Unary(rpc_->lifecycle, &LifecycleService::Stub::ReportNodes, request);
  if (absl::IsInvalidArgument(response.status())) {
    if (end - begin > 1) {
      const size_t middle = begin + (end - begin) / 2;
      RETURN_IF_ERROR(ReportSome(reports, begin, middle, codes));
      return ReportSome(reports, middle, end, codes);
    }
    rpc_->TellMalformed(reports[begin], response.status());
    codes.push_back(absl::StatusCode::kInvalidArgument);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(response.status());
  for (const auto& result : response->results())
    codes.push_back(static_cast<absl::StatusCode>(result.code()));
  if (codes.size() == end) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(codes.size(), " results for ", end));
}

absl::StatusOr<configuration::v1::PoolConfiguration> MusterClient::GetConfiguration(
    const std::string& pool_uid) {
  configuration::v1::GetPoolConfigurationRequest request;
  request.set_name(ConfigurationName(pool_uid));
  return rpc_->Unary(rpc_->configuration, &ConfigurationService::Stub::GetPoolConfiguration,
                     request);
}

absl::Status MusterClient::Promote(const std::string& pool_uid, const std::string& profile,
                                   const std::string& rollback, const std::string& request_id) {
  configuration::v1::PromoteConfigurationRequest request;
  request.set_name(ConfigurationName(pool_uid));
  request.set_node_profile(profile);
  request.set_rollback(rollback);
  request.set_request_id(request_id);
  return rpc_
      ->Unary(rpc_->configuration, &ConfigurationService::Stub::PromoteConfiguration, request)
      .status();
}

absl::Status MusterClient::Rollback(const std::string& pool_uid, const std::string& profile,
                                    const std::string& request_id) {
  auto request = RollbackTo(profile, pool_uid);
  request.set_request_id(request_id);
  return rpc_
      ->Unary(rpc_->configuration, &ConfigurationService::Stub::RollbackConfiguration, request)
      .status();
}

absl::StatusOr<std::string> MusterClient::Previous(const std::string& pool_uid) {
  auto request = RollbackTo("previous", pool_uid);
  request.set_validate_only(true);
  ASSIGN_OR_RETURN(const auto would_be,
                   rpc_->Unary(rpc_->configuration,
                               &ConfigurationService::Stub::RollbackConfiguration, request));
  // The order that was taken is the last one that came to a profile: whatever came after one that
  // waits was refused. What is active or waits may be another one, that upstream had for the pool
  // meanwhile.
  std::string profile;
  for (const auto& order : would_be.orders()) {
    if (!order.node_profile().empty()) profile = order.node_profile();
  }
  return profile;
}

std::unique_ptr<rpc::Watch> MusterClient::Watch(
    rpc::Watch::Options options,
    std::function<void(const lifecycle::v1::WatchLifecycleResponse&)> take) {
  using lifecycle::v1::WatchLifecycleRequest;
  WatchLifecycleRequest request;
  request.set_name_prefix(absl::StrCat(cluster_, "/"));
  request.add_kinds(WatchLifecycleRequest::KIND_NODE_POOL);
  request.add_kinds(WatchLifecycleRequest::KIND_NODE);
  request.add_kinds(WatchLifecycleRequest::KIND_EVENT);
  options.stream = rpc::StreamOf<lifecycle::v1::WatchLifecycleResponse>(
      request, [stub = rpc_->lifecycle](auto... call) { stub->async()->WatchLifecycle(call...); },
      std::move(take));
  return std::make_unique<rpc::Watch>(std::move(options));
}

}  // namespace muster::kubernetes
