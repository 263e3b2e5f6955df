#include "services/lifecycle/books_metrics.h"

#include <string>
#include <utility>

namespace muster::lifecycle {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr const char* kKeeperNames[kKeepers] = {"quota", "capacity", "configuration"};

template <size_t n>
MetricFamily Family(const char* name, const char* help, MetricType type, const char* label,
                    const std::array<int64_t, n>& values,
                    const std::array<std::string, n>& labels) {
  MetricFamily family{name, help, type, {}};
  for (size_t i = 0; i < n; ++i) {
    ClientMetric metric;
    metric.label = {{label, labels[i]}};
    (type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) =
        static_cast<double>(values[i]);
    family.metric.push_back(std::move(metric));
  }
  return family;
}

}  // namespace

void BooksMetrics::Found(const Books& books, const std::vector<BooksMemory::Standing>& standing,
                         bool withheld) {
  std::array<int64_t, kKeepers> orphans = {};
  for (const Difference& difference : Differences(books)) {
    if (difference.kind == DifferenceKind::kOrphanHolding) ++orphans[0];
    if (difference.kind == DifferenceKind::kOrphanClaim) ++orphans[1];
    if (difference.kind == DifferenceKind::kOrphanConfiguration) ++orphans[2];
  }
  MutexLock lock(mutex_);
  orphans_ = orphans;
  differences_ = {};
  for (const auto& stood : standing) ++differences_[static_cast<size_t>(stood.difference.kind)];
  withheld_ = withheld;
  ++stats_.audits;
  stats_.violations += static_cast<int64_t>(standing.size());
}

void BooksMetrics::Failed() {
  MutexLock lock(mutex_);
  ++stats_.failed;
}

void BooksMetrics::Released(Keeper keeper) {
  MutexLock lock(mutex_);
  ++released_[static_cast<size_t>(keeper)];
}

void BooksMetrics::Clear() {
  MutexLock lock(mutex_);
  orphans_ = {};
  differences_ = {};
  withheld_ = false;
}

storage::Auditor::Stats BooksMetrics::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

std::vector<MetricFamily> BooksMetrics::Collect() const {
  std::array<std::string, kKeepers> keepers;
  for (size_t i = 0; i < keepers.size(); ++i) keepers[i] = kKeeperNames[i];
  std::array<std::string, kDifferenceKinds> kinds;
  for (size_t i = 0; i < kinds.size(); ++i)
    kinds[i] = std::string(DifferenceKindName(static_cast<DifferenceKind>(i)));
  MutexLock lock(mutex_);
  ClientMetric withheld;
  withheld.gauge.value = withheld_ ? 1 : 0;
  return {
      Family("muster_lifecycle_orphans",
             "Holdings, claims and configurations of pools that do not exist.", MetricType::Gauge,
             "service", orphans_, keepers),
      Family("muster_lifecycle_orphans_released_total",
             "Holdings, claims and configurations given back because their pool does not exist.",
             MetricType::Counter, "service", released_, keepers),
      {"muster_lifecycle_orphans_withheld",
       "1 while orphans are so many that none is given back: see --orphan_mass_percent.",
       MetricType::Gauge,
       {std::move(withheld)}},
      Family("muster_lifecycle_books_differences",
             "Differences between the books of the services that stand, by kind.",
             MetricType::Gauge, "kind", differences_, kinds),
  };
}

}  // namespace muster::lifecycle
