#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace muster::bench {

// Runs `pgbench -f script` with `clients` for `seconds` (prepared statements, as many threads as
// cores) and returns its transactions a second. FAILED_PRECONDITION: pgbench failed; its output is
// in the message.
absl::StatusOr<double> RunPgbench(const std::string& pgbench, const std::string& conninfo,
                                  const std::string& script, int clients, int seconds);

}  // namespace muster::bench
