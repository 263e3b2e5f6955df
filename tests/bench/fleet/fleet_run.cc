#include "tests/bench/fleet/fleet_run.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "services/common/status_macros.h"
#include "tests/bench/fleet/provision.h"
#include "tests/bench/usage.h"

namespace muster::bench {
namespace {

constexpr absl::Duration kQuietTime = absl::Minutes(10);  // simulated
constexpr absl::Duration kProgress = absl::Seconds(5);
// So long nothing must have been written for all to be settled.
constexpr absl::Duration kSettled = absl::Seconds(2);
// In the outage one pool in so many grows.
constexpr size_t kGrowing = 20;
// So many reports of so many Nodes, one after the other.
constexpr size_t kReports = 600;
constexpr int32_t kReporting = 50;
constexpr absl::Duration kReportEvery = absl::Milliseconds(50);
// In the churn one pool in so many is emptied each minute.
constexpr int64_t kChurning = 100;
// What the database may grow by, from the first minutes of the churn to its end.
constexpr double kMostGrowth = 1.5;
// Postgres' statistics of what an idle connection wrote are at most this late.
constexpr absl::Duration kStatisticsDelay = absl::Seconds(11);

absl::Duration TimeOf(const StackOptions& options) { return kQuietTime / options.speed; }

}  // namespace

FleetRun::FleetRun(FleetRunOptions options)
    : options_(std::move(options)),
      shape_(options_.one_pool ? MakeOnePool(options_.nodes) : MakeShape(options_.nodes)),
      stack_(std::make_unique<Stack>(options_.stack)) {}

void FleetRun::Connect() {
  connections_ = std::make_unique<Connections>(stack_->target());
  watch_ = std::make_unique<PoolWatch>(stack_->target());
}

PoolWatch::Goal FleetRun::AllAtTarget() const {
  return {.pool = [](const std::string&,
                     const PoolView& view) { return view.at_target && view.capacity_known; },
          .pools = static_cast<int64_t>(shape_.pools.size())};
}

absl::Status FleetRun::Run(std::vector<Row>& rows) {
  const auto wanted = [&](const char* phase) { return options_.phases.count(phase) != 0; };
  RETURN_IF_ERROR(Register(rows));
  RETURN_IF_ERROR(ScaleUp(rows));
  if (wanted("quiet")) RETURN_IF_ERROR(Quiet(rows));
  if (wanted("reports")) RETURN_IF_ERROR(Reports(rows));
  if (wanted("restart_all")) RETURN_IF_ERROR(RestartAll(rows));
  if (wanted("release")) RETURN_IF_ERROR(Release(rows));
  if (wanted("failures")) RETURN_IF_ERROR(Failures(rows));
  if (wanted("outage")) RETURN_IF_ERROR(Outage(rows));
  if (wanted("churn")) RETURN_IF_ERROR(Churn(rows));
  return absl::OkStatus();
}

// --- the phases ---

absl::Status FleetRun::Register(std::vector<Row>& rows) {
  stack_->StartServer();
  Connect();
  Row row = Begin("register");
  const Stack::Sample before = stack_->Measure();
  RETURN_IF_ERROR(CreateCatalogue(*connections_, shape_));
  stack_->StartSimulator(shape_);
  for (const auto& [place, machines] : shape_.machines) row.changed += machines;
  Fill(row, before, stack_->Measure());
  rows.push_back(row);
  return absl::OkStatus();
}

absl::Status FleetRun::ScaleUp(std::vector<Row>& rows) {
  return Carry({.name = "scale_up",
                .act = [this] { return CreatePools(*connections_, shape_); },
                .goal = AllAtTarget(),
                .pools = static_cast<int64_t>(shape_.pools.size()),
                .nodes = shape_.nodes},
               rows);
}

absl::Status FleetRun::Quiet(std::vector<Row>& rows) {
  absl::SleepFor(kStatisticsDelay);
  RETURN_IF_ERROR(Pass(
      "quiet", [] { return absl::OkStatus(); }, rows));
  Row& row = rows.back();
  for (const int64_t changes : row.changes) {
    if (changes != 0) row.fault = "it wrote";
  }
  if (row.tuples != 0) row.fault = "it wrote";
  return absl::OkStatus();
}

absl::Status FleetRun::Reports(std::vector<Row>& rows) {
  const PoolShape& pool =
      *std::max_element(shape_.pools.begin(), shape_.pools.end(),
                        [](const auto& a, const auto& b) { return a.nodes < b.nodes; });
  ASSIGN_OR_RETURN(const std::vector<std::string> nodes,
                   SomeNodes(*connections_, pool.name, kReporting));
  Row row = Begin("reports");
  row.changed = kReports;
  stack_->TakeSimulatorStats();
  const Stack::Sample before = stack_->Measure();
  for (size_t i = 0; i < kReports; ++i) {
    absl::SleepFor(before.time + static_cast<double>(i) * kReportEvery - absl::Now());
    // All in turn get work, then all lose it.
    const bool active = i / nodes.size() % 2 == 0;
    RETURN_IF_ERROR(ReportWork(*connections_, nodes[i % nodes.size()], active));
  }
  absl::SleepFor(before.time + static_cast<double>(kReports) * kReportEvery - absl::Now());
  Fill(row, before, stack_->Measure());
  row.simulator = stack_->TakeSimulatorStats();
  const absl::Status settled = AwaitRest();
  Settle(row, before);
  rows.push_back(row);
  return settled;
}

absl::Status FleetRun::RestartAll(std::vector<Row>& rows) {
  Row row = Begin("restart_all");
  Stack::Sample before = stack_->Measure();
  // A new process begins to count anew.
  before.server_cpu_s = 0;
  stack_->CrashServer();
  Fill(row, before, stack_->Measure());
  watch_->Await(AllAtTarget());
  absl::Time reached;
  if (!watch_->WaitFor(options_.limit, reached)) row.fault = "pools are not as they were";
  const absl::Status settled = AwaitRest();
  Settle(row, before);
  rows.push_back(row);
  return settled;
}

absl::Status FleetRun::Release(std::vector<Row>& rows) {
  const auto before = watch_->pools();
  int64_t pools = 0;
  for (const auto& [name, view] : before) pools += view.update_strategy == "Always" ? 1 : 0;
  const auto staged = [before](const std::string& name, const PoolView& view) {
    const auto it = before.find(name);
    return view.update_strategy != "Always" ||
           (it != before.end() && it->second.node_profile != view.node_profile);
  };
  return Carry({.name = "release",
                .act = [this] { return PublishImage(*connections_, 2); },
                .goal = {.pool = staged, .pools = static_cast<int64_t>(before.size())},
                .pools = pools},
               rows);
}

absl::Status FleetRun::Failures(std::vector<Row>& rows) {
  const int64_t removed = watch_->progress().removed_nodes;
  Phase phase{.name = "failures", .goal = AllAtTarget()};
  const auto failed = std::make_shared<int64_t>(0);
  phase.act = [this, failed, removed] {
    *failed = stack_->FailNodes();
    PoolWatch::Goal goal = AllAtTarget();
    goal.removed_nodes = removed + *failed;
    watch_->Await(goal);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(Carry(phase, rows));
  rows.back().changed = *failed;
  return absl::OkStatus();
}

absl::Status FleetRun::Outage(std::vector<Row>& rows) {
  RETURN_IF_ERROR(Carry({.name = "restart",
                         .act =
                             [this] {
                               watch_.reset();
                               stack_->StartApart();
                               Connect();
                               watch_->Await(AllAtTarget());
                               return absl::OkStatus();
                             },
                         .goal = AllAtTarget(),
                         .pools = static_cast<int64_t>(shape_.pools.size())},
                        rows));
  std::vector<std::pair<std::string, int64_t>> growing;
  for (size_t i = 0; i < shape_.pools.size(); i += kGrowing)
    growing.emplace_back(shape_.pools[i].name, shape_.pools[i].nodes + 1);
  RETURN_IF_ERROR(Pass(
      "away",
      [&] {
        stack_->KillCapacity();
        return Resize(*connections_, growing);
      },
      rows));
  return Carry({.name = "outage",
                .act =
                    [this] {
                      stack_->StartCapacity();
                      return absl::OkStatus();
                    },
                .goal = AllAtTarget(),
                .pools = static_cast<int64_t>(shape_.pools.size()),
                .nodes = static_cast<int64_t>(growing.size())},
               rows);
}

absl::Status FleetRun::Churn(std::vector<Row>& rows) {
  RETURN_IF_ERROR(ChurnFor("churn_first", 0, kChurnFirst, rows));
  const int64_t before = rows.back().disk_bytes;
  RETURN_IF_ERROR(ChurnFor("churn", kChurnFirst, options_.churn_minutes, rows));
  Row& row = rows.back();
  if (static_cast<double>(row.disk_bytes) > kMostGrowth * static_cast<double>(before))
    row.fault = "the database grew";
  return absl::OkStatus();
}

absl::Status FleetRun::ChurnFor(const std::string& name, int64_t from_minute, int64_t to_minute,
                                std::vector<Row>& rows) {
  const auto resize = [this](int64_t minute, bool to_none) {
    std::vector<std::pair<std::string, int64_t>> pools;
    for (size_t i = static_cast<size_t>(minute % kChurning); i < shape_.pools.size();
         i += kChurning)
      pools.emplace_back(shape_.pools[i].name, to_none ? 0 : shape_.pools[i].nodes);
    return Resize(*connections_, pools);
  };
  const auto act = [this, resize, from_minute, to_minute]() -> absl::Status {
    const absl::Time begin = absl::Now();
    for (int64_t minute = from_minute; minute < to_minute; ++minute) {
      RETURN_IF_ERROR(resize(minute, true));
      absl::SleepFor(begin + absl::Minutes(minute + 1 - from_minute) - absl::Now());
      RETURN_IF_ERROR(resize(minute, false));
    }
    watch_->Await(AllAtTarget());
    return absl::OkStatus();
  };
  return Carry({.name = name,
                .act = act,
                .goal = AllAtTarget(),
                .nodes = (to_minute - from_minute) * shape_.nodes / kChurning},
               rows);
}

// --- what they share ---

Row FleetRun::Begin(const std::string& name) {
  std::cerr << absl::StrFormat("%d Nodes: %s\n", shape_.nodes, name);
  return {.nodes = shape_.nodes, .phase = name};
}

void FleetRun::Fill(Row& row, const Stack::Sample& before, const Stack::Sample& after) {
  row.seconds = absl::ToDoubleSeconds(after.time - before.time);
  const auto cores = [&](double was, double is) { return std::max(0.0, is - was) / row.seconds; };
  row.server_cores = cores(before.server_cpu_s, after.server_cpu_s);
  row.postgres_cores = cores(before.postgres_cpu_s, after.postgres_cpu_s);
  row.simulator_cores = cores(before.simulator_cpu_s, after.simulator_cpu_s);
  row.own_cores = cores(before.own_cpu_s, after.own_cpu_s);
  for (const auto& [thread, seconds] : after.simulator_threads) {
    const auto it = before.simulator_threads.find(thread);
    const double was = it == before.simulator_threads.end() ? 0 : it->second;
    row.simulator_thread_cores = std::max(row.simulator_thread_cores, cores(was, seconds));
  }
  row.other_cores = cores(before.machine_cpu_s, after.machine_cpu_s) - row.server_cores -
                    row.postgres_cores - row.simulator_cores - row.own_cores;
  for (size_t i = 0; i < row.changes.size(); ++i)
    row.changes[i] = after.revisions[i] - before.revisions[i];
  row.tuples = after.tuples - before.tuples;
  row.scanned = after.scanned - before.scanned;
  row.wal_bytes = after.wal_bytes - before.wal_bytes;
  row.load_average = LoadAverage();
  row.server_bytes = stack_->server_bytes();
  row.postgres_bytes = stack_->postgres_bytes();
  row.disk_bytes = stack_->disk_bytes();
}

void FleetRun::Settle(Row& row, const Stack::Sample& before) const {
  const Stack::Sample end = stack_->Measure();
  for (size_t i = 0; i < row.changes.size(); ++i)
    row.changes[i] = end.revisions[i] - before.revisions[i];
  row.tuples = end.tuples - before.tuples;
  row.scanned = end.scanned - before.scanned;
  row.wal_bytes = end.wal_bytes - before.wal_bytes;
  row.disk_bytes = stack_->disk_bytes();
}

absl::Status FleetRun::AwaitRest() const {
  const absl::Time end = absl::Now() + options_.limit;
  Stack::Sample last = stack_->Measure();
  while (absl::Now() < end) {
    absl::SleepFor(kSettled);
    const Stack::Sample now = stack_->Measure();
    if (now.revisions == last.revisions && now.tuples == last.tuples) return absl::OkStatus();
    last = now;
  }
  return absl::DeadlineExceededError("something is written all the time");
}

absl::Status FleetRun::Carry(const Phase& phase, std::vector<Row>& rows) {
  Row row = Begin(phase.name);
  row.pools = phase.pools;
  row.changed = phase.nodes;
  stack_->TakeSimulatorStats();
  const Stack::Sample before = stack_->Measure();
  watch_->Await(phase.goal);
  RETURN_IF_ERROR(phase.act());
  const absl::Time end = absl::Now() + options_.limit;
  absl::Time reached;
  bool met = false;
  while (!met && absl::Now() < end) {
    met = watch_->WaitFor(kProgress, reached);
    const PoolWatch::Progress progress = watch_->progress();
    std::cerr << absl::StrFormat(
        "  %5.0f s: %d pools, %d short of it; %d Nodes removed; load %.1f\n",
        absl::ToDoubleSeconds(absl::Now() - before.time), progress.pools, progress.short_of,
        progress.removed_nodes, LoadAverage());
  }
  Fill(row, before, stack_->Measure());
  row.simulator = stack_->TakeSimulatorStats();
  if (!met) row.fault = absl::StrCat(watch_->progress().short_of, " pools short of it");
  if (met) row.seconds = absl::ToDoubleSeconds(reached - before.time);
  const absl::Status settled = AwaitRest();
  Settle(row, before);
  if (options_.stack.statements) std::cerr << stack_->TakeStatements();
  rows.push_back(row);
  if (!met) return absl::DeadlineExceededError(absl::StrCat(phase.name, ": ", row.fault));
  return settled;
}

absl::Status FleetRun::Pass(const std::string& name, const std::function<absl::Status()>& act,
                            std::vector<Row>& rows) {
  Row row = Begin(name);
  stack_->TakeSimulatorStats();
  const Stack::Sample before = stack_->Measure();
  RETURN_IF_ERROR(act());
  absl::SleepFor(before.time + TimeOf(options_.stack) - absl::Now());
  Fill(row, before, stack_->Measure());
  row.simulator = stack_->TakeSimulatorStats();
  rows.push_back(row);
  return absl::OkStatus();
}

}  // namespace muster::bench
