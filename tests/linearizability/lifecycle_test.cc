// Watches of lifecycle, by kind and by the beginning of a name, while clusters and pools come,
// change and go on two replicas, one of which is killed in the midst.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/mini_muster.h"
#include "tests/linearizability/arena.h"
#include "tests/linearizability/watch_history.h"

namespace muster::linearizability {
namespace {

using lifecycle::v1::LifecycleService;
using ::testing::IsEmpty;
using Kind = lifecycle::v1::WatchLifecycleRequest;

constexpr int kWriters = 8;
constexpr int kCallsEach = 60;

std::string ClusterName(int organization, int cluster) {
  return absl::StrCat("organizations/acme", organization, "/clusters/c", cluster);
}

// Writes clusters, and pools that come and go; what comes of each call is not of interest here.
class LifecycleWriter {
 public:
  LifecycleWriter(unsigned seed, const std::shared_ptr<grpc::Channel>& channel)
      : random_(seed), stub_(LifecycleService::NewStub(channel)) {}

  void Write() {
    const std::string cluster = ClusterName(Pick(0, 2), Pick(0, 1));
    const std::string pool = absl::StrCat(cluster, "/nodePools/p", Pick(0, 2));
    const int percent = Pick(0, 99);
    if (percent < 50) return Update(cluster);
    if (percent < 80) return Apply(pool);
    Delete(pool);
  }
  void Update(const std::string& name) {
    lifecycle::v1::UpdateClusterRequest request;
    request.mutable_cluster()->set_name(name);
    request.mutable_cluster()->set_zone("US-EAST-04A");
    request.mutable_cluster()->set_kubernetes_version(absl::StrCat("1.", Pick(20, 40)));
    lifecycle::v1::Cluster told;
    Ask(&LifecycleService::Stub::UpdateCluster, request, told);
  }

 private:
  int Pick(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }

  void Apply(const std::string& name) {
    lifecycle::v1::ApplyNodePoolRequest request;
    request.mutable_node_pool()->set_name(name);
    auto* spec = request.mutable_node_pool()->mutable_spec();
    spec->set_instance_type("gd-8xh100ib-i128");
    spec->set_target_nodes(Pick(0, 3));
    for (const char* label : {"team", "tier", "rack"})
      (*spec->mutable_node_labels())[absl::StrCat("example.com/", label)] =
          absl::StrCat("v", Pick(0, 9));
    lifecycle::v1::NodePool told;
    Ask(&LifecycleService::Stub::ApplyNodePool, request, told);
  }
  void Delete(const std::string& name) {
    lifecycle::v1::DeleteNodePoolRequest request;
    request.set_name(name);
    request.set_allow_missing(true);
    lifecycle::v1::NodePool told;
    Ask(&LifecycleService::Stub::DeleteNodePool, request, told);
  }

  template <class Request, class Response>
  void Ask(grpc::Status (LifecycleService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                          Response*),
           const Request& request, Response& told) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
    ((*stub_).*method)(&context, request, &told);
  }

  std::mt19937 random_;
  const std::unique_ptr<LifecycleService::Stub> stub_;
};

// Writers at both replicas, one of which is killed when half is done.
void Write(testing::MiniMuster& muster, unsigned seed) {
  std::mutex mutex;
  std::condition_variable half_done;
  int calls = 0;
  std::vector<std::thread> writers;
  for (unsigned i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, i] {
      LifecycleWriter writer(seed + i, muster.channel(i % 2));
      for (int call = 0; call < kCallsEach; ++call) {
        writer.Write();
        const std::lock_guard lock(mutex);
        if (++calls == kWriters * kCallsEach / 2) half_done.notify_all();
      }
    });
  }
  {
    std::unique_lock lock(mutex);
    half_done.wait(lock, [&] { return calls >= kWriters * kCallsEach / 2; });
  }
  muster.Kill(1);
  muster.Start();
  for (std::thread& writer : writers) writer.join();
}

OpenWatch<lifecycle::v1::WatchLifecycleResponse> WatchLifecycle(
    const testing::MiniMuster& muster, const std::vector<Kind::Kind>& kinds,
    const std::string& prefix) {
  Kind request;
  for (const Kind::Kind kind : kinds) request.add_kinds(kind);
  request.set_name_prefix(prefix);
  std::vector<std::shared_ptr<LifecycleService::Stub>> stubs;
  for (size_t replica = 0; replica < 2; ++replica)
    stubs.push_back(LifecycleService::NewStub(muster.channel(replica)));
  return [stubs, request](grpc::ClientContext* context, size_t replica,
                          const type::v1::WatchStart& start) mutable {
    *request.mutable_start() = start;
    return stubs[replica]->WatchLifecycle(context, request);
  };
}

TEST(LifecycleWatchTest, KindsAndPrefixesOnTwoReplicasOneKilled) {
  const unsigned seed = Seed();
  testing::MiniMuster muster(TwoReplicas());
  for (int organization = 0; organization < 3; ++organization) {
    for (int cluster = 0; cluster < 2; ++cluster)
      LifecycleWriter(seed, muster.channel(0)).Update(ClusterName(organization, cluster));
  }
  const std::set<std::string> all = {"cluster", "node_pool", "node", "event"};
  struct Watch {
    std::vector<Kind::Kind> kinds;
    WatchFilter filter;
  };
  const Watch watches[] = {
      {{}, {all}},
      {{}, {all, "organizations/acme1/"}},
      {{}, {all, ClusterName(0, 1)}},
      {{Kind::KIND_NODE_POOL}, {{"node_pool"}}},
      {{Kind::KIND_NODE_POOL, Kind::KIND_CLUSTER}, {{"node_pool", "cluster"}, ClusterName(2, 0)}},
      {{Kind::KIND_EVENT}, {{"event"}}}};
  Watchers watchers(seed);
  for (size_t i = 0; i < std::size(watches); ++i) {
    watchers.Add({.name = absl::StrCat("watcher ", i),
                  .filter = watches[i].filter,
                  .bundle = i % 2 == 0,
                  .from_snapshot = i % 3 != 0},
                 WatchLifecycle(muster, watches[i].kinds, watches[i].filter.prefix));
  }
  Write(muster, seed);
  const Kinds kinds = {{"cluster", &lifecycle::v1::Cluster::default_instance()},
                       {"node_pool", &lifecycle::v1::NodePool::default_instance()},
                       {"node", &lifecycle::v1::Node::default_instance()},
                       {"event", &lifecycle::v1::Event::default_instance()}};
  const WatchResult watched =
      EndWatches(watchers, muster.database(), "lifecycle", kinds, Afterwards::kMoving);
  EXPECT_THAT(watched.violations, IsEmpty());
  EXPECT_GT(watched.count.snapshots, static_cast<int64_t>(std::size(watches)));
  EXPECT_GT(watched.count.resumed, static_cast<int64_t>(std::size(watches)));
  EXPECT_GT(watched.count.changes, kWriters * kCallsEach / 4);
}

}  // namespace
}  // namespace muster::linearizability
