#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "nlohmann/json.hpp"
#include "tests/kubernetes/fake_api_server/store.h"

namespace muster::testing {

// Throws Refusal when a disruption budget of its namespace forbids to evict the Pod: 429, or 500
// for a Pod with several budgets. A Pod counts as healthy while it is Running, not on its way out
// and does not say that it is not ready. Budgets select by matchLabels; minAvailable and
// maxUnavailable are integers. `pods` (of the namespace) is asked for only if there is a budget.
void CheckBudgets(const nlohmann::json& pod, const std::vector<Object>& budgets,
                  absl::FunctionRef<std::vector<Object>()> pods);

// What the disruption controller writes: the status of a budget over the Pods of its namespace.
nlohmann::json BudgetStatus(const nlohmann::json& budget, const std::vector<nlohmann::json>& pods);

}  // namespace muster::testing
