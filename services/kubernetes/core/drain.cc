#include "services/kubernetes/core/drain.h"

#include <algorithm>

#include "services/kubernetes/core/text.h"

namespace muster::kubernetes {
namespace {

Parting PartingOf(PodObject::Class kind) {
  switch (kind) {
    case PodObject::Class::kInterruptable:
      return Parting::kAtOnce;
    case PodObject::Class::kGraceful:
      return Parting::kGraceful;
    case PodObject::Class::kGuarded:
    case PodObject::Class::kFixed:
      break;
  }
  return Parting::kEvict;
}

// The drain is that of its preemption.
bool IsPreempted(const lifecycle::v1::Node& node) {
  return node.has_preempt_time() &&
         TimeOf(node.desired().drain_time()) > TimeOf(node.preempt_time());
}

// Until the drain's deadline, whole seconds. Our clock is not Muster's: never more than the drain
// takes, and at least the one second that Kubernetes knows no less than.
int64_t SecondsLeft(const lifecycle::v1::NodeDesired& desired, absl::Time now) {
  const absl::Time begin = std::max(now, TimeOf(desired.drain_time()));
  return std::max<int64_t>(1, (TimeOf(desired.drain_deadline()) - begin) / absl::Seconds(1));
}

}  // namespace

std::vector<Farewell> PlanDrain(const lifecycle::v1::Node& node, const std::vector<PodObject>& pods,
                                const absl::flat_hash_set<std::string>& asked, absl::Time now) {
  std::vector<Farewell> plan;
  const lifecycle::v1::NodeDesired& desired = node.desired();
  if (!desired.drain()) return plan;
  const bool preempted = IsPreempted(node);
  for (const PodObject& pod : pods) {
    if (!pod.IsWork()) continue;
    if (desired.force_drain()) {
      plan.push_back({Parting::kForce, &pod});
    } else if (!pod.deleting && !asked.contains(pod.uid)) {
      plan.push_back(preempted ? Farewell{Parting::kInTime, &pod, SecondsLeft(desired, now)}
                               : Farewell{PartingOf(pod.kind), &pod});
    }
  }
  std::stable_sort(plan.begin(), plan.end(),
                   [](const Farewell& a, const Farewell& b) { return a.parting < b.parting; });
  return plan;
}

Json FarewellBody(const Farewell& farewell) {
  Json options = {{"apiVersion", "v1"},
                  {"kind", "DeleteOptions"},
                  {"preconditions", {{"uid", farewell.pod->uid}}}};
  switch (farewell.parting) {
    case Parting::kAtOnce:
      options["gracePeriodSeconds"] = 1;
      break;
    case Parting::kForce:
      options["gracePeriodSeconds"] = 0;
      break;
    case Parting::kInTime:
      options["gracePeriodSeconds"] = farewell.grace_seconds;
      break;
    case Parting::kGraceful:
      break;
    case Parting::kEvict:
      return {{"apiVersion", "policy/v1"},
              {"kind", "Eviction"},
              {"metadata", {{"name", farewell.pod->name}, {"namespace", farewell.pod->name_space}}},
              {"deleteOptions", std::move(options)}};
  }
  return options;
}

}  // namespace muster::kubernetes
