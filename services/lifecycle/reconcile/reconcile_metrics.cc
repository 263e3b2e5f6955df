#include "services/lifecycle/reconcile/reconcile_metrics.h"

#include <string>
#include <utility>

namespace muster::lifecycle {

using prometheus::MetricFamily;

MetricFamily ReconcileMetrics::CollectBreakers() const {
  MetricFamily family =
      rpc::Gauges("muster_lifecycle_peer_breaker",
                  "1 at the state of the breaker of each service that lifecycle asks.");
  MutexLock lock(mutex_);
  for (const auto& breaker : breakers_) {
    for (int i = 0; i < PeerBreaker::kStates; ++i) {
      const auto state = static_cast<PeerBreaker::State>(i);
      rpc::AddSample(
          family, {{"peer", breaker->peer()}, {"state", std::string(PeerBreakerStateName(state))}},
          breaker->state() == state ? 1 : 0);
    }
  }
  return family;
}

MetricFamily ReconcileMetrics::CollectUnanswered() const {
  MetricFamily family = rpc::Gauges("muster_lifecycle_peer_unanswered_pools",
                                    "Pools that got no answer from that service since it last "
                                    "gave one; 0 while it answers.");
  MutexLock lock(mutex_);
  for (const auto& breaker : breakers_)
    rpc::AddSample(family, {{"peer", breaker->peer()}}, static_cast<double>(breaker->unanswered()));
  return family;
}

std::vector<MetricFamily> ReconcileMetrics::Collect() const {
  DelayQueue::Stats due;
  if (!due_.Read([&](const DelayQueue& queue) { due = queue.stats(); })) return {};
  // A replica that does not lead forgets soon what becomes due there: it is not shown.
  if (!leading_) due = {.scheduled = due.scheduled};
  MetricFamily plans =
      rpc::Counters("muster_lifecycle_plans_total", "Plans made, by what came of them.");
  rpc::AddSample(plans, {{"result", "empty"}}, empty_plans_.load());
  rpc::AddSample(plans, {{"result", "submitted"}}, plans_.load());
  rpc::AddSample(plans, {{"result", "refused"}}, refused_.load());
  MetricFamily took = rpc::Histograms("muster_lifecycle_pass_duration_seconds",
                                      "How long a pass over a batch of pools took.");
  took_.AddTo(took, {});
  return {
      rpc::Gauge("muster_lifecycle_leading", "1 while this replica reconciles.", leading_ ? 1 : 0),
      rpc::Gauge("muster_lifecycle_scheduled_pools",
                 "Pools that have a time at which they are looked at.", due.scheduled),
      rpc::Gauge("muster_lifecycle_due_pools",
                 "Pools that wait to be looked at now; 0 on replicas that do not reconcile.",
                 due.due),
      rpc::Gauge(
          "muster_lifecycle_oldest_due_seconds",
          "For how long the pool that became due first has been waiting to be looked at; 0 on "
          "replicas that do not reconcile.",
          absl::ToDoubleSeconds(due.oldest_due)),
      // For the alert on Nodes that are late.
      rpc::Gauge("muster_lifecycle_boot_deadline_seconds",
                 "How long a boot may take before it counts as failed (--boot_deadline).",
                 absl::ToDoubleSeconds(boot_deadline_)),
      std::move(plans),
      rpc::Counter("muster_lifecycle_generations_raised_total",
                   "Pools whose rows were behind what a service knew of their requests.",
                   raised_.load()),
      CollectBreakers(),
      CollectUnanswered(),
      std::move(took),
  };
}

}  // namespace muster::lifecycle
