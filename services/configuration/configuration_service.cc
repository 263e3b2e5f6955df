#include "services/configuration/configuration_service.h"

#include <utility>

#include "services/common/status_macros.h"
#include "services/configuration/handlers.h"

namespace muster::configuration {

ConfigurationService::ConfigurationService() = default;
ConfigurationService::~ConfigurationService() = default;

absl::StatusOr<std::unique_ptr<ConfigurationService>> ConfigurationService::Create(
    Options options) {
  auto service = std::unique_ptr<ConfigurationService>(new ConfigurationService());
  ASSIGN_OR_RETURN(service->lane_,
                   Lane::Create(std::move(options.lane), &service->store_, options.clock));
  service->handlers_ = std::make_unique<Handlers>(service->lane_.get());
  return service;
}

}  // namespace muster::configuration
