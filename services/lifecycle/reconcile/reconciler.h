#pragma once

#include <prometheus/collectable.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/common/stopper.h"
#include "services/lifecycle/core/plan.h"
#include "services/lifecycle/peers/catalogue_mirror.h"
#include "services/lifecycle/peers/known_claims.h"
#include "services/lifecycle/peers/peer_client.h"
#include "services/lifecycle/peers/peers.h"
#include "services/lifecycle/reconcile/delay_queue.h"
#include "services/lifecycle/reconcile/lease_holder.h"
#include "services/lifecycle/reconcile/options.h"
#include "services/lifecycle/reconcile/peer_watches.h"
#include "services/lifecycle/reconcile/pool_pace.h"
#include "services/lifecycle/reconcile/reconcile_metrics.h"
#include "services/lifecycle/reconcile/restate_schedule.h"
#include "services/lifecycle/reconcile/settled_pools.h"
#include "services/lifecycle/store/lane.h"

namespace muster::lifecycle {

// The reconcile loop (design 3). A thread of its own takes due pools in batches, asks the other
// services, plans, and hands each pool's plan to the lane. Only the replica that holds the lease
// plans; the epoch in each plan keeps a replica that was frozen meanwhile from writing. Nothing
// here must last: what is due follows from the rows.
class Reconciler {
 public:
  // Subscribes to the lane's changes; to be made before the lane's first Submit.
  // `lane` outlives the reconciler. `heartbeat`: the database of the lease's heartbeat.
  Reconciler(LoopOptions options, Lane* lane, const storage::ConnectOptions& heartbeat);
  ~Reconciler();

  // Starts. `catalogue` must be started; CatalogueChanged is to be called when it changes.
  void Start(const Peers& peers, std::shared_ptr<const CatalogueMirror> catalogue);
  // Ends the threads, gives up the lease. Idempotent.
  void Stop();

  void CatalogueChanged(const CatalogueMirror::Concerns& concerns);
  std::shared_ptr<prometheus::Collectable> collectable() const { return metrics_; }
  // The epoch under which this replica leads; 0: it does not.
  int64_t epoch() const { return lease_->epoch(); }
  // True when no replica has led for a while.
  bool leaderless() const { return lease_->facts().leaderless; }
  // A function that tells whether a replica reconciles; it may be called even after this is
  // destroyed.
  std::function<LoopFacts()> loop_facts() const {
    return [lease = lease_] { return lease->facts(); };
  }
  // A function that returns Snapshot::obtainable of a pool; from any thread, even after this is
  // destroyed. To be called after Start.
  std::function<std::optional<int64_t>(const Pool&)> obtainable() const {
    return [watches = watches_](const Pool& pool) { return watches->Obtainable(pool); };
  }

 private:
  void Loop();
  // Has quota charge all pools for what they were charged for already, before more is asked for
  // any: a quota that was restored to a past would else grant to others what it has forgotten.
  // While quota is away this is tried again (RestateSchedule), and passes go on without it.
  void Restate();
  // Of these pools. False: quota is away. `fails`: at how many single pools it has failed; at more
  // than a few it counts as away.
  bool RestateSome(absl::Span<PoolPass> passes, int& fails);
  // While that is to be tried again: takes it as not answered if a pass would ask quota for more.
  void HoldBack(absl::Span<PoolPass> passes);
  void Pass(const std::vector<std::string>& names);
  void AskServices(std::vector<PoolPass>& passes);
  // Empty, too, when the database's history was replaced since this replica took the lead.
  std::vector<PoolPass> BeginPasses(const std::vector<std::string>& names) const;
  void TellRaised(const Pool& pool, const PoolPlan& plan) const;
  // Submits the plans and waits until they are committed or refused, for a bounded time.
  void SubmitPlans(const std::vector<PoolPass>& passes, std::vector<PoolPlan>& plans);

  void LeadChanged(bool leads);
  void MakeAllDue();
  // While this replica does not lead: forgets what it knew as the leader, and clears the queue,
  // because all pools become due when it comes to lead.
  void ForgetLead();
  // When the pool is to be looked at again at the latest; differs by pool, so that not all come at
  // once.
  absl::Duration Spread(absl::string_view pool) const;

  const LoopOptions options_;
  Lane& lane_;
  const std::shared_ptr<DelayQueue> due_;        // the lane's subscription keeps it
  const std::shared_ptr<SettledPools> settled_;  // likewise
  const std::shared_ptr<PoolPace> pace_;         // likewise
  const std::shared_ptr<ReconcileMetrics> metrics_;
  const std::shared_ptr<LeaseHolder> lease_;
  std::unique_ptr<PeerClient> peer_client_;
  std::shared_ptr<PeerWatches> watches_;
  std::shared_ptr<const CatalogueMirror> catalogue_;
  std::atomic<bool> restates_ = true;    // Restate is to be called before the next pass
  std::atomic<bool> lead_lost_ = false;  // since the thread last looked
  RestateSchedule restate_schedule_;     // the thread's alone
  std::set<std::string> held_back_;      // likewise; pools that quota was not asked for
  KnownClaims known_claims_;             // likewise
  Stopper stopper_;
  std::thread thread_;
};

}  // namespace muster::lifecycle
