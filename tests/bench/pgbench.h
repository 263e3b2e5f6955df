#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/bench/work.h"

namespace muster::bench {

// How pgbench reaches the yardstick's tables.
struct PgbenchOptions {
  std::string program = "pgbench";
  std::string conninfo = {};     // of a superuser, on the Postgres of the measured server
  std::string scripts_dir = {};  // with yardstick_*.pgbench
};

// The yardsticks: `pgbench_hot_N`, one function call a transaction, and `pgbench_statements_N`, the
// same effect as separate statements, for N clients; `pgbench_arrays_1000`, 1,000 of them that are
// decided already as one statement a transaction, for one client.
std::vector<Work> PgbenchWorks(const PgbenchOptions& options);

}  // namespace muster::bench
