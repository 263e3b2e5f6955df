#include "services/musterd/lane_metrics.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "services/rpc/metric_family.h"

namespace muster::musterd {
namespace {

using storage::LaneStats;

struct Series {
  const char* name;
  const char* help;
  prometheus::MetricType type;
  int64_t LaneStats::*value;
};

constexpr Series kSeries[] = {
    {"muster_lane_revision", "Revision of the last change that memory shows.",
     prometheus::MetricType::Gauge, &LaneStats::revision},
    {"muster_lane_queued_commands", "Commands that wait to be committed, those under way too.",
     prometheus::MetricType::Gauge, &LaneStats::queued},
    {"muster_lane_watchers", "Watches that are being served.", prometheus::MetricType::Gauge,
     &LaneStats::watchers},
    {"muster_lane_refused_watches_total",
     "Watches that were refused because their callers had not read as much of the snapshots that "
     "their other watches began with as one caller may have waiting (TOO_MANY_WATCHES).",
     prometheus::MetricType::Counter, &LaneStats::refused_watches},
    {"muster_lane_batches_total", "Batches committed.", prometheus::MetricType::Counter,
     &LaneStats::batches},
    {"muster_lane_commands_total", "Commands answered.", prometheus::MetricType::Counter,
     &LaneStats::commands},
    {"muster_lane_done_commands_total",
     "Commands that were committed or refused by their own decision: of those answered, all but "
     "those that failed with their batch.",
     prometheus::MetricType::Counter, &LaneStats::done_commands},
    {"muster_lane_changes_total", "Changes journaled by this process.",
     prometheus::MetricType::Counter, &LaneStats::changes},
    {"muster_lane_failed_batches_total", "Batches that failed as a whole.",
     prometheus::MetricType::Counter, &LaneStats::failed_batches},
    {"muster_lane_retries_total", "Transactions tried again.", prometheus::MetricType::Counter,
     &LaneStats::retries},
    {"muster_lane_in_doubt_total", "Commits whose outcome was unknown at first.",
     prometheus::MetricType::Counter, &LaneStats::in_doubt},
    {"muster_lane_history_replaced_total",
     "Times that memory was loaded anew because the database had lost what it showed.",
     prometheus::MetricType::Counter, &LaneStats::history_replaced},
};

struct AuditSeries {
  const char* suffix;
  const char* help;
  int64_t storage::Auditor::Stats::*value;
};

constexpr AuditSeries kAuditSeries[] = {
    {"audits_total", "Self-audits made.", &storage::Auditor::Stats::audits},
    {"audits_failed_total", "Self-audits that could not be made.",
     &storage::Auditor::Stats::failed},
    {"invariant_violations_total",
     "Violations that self-audits found, counted again in every audit that finds them; of "
     "lifecycle also what belongs to no pool and its service refused to take back.",
     &storage::Auditor::Stats::violations},
};

}  // namespace

std::vector<prometheus::MetricFamily> LaneMetrics::Collect() const {
  std::vector<prometheus::MetricFamily> families;
  for (const Series& series : kSeries)
    families.push_back({series.name, series.help, series.type, {}});
  for (const ServicePart& part : parts_) {
    const LaneStats stats = part.stats();
    for (size_t i = 0; i < std::size(kSeries); ++i) {
      rpc::AddSample(families[i], {{"service", part.name}}, stats.*kSeries[i].value);
    }
  }
  return families;
}

std::vector<prometheus::MetricFamily> AuditMetrics::Collect() const {
  std::vector<prometheus::MetricFamily> families;
  for (const ServicePart& part : parts_) {
    if (!part.audits) continue;
    const storage::Auditor::Stats stats = part.audits();
    for (const AuditSeries& series : kAuditSeries) {
      families.push_back(rpc::Counter(absl::StrCat("muster_", part.name, "_", series.suffix),
                                      series.help, stats.*series.value));
    }
  }
  return families;
}

}  // namespace muster::musterd
