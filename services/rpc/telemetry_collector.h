#pragma once

#include <prometheus/collectable.h>

#include <vector>

namespace muster::rpc {

// `muster_log_*` and `muster_trace_*`: how much the process logged and traced, and how much of it
// was left out.
class TelemetryCollector final : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace muster::rpc
