#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

#include "services/common/detachable.h"
#include "services/configuration/core/census.h"
#include "services/configuration/store/lane.h"

namespace muster::configuration {

// The census as metric families.
std::vector<prometheus::MetricFamily> FamiliesOf(const Census& census);

// `muster_configuration_*` of pools and releases: counted in memory at scrape time, a piece at a
// time, so that no commit waits. Every replica shows the same. Thread-safe.
class ConfigurationMetrics final : public prometheus::Collectable {
 public:
  // The lane must live until Detach().
  explicit ConfigurationMetrics(const Lane* lane) : lane_(lane) {}

  // The lane is going away: from here on nothing is shown.
  void Detach() { lane_.Detach(); }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  Detachable<Lane> lane_;
};

}  // namespace muster::configuration
