#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "services/common/clock.h"
#include "services/configuration/store/configuration_store.h"
#include "services/configuration/store/lane.h"

namespace grpc {
class Service;
}
namespace prometheus {
class Collectable;
}

namespace muster::configuration {

class ConfigurationMetrics;
class ReleaseRollout;

// The configuration service: its state, its lane, the handlers of
// muster.configuration.v1.ConfigurationService, and what rolls releases out.
class ConfigurationService {
 public:
  struct Options {
    storage::LaneOptions lane = {};  // connect.schema is `configuration`
    const Clock* clock = nullptr;    // null: the database's; outlives the service
    // Different machines in a row that fail to boot a revision before it is disabled, 1 to 64.
    int boot_failures_to_disable = 3;
    absl::Duration released_keep = kReleasedKeep;  // at least kMinReleasedKeep
    KeepPolicy request_keep = {};                  // keep: at least kMinRequestKeep
  };

  // Loads the state. UNAVAILABLE: the database is away. INVALID_ARGUMENT: an option.
  static absl::StatusOr<std::unique_ptr<ConfigurationService>> Create(Options options);
  ~ConfigurationService();

  // To be registered with a server, which must be down before the service is destroyed.
  grpc::Service* grpc_service() const { return handlers_.get(); }
  Lane& lane() { return *lane_; }
  // `muster_configuration_*`, for an exposer: of rollouts, and of pools and releases. They may
  // outlive the service and are then empty.
  std::shared_ptr<prometheus::Collectable> collectable() const;
  std::shared_ptr<prometheus::Collectable> census_collectable() const;

 private:
  ConfigurationService();

  const std::unique_ptr<const storage::Store<configuration::State>> store_ =
      storage::NewConfigurationStore();
  std::unique_ptr<Lane> lane_;
  std::shared_ptr<ConfigurationMetrics> metrics_;
  std::unique_ptr<ReleaseRollout> rollout_;
  std::unique_ptr<grpc::Service> handlers_;
};

}  // namespace muster::configuration
