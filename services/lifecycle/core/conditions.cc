#include "services/lifecycle/core/conditions.h"

#include <algorithm>
#include <utility>

namespace muster::lifecycle {

const Condition* FindCondition(const std::vector<Condition>& conditions, absl::string_view type) {
  const auto it = std::find_if(conditions.begin(), conditions.end(),
                               [&](const Condition& c) { return c.type == type; });
  return it == conditions.end() ? nullptr : &*it;
}

absl::string_view ReasonOf(const std::vector<Condition>& conditions, absl::string_view type) {
  const Condition* condition = FindCondition(conditions, type);
  return condition == nullptr ? absl::string_view() : condition->reason.get();
}

void SetConditions(std::vector<Condition>& conditions, std::vector<Condition> wanted,
                   int64_t generation, absl::Time now) {
  for (Condition& condition : wanted) {
    const Condition* before = FindCondition(conditions, condition.type);
    const bool same = before != nullptr && before->status == condition.status;
    condition.last_transition_time = same ? before->last_transition_time : now;
    if (condition.observed_generation == 0) condition.observed_generation = generation;
  }
  conditions = std::move(wanted);
}

}  // namespace muster::lifecycle
