#include "services/quota/quota_service.h"

#include <utility>

#include "services/common/status_macros.h"
#include "services/quota/handlers.h"
#include "services/quota/override_timer.h"

namespace muster::quota {

QuotaService::QuotaService() = default;
QuotaService::~QuotaService() = default;

absl::StatusOr<std::unique_ptr<QuotaService>> QuotaService::Create(Options options) {
  auto service = std::unique_ptr<QuotaService>(new QuotaService());
  ASSIGN_OR_RETURN(service->lane_,
                   Lane::Create(std::move(options.lane), &service->store_, options.clock));
  service->override_timer_ =
      std::make_unique<OverrideTimer>(service->lane_.get(), options.clock);
  service->handlers_ = std::make_unique<Handlers>(service->lane_.get(), options.clock);
  return service;
}

}  // namespace muster::quota
