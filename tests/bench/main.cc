#include <algorithm>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "services/common/status_macros.h"
#include "tests/bench/cpu.h"
#include "tests/bench/pgbench.h"
#include "tests/bench/ratios.h"
#include "tests/bench/report.h"
#include "tests/bench/work.h"

ABSL_FLAG(std::string, server, "127.0.0.1:7600", "host:port of the musterd that is measured.");
ABSL_FLAG(std::string, conninfo, "",
          "libpq connection string of a superuser of the same Postgres, for the yardsticks.");
ABSL_FLAG(std::string, pgbench, "pgbench", "The pgbench to run.");
ABSL_FLAG(std::string, scripts_dir, "tests/bench", "Where the yardsticks' transactions are.");
ABSL_FLAG(int, server_pid, 0,
          "The measured musterd's process, for its CPU and memory; 0: not known.");
ABSL_FLAG(int, postmaster_pid, 0, "The process that all of Postgres' descend from; 0: not known.");
ABSL_FLAG(int, rounds, 3, "Rounds of everything, at least 1; medians are reported.");
ABSL_FLAG(int, seconds, 5, "Seconds that each work is measured a round, at least 1.");
ABSL_FLAG(std::vector<std::string>, only, {},
          "Works to measure, all if empty; `hold_*` is all whose names begin so.");
ABSL_FLAG(bool, json, false, "Print one JSON object a line instead of the table.");

namespace muster::bench {
namespace {

bool Matches(const Work& work, absl::string_view pattern) {
  return absl::ConsumeSuffix(&pattern, "*") ? absl::StartsWith(work.name, pattern)
                                            : work.name == pattern;
}

std::vector<Work> AllWorks(const Connections& connections, const std::string& target) {
  std::vector<Work> all;
  const auto add = [&all](std::vector<Work> works) {
    all.insert(all.end(), std::make_move_iterator(works.begin()),
               std::make_move_iterator(works.end()));
  };
  add(PgbenchWorks({.program = absl::GetFlag(FLAGS_pgbench),
                    .conninfo = absl::GetFlag(FLAGS_conninfo),
                    .scripts_dir = absl::GetFlag(FLAGS_scripts_dir)}));
  // While the server is as it was started.
  add(WatchMemoryWorks(connections, target, absl::GetFlag(FLAGS_server_pid)));
  add(QuotaWorks(connections));
  add(ClaimWorks(connections));
  add(QueueWorks(connections));
  add(PlacementWorks(connections));
  add(RpcWorks(connections));
  add(WatchWorks(connections, target));
  add(WatchLagWorks(connections, target));
  return all;
}

// Those of `all` that --only names. INVALID_ARGUMENT: it names one that is not there.
absl::StatusOr<std::vector<Work>> Chosen(const std::vector<Work>& all,
                                         const std::vector<std::string>& only) {
  if (only.empty()) return all;
  const auto name_of = [](std::string* out, const Work& work) { out->append(work.name); };
  for (const std::string& pattern : only) {
    const bool known = std::any_of(all.begin(), all.end(),
                                   [&](const Work& work) { return Matches(work, pattern); });
    if (!known) {
      return absl::InvalidArgumentError(absl::StrCat("--only: `", pattern, "` is none of ",
                                                     absl::StrJoin(all, ", ", name_of), "."));
    }
  }
  std::vector<Work> chosen;
  for (const Work& work : all) {
    if (std::any_of(only.begin(), only.end(),
                    [&](const std::string& pattern) { return Matches(work, pattern); }))
      chosen.push_back(work);
  }
  return chosen;
}

absl::StatusOr<Rate> Measure(const Work& work) {
  CpuMeter meter([] {
    return UseOf({absl::GetFlag(FLAGS_server_pid), absl::GetFlag(FLAGS_postmaster_pid)});
  });
  ASSIGN_OR_RETURN(Rate rate, work.measure(absl::Seconds(absl::GetFlag(FLAGS_seconds)), meter));
  rate.cpu = CostOf(meter.used(), rate.operations);
  return rate;
}

absl::Status Run(const std::vector<Work>& works, Report& report) {
  for (const Work& work : works) {
    if (work.set_up) RETURN_IF_ERROR(work.set_up());
  }
  const int rounds = absl::GetFlag(FLAGS_rounds);
  for (int round = 1; round <= rounds; ++round) {
    std::cerr << "round " << round << " of " << rounds << ":" << std::flush;
    for (const Work& work : works) {
      std::cerr << " " << work.name << std::flush;
      ASSIGN_OR_RETURN(const Rate rate, Measure(work));
      report.Add(work.name, rate);
    }
    std::cerr << "\n";
  }
  return absl::OkStatus();
}

absl::Status Main() {
  if (absl::GetFlag(FLAGS_rounds) < 1 || absl::GetFlag(FLAGS_seconds) < 1)
    return absl::InvalidArgumentError("--rounds and --seconds must be at least 1.");
  const Connections connections(absl::GetFlag(FLAGS_server));
  ASSIGN_OR_RETURN(
      const std::vector<Work> works,
      Chosen(AllWorks(connections, absl::GetFlag(FLAGS_server)), absl::GetFlag(FLAGS_only)));
  Report report;
  RETURN_IF_ERROR(Run(works, report));
  report.AddBest(kBestYardstick, "pgbench_hot_");
  std::vector<Report::Row> rows;
  for (const Work& work : works) rows.push_back({work.name, work.yardsticks});
  const std::vector<Ratio> ratios = RatiosOf(report);
  if (absl::GetFlag(FLAGS_json)) {
    std::cout << report.Json(rows) << RatioJson(ratios);
  } else {
    std::cout << report.Table(rows) << RatioTable(ratios);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Measures a running musterd beside pgbench. Started by tests/bench/run.");
  absl::ParseCommandLine(argc, argv);
  // As musterd does: Debian's Abseil looks for deadlocks at every lock.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const absl::Status status = muster::bench::Main();
  if (status.ok()) return 0;
  std::cerr << "\nmuster_bench: " << status.message() << "\n";
  return 1;
}
