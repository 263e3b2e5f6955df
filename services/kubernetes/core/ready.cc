#include "services/kubernetes/core/ready.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/kubernetes/core/names.h"

namespace muster::kubernetes {
namespace {

const Json* FindOf(const Json& conditions, absl::string_view type) {
  const auto found = std::find_if(conditions.begin(), conditions.end(),
                                  [&](const Json& it) { return it["type"] == std::string(type); });
  return found == conditions.end() ? nullptr : &*found;
}

Summary NotReady(const std::string& reason, const std::string& message, bool stalled = false) {
  return {"False", reason, message, stalled};
}

Summary OfService(const Service& service) {
  if (service.absent == 0) return {"True", "Ready", "The NodePool is at its target, in service."};
  return NotReady("NodesNotInService",
                  absl::StrCat(service.absent, " of ", service.nodes,
                               service.nodes == 1 ? " Node is" : " Nodes are", " not in service."));
}

// What keeps the pool from being healthy by one of its conditions; nullopt: nothing.
std::optional<Summary> Unhealthy(const StatusFacts& facts, const Json& conditions,
                                 const HealthyCondition& healthy) {
  const Json* condition = FindOf(conditions, healthy.type);
  if (condition == nullptr)
    return Summary{"Unknown", "Unknown", absl::StrCat(healthy.type, " is not known yet.")};
  const std::string reason = (*condition)["reason"];
  if (reason == healthy.reason) return std::nullopt;
  // Who set the server's policies or rights has to mend it.
  if (facts.metadata_refusal && healthy.type == condition::kAtTarget)
    return NotReady(reason, (*condition)["message"], true);
  const bool unknown = (*condition)["status"] == "Unknown";
  return Summary{unknown ? "Unknown" : "False", reason, (*condition)["message"],
                 healthy.stalls && !unknown};
}

}  // namespace

int64_t SummarizedGeneration(const StatusFacts& facts, const Json& conditions) {
  int64_t generation = facts.object->generation;
  for (const HealthyCondition& healthy : kHealthyConditions) {
    const Json* condition = FindOf(conditions, healthy.type);
    if (condition == nullptr) continue;
    generation = std::min(generation, condition->value("observedGeneration", int64_t{0}));
  }
  return facts.refusal ? std::min(facts.object->generation, facts.refusal->generation) : generation;
}

Summary Summarize(const StatusFacts& facts, const Json& conditions) {
  if (facts.object->deleting || (facts.pool != nullptr && facts.pool->has_delete_time()))
    return NotReady(reason::kPendingDelete, "The NodePool is being deleted.");
  if (facts.held) return NotReady(kRemovalsHeld, *facts.held, true);
  if (facts.refusal) return NotReady(reason::kInvalid, facts.refusal->message, true);
  if (SummarizedGeneration(facts, conditions) < facts.object->generation)
    return NotReady("Reconciling", "What the NodePool says now is being taken up.");
  // What time will not mend is told before what it will.
  for (const bool stalls : {true, false}) {
    for (const HealthyCondition& healthy : kHealthyConditions) {
      if (healthy.stalls != stalls) continue;
      if (const auto summary = Unhealthy(facts, conditions, healthy)) return *summary;
    }
  }
  return OfService(facts.service);
}

}  // namespace muster::kubernetes
