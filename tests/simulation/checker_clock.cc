// What the checker says of what happens because time went by.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/limits.h"
#include "tests/simulation/checker.h"

namespace muster::simulation {
namespace {

using lifecycle::NodeEvent;
using lifecycle::StepNode;

template <class Action>
int64_t CountOf(const lifecycle::ApplyPlan& plan) {
  return std::count_if(plan.actions.begin(), plan.actions.end(),
                       [](const auto& action) { return std::holds_alternative<Action>(action); });
}

// Nodes that the plan gives up because time went by: boots that did not end, and Nodes that did not
// recover, or were not held, for too long. With prefill a replacement may have been there: of those
// only the boots are told apart.
int64_t GivenUpBy(const lifecycle::ApplyPlan& plan, const lifecycle::Pool& pool) {
  const bool is_replaced = pool.spec.prefill && pool.spec.prefill->enabled;
  return std::count_if(plan.actions.begin(), plan.actions.end(), [&](const auto& action) {
    const auto* step = std::get_if<StepNode>(&action);
    if (step == nullptr) return false;
    const bool is_out = step->event == NodeEvent::kDiscard || step->event == NodeEvent::kAbort ||
                        step->event == NodeEvent::kCordon;
    return step->event == NodeEvent::kBootTimedOut ||
           (is_out && step->cause == lifecycle::RemovalCause::kRepair && !is_replaced);
  });
}

}  // namespace

// Never more of a pool than a share of its Nodes within an interval, which begins with the first.
void InvariantChecker::CountGivenUp(const lifecycle::ApplyPlan& plan, absl::Time planned) {
  const lifecycle::State& state = cloud_.lifecycle.state();
  const lifecycle::Pool* pool = state.table<lifecycle::Pool>().Find(plan.pool);
  const int64_t nodes = pool == nullptr ? 0 : GivenUpBy(plan, *pool);
  if (nodes == 0) return;
  Notice("give-up: a Node", nodes);
  const lifecycle::Policy policy;
  GivenUp& given_up = given_up_[pool->uid];
  if (planned >= given_up.since + policy.give_up_interval) given_up = {.since = planned};
  given_up.nodes += nodes;
  const auto now = static_cast<int64_t>(state.NodesOf(pool->name).size());
  const int64_t before =
      now + CountOf<lifecycle::PurgeNode>(plan) - CountOf<lifecycle::AssignNode>(plan);
  const int64_t most = std::max<int64_t>(1, before * policy.give_up_percent / 100);
  if (given_up.nodes > most)
    Fail(absl::StrCat(pool->name, ": ", given_up.nodes, " of ", before,
                      " Nodes were given up within an interval, and at most ", most, " may be"));
}

}  // namespace muster::simulation
