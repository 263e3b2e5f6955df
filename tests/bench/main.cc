#include <iostream>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "services/common/status_macros.h"
#include "tests/bench/pgbench.h"
#include "tests/bench/report.h"
#include "tests/bench/works.h"

ABSL_FLAG(std::string, server, "127.0.0.1:7600", "host:port of the musterd that is measured.");
ABSL_FLAG(std::string, conninfo, "",
          "libpq connection string of a superuser of the same Postgres, for the yardstick.");
ABSL_FLAG(std::string, pgbench, "pgbench", "The pgbench to run.");
ABSL_FLAG(std::string, script, "tests/bench/yardstick_hold.pgbench",
          "The yardstick's transaction.");
ABSL_FLAG(int, rounds, 3, "Rounds of everything, at least 1; medians are reported.");
ABSL_FLAG(int, seconds, 5, "Seconds that each work is measured a round, at least 1.");
ABSL_FLAG(bool, json, false, "Print one JSON object a line instead of the table.");

namespace muster::bench {
namespace {

struct Work {
  const char* name;
  const char* yardstick;
  IssueCall issue;
  int in_flight;
};

absl::Status Run(Report& report, std::vector<Report::Row>& rows) {
  Works works(absl::GetFlag(FLAGS_server));
  RETURN_IF_ERROR(works.SetUp());
  const std::vector<Work> measured = {{"hold_hot_1", "pgbench_hot_best", works.HoldHot(), 1},
                                      {"hold_hot_64", "pgbench_hot_best", works.HoldHot(), 64},
                                      {"hold_hot_256", "pgbench_hot_best", works.HoldHot(), 256},
                                      {"empty_rpc_64", "", works.EmptyRpc(), 64},
                                      {"read_pool_64", "empty_rpc_64", works.ReadPool(), 64}};
  const int seconds = absl::GetFlag(FLAGS_seconds);
  const std::vector<int> clients = {1, 8, 64};
  std::vector<std::string> yardsticks;
  for (const int count : clients) yardsticks.push_back(absl::StrCat("pgbench_hot_", count));
  for (int round = 1; round <= absl::GetFlag(FLAGS_rounds); ++round) {
    std::cerr << "round " << round << " of " << absl::GetFlag(FLAGS_rounds) << ":" << std::flush;
    for (size_t i = 0; i < clients.size(); ++i) {
      std::cerr << " " << yardsticks[i] << std::flush;
      ASSIGN_OR_RETURN(const double tps,
                       RunPgbench(absl::GetFlag(FLAGS_pgbench), absl::GetFlag(FLAGS_conninfo),
                                  absl::GetFlag(FLAGS_script), clients[i], seconds));
      report.Add(yardsticks[i], {tps, 1000.0 * clients[i] / tps, 0, 0});
    }
    for (const Work& work : measured) {
      std::cerr << " " << work.name << std::flush;
      report.Add(work.name, RunClosedLoop(work.in_flight, absl::Seconds(1), absl::Seconds(seconds),
                                          work.issue));
    }
    std::cerr << "\n";
  }
  report.Best("pgbench_hot_best", yardsticks);
  for (const std::string& yardstick : yardsticks) rows.push_back({yardstick, ""});
  for (const Work& work : measured) rows.push_back({work.name, work.yardstick});
  return absl::OkStatus();
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Measures a running musterd beside pgbench. Started by tests/bench/run.");
  absl::ParseCommandLine(argc, argv);
  muster::bench::Report report;
  std::vector<muster::bench::Report::Row> rows;
  const absl::Status status = muster::bench::Run(report, rows);
  if (!status.ok()) {
    std::cerr << "muster_bench: " << status.message() << "\n";
    return 1;
  }
  std::cout << (absl::GetFlag(FLAGS_json) ? report.Json(rows) : report.Table(rows));
  return 0;
}
