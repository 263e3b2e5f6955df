#include "services/quota/core/state.h"

namespace muster::quota {

State::State() = default;
State::State(const State&) = default;
State::State(State&&) noexcept = default;
State& State::operator=(const State&) = default;
State& State::operator=(State&&) noexcept = default;
State::~State() = default;

void State::Reindex(const Quota* before, const Quota* after) {
  if (before != nullptr && NextChange(*before) != absl::InfiniteFuture())
    changes_.erase({NextChange(*before), before->Key()});
  if (after != nullptr && NextChange(*after) != absl::InfiniteFuture())
    changes_.insert({NextChange(*after), after->Key()});
}

void State::Reindex(const Holding* before, const Holding* after) {
  const auto it = uses_.try_emplace((before != nullptr ? before : after)->quota).first;
  it->second.Replace(before, after);
  if (it->second.empty()) uses_.erase(it);
}

void State::Reindex(const ReleasedPool* before, const ReleasedPool* after) {
  released_.Reindex(before, after);
}

void State::Reindex(const KeptRequest* before, const KeptRequest* after) {
  kept_.Reindex(before, after);
}

}  // namespace muster::quota

namespace muster {
template class StateBase<quota::State, quota::Quota, quota::Holding, ReleasedPool, KeptRequest>;
}  // namespace muster
