#include "services/configuration/configuration_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/configuration/configuration_metrics.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/handlers.h"
#include "services/configuration/release_rollout.h"

namespace muster::configuration {

ConfigurationService::ConfigurationService() = default;
ConfigurationService::~ConfigurationService() {
  if (metrics_ != nullptr) metrics_->Detach();
}

absl::StatusOr<std::unique_ptr<ConfigurationService>> ConfigurationService::Create(
    Options options) {
  const int threshold = options.boot_failures_to_disable;
  if (threshold < 1 || threshold > static_cast<int>(kMaxFailedMachines)) {
    return error::InvalidField("boot_failures_to_disable",
                               absl::StrCat("must be 1 to ", kMaxFailedMachines, "."));
  }
  RETURN_IF_ERROR(CheckReleasedKeep(options.released_keep));
  RETURN_IF_ERROR(CheckKeepPolicy(options.request_keep));
  auto service = std::unique_ptr<ConfigurationService>(new ConfigurationService());
  ASSIGN_OR_RETURN(service->lane_,
                   Lane::Create(std::move(options.lane), service->store_.get(), options.clock));
  service->metrics_ = std::make_shared<ConfigurationMetrics>(service->lane_.get());
  service->rollout_ = std::make_unique<ReleaseRollout>(service->lane_.get());
  service->handlers_ = std::make_unique<Handlers>(
      rpc::Writer<Lane>{service->lane_.get(), options.request_keep},
      Policy{.boot_failures_to_disable = threshold, .released_keep = options.released_keep});
  return service;
}

std::shared_ptr<prometheus::Collectable> ConfigurationService::collectable() const {
  return rollout_->collectable();
}

std::shared_ptr<prometheus::Collectable> ConfigurationService::census_collectable() const {
  return metrics_;
}

}  // namespace muster::configuration
