#include <atomic>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "services/kubernetes/muster_client.h"
#include "tests/bench/kubernetes/measures.h"
#include "tests/kubernetes/adapter/adapter_stack.h"

ABSL_FLAG(int, pools, 1000, "NodePools, 1 to 10,000.");
ABSL_FLAG(int, nodes, 10000, "Nodes of all pools together; as many each.");
ABSL_FLAG(int, rate, 50, "Changes of specs a second, 1 to 1,000.");
ABSL_FLAG(absl::Duration, quiet, absl::Minutes(10), "How long nothing may be written.");
ABSL_FLAG(
    absl::Duration, lease_interval, absl::Hours(1),
    "Between two renewals of a Node's lease by its kubelet. As in life, 10s, 10,000 Nodes are "
    "1,000 writes a second to the API server, none of them the adapter's.");
ABSL_FLAG(absl::Duration, limit, absl::Minutes(30), "A phase that takes longer has failed.");

namespace muster::bench {
namespace {

using testing::AdapterStack;
using Json = nlohmann::json;

constexpr char kLag[] = "muster_kubernetes_mirror_lag_seconds";
constexpr int kCallers = 8;
constexpr absl::Duration kChanging = absl::Seconds(60);

std::string PoolName(int pool) { return absl::StrFormat("pool-%05d", pool); }

void ApplyMachines(AdapterStack& stack, int nodes) {
  const std::string file = std::filesystem::temp_directory_path() /
                           absl::StrCat("muster-kubernetes-bench.", getpid(), ".yaml");
  std::ofstream(file)
      << "apiVersion: muster/v1\nkind: MachineSet\nmetadata: {name: bench}\n"
         "spec: {zone: RNO2A, instanceType: cd-gp-a192-genoa, count: "
      << nodes + nodes / 10 << ", racks: " << (nodes + 7) / 8 + 1 << "}\n---\n"
      << "apiVersion: muster/v1\nkind: Quota\nmetadata: {organization: acme}\nspec: {zone: RNO2A, "
         "instanceType: cd-gp-a192-genoa, computeClass: default, limit: "
      << nodes + nodes / 10 << "}\n";
  const testing::Finished applied = stack.muster().Ctl({"apply", "-f", file});
  std::filesystem::remove(file);
  if (applied.exit_code != 0) throw std::runtime_error(applied.output);
}

// Calls `do_one` for each of the pools, on several threads.
template <class Do>
void ForPools(int pools, Do do_one) {
  std::vector<std::thread> callers;
  std::atomic<int> next = 0;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&] {
      for (int pool = next++; pool < pools; pool = next++) do_one(pool);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

void CreatePools(AdapterStack& stack, int pools, int nodes) {
  ForPools(pools, [&](int pool) {
    Json object = AdapterStack::ExampleNodePool();
    object["metadata"]["name"] = PoolName(pool);
    object["spec"]["instanceType"] = "cd-gp-a192-genoa";
    object["spec"]["targetNodes"] = nodes / pools;
    stack.Create(object);
  });
}

bool AllMet(const AdapterStack::Objects& objects, size_t pools) {
  size_t met = 0;
  for (const auto& [name, object] : objects)
    met += testing::ReasonOf(object, "AtTarget") == "TargetMet" ? 1 : 0;
  return met == pools;
}

// How far it is, for who waits.
void Tell(absl::Time begin, const AdapterStack::Objects& pools) {
  int64_t current = 0;
  for (const auto& [name, pool] : pools)
    current += pool.value(Json::json_pointer("/status/currentNodes"), int64_t{0});
  std::cerr << absl::StrFormat("%4.0f s: %d of the pools' Nodes are registered\n",
                               absl::ToDoubleSeconds(absl::Now() - begin), current);
}

// Asked for at intervals: following 10,000 Nodes by a watch of our own would be load.
void AwaitMirrored(AdapterStack& stack, int pools, int nodes) {
  const absl::Time begin = absl::Now();
  const absl::Time give_up = begin + absl::GetFlag(FLAGS_limit);
  for (int looks = 0; absl::Now() < give_up; ++looks) {
    AdapterStack::Objects objects;
    const auto listed = stack.client().List(testing::kNodePoolsPath, {}, [&](Json object) {
      const std::string name = object["metadata"]["name"];
      objects[name] = std::move(object);
    });
    if (looks % 15 == 14) Tell(begin, objects);
    if (listed.ok() && AllMet(objects, static_cast<size_t>(pools))) {
      int ready = 0;
      for (const Json& node : stack.Nodes())
        ready += node["metadata"]["labels"].value("node.coreweave.cloud/state", "") == "production";
      if (ready == nodes) return;
    }
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
  throw std::runtime_error("it was not mirrored in time\n" + stack.LogEnds());
}

void AwaitReady(AdapterStack& stack) {
  // Both sides were seen once keys are worked on.
  const absl::Time give_up = absl::Now() + absl::GetFlag(FLAGS_limit);
  while (absl::Now() < give_up) {
    const std::string metrics = stack.AdapterMetrics();
    if (SumOf(metrics, "controller_runtime_reconcile_total", "node") > 0 &&
        SumOf(metrics, "workqueue_depth") == 0)
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  throw std::runtime_error("the adapter did not come back\n" + stack.LogEnds());
}

double Requests(const std::string& metrics, const std::string& method = "") {
  return SumOf(metrics, "rest_client_requests_total",
               method.empty() ? "" : absl::StrCat("method=\"", method, "\""));
}

double Writes(const std::string& metrics) {
  return Requests(metrics, "POST") + Requests(metrics, "PATCH") + Requests(metrics, "DELETE");
}

double EventsWritten(const std::string& metrics) {
  return SumOf(metrics, "muster_kubernetes_events_written_total");
}

void Line(const std::string& phase, const std::string& what, const std::string& value) {
  std::cout << absl::StrFormat("%-10s %-52s %s\n", phase, what, value) << std::flush;
}

// `rate` a second, for so many; how many a second there were.
template <class Do>
double AtRate(int changes, Do do_one) {
  const int rate = absl::GetFlag(FLAGS_rate);
  std::atomic<int> next = 0;
  const absl::Time begin = absl::Now();
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&] {
      for (int change = next++; change < changes; change = next++) {
        absl::SleepFor(begin + absl::Seconds(1) * change / rate - absl::Now());
        do_one(change);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  return changes / absl::ToDoubleSeconds(absl::Now() - begin);
}

void MeasureLag(AdapterStack& stack, const std::string& phase, int changes,
                const std::function<void(int change)>& change) {
  AwaitReady(stack);
  const std::string before = stack.AdapterMetrics();
  const double rate = AtRate(changes, change);
  AwaitReady(stack);
  const std::string after = stack.AdapterMetrics();
  const Buckets lag = Since(ReadBuckets(before, kLag), ReadBuckets(after, kLag));
  Line(phase, "changes a second, reached", absl::StrFormat("%.1f", rate));
  Line(phase, "mirror lag p50, p99",
       absl::StrFormat("%.0f ms, %.0f ms", 1e3 * Quantile(lag, 0.5), 1e3 * Quantile(lag, 0.99)));
  Line(phase, "writes of the adapter, of them events",
       absl::StrFormat("%.0f, %.0f", Writes(after) - Writes(before),
                       EventsWritten(after) - EventsWritten(before)));
}

// Changes that come from Muster: every pool's pending configuration is promoted and rolled back.
void MeasurePromotions(AdapterStack& stack, int pools) {
  const testing::Finished published =
      stack.muster().Ctl({"publish", "release", "stable~ncore-image~2.99.0"});
  if (published.exit_code != 0) throw std::runtime_error(published.output);
  std::map<std::string, std::string> uids;
  const bool pending = stack.Await(
      testing::kNodePoolsPath,
      [&](const AdapterStack::Objects& objects) {
        uids.clear();
        for (const auto& [name, object] : objects) {
          if (object["status"].contains("pendingNodeConfiguration"))
            uids[name] = object["metadata"]["uid"];
        }
        return uids.size() == static_cast<size_t>(pools);
      },
      absl::GetFlag(FLAGS_limit));
  if (!pending) throw std::runtime_error("the release did not reach every pool");
  kubernetes::MusterClient muster(
      {.server = stack.muster().address(), .organization = "acme", .cluster = "example"});
  const int changes = static_cast<int>(absl::ToInt64Seconds(kChanging)) * absl::GetFlag(FLAGS_rate);
  MeasureLag(stack, "promotions", changes, [&](int change) {
    const std::string& uid = uids[PoolName(change % pools)];
    const bool promote = change / pools % 2 == 0;
    (void)(promote ? muster.Promote(uid, "pending", "", "") : muster.Rollback(uid, "previous", ""));
  });
}

// Changes that come through the API server, which so has as many writes more.
void MeasurePatches(AdapterStack& stack, int pools) {
  const int changes = static_cast<int>(absl::ToInt64Seconds(kChanging)) * absl::GetFlag(FLAGS_rate);
  MeasureLag(stack, "patches", changes, [&](int change) {
    stack.PatchNodePool(PoolName(change % pools), {{"spec", {{"priority", 1 + change / pools}}}});
  });
}

void Run() {
  const int pools = absl::GetFlag(FLAGS_pools);
  const int nodes = absl::GetFlag(FLAGS_nodes) / pools * pools;
  AdapterStack::Options options;
  options.muster.own_cluster = true;
  options.muster.fleetsim_flags.insert(
      options.muster.fleetsim_flags.end(),
      {"--kube_calls=16", absl::StrCat("--lease_interval=",
                                       absl::FormatDuration(absl::GetFlag(FLAGS_lease_interval)))});
  AdapterStack stack(options);
  std::cout << stack.server().name() << ", " << pools << " NodePools, " << nodes
            << " Nodes, leases every " << absl::GetFlag(FLAGS_lease_interval) << std::endl;
  ApplyMachines(stack, nodes);
  stack.TerminateAdapter();
  CreatePools(stack, pools, nodes);

  absl::Time begin = absl::Now();
  stack.StartAdapter();
  AwaitMirrored(stack, pools, nodes);
  std::string metrics = stack.AdapterMetrics();
  Line("mirror", "from nothing to all of it shown",
       absl::StrFormat("%.0f s", absl::ToDoubleSeconds(absl::Now() - begin)));
  Line("mirror", "writes of the adapter, but for events, a Node",
       absl::StrFormat("%.0f, %.2f", Writes(metrics),
                       (Writes(metrics) - EventsWritten(metrics)) / nodes));
  Line("mirror", "RSS of the adapter",
       absl::StrFormat("%d MiB", ResidentMegabytes(stack.AdapterPid())));

  stack.TerminateAdapter();
  begin = absl::Now();
  stack.StartAdapter(0, {"--events_per_minute=60000"});
  AwaitReady(stack);
  Line("restart", "until both sides were seen and looked through",
       absl::StrFormat("%.1f s", absl::ToDoubleSeconds(absl::Now() - begin)));
  // What the bound a minute held back goes now.
  double events = -1;
  for (metrics = stack.AdapterMetrics(); events != EventsWritten(metrics);) {
    events = EventsWritten(metrics);
    absl::SleepFor(absl::Seconds(5));
    metrics = stack.AdapterMetrics();
  }
  Line("restart", "writes but for events",
       absl::StrFormat("%.0f", Writes(metrics) - EventsWritten(metrics)));
  Line("restart", "events that had waited for their turn", absl::StrFormat("%.0f", events));
  const std::string before = metrics;
  absl::SleepFor(absl::GetFlag(FLAGS_quiet));
  metrics = stack.AdapterMetrics();
  Line("quiet", absl::StrCat("writes in ", absl::FormatDuration(absl::GetFlag(FLAGS_quiet))),
       absl::StrFormat("%.0f", Writes(metrics) - Writes(before)));
  Line("quiet", "all requests (the Lease's: GET and PUT)",
       absl::StrFormat("%.0f, PUT %.0f", Requests(metrics) - Requests(before),
                       Requests(metrics, "PUT") - Requests(before, "PUT")));
  Line("quiet", "RSS of the adapter",
       absl::StrFormat("%d MiB", ResidentMegabytes(stack.AdapterPid())));
  // With the bound on events as it is by default.
  stack.TerminateAdapter();
  stack.StartAdapter();
  MeasurePromotions(stack, pools);
  MeasurePatches(stack, pools);
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Measures the Kubernetes adapter; see tests/bench/kubernetes/README.md.");
  absl::ParseCommandLine(argc, argv);
  try {
    muster::bench::Run();
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
