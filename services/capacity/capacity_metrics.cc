#include "services/capacity/capacity_metrics.h"

#include <string>
#include <utility>

#include "services/capacity/core/grants.h"
#include "services/capacity/core/machine_state.h"

namespace muster::capacity {
namespace {

using prometheus::MetricFamily;

// From a free machine, which is granted with the request, to a queue of days.
constexpr double kWaitBuckets[] = {.1, 1, 10, 60, 300, 900, 3'600, 4 * 3'600, 86'400, 7 * 86'400};

MetricFamily Machines(const Census& census) {
  MetricFamily family = rpc::Gauges("muster_capacity_machines", "Machines by what they do.");
  for (const auto& [key, counts] : census.machines) {
    for (size_t i = 0; i < counts.by_state.size(); ++i) {
      const absl::string_view state = NameOf(static_cast<MachineState>(i));
      rpc::AddSample(
          family,
          {{"zone", key.first}, {"instance_type", key.second}, {"state", std::string(state)}},
          counts.by_state[i]);
    }
  }
  return family;
}

std::vector<MetricFamily> Claims(const Census& census, absl::Time now) {
  MetricFamily waiting = rpc::Gauges("muster_capacity_waiting_claims",
                                     "Claims (one a pool) that wait for one machine at least.");
  MetricFamily nodes = rpc::Gauges("muster_capacity_waiting_nodes", "Nodes that claims wait for.");
  MetricFamily servable =
      rpc::Gauges("muster_capacity_servable_nodes",
                  "Of the Nodes waited for those of claims that enough free machines match.");
  MetricFamily oldest = rpc::Gauges(
      "muster_capacity_oldest_wait_seconds",
      "For how long the Node that has been waited for longest has been so; 0: none is.");
  for (const auto& [key, count] : census.claims) {
    const rpc::Labels labels = {{"zone", key.zone},
                                {"instance_type", key.instance_type},
                                {"compute_class", std::string(NameOf(key.compute_class))}};
    rpc::AddSample(waiting, labels, count.waiting);
    rpc::AddSample(nodes, labels, count.nodes);
    rpc::AddSample(servable, labels, count.servable);
    rpc::AddSample(oldest, labels,
                   count.waiting == 0 ? 0 : absl::ToDoubleSeconds(now - count.oldest));
  }
  return {std::move(waiting), std::move(nodes), std::move(servable), std::move(oldest)};
}

}  // namespace

std::vector<MetricFamily> FamiliesOf(const Census& census, absl::Time now) {
  std::vector<MetricFamily> families = Claims(census, now);
  families.push_back(Machines(census));
  return families;
}

CapacityMetrics::CapacityMetrics(const Lane* lane)
    : lane_(lane), default_waits_(kWaitBuckets), spot_waits_(kWaitBuckets) {}

std::shared_ptr<CapacityMetrics> CapacityMetrics::Create(Lane* lane) {
  auto metrics = std::shared_ptr<CapacityMetrics>(new CapacityMetrics(lane));
  lane->Subscribe(
      [metrics](absl::Span<const Revised<State::Change>> changes) { metrics->Follow(changes); });
  LearnAll(*lane, metrics->machines_);
  LearnAll(*lane, metrics->claims_);
  return metrics;
}

void CapacityMetrics::Follow(absl::Span<const Revised<State::Change>> changes) {
  // Loaded anew: a row is known again once it changes.
  if (changes.empty()) {
    machines_.Forget();
    claims_.Forget();
  }
  // One by one: when a machine is granted its claim is as it was before.
  for (size_t i = 0; i < changes.size(); ++i) {
    claims_.Follow(changes.subspan(i, 1), [](const ClaimRow&, const ClaimRow*) {});
    machines_.Follow(changes.subspan(i, 1), [&](const MachineRow& before, const MachineRow* after) {
      if (after != nullptr && IsGrant(before, *after)) CountGrant(*after);
    });
  }
}

void CapacityMetrics::CountGrant(const MachineRow& granted) {
  const std::shared_ptr<const ClaimRow> claim = claims_.Find(ClaimName(granted.claim));
  if (claim == nullptr) return;
  (granted.compute_class == ComputeClass::kSpot ? spot_waits_ : default_waits_)
      .Observe(WaitOf(granted, *claim));
}

MetricFamily CapacityMetrics::Waits() const {
  MetricFamily family = rpc::Histograms(
      "muster_capacity_wait_seconds",
      "How long a Node was waited for, from the request, or the loss of its machine, to a grant. "
      "Seen in committed changes: the same on every replica.");
  default_waits_.AddTo(family, {{"compute_class", "default"}});
  spot_waits_.AddTo(family, {{"compute_class", "spot"}});
  return family;
}

std::vector<MetricFamily> CapacityMetrics::Collect() const {
  Census census;
  absl::Time now;
  const auto count = [&](const Lane& lane) {
    now = lane.clock().Now();
    census = CensusOf(lane);
  };
  if (!lane_.Read(count)) return {};
  std::vector<MetricFamily> families = FamiliesOf(census, now);
  families.push_back(Waits());
  return families;
}

}  // namespace muster::capacity
