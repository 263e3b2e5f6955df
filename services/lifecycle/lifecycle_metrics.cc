#include "services/lifecycle/lifecycle_metrics.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/lifecycle/core/node_machine.h"

namespace muster::lifecycle {
namespace {

using prometheus::MetricFamily;

// From a simulated boot to a drain of hours.
constexpr double kBuckets[] = {.1,  1,   5,     15,    30,        60,        120,   300,
                               600, 900, 1'800, 3'600, 2 * 3'600, 4 * 3'600, 86'400};

// For the time from a Node's request to its being in service: a second to two hours.
constexpr double kObtainingBuckets[] = {1,   2,   5,   10,    20,    30,    60,
                                        120, 300, 600, 1'200, 1'800, 3'600, 7'200};

constexpr const char* kTargets[] = {reason::kTargetMet,     reason::kUnderTarget,
                                    reason::kOverTarget,    reason::kPendingDelete,
                                    reason::kInternalError, "New"};
// In the order of Reconfiguration::State.
constexpr const char* kReconfigurations[kReconfigurationStates] = {"running", "paused", "halted",
                                                                   "done", "cancelled"};
// States in which a boot can fail.
constexpr NodeState kBootStates[] = {NodeState::kAssigned, NodeState::kBooting,
                                     NodeState::kRegistered, NodeState::kReconfiguring};

std::string NameOf(NodeState state) { return std::string(NodeStateName(state)); }

std::vector<MetricFamily> Nodes(const Census& census, absl::Time now) {
  MetricFamily nodes = rpc::Gauges("muster_lifecycle_nodes", "Nodes by state.");
  MetricFamily oldest = rpc::Gauges(
      "muster_lifecycle_oldest_node_state_seconds",
      "How long the Node that has been in its state for longest has been in it; 0: none is.");
  MetricFamily older =
      rpc::Gauges("muster_lifecycle_nodes_older",
                  "Nodes that have been in their state for longer than so many seconds.");
  for (int i = 0; i < kNodeStates; ++i) {
    const auto state = static_cast<NodeState>(i);
    const NodeCount& count = census.In(state);
    rpc::AddSample(nodes, {{"state", NameOf(state)}}, count.nodes);
    rpc::AddSample(oldest, {{"state", NameOf(state)}},
                   count.nodes == 0 ? 0 : absl::ToDoubleSeconds(now - count.oldest));
    for (size_t age = 0; age < std::size(kCensusAges); ++age) {
      rpc::AddSample(older,
                     {{"state", NameOf(state)},
                      {"than_seconds", absl::StrCat(absl::ToInt64Seconds(kCensusAges[age]))}},
                     count.older[age]);
    }
  }
  MetricFamily awaiting = rpc::Gauges(
      "muster_lifecycle_nodes_awaiting_agent",
      "Nodes that have waited for their agents to boot, reboot or end them for more than 15 "
      "minutes, by zone.");
  for (const auto& [zone, n] : census.awaiting_agent) rpc::AddSample(awaiting, {{"zone", zone}}, n);
  return {std::move(nodes), std::move(oldest), std::move(older), std::move(awaiting)};
}

std::vector<MetricFamily> Pools(const Census& census) {
  MetricFamily at_target =
      rpc::Gauges("muster_lifecycle_pools", "NodePools by reason of their AtTarget condition.");
  auto by_reason = census.pools_at_target;
  for (const char* reason : kTargets) by_reason.try_emplace(reason, 0);
  for (const auto& [reason, n] : by_reason) rpc::AddSample(at_target, {{"at_target", reason}}, n);
  MetricFamily conditions =
      rpc::Gauges("muster_lifecycle_pool_conditions",
                  "NodePools by condition, its status and its reason; only what there is.");
  for (const auto& [key, n] : census.conditions) {
    rpc::AddSample(conditions,
                   {{"condition", key.type}, {"status", key.status}, {"reason", key.reason}}, n);
  }
  MetricFamily reconfigurations =
      rpc::Gauges("muster_lifecycle_reconfigurations",
                  "NodePools by the state of their last order of reconfigure reboots.");
  for (size_t i = 0; i < census.reconfigurations.size(); ++i) {
    rpc::AddSample(reconfigurations, {{"state", kReconfigurations[i]}}, census.reconfigurations[i]);
  }
  return {std::move(at_target), std::move(conditions), std::move(reconfigurations)};
}

std::vector<MetricFamily> Trouble(const Census& census) {
  MetricFamily preempting = rpc::Gauges(
      "muster_lifecycle_preempting_nodes",
      "Nodes that are being preempted: warned (pending), or with their work asked to leave "
      "(draining).");
  rpc::AddSample(preempting, {{"phase", "pending"}}, census.preemptions_pending);
  rpc::AddSample(preempting, {{"phase", "draining"}}, census.preemptions_draining);
  return {std::move(preempting),
          rpc::Gauge("muster_lifecycle_blocked_drains",
                     "Nodes whose drain something blocks, as a Pod's disruption budget.",
                     census.drains_blocked),
          rpc::Gauge("muster_lifecycle_unhealthy_nodes", "Nodes that their agents see unhealthy.",
                     census.nodes_unhealthy)};
}

MetricFamily HistogramOf(const char* name, const char* help, const rpc::Histogram& histogram) {
  MetricFamily family = rpc::Histograms(name, help);
  histogram.AddTo(family, {});
  return family;
}

}  // namespace

std::vector<MetricFamily> FamiliesOf(const Census& census, absl::Time now) {
  std::vector<MetricFamily> families = Pools(census);
  for (auto& family : Nodes(census, now)) families.push_back(std::move(family));
  for (auto& family : Trouble(census)) families.push_back(std::move(family));
  return families;
}

LifecycleMetrics::LifecycleMetrics(const Lane* lane)
    : lane_(lane),
      obtaining_(kObtainingBuckets),
      delivery_(kBuckets),
      boot_(kBuckets),
      reboot_(kBuckets),
      drain_(kBuckets),
      preemption_(kBuckets),
      to_target_(kBuckets) {}

std::shared_ptr<LifecycleMetrics> LifecycleMetrics::Create(Lane* lane) {
  auto metrics = std::shared_ptr<LifecycleMetrics>(new LifecycleMetrics(lane));
  lane->Subscribe(
      [metrics, &clock = lane->clock()](absl::Span<const Revised<State::Change>> changes) {
        metrics->Follow(changes, clock.Now());
      });
  LearnAll(*lane, metrics->nodes_);
  LearnAll(*lane, metrics->pools_);
  return metrics;
}

void LifecycleMetrics::Follow(absl::Span<const Revised<State::Change>> changes, absl::Time now) {
  // The state was loaded anew: a row is known again once it changes.
  if (changes.empty()) {
    nodes_.Forget();
    pools_.Forget();
    times_to_target_.Forget();
  }
  nodes_.Follow(changes, [&](const Node& before, const Node* after) {
    if (after != nullptr) Count(before, *after);
  });
  pools_.Follow(changes, [&](const Pool& before, const Pool* after) {
    if (const auto took = times_to_target_.Follow(before, after, now)) to_target_.Observe(*took);
  });
}

void LifecycleMetrics::Count(const Node& before, const Node& after) {
  const NodeHappening happened = HappenedTo(before, after);
  for (const PreemptionPhase phase : happened.preemption)
    ++preemptions_[static_cast<size_t>(phase)];
  if (!happened.moved) return;
  {
    MutexLock lock(moves_mutex_);
    ++moves_[{before.state, after.state}];
  }
  if (happened.obtained) obtaining_.Observe(*happened.obtained);
  if (happened.delivered) delivery_.Observe(*happened.delivered);
  if (happened.booted) boot_.Observe(*happened.booted);
  if (happened.rebooted) reboot_.Observe(*happened.rebooted);
  if (happened.drained) drain_.Observe(*happened.drained);
  if (happened.preempted) preemption_.Observe(*happened.preempted);
  if (happened.reboot) ++reboots_[static_cast<size_t>(*happened.reboot)];
  if (happened.boot_failed) ++boot_failures_[static_cast<size_t>(before.state)];
}

void LifecycleMetrics::AppendCounters(std::vector<MetricFamily>& families) const {
  MetricFamily moves = rpc::Counters("muster_lifecycle_node_moves_total",
                                     "Changes of a Node's state; only those that happened.");
  {
    MutexLock lock(moves_mutex_);
    for (const auto& [move, n] : moves_)
      rpc::AddSample(moves, {{"from", NameOf(move.first)}, {"to", NameOf(move.second)}}, n);
  }
  MetricFamily preemptions = rpc::Counters(
      "muster_lifecycle_preemptions_total",
      "Nodes that came to a phase of their preemption: warned (pending), their work asked to leave "
      "(draining), gone (done), kept or leaving for another reason (cancelled).");
  for (int i = 0; i < kPreemptionPhases; ++i) {
    rpc::AddSample(preemptions,
                   {{"phase", std::string(PreemptionPhaseName(static_cast<PreemptionPhase>(i)))}},
                   preemptions_[static_cast<size_t>(i)].load());
  }
  MetricFamily reboots = rpc::Counters("muster_lifecycle_reconfigure_reboots_total",
                                       "Reconfigure reboots of Nodes, by what came of them.");
  for (int i = 0; i < kRebootSteps; ++i) {
    rpc::AddSample(reboots, {{"step", std::string(RebootStepName(static_cast<RebootStep>(i)))}},
                   reboots_[static_cast<size_t>(i)].load());
  }
  MetricFamily failures =
      rpc::Counters("muster_lifecycle_boot_failures_total",
                    "Boots that failed or did not end in time, by the Node's state until then.");
  for (const NodeState state : kBootStates) {
    rpc::AddSample(failures, {{"state", NameOf(state)}},
                   boot_failures_[static_cast<size_t>(state)].load());
  }
  for (MetricFamily* family : {&moves, &preemptions, &reboots, &failures})
    families.push_back(std::move(*family));
}

void LifecycleMetrics::AppendHistograms(std::vector<MetricFamily>& families) const {
  families.push_back(HistogramOf(
      "muster_lifecycle_request_to_service_seconds",
      "From when capacity was asked for a Node's machine until the Node is in service: its wait in "
      "the queue, its boot, and machines that failed before it. Nodes that a pool may not have by "
      "its quota are not asked for.",
      obtaining_));
  families.push_back(HistogramOf("muster_lifecycle_delivery_seconds",
                                 "From the grant of a Node's machine until it is in service.",
                                 delivery_));
  families.push_back(HistogramOf("muster_lifecycle_boot_seconds",
                                 "From the order to boot a Node until it is in service.", boot_));
  families.push_back(HistogramOf("muster_lifecycle_reboot_seconds",
                                 "From the order to reboot a Node until it is in service again.",
                                 reboot_));
  families.push_back(HistogramOf(
      "muster_lifecycle_drain_seconds",
      "From the order to drain a Node until its work has left, or its time is over.", drain_));
  families.push_back(HistogramOf("muster_lifecycle_preemption_seconds",
                                 "From the warning of a Node's preemption until it is gone.",
                                 preemption_));
  families.push_back(HistogramOf(
      "muster_lifecycle_time_to_target_seconds",
      "From when a NodePool was seen to come under its target until it met it.", to_target_));
}

std::vector<MetricFamily> LifecycleMetrics::Collect() const {
  Census census;
  absl::Time now;
  const auto count = [&](const Lane& lane) {
    now = lane.clock().Now();
    census = CensusOf(lane, now);
  };
  if (!lane_.Read(count)) return {};
  std::vector<MetricFamily> families = FamiliesOf(census, now);
  AppendCounters(families);
  AppendHistograms(families);
  return families;
}

}  // namespace muster::lifecycle
