#pragma once

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "services/lifecycle/core/types.h"

// Conditions as Kubernetes' API conventions have them.
namespace muster::lifecycle {

// Null when there is none of that type.
const Condition* FindCondition(const std::vector<Condition>& conditions, absl::string_view type);

// The reason of the condition of that type; empty when there is none.
absl::string_view ReasonOf(const std::vector<Condition>& conditions, absl::string_view type);

// Makes `conditions` what is `wanted`, in that order; each observed at `generation`, apart from
// those that name an earlier one (not 0): nothing was learned of the newer spec. The transition
// time of one whose status is as before stays, that of any other becomes `now`.
void SetConditions(std::vector<Condition>& conditions, std::vector<Condition> wanted,
                   int64_t generation, absl::Time now);

}  // namespace muster::lifecycle
