#include "services/rpc/metric_family.h"

#include <algorithm>
#include <limits>

namespace muster::rpc {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily Family(std::string name, std::string help, MetricType type) {
  return {.name = std::move(name), .help = std::move(help), .type = type, .metric = {}};
}

}  // namespace

MetricFamily Gauges(std::string name, std::string help) {
  return Family(std::move(name), std::move(help), MetricType::Gauge);
}

MetricFamily Counters(std::string name, std::string help) {
  return Family(std::move(name), std::move(help), MetricType::Counter);
}

MetricFamily Histograms(std::string name, std::string help) {
  return Family(std::move(name), std::move(help), MetricType::Histogram);
}

void AddSample(MetricFamily& family, Labels labels, double value) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  (family.type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) = value;
  family.metric.push_back(std::move(metric));
}

void Histogram::Observe(absl::Duration duration) {
  const double seconds = std::max(0.0, absl::ToDoubleSeconds(duration));
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), seconds);
  in_bucket_[static_cast<size_t>(bucket - bounds_.begin())].fetch_add(1, std::memory_order_relaxed);
  nanoseconds_.fetch_add(std::max<int64_t>(0, absl::ToInt64Nanoseconds(duration)),
                         std::memory_order_relaxed);
}

bool Histogram::empty() const {
  return std::all_of(in_bucket_.begin(), in_bucket_.end(),
                     [](const auto& count) { return count == 0; });
}

void Histogram::AddTo(MetricFamily& family, Labels labels) const {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  uint64_t count = 0;
  for (size_t i = 0; i < in_bucket_.size(); ++i) {
    count += in_bucket_[i];
    const double bound = i < bounds_.size() ? bounds_[i] : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({.cumulative_count = count, .upper_bound = bound});
  }
  metric.histogram.sample_count = count;
  metric.histogram.sample_sum = static_cast<double>(nanoseconds_) * 1e-9;
  family.metric.push_back(std::move(metric));
}

}  // namespace muster::rpc
