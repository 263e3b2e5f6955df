#pragma once

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/capacity/capacity_service.h"
#include "services/capacity/core/audit.h"
#include "tests/testing/service_test.h"

namespace muster::capacity {

using Stub = v1::CapacityService::Stub;

// See ServiceTest. At the end of a test the books are right, too.
class CapacityServiceTest : public testing::ServiceTest<CapacityService, v1::CapacityService> {
 protected:
  static constexpr char kZone[] = "US-EAST-04A";
  static constexpr char kType[] = "gd-8xa100-i128";

  CapacityServiceTest() : ServiceTest("capacity") {}
  ~CapacityServiceTest() override {
    service_->lane().Peek(
        [](const State& state, int64_t) { EXPECT_THAT(Audit(state), ::testing::IsEmpty()); });
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
    request.mutable_claim()->set_organization("acme");
    request.mutable_claim()->set_zone(kZone);
    request.mutable_claim()->set_instance_type(kType);
    request.mutable_claim()->set_nodes(nodes);
    return request;
  }
  void AddCatalogue() {
    ASSERT_THAT(Call(&Stub::UpdateZone, Zone()), testing::IsOk());
    ASSERT_THAT(Call(&Stub::UpdateInstanceType, Type()), testing::IsOk());
  }
};

}  // namespace muster::capacity
