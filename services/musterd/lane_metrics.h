#pragma once

#include <prometheus/collectable.h>

#include <vector>

#include "services/musterd/service_part.h"

namespace muster::musterd {

// `muster_lane_*` of every service, rendered at scrape time from the lanes' own counters.
class LaneMetrics final : public prometheus::Collectable {
 public:
  explicit LaneMetrics(const std::vector<ServicePart>* parts) : parts_(*parts) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::vector<ServicePart>& parts_;
};

// `muster_<service>_audits_total`, `_audits_failed_total` and `_invariant_violations_total` of the
// services that audit themselves.
class AuditMetrics final : public prometheus::Collectable {
 public:
  explicit AuditMetrics(const std::vector<ServicePart>* parts) : parts_(*parts) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::vector<ServicePart>& parts_;
};

}  // namespace muster::musterd
