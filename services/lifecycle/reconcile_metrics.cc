#include "services/lifecycle/reconcile_metrics.h"

#include <limits>
#include <map>
#include <string>
#include <utility>

#include "services/common/condition_names.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/node_machine.h"

namespace muster::lifecycle {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr const char* kTargets[] = {"TargetMet",
                                    reason::kUnderTarget,
                                    reason::kOverTarget,
                                    reason::kPendingDelete,
                                    reason::kInternalError,
                                    "New"};

ClientMetric Gauge(std::vector<ClientMetric::Label> labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  return metric;
}

ClientMetric Counter(std::vector<ClientMetric::Label> labels, int64_t value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = static_cast<double>(value);
  return metric;
}

}  // namespace

void ReconcileMetrics::PassDone(absl::Duration took) {
  ++passes_;
  pass_micros_ += absl::ToInt64Microseconds(took);
  const double seconds = absl::ToDoubleSeconds(took);
  for (size_t i = 0; i < kBuckets.size(); ++i) {
    if (seconds <= kBuckets[i]) ++in_bucket_[i];
  }
}

MetricFamily ReconcileMetrics::CollectBreakers() const {
  MetricFamily family{"muster_lifecycle_peer_breaker",
                      "1 at the state of the breaker of each service that lifecycle asks.",
                      MetricType::Gauge,
                      {}};
  MutexLock lock(mutex_);
  for (const auto& breaker : breakers_) {
    for (int i = 0; i < PeerBreaker::kStates; ++i) {
      const auto state = static_cast<PeerBreaker::State>(i);
      family.metric.push_back(
          Gauge({{"peer", breaker->peer()}, {"state", std::string(PeerBreakerStateName(state))}},
                breaker->state() == state ? 1 : 0));
    }
  }
  return family;
}

std::vector<MetricFamily> ReconcileMetrics::Collect() const {
  std::map<std::string, double> pools;
  std::map<std::string, double> nodes;
  for (const char* reason : kTargets) pools[reason] = 0;
  for (int i = 0; i < kNodeStates; ++i) {
    nodes[std::string(NodeStateName(static_cast<NodeState>(i)))] = 0;
  }
  DelayQueue::Stats due;
  {
    MutexLock lock(mutex_);
    if (lane_ == nullptr) return {};
    due = due_->stats();
    lane_->Peek([&](const State& state, int64_t) {
      for (const auto& [key, pool] : state.table<Pool>().rows()) {
        const std::string reason(ReasonOf(pool.row->status.conditions, condition::kAtTarget));
        ++pools[reason.empty() ? "New" : reason];
      }
      for (const auto& [key, node] : state.table<Node>().rows()) {
        ++nodes[std::string(NodeStateName(node.row->state))];
      }
    });
  }
  MetricFamily at_target{"muster_lifecycle_pools",
                         "NodePools by reason of their AtTarget condition.",
                         MetricType::Gauge,
                         {}};
  for (const auto& [reason, n] : pools)
    at_target.metric.push_back(Gauge({{"at_target", reason}}, n));
  MetricFamily states{"muster_lifecycle_nodes", "Nodes by state.", MetricType::Gauge, {}};
  for (const auto& [state, n] : nodes) states.metric.push_back(Gauge({{"state", state}}, n));

  ClientMetric duration;
  duration.histogram.sample_count = static_cast<uint64_t>(passes_.load());
  duration.histogram.sample_sum = static_cast<double>(pass_micros_) / 1e6;
  for (size_t i = 0; i < kBuckets.size(); ++i) {
    duration.histogram.bucket.push_back({static_cast<uint64_t>(in_bucket_[i].load()), kBuckets[i]});
  }
  duration.histogram.bucket.push_back(
      {static_cast<uint64_t>(passes_.load()), std::numeric_limits<double>::infinity()});

  return {
      std::move(at_target),
      std::move(states),
      {"muster_lifecycle_leading",
       "1 while this replica reconciles.",
       MetricType::Gauge,
       {Gauge({}, leading_ ? 1 : 0)}},
      {"muster_lifecycle_scheduled_pools",
       "Pools that have a time at which they are looked at.",
       MetricType::Gauge,
       {Gauge({}, static_cast<double>(due.scheduled))}},
      {"muster_lifecycle_due_pools",
       "Pools that wait to be looked at now.",
       MetricType::Gauge,
       {Gauge({}, static_cast<double>(due.due))}},
      {"muster_lifecycle_oldest_due_seconds",
       "For how long the pool that became due first has been waiting to be looked at.",
       MetricType::Gauge,
       {Gauge({}, absl::ToDoubleSeconds(due.oldest_due))}},
      {"muster_lifecycle_plans_total",
       "Plans made, by what came of them.",
       MetricType::Counter,
       {Counter({{"result", "empty"}}, empty_plans_), Counter({{"result", "submitted"}}, plans_),
        Counter({{"result", "refused"}}, refused_)}},
      {"muster_lifecycle_generations_raised_total",
       "Pools whose rows were behind what a service knew of their requests.",
       MetricType::Counter,
       {Counter({}, raised_)}},
      CollectBreakers(),
      {"muster_lifecycle_pass_duration_seconds",
       "How long a pass over a batch of pools took.",
       MetricType::Histogram,
       {std::move(duration)}},
  };
}

}  // namespace muster::lifecycle
