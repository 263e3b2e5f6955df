#include "services/lifecycle/lifecycle_service.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "services/common/clock.h"
#include "services/lifecycle/peers/fake_peers.h"
#include "services/rpc/status.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"
#include "tests/testing/test_server.h"

namespace muster::lifecycle {
namespace {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using Stub = v1::LifecycleService::Stub;

constexpr char kCluster[] = "organizations/acme/clusters/c1";
constexpr char kPool[] = "organizations/acme/clusters/c1/nodePools/train";
constexpr char kQuota[] = "organizations/acme/quotas/US-EAST-04A~gd-8xa100-i128~default";

template <class Request, class Response>
absl::StatusOr<Response> Call(Stub& stub,
                              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Response*),
                              const Request& request) {
  grpc::ClientContext context;
  Response response;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  if (!status.ok()) return rpc::FromGrpcStatus(status);
  return response;
}

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
    options.clock = clock;
    options.resync_interval = resync;
    options.lease_ttl = absl::Seconds(1);
    options.policy.cordon_settle = absl::ZeroDuration();
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
    for (const auto& family : service->collectable()->Collect()) {
      if (family.name != name) continue;
      for (const auto& metric : family.metric) {
        if (metric.label.empty() ? label.empty() : metric.label[0].value == label) {
          return metric.gauge.value + metric.counter.value;
        }
      }
    }
    return 0;
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
    EXPECT_THAT(Call(*replica_->stub, &Stub::UpdateCluster, cluster), IsOk());
  }
  ~LifecycleServiceTest() override {
    // Whatever a test did: memory, tables and journal tell the same.
    const auto comparison = replica_->service->lane().Compare();
    EXPECT_THAT(comparison, IsOk());
    if (comparison.ok()) {
      EXPECT_THAT(comparison->differences, IsEmpty());
    }
  }

  std::unique_ptr<Replica> NewReplica(absl::Duration resync = absl::Minutes(10)) {
    return std::make_unique<Replica>(database_, &clock_, resync);
  }
  void Reconcile() {
    ASSERT_THAT(replica_->service->StartReconciling(peers_.channels()), IsOk());
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

TEST_F(LifecycleServiceTest, APoolComesUpScalesAndGoes) {
  Reconcile();
  ASSERT_THAT(Apply(3), IsOk());
  const auto up = AwaitReason("AtTarget", "TargetMet", 3);
  ASSERT_TRUE(up.has_value());
  EXPECT_EQ(up->status().node_profile(), "np-000000000001");
  EXPECT_THAT(peers_.capacity.claims()[up->uid()], SizeIs(3));

  v1::ResizeNodePoolRequest resize;
  resize.set_name(kPool);
  resize.set_target_nodes(1);
  ASSERT_THAT(Call(*replica_->stub, &Stub::ResizeNodePool, resize), IsOk());
  ASSERT_TRUE(AwaitReason("AtTarget", "TargetMet", 1).has_value());

  v1::DeleteNodePoolRequest gone;
  gone.set_name(kPool);
  ASSERT_THAT(Call(*replica_->stub, &Stub::DeleteNodePool, gone), IsOk());
  EXPECT_FALSE(Await(*replica_->stub, [](const auto&) { return false; }).has_value());
  EXPECT_THAT(peers_.capacity.claims(), IsEmpty());
  EXPECT_THAT(peers_.quota.holdings(), IsEmpty());
}

TEST_F(LifecycleServiceTest, CapacitysWordsOnNodeAffinityAreShown) {
  Reconcile();
  peers_.capacity.SetShort(0, capacity::v1::Claim::REASON_NONE_AVAILABLE_NODE_AFFINITY);
  ASSERT_THAT(Apply(3), IsOk());
  ASSERT_TRUE(AwaitReason("Capacity", "NoneAvailableNodeAffinity").has_value());
  peers_.capacity.SetShort(2, capacity::v1::Claim::REASON_PARTIAL_NODE_AFFINITY);
  v1::ResizeNodePoolRequest resize;
  resize.set_name(kPool);
  resize.set_target_nodes(4);
  ASSERT_THAT(Call(*replica_->stub, &Stub::ResizeNodePool, resize), IsOk());
  ASSERT_TRUE(AwaitReason("Capacity", "PartialNodeAffinity").has_value());
}

TEST_F(LifecycleServiceTest, AConvergedFleetWritesNothing) {
  replica_ = NewReplica(/*resync=*/absl::Milliseconds(10));
  Reconcile();
  ASSERT_THAT(Apply(2), IsOk());
  ASSERT_TRUE(AwaitReason("AtTarget", "TargetMet", 2).has_value());
  const auto empty = [&] { return replica_->Metric("muster_lifecycle_plans_total", "empty"); };
  const auto wait_for = [&](double plans) {
    while (empty() < plans) std::this_thread::yield();
  };
  // The holding and the ready reports may still be settled, on a busy machine for long.
  int64_t revision = replica_->service->lane().revision();
  for (int tries = 0; tries < 20; ++tries) {
    wait_for(empty() + 100);
    if (replica_->service->lane().revision() == revision) break;
    revision = replica_->service->lane().revision();
  }
  wait_for(empty() + 20);
  EXPECT_EQ(replica_->service->lane().revision(), revision);
}

TEST_F(LifecycleServiceTest, ARaisedLimitWakesThePoolAtOnce) {
  peers_.quota.SetLimit(kQuota, 1);
  Reconcile();
  ASSERT_THAT(Apply(2), IsOk());
  ASSERT_TRUE(AwaitReason("Quota", "Over").has_value());
  // Capacity is asked, but for nothing.
  EXPECT_THAT(peers_.capacity.claims(), Each(Pair(::testing::_, IsEmpty())));
  peers_.quota.SetLimit(kQuota, 2);
  EXPECT_TRUE(AwaitReason("AtTarget", "TargetMet", 2).has_value());
}

TEST_F(LifecycleServiceTest, AServiceThatIsAwayIsSaidAndHeals) {
  peers_.quota.SetAway(true);
  Reconcile();
  ASSERT_THAT(Apply(1), IsOk());
  ASSERT_TRUE(AwaitReason("Quota", "InternalError").has_value());
  peers_.quota.SetAway(false);
  EXPECT_TRUE(AwaitReason("AtTarget", "TargetMet", 1).has_value());
}

TEST_F(LifecycleServiceTest, AClockThatJumpsBackDelaysNothing) {
  peers_.quota.SetAway(true);
  Reconcile();
  ASSERT_THAT(Apply(1), IsOk());
  ASSERT_TRUE(AwaitReason("Quota", "InternalError").has_value());
  // All is said, and the pool waits for its next try.
  while (replica_->Metric("muster_lifecycle_plans_total", "empty") < 1) std::this_thread::yield();
  clock_.Jump(-absl::Hours(1));
  peers_.quota.SetAway(false);
  EXPECT_TRUE(AwaitReason("AtTarget", "TargetMet", 1).has_value());
}

TEST_F(LifecycleServiceTest, AMalformedPoolHoldsUpNoOther) {
  for (const char* name : {"a", "z"}) {
    v1::ApplyNodePoolRequest bad = Pool(1);
    bad.mutable_node_pool()->set_name(std::string(kCluster) + "/nodePools/" + name);
    bad.mutable_node_pool()->mutable_spec()->mutable_image()->set_kernel("malformed");
    ASSERT_THAT(Call(*replica_->stub, &Stub::ApplyNodePool, bad), IsOk());
  }
  ASSERT_THAT(Apply(1), IsOk());
  Reconcile();
  const auto up = AwaitReason("AtTarget", "TargetMet", 1);
  ASSERT_TRUE(up.has_value());
  EXPECT_EQ(up->name(), kPool);
}

TEST_F(LifecycleServiceTest, AnotherReplicaTakesOver) {
  auto second = NewReplica();
  Reconcile();
  ASSERT_THAT(Apply(1), IsOk());
  ASSERT_TRUE(AwaitReason("AtTarget", "TargetMet", 1).has_value());
  ASSERT_THAT(second->service->StartReconciling(peers_.channels()), IsOk());
  EXPECT_EQ(second->Metric("muster_lifecycle_leading", ""), 0);
  replica_->service->StopReconciling();
  ASSERT_THAT(Apply(2), IsOk());
  EXPECT_TRUE(AwaitReason("AtTarget", "TargetMet", 2).has_value());
  EXPECT_EQ(second->Metric("muster_lifecycle_leading", ""), 1);
  EXPECT_EQ(database_.QueryValue("SELECT epoch FROM lifecycle.lease"), "2");
}

TEST_F(LifecycleServiceTest, AnOldCopyOfAnObjectIsRefusedAndALaterOneWatched) {
  v1::ApplyNodePoolRequest request = Pool(1);
  request.mutable_node_pool()->set_object_generation(5);
  const auto created = Call(*replica_->stub, &Stub::ApplyNodePool, request);
  ASSERT_THAT(created, IsOk());
  EXPECT_EQ(created->object_generation(), 5);
  request.mutable_node_pool()->set_object_generation(4);
  const absl::Status refused = Call(*replica_->stub, &Stub::ApplyNodePool, request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(refused, HasReason("GENERATION_TOO_OLD"));
  request.mutable_node_pool()->set_object_generation(6);
  ASSERT_THAT(Call(*replica_->stub, &Stub::ApplyNodePool, request), IsOk());
  const auto seen = Await(*replica_->stub,
                          [](const v1::NodePool& pool) { return pool.object_generation() == 6; });
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->generation(), created->generation());
  EXPECT_NE(seen->etag(), created->etag());
}

TEST_F(LifecycleServiceTest, RequestsAreJudgedAndNothingIsWritten) {
  const int64_t revision = replica_->service->lane().revision();
  v1::ApplyNodePoolRequest bad = Pool(-1);
  EXPECT_THAT(Call(*replica_->stub, &Stub::ApplyNodePool, bad).status(),
              HasFieldViolation("spec.targetNodes"));
  v1::ApplyNodePoolRequest only = Pool(1);
  only.set_validate_only(true);
  EXPECT_THAT(Call(*replica_->stub, &Stub::ApplyNodePool, only), IsOk());
  v1::GetNodePoolRequest get;
  get.set_name(kPool);
  EXPECT_THAT(Call(*replica_->stub, &Stub::GetNodePool, get).status(), HasReason("NOT_FOUND"));
  v1::ReportNodesRequest report;
  report.add_reports()->set_node(std::string(kPool) + "/nodes/g1");
  EXPECT_THAT(Call(*replica_->stub, &Stub::ReportNodes, report).status(),
              HasFieldViolation("reports[0].observation"));
  report.mutable_reports(0)->set_observation(v1::NodeReport::OBSERVATION_READY);
  const auto results = Call(*replica_->stub, &Stub::ReportNodes, report);
  ASSERT_THAT(results, IsOk());
  EXPECT_EQ(results->results(0).code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(replica_->service->lane().revision(), revision);
}

}  // namespace
}  // namespace muster::lifecycle
