#pragma once

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "services/common/clock.h"
#include "services/lifecycle/lifecycle_service.h"
#include "services/lifecycle/peers/testing/fake_peers.h"
#include "tests/testing/call.h"
#include "tests/testing/metric_value.h"
#include "tests/testing/patient.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"
#include "tests/testing/test_server.h"

// For the tests of this folder: a replica behind gRPC, the services that it asks as fakes, and
// agents that do what is desired.
namespace muster::lifecycle {

using Stub = v1::LifecycleService::Stub;

inline constexpr char kCluster[] = "organizations/acme/clusters/c1";
inline constexpr char kPool[] = "organizations/acme/clusters/c1/nodePools/train";
inline constexpr char kQuota[] = "organizations/acme/quotas/US-EAST-04A~gd-8xa100-i128~default";

using testing::Call;

// The wall clock, which somebody sets.
class JumpingClock final : public Clock {
 public:
  absl::Time Now() const override { return real_.Now() + absl::Microseconds(ahead_.load()); }
  void Jump(absl::Duration by) { ahead_ += absl::ToInt64Microseconds(by); }

 private:
  SystemClock real_;
  std::atomic<int64_t> ahead_ = 0;
};

// One replica: service, server, stub.
class Replica {
 public:
  Replica(const testing::TestDatabase& database, const Clock* clock, absl::Duration resync) {
    LifecycleService::Options options;
    options.lane.connect = {.conninfo = database.conninfo("lifecycle"), .schema = "lifecycle"};
    options.lane = testing::Patient(std::move(options.lane));
    options.clock = clock;
    options.loop.resync_interval = resync;
    options.loop.lease_ttl = absl::Seconds(20);  // nobody waits for its end
    options.loop.policy.cordon_settle = absl::ZeroDuration();
    options.loop.policy.cordon_patience = absl::ZeroDuration();
    auto created = LifecycleService::Create(std::move(options));
    if (!created.ok()) throw std::runtime_error(created.status().ToString());
    service = *std::move(created);
    server = std::make_unique<testing::TestServer>(std::vector<rpc::NamedService>{
        {v1::LifecycleService::service_full_name(), service->grpc_service()}});
    stub = v1::LifecycleService::NewStub(server->channel());
  }
  ~Replica() {
    service->StopReconciling();
    stub.reset();
    server->server().Shutdown();
  }

  // The value of a metric with that one label, 0 when there is none.
  double Metric(const std::string& name, const std::string& label) const {
    return testing::MetricValue(*service->collectable(), name, label).value_or(0);
  }

  std::unique_ptr<LifecycleService> service;
  std::unique_ptr<testing::TestServer> server;
  std::unique_ptr<Stub> stub;
};

// Does what every Node desires, as the provisioner and the kubelet would, until it is destroyed.
class Agent {
 public:
  explicit Agent(Stub& stub) : stub_(stub), thread_([this] { Run(); }) {}
  ~Agent() {
    context_.TryCancel();
    thread_.join();
  }

 private:
  void Run() {
    v1::WatchLifecycleRequest request;
    request.add_kinds(v1::WatchLifecycleRequest::KIND_NODE);
    const auto stream = stub_.WatchLifecycle(&context_, request);
    v1::WatchLifecycleResponse message;
    while (stream->Read(&message)) {
      if (message.has_node()) Serve(message.node());
    }
    stream->Finish();
  }
  void Serve(const v1::Node& node) {
    const bool run = node.desired().phase() == v1::NodeDesired::PHASE_RUNNING;
    if (node.state() == v1::Node::STATE_ASSIGNED && run) {
      Report(node, v1::NodeReport::OBSERVATION_BOOT_STARTED);
    } else if (node.state() == v1::Node::STATE_BOOTING && run) {
      Report(node, v1::NodeReport::OBSERVATION_REGISTERED);
    } else if (node.state() == v1::Node::STATE_REGISTERED) {
      Report(node, v1::NodeReport::OBSERVATION_READY);
    } else if (node.state() == v1::Node::STATE_DRAINING) {
      Report(node, v1::NodeReport::OBSERVATION_DRAINED);
    } else if (node.state() == v1::Node::STATE_PREPARED_FOR_TERMINATE) {
      Report(node, v1::NodeReport::OBSERVATION_TERMINATED);
    }
  }
  void Report(const v1::Node& node, v1::NodeReport::Observation observation) {
    v1::ReportNodesRequest request;
    v1::NodeReport* report = request.add_reports();
    report->set_node(node.name());
    report->set_observation(observation);
    report->set_node_profile(node.desired().node_profile());
    (void)Call(stub_, &Stub::ReportNodes, request);
  }

