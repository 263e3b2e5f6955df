#pragma once

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>

#include <chrono>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/configuration/configuration_service.h"
#include "tests/testing/service_test.h"

namespace muster::configuration {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::AllOf;

using Stub = v1::ConfigurationService::Stub;

// See ServiceTest.
// Without the revision, which is the answer's.
template <class Message>
Message Unrevised(Message message) {
  message.clear_revision();
  return message;
}

class ConfigurationServiceTest
    : public testing::ServiceTest<ConfigurationService, v1::ConfigurationService> {
 protected:
  ConfigurationServiceTest() : ServiceTest("configuration") {}

  absl::StatusOr<v1::Release> Publish(const std::string& name) {
    v1::PublishReleaseRequest request;
    request.mutable_release()->set_name(name);
    return Call(&Stub::PublishRelease, request);
  }
  absl::StatusOr<v1::Release> Withdraw(const std::string& name) {
    v1::WithdrawReleaseRequest request;
    request.set_name(name);
    return Call(&Stub::WithdrawRelease, request);
  }
  void PublishBasics() {
    for (const char* release : {"ncore-image/releases/2.10.1", "gpu-driver/releases/570.86.15",
                                "kubernetes/releases/1.33"}) {
      ASSERT_THAT(Publish(absl::StrCat("channels/stable/components/", release)), IsOk());
    }
  }
  static v1::ConfigurationRequest Request(const std::string& uid, int64_t generation = 1) {
    v1::ConfigurationRequest request;
    request.set_pool_uid(uid);
    request.set_generation(generation);
    request.mutable_spec()->set_gpu(true);
    return request;
  }
  absl::StatusOr<v1::PoolConfiguration> Sync(const v1::ConfigurationRequest& configuration) {
    v1::SyncPoolConfigurationRequest request;
    *request.mutable_configuration() = configuration;
    return Call(&Stub::SyncPoolConfiguration, request);
  }
  absl::StatusOr<v1::PoolConfiguration> GetPool(const std::string& uid) {
    v1::GetPoolConfigurationRequest request;
    request.set_name(absl::StrCat("poolConfigurations/", uid));
    return Call(&Stub::GetPoolConfiguration, request);
  }
  template <class Request>
  static Request For(const std::string& uid, const std::string& node_profile = "") {
    Request request;
    request.set_name(absl::StrCat("poolConfigurations/", uid));
    request.set_node_profile(node_profile);
    return request;
  }
  absl::StatusOr<v1::PoolConfiguration> Promote(const std::string& uid,
                                                const std::string& node_profile = "") {
    return Call(&Stub::PromoteConfiguration,
                For<v1::PromoteConfigurationRequest>(uid, node_profile));
  }
  absl::StatusOr<v1::PoolConfiguration> Rollback(const std::string& uid,
                                                 const std::string& node_profile = "") {
    return Call(&Stub::RollbackConfiguration,
                For<v1::RollbackConfigurationRequest>(uid, node_profile));
  }
  absl::StatusOr<v1::PoolConfiguration> Enable(const std::string& uid,
                                               const std::string& node_profile) {
    return Call(&Stub::EnableRevision, For<v1::EnableRevisionRequest>(uid, node_profile));
  }

  // The pool as soon as the watchers see it so. The deadline is for a test that fails.
  absl::StatusOr<v1::PoolConfiguration> AwaitPool(
      const std::string& uid, const std::function<bool(const v1::PoolConfiguration&)>& holds) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    const auto stream = stub_->WatchConfigurations(&context, {});
    v1::WatchConfigurationsResponse message;
    while (stream->Read(&message)) {
      if (message.configuration().name() == absl::StrCat("poolConfigurations/", uid) &&
          holds(message.configuration())) {
        context.TryCancel();
        return message.configuration();
      }
    }
    return rpc::FromGrpcStatus(stream->Finish());
  }
};

}  // namespace muster::configuration
