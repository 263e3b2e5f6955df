#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/fleetsim/agent.h"

namespace muster::fleetsim {

// The command line's values as they were given.
struct Settings {
  std::string server = {};
  std::string machines = {};
  FleetOptions fleet = {};
  int report_batch = 0;
  int report_calls = 0;
  double fail_share = 0;
  double speed = 1;
  ClusterOptions cluster = {};
  std::string kube_cluster = {};  // of Muster; empty: all
};

// Checks all settings and divides the fleet's durations by `speed`; reads no file. INVALID_ARGUMENT
// names the flag.
absl::StatusOr<AgentOptions> MakeOptions(const Settings& settings);

}  // namespace muster::fleetsim
