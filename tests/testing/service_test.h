#pragma once

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "services/common/testing/fake_clock.h"
#include "tests/testing/call.h"
#include "tests/testing/patient.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"
#include "tests/testing/test_server.h"

namespace muster::testing {

// One way to spoil a request, and the field that must then be named.
template <class Request>
struct BadInput {
  std::string field = {};
  std::function<void(Request&)> spoil = {};
  bool in_this_state = false;  // the request alone looks right: the lane must look at the state
};

// The fixture of a service's tests: the real service behind real gRPC on a real Postgres, under a
// clock that stands still. Whatever a test did, at its end memory, tables and journal tell the
// same. `Service`: e.g. quota::QuotaService; `Api`: e.g. quota::v1::QuotaService. Header only: link
// `rpc`.
template <class Service, class Api>
class ServiceTest : public ::testing::Test {
 protected:
  using Stub = typename Api::Stub;

  explicit ServiceTest(std::string schema) : schema_(std::move(schema)) { Start(); }
  ~ServiceTest() override {
    const auto comparison = service_->lane().Compare();
    EXPECT_THAT(comparison, IsOk());
    if (comparison.ok()) {
      EXPECT_THAT(comparison->differences, ::testing::IsEmpty());
    }
  }

  // Another replica of the service on the same database. The lane's connection and the clock of
  // `options` are set here.
  std::unique_ptr<Service> NewReplica(typename Service::Options options = {}) {
    options.lane.connect = {.conninfo = database_.conninfo(schema_), .schema = schema_};
    options.lane = Patient(std::move(options.lane));
    options.clock = &clock_;
    auto service = Service::Create(std::move(options));
    if (!service.ok()) throw std::runtime_error(service.status().ToString());
    return *std::move(service);
  }
  void Start(typename Service::Options options = {}) {
    service_ = NewReplica(std::move(options));
    server_ = std::make_unique<TestServer>(
        std::vector<rpc::NamedService>{{Api::service_full_name(), service_->grpc_service()}});
    stub_ = Api::NewStub(server_->channel());
  }
  void Stop() {
    stub_.reset();
    server_.reset();
    service_.reset();
  }

  template <class Request, class Response>
  absl::StatusOr<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request) {
    return testing::Call(*stub_, method, request);
  }

  // Spoils `good` in each of these ways: INVALID_ARGUMENT must name the field, and nothing be
  // written. A fault of the request alone must be found before the lane, which has only one thread;
  // one that is `in_this_state` reaches the lane as one command.
  template <class Request, class Response>
  void ExpectRefused(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                     const Request& good, const std::vector<BadInput<Request>>& cases) {
    const int64_t revision = service_->lane().revision();
    for (const BadInput<Request>& bad : cases) {
      Request request = good;
      bad.spoil(request);
      SCOPED_TRACE(request.ShortDebugString().substr(0, 500));
      const int64_t decided = service_->lane().stats().commands;
      EXPECT_THAT(Call(method, request),
                  ::testing::AllOf(StatusIs(absl::StatusCode::kInvalidArgument),
                                   HasFieldViolation(bad.field)));
      EXPECT_EQ(service_->lane().stats().commands, decided + (bad.in_this_state ? 1 : 0));
    }
    EXPECT_EQ(service_->lane().revision(), revision);
  }

  FakeClock clock_;
  TestDatabase database_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<Stub> stub_;

 private:
  const std::string schema_;
};

}  // namespace muster::testing
