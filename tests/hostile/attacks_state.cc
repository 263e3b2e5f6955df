// What is legal to ask, and must not hurt others: large specs, huge generations, dear questions.
#include <grpcpp/client_context.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle_service.grpc.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <atomic>
#include <limits>
#include <stdexcept>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "tests/hostile/target.h"
#include "tests/testing/raw_call.h"

namespace muster::testing {
namespace {

constexpr char kType[] = "gd-8xa100-i128";
constexpr char kFat[] = "organizations/fat/clusters/fat";
constexpr int kFatPools = 400;  // what they ask of capacity together is more than one message
constexpr char kCompareState[] = "/muster.debug.v1.DebugService/CompareState";

template <class Request>
grpc::Status Call(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                  const Request& request) {
  return CallRaw(channel, method, request.SerializeAsString());
}

template <class Request>
void Must(const MiniMuster& muster, const std::string& method, const Request& request) {
  const grpc::Status status = Call(muster.channel(), method, request);
  if (!status.ok()) throw std::runtime_error(absl::StrCat(method, ": ", status.error_message()));
}

const std::string kLifecycle = "/muster.lifecycle.v1.LifecycleService/";

// The reference's pool has so many Nodes in production.
bool Settles(const MiniMuster& muster, int64_t nodes) {
  return muster.Await(
      [nodes](const auto* pool) { return pool != nullptr && IsHealthy(*pool, nodes); });
}

void PrepareExample(MiniMuster& muster) {
  muster.ApplyExample();
  if (!Settles(muster, 1)) throw std::runtime_error("the example does not settle");
}

// --- row 6 ---

void PrepareFat(MiniMuster& muster) {
  lifecycle::v1::UpdateClusterRequest cluster;
  cluster.mutable_cluster()->set_name(kFat);
  cluster.mutable_cluster()->set_zone("RNO2A");
  Must(muster, kLifecycle + "UpdateCluster", cluster);
  quota::v1::CreateQuotaRequest quota;
  quota.set_parent("organizations/fat");
  quota.set_quota_id(absl::StrCat("RNO2A~", kType, "~default"));
  quota.mutable_quota()->set_limit(kFatPools);
  Must(muster, "/muster.quota.v1.QuotaService/CreateQuota", quota);
  PrepareExample(muster);
}

// `values` of 63 bytes in each of so many expressions of each term: no machine has them, so that
// the pool waits and takes nothing from anybody.
lifecycle::v1::ApplyNodePoolRequest FatPool(int number, int terms, int expressions, int values) {
  lifecycle::v1::ApplyNodePoolRequest request;
  request.mutable_node_pool()->set_name(absl::StrCat(kFat, "/nodePools/p", number));
  auto& spec = *request.mutable_node_pool()->mutable_spec();
  spec.set_instance_type(kType);
  spec.set_target_nodes(1);
  for (int i = 0; i < terms; ++i) {
    auto* term = spec.mutable_node_affinity()->add_terms();
    for (int j = 0; j < expressions; ++j) {
      auto* expression = term->add_expressions();
      expression->set_key(absl::StrCat("k", j));
      expression->set_operator_("In");
      for (int k = 0; k < values; ++k) expression->add_values(absl::StrFormat("%063d", k));
    }
  }
  return request;
}

void FatAffinities(Target& target) {
  MiniMuster& muster = target.muster();
  const auto channel = muster.channel();
  // Of nearly 1 MiB: a larger request is not read.
  const grpc::Status fattest = Call(channel, kLifecycle + "ApplyNodePool", FatPool(0, 16, 16, 60));
  target.Expect(
      fattest.error_code() == grpc::StatusCode::INVALID_ARGUMENT,
      absl::StrCat("an affinity of 1 MiB: ", fattest.error_code(), " ", fattest.error_message()));
  for (int i = 0; i < kFatPools; ++i) {
    const grpc::Status status = Call(channel, kLifecycle + "ApplyNodePool", FatPool(i, 1, 4, 64));
    target.Expect(status.ok(), status.error_message());
  }
  for (const int page_size : {0, 1'000}) {
    lifecycle::v1::ListNodePoolsRequest list;
    list.set_parent(kFat);
    list.set_page_size(page_size);
    const grpc::Status status = Call(channel, kLifecycle + "ListNodePools", list);
    target.Expect(status.ok(), absl::StrCat("a page of ", page_size, ": ", status.error_message()));
  }
  for (const int nodes : {2, 3, 2}) {
    target.Expect(muster.Resize(nodes).ok() && Settles(muster, nodes),
                  "another organization's pool misses its target");
  }
}

// --- row 7 ---

void HugeGenerations(Target& target) {
  MiniMuster& muster = target.muster();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const auto pool = muster.GetPool();
  quota::v1::SyncHoldingRequest holding;
  holding.mutable_holding()->set_name(
      absl::StrCat("organizations/acme/quotas/RNO2A~", kType, "~default/holdings/", pool->uid()));
  holding.mutable_holding()->set_pool(muster.kPool);
  holding.mutable_holding()->set_nodes(1);
  holding.mutable_holding()->set_generation(kMax);
  target.Expect(!Call(muster.channel(), "/muster.quota.v1.QuotaService/SyncHolding", holding).ok(),
                "a holding of generation 2^63-1 is taken");
  capacity::v1::SyncClaimRequest claim;
  claim.mutable_claim()->set_pool_uid(pool->uid());
  claim.mutable_claim()->set_pool(muster.kPool);
  claim.mutable_claim()->set_organization("acme");
  claim.mutable_claim()->set_zone("RNO2A");
  claim.mutable_claim()->set_instance_type(kType);
  claim.mutable_claim()->set_compute_class(type::v1::COMPUTE_CLASS_DEFAULT);
  claim.mutable_claim()->set_nodes(1);
  claim.mutable_claim()->set_generation(kMax);
  target.Expect(
      !Call(muster.channel(), "/muster.capacity.v1.CapacityService/SyncClaim", claim).ok(),
      "a claim of generation 2^63-1 is taken");
  lifecycle::v1::ApplyNodePoolRequest apply;
  apply.mutable_node_pool()->set_name(muster.kPool);
  *apply.mutable_node_pool()->mutable_spec() = pool->spec();
  apply.mutable_node_pool()->set_object_generation(kMax);
  target.Expect(!Call(muster.channel(), kLifecycle + "ApplyNodePool", apply).ok(),
                "an object of generation 2^63-1 is taken");
  for (const int nodes : {2, 1}) {
    target.Expect(muster.Resize(nodes).ok() && Settles(muster, nodes), "the pool is poisoned");
  }
}

// --- row 8 ---

void PrepareMachines(MiniMuster& muster) { RegisterMachines(muster, 0, 20'000, 0); }

void Comparisons(Target& target) {
  const MiniMuster& muster = target.muster();
  const RawCallOptions soon = {.deadline = absl::Milliseconds(50)};
  std::atomic<int> served = 0;
  AtOnce(300, [&, channel = muster.channel()](int) {
    const auto code = CallRaw(channel, kCompareState, "", soon).error_code();
    if (code != grpc::StatusCode::UNIMPLEMENTED && code != grpc::StatusCode::DEADLINE_EXCEEDED)
      ++served;
  });
  target.Expect(served == 0, absl::StrCat("tenants' port: ", served.load(), " served"));
  // Those that are out of time heard nothing; none may be at work.
  AtOnce(300, [&, channel = muster.operator_channel()](int) {
    (void)CallRaw(channel, kCompareState, "", soon);
  });
  // One at a time: at most that which runs is in the way.
  const absl::Time give_up = absl::Now() + absl::Seconds(10);
  grpc::Status last;
  do {
    last = CallRaw(muster.operator_channel(), kCompareState, "");
  } while (!last.ok() && absl::Now() < give_up);
  target.Expect(last.ok(), absl::StrCat("10 s after them: ", last.error_message()));
}

// --- row 12, within the bounds ---

void WideWatches(Target& target) {
  const MiniMuster& muster = target.muster();
  lifecycle::v1::WatchLifecycleRequest watch;
  for (int i = 0; i < 1'000; ++i)
    watch.add_kinds(lifecycle::v1::WatchLifecycleRequest::KIND_CLUSTER);
  std::thread writer([&] {
    for (int i = 0; i < 20; ++i) {
      const auto status = Call(muster.channel(), kLifecycle + "ApplyNodePool", FatPool(i, 0, 0, 0));
      target.Expect(status.ok(), status.error_message());
    }
  });
  AtOnce(50, [&, channel = muster.channel()](int) {
    (void)CallRaw(channel, kLifecycle + "WatchLifecycle", watch.SerializeAsString(),
                  {.deadline = absl::Seconds(5)});
  });
  writer.join();
}

// --- row 21 ---

void ExpectNothingTold(Target& target, const std::string& when) {
  const grpc::Status status =
      Call(target.muster().channel(), kLifecycle + "ApplyNodePool", FatPool(0, 0, 0, 0));
  target.Expect(!status.ok(), absl::StrCat(when, ": a write is answered OK"));
  for (const char* word : {"SQLSTATE", "FATAL", "ERROR", "relation", "permission", "socket", "/tmp",
                           "journal", "muster_", "role", "password"}) {
    target.Expect(!absl::StrContains(status.error_message(), word),
                  absl::StrCat(when, ": callers are told: ", status.error_message()));
  }
}

void BrokenDatabase(Target& target) {
  MiniMuster& muster = target.muster();
  muster.database().Execute("REVOKE INSERT ON lifecycle.journal FROM muster_lifecycle");
  ExpectNothingTold(target, "not permitted");
  muster.database().Execute("GRANT INSERT ON lifecycle.journal TO muster_lifecycle");
  muster.cluster().Stop(PostgresCluster::StopMode::kFast);
  for (int i = 0; i < 20; ++i) ExpectNothingTold(target, "away");
  muster.cluster().Start();
  const absl::Time give_up = absl::Now() + absl::Seconds(30);
  while (!muster.IsServing() && absl::Now() < give_up) absl::SleepFor(absl::Milliseconds(100));
  target.Expect(muster.IsServing() && muster.Resize(2).ok() && Settles(muster, 2),
                "it does not come back");
}

}  // namespace

std::vector<Attack> StateAttacks() {
  return {
      {.row = "6",
       .what = absl::StrCat(kFatPools, " pools with the largest affinity there may be"),
       .before = "4 of 10 targets missed; a page of 85.8 MB",
       // A pool is some 20 KiB, in memory twice, and its Nodes, claims and events come on top; each
       // takes passes of the loop.
       .load = {.bytes = int64_t{kFatPools} * (200 << 10), .cpu = absl::Seconds(60)},
       .run = FatAffinities,
       .prepare = PrepareFat},
      {.row = "7",
       .what = "generations of 2^63-1 for another's pool",
       .before = "the pool is poisoned for good",
       .load = {.cpu = absl::Seconds(2)},
       .run = HugeGenerations,
       .prepare = PrepareExample},
      {.row = "8",
       .what = "CompareState of 20,000 machines, 600 calls of 50 ms deadlines",
       .before = "300: 134 s of work for nobody",
       // Two comparisons may follow each other: one that runs on, and the last.
       .load = {.requests = 100, .bytes = 256 << 20, .cpu = absl::Seconds(10)},
       .run = Comparisons,
       .prepare = PrepareMachines},
      {.row = "12",
       .what = "50 watches of 1,000 kinds each beside 20 writes",
       .load = {.requests = 20},
       .run = WideWatches,
       .prepare = PrepareFat},
      {.row = "21",
       .what = "a database that refuses, then goes away",
       .before = "hosts, paths, users and tables are told",
       .load = {.cpu = absl::Seconds(5)},
       .run = BrokenDatabase,
       .muster = {.own_cluster = true, .audit_books = false},
       .prepare = PrepareFat,
       .outage = true},
  };
}

}  // namespace muster::testing
