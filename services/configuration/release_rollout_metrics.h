#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "services/common/detachable.h"
#include "services/configuration/store/lane.h"
#include "services/configuration/unsettled_count.h"

namespace muster::configuration {

// `muster_configuration_*` of rollouts: counted, or made from memory at scrape time. Thread-safe.
class ReleaseRolloutMetrics final : public prometheus::Collectable {
 public:
  // The lane must live until Detach().
  explicit ReleaseRolloutMetrics(const Lane* lane) : lane_(lane) {}

  // The lane is going away: from here on nothing is shown.
  void Detach() { lane_.Detach(); }
  void ReleasesChanged() { unsettled_.ReleasesChanged(); }
  void BatchDone(size_t changed) {
    ++batches_;
    changed_ += static_cast<int64_t>(changed);
  }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  Detachable<Lane> lane_;
  mutable UnsettledCount unsettled_;
  std::atomic<int64_t> batches_ = 0;
  std::atomic<int64_t> changed_ = 0;
};

}  // namespace muster::configuration
