#pragma once

#include <grpcpp/grpcpp.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>

#include <chrono>
#include <memory>
#include <string>

#include "services/lifecycle/peers/peers.h"
#include "services/lifecycle/peers/testing/fake_capacity.h"
#include "services/lifecycle/peers/testing/fake_feed.h"
#include "services/lifecycle/peers/testing/fake_quota.h"

// For tests: all three peers behind real gRPC, in a few lines. Thread-safe.
namespace muster::lifecycle {

class FakeConfiguration final : public configuration::v1::ConfigurationService::Service {
 public:
  void Restore() { feed_.Restore(); }
  // The watches tell that it changed.
  void Touch(const std::string& pool_uid) {
    configuration::v1::WatchConfigurationsResponse message;
    message.set_type(type::v1::WATCH_EVENT_TYPE_CHANGED);
    message.set_key("poolConfigurations/" + pool_uid);
    message.mutable_configuration()->set_name(message.key());
    feed_.Push(message);
  }
  // Its watches break, and begin anew with what was told, apart from one that was deleted.
  void DropWatchesWithout(const std::string& pool_uid) {
    feed_.DropWithout("poolConfigurations/" + pool_uid);
  }
  // The watches tell that it was deleted.
  void TellGone(const std::string& pool_uid) {
    configuration::v1::WatchConfigurationsResponse message;
    message.set_type(type::v1::WATCH_EVENT_TYPE_DELETED);
    message.set_key("poolConfigurations/" + pool_uid);
    feed_.Push(message);
  }
  grpc::Status BatchSyncPoolConfigurations(
      grpc::ServerContext*, const configuration::v1::BatchSyncPoolConfigurationsRequest* request,
      configuration::v1::BatchSyncPoolConfigurationsResponse* response) override {
    return Answer(*request, *response);
  }
  grpc::Status CheckPoolConfigurations(
      grpc::ServerContext*, const configuration::v1::CheckPoolConfigurationsRequest* request,
      configuration::v1::CheckPoolConfigurationsResponse* response) override {
    return Answer(*request, *response);
  }
  grpc::Status WatchConfigurations(
      grpc::ServerContext* context, const configuration::v1::WatchConfigurationsRequest*,
      grpc::ServerWriter<configuration::v1::WatchConfigurationsResponse>* writer) override {
    return feed_.Serve(*context, {}, *writer);
  }

 private:
  template <class Request, class Response>
  static grpc::Status Answer(const Request& request, Response& response) {
    for (const auto& ask : request.configurations()) {
      if (ask.spec().image_kernel() == "malformed") {
        return {grpc::StatusCode::INVALID_ARGUMENT, "malformed"};
      }
      auto* configuration = response.add_results()->mutable_configuration();
      configuration->set_name("poolConfigurations/" + ask.pool_uid());
      configuration->set_active("np-000000000001");
      auto* revision = configuration->add_revisions();
      revision->set_node_profile("np-000000000001");
      revision->mutable_create_time()->set_seconds(1'750'000'000);
    }
    return grpc::Status::OK;
  }

  FakeFeed<configuration::v1::WatchConfigurationsResponse> feed_;
};

// All three on one server.
class FakePeers {
 public:
  FakePeers() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&quota);
    builder.RegisterService(&capacity);
    builder.RegisterService(&configuration);
    server_ = builder.BuildAndStart();
  }
  ~FakePeers() { server_->Shutdown(std::chrono::system_clock::now()); }

  Peers channels() {
    const auto channel = server_->InProcessChannel({});
    return {channel, channel, channel};
  }

  FakeQuota quota;
  FakeCapacity capacity;
  FakeConfiguration configuration;

 private:
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace muster::lifecycle
