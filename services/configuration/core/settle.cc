#include "services/configuration/core/settle.h"

#include <utility>

namespace muster::configuration {
namespace {

// The common cases, without a copy of the pool. False: it has to be tried.
bool IsPlainlySettled(const PoolConfiguration& pool, const Resolution& resolution) {
  if (pool.has_waiting() || pool.problem != resolution.problem) return false;
  if (pool.problem_of_spec != resolution.of_spec) return false;
  if (!pool.problem.empty()) return !pool.has_pending();
  const std::string& wanted = resolution.profile.id;
  if (!pool.pinned.empty() && !IsPinned(pool, wanted)) return false;
  if (wanted == pool.active()) return !pool.has_pending();
  return wanted == pool.pending.node_profile && !StagedAtOnce(pool, wanted, Trigger::kUpstream);
}

PoolConfiguration NextOf(const State& state, PoolConfiguration pool, const Resolution& resolution,
                         Trigger trigger, absl::Time now) {
  const bool withdrawn = pool.has_waiting() && IsWithdrawn(state, pool.waiting.node_profile);
  return Next(std::move(pool), state.table<NodeProfile>(), resolution, trigger, now, withdrawn);
}

}  // namespace

PoolConfiguration Settle(StagedState<State>& staged, PoolConfiguration pool,
                         const Resolution& resolution, Trigger trigger, absl::Time now) {
  pool = NextOf(staged.state(), std::move(pool), resolution, trigger, now);
  // Profiles come before the pools that name them.
  if (resolution.problem.empty()) staged.Put(resolution.profile);
  staged.Put(pool);
  return pool;
}

bool IsSettled(const State& state, const PoolConfiguration& pool, const Resolution& resolution) {
  return IsPlainlySettled(pool, resolution) ||
         NextOf(state, pool, resolution, Trigger::kUpstream, absl::InfinitePast()) == pool;
}

}  // namespace muster::configuration
