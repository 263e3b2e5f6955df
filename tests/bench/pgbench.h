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
  std::string scripts_dir = {};  // with yardstick_{hold,statements,tidy}.pgbench
};

// The yardsticks: `pgbench_hot_N`, one function call a transaction, and `pgbench_statements_N`, the
// same effect as separate statements, for N clients.
std::vector<Work> PgbenchWorks(const PgbenchOptions& options);

// Tidies the yardstick's tables, then runs `script` with `clients` for `measured` (prepared
// statements, as many threads as cores). A failed transaction ends pgbench. FAILED_PRECONDITION: it
// failed; its output is in the message.
absl::StatusOr<Rate> RunPgbench(const PgbenchOptions& options, const std::string& script,
                                int clients, absl::Duration measured);

}  // namespace muster::bench
