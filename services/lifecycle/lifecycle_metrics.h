#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "services/common/detachable.h"
#include "services/common/mutex.h"
#include "services/common/row_follower.h"
#include "services/lifecycle/core/census.h"
#include "services/lifecycle/core/happenings.h"
#include "services/lifecycle/store/lane.h"
#include "services/rpc/metric_family.h"

namespace muster::lifecycle {

// The census as metric families.
std::vector<prometheus::MetricFamily> FamiliesOf(const Census& census, absl::Time now);

// `muster_lifecycle_*` of pools and Nodes. Gauges are counted from memory at scrape time, a piece
// at a time, so that no commit waits; counters and histograms follow the committed changes, whoever
// made them. Every replica counts the same changes since its own start: take the maximum over
// replicas, not the sum. Thread-safe.
class LifecycleMetrics final : public prometheus::Collectable {
 public:
  // Follows the lane's changes: to be created before its first Submit. The lane must live until
  // Detach().
  static std::shared_ptr<LifecycleMetrics> Create(Lane* lane);

  // The lane is going away: from here on nothing is shown.
  void Detach() { lane_.Detach(); }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  using Counter = std::atomic<int64_t>;
  using Move = std::pair<NodeState, NodeState>;

  explicit LifecycleMetrics(const Lane* lane);
  // `now`: when the changes were committed, by the lane's clock.
  void Follow(absl::Span<const Revised<State::Change>> changes, absl::Time now);
  void Count(const Node& before, const Node& after);
  void AppendCounters(std::vector<prometheus::MetricFamily>& families) const;
  void AppendHistograms(std::vector<prometheus::MetricFamily>& families) const;

  Detachable<Lane> lane_;
  RowFollower<Node> nodes_;
  RowFollower<Pool> pools_;
  TimesToTarget times_to_target_;  // of the lane's thread
  rpc::Histogram obtaining_;
  rpc::Histogram delivery_;
  rpc::Histogram boot_;
  rpc::Histogram reboot_;
  rpc::Histogram drain_;
  rpc::Histogram preemption_;
  rpc::Histogram to_target_;
  std::array<Counter, kPreemptionPhases> preemptions_ = {};
  std::array<Counter, kRebootSteps> reboots_ = {};
  std::array<Counter, kNodeStates> boot_failures_ = {};
  mutable Mutex moves_mutex_;
  std::map<Move, int64_t> moves_ MUSTER_GUARDED_BY(moves_mutex_);
};

}  // namespace muster::lifecycle
