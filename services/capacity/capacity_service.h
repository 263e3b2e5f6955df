#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/store/capacity_store.h"
#include "services/capacity/store/lane.h"
#include "services/common/clock.h"
#include "services/common/cpu_share.h"
#include "storage/postgres/auditor.h"

namespace grpc {
class Service;
}
namespace prometheus {
class Collectable;
}

namespace muster::capacity {

class CapacityMetrics;
class GangTimer;

// The capacity service: its state, its lane, the handlers of muster.capacity.v1.CapacityService,
// and the timer that ends the keeping of machines for gangs.
class CapacityService {
 public:
  struct Options {
    storage::LaneOptions lane = {};  // connect.schema is `capacity`
    const Clock* clock = nullptr;    // null: the database's; outlives the service
    absl::Duration audit_interval = absl::Minutes(5);
    std::shared_ptr<CpuShare> cpu = {};  // of all slow work of the process; null: there is no other
    absl::Duration released_keep = kReleasedKeep;    // at least kMinReleasedKeep
    KeepPolicy request_keep = {};                    // keep: at least kMinRequestKeep
    absl::Duration gang_keep = kGangKeep;            // see Policy; at least 0
    absl::Duration preemption_notice = kSpotNotice;  // see Policy; lifecycle must be told the same
  };

  // Loads the state. UNAVAILABLE: the database is away. INVALID_ARGUMENT: an option.
  static absl::StatusOr<std::unique_ptr<CapacityService>> Create(Options options);
  ~CapacityService();

  // To be registered with a server, which must be down before the service is destroyed.
  grpc::Service* grpc_service() const { return handlers_.get(); }
  Lane& lane() { return *lane_; }
  storage::Auditor& auditor() { return *auditor_; }
  // `muster_capacity_*`, for an exposer; it may outlive the service and is then empty.
  std::shared_ptr<prometheus::Collectable> collectable() const;

 private:
  CapacityService();

  const std::unique_ptr<const storage::Store<capacity::State>> store_ = storage::NewCapacityStore();
  std::unique_ptr<Lane> lane_;
  std::shared_ptr<CapacityMetrics> metrics_;
  std::unique_ptr<GangTimer> gang_timer_;
  std::unique_ptr<storage::Auditor> auditor_;
  std::unique_ptr<grpc::Service> handlers_;
};

}  // namespace muster::capacity
