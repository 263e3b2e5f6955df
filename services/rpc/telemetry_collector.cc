#include "services/rpc/telemetry_collector.h"

#include "services/common/log_output.h"
#include "services/rpc/metric_family.h"
#include "services/trace/span.h"

namespace muster::rpc {

std::vector<prometheus::MetricFamily> TelemetryCollector::Collect() const {
  const log::OutputStats log = log::TheOutputStats();
  const trace::Counts& trace = trace::TheCounts();
  return {
      Counter("muster_log_lines_total", "Log lines, those that were left out too.", log.lines),
      Counter("muster_log_lines_left_out_total",
              "Log lines that are nowhere: they came faster than they were written, or the disk "
              "refused them.",
              log.left_out),
      Counter("muster_trace_spans_sent_total", "Spans written or sent.", trace.sent.load()),
      Counter("muster_trace_spans_left_out_total",
              "Spans that are nowhere: they came faster than they were sent, or nobody took them.",
              trace.left_out.load())};
}

}  // namespace muster::rpc
