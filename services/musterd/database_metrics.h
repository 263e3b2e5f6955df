#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/common/mutex.h"
#include "services/musterd/conninfo.h"
#include "storage/postgres/connection_pool.h"
#include "storage/postgres/database_observer.h"
#include "storage/postgres/journal_gauge.h"
#include "storage/postgres/lane_db.h"

namespace muster::musterd {

// `muster_database_*`: what happens between this process and the databases of its services, and how
// long their journals are. Thread-safe.
class DatabaseMetrics final : public prometheus::Collectable {
 public:
  explicit DatabaseMetrics(std::shared_ptr<const Conninfo> conninfo);
  ~DatabaseMetrics() override;

  // The observer to be told of all that a service does with its database.
  std::shared_ptr<storage::DatabaseObserver> ObserverOf(const std::string& service);
  // Measures the service's journal now and then, from here on.
  void WatchJournal(const std::string& service, const storage::LaneOptions& lane);
  // The age of the oldest change in the service's journal; nullopt: not known.
  std::optional<absl::Duration> JournalAge(const std::string& service) const;
  // Stops to measure journals. Waits for a measurement under way.
  void StopWatching();

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  class Observer;

  const std::shared_ptr<const Conninfo> conninfo_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<Observer>> observers_ MUSTER_GUARDED_BY(mutex_);
  std::map<std::string, std::unique_ptr<storage::JournalGauge>> journals_ MUSTER_GUARDED_BY(mutex_);
  int64_t journal_keep_ MUSTER_GUARDED_BY(mutex_) = 0;  // of each
};

}  // namespace muster::musterd
