#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "services/common/mutex.h"
#include "services/lifecycle/peers/peer_client.h"
#include "services/lifecycle/peers/peers.h"
#include "services/lifecycle/reconcile/change_filter.h"
#include "services/lifecycle/reconcile/delay_queue.h"
#include "services/lifecycle/reconcile/machine_mirror.h"
#include "services/lifecycle/store/lane.h"
#include "services/rpc/client/watch.h"

namespace muster::capacity::v1 {
class WatchCapacityResponse;
}
namespace muster::quota::v1 {
class WatchQuotasResponse;
}

namespace muster::lifecycle {

// Makes all pools due.
void AddAll(const State& state, DelayQueue& due);

// Watches quota, capacity and configuration, and makes the pools due to which a change can matter.
// Every stream begins with a snapshot, each resource of which counts as a change unless it was told
// or answered before (change_filter.h, machine_mirror.h).
class PeerWatches {
 public:
  // `lane` and `due` must outlive it. `quota_in_doubt` is called, from any thread, when a stream of
  // quota has ended and before the next one tells anything: quota may have been restored to a past,
  // and answers requests meanwhile; it shows only at the end of the snapshot.
  PeerWatches(const Peers& peers, const Lane* lane, DelayQueue* due,
              std::function<void()> quota_in_doubt);
  ~PeerWatches();

  void Start();
  // Ends the streams and threads. Idempotent.
  void Stop();

  // Asking: these pools are about to be asked for. Answered: they were, with these answers. What
  // the watches tell meanwhile is no news if the answers show the same.
  void Asking(absl::Span<const PoolPass> passes);
  void Answered(absl::Span<const PoolPass> passes);

  // How many machines the pool holds or could hold; nullopt: not known, or the pool is not
  // autoscaled or is being deleted, so that nobody needs it. Any thread.
  std::optional<int64_t> Obtainable(const Pool& pool) const;

 private:
  rpc::Watch::Options WatchQuotas();
  rpc::Watch::Options WatchClaims();
  rpc::Watch::Options WatchMachines();
  rpc::Watch::Options WatchConfigurations();
  struct MachineNews {
    MachineMirror::InventoryKeys inventories = {};  // where the machines in service have changed
    std::set<std::string> holders = {};             // uids of pools whose own machines changed
  };
  MachineNews MirrorMachines(const capacity::v1::WatchCapacityResponse& message);
  void MachinesMoved(const MachineNews& news);
  // A snapshot is complete: from now on Obtainable is known.
  void MachinesAreKnown();
  // What a change means to the other pools of its Quota.
  enum class QuotaMove { kNone, kLessRoom, kMoreRoom, kLimit };  // the limit: more or less
  QuotaMove MoveOf(const quota::v1::WatchQuotasResponse& change);
  void QuotaMoved(absl::string_view quota, QuotaMove move);

  const Peers peers_;
  const Lane& lane_;
  DelayQueue& due_;
  const std::function<void()> quota_in_doubt_;
  ChangeFilter quota_filter_{true};
  ChangeFilter claim_filter_{false};  // the watch does not show the machines
  ChangeFilter configuration_filter_{true};
  mutable Mutex machines_mutex_;
  MachineMirror machines_ MUSTER_GUARDED_BY(machines_mutex_);
  std::vector<std::unique_ptr<rpc::Watch>> watches_;
};

}  // namespace muster::lifecycle
