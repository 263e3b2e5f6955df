#include "services/quota/quota_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/quota/core/audit.h"
#include "services/quota/core/limits.h"
#include "services/quota/handlers.h"
#include "services/quota/override_timer.h"
#include "services/quota/quota_metrics.h"

namespace muster::quota {

QuotaService::QuotaService() = default;
QuotaService::~QuotaService() {
  if (metrics_ != nullptr) metrics_->Detach();
}

namespace {

absl::Status CheckMetricsOrganizations(int organizations) {
  if (organizations >= 0 && organizations <= kMaxMetricsOrganizations) return absl::OkStatus();
  return error::InvalidField("metrics_organizations",
                             absl::StrCat("must be 0 to ", kMaxMetricsOrganizations, "."));
}

}  // namespace

absl::StatusOr<std::unique_ptr<QuotaService>> QuotaService::Create(Options options) {
  RETURN_IF_ERROR(CheckReleasedKeep(options.released_keep));
  RETURN_IF_ERROR(CheckKeepPolicy(options.request_keep));
  RETURN_IF_ERROR(CheckMetricsOrganizations(options.metrics_organizations));
  auto service = std::unique_ptr<QuotaService>(new QuotaService());
  ASSIGN_OR_RETURN(service->lane_,
                   Lane::Create(std::move(options.lane), service->store_.get(), options.clock));
  service->auditor_ = std::make_unique<storage::Auditor>(
      storage::Auditor::Options{.service = "quota",
                                .interval = options.audit_interval,
                                .audit =
                                    [lane = service->lane_.get()] {
                                      return lane->Audit({.rules = Audit, .parts = IndexParts});
                                    },
                                .cpu = options.cpu});
  service->override_timer_ = std::make_unique<OverrideTimer>(service->lane_.get());
  service->handlers_ = std::make_unique<Handlers>(
      rpc::Writer<Lane>{service->lane_.get(), options.request_keep}, service->auditor_.get(),
      &service->lane_->clock(), Policy{.released_keep = options.released_keep}, options.cpu);
  service->metrics_ = std::make_shared<QuotaMetrics>(
      service->lane_.get(), static_cast<size_t>(options.metrics_organizations));
  return service;
}

std::shared_ptr<prometheus::Collectable> QuotaService::collectable() const { return metrics_; }

}  // namespace muster::quota
