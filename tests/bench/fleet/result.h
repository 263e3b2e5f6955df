#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/bench/fleet/stack.h"

namespace muster::bench {

// What was measured of one phase of one fleet.
struct Row {
  int64_t nodes = 0;
  std::string phase = {};
  double seconds = 0;                   // until what is waited for was there
  int64_t pools = 0;                    // that had to change
  int64_t changed = 0;                  // Nodes that had to change
  std::array<int64_t, 4> changes = {};  // journal entries of Stack::kServices until all was quiet
  int64_t tuples = 0;                   // rows written but for the journals
  int64_t scanned = 0;                  // rows read by sequential scans
  int64_t wal_bytes = 0;
  int64_t disk_bytes = 0;  // of the database, at the end
  // Cores: CPU seconds a second, until what is waited for was there.
  double server_cores = 0;
  double postgres_cores = 0;
  double simulator_cores = 0;
  double simulator_thread_cores = 0;  // its busiest thread
  double own_cores = 0;
  double other_cores = 0;  // programs that have nothing to do with it
  double load_average = 0;
  int64_t server_bytes = 0;
  int64_t postgres_bytes = 0;
  Stack::SimulatorStats simulator = {};
  std::string fault = {};  // empty: it went as it should
};

// Averages over the Nodes that had to change; 0: none had to.
double WalBytesANode(const Row& row);
double LifecycleChangesANode(const Row& row);
double ServerMsANode(const Row& row);  // milliseconds of musterd's CPU time

// For people.
std::string Table(const std::vector<Row>& rows);
// One JSON object a line.
std::string Json(const std::vector<Row>& rows);

}  // namespace muster::bench
