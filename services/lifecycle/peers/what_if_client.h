#pragma once

#include <muster/capacity/v1/capacity_service.grpc.pb.h>
#include <muster/lifecycle/v1/lifecycle.pb.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <memory>
#include <set>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/common/from_peer.h"
#include "services/common/latch.h"
#include "services/common/mutex.h"
#include "services/lifecycle/core/snapshot.h"
#include "services/lifecycle/peers/peers.h"

namespace muster::lifecycle {

// What quota said of a charge. `status`: why it did not say, in words for callers
// (services/common/from_peer.h); OK: it did.
struct QuotaTold {
  v1::NodePoolPreview::Quota numbers = {};
  absl::Status status = {};
};

// Asks quota and capacity what would be if, for one pool: nothing is written anywhere. Each call
// blocks for at most about `timeout`, but for the one with a callback. Thread-safe.
class WhatIfClient {
 public:
  explicit WhatIfClient(const Peers& peers);
  // Cancels the calls with callbacks that are under way, and waits for their callbacks.
  ~WhatIfClient();

  // What quota would answer if the pool were to be charged for `charge` Nodes; `delta` is not set.
  // A pool that was released (core/snapshot.h) is refused as POOL_RELEASED, unasked.
  QuotaTold AskQuota(const Pool& pool, int64_t charge, absl::Duration timeout) const;
  // The same; `then` is called once, from another thread or before this returns, and must not
  // block.
  using Told = absl::AnyInvocable<void(QuotaTold)>;
  void AskQuota(const Pool& pool, int64_t charge, absl::Duration timeout, Told then) const;
  // How many machines are free or reclaimable for `nodes` more Nodes of a pool, whoever else waits
  // for them; the place in the queue is not set. `nodes_per_rack`: of its type; 0: not granted by
  // racks.
  v1::NodePoolPreview::Capacity AskPlaces(const Pool& pool, int64_t nodes, int32_t nodes_per_rack,
                                          absl::Duration timeout) const;
  // What is being reclaimed from spot for a pool's claim; empty also when capacity does not answer.
  ReclaimedFor AskReclaimed(const std::string& pool_uid, absl::Duration timeout) const;

 private:
  struct QuotaCall;
  QuotaTold ToldOf(int64_t charge,
                   const absl::StatusOr<quota::v1::CheckQuotaResponse>& response) const;

  const std::unique_ptr<quota::v1::QuotaService::Stub> quota_;
  const std::unique_ptr<capacity::v1::CapacityService::Stub> capacity_;
  mutable muster::error::SilenceLog silence_;
  mutable Mutex mutex_;
  mutable std::set<QuotaCall*> open_ MUSTER_GUARDED_BY(mutex_);
  mutable Latch under_way_;  // likewise, until they are gone
};

}  // namespace muster::lifecycle
