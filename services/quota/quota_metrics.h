#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <cstddef>
#include <vector>

#include "services/common/detachable.h"
#include "services/quota/core/census.h"
#include "services/quota/store/lane.h"

namespace muster::quota {

// The census as metric families. `organizations`: how many are named, see Largest.
std::vector<prometheus::MetricFamily> FamiliesOf(const Census& census, size_t organizations);

// `muster_quota_*`: counted in memory at scrape time, a piece at a time, so that no commit waits.
// Every replica shows the same. Thread-safe.
class QuotaMetrics final : public prometheus::Collectable {
 public:
  // The lane must live until Detach(). `organizations`: how many are named, see Largest.
  QuotaMetrics(const Lane* lane, size_t organizations)
      : organizations_(organizations), lane_(lane) {}

  // The lane is going away: from here on nothing is shown.
  void Detach() { lane_.Detach(); }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const size_t organizations_;
  Detachable<Lane> lane_;
};

}  // namespace muster::quota
