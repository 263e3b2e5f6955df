#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <memory>
#include <vector>

#include "services/capacity/core/census.h"
#include "services/capacity/store/lane.h"
#include "services/common/detachable.h"
#include "services/common/row_follower.h"
#include "services/rpc/metric_family.h"

namespace muster::capacity {

// The census as metric families; waits are measured up to `now`.
std::vector<prometheus::MetricFamily> FamiliesOf(const Census& census, absl::Time now);

// The metrics `muster_capacity_*`. Gauges are counted in memory at scrape time, a piece at a time,
// so that no commit waits. The histogram of waits follows the committed changes, whichever replica
// made them: every replica shows the same since its start, so take the maximum, not the sum.
// Thread-safe.
class CapacityMetrics final : public prometheus::Collectable {
 public:
  // Follows the lane's changes: to be made before its first Submit. It must live until Detach().
  static std::shared_ptr<CapacityMetrics> Create(Lane* lane);

  // The lane is going away: from here on nothing is shown.
  void Detach() { lane_.Detach(); }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  explicit CapacityMetrics(const Lane* lane);
  void Follow(absl::Span<const Revised<State::Change>> changes);
  void CountGrant(const MachineRow& granted);
  prometheus::MetricFamily Waits() const;

  Detachable<Lane> lane_;
  RowFollower<MachineRow> machines_;
  RowFollower<ClaimRow> claims_;
  rpc::Histogram default_waits_;
  rpc::Histogram spot_waits_;
};

}  // namespace muster::capacity
