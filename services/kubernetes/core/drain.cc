#include "services/kubernetes/core/drain.h"

#include <algorithm>

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

}  // namespace

std::vector<Farewell> PlanDrain(const lifecycle::v1::NodeDesired& desired,
                                const std::vector<PodObject>& pods,
                                const absl::flat_hash_set<std::string>& asked) {
  std::vector<Farewell> plan;
  if (!desired.drain()) return plan;
  for (const PodObject& pod : pods) {
    if (!pod.IsWork()) continue;
    if (desired.force_drain()) {
      plan.push_back({Parting::kForce, &pod});
    } else if (!pod.deleting && !asked.contains(pod.uid)) {
      plan.push_back({PartingOf(pod.kind), &pod});
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
