#include "services/lifecycle/api/report_tally.h"

#include <algorithm>
#include <utility>

#include "services/rpc/metric_family.h"

namespace muster::lifecycle {
namespace {

// In the order of ResultOf.
constexpr const char* kNames[] = {"accepted", "unknown_node", "does_not_fit", "failed"};

int ResultOf(const absl::Status& status) {
  if (status.ok()) return 0;
  if (absl::IsNotFound(status)) return 1;
  return absl::IsFailedPrecondition(status) ? 2 : 3;
}

}  // namespace

std::optional<ReportTally::Unknown> ReportTally::Count(const std::vector<absl::Status>& results) {
  MutexLock lock(mutex_);
  for (const absl::Status& status : results) {
    ++counts_[static_cast<size_t>(ResultOf(status))];
    if (!absl::IsNotFound(status)) continue;
    ++unsaid_.reports;
    unsaid_.example = std::string(status.message());
  }
  if (unsaid_.reports == 0 || clock_.Now() - said_ < kLogInterval) return std::nullopt;
  said_ = clock_.Now();
  return std::exchange(unsaid_, Unknown());
}

void ReportTally::Heard(const std::map<std::string, int64_t>& reports_by_zone, absl::Time now) {
  MutexLock lock(mutex_);
  for (const auto& [name, reports] : reports_by_zone) {
    Zone& zone = zones_[name];
    zone.reports += reports;
    zone.last = std::max(zone.last, now);
  }
}

std::vector<prometheus::MetricFamily> ReportTally::Collect() const {
  prometheus::MetricFamily results = rpc::Counters(
      "muster_lifecycle_reports_total",
      "Reports of agents, by what came of them: accepted, unknown_node, does_not_fit (the Node is "
      "in another state, or another one of that name), failed.");
  prometheus::MetricFamily reports = rpc::Counters(
      "muster_lifecycle_agent_reports_total",
      "Reports that this replica had from agents of Nodes of pools in a zone; adapters' "
      "reports do not count.");
  prometheus::MetricFamily last = rpc::Gauges(
      "muster_lifecycle_agent_last_report_timestamp_seconds",
      "When this replica last heard an agent of a zone, in seconds since 1970; a zone is there "
      "once it was heard. Agents do not say who they are: they are told apart by zone only. An "
      "adapter is none: it boots and ends no machines.");
  MutexLock lock(mutex_);
  for (size_t i = 0; i < counts_.size(); ++i)
    rpc::AddSample(results, {{"result", kNames[i]}}, counts_[i]);
  for (const auto& [name, zone] : zones_) {
    rpc::AddSample(reports, {{"zone", name}}, zone.reports);
    rpc::AddSample(last, {{"zone", name}}, absl::ToDoubleSeconds(zone.last - absl::UnixEpoch()));
  }
  return {std::move(results), std::move(reports), std::move(last)};
}

}  // namespace muster::lifecycle
