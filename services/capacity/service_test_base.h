#pragma once

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/capacity/capacity_service.h"
#include "services/capacity/core/audit.h"
#include "services/common/fake_clock.h"
#include "services/rpc/status.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"
#include "tests/testing/test_server.h"

namespace muster::capacity {

using Stub = v1::CapacityService::Stub;

// The real service behind real gRPC on a real Postgres, under a clock that stands still.
class CapacityServiceTest : public ::testing::Test {
 protected:
  static constexpr char kZone[] = "US-EAST-04A";
  static constexpr char kType[] = "gd-8xa100-i128";

  CapacityServiceTest() {
    CapacityService::Options options;
    options.lane.connect = {.conninfo = database_.conninfo("capacity"), .schema = "capacity"};
    options.clock = &clock_;
    auto service = CapacityService::Create(std::move(options));
    if (!service.ok()) throw std::runtime_error(service.status().ToString());
    service_ = *std::move(service);
    server_ = std::make_unique<testing::TestServer>(std::vector<rpc::NamedService>{
        {v1::CapacityService::service_full_name(), service_->grpc_service()}});
    stub_ = v1::CapacityService::NewStub(server_->channel());
  }
  ~CapacityServiceTest() override {
    // Whatever a test did: memory, tables and journal tell the same, and the books are right.
    const auto comparison = service_->lane().Compare();
    EXPECT_THAT(comparison, testing::IsOk());
    if (comparison.ok()) {
      EXPECT_THAT(comparison->differences, ::testing::IsEmpty());
    }
    service_->lane().Peek(
        [](const State& state, int64_t) { EXPECT_THAT(Audit(state), ::testing::IsEmpty()); });
  }

  template <class Request, class Response>
  absl::StatusOr<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request) {
    grpc::ClientContext context;
    Response response;
    const grpc::Status status = ((*stub_).*method)(&context, request, &response);
    if (!status.ok()) return rpc::FromGrpcStatus(status);
    return response;
  }

  static v1::UpdateZoneRequest Zone() {
    v1::UpdateZoneRequest request;
    request.mutable_zone()->set_name(absl::StrCat("zones/", kZone));
    request.mutable_zone()->set_access(v1::Zone::ACCESS_GENERAL);
    request.mutable_zone()->add_instance_types(kType);
    return request;
  }
  static v1::UpdateInstanceTypeRequest Type() {
    v1::UpdateInstanceTypeRequest request;
    v1::InstanceType* type = request.mutable_instance_type();
    type->set_name(absl::StrCat("instanceTypes/", kType));
    type->set_gpus(8);
    type->set_gpu_model("A100");
    type->set_vcpus(128);
    type->set_memory_kib(2112249840);
    type->set_ephemeral_storage_kib(7499362648);
    type->set_architecture("amd64");
    type->set_max_pods(110);
    return request;
  }
  static v1::BatchRegisterMachinesRequest Machines(const std::vector<std::string>& ids) {
    v1::BatchRegisterMachinesRequest request;
    for (const std::string& id : ids) {
      v1::Machine* machine = request.add_machines();
      machine->set_name(absl::StrCat("machines/", id));
      machine->set_zone(kZone);
      machine->set_instance_type(kType);
    }
    return request;
  }
  static v1::SyncClaimRequest Claim(const std::string& uid, int64_t nodes, int64_t generation = 1) {
    v1::SyncClaimRequest request;
    request.mutable_claim()->set_pool_uid(uid);
    request.mutable_claim()->set_generation(generation);
    request.mutable_claim()->set_zone(kZone);
    request.mutable_claim()->set_instance_type(kType);
    request.mutable_claim()->set_nodes(nodes);
    return request;
  }
  void AddCatalogue() {
    ASSERT_THAT(Call(&Stub::UpdateZone, Zone()), testing::IsOk());
    ASSERT_THAT(Call(&Stub::UpdateInstanceType, Type()), testing::IsOk());
  }

  FakeClock clock_;
  testing::TestDatabase database_;
  std::unique_ptr<CapacityService> service_;
  std::unique_ptr<testing::TestServer> server_;
  std::unique_ptr<Stub> stub_;
};

}  // namespace muster::capacity
