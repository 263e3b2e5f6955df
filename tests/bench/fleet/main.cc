#include <algorithm>
#include <exception>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "services/common/status_macros.h"
#include "tests/bench/fleet/fleet_run.h"

ABSL_FLAG(std::vector<std::string>, nodes, (std::vector<std::string>{"1000", "10000", "100000"}),
          "Sizes of the fleets, in Nodes, 1,000 to 1,000,000; one after the other.");
ABSL_FLAG(
    std::vector<std::string>, phases,
    std::vector<std::string>(std::begin(muster::bench::kPhases),
                             std::end(muster::bench::kPhases) - 1),
    "What to measure beside register and scale_up: any of "
    "quiet,reports,restart_all,release,failures,outage, and churn, which takes --churn_minutes.");
ABSL_FLAG(bool, one_pool, false, "All Nodes are of one pool.");
ABSL_FLAG(int64_t, churn_minutes, 60,
          "How long the phase churn goes on, by a wall clock; 11 to 1440 minutes.");
ABSL_FLAG(double, speed, 10, "Simulated minutes a minute, 1 to 600.");
ABSL_FLAG(absl::Duration, limit, absl::Minutes(10), "A phase that takes longer has failed.");
ABSL_FLAG(std::string, bin_dir, "build/release/bin", "Where musterd and fleetsim are.");
ABSL_FLAG(std::string, migrations_dir, "migrations", "Folder of their schemas' migrations.");
ABSL_FLAG(std::vector<std::string>, musterd_flags, {},
          "More flags for musterd, e.g. --musterd_flags=--journal_packing=none.");
ABSL_FLAG(bool, statements, false, "Tell on stderr what Postgres was busy with in each phase.");
ABSL_FLAG(bool, json, false, "Print one JSON object a line instead of the table.");

namespace muster::bench {
namespace {

constexpr int64_t kLeastNodes = 1'000;
constexpr int64_t kMostInOnePool = 100'000;

absl::StatusOr<std::vector<FleetRunOptions>> TrialsFromFlags() {
  FleetRunOptions options{.stack = {.bin_dir = absl::GetFlag(FLAGS_bin_dir),
                                    .migrations_dir = absl::GetFlag(FLAGS_migrations_dir),
                                    .speed = absl::GetFlag(FLAGS_speed),
                                    .musterd_flags = absl::GetFlag(FLAGS_musterd_flags),
                                    .statements = absl::GetFlag(FLAGS_statements)},
                          .limit = absl::GetFlag(FLAGS_limit),
                          .churn_minutes = absl::GetFlag(FLAGS_churn_minutes),
                          .one_pool = absl::GetFlag(FLAGS_one_pool)};
  const int64_t most = options.one_pool ? kMostInOnePool : kMostNodes;
  options.stack.patience = std::max(options.stack.patience, options.limit);
  if (!(options.stack.speed >= 1 && options.stack.speed <= 600))
    return absl::InvalidArgumentError("--speed must be 1 to 600.");
  if (options.churn_minutes <= kChurnFirst || options.churn_minutes > 1440)
    return absl::InvalidArgumentError("--churn_minutes must be 11 to 1440.");
  for (const std::string& phase : absl::GetFlag(FLAGS_phases)) {
    if (std::find(std::begin(kPhases), std::end(kPhases), phase) == std::end(kPhases))
      return absl::InvalidArgumentError(
          absl::StrCat("--phases: `", phase, "` is none of ", absl::StrJoin(kPhases, ","), "."));
    options.phases.insert(phase);
  }
  std::vector<FleetRunOptions> trials;
  for (const std::string& nodes : absl::GetFlag(FLAGS_nodes)) {
    if (!absl::SimpleAtoi(nodes, &options.nodes) || options.nodes < kLeastNodes ||
        options.nodes > most)
      return absl::InvalidArgumentError(
          absl::StrCat("--nodes: `", nodes, "` is not ", kLeastNodes, " to ", most, "."));
    trials.push_back(options);
  }
  return trials;
}

absl::Status RunTrial(const FleetRunOptions& options, std::vector<Row>& rows) {
  try {
    return FleetRun(options).Run(rows);
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

absl::Status Main() {
  ASSIGN_OR_RETURN(const std::vector<FleetRunOptions> trials, TrialsFromFlags());
  std::vector<Row> rows;
  absl::Status status;
  for (const FleetRunOptions& options : trials) {
    if (status.ok()) status = RunTrial(options, rows);
  }
  std::cout << (absl::GetFlag(FLAGS_json) ? Json(rows) : Table(rows));
  return status;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Measures fleets from nothing to the end on a Postgres, a musterd and a simulator of its "
      "own. "
      "Started by tests/bench/fleet/run.");
  absl::ParseCommandLine(argc, argv);
  // As musterd does: Debian's Abseil looks for deadlocks at every lock.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const absl::Status status = muster::bench::Main();
  if (status.ok()) return 0;
  std::cerr << "muster_fleet_bench: " << status.message() << "\n";
  return 1;
}
