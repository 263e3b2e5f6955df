// Decide of ResizeNodePool: how many Nodes, which go first, and which may not.
#include <algorithm>
#include <utility>

#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/errors.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/put_pool.h"
#include "services/lifecycle/core/spec_fields.h"
#include "services/lifecycle/core/text.h"
#include "services/lifecycle/core/validate_command.h"
#include "services/lifecycle/core/victims.h"

namespace muster::lifecycle {
namespace {

absl::Status CheckUnprotected(const State& state, const ResizeNodePool& command, absl::Time now) {
  for (const std::string& machine : command.remove_machines) {
    const Node* node = state.table<Node>().Find(NodeName(command.name, machine));
    if (IsProtected(*node, now))
      return error::NodeProtected(node->name, TimeText(node->protect_until_time));
  }
  return absl::OkStatus();
}

// True when the pool already is as the command asks, see IsSo of ApplyNodePool. Never for a command
// without a target, which lowers the present one. Every named machine must be a Node of the pool.
bool IsSo(const State& state, const Pool& before, const ResizeNodePool& command) {
  return !before.deleting() && command.target_nodes == before.spec.target_nodes &&
         std::all_of(command.remove_machines.begin(), command.remove_machines.end(),
                     [&](const std::string& machine) {
                       const std::string name = NodeName(command.name, machine);
                       return state.table<Node>().Find(name)->removal_requested;
                     });
}

}  // namespace

StatusOrOutcome Decide(StagedState<State>& staged, const ResizeNodePool& command, absl::Time now) {
  const State& state = staged.state();
  const Pool* before = state.table<Pool>().Find(command.name);
  if (before == nullptr) return muster::error::NotFound(command.name);
  Faults faults;
  ValidateIn(state, command, faults);
  if (!faults.empty() || !IsSo(state, *before, command))
    RETURN_IF_ERROR(CheckEtag<Pool>(state, command.name, command.etag));
  if (before->deleting()) return error::PoolDeleting(command.name);
  RETURN_IF_ERROR(faults.status());
  RETURN_IF_ERROR(CheckUnprotected(state, command, now));
  Pool pool = *before;
  Spec spec = pool.spec;
  spec.target_nodes = TargetOf(state, *before, command).value();
  std::vector<std::string> changed = ChangedFields(before->spec, spec);
  ChangeSpec(pool, std::move(spec), now);
  NameVictims(staged, pool, command.remove_machines, command.type, now);
  if (!changed.empty()) PutPool(staged, *before, std::move(pool));
  Outcome outcome = PoolOutcome(staged.state(), command.name);
  outcome.set_back = outcome.pool->object_generation > 0 && !changed.empty();
  outcome.changed_fields = std::move(changed);
  return outcome;
}

}  // namespace muster::lifecycle
