#pragma once

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"

// How a Collectable renders what it knows: a family, and its samples one by one.
namespace muster::rpc {

using Labels = std::vector<prometheus::ClientMetric::Label>;

// Families without samples. `help` names meaning and unit.
prometheus::MetricFamily Gauges(std::string name, std::string help);
prometheus::MetricFamily Counters(std::string name, std::string help);
prometheus::MetricFamily Histograms(std::string name, std::string help);

// One more sample of a family of gauges or counters.
void AddSample(prometheus::MetricFamily& family, Labels labels, double value);
template <class Number>
void AddSample(prometheus::MetricFamily& family, Labels labels, Number value) {
  AddSample(family, std::move(labels), static_cast<double>(value));
}

// Families of one sample without labels.
template <class Number>
prometheus::MetricFamily Gauge(std::string name, std::string help, Number value) {
  prometheus::MetricFamily family = Gauges(std::move(name), std::move(help));
  AddSample(family, {}, value);
  return family;
}
template <class Number>
prometheus::MetricFamily Counter(std::string name, std::string help, Number value) {
  prometheus::MetricFamily family = Counters(std::move(name), std::move(help));
  AddSample(family, {}, value);
  return family;
}

// Bounds in seconds, from what a call or a transaction takes here (0.2 to 5 ms) up to streams; from
// 5 ms on those of go-grpc-prometheus, which dashboards ask for.
inline constexpr double kCallBuckets[] = {.0002, .0005, .001, .002, .005, .01, .025, .05,
                                          .1,    .25,   .5,   1,    2.5,  5,   10};

// Counts durations by buckets. Thread-safe; no locks, no allocation when it counts.
class Histogram {
 public:
  // `bounds`: upper bounds of the buckets in seconds, ascending; must outlive it.
  explicit Histogram(absl::Span<const double> bounds)
      : bounds_(bounds), in_bucket_(bounds.size() + 1) {}

  // What is negative counts as zero.
  void Observe(absl::Duration duration);
  // True: nothing was counted yet.
  bool empty() const;
  void AddTo(prometheus::MetricFamily& family, Labels labels) const;

 private:
  const absl::Span<const double> bounds_;
  std::vector<std::atomic<uint64_t>> in_bucket_;
  std::atomic<int64_t> nanoseconds_ = 0;
};

}  // namespace muster::rpc
