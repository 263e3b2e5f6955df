#include "services/capacity/gang_timer.h"

#include <memory>
#include <variant>

#include "services/capacity/core/decide.h"

namespace muster::capacity {
namespace {

bool IsOfAGang(const State::Change& change) {
  const auto* claim = std::get_if<std::shared_ptr<const ClaimRow>>(&change.row);
  return claim != nullptr && *claim != nullptr && (*claim)->gang;
}

}  // namespace

GangTimer::GangTimer(Lane* lane, const Policy& policy)
    : DueTimer(lane,
               {.name = "capacity end keeps",
                .concerns = IsOfAGang,
                .next = [policy](const State& state,
                                 absl::Time done) { return NextKeepEnd(state, policy, done); },
                .decide =
                    [policy](StagedState<State>& staged, absl::Time now) {
                      return Decide(staged, EndKeeps{}, now, policy);
                    }}) {}

}  // namespace muster::capacity
