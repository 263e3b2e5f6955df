#include "tests/kubernetes/fake_api_server/budgets.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/kubernetes/fake_api_server/refusal.h"

namespace muster::testing {
namespace {

bool Selects(const Json& budget, const Json& pod) {
  const Json labels = pod.at("metadata").value("labels", Json::object());
  const Json selector =
      budget.value(Json::json_pointer("/spec/selector/matchLabels"), Json::object());
  return std::all_of(selector.items().begin(), selector.items().end(), [&](const auto& each) {
    return labels.value(each.key(), "") == each.value();
  });
}

std::string PhaseOf(const Json& pod) {
  return pod.value(Json::json_pointer("/status/phase"), "Pending");
}

bool IsUnready(const Json& pod) {
  const Json conditions = pod.value(Json::json_pointer("/status/conditions"), Json::array());
  return std::any_of(conditions.begin(), conditions.end(), [](const Json& condition) {
    return condition.value("type", "") == "Ready" && condition.value("status", "") != "True";
  });
}

bool IsHealthy(const Json& pod) {
  return PhaseOf(pod) == "Running" && !pod.at("metadata").contains("deletionTimestamp") &&
         !IsUnready(pod);
}

struct Health {
  int expected = 0;
  int healthy = 0;
  int desired = 0;
};

void Count(const Json& budget, const Json& pod, Health& health) {
  if (!Selects(budget, pod)) return;
  ++health.expected;
  if (IsHealthy(pod)) ++health.healthy;
}

void SetDesired(const Json& budget, Health& health) {
  const Json& spec = budget.at("spec");
  health.desired = spec.contains("maxUnavailable")
                       ? std::max(0, health.expected - spec.at("maxUnavailable").get<int>())
                       : spec.value("minAvailable", 1);
}

}  // namespace

void CheckBudgets(const Json& pod, const std::vector<Object>& budgets,
                  absl::FunctionRef<std::vector<Object>()> pods) {
  if (PhaseOf(pod) != "Running") return;
  std::vector<Object> matching;
  std::copy_if(budgets.begin(), budgets.end(), std::back_inserter(matching),
               [&](const Object& budget) { return Selects(budget->object, pod); });
  if (matching.empty()) return;
  if (matching.size() > 1)
    throw Refusal{500, "InternalError",
                  "This pod has more than one PodDisruptionBudget, which the eviction subresource "
                  "does not support."};
  const Json& budget = matching[0]->object;
  Health health;
  for (const Object& each : pods()) Count(budget, each->object, health);
  SetDesired(budget, health);
  if (health.healthy > health.desired) return;
  Refusal refusal{429, "TooManyRequests",
                  "Cannot evict pod as it would violate the pod's disruption budget."};
  refusal.causes.push_back(
      Json::object({{"reason", "DisruptionBudget"},
                    {"message", absl::StrCat("The disruption budget ",
                                             budget.at("metadata").at("name").get<std::string>(),
                                             " needs ", health.desired, " healthy pods and has ",
                                             health.healthy, " currently")}}));
  throw refusal;
}

Json BudgetStatus(const Json& budget, const std::vector<Json>& pods) {
  Health health;
  for (const Json& pod : pods) Count(budget, pod, health);
  SetDesired(budget, health);
  return Json::object({{"observedGeneration", budget.at("metadata").value("generation", 0)},
                       {"disruptionsAllowed", std::max(0, health.healthy - health.desired)},
                       {"currentHealthy", health.healthy},
                       {"desiredHealthy", health.desired},
                       {"expectedPods", health.expected}});
}

}  // namespace muster::testing
