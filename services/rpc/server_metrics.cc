#include "services/rpc/server_metrics.h"

#include <prometheus/metric_family.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "services/rpc/status.h"

namespace muster::rpc {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

std::vector<ClientMetric::Label> LabelsOf(const MethodMetrics& method) {
  const absl::string_view name = method.full_name();
  const size_t slash = name.rfind('/');
  absl::string_view type;
  switch (method.type()) {
    case MethodMetrics::Type::kUnary:
      type = "unary";
      break;
    case MethodMetrics::Type::kClientStream:
      type = "client_stream";
      break;
    case MethodMetrics::Type::kServerStream:
      type = "server_stream";
      break;
    case MethodMetrics::Type::kBidiStream:
      type = "bidi_stream";
      break;
  }
  return {{"grpc_type", std::string(type)},
          {"grpc_service", std::string(name.substr(1, slash - 1))},
          {"grpc_method", std::string(name.substr(slash + 1))}};
}

MetricFamily Family(const char* name, const char* help, prometheus::MetricType type) {
  return {.name = name, .help = help, .type = type, .metric = {}};
}

void AddCounter(MetricFamily& family, std::vector<ClientMetric::Label> labels, uint64_t value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = static_cast<double>(value);
  family.metric.push_back(std::move(metric));
}

}  // namespace

void MethodMetrics::Handled(grpc::StatusCode code, absl::Duration took) {
  size_t index = static_cast<size_t>(code);
  if (index >= kCodes) index = static_cast<size_t>(grpc::StatusCode::UNKNOWN);
  handled_[index].fetch_add(1, std::memory_order_relaxed);
  const double seconds = absl::ToDoubleSeconds(took);
  const auto bucket = std::lower_bound(kBuckets.begin(), kBuckets.end(), seconds);
  buckets_[static_cast<size_t>(bucket - kBuckets.begin())].fetch_add(1, std::memory_order_relaxed);
  nanoseconds_.fetch_add(absl::ToInt64Nanoseconds(took), std::memory_order_relaxed);
}

MethodMetrics* ServerMetrics::Add(absl::string_view full_name, MethodMetrics::Type type) {
  MutexLock lock(mutex_);
  auto& method = methods_[full_name];
  if (method == nullptr) method = std::make_unique<MethodMetrics>(std::string(full_name), type);
  return method.get();
}

std::vector<MetricFamily> ServerMetrics::Collect() const {
  using prometheus::MetricType;
  MetricFamily started = Family("grpc_server_started_total", "Calls begun.", MetricType::Counter);
  MetricFamily handled =
      Family("grpc_server_handled_total", "Calls finished, by code.", MetricType::Counter);
  MetricFamily received =
      Family("grpc_server_msg_received_total", "Messages received.", MetricType::Counter);
  MetricFamily sent = Family("grpc_server_msg_sent_total", "Messages sent.", MetricType::Counter);
  MetricFamily handling =
      Family("grpc_server_handling_seconds", "Time from the start of a call to its end.",
             MetricType::Histogram);
  MutexLock lock(mutex_);
  for (const auto& [name, method] : methods_) {
    const auto labels = LabelsOf(*method);
    AddCounter(started, labels, method->started_);
    AddCounter(received, labels, method->received_);
    AddCounter(sent, labels, method->sent_);
    for (size_t code = 0; code < MethodMetrics::kCodes; ++code) {
      auto with_code = labels;
      with_code.push_back(
          {"grpc_code", std::string(CodeName(static_cast<grpc::StatusCode>(code)))});
      AddCounter(handled, std::move(with_code), method->handled_[code]);
    }
    ClientMetric metric;
    metric.label = labels;
    uint64_t count = 0;
    for (size_t i = 0; i < method->buckets_.size(); ++i) {
      count += method->buckets_[i];
      const double bound = i < MethodMetrics::kBuckets.size()
                               ? MethodMetrics::kBuckets[i]
                               : std::numeric_limits<double>::infinity();
      metric.histogram.bucket.push_back({.cumulative_count = count, .upper_bound = bound});
    }
    metric.histogram.sample_count = count;
    metric.histogram.sample_sum = static_cast<double>(method->nanoseconds_) * 1e-9;
    handling.metric.push_back(std::move(metric));
  }
  return {std::move(started), std::move(handled), std::move(received), std::move(sent),
          std::move(handling)};
}

}  // namespace muster::rpc
