#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "services/common/clock.h"
#include "services/configuration/core/state.h"
#include "storage/configuration/configuration_store.h"
#include "storage/postgres/lane.h"

namespace grpc {
class Service;
}

namespace muster::configuration {

using Lane = storage::CommitLane<State>;

// The configuration service: its state, its lane, and the handlers of
// muster.configuration.v1.ConfigurationService.
class ConfigurationService {
 public:
  struct Options {
    storage::LaneOptions lane = {};  // connect.schema is `configuration`
    const Clock* clock = nullptr;    // outlives the service
  };

  // Loads the state. UNAVAILABLE: the database is away.
  static absl::StatusOr<std::unique_ptr<ConfigurationService>> Create(Options options);
  ~ConfigurationService();

  // To be registered with a server, which must be down before the service is destroyed.
  grpc::Service* grpc_service() const { return handlers_.get(); }
  Lane& lane() { return *lane_; }

 private:
  ConfigurationService();

  storage::PostgresConfigurationStore store_;
  std::unique_ptr<Lane> lane_;
  std::unique_ptr<grpc::Service> handlers_;
};

}  // namespace muster::configuration
