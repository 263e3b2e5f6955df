#include "services/capacity/capacity_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/capacity/capacity_metrics.h"
#include "services/capacity/core/audit.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/core/policy.h"
#include "services/capacity/gang_timer.h"
#include "services/capacity/handlers.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"

namespace muster::capacity {

CapacityService::CapacityService() = default;
CapacityService::~CapacityService() {
  if (metrics_ != nullptr) metrics_->Detach();
}

namespace {

absl::Status CheckPolicy(const Policy& policy) {
  RETURN_IF_ERROR(CheckReleasedKeep(policy.released_keep));
  if (policy.gang_keep < absl::ZeroDuration())
    return error::InvalidField("gang_keep", "must be at least 0.");
  if (policy.preemption_notice < kMinSpotNotice)
    return error::InvalidField(
        "preemption_notice",
        absl::StrCat("must be at least ", absl::FormatDuration(kMinSpotNotice), "."));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<CapacityService>> CapacityService::Create(Options options) {
  const Policy policy{.released_keep = options.released_keep,
                      .gang_keep = options.gang_keep,
                      .preemption_notice = options.preemption_notice};
  RETURN_IF_ERROR(CheckPolicy(policy));
  RETURN_IF_ERROR(CheckKeepPolicy(options.request_keep));
  auto service = std::unique_ptr<CapacityService>(new CapacityService());
  ASSIGN_OR_RETURN(service->lane_,
                   Lane::Create(std::move(options.lane), service->store_.get(), options.clock));
  service->metrics_ = CapacityMetrics::Create(service->lane_.get());
  service->auditor_ = std::make_unique<storage::Auditor>(
      storage::Auditor::Options{.service = "capacity",
                                .interval = options.audit_interval,
                                .audit =
                                    [lane = service->lane_.get()] {
                                      return lane->Audit({.rules = Audit, .parts = IndexParts});
                                    },
                                .cpu = options.cpu});
  service->gang_timer_ = std::make_unique<GangTimer>(service->lane_.get(), policy);
  service->handlers_ = std::make_unique<Handlers>(
      rpc::Writer<Lane>{service->lane_.get(), options.request_keep}, service->auditor_.get(),
      &service->lane_->clock(), policy, options.cpu);
  return service;
}

std::shared_ptr<prometheus::Collectable> CapacityService::collectable() const { return metrics_; }

}  // namespace muster::capacity
