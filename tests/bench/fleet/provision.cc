#include "tests/bench/fleet/provision.h"

#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "services/common/mutex.h"
#include "services/common/status_macros.h"

namespace muster::bench {
namespace {

using capacity::v1::CapacityService;
using configuration::v1::ConfigurationService;
using lifecycle::v1::LifecycleService;
using quota::v1::QuotaService;

constexpr size_t kCallers = 64;

// Calls f(0) to f(count - 1), kCallers at a time. The first error ends it.
absl::Status InParallel(size_t count, const std::function<absl::Status(size_t)>& f) {
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  Mutex mutex;
  absl::Status first;
  const auto work = [&] {
    for (size_t i = next++; i < count && !failed; i = next++) {
      const absl::Status status = f(i);
      if (status.ok() || failed.exchange(true)) continue;
      MutexLock lock(mutex);
      first = status;
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < std::min(kCallers, count); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  MutexLock lock(mutex);
  return first;
}

absl::Status CreatePlaces(CapacityService::Stub& stub, const Shape& shape) {
  for (const std::string& type : shape.instance_types) {
    capacity::v1::UpdateInstanceTypeRequest request;
    capacity::v1::InstanceType& wanted = *request.mutable_instance_type();
    wanted.set_name(absl::StrCat("instanceTypes/", type));
    // Every fourth is a CPU type.
    const bool gpu = (&type - shape.instance_types.data()) % 4 != 3;
    wanted.set_gpus(gpu ? 8 : 0);
    if (gpu) wanted.set_gpu_model("H100");
    wanted.set_vcpus(128);
    wanted.set_memory_kib(int64_t{2} << 30);
    wanted.set_architecture("amd64");
    wanted.set_max_pods(110);
    RETURN_IF_ERROR(Ask(stub, &CapacityService::Stub::UpdateInstanceType, request).status());
  }
  for (const std::string& zone : shape.zones) {
    capacity::v1::UpdateZoneRequest request;
    request.mutable_zone()->set_name(absl::StrCat("zones/", zone));
    request.mutable_zone()->set_access(capacity::v1::Zone::ACCESS_GENERAL);
    for (const std::string& type : shape.instance_types)
      request.mutable_zone()->add_instance_types(type);
    RETURN_IF_ERROR(Ask(stub, &CapacityService::Stub::UpdateZone, request).status());
  }
  return absl::OkStatus();
}

absl::Status Publish(ConfigurationService::Stub& stub, absl::string_view release) {
  configuration::v1::PublishReleaseRequest request;
  request.mutable_release()->set_name(absl::StrCat("channels/stable/components/", release));
  return Ask(stub, &ConfigurationService::Stub::PublishRelease, request).status();
}

}  // namespace

absl::Status CreateCatalogue(const Connections& connections, const Shape& shape) {
  const auto configuration = ConfigurationService::NewStub(connections.Of(0).channel());
  RETURN_IF_ERROR(Publish(*configuration, "gpu-driver/releases/570.86.15"));
  RETURN_IF_ERROR(Publish(*configuration, "kubernetes/releases/1.33"));
  RETURN_IF_ERROR(PublishImage(connections, 1));
  RETURN_IF_ERROR(CreatePlaces(*CapacityService::NewStub(connections.Of(0).channel()), shape));
  const auto quota = QuotaService::NewStub(connections.Of(0).channel());
  const std::vector<std::pair<std::string, int64_t>> quotas(shape.quotas.begin(),
                                                            shape.quotas.end());
  RETURN_IF_ERROR(InParallel(quotas.size(), [&](size_t i) {
    quota::v1::UpdateQuotaRequest request;
    request.mutable_quota()->set_name(quotas[i].first);
    request.mutable_quota()->set_limit(quotas[i].second);
    request.set_allow_missing(true);
    return Ask(*quota, &QuotaService::Stub::UpdateQuota, request).status();
  }));
  const auto lifecycle = LifecycleService::NewStub(connections.Of(1).channel());
  const std::vector<std::pair<std::string, std::string>> clusters(shape.clusters.begin(),
                                                                  shape.clusters.end());
  return InParallel(clusters.size(), [&](size_t i) {
    lifecycle::v1::UpdateClusterRequest request;
    request.mutable_cluster()->set_name(clusters[i].first);
    request.mutable_cluster()->set_zone(clusters[i].second);
    return Ask(*lifecycle, &LifecycleService::Stub::UpdateCluster, request).status();
  });
}

absl::Status CreatePools(const Connections& connections, const Shape& shape) {
  const auto stub = LifecycleService::NewStub(connections.Of(0).channel());
  return InParallel(shape.pools.size(), [&](size_t i) {
    const PoolShape& pool = shape.pools[i];
    lifecycle::v1::ApplyNodePoolRequest request;
    request.mutable_node_pool()->set_name(pool.name);
    lifecycle::v1::NodePoolSpec& spec = *request.mutable_node_pool()->mutable_spec();
    spec.set_instance_type(pool.instance_type);
    spec.set_compute_class(pool.compute_class);
    spec.set_target_nodes(pool.nodes);
    spec.mutable_lifecycle()->set_scale_down_strategy(pool.scale_down_strategy);
    spec.mutable_node_configuration_update_strategy()->set_type(pool.update_strategy);
    return Ask(*stub, &LifecycleService::Stub::ApplyNodePool, request).status();
  });
}

absl::Status Resize(const Connections& connections,
                    const std::vector<std::pair<std::string, int64_t>>& pools) {
  const auto stub = LifecycleService::NewStub(connections.Of(0).channel());
  return InParallel(pools.size(), [&](size_t i) {
    lifecycle::v1::ResizeNodePoolRequest request;
    request.set_name(pools[i].first);
    request.set_target_nodes(pools[i].second);
    return Ask(*stub, &LifecycleService::Stub::ResizeNodePool, request).status();
  });
}

absl::StatusOr<std::vector<std::string>> SomeNodes(const Connections& connections,
                                                   const std::string& pool, int32_t most) {
  const auto stub = LifecycleService::NewStub(connections.Of(0).channel());
  lifecycle::v1::ListNodesRequest request;
  request.set_parent(pool);
  request.set_page_size(most);
  ASSIGN_OR_RETURN(const auto page, Ask(*stub, &LifecycleService::Stub::ListNodes, request));
  std::vector<std::string> names;
  for (const lifecycle::v1::Node& node : page.nodes()) names.push_back(node.name());
  if (names.empty()) return absl::NotFoundError(absl::StrCat(pool, " has no Nodes"));
  return names;
}

absl::Status ReportWork(const Connections& connections, const std::string& node, bool active) {
  const auto stub = LifecycleService::NewStub(connections.Of(0).channel());
  lifecycle::v1::ReportNodesRequest request;
  lifecycle::v1::NodeReport& report = *request.add_reports();
  report.set_node(node);
  report.set_observation(active ? lifecycle::v1::NodeReport::OBSERVATION_ACTIVE
                                : lifecycle::v1::NodeReport::OBSERVATION_IDLE);
  if (active) report.add_active_pods("default/job-0");
  ASSIGN_OR_RETURN(const auto told, Ask(*stub, &LifecycleService::Stub::ReportNodes, request));
  const google::rpc::Status& result = told.results(0);
  return absl::Status(static_cast<absl::StatusCode>(result.code()), result.message());
}

absl::Status PublishImage(const Connections& connections, int number) {
  return Publish(*ConfigurationService::NewStub(connections.Of(0).channel()),
                 absl::StrCat("ncore-image/releases/2.", number));
}

}  // namespace muster::bench
