#include "services/lifecycle/reconcile/books_metrics.h"

#include <string>

#include "services/rpc/metric_family.h"

namespace muster::lifecycle {
namespace {

using prometheus::MetricFamily;

constexpr const char* kKeeperNames[kKeepers] = {"quota", "capacity", "configuration"};

// Adds a sample for each value, with the label's value from the same place of `labels`.
template <size_t n>
MetricFamily Filled(MetricFamily family, const char* label, const std::array<int64_t, n>& values,
                    const std::array<std::string, n>& labels) {
  for (size_t i = 0; i < n; ++i) rpc::AddSample(family, {{label, labels[i]}}, values[i]);
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
  for (const auto& stood : standing) {
    ++differences_[static_cast<size_t>(stood.difference.kind)];
    // An orphan is no violation: it is given back, or it is withheld, which has an alert of its
    // own.
    if (!IsOrphan(stood.difference.kind)) ++stats_.violations;
  }
  withheld_ = withheld;
  ++stats_.audits;
}

void BooksMetrics::NotReleased() {
  MutexLock lock(mutex_);
  ++stats_.violations;
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
  return {
      Filled(rpc::Gauges("muster_lifecycle_orphans",
                         "Holdings, claims and configurations of pools that do not exist."),
             "service", orphans_, keepers),
      Filled(rpc::Counters("muster_lifecycle_orphans_released_total",
                           "Holdings, claims and configurations given back because their pool "
                           "does not exist."),
             "service", released_, keepers),
      rpc::Gauge(
          "muster_lifecycle_orphans_withheld",
          "1 while orphans are kept: they are so many that none is given back, or were asked for "
          "before lifecycle was restored to a past. See --orphan_mass_percent.",
          withheld_ ? 1 : 0),
      Filled(rpc::Gauges("muster_lifecycle_books_differences",
                         "Differences between the books of the services that stand, by kind."),
             "kind", differences_, kinds),
  };
}

}  // namespace muster::lifecycle
