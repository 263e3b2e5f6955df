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

// What came of agents' reports, and when agents were last heard: `muster_lifecycle_reports_total`,
// `muster_lifecycle_agent_*`. Of this replica's calls. Reports of Nodes that are not known (their agents live in a future that was lost, or in another world) are also to be
// logged, at a bounded rate. Thread-safe.
class ReportTally final : public prometheus::Collectable {
 public:
  // Reports of unknown Nodes since the last time.
  struct Unknown {
    int64_t reports = 0;
    std::string example = {};  // what one of them was told
  };
  static constexpr absl::Duration kLogInterval = absl::Seconds(30);

  explicit ReportTally(const SteadyClock* clock = TheSteadyClock()) : clock_(*clock) {}

  // Of one call. What is to be logged now; nullopt: nothing.
  std::optional<Unknown> Count(const std::vector<absl::Status>& results);

  // Of one call: reports of known pools, by their zone.
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
