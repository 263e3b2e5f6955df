// How long a scrape takes, how many series and bytes it has with 100,000 Nodes in memory, and for
// how long at most it keeps commits waiting. What does not grow with the fleet or with methods
// (lanes, databases, the process: 250 series or so) is left out. Not a test.
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/capacity/capacity_metrics.h"
#include "services/capacity/core/machine_state.h"
#include "services/common/pieces.h"
#include "services/configuration/configuration_metrics.h"
#include "services/lifecycle/lifecycle_metrics.h"
#include "services/quota/quota_metrics.h"
#include "services/rpc/server_metrics.h"

namespace muster {
namespace {

using Families = std::vector<prometheus::MetricFamily>;

constexpr int kZones = 10;
constexpr int kTypes = 20;
constexpr int kPools = 10'000;
constexpr int kNodesAPool = 10;
constexpr int kOrganizations = 500;
constexpr int kMethods = 70;

const absl::Time kNow = absl::FromUnixSeconds(1'750'000'000);

std::string Zone(int i) { return absl::StrCat("US-EAST-", 10 + i % kZones, "A"); }
std::string Type(int i) { return absl::StrCat("gd-8xh", 100 + i / kZones % kTypes, "ib-i128"); }
std::string Organization(int i) { return absl::StrCat("organization-", i % kOrganizations); }
std::string PoolName(int i) {
  return absl::StrCat("organizations/", Organization(i), "/clusters/cluster-", i % 1'000,
                      "/nodePools/pool-", i);
}
bool Spot(int i) { return i % 4 == 0; }

// A lane's memory, with the longest time that it was held.
template <class State>
struct Memory {
  State state = {};
  int64_t revision = 0;
  mutable absl::Duration longest = absl::ZeroDuration();

  template <class Row>
  void Put(const Row& row) {
    state.Apply({row.Key(), std::make_shared<const Row>(row)}, ++revision);
  }
  template <class F>
  auto Peek(F f) const {
    struct Watch {
      absl::Duration& longest;
      const absl::Time begin = absl::Now();
      ~Watch() { longest = std::max(longest, absl::Now() - begin); }
    } watch{longest};
    return f(state, revision);
  }
};

void Fill(Memory<lifecycle::State>& memory) {
  const std::pair<const char*, const char*> conditions[] = {
      {"Validated", "Valid"},
      {"Capacity", "Sufficient"},
      {"Quota", "Under"},
      {"AtTarget", "TargetMet"},
      {"NodeReconfigurationRequired", "AllNodesUpToDate"}};
  for (int i = 0; i < kPools; ++i) {
    lifecycle::Pool pool{.name = PoolName(i), .uid = absl::StrCat("uid-", i), .zone = Zone(i)};
    for (const auto& [type, reason] : conditions)
      pool.status.conditions.push_back({.type = type, .status = "True", .reason = reason});
    memory.Put(pool);
    for (int n = 0; n < kNodesAPool; ++n) {
      lifecycle::Node node{
          .name = absl::StrCat(pool.name, "/nodes/g", i, "-", n),
          .machine = absl::StrCat("g", i, "-", n),
          .pool_uid = pool.uid,
          .state = static_cast<lifecycle::NodeState>(n < 8 ? 3 : i % lifecycle::kNodeStates),
          .state_time = kNow - absl::Minutes(i % 3'000),
          .create_time = kNow - absl::Hours(60)};
      lifecycle::StringMap labels;
      for (int label = 0; label < 10; ++label)
        labels[absl::StrCat("label.example.com/", label)] = pool.uid;
      node.desired.labels = std::move(labels);
      memory.Put(node);
    }
  }
}

void Fill(Memory<capacity::State>& memory) {
  for (int i = 0; i < kZones; ++i) memory.Put(capacity::ZoneRow{.id = Zone(i)});
  for (int i = 0; i < kTypes; ++i) memory.Put(capacity::InstanceTypeRow{.id = Type(i * kZones)});
  for (int i = 0; i < kPools; ++i) {
    capacity::ClaimRow claim{
        .pool_uid = absl::StrCat("uid-", i),
        .generation = 1,
        .zone = Zone(i),
        .instance_type = Type(i),
        .compute_class = Spot(i) ? capacity::ComputeClass::kSpot : capacity::ComputeClass::kDefault,
        .nodes = kNodesAPool,
        .organization = Organization(i)};
    if (i % 5 == 0) {
      claim.nodes += 3;
      claim.parts = {{kNow - absl::Minutes(i), 3}};
    }
    memory.Put(claim);
    for (int n = 0; n < kNodesAPool; ++n) {
      capacity::MachineRow machine{.id = absl::StrCat("g", i, "-", n),
                                   .zone = claim.zone,
                                   .instance_type = claim.instance_type,
                                   .state = capacity::MachineState::kHeld,
                                   .claim = claim.pool_uid,
                                   .request_time = kNow,
                                   .compute_class = claim.compute_class};
      memory.Put(machine);
    }
  }
}

void Fill(Memory<quota::State>& memory) {
  for (int i = 0; i < kPools; ++i) {
    const quota::QuotaKey key{Organization(i), Zone(i), Type(i),
                              Spot(i) ? quota::ComputeClass::kSpot : quota::ComputeClass::kDefault};
    memory.Put(quota::Quota{.key = key, .limit = 1'000});
    memory.Put(quota::Holding{.quota = quota::QuotaName(key),
                              .pool_uid = absl::StrCat("uid-", i),
                              .nodes = kNodesAPool,
                              .generation = 1});
  }
}

Families Scrape(const Memory<lifecycle::State>& memory) {
  return lifecycle::FamiliesOf(lifecycle::CensusOf(memory, kNow), kNow);
}

Families Scrape(const Memory<capacity::State>& memory) {
  capacity::Census census;
  memory.Peek([&](const capacity::State& state, int64_t) { census.AddMachines(state); });
  ForAllInPieces<capacity::ClaimRow>(memory, [&](const capacity::State& state, absl::string_view,
                                                 const auto& claim) { census.Add(state, claim); });
  return capacity::FamiliesOf(census, kNow);
}

Families Scrape(const Memory<quota::State>& memory) {
  quota::Census census;
  ForAllInPieces<quota::Quota>(
      memory, [&](const quota::State& state, absl::string_view name, const auto& quota) {
        census.Add(quota, state.Held(name), kNow);
      });
  ForAllInPieces<quota::Holding>(memory, [&](const auto&, absl::string_view, const auto& holding) {
    census.Add(holding, true);
  });
  return quota::FamiliesOf(census, 50);
}

void Fill(Memory<configuration::State>& memory) {
  for (int i = 0; i < kPools; ++i) {
    memory.Put(configuration::PoolConfiguration{
        .pool_uid = absl::StrCat("uid-", i), .generation = 1, .pool = PoolName(i)});
  }
}

Families Scrape(const Memory<configuration::State>& memory) {
  configuration::Census census;
  ForAllInPieces<configuration::PoolConfiguration>(
      memory, [&](const auto&, absl::string_view, const auto& pool) { census.Add(pool); });
  return configuration::FamiliesOf(census);
}

Families Scrape(const rpc::ServerMetrics& metrics) { return metrics.Collect(); }

// Every method called, with three codes.
void Fill(rpc::ServerMetrics& metrics) {
  for (int i = 0; i < kMethods; ++i) {
    rpc::MethodMetrics* method =
        metrics.Add(absl::StrCat("/muster.lifecycle.v1.LifecycleService/SomeLongMethodName", i),
                    rpc::MethodMetrics::Type::kUnary);
    for (const auto code :
         {grpc::StatusCode::OK, grpc::StatusCode::NOT_FOUND, grpc::StatusCode::INVALID_ARGUMENT})
      method->Handled(code, absl::Milliseconds(i));
  }
}

struct Sum {
  absl::Duration time = absl::ZeroDuration();
  size_t series = 0;
  size_t bytes = 0;
};

void Print(const char* name, const Sum& sum) {
  std::printf("%-14s %8.1f ms %8zu series %8.1f KB", name, absl::ToDoubleMilliseconds(sum.time),
              sum.series, static_cast<double>(sum.bytes) / 1e3);
}

// Lines of the page that are no comments.
size_t SeriesIn(const std::string& page) {
  size_t series = 0;
  for (size_t at = 0; at < page.size(); at = page.find('\n', at) + 1) series += page[at] != '#';
  return series;
}

template <class Source>
void Measure(const char* name, const Source& source, Sum& all) {
  constexpr int kRounds = 7;
  std::vector<absl::Duration> took;
  std::string page;
  for (int round = 0; round < kRounds; ++round) {
    const absl::Time begin = absl::Now();
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, Scrape(source));
    page = out.str();
    took.push_back(absl::Now() - begin);
  }
  std::sort(took.begin(), took.end());
  const Sum sum{took[kRounds / 2], SeriesIn(page), page.size()};
  Print(name, sum);
  if constexpr (requires { source.longest; })
    std::printf("   memory held %.2f ms at most", absl::ToDoubleMilliseconds(source.longest));
  std::printf("\n");
  all = {all.time + sum.time, all.series + sum.series, all.bytes + sum.bytes};
}

int Run() {
  Memory<lifecycle::State> lifecycle;
  Memory<capacity::State> capacity;
  Memory<quota::State> quota;
  Memory<configuration::State> configuration;
  rpc::ServerMetrics server;
  Fill(lifecycle);
  Fill(capacity);
  Fill(quota);
  Fill(configuration);
  Fill(server);
  std::printf("%d pools, %d Nodes, %d zones x %d types x 2 classes, %d methods\n", kPools,
              kPools * kNodesAPool, kZones, kTypes, kMethods);
  Sum all;
  Measure("lifecycle", lifecycle, all);
  Measure("capacity", capacity, all);
  Measure("quota", quota, all);
  Measure("configuration", configuration, all);
  Measure("grpc", server, all);
  Print("all", all);
  std::printf("\n");
  return 0;
}

}  // namespace
}  // namespace muster

int main() { return muster::Run(); }
