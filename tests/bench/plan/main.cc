#include <malloc.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "services/common/condition_names.h"
#include "services/lifecycle/core/testing/simulation.h"

ABSL_FLAG(std::vector<std::string>, nodes,
          (std::vector<std::string>{"2500", "5000", "10000", "20000"}),
          "Sizes of the pool, each measured on its own.");

// While `g_counts`: what was allocated and is not free again, with what the allocator adds to it.
static bool g_counts = false;
static int64_t g_allocated = 0;

void* operator new(size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  if (g_counts) g_allocated += static_cast<int64_t>(malloc_usable_size(memory));
  return memory;
}
void operator delete(void* memory) noexcept {
  if (g_counts) g_allocated -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

namespace muster::lifecycle {
namespace {

// What the passes of one pool took, by what the loop does in each.
struct Spent {
  int64_t passes = 0;
  absl::Duration snapshot = {};  // SnapshotOf, AddTaken
  absl::Duration demand = {};
  absl::Duration plan = {};
  absl::Duration apply = {};  // the decision that carries the plan out, and its events
};

template <class F>
auto Timed(absl::Duration& spent, F f) {
  const absl::Time from = absl::Now();
  auto result = f();
  spent += absl::Now() - from;
  return result;
}

// One pass of the loop; what the other services do is not measured.
void Pass(Simulation& sim, Spent& spent) {
  Snapshot snapshot = sim.Look();
  Timed(spent.snapshot, [&] { return SnapshotOf(sim.state(), kSimPool)->nodes.size(); });
  Timed(spent.snapshot, [&] {
    AddTaken(sim.state(), snapshot);
    return true;
  });
  Timed(spent.demand, [&] { return DemandOf(*sim.pool(), snapshot.nodes, snapshot.catalogue); });
  PoolPlan plan = Timed(spent.plan, [&] { return Plan(snapshot); });
  ++spent.passes;
  if (plan.actions.empty()) return;
  Timed(spent.apply, [&] {
    return sim
        .Run(
            ApplyPlan{kSimPool, sim.pool()->uid, snapshot.version, "a", 1, std::move(plan.actions)})
        .ok();
  });
}

// A pool from nothing to its target: agents say one thing between two passes.
Spent Rise(Simulation& sim, int nodes) {
  Spent spent;
  sim.Deliver(nodes);
  sim.limit = nodes;
  sim.Create(nodes);
  while (sim.Reason(condition::kAtTarget) != reason::kTargetMet) {
    Pass(sim, spent);
    sim.Agents();
  }
  return spent;
}

// And to nothing again.
Spent Fall(Simulation& sim) {
  Spent spent;
  sim.Resize(0);
  while (!sim.NodeMachines().empty() || sim.Reason(condition::kAtTarget) != reason::kTargetMet) {
    Pass(sim, spent);
    sim.Agents();
    sim.Advance(absl::Seconds(1));
  }
  return spent;
}

// Bytes that a Node's row takes in memory.
double BytesARow(const Simulation& sim) {
  const std::vector<const Node*> rows = sim.state().NodesOf(kSimPool);
  std::vector<std::shared_ptr<const Node>> copies;
  copies.reserve(rows.size());
  const int64_t before = g_allocated;
  g_counts = true;
  for (const Node* row : rows) copies.push_back(std::make_shared<const Node>(*row));
  g_counts = false;
  return static_cast<double>(g_allocated - before) / static_cast<double>(rows.size());
}

void Print(const char* what, int nodes, const Spent& spent) {
  const auto ms = [](absl::Duration d) { return absl::ToDoubleMilliseconds(d); };
  const absl::Duration planning = spent.snapshot + spent.demand + spent.plan;
  std::cout << absl::StrFormat("%-5s %7d %7d %10.1f %10.1f %10.1f %10.1f %10.1f\n", what, nodes,
                               spent.passes, ms(spent.snapshot), ms(spent.demand), ms(spent.plan),
                               ms(planning), ms(spent.apply))
            << std::flush;
}

int Main() {
  std::cout << absl::StrFormat("%-5s %7s %7s %10s %10s %10s %10s %10s\n", "ms", "nodes", "passes",
                               "snapshot", "demand", "plan", "planning", "apply");
  double bytes = 0;
  for (const std::string& text : absl::GetFlag(FLAGS_nodes)) {
    int nodes = 0;
    if (!absl::SimpleAtoi(text, &nodes) || nodes < 1 || nodes > kMaxTargetNodes) {
      std::cerr << "muster_plan_bench: --nodes: `" << text << "` is no size of a pool.\n";
      return 1;
    }
    Simulation sim;
    Print("rise", nodes, Rise(sim, nodes));
    bytes = BytesARow(sim);
    Print("fall", nodes, Fall(sim));
  }
  std::cout << absl::StrFormat("bytes a row of a Node: %.0f\n", bytes);
  return 0;
}

}  // namespace
}  // namespace muster::lifecycle

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Measures what plans of one large pool cost, without a database.");
  absl::ParseCommandLine(argc, argv);
  return muster::lifecycle::Main();
}
