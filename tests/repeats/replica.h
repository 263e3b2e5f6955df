#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/text_format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/capacity/capacity_service.h"
#include "services/common/clock.h"
#include "services/configuration/configuration_service.h"
#include "services/lifecycle/lifecycle_service.h"
#include "services/quota/quota_service.h"
#include "services/rpc/status.h"
#include "storage/postgres/fault.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"
#include "tests/testing/test_server.h"

namespace muster::testing {

using google::protobuf::Message;
using google::protobuf::MethodDescriptor;

// One replica of the four services, lifecycle's loop not started. What fails throws.
class Replica {
 public:
  // `database` and `clock` must outlive it. `fault`: injects faults into its calls of the database.
  Replica(const TestDatabase& database, const Clock* clock, storage::FaultHook fault = {})
      : quota_(Create<quota::QuotaService>(database, clock, fault, "quota")),
        capacity_(Create<capacity::CapacityService>(database, clock, fault, "capacity")),
        configuration_(
            Create<configuration::ConfigurationService>(database, clock, fault, "configuration")),
        lifecycle_(Create<lifecycle::LifecycleService>(database, clock, fault, "lifecycle")),
        server_(std::make_unique<TestServer>(std::vector<rpc::NamedService>{
            {quota::v1::QuotaService::service_full_name(), quota_->grpc_service()},
            {capacity::v1::CapacityService::service_full_name(), capacity_->grpc_service()},
            {configuration::v1::ConfigurationService::service_full_name(),
             configuration_->grpc_service()},
            {lifecycle::v1::LifecycleService::service_full_name(), lifecycle_->grpc_service()}})),
        channel_(server_->channel()) {}
  ~Replica() { server_->server().Shutdown(); }

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  int port() { return server_->server().port(); }
  lifecycle::Lane& lifecycle_lane() { return lifecycle_->lane(); }

  // Differences between memory, tables and journal, of all four.
  std::string Compare() {
    return absl::StrCat(DifferencesOf(*quota_), DifferencesOf(*capacity_),
                        DifferencesOf(*configuration_), DifferencesOf(*lifecycle_));
  }

 private:
  template <class Service>
  static std::unique_ptr<Service> Create(const TestDatabase& database, const Clock* clock,
                                         const storage::FaultHook& fault,
                                         const std::string& schema) {
    typename Service::Options options;
    options.lane.connect = {.conninfo = database.conninfo(schema), .schema = schema};
    options.lane.runner.fault = fault;
    options.clock = clock;
    auto service = Service::Create(std::move(options));
    if (!service.ok()) throw std::runtime_error(service.status().ToString());
    return *std::move(service);
  }
  template <class Service>
  static std::string DifferencesOf(Service& service) {
    const auto comparison = service.lane().Compare();
    if (!comparison.ok()) return comparison.status().ToString();
    std::string text;
    for (const std::string& difference : comparison->differences)
      absl::StrAppend(&text, difference, "\n");
    return text;
  }

  const std::unique_ptr<quota::QuotaService> quota_;
  const std::unique_ptr<capacity::CapacityService> capacity_;
  const std::unique_ptr<configuration::ConfigurationService> configuration_;
  const std::unique_ptr<lifecycle::LifecycleService> lifecycle_;
  const std::unique_ptr<TestServer> server_;
  const std::shared_ptr<grpc::Channel> channel_;
};

inline std::unique_ptr<Message> NewMessage(const google::protobuf::Descriptor* type) {
  return std::unique_ptr<Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
}

// A request in protobuf's text format.
inline std::unique_ptr<Message> ParseRequest(const MethodDescriptor& method,
                                             const std::string& text) {
  std::unique_ptr<Message> request = NewMessage(method.input_type());
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, request.get())) << text;
  return request;
}

inline bool HasRequestId(const MethodDescriptor& method) {
  return method.input_type()->FindFieldByName("request_id") != nullptr;
}
inline void SetRequestId(Message& request, const std::string& id) {
  request.GetReflection()->SetString(&request,
                                     request.GetDescriptor()->FindFieldByName("request_id"), id);
}

// The answer's bytes.
inline absl::StatusOr<std::string> Call(const std::shared_ptr<grpc::Channel>& channel,
                                        const MethodDescriptor& method, const Message& request,
                                        absl::Duration patience = absl::Minutes(1)) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + patience));
  const grpc::Slice slice(request.SerializeAsString());
  const grpc::ByteBuffer sent(&slice, 1);
  grpc::ByteBuffer received;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, absl::StrCat("/", method.service()->full_name(), "/", method.name()),
                 grpc::StubOptions(), &sent, &received,
                 [&](grpc::Status status) { done.set_value(std::move(status)); });
  if (const auto status = rpc::FromGrpcStatus(done.get_future().get()); !status.ok()) return status;
  grpc::Slice answer;
  if (!received.DumpToSingleSlice(&answer).ok()) return absl::InternalError("No answer.");
  return std::string(reinterpret_cast<const char*>(answer.begin()), answer.size());
}

// Where the four journals stand.
inline std::string Journals(const TestDatabase& database) {
  std::string text;
  for (const char* schema : {"quota", "capacity", "configuration", "lifecycle"}) {
    absl::StrAppend(
        &text, schema, " ",
        database.QueryValue(absl::StrCat("SELECT revision FROM ", schema, ".journal_head")), " ");
  }
  return text;
}

// Answers that are kept, of all four.
inline int KeptAnswers(const TestDatabase& database) {
  int count = 0;
  for (const char* schema : {"quota", "capacity", "configuration", "lifecycle"}) {
    count += std::stoi(
        database.QueryValue(absl::StrCat("SELECT count(*) FROM ", schema, ".kept_request")));
  }
  return count;
}

}  // namespace muster::testing
