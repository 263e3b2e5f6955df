#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <array>
#include <cstdint>
#include <vector>

#include "services/common/mutex.h"
#include "services/lifecycle/core/books_memory.h"
#include "storage/postgres/auditor.h"

namespace muster::lifecycle {

// The service that keeps something of a pool which does not exist.
enum class Keeper { kQuota, kCapacity, kConfiguration };
inline constexpr int kKeepers = 3;

// `muster_lifecycle_orphans*` and `muster_lifecycle_books_*`. Gauges: what the leader's last round
// over the books showed; 0 on the other replicas. Counters: of this replica since its start.
// Thread-safe.
class BooksMetrics final : public prometheus::Collectable {
 public:
  // A round has read the books.
  void Found(const Books& books, const std::vector<BooksMemory::Standing>& standing, bool withheld);
  void Failed();
  void Released(Keeper keeper);
  // Something was to be released, and its service refused.
  void NotReleased();
  // Another replica leads.
  void Clear();

  // The rounds as audits. Violations: differences that stand, apart from orphans; and orphans that
  // a service refused to take back.
  storage::Auditor::Stats stats() const;
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  mutable Mutex mutex_;
  std::array<int64_t, kKeepers> orphans_ MUSTER_GUARDED_BY(mutex_) = {};
  std::array<int64_t, kKeepers> released_ MUSTER_GUARDED_BY(mutex_) = {};
  std::array<int64_t, kDifferenceKinds> differences_ MUSTER_GUARDED_BY(mutex_) = {};
  bool withheld_ MUSTER_GUARDED_BY(mutex_) = false;
  storage::Auditor::Stats stats_ MUSTER_GUARDED_BY(mutex_) = {};
};

}  // namespace muster::lifecycle
