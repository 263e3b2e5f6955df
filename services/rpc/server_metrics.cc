#include "services/rpc/server_metrics.h"

#include <prometheus/metric_family.h>

#include <utility>

#include "services/common/steady_clock.h"
#include "services/rpc/limits.h"
#include "services/rpc/status.h"

namespace muster::rpc {
namespace {

using prometheus::MetricFamily;

Labels LabelsOf(const MethodMetrics& method) {
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

Labels WithoutType(const Labels& labels) { return {labels.begin() + 1, labels.end()}; }

// There is a sample of these codes even if it is 0: a rate sees nothing of a series that begins.
// Those of failures use up the error budget, which is of unary methods.
bool IsAlwaysShown(MethodMetrics::Type type, grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
    case grpc::StatusCode::UNAVAILABLE:
      return true;
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::DATA_LOSS:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return type == MethodMetrics::Type::kUnary;
    default:
      return false;
  }
}

}  // namespace

void MethodMetrics::Handled(grpc::StatusCode code, absl::Duration took) {
  size_t index = static_cast<size_t>(code);
  if (index >= kCodes) index = static_cast<size_t>(grpc::StatusCode::UNKNOWN);
  handled_[index].fetch_add(1, std::memory_order_relaxed);
  took_.Observe(took);
}

MethodMetrics* ServerMetrics::Add(absl::string_view full_name, MethodMetrics::Type type) {
  MutexLock lock(mutex_);
  auto& method = methods_[full_name];
  if (method == nullptr) method = std::make_unique<MethodMetrics>(std::string(full_name), type);
  return method.get();
}

std::vector<MetricFamily> ServerMetrics::Collect() const {
  MetricFamily started = Counters("grpc_server_started_total", "Calls begun.");
  MetricFamily handled = Counters("grpc_server_handled_total", "Calls finished, by code.");
  MetricFamily received = Counters("grpc_server_msg_received_total", "Messages received.");
  MetricFamily sent = Counters("grpc_server_msg_sent_total", "Messages sent.");
  MetricFamily handling =
      Histograms("grpc_server_handling_seconds", "Time from the start of a call to its end.");
  MetricFamily late =
      Gauges("muster_watch_late_readers",
             "Watches whose reader has not taken the message that is under way for ten seconds.");
  MetricFamily longest =
      Gauges("muster_watch_longest_write_seconds",
             "For how long the message has been under way that waits longest for its reader.");
  const absl::Duration now = TheSteadyClock()->Now();
  MutexLock lock(mutex_);
  for (const auto& [name, method] : methods_) {
    const Labels labels = LabelsOf(*method);
    AddSample(started, labels, method->started_.load());
    AddSample(received, labels, method->received_.load());
    AddSample(sent, labels, method->sent_.load());
    for (size_t i = 0; i < MethodMetrics::kCodes; ++i) {
      const auto code = static_cast<grpc::StatusCode>(i);
      const uint64_t calls = method->handled_[i];
      if (calls == 0 && !IsAlwaysShown(method->type(), code)) continue;
      Labels with_code = labels;
      with_code.push_back({"grpc_code", std::string(CodeName(code))});
      AddSample(handled, std::move(with_code), calls);
    }
    if (!method->took_.empty()) method->took_.AddTo(handling, labels);
    if (method->type() != MethodMetrics::Type::kServerStream) continue;
    const OpenWrites::Late found = method->writes_.Look(now, kLateReader);
    AddSample(late, WithoutType(labels), found.readers);
    AddSample(longest, WithoutType(labels), absl::ToDoubleSeconds(found.longest));
  }
  return {std::move(started),  std::move(handled), std::move(received), std::move(sent),
          std::move(handling), std::move(late),    std::move(longest)};
}

}  // namespace muster::rpc
