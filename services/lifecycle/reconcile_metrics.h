#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "services/lifecycle/delay_queue.h"
#include "services/lifecycle/lane.h"
#include "services/lifecycle/peer_breaker.h"

namespace muster::lifecycle {

// `muster_lifecycle_*`: what the loop counted, and gauges made from memory at scrape time.
// Thread-safe.
class ReconcileMetrics final : public prometheus::Collectable {
 public:
  // What is read must live until Detach().
  ReconcileMetrics(const Lane* lane, const DelayQueue* due) : lane_(lane), due_(due) {}

  // The lane is going away: from here on nothing is shown.
  void Detach() {
    MutexLock lock(mutex_);
    lane_ = nullptr;
  }

  void PassDone(absl::Duration took);
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

  mutable Mutex mutex_;
  std::vector<std::shared_ptr<const PeerBreaker>> breakers_ MUSTER_GUARDED_BY(mutex_);
  const Lane* lane_ MUSTER_GUARDED_BY(mutex_);
  const DelayQueue* due_ MUSTER_GUARDED_BY(mutex_);

  static constexpr std::array<double, 9> kBuckets = {.001, .005, .01, .025, .05, .1, .5, 1, 5};
  std::array<std::atomic<int64_t>, 9> in_bucket_ = {};
  std::atomic<int64_t> passes_ = 0;
  std::atomic<int64_t> pass_micros_ = 0;
  std::atomic<int64_t> plans_ = 0;
  std::atomic<int64_t> empty_plans_ = 0;
  std::atomic<int64_t> refused_ = 0;
  std::atomic<int64_t> raised_ = 0;
  std::atomic<bool> leading_ = false;
};

}  // namespace muster::lifecycle
