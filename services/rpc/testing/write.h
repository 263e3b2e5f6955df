#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "services/common/error.h"
#include "services/rpc/status.h"
#include "services/rpc/testing/fake_lane.h"
#include "services/rpc/testing/fake_quota_service.h"
#include "services/rpc/write.h"

// For the tests of write.h: an RPC that puts fruits into a lane without a database.
namespace muster::rpc {

class WriteTest : public ::testing::Test {
 protected:
  // "There is this fruit": quota_id is its name, quota.limit its weight.
  static constexpr auto kParse = [](const v1::CreateQuotaRequest& request, error::Faults& faults) {
    faults.Require(!request.quota_id().empty(), "quota_id", "is required.");
    faults.Require(request.quota().limit() >= 0, "quota.limit", "must not be negative.");
    return Fruit{request.quota_id(), request.quota().limit()};
  };
  static constexpr auto kDecide = [](StagedState<Orchard>& staged, const Fruit& fruit,
                                     absl::Time) -> absl::StatusOr<Fruit> {
    if (staged.state().table<Fruit>().Find(fruit.name) != nullptr)
      return error::AlreadyExists(fruit.name);
    staged.Put(fruit);
    return *staged.state().table<Fruit>().Find(fruit.name);
  };
  static constexpr auto kRender = [](const Fruit& fruit, v1::Quota& response) {
    response.set_name(fruit.name);
    response.set_limit(fruit.weight);
  };

  using Unary = grpc::ServerUnaryReactor*;

  // The RPC does what `handle` does.
  absl::StatusOr<v1::Quota> Call(
      std::function<Unary(grpc::CallbackServerContext*, v1::Quota*)> handle) {
    server_.service.get = [handle](grpc::CallbackServerContext* context, const v1::GetQuotaRequest*,
                                   v1::Quota* response) { return handle(context, response); };
    grpc::ClientContext context;
    v1::Quota response;
    const absl::Status status = FromGrpcStatus(server_.stub->GetQuota(&context, {}, &response));
    const auto shown = context.GetServerTrailingMetadata().find(kRevisionHeader);
    shown_ = shown == context.GetServerTrailingMetadata().end()
                 ? ""
                 : std::string(shown->second.data(), shown->second.size());
    if (!status.ok()) return status;
    return response;
  }
  absl::StatusOr<v1::Quota> Create(const std::string& name, int64_t weight,
                                   bool validate_only = false, const std::string& request_id = "") {
    v1::CreateQuotaRequest request;
    request.set_request_id(request_id);
    request.set_quota_id(name);
    request.mutable_quota()->set_limit(weight);
    request.set_validate_only(validate_only);
    return Call([this, request](grpc::CallbackServerContext* context, v1::Quota* response) {
      return Write(context, writer_, request, response, kParse, kDecide, kRender);
    });
  }
  const Fruit* Find(const std::string& name) { return lane_.state.table<Fruit>().Find(name); }

  CaughtLog log_;
  FakeLane<Orchard> lane_;
  Writer<FakeLane<Orchard>> writer_{&lane_};
  FakeServer server_;
  std::string shown_;  // the revision of the last answer, as its metadata has it
};

}  // namespace muster::rpc
