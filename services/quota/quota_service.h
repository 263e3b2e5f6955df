#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "services/common/clock.h"
#include "services/common/cpu_share.h"
#include "services/quota/store/lane.h"
#include "services/quota/store/quota_store.h"
#include "storage/postgres/auditor.h"

namespace grpc {
class Service;
}
namespace prometheus {
class Collectable;
}

namespace muster::quota {

class OverrideTimer;
class QuotaMetrics;

// The quota service: its state, its lane, the handlers of muster.quota.v1.QuotaService, and the
// timer that lets overrides come into force and lapse.
class QuotaService {
 public:
  struct Options {
    storage::LaneOptions lane = {};  // connect.schema is `quota`
    const Clock* clock = nullptr;    // null: the database's; outlives the service
    absl::Duration audit_interval = absl::Minutes(5);
    std::shared_ptr<CpuShare> cpu = {};  // of all slow work of the process; null: there is no other
    absl::Duration released_keep = kReleasedKeep;  // at least kMinReleasedKeep
    KeepPolicy request_keep = {};                  // keep: at least kMinRequestKeep
    int metrics_organizations = 0;  // how many metrics name, 0 to kMaxMetricsOrganizations
  };

  // Loads the state. UNAVAILABLE: the database is away. INVALID_ARGUMENT: an option.
  static absl::StatusOr<std::unique_ptr<QuotaService>> Create(Options options);
  ~QuotaService();

  // To be registered with a server, which must be down before the service is destroyed.
  grpc::Service* grpc_service() const { return handlers_.get(); }
  Lane& lane() { return *lane_; }
  storage::Auditor& auditor() { return *auditor_; }
  // `muster_quota_*`, for an exposer; it may outlive the service and is then empty.
  std::shared_ptr<prometheus::Collectable> collectable() const;

 private:
  QuotaService();

  const std::unique_ptr<const storage::Store<quota::State>> store_ = storage::NewQuotaStore();
  std::unique_ptr<Lane> lane_;
  std::shared_ptr<QuotaMetrics> metrics_;
  std::unique_ptr<OverrideTimer> override_timer_;
  std::unique_ptr<storage::Auditor> auditor_;
  std::unique_ptr<grpc::Service> handlers_;
};

}  // namespace muster::quota
