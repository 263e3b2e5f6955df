#pragma once

#include <prometheus/collectable.h>

#include <vector>

namespace muster::rpc {

// The `process_*` metrics that Prometheus' own clients have: CPU seconds, memory, file descriptors,
// start time. Read from /proc at scrape time; what cannot be read is left out. Thread-safe.
class ProcessCollector final : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace muster::rpc
