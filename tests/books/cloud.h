#pragma once

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/capacity/capacity_service.h"
#include "services/common/testing/fake_clock.h"
#include "services/configuration/configuration_service.h"
#include "services/lifecycle/lifecycle_service.h"
#include "services/lifecycle/reconcile/orphan_collector.h"
#include "services/quota/quota_service.h"
#include "tests/testing/call.h"
#include "tests/testing/lane_trap.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"
#include "tests/testing/test_server.h"

namespace muster::testing {

// The four services on one server, lifecycle's loop not started, with a catalogue, a limit of 3,000
// and releases. What fails throws.
class Cloud : public ::testing::Test {
 protected:
  static constexpr char kZone[] = "US-EAST-04A";
  static constexpr char kType[] = "gd-8xa100-i128";
  static constexpr char kQuota[] = "organizations/acme/quotas/US-EAST-04A~gd-8xa100-i128~default";
  static constexpr char kCluster[] = "organizations/acme/clusters/c1";

  Cloud()
      : quota_(Create<quota::QuotaService>("quota")),
        capacity_(Create<capacity::CapacityService>("capacity")),
        configuration_(Create<configuration::ConfigurationService>("configuration")),
        lifecycle_(Create<lifecycle::LifecycleService>("lifecycle")),
        server_(std::make_unique<TestServer>(std::vector<rpc::NamedService>{
            {quota::v1::QuotaService::service_full_name(), quota_->grpc_service()},
            {capacity::v1::CapacityService::service_full_name(), capacity_->grpc_service()},
            {configuration::v1::ConfigurationService::service_full_name(),
             configuration_->grpc_service()},
            {lifecycle::v1::LifecycleService::service_full_name(), lifecycle_->grpc_service()}})),
        channel_(server_->channel()),
        quotas_(quota::v1::QuotaService::NewStub(channel_)),
        machines_(capacity::v1::CapacityService::NewStub(channel_)),
        profiles_(configuration::v1::ConfigurationService::NewStub(channel_)),
        pools_(lifecycle::v1::LifecycleService::NewStub(channel_)) {
    AddCatalogue();
  }
  ~Cloud() override {
    lifecycle_->StopReconciling();
    server_->server().Shutdown();
  }

  template <class Service>
  std::unique_ptr<Service> Create(const std::string& schema) {
    typename Service::Options options;
    options.lane.connect = {.conninfo = database_.conninfo(schema), .schema = schema};
    options.lane.yield = traps_[schema].Hook();
    options.clock = &clock_;
    auto service = Service::Create(std::move(options));
    if (!service.ok()) throw std::runtime_error(service.status().ToString());
    return *std::move(service);
  }

  template <class T>
  static T Must(absl::StatusOr<T> answer) {
    if (!answer.ok()) throw std::runtime_error(answer.status().ToString());
    return *std::move(answer);
  }

  lifecycle::Peers Peers() const {
    return {.quota = channel_, .capacity = channel_, .configuration = channel_};
  }

  void AddMachines(const std::string& prefix, int count) {
    for (int done = 0; done < count;) {
      capacity::v1::BatchRegisterMachinesRequest request;
      for (; done < count && request.machines_size() < 1000; ++done) {
        capacity::v1::Machine* machine = request.add_machines();
        machine->set_name(absl::StrCat("machines/", prefix, done));
        machine->set_zone(kZone);
        machine->set_instance_type(kType);
      }
      Must(Call(*machines_, &capacity::v1::CapacityService::Stub::BatchRegisterMachines, request));
    }
  }

  lifecycle::v1::NodePool AddPool(const std::string& id, int64_t target = 3) {
    lifecycle::v1::ApplyNodePoolRequest request;
    request.mutable_node_pool()->set_name(absl::StrCat(kCluster, "/nodePools/", id));
    request.mutable_node_pool()->mutable_spec()->set_instance_type(kType);
    request.mutable_node_pool()->mutable_spec()->set_target_nodes(target);
    return Must(Call(*pools_, &lifecycle::v1::LifecycleService::Stub::ApplyNodePool, request));
  }

  // What lifecycle would ask for a pool of that uid.
  absl::Status SyncHolding(const std::string& uid, int64_t nodes, int64_t generation = 1) {
    quota::v1::SyncHoldingRequest request;
    request.mutable_holding()->set_name(absl::StrCat(kQuota, "/holdings/", uid));
    request.mutable_holding()->set_nodes(nodes);
    request.mutable_holding()->set_generation(generation);
    return Call(*quotas_, &quota::v1::QuotaService::Stub::SyncHolding, request).status();
  }
  absl::Status SyncClaim(const std::string& uid, int64_t nodes, int64_t generation = 1) {
    capacity::v1::SyncClaimRequest request;
    request.mutable_claim()->set_pool_uid(uid);
    request.mutable_claim()->set_generation(generation);
    request.mutable_claim()->set_organization("acme");
    request.mutable_claim()->set_zone(kZone);
    request.mutable_claim()->set_instance_type(kType);
    request.mutable_claim()->set_nodes(nodes);
    return Call(*machines_, &capacity::v1::CapacityService::Stub::SyncClaim, request).status();
  }
  absl::Status SyncConfiguration(const std::string& uid, int64_t generation = 1) {
    configuration::v1::SyncPoolConfigurationRequest request;
    request.mutable_configuration()->set_pool_uid(uid);
    request.mutable_configuration()->set_generation(generation);
    request.mutable_configuration()->mutable_spec()->set_gpu(true);
    return Call(*profiles_, &configuration::v1::ConfigurationService::Stub::SyncPoolConfiguration,
                request)
        .status();
  }
  // Has all three services hold something for a uid that no pool has.
  void Haunt(const std::string& uid, int64_t nodes) {
    for (const absl::Status& status :
         {SyncHolding(uid, nodes), SyncClaim(uid, nodes), SyncConfiguration(uid)}) {
      if (!status.ok()) throw std::runtime_error(status.ToString());
    }
  }

