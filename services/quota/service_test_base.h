#pragma once

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/fake_clock.h"
#include "services/quota/quota_service.h"
#include "services/rpc/status.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"
#include "tests/testing/test_server.h"

namespace muster::quota {

using Stub = v1::QuotaService::Stub;

// The real service behind real gRPC on a real Postgres, under a clock that stands still.
class QuotaServiceTest : public ::testing::Test {
 protected:
  static constexpr char kName[] = "organizations/acme/quotas/US-EAST-04A~gd-8xa100-i128~default";

  QuotaServiceTest() { Start(); }
  std::unique_ptr<QuotaService> NewReplica() {
    QuotaService::Options options;
    options.lane.connect = {.conninfo = database_.conninfo("quota"), .schema = "quota"};
    options.clock = &clock_;
    auto service = QuotaService::Create(std::move(options));
    if (!service.ok()) throw std::runtime_error(service.status().ToString());
    return *std::move(service);
  }
  void Start() {
    service_ = NewReplica();
    server_ = std::make_unique<testing::TestServer>(std::vector<rpc::NamedService>{
        {v1::QuotaService::service_full_name(), service_->grpc_service()}});
    stub_ = v1::QuotaService::NewStub(server_->channel());
  }
  void Stop() {
    stub_.reset();
    server_.reset();
    service_.reset();
  }
  ~QuotaServiceTest() override {
    // Whatever a test did: memory, tables and journal tell the same.
    const auto comparison = service_->lane().Compare();
    EXPECT_THAT(comparison, testing::IsOk());
    if (comparison.ok()) {
      EXPECT_THAT(comparison->differences, ::testing::IsEmpty());
    }
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
  absl::StatusOr<v1::Quota> SetLimit(int64_t limit, const std::string& name = kName) {
    v1::UpdateQuotaRequest request;
    request.mutable_quota()->set_name(name);
    request.mutable_quota()->set_limit(limit);
    request.set_allow_missing(true);
    return Call(&Stub::UpdateQuota, request);
  }
  static v1::HoldingRequest Holding(const std::string& pool, int64_t nodes,
                                    int64_t generation = 1) {
    v1::HoldingRequest holding;
    holding.set_name(absl::StrCat(kName, "/holdings/", pool));
    holding.set_nodes(nodes);
    holding.set_generation(generation);
    return holding;
  }
  absl::StatusOr<v1::SyncHoldingResponse> Sync(const v1::HoldingRequest& holding) {
    v1::SyncHoldingRequest request;
    *request.mutable_holding() = holding;
    return Call(&Stub::SyncHolding, request);
  }

  FakeClock clock_;
  testing::TestDatabase database_;
  std::unique_ptr<QuotaService> service_;
  std::unique_ptr<testing::TestServer> server_;
  std::unique_ptr<Stub> stub_;
};

}  // namespace muster::quota
