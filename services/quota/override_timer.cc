#include "services/quota/override_timer.h"

#include "services/quota/core/decide.h"

namespace muster::quota {

OverrideTimer::OverrideTimer(Lane* lane)
    : DueTimer(
          lane,
          {.name = "quota settle overrides",
           .concerns = [](const State::Change& change) { return change.kind() == Quota::kKind; },
           .next = [](const State& state, absl::Time) { return state.NextChangeOfAll(); },
           .decide = [](StagedState<State>& staged,
                        absl::Time now) { return Decide(staged, ApplyOverrides{}, now); }}) {}

}  // namespace muster::quota
