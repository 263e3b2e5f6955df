#include "services/lifecycle/report_tally.h"

#include <utility>

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

std::vector<prometheus::MetricFamily> ReportTally::Collect() const {
  prometheus::MetricFamily family{"muster_lifecycle_reports_total",
                                  "Reports of agents, by what came of them: accepted, "
                                  "unknown_node, does_not_fit (the Node is in "
                                  "another state, or another one of that name), failed.",
                                  prometheus::MetricType::Counter,
                                  {}};
  MutexLock lock(mutex_);
  for (size_t i = 0; i < counts_.size(); ++i) {
    prometheus::ClientMetric metric;
    metric.label = {{"result", kNames[i]}};
    metric.counter.value = static_cast<double>(counts_[i]);
    family.metric.push_back(std::move(metric));
  }
  return {family};
}

}  // namespace muster::lifecycle
