#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "muster/capacity/v1/capacity_service.grpc.pb.h"
#include "muster/configuration/v1/configuration_service.grpc.pb.h"
#include "muster/lifecycle/v1/lifecycle_service.grpc.pb.h"
#include "muster/quota/v1/quota_service.grpc.pb.h"
#include "services/common/error.h"
#include "services/rpc/status.h"

namespace muster::musterctl {

// For tests: quotas and machines in memory, in pages of two; orders are heard, and not carried out.
class FakeServer final : public quota::v1::QuotaService::Service,
                         public capacity::v1::CapacityService::Service,
                         public configuration::v1::ConfigurationService::Service,
                         public lifecycle::v1::LifecycleService::Service {
 public:
  FakeServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<quota::v1::QuotaService::Service*>(this));
    builder.RegisterService(static_cast<capacity::v1::CapacityService::Service*>(this));
    builder.RegisterService(static_cast<configuration::v1::ConfigurationService::Service*>(this));
    builder.RegisterService(static_cast<lifecycle::v1::LifecycleService::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  grpc::Status ListQuotas(grpc::ServerContext*, const quota::v1::ListQuotasRequest* request,
                          quota::v1::ListQuotasResponse* response) override {
    auto it = quotas.upper_bound(request->page_token());
    for (; it != quotas.end() && response->quotas_size() < 2; ++it)
      *response->add_quotas() = it->second;
    if (it != quotas.end()) response->set_next_page_token(std::prev(it)->first);
    return grpc::Status::OK;
  }
  grpc::Status GetQuota(grpc::ServerContext*, const quota::v1::GetQuotaRequest* request,
                        quota::v1::Quota* response) override {
    const auto it = quotas.find(request->name());
    if (it == quotas.end()) return {grpc::StatusCode::NOT_FOUND, "none"};
    *response = it->second;
    return grpc::Status::OK;
  }
  grpc::Status UpdateQuota(grpc::ServerContext*, const quota::v1::UpdateQuotaRequest* request,
                           quota::v1::Quota* response) override {
    if (request->quota().limit() < 0) {
      return rpc::ToGrpcStatus(error::InvalidField("limit", "must be 0 to 1000000"));
    }
    EXPECT_TRUE(request->allow_missing());
    ids.push_back(request->request_id());
    *response = request->quota();
    const auto there = quotas.find(response->name());
    if (there != quotas.end() && request->update_mask().paths().empty() &&
        response->overrides().empty())
      *response->mutable_overrides() = there->second.overrides();
    if (!request->validate_only()) quotas[response->name()] = *response;
    return grpc::Status::OK;
  }
  grpc::Status WatchQuotas(grpc::ServerContext*, const quota::v1::WatchQuotasRequest*,
                           grpc::ServerWriter<quota::v1::WatchQuotasResponse>* writer) override {
    for (const auto& message : stream) writer->Write(message);
    return {grpc::StatusCode::UNAVAILABLE, "the end"};
  }
  grpc::Status ListMachines(grpc::ServerContext*, const capacity::v1::ListMachinesRequest*,
                            capacity::v1::ListMachinesResponse* response) override {
    for (const auto& [name, machine] : machines) *response->add_machines() = machine;
    return grpc::Status::OK;
  }
  grpc::Status GetZone(grpc::ServerContext*, const capacity::v1::GetZoneRequest*,
                       capacity::v1::Zone* response) override {
    if (!zone) return {grpc::StatusCode::NOT_FOUND, "none"};
    *response = *zone;
    return grpc::Status::OK;
  }
  grpc::Status UpdateZone(grpc::ServerContext*, const capacity::v1::UpdateZoneRequest* request,
                          capacity::v1::Zone* response) override {
    if (request->zone().access() == capacity::v1::Zone::ACCESS_UNSPECIFIED)
      return rpc::ToGrpcStatus(error::InvalidField("zone.access", "is missing"));
    *response = request->zone();
    response->set_region("A-1");
    if (!request->validate_only()) zone = *response;
    return grpc::Status::OK;
  }
  grpc::Status GetInstanceType(grpc::ServerContext*, const capacity::v1::GetInstanceTypeRequest*,
                               capacity::v1::InstanceType* response) override {
    if (!type) return {grpc::StatusCode::NOT_FOUND, "none"};
    *response = *type;
    return grpc::Status::OK;
  }
  grpc::Status UpdateInstanceType(grpc::ServerContext*,
                                  const capacity::v1::UpdateInstanceTypeRequest* request,
                                  capacity::v1::InstanceType* response) override {
    if (request->instance_type().vcpus() == 0)
      return rpc::ToGrpcStatus(error::InvalidField("instance_type.vcpus", "is missing"));
    *response = request->instance_type();
    if (!request->validate_only()) type = *response;
    return grpc::Status::OK;
  }
  grpc::Status GetMachine(grpc::ServerContext*, const capacity::v1::GetMachineRequest* request,
                          capacity::v1::Machine* response) override {
    const auto it = machines.find(request->name());
    if (it == machines.end()) return {grpc::StatusCode::NOT_FOUND, "none"};
    *response = it->second;
    return grpc::Status::OK;
  }
  grpc::Status BatchRegisterMachines(grpc::ServerContext*,
                                     const capacity::v1::BatchRegisterMachinesRequest* request,
                                     capacity::v1::BatchRegisterMachinesResponse*) override {
    if (request->machines(0).zone() == "NONE")
      return {grpc::StatusCode::FAILED_PRECONDITION, "no such zone"};
    if (request->validate_only()) return grpc::Status::OK;
    batches.push_back(request->machines_size());
    ids.push_back(request->request_id());
    for (const auto& machine : request->machines()) {
      machines[machine.name()] = machine;
      machines[machine.name()].set_state(capacity::v1::Machine::STATE_FREE);
    }
    return grpc::Status::OK;
  }
  grpc::Status SetMachineState(grpc::ServerContext*,
                               const capacity::v1::SetMachineStateRequest* request,
                               capacity::v1::Machine*) override {
    return Heard("set", *request);
  }

  grpc::Status GetNodePool(grpc::ServerContext*, const lifecycle::v1::GetNodePoolRequest*,
                           lifecycle::v1::NodePool* response) override {
    if (!pool) return {grpc::StatusCode::NOT_FOUND, "none"};
    *response = *pool;
    return grpc::Status::OK;
  }
  grpc::Status UpdateNodePool(grpc::ServerContext*,
                              const lifecycle::v1::UpdateNodePoolRequest* request,
                              lifecycle::v1::NodePool* response) override {
    *response = changed;
    return Heard("update", *request);
  }
  grpc::Status ApplyNodePool(grpc::ServerContext*,
                             const lifecycle::v1::ApplyNodePoolRequest* request,
                             lifecycle::v1::NodePool* response) override {
    *response = changed;
    if (request->validate_only()) response->mutable_preview()->set_nodes_to_reboot(7);
    return Heard("apply", *request);
  }
  grpc::Status ResizeNodePool(grpc::ServerContext*,
                              const lifecycle::v1::ResizeNodePoolRequest* request,
                              lifecycle::v1::NodePool*) override {
    return Heard("resize", *request);
  }
  grpc::Status DeleteNodePool(grpc::ServerContext*,
                              const lifecycle::v1::DeleteNodePoolRequest* request,
                              lifecycle::v1::NodePool*) override {
    return Heard("delete", *request);
  }
  grpc::Status ReconfigureNodePool(grpc::ServerContext*,
                                   const lifecycle::v1::ReconfigureNodePoolRequest* request,
                                   lifecycle::v1::NodePool*) override {
    return Heard("reconfigure", *request);
  }
  grpc::Status PauseReconfiguration(grpc::ServerContext*,
                                    const lifecycle::v1::PauseReconfigurationRequest* request,
                                    lifecycle::v1::NodePool*) override {
    return Heard("pause", *request);
  }
  grpc::Status ResumeReconfiguration(grpc::ServerContext*,
                                     const lifecycle::v1::ResumeReconfigurationRequest* request,
                                     lifecycle::v1::NodePool*) override {
    return Heard("resume", *request);
  }
  grpc::Status CancelReconfiguration(grpc::ServerContext*,
                                     const lifecycle::v1::CancelReconfigurationRequest* request,
                                     lifecycle::v1::NodePool*) override {
    return Heard("cancel", *request);
  }
  grpc::Status UpdateNode(grpc::ServerContext*, const lifecycle::v1::UpdateNodeRequest* request,
                          lifecycle::v1::Node*) override {
    return Heard("update", *request);
  }
  grpc::Status ListEvents(grpc::ServerContext*, const lifecycle::v1::ListEventsRequest* request,
                          lifecycle::v1::ListEventsResponse*) override {
    return Heard("events", *request);
  }
  grpc::Status CordonNode(grpc::ServerContext*, const lifecycle::v1::CordonNodeRequest* request,
                          lifecycle::v1::Node*) override {
    return Heard("cordon", *request);
  }
  grpc::Status UncordonNode(grpc::ServerContext*, const lifecycle::v1::UncordonNodeRequest* request,
                            lifecycle::v1::Node*) override {
    return Heard("uncordon", *request);
  }
  grpc::Status DrainNode(grpc::ServerContext*, const lifecycle::v1::DrainNodeRequest* request,
                         lifecycle::v1::Node*) override {
    return Heard("drain", *request);
  }
  grpc::Status RebootNode(grpc::ServerContext*, const lifecycle::v1::RebootNodeRequest* request,
                          lifecycle::v1::Node*) override {
    return Heard("reboot", *request);
  }
  grpc::Status ExplainNodePool(grpc::ServerContext*,
                               const lifecycle::v1::ExplainNodePoolRequest* request,
                               lifecycle::v1::ExplainNodePoolResponse*) override {
    return Heard("explain", *request);
  }

  grpc::Status PublishRelease(grpc::ServerContext*,
                              const configuration::v1::PublishReleaseRequest* request,
                              configuration::v1::Release*) override {
    return Heard("publish", *request);
  }
  grpc::Status WithdrawRelease(grpc::ServerContext*,
                               const configuration::v1::WithdrawReleaseRequest* request,
                               configuration::v1::Release*) override {
    return Heard("withdraw", *request);
  }
  grpc::Status PromoteConfiguration(grpc::ServerContext*,
                                    const configuration::v1::PromoteConfigurationRequest* request,
                                    configuration::v1::PoolConfiguration*) override {
    return Heard("promote", *request);
  }
  grpc::Status RollbackConfiguration(grpc::ServerContext*,
                                     const configuration::v1::RollbackConfigurationRequest* request,
                                     configuration::v1::PoolConfiguration*) override {
    return Heard("rollback", *request);
  }
  grpc::Status EnableRevision(grpc::ServerContext*,
                              const configuration::v1::EnableRevisionRequest* request,
                              configuration::v1::PoolConfiguration*) override {
    return Heard("enable", *request);
  }

  std::vector<std::string> heard;          // orders to any of them, without ids
  std::vector<std::string> ids;            // of requests that have the field
  std::vector<grpc::StatusCode> failures;  // what lifecycle answers next, the last first
  std::optional<lifecycle::v1::NodePool> pool;
  lifecycle::v1::NodePool changed;  // what its changes answer
  std::optional<capacity::v1::Zone> zone;
  std::optional<capacity::v1::InstanceType> type;
  std::map<std::string, quota::v1::Quota> quotas;
  std::map<std::string, capacity::v1::Machine> machines;
  std::vector<int> batches;
  std::vector<quota::v1::WatchQuotasResponse> stream;

 private:
  template <class Request>
  grpc::Status Heard(const char* verb, Request request) {
    if constexpr (requires { request.request_id(); }) {
      ids.push_back(request.request_id());
      request.clear_request_id();
    }
    heard.push_back(absl::StrCat(verb, " ", request.ShortDebugString()));
    if (failures.empty()) return grpc::Status::OK;
    const grpc::StatusCode code = failures.back();
    failures.pop_back();
    return {code, "lost"};
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace muster::musterctl
