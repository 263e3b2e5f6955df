#pragma once

#include <prometheus/collectable.h>

#include <memory>

#include "absl/status/statusor.h"
#include "services/lifecycle/options.h"
#include "services/lifecycle/peers/peers.h"
#include "services/lifecycle/store/lane.h"
#include "services/lifecycle/store/lifecycle_store.h"
#include "storage/postgres/auditor.h"

namespace grpc {
class Service;
}

namespace muster::lifecycle {

class BooksAuditor;
class CatalogueMirror;
class LifecycleMetrics;
class OrphanCollector;
class Reconciler;
class Handlers;

// The lifecycle service: its state, its lane, the handlers of muster.lifecycle.v1.LifecycleService,
// and the reconcile loop.
class LifecycleService {
 public:
  using Options = lifecycle::Options;

  // Loads the state. UNAVAILABLE: the database is away. INVALID_ARGUMENT: an option.
  static absl::StatusOr<std::unique_ptr<LifecycleService>> Create(Options options);
  ~LifecycleService();

  // To be registered with a server, which must be down before the service is destroyed.
  grpc::Service* grpc_service() const;
  Lane& lane() { return *lane_; }
  // `muster_lifecycle_*`.
  std::shared_ptr<prometheus::Collectable> collectable() const;
  std::shared_ptr<prometheus::Collectable> census_collectable() const;
  std::shared_ptr<prometheus::Collectable> books_collectable() const;
  std::shared_ptr<prometheus::Collectable> reports_collectable() const;
  // Of the audits of the four services' books that this replica made while it led.
  storage::Auditor::Stats audit_stats() const;
  // Audits the books when asked, from StartReconciling on.
  BooksAuditor& books_auditor() { return *auditor_; }
  // The number of this replica's lead; 0: it does not lead.
  int64_t epoch() const;
  // True when no replica has led for a while.
  bool leaderless() const;

  // Starts to follow the catalogue and to reconcile; to be called once the server takes calls.
  // INVALID_ARGUMENT: a channel is missing.
  absl::Status StartReconciling(const Peers& peers);
  // Ends what StartReconciling began, but for the answers to calls that have to ask the other
  // services: a replica that drains gives them still. Idempotent.
  void StopReconciling();
  // Ends those, too: nothing is asked of the other services any more. Idempotent.
  void StopAdvising();

 private:
  explicit LifecycleService(Options options);

  const Options options_;
  const std::unique_ptr<const storage::Store<lifecycle::State>> store_ =
      storage::NewLifecycleStore();
  std::unique_ptr<Lane> lane_;
  std::shared_ptr<LifecycleMetrics> metrics_;
  std::unique_ptr<Handlers> handlers_;
  std::shared_ptr<CatalogueMirror> catalogue_;
  std::unique_ptr<Reconciler> reconciler_;
  std::unique_ptr<OrphanCollector> orphans_;
  std::unique_ptr<BooksAuditor> auditor_;
};

}  // namespace muster::lifecycle
