#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

#include "services/common/mutex.h"
#include "services/configuration/lane.h"

namespace muster::configuration {

// `muster_configuration_*` of pools and releases: counted in memory at scrape time, a piece at a
// time, so that no commit waits. Every replica shows the same. Thread-safe.
class ConfigurationMetrics final : public prometheus::Collectable {
 public:
  // The lane must live until Detach().
  explicit ConfigurationMetrics(const Lane* lane) : lane_(lane) {}

  // The lane is going away: from here on nothing is shown.
  void Detach() {
    MutexLock lock(mutex_);
    lane_ = nullptr;
  }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  mutable Mutex mutex_;
  const Lane* lane_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::configuration
