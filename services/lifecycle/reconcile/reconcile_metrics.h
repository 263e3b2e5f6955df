#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "services/common/detachable.h"
#include "services/common/mutex.h"
#include "services/lifecycle/peers/peer_breaker.h"
#include "services/lifecycle/reconcile/delay_queue.h"
#include "services/rpc/metric_family.h"

namespace muster::lifecycle {

// `muster_lifecycle_*` of the reconcile loop. Thread-safe.
class ReconcileMetrics final : public prometheus::Collectable {
 public:
  // The queue must live until Detach().
  ReconcileMetrics(const DelayQueue* due, absl::Duration boot_deadline)
      : due_(due), boot_deadline_(boot_deadline), took_(kBuckets) {}

  // The queue is going away: from here on nothing is shown.
  void Detach() { due_.Detach(); }

  void PassDone(absl::Duration took) { took_.Observe(took); }
  void PlanMade(bool empty) { ++(empty ? empty_plans_ : plans_); }
  void PlanRefused() { ++refused_; }
  void GenerationRaised() { ++raised_; }
  void SetLeading(bool leading) { leading_ = leading; }
  void SetBreakers(std::vector<std::shared_ptr<const PeerBreaker>> breakers) {
    MutexLock lock(mutex_);
    breakers_ = std::move(breakers);
  }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  prometheus::MetricFamily CollectBreakers() const;
  prometheus::MetricFamily CollectUnanswered() const;

  mutable Mutex mutex_;
  std::vector<std::shared_ptr<const PeerBreaker>> breakers_ MUSTER_GUARDED_BY(mutex_);
  Detachable<DelayQueue> due_;
  const absl::Duration boot_deadline_;

  static constexpr double kBuckets[] = {.001, .005, .01, .025, .05, .1, .5, 1, 5, 10, 20, 30};
  rpc::Histogram took_;
  std::atomic<int64_t> plans_ = 0;
  std::atomic<int64_t> empty_plans_ = 0;
  std::atomic<int64_t> refused_ = 0;
  std::atomic<int64_t> raised_ = 0;
  std::atomic<bool> leading_ = false;
};

}  // namespace muster::lifecycle
