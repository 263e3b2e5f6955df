#include "services/kubernetes/core/drain.h"

#include <algorithm>

#include "services/kubernetes/core/text.h"

namespace muster::kubernetes {
namespace {

EvictionMode EvictionModeOf(PodObject::Class kind) {
  switch (kind) {
    case PodObject::Class::kInterruptable:
      return EvictionMode::kAtOnce;
    case PodObject::Class::kGraceful:
      return EvictionMode::kGraceful;
    case PodObject::Class::kGuarded:
    case PodObject::Class::kFixed:
      break;
  }
  return EvictionMode::kEvict;
}

// Whether the Node's drain is that of its preemption.
bool IsPreempted(const lifecycle::v1::Node& node) {
  return node.has_preempt_time() &&
         TimeOf(node.desired().drain_time()) > TimeOf(node.preempt_time());
}

// Whole seconds until the drain's deadline; at least 1, as Kubernetes takes 0 for a deletion by
// force.
int64_t SecondsLeft(const lifecycle::v1::NodeDesired& desired, absl::Duration drained) {
  const absl::Duration in_all = TimeOf(desired.drain_deadline()) - TimeOf(desired.drain_time());
  return std::max<int64_t>(1, (in_all - drained) / absl::Seconds(1));
}

}  // namespace

void DrainTimer::Look(const lifecycle::v1::Node& node, absl::Time now, absl::Duration steady) {
  const absl::Time time = TimeOf(node.desired().drain_time());
  const bool is_first = !drain_time_.has_value();
  if (drain_time_ == time) return;
  drain_time_ = time;
  began_ = is_first ? steady - std::max(absl::ZeroDuration(), now - time) : steady;
}

std::vector<PodEviction> PlanDrain(const lifecycle::v1::Node& node,
                                   const std::vector<PodObject>& pods,
                                   const absl::flat_hash_set<std::string>& asked,
                                   absl::Duration drained) {
  std::vector<PodEviction> plan;
  const lifecycle::v1::NodeDesired& desired = node.desired();
  if (!desired.drain()) return plan;
  const bool preempted = IsPreempted(node);
  for (const PodObject& pod : pods) {
    if (!pod.IsWork()) continue;
    if (desired.force_drain()) {
      plan.push_back({EvictionMode::kForce, &pod});
    } else if (!pod.deleting && !asked.contains(pod.uid)) {
      plan.push_back(preempted
                         ? PodEviction{EvictionMode::kInTime, &pod, SecondsLeft(desired, drained)}
                         : PodEviction{EvictionModeOf(pod.kind), &pod});
    }
  }
  std::stable_sort(plan.begin(), plan.end(),
                   [](const PodEviction& a, const PodEviction& b) { return a.mode < b.mode; });
  return plan;
}

DrainTurn PlanTurn(const std::vector<PodEviction>& plan, const EvictionRetries& retries,
                   absl::Duration steady) {
  // What was refused in one way may be granted in another.
  const auto time_of = [&](const PodEviction& eviction) {
    const auto found = retries.find(eviction.pod->uid);
    return found == retries.end() || found->second.mode != eviction.mode ? -absl::InfiniteDuration()
                                                                         : found->second.time;
  };
  DrainTurn turn;
  for (const PodEviction& eviction : plan) {
    const absl::Duration time = time_of(eviction);
    if (time > steady) {
      turn.next = std::min(turn.next, time);
    } else {
      turn.due.push_back(eviction);
    }
  }
  std::stable_sort(
      turn.due.begin(), turn.due.end(),
      [&](const PodEviction& a, const PodEviction& b) { return time_of(a) < time_of(b); });
  return turn;
}

Json EvictionBody(const PodEviction& eviction) {
  Json options = OptionsToDelete(eviction.pod->uid);
  switch (eviction.mode) {
    case EvictionMode::kAtOnce:
      options["gracePeriodSeconds"] = 1;
      break;
    case EvictionMode::kForce:
      options["gracePeriodSeconds"] = 0;
      break;
    case EvictionMode::kInTime:
      options["gracePeriodSeconds"] = eviction.grace_seconds;
      break;
    case EvictionMode::kGraceful:
      break;
    case EvictionMode::kEvict:
      return {{"apiVersion", "policy/v1"},
              {"kind", "Eviction"},
              {"metadata", {{"name", eviction.pod->name}, {"namespace", eviction.pod->name_space}}},
              {"deleteOptions", std::move(options)}};
  }
  return options;
}

}  // namespace muster::kubernetes
