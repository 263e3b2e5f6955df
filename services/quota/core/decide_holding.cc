#include <algorithm>
#include <deque>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "services/common/error.h"
#include "services/common/generation.h"
#include "services/common/released_pool.h"
#include "services/common/status_macros.h"
#include "services/quota/core/decide.h"
#include "services/quota/core/errors.h"
#include "services/quota/core/limits.h"

namespace muster::quota {
namespace {

// What a decision looks at.
struct Standing {
  int64_t limit = 0;
  int64_t held = 0;
  const Holding* before = nullptr;
  const ReleasedPool* released = nullptr;  // null: the pool was not released
};

// What becomes of the holding.
struct Step {
  Holding after = {};
  bool removed = false;
  bool refused = false;
};

int64_t LimitOf(const State& state, const std::string& quota, absl::Time now) {
  const Quota* row = state.table<Quota>().Find(quota);
  return row == nullptr ? 0 : LimitAt(*row, now);
}

absl::StatusOr<Step> Next(const Standing& standing, const SyncHolding& command, absl::Time now) {
  Step step{{command.quota, command.pool_uid, command.nodes, command.generation, command.pool, now},
            command.release,
            false};
  const Holding* before = standing.before;
  if (standing.released != nullptr && !command.release)
    return error::PoolReleased(step.after.Key(), *standing.released);
  // A release that is repeated is answered as the first one was.
  if (standing.released == nullptr || before != nullptr) {
    RETURN_IF_ERROR(CheckGeneration(step.after.Key(), command.generation,
                                    before == nullptr ? 0 : before->generation));
  }
  if (step.removed) {
    step.after.nodes = 0;
    return step;
  }
  if (command.at_least && before != nullptr)
    step.after.nodes = std::max(command.nodes, before->nodes);
  const int64_t nodes_before = before == nullptr ? 0 : before->nodes;
  step.refused =
      command.nodes > nodes_before && standing.held + command.nodes - nodes_before > standing.limit;
  if (step.refused) step.after.nodes = nodes_before;
  if (before != nullptr && step.after.nodes == nodes_before)
    step.after.update_time = before->update_time;
  return step;
}

Verdict VerdictOf(int64_t limit, int64_t held, bool refused) {
  if (limit == 0) return Verdict::kNotSet;
  return refused || held > limit ? Verdict::kOver : Verdict::kUnder;
}

// `use`: after the step.
HoldingOutcome Tell(const SyncHolding& command, int64_t limit, int64_t nodes, bool refused,
                    const KeyUse& use, int64_t revision) {
  HoldingOutcome answer{
      VerdictOf(limit, use.held(), refused), nodes, limit, use.held(), revision, refused, {}};
  if (answer.verdict == Verdict::kOver)
    answer.holders = use.HoldersBeside(command.pool_uid, nodes, kMaxHoldersListed);
  return answer;
}

}  // namespace

absl::StatusOr<HoldingOutcome> Decide(StagedState<State>& staged, const SyncHolding& command,
                                      absl::Time now, const Policy& policy) {
  const State& state = staged.state();
  const int64_t limit = LimitOf(state, command.quota, now);
  const std::string name = ToString(HoldingName{command.quota, command.pool_uid});
  ASSIGN_OR_RETURN(Step step,
                   Next({limit, state.Held(command.quota), state.table<Holding>().Find(name),
                         FindReleased(state, command.pool_uid)},
                        command, now));
  const int64_t nodes = step.after.nodes;
  if (step.removed) {
    staged.Delete<Holding>(name);
    RememberReleased(staged, {command.pool_uid, command.generation, now}, policy.released_keep);
  } else {
    staged.Put(std::move(step.after));
  }
  return Tell(command, limit, nodes, step.refused, state.UseOf(command.quota), staged.revision());
}

std::vector<absl::StatusOr<HoldingOutcome>> Check(const State& state,
                                                  absl::Span<const SyncHolding> commands,
                                                  absl::Time now, int64_t revision) {
  absl::flat_hash_map<absl::string_view, KeyUse> uses;
  absl::flat_hash_map<absl::string_view, ReleasedPool> released;  // by the commands
  std::deque<Holding> rows;                                       // what `uses` points to
  const auto find_released = [&](const std::string& pool_uid) {
    const auto it = released.find(pool_uid);
    return it == released.end() ? FindReleased(state, pool_uid) : &it->second;
  };
  const auto decide = [&](const SyncHolding& asked) -> absl::StatusOr<HoldingOutcome> {
    const auto [use, fresh] = uses.try_emplace(asked.quota);
    SyncHolding command = asked;
    if (fresh) use->second = state.UseOf(command.quota);
    const int64_t limit = LimitOf(state, command.quota, now);
    const std::string name = ToString(HoldingName{command.quota, command.pool_uid});
    const Holding* before = state.table<Holding>().Find(name);
    command.generation =
        CheckedGeneration(command.generation, before == nullptr ? 0 : before->generation);
    ASSIGN_OR_RETURN(
        Step step,
        Next({limit, use->second.held(), before, find_released(command.pool_uid)}, command, now));
    rows.push_back(std::move(step.after));
    use->second.Replace(before, step.removed ? nullptr : &rows.back());
    return Tell(command, limit, rows.back().nodes, step.refused, use->second, revision);
  };
  std::vector<absl::StatusOr<HoldingOutcome>> answers;
  answers.reserve(commands.size());
  for (const SyncHolding& command : commands) {
    answers.push_back(OrError(command, decide(command)));
    if (command.release && answers.back().ok())
      released.try_emplace(command.pool_uid,
                           ReleasedPool{command.pool_uid, command.generation, now});
  }
  return answers;
}

absl::StatusOr<HoldingOutcome> OrError(const SyncHolding& command,
                                       absl::StatusOr<HoldingOutcome> answer) {
  if (!answer.ok() || !answer->refused || !command.must_fit) return answer;
  if (answer->limit == 0) return error::QuotaNotSet(command.quota, answer->held, command.nodes);
  return error::QuotaExceeded(command.quota, answer->limit, answer->held, answer->nodes,
                              command.nodes);
}

}  // namespace muster::quota
