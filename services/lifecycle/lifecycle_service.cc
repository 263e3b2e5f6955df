#include "services/lifecycle/lifecycle_service.h"

#include <utility>

#include "services/common/status_macros.h"
#include "services/lifecycle/api/advisor.h"
#include "services/lifecycle/api/books_auditor.h"
#include "services/lifecycle/api/handlers.h"
#include "services/lifecycle/lifecycle_metrics.h"
#include "services/lifecycle/peers/catalogue_mirror.h"
#include "services/lifecycle/reconcile/orphan_collector.h"
#include "services/lifecycle/reconcile/reconciler.h"

namespace muster::lifecycle {

LifecycleService::LifecycleService(Options options) : options_(std::move(options)) {}
LifecycleService::~LifecycleService() {
  StopReconciling();
  StopAdvising();
  if (metrics_ != nullptr) metrics_->Detach();
}

absl::StatusOr<std::unique_ptr<LifecycleService>> LifecycleService::Create(Options options) {
  RETURN_IF_ERROR(CheckKeepPolicy(options.request_keep));
  auto service = std::unique_ptr<LifecycleService>(new LifecycleService(std::move(options)));
  ASSIGN_OR_RETURN(service->lane_, Lane::Create(service->options_.lane, service->store_.get(),
                                                service->options_.clock));
  service->metrics_ = LifecycleMetrics::Create(service->lane_.get());
  const Options& all = service->options_;
  service->handlers_ =
      std::make_unique<Handlers>(rpc::Writer<Lane>{service->lane_.get(), all.request_keep},
                                 all.organizations, all.cpu, all.loop.policy);
  service->reconciler_ =
      std::make_unique<Reconciler>(all.loop, service->lane_.get(), all.lane.connect);
  service->orphans_ = std::make_unique<OrphanCollector>(
      OrphanCollector::Options{.lane = service->lane_.get(),
                               .orphans = all.orphans,
                               .cpu = all.cpu,
                               .epoch = [raw = service.get()] { return raw->epoch(); }});
  service->auditor_ =
      std::make_unique<BooksAuditor>(service->lane_.get(), all.orphans.policy, all.cpu);
  return service;
}

grpc::Service* LifecycleService::grpc_service() const { return handlers_.get(); }

std::shared_ptr<prometheus::Collectable> LifecycleService::collectable() const {
  return reconciler_->collectable();
}

std::shared_ptr<prometheus::Collectable> LifecycleService::census_collectable() const {
  return metrics_;
}

std::shared_ptr<prometheus::Collectable> LifecycleService::books_collectable() const {
  return orphans_->collectable();
}

std::shared_ptr<prometheus::Collectable> LifecycleService::reports_collectable() const {
  return handlers_->collectable();
}

storage::Auditor::Stats LifecycleService::audit_stats() const { return orphans_->stats(); }

int64_t LifecycleService::epoch() const { return reconciler_->epoch(); }

bool LifecycleService::leaderless() const { return reconciler_->leaderless(); }

absl::Status LifecycleService::StartReconciling(const Peers& peers) {
  if (peers.quota == nullptr || peers.capacity == nullptr || peers.configuration == nullptr) {
    return absl::InvalidArgumentError("Lifecycle needs channels to its three peers.");
  }
  catalogue_ = std::make_shared<CatalogueMirror>(peers.capacity);
  catalogue_->Start([reconciler = reconciler_.get()](const CatalogueMirror::Concerns& concerns) {
    reconciler->CatalogueChanged(concerns);
  });
  reconciler_->Start(peers, catalogue_);
  handlers_->SetPeers(
      catalogue_, std::make_shared<Advisor>(peers, catalogue_, lane_.get(), options_.loop.policy,
                                            reconciler_->loop_facts(), reconciler_->obtainable()));
  orphans_->Start(peers);
  auditor_->Start(peers);
  return absl::OkStatus();
}

void LifecycleService::StopReconciling() {
  if (auditor_ != nullptr) auditor_->Stop();
  if (orphans_ != nullptr) orphans_->Stop();
  if (catalogue_ != nullptr) catalogue_->Stop();
  if (reconciler_ != nullptr) reconciler_->Stop();
}

void LifecycleService::StopAdvising() {
  if (handlers_ != nullptr) handlers_->SetPeers(catalogue_, nullptr);
}

}  // namespace muster::lifecycle
