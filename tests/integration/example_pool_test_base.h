#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/configuration/v1/configuration_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/rpc/client/calls.h"
#include "tests/integration/mini_muster.h"
#include "tests/testing/status_matchers.h"

namespace muster::testing {

// A whole Muster with the example's pool, which has settled with one Node. At the end memory,
// tables and journals are the same.
class ExamplePoolTest : public ::testing::Test {
 protected:
  using Life = lifecycle::v1::LifecycleService::Stub;
  using Configuration = configuration::v1::ConfigurationService::Stub;

  ExamplePoolTest()
      : life_(lifecycle::v1::LifecycleService::NewStub(muster_.channel())),
        configuration_(configuration::v1::ConfigurationService::NewStub(muster_.channel())) {
    muster_.ApplyCatalogue();
    muster_.ApplyExample();
    EXPECT_TRUE(muster_.AwaitSettled(1)) << muster_.LogEnds();
  }
  ~ExamplePoolTest() override { EXPECT_EQ(muster_.CompareStates(), ""); }

  template <class Stub, class Request, class Response>
  absl::StatusOr<Response> Call(Stub& stub,
                                grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request) {
    return rpc::Call(absl::Seconds(30), stub, method, request);
  }
  lifecycle::v1::NodePool Pool() { return muster_.GetPool().value(); }
  std::vector<lifecycle::v1::Node> Nodes() {
    lifecycle::v1::ListNodesRequest request;
    request.set_parent(MiniMuster::kPool);
    const auto listed = Call(*life_, &Life::ListNodes, request);
    return {listed.value().nodes().begin(), listed.value().nodes().end()};
  }
  std::set<std::string> Machines() {
    std::set<std::string> machines;
    for (const lifecycle::v1::Node& node : Nodes()) machines.insert(node.machine());
    return machines;
  }
  lifecycle::v1::ResizeNodePoolRequest Resize(int64_t target, bool validate_only) {
    lifecycle::v1::ResizeNodePoolRequest request;
    request.set_name(MiniMuster::kPool);
    request.set_target_nodes(target);
    request.set_validate_only(validate_only);
    return request;
  }
  std::vector<std::string> Reasons() {
    lifecycle::v1::ExplainNodePoolRequest request;
    request.set_name(MiniMuster::kPool);
    const auto explained = Call(*life_, &Life::ExplainNodePool, request);
    EXPECT_THAT(explained, IsOk());
    std::vector<std::string> reasons;
    for (const auto& obstacle : explained.value().obstacles()) {
      reasons.push_back(absl::StrCat(
          obstacle.reason(), "/", lifecycle::v1::NodePoolObstacle::Actor_Name(obstacle.actor())));
    }
    return reasons;
  }
  bool AwaitReason(const std::string& type, const std::string& reason) {
    return muster_.Await([&](const lifecycle::v1::NodePool* pool) {
      return pool != nullptr &&
             std::any_of(pool->status().conditions().begin(), pool->status().conditions().end(),
                         [&](const auto& c) { return c.type() == type && c.reason() == reason; });
    });
  }

  MiniMuster muster_;
  std::unique_ptr<Life> life_;
  std::unique_ptr<Configuration> configuration_;
};

}  // namespace muster::testing
