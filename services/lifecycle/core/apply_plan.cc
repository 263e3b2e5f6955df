// Decide of ApplyPlan: carries out what a plan says, if what it was made from still stands.
#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "services/common/condition_names.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/lifecycle/core/boot_failures.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/errors.h"
#include "services/lifecycle/core/events.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/put_pool.h"
#include "services/lifecycle/core/reconfiguration.h"

namespace muster::lifecycle {
namespace {

// How far a Node has come: a second step of it within a plan is a change of its own (Change).
using Place = std::tuple<NodeState, bool, bool, absl::Time>;
Place PlaceOf(const Node& node) {
  return {node.state, node.desired.cordoned, node.desired.drain, node.preempt_time};
}

// Carries out actions one by one on the staged state.
class Executor {
 public:
  Executor(StagedState<State>& staged, const Pool& pool, absl::Time now)
      : staged_(staged), before_(pool), pool_(pool), now_(now), events_(staged, now) {}

  absl::Status Run(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      RETURN_IF_ERROR(std::visit([this](const auto& a) { return Do(a); }, action));
    }
    asks_anew_ |= assigned_ > 0 && IsChargedForMore();
    if (!removed_) PutPool(staged_, before_, std::move(pool_), asks_anew_);
    return absl::OkStatus();
  }

 private:
  absl::Status Do(const AssignNode& action) {
    const Node node = NodeOf(pool_, action, now_);
    if (staged_.state().table<Node>().Find(node.name) != nullptr) {
      return error::DoesNotFit(node.name, "there already", "assignment");
    }
    // It may have become one since the plan was made.
    if (!staged_.state().TakenElsewhere(pool_.uid, {action.machine}).empty()) {
      return error::MachineTaken(pool_.name, action.machine);
    }
    staged_.Put(node);
    moved_.insert(node.name);
    events_.EmitAll(pool_, nullptr, node, "");
    ++assigned_;
    // A pool that asks for no more asks for what it has; so does one that gives machines back.
    asks_anew_ |= AsksForNoMore(pool_) || GivesBack();
    return absl::OkStatus();
  }
  absl::Status Do(const SetRack& action) { return Change(action); }
  absl::Status Do(const SetGrantTime& action) { return Change(action); }
  absl::Status Do(const OrderBoot& action) { return Change(action); }
  absl::Status Do(const SetDrainDeadline& action) { return Change(action); }
  absl::Status Do(const RestartDrain& action) { return Change(action); }
  absl::Status Do(const ForceDrain& action) { return Change(action); }
  absl::Status Do(const SetPreemption& action) { return Change(action); }
  absl::Status Do(const AskReplacement& action) { return Change(action); }
  absl::Status Do(const StageProfile& action) { return Change(action); }
  absl::Status Do(const ChooseForReboot& action) { return Change(action); }
  absl::Status Do(const DrainInPlace& action) { return Change(action); }
  absl::Status Do(const RefreshMetadata& action) { return Change(action); }
  absl::Status Do(const StepNode& action) {
    const Node* before = staged_.state().table<Node>().Find(action.node);
    if (before == nullptr) return muster::error::NotFound(action.node);
    if (action.event == NodeEvent::kBootTimedOut) {
      CountBootFailure(pool_, *before, action.counts);
    }
    RETURN_IF_ERROR(
        Change(action, action.reason, /*timed_out=*/action.event == NodeEvent::kBootTimedOut));
    asks_anew_ |= IsReturnable(staged_.state().table<Node>().Find(action.node)->state);
    return absl::OkStatus();
  }
  absl::Status Do(const PurgeNode& action) {
    if (!staged_.Delete<Node>(action.node)) return muster::error::NotFound(action.node);
    ++pool_.account.removed_nodes;
    return absl::OkStatus();
  }
  absl::Status Do(const SetAccount& action) {
    PoolAccount before = std::exchange(pool_.account, action.account);
    pool_.account.generation = before.generation;
    pool_.account.removed_nodes = before.removed_nodes;
    pool_.account.boot_failures = std::move(before.boot_failures);
    pool_.account.scaled_to = before.scaled_to;
    return absl::OkStatus();
  }
  absl::Status Do(const RaiseGeneration& action) {
    pool_.account.generation = std::max(pool_.account.generation, action.account);
    pool_.generation = std::max(pool_.generation, action.pool);
    return absl::OkStatus();
  }
  absl::Status Do(const SetReconfiguration& action) {
    if (!pool_.reconfiguration) return muster::error::NotFound(pool_.name);
    const Pool before = pool_;
    MoveTo(*pool_.reconfiguration, action.state, action.halt_reason, now_);
    TellReconfiguration(before, pool_, events_);
    return absl::OkStatus();
  }
  absl::Status Do(const SetStatus& action) {
    pool_.status = action.status;
    if (ReasonOf(pool_.status.conditions, condition::kAtTarget) == reason::kTargetMet)
      pool_.account.scaled_to = pool_.spec.target_nodes;
    return absl::OkStatus();
  }
  absl::Status Do(const EmitEvent& action) {
    events_.Emit(pool_.uid, pool_.name, action.event, action.message);
    return absl::OkStatus();
  }
  absl::Status Do(const RemovePool&) {
    staged_.Delete<Pool>(pool_.name);
    removed_ = true;
    return absl::OkStatus();
  }

