#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/common/steady_clock.h"

namespace muster::lifecycle {

// Counts how agents' reports ended and when agents were last heard, in the calls of this replica:
// `muster_lifecycle_reports_total`, `muster_lifecycle_agent_*`. Reports of unknown Nodes (the
// database was restored, or the agents belong to another Muster) are also to be logged, at a
// bounded rate. Thread-safe.
class ReportTally final : public prometheus::Collectable {
 public:
  // Reports of unknown Nodes since they were last logged.
  struct Unknown {
    int64_t reports = 0;
    std::string example = {};  // the error message of one of them
  };
  static constexpr absl::Duration kLogInterval = absl::Seconds(30);

  explicit ReportTally(const SteadyClock* clock = TheSteadyClock()) : clock_(*clock) {}

  // Counts the results of one call. Returns what is to be logged now; nullopt: nothing.
  std::optional<Unknown> Count(const std::vector<absl::Status>& results);

  // Counts the reports of one call by an agent that are about known pools, by their zone.
  void Heard(const std::map<std::string, int64_t>& reports_by_zone, absl::Time now);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  static constexpr int kResults = 4;

  const SteadyClock& clock_;
  mutable Mutex mutex_;
  std::array<int64_t, kResults> counts_ MUSTER_GUARDED_BY(mutex_) = {};
  struct Zone {
    int64_t reports = 0;
    absl::Time last = absl::UnixEpoch();
  };
  std::map<std::string, Zone> zones_ MUSTER_GUARDED_BY(mutex_);
  Unknown unsaid_ MUSTER_GUARDED_BY(mutex_);
  absl::Duration said_ MUSTER_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
};

}  // namespace muster::lifecycle