  // Uids in the books of quota, capacity and configuration.
  std::vector<std::string> Holders() {
    quota::v1::ListHoldingsRequest request;
    request.set_parent("organizations/-/quotas/-");
    request.set_page_size(1000);
    const auto all = Must(Call(*quotas_, &quota::v1::QuotaService::Stub::ListHoldings, request));
    std::vector<std::string> uids;
    for (const auto& holding : all.holdings())
      uids.push_back(holding.name().substr(holding.name().rfind('/') + 1));
    return uids;
  }
  std::vector<std::string> Claimants() {
    capacity::v1::ListClaimsRequest request;
    request.set_page_size(1000);
    const auto all =
        Must(Call(*machines_, &capacity::v1::CapacityService::Stub::ListClaims, request));
    std::vector<std::string> uids;
    for (const auto& claim : all.claims())
      uids.emplace_back(absl::StripPrefix(claim.name(), "claims/"));
    return uids;
  }
  std::vector<std::string> Configured() {
    configuration::v1::ListPoolConfigurationsRequest request;
    request.set_page_size(1000);
    const auto all =
        Must(Call(*profiles_,
                  &configuration::v1::ConfigurationService::Stub::ListPoolConfigurations, request));
    std::vector<std::string> uids;
    for (const auto& of : all.configurations())
      uids.emplace_back(absl::StripPrefix(of.name(), "poolConfigurations/"));
    return uids;
  }
  std::string MachinesHeld() const {
    return database_.QueryValue("SELECT count(*) FROM capacity.machine WHERE claim IS NOT NULL");
  }

 private:
  void AddCatalogue() {
    capacity::v1::UpdateZoneRequest zone;
    zone.mutable_zone()->set_name(absl::StrCat("zones/", kZone));
    zone.mutable_zone()->set_access(capacity::v1::Zone::ACCESS_GENERAL);
    zone.mutable_zone()->add_instance_types(kType);
    Must(Call(*machines_, &capacity::v1::CapacityService::Stub::UpdateZone, zone));
    capacity::v1::UpdateInstanceTypeRequest update;
    capacity::v1::InstanceType* type = update.mutable_instance_type();
    type->set_name(absl::StrCat("instanceTypes/", kType));
    type->set_gpus(8);
    type->set_gpu_model("A100");
    type->set_vcpus(128);
    type->set_memory_kib(2112249840);
    type->set_ephemeral_storage_kib(7499362648);
    type->set_architecture("amd64");
    type->set_max_pods(110);
    Must(Call(*machines_, &capacity::v1::CapacityService::Stub::UpdateInstanceType, update));
    quota::v1::UpdateQuotaRequest limit;
    limit.mutable_quota()->set_name(kQuota);
    limit.mutable_quota()->set_limit(3000);
    limit.set_allow_missing(true);
    Must(Call(*quotas_, &quota::v1::QuotaService::Stub::UpdateQuota, limit));
    for (const char* release : {"ncore-image/releases/2.10.1", "gpu-driver/releases/570.86.15",
                                "kubernetes/releases/1.33"}) {
      configuration::v1::PublishReleaseRequest publish;
      publish.mutable_release()->set_name(absl::StrCat("channels/stable/components/", release));
      Must(Call(*profiles_, &configuration::v1::ConfigurationService::Stub::PublishRelease,
                publish));
    }
    lifecycle::v1::UpdateClusterRequest cluster;
    cluster.mutable_cluster()->set_name(kCluster);
    cluster.mutable_cluster()->set_zone(kZone);
    Must(Call(*pools_, &lifecycle::v1::LifecycleService::Stub::UpdateCluster, cluster));
  }

 protected:
  FakeClock clock_;
  TestDatabase database_;
  std::map<std::string, LaneTrap> traps_;  // by schema
  std::unique_ptr<quota::QuotaService> quota_;
  std::unique_ptr<capacity::CapacityService> capacity_;
  std::unique_ptr<configuration::ConfigurationService> configuration_;
  std::unique_ptr<lifecycle::LifecycleService> lifecycle_;
  std::unique_ptr<TestServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<quota::v1::QuotaService::Stub> quotas_;
  const std::unique_ptr<capacity::v1::CapacityService::Stub> machines_;
  const std::unique_ptr<configuration::v1::ConfigurationService::Stub> profiles_;
  const std::unique_ptr<lifecycle::v1::LifecycleService::Stub> pools_;
};

}  // namespace muster::testing