  Stub& stub_;
  grpc::ClientContext context_;
  std::thread thread_;
};

class LifecycleServiceTest : public ::testing::Test {
 protected:
  LifecycleServiceTest() : replica_(NewReplica()) {
    v1::UpdateClusterRequest cluster;
    cluster.mutable_cluster()->set_name(kCluster);
    cluster.mutable_cluster()->set_zone("US-EAST-04A");
    EXPECT_THAT(Call(*replica_->stub, &Stub::UpdateCluster, cluster), testing::IsOk());
  }
  ~LifecycleServiceTest() override {
    // Whatever a test did: memory, tables and journal tell the same.
    const auto comparison = replica_->service->lane().Compare();
    EXPECT_THAT(comparison, testing::IsOk());
    if (comparison.ok()) {
      EXPECT_THAT(comparison->differences, ::testing::IsEmpty());
    }
  }

  std::unique_ptr<Replica> NewReplica(absl::Duration resync = absl::Minutes(10)) {
    return std::make_unique<Replica>(database_, &clock_, resync);
  }
  void Reconcile() {
    ASSERT_THAT(replica_->service->StartReconciling(peers_.channels()), testing::IsOk());
    agent_ = std::make_unique<Agent>(*replica_->stub);
  }
  static v1::ApplyNodePoolRequest Pool(int64_t target) {
    v1::ApplyNodePoolRequest request;
    request.mutable_node_pool()->set_name(kPool);
    request.mutable_node_pool()->mutable_spec()->set_instance_type("gd-8xa100-i128");
    request.mutable_node_pool()->mutable_spec()->set_target_nodes(target);
    return request;
  }
  absl::StatusOr<v1::NodePool> Apply(int64_t target) {
    return Call(*replica_->stub, &Stub::ApplyNodePool, Pool(target));
  }

  // Follows the pool until it is so; nullopt: until it is gone.
  std::optional<v1::NodePool> Await(Stub& stub, std::function<bool(const v1::NodePool&)> so) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    v1::WatchLifecycleRequest request;
    request.add_kinds(v1::WatchLifecycleRequest::KIND_NODE_POOL);
    const auto stream = stub.WatchLifecycle(&context, request);
    v1::WatchLifecycleResponse message;
    while (stream->Read(&message)) {
      if (message.type() == type::v1::WATCH_EVENT_TYPE_DELETED) return std::nullopt;
      if (message.has_node_pool() && so(message.node_pool())) {
        v1::NodePool pool = message.node_pool();
        context.TryCancel();
        while (stream->Read(&message)) {
        }
        stream->Finish();
        return pool;
      }
    }
    ADD_FAILURE() << "the pool never became so: " << stream->Finish().error_message();
    return std::nullopt;
  }
  std::optional<v1::NodePool> AwaitReason(const std::string& type, const std::string& reason,
                                          int64_t nodes = -1) {
    return Await(*replica_->stub, [&](const v1::NodePool& pool) {
      if (nodes >= 0 && pool.status().current_nodes() != nodes) return false;
      for (const auto& condition : pool.status().conditions()) {
        if (condition.type() == type && condition.reason() == reason) return true;
      }
      return false;
    });
  }

  JumpingClock clock_;
  testing::TestDatabase database_;
  FakePeers peers_;
  std::unique_ptr<Replica> replica_;
  std::unique_ptr<Agent> agent_;
};

}  // namespace muster::lifecycle
