#include "services/kubernetes/core/ready.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/common/condition_names.h"
#include "services/kubernetes/core/find_condition.h"
#include "services/kubernetes/core/names.h"
#include "services/kubernetes/core/refusal.h"

namespace muster::kubernetes {
namespace {

namespace v1 = lifecycle::v1;

Summary NotReady(const std::string& reason, const std::string& message, bool stalled = false) {
  return {condition_status::kFalse, reason, message, stalled};
}

Summary OfService(const Service& service) {
  if (service.absent == 0)
    return {condition_status::kTrue, reason::kReady, "The NodePool is at its target, in service."};
  return NotReady(reason::kNodesNotInService,
                  absl::StrCat(service.absent, " of ", service.nodes,
                               service.nodes == 1 ? " Node is" : " Nodes are", " not in service."));
}

const v1::Condition* FindInPool(const v1::NodePool& pool, absl::string_view type) {
  const auto& all = pool.status().conditions();
  const auto found = std::find_if(all.begin(), all.end(), [&](const v1::Condition& condition) {
    return condition.type() == type;
  });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

int64_t SummarizedGeneration(const StatusFacts& facts, const Json& conditions) {
  int64_t generation = facts.object->generation;
  for (const HealthyCondition& healthy : kHealthyConditions) {
    const Json* condition = FindIn(conditions, healthy.type);
    if (condition == nullptr) continue;
    generation = std::min(generation, condition->value("observedGeneration", int64_t{0}));
  }
  return facts.refusal ? std::min(facts.object->generation, facts.refusal->generation) : generation;
}

Summary Summarize(const StatusFacts& facts, const Json& conditions) {
  if (facts.object->deleting || (facts.pool != nullptr && facts.pool->has_delete_time())) {
    const bool stays = facts.refusal && facts.refusal->kind == Refusal::Kind::kUndeleted;
    return NotReady(reason::kPendingDelete,
                    stays ? facts.refusal->message : "The NodePool is being deleted.", stays);
  }
  if (facts.held) return NotReady(kRemovalsHeld, *facts.held, true);
  if (facts.refusal) {
    return NotReady(PlaceOf(*facts.refusal).condition.reason, facts.refusal->message,
                    facts.refusal->stalls());
  }
  if (SummarizedGeneration(facts, conditions) < facts.object->generation)
    return NotReady(reason::kReconciling, "What the NodePool says now is being taken up.");
  const v1::Condition* ready = FindInPool(*facts.pool, condition::kReady);
  if (ready == nullptr)
    return {condition_status::kUnknown, reason::kUnknown, "Ready is not known yet."};
  const bool stalled = FindInPool(*facts.pool, condition::kStalled) != nullptr;
  // Who set the server's policies or rights has to mend it.
  const Json* at_target = FindIn(conditions, condition::kAtTarget);
  if (facts.metadata_refusal && !stalled && at_target != nullptr)
    return NotReady((*at_target)["reason"], (*at_target)["message"], true);
  if (ready->status() != condition_status::kTrue)
    return {ready->status(), ready->reason(), ready->message(), stalled};
  return OfService(facts.service);
}

}  // namespace muster::kubernetes
