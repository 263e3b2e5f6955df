#include "tests/bench/fleet/result.h"

#include <nlohmann/json.hpp>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace muster::bench {
namespace {

double PerSecond(int64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

double ANode(int64_t count, const Row& row) {
  return row.changed > 0 ? static_cast<double>(count) / static_cast<double>(row.changed) : 0;
}

double Mib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

double WalBytesANode(const Row& row) { return ANode(row.wal_bytes, row); }

double LifecycleChangesANode(const Row& row) { return ANode(row.changes.back(), row); }

double ServerMsANode(const Row& row) {
  return row.changed > 0 ? 1000 * row.server_cores * row.seconds / static_cast<double>(row.changed)
                         : 0;
}

std::string Table(const std::vector<Row>& rows) {
  std::string out = absl::StrFormat(
      "%8s %-12s %8s %8s %8s %9s %9s %9s %7s %6s %6s %7s %7s | %6s %6s %6s %6s %6s %6s | %7s %7s | "
      "%5s "
      "%8s "
      "%8s %8s  "
      "%s\n",
      "NODES", "PHASE", "SECONDS", "POOLS/S", "NODES/S", "CHANGES", "TUPLES", "SCANNED", "WAL MB",
      "WAL KB", "LC CHG", "CPU MS", "DISK MB", "SERVER", "PGSQL", "SIM", "SIM 1T", "BENCH",
      "OTHERS", "SRV MB", "PG MB", "WAIT", "LAG P50", "LAG P99", "LAG MAX", "FAULT");
  for (const Row& row : rows) {
    const int64_t changes = std::accumulate(row.changes.begin(), row.changes.end(), int64_t{0});
    absl::StrAppendFormat(&out,
                          "%8d %-12s %8.1f %8.0f %8.0f %9d %9d %9d %7.1f %6.1f %6.1f %7.2f %7.0f |",
                          row.nodes, row.phase, row.seconds, PerSecond(row.pools, row.seconds),
                          PerSecond(row.changed, row.seconds), changes, row.tuples, row.scanned,
                          Mib(row.wal_bytes), WalBytesANode(row) / 1024, LifecycleChangesANode(row),
                          ServerMsANode(row), Mib(row.disk_bytes));
    absl::StrAppendFormat(&out, " %6.2f %6.2f %6.2f %6.2f %6.2f %6.2f | %7.0f %7.0f |",
                          row.server_cores, row.postgres_cores, row.simulator_cores,
                          row.simulator_thread_cores, row.own_cores, row.other_cores,
                          Mib(row.server_bytes), Mib(row.postgres_bytes));
    const double waiting = row.seconds > 0 ? row.simulator.waited_s / row.seconds : 0;
    absl::StrAppendFormat(&out, " %5.2f %8.1f %8.1f %8.1f  %s\n", waiting, row.simulator.lag_p50_ms,
                          row.simulator.lag_p99_ms, row.simulator.lag_max_ms, row.fault);
  }
  absl::StrAppend(
      &out,
      "CHANGES: journal entries of all services. SCANNED: rows that Postgres read by sequential "
      "scans, as "
      "when a service starts. WAL KB, LC CHG, CPU MS: a Node that had to "
      "change, write-ahead log, lifecycle's entries, CPU time of musterd. SERVER to OTHERS: cores "
      "used (SIM 1T: "
      "the simulator's busiest thread).\n"
      "WAIT: of the simulator's two calls, how many wait for the server's answer on "
      "average. LAG: ms from when a report was due until it was sent.\n");
  return out;
}

std::string Json(const std::vector<Row>& rows) {
  std::string out;
  for (const Row& row : rows) {
    nlohmann::ordered_json line = {{"nodes", row.nodes},
                                   {"phase", row.phase},
                                   {"seconds", row.seconds},
                                   {"pools", row.pools},
                                   {"changed_nodes", row.changed}};
    for (size_t i = 0; i < row.changes.size(); ++i)
      line["changes"][Stack::kServices[i]] = row.changes[i];
    line["tuples"] = row.tuples;
    line["scanned"] = row.scanned;
    line["wal_bytes"] = row.wal_bytes;
    line["wal_bytes_a_node"] = WalBytesANode(row);
    line["lifecycle_changes_a_node"] = LifecycleChangesANode(row);
    line["server_ms_a_node"] = ServerMsANode(row);
    line["disk_bytes"] = row.disk_bytes;
    line["cores"] = {{"server", row.server_cores},
                     {"postgres", row.postgres_cores},
                     {"simulator", row.simulator_cores},
                     {"simulator_busiest_thread", row.simulator_thread_cores},
                     {"bench", row.own_cores},
                     {"others", row.other_cores}};
    line["load_average"] = row.load_average;
    line["server_bytes"] = row.server_bytes;
    line["postgres_bytes"] = row.postgres_bytes;
    line["simulator"] = {{"lag_p50_ms", row.simulator.lag_p50_ms},
                         {"lag_p99_ms", row.simulator.lag_p99_ms},
                         {"lag_max_ms", row.simulator.lag_max_ms},
                         {"waited_s", row.simulator.waited_s},
                         {"accepted", row.simulator.accepted},
                         {"refused", row.simulator.refused},
                         {"lost", row.simulator.lost}};
    line["fault"] = row.fault;
    absl::StrAppend(&out, line.dump(), "\n");
  }
  return out;
}

}  // namespace muster::bench
