// Decide of commands about reconfigure reboots. Which Node reboots when, Plan decides.
#include <utility>

#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/errors.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/put_pool.h"
#include "services/lifecycle/core/reconfiguration.h"

namespace muster::lifecycle {
namespace {

absl::Status CheckMachines(const State& state, const ReconfigureNodePool& command) {
  for (const std::string& machine : command.machines) {
    const std::string name = NodeName(command.name, machine);
    if (state.table<Node>().Find(name) == nullptr) return muster::error::NotFound(name);
  }
  return absl::OkStatus();
}

}  // namespace

StatusOrOutcome Decide(StagedState<State>& staged, const ReconfigureNodePool& command,
                       absl::Time now) {
  const State& state = staged.state();
  const Pool* before = state.table<Pool>().Find(command.name);
  if (before == nullptr) return muster::error::NotFound(command.name);
  RETURN_IF_ERROR(CheckEtag<Pool>(state, command.name, command.etag));
  if (before->deleting()) return error::PoolDeleting(command.name);
  RETURN_IF_ERROR(CheckMachines(state, command));
  if (before->reconfiguring()) return error::ReconfigurationRunning(command.name);
  if (IsDisabled(*before)) {
    return error::ConfigurationDisabled(command.name, before->status.node_profile);
  }
  Pool pool = *before;
  Reconfiguration asked;
  asked.number = before->reconfiguration ? before->reconfiguration->number + 1 : 1;
  asked.machines = command.machines;
  asked.evict_active = command.evict_active;
  asked.max_unavailable = command.max_unavailable;
  asked.allowed_failures = command.allowed_failures;
  asked.create_time = now;
  asked.state_time = now;
  pool.reconfiguration = std::move(asked);
  EventLog events(staged, now);
  TellReconfiguration(*before, pool, events);
  PutPool(staged, *before, std::move(pool));
  return PoolOutcome(staged.state(), command.name);
}

StatusOrOutcome Decide(StagedState<State>& staged, const ControlReconfiguration& command,
                       absl::Time now) {
  using Verb = ControlReconfiguration::Verb;
  using RState = Reconfiguration::State;
  const Pool* before = staged.state().table<Pool>().Find(command.name);
  if (before == nullptr) return muster::error::NotFound(command.name);
  RETURN_IF_ERROR(CheckEtag<Pool>(staged.state(), command.name, command.etag));
  const bool again = command.verb == Verb::kCancel && before->reconfiguration &&
                     before->reconfiguration->state == RState::kCancelled;
  if (!before->reconfiguring() && !again) return error::NoReconfiguration(command.name);
  const RState wanted = command.verb == Verb::kPause    ? RState::kPaused
                        : command.verb == Verb::kResume ? RState::kRunning
                                                        : RState::kCancelled;
  const RState is = before->reconfiguration->state;
  if (command.verb == Verb::kResume && is != wanted && IsDisabled(*before))
    return error::ConfigurationDisabled(command.name, before->status.node_profile);
  // A halted reconfiguration is as good as paused, and goes on saying why it was halted.
  if (is != wanted && !(is == RState::kHalted && wanted == RState::kPaused)) {
    Pool pool = *before;
    MoveTo(*pool.reconfiguration, wanted, "", now);
    EventLog events(staged, now);
    TellReconfiguration(*before, pool, events);
    if (command.verb == Verb::kResume) pool.reconfiguration->failed_machines.clear();
    PutPool(staged, *before, std::move(pool));
  }
  return PoolOutcome(staged.state(), command.name);
}

}  // namespace muster::lifecycle