  // Whether the pool gave machines back before the plan.
  bool GivesBack() {
    if (!gives_back_) {
      const auto nodes = staged_.state().NodesOf(pool_.name);
      gives_back_ = std::any_of(nodes.begin(), nodes.end(),
                                [](const Node* node) { return IsReturnable(node->state); });
    }
    return *gives_back_;
  }

  // Whether the pool is charged for more because of the Nodes that came: others stay that were to
  // go.
  bool IsChargedForMore() const {
    const auto nodes = static_cast<int64_t>(staged_.state().NodesOf(pool_.name).size());
    return ChargedNodes(pool_, nodes) > ChargedNodes(pool_, nodes - assigned_);
  }

  template <class A>
  absl::Status Change(const A& action, absl::string_view why = "", bool timed_out = false) {
    const Node* found = staged_.state().table<Node>().Find(action.node);
    if (found == nullptr) return muster::error::NotFound(action.node);
    const Node before = *found;
    Node after = before;
    RETURN_IF_ERROR(CarryOut(after, pool_, action, now_));
    // All that a plan does to a Node is one change of its row, but each step of its way is one of
    // its own, because events tell of each.
    if (PlaceOf(before) != PlaceOf(after) && !moved_.insert(before.name).second) staged_.Mark();
    staged_.Put(after);
    events_.EmitAll(pool_, &before, after, why, timed_out);
    return absl::OkStatus();
  }

  StagedState<State>& staged_;
  const Pool before_;
  Pool pool_;
  const absl::Time now_;
  EventLog events_;
  // Nodes that came by the plan, or have left the place where they were.
  absl::flat_hash_set<std::string> moved_;
  std::optional<bool> gives_back_;
  int64_t assigned_ = 0;
  bool asks_anew_ = false;
  bool removed_ = false;
};

// The Node that an action changes; empty: none that was there before.
constexpr auto kTouchedNode = [](const auto& action) -> absl::string_view {
  if constexpr (requires { action.node; }) return action.node;
  return "";
};

// The newest revision of the rows that the plan is about: the pool's and those of the Nodes that it
// changes. What agents report of other Nodes meanwhile does not outdate it, else a plan for a busy
// pool would never get through; whatever changes what the pool may have or must give back changes
// the pool's row too.
int64_t NewestTouched(const State& state, const ApplyPlan& command) {
  int64_t newest = state.table<Pool>().FindVersioned(command.pool)->revision;
  for (const Action& action : command.actions) {
    const absl::string_view name = std::visit(kTouchedNode, action);
    const Versioned<Node>* node = name.empty() ? nullptr : state.table<Node>().FindVersioned(name);
    if (node != nullptr) newest = std::max(newest, node->revision);
  }
  return newest;
}

}  // namespace

StatusOrOutcome Decide(StagedState<State>& staged, const ApplyPlan& command, absl::Time now) {
  const State& state = staged.state();
  const Lease* lease = state.table<Lease>().Find(Lease::kName);
  const int64_t epoch = lease == nullptr ? 0 : lease->epoch;
  // Where nobody has led yet, as in a past that was restored, nobody does: whoever gave the lease
  // up sends 0.
  if (lease == nullptr || command.epoch != epoch || command.holder != lease->holder)
    return error::StaleLeader(command.epoch, epoch);
  const Pool* pool = state.table<Pool>().Find(command.pool);
  if (pool == nullptr || pool->uid != command.uid) {
    return error::PlanOutdated(command.pool, command.version, 0);
  }
  if (const int64_t newest = NewestTouched(state, command); newest > command.version) {
    return error::PlanOutdated(command.pool, command.version, newest);
  }
  const size_t mark = staged.Mark();
  if (absl::Status status = Executor(staged, *pool, now).Run(command.actions); !status.ok()) {
    staged.RollBack(mark);
    return status;
  }
  return Outcome{.revision = staged.revision()};
}

}  // namespace muster::lifecycle
