#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/bench/calls.h"
#include "tests/bench/cpu.h"
#include "tests/bench/load.h"

namespace muster::bench {

// One thing that is measured, once a round.
struct Work {
  std::string name = {};
  // What its rate is compared to, in the order of interest; may be empty.
  std::vector<std::string> yardsticks = {};
  // Called once before the first round; null: nothing to set up.
  std::function<absl::Status()> set_up = {};
  // Measures for about this long; the meter is told when what counts begins and ends.
  std::function<absl::StatusOr<Rate>(absl::Duration, CpuMeter&)> measure = {};
};

inline constexpr char kBestYardstick[] = "pgbench_hot_best";

// Makes caller number `index`.
using CallerFactory = std::function<std::unique_ptr<Caller>(size_t index)>;

// A closed loop of `in_flight` callers, which live from round to round.
Work ClosedLoop(std::string name, std::vector<std::string> yardsticks, size_t in_flight,
                CallerFactory make, std::function<absl::Status()> set_up);

// The works of each part, in the order in which they are measured. `connections` must outlive them.
std::vector<Work> QuotaWorks(const Connections& connections);
std::vector<Work> ClaimWorks(const Connections& connections);
std::vector<Work> QueueWorks(const Connections& connections);
std::vector<Work> PlacementWorks(const Connections& connections);
std::vector<Work> RpcWorks(const Connections& connections);
// `target`: where these works open connections of their own.
std::vector<Work> WatchWorks(const Connections& connections, const std::string& target);
std::vector<Work> WatchLagWorks(const Connections& connections, const std::string& target);
// Measure the memory of the process `server`, and should come while it is young.
std::vector<Work> WatchMemoryWorks(const Connections& connections, const std::string& target,
                                   pid_t server);

}  // namespace muster::bench
