#include "tests/simulation/checker.h"

#include <algorithm>
#include <initializer_list>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "services/capacity/core/audit.h"
#include "services/lifecycle/core/boot_failures.h"
#include "services/lifecycle/core/budget.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/reserved_taint.h"
#include "services/quota/core/audit.h"
#include "tests/simulation/fleet.h"
#include "tests/simulation/ledger.h"
#include "tests/simulation/peers.h"

namespace muster::simulation {
namespace {

using lifecycle::Condition;
using lifecycle::Event;
using lifecycle::Node;
using lifecycle::NodeState;
using lifecycle::Pool;

std::string TextOf(const lifecycle::Difference& difference) {
  return absl::StrCat(DifferenceKindName(difference.kind), " ", difference.pool, " ",
                      difference.pool_uid, ": ", difference.message);
}

// One of CWNodeDeliverFail, CWNodeRegistrationFailed.
constexpr char kUndelivered[] = "a Node that never came";

bool IsDone(const Node& node) { return lifecycle::IsReturnable(node.state); }

// Whether the pool has the Nodes that it wants without those that leave, or goes itself.
bool IsUnwanted(const lifecycle::State& state, const Pool& pool) {
  const auto nodes = state.NodesOf(pool.name);
  return pool.deleting() || std::count_if(nodes.begin(), nodes.end(), [](const Node* node) {
                              return lifecycle::IsInProgress(node->state) ||
                                     lifecycle::IsInService(node->state);
                            }) >= pool.wanted_nodes();
}

}  // namespace

InvariantChecker::InvariantChecker(Cloud& cloud, const Fleet& fleet)
    : cloud_(cloud), fleet_(fleet), amnesty_(cloud) {
  const auto fail = [this](std::string what) { Fail(std::move(what)); };
  cloud.lifecycle.wrong = cloud.quota.wrong = cloud.capacity.wrong = cloud.configuration.wrong =
      fail;
  cloud.lifecycle.committed = [this](const auto& staged) { LifecycleCommitted(staged); };
  cloud.capacity.committed = [this](const auto& staged) { CapacityCommitted(staged); };
  cloud.quota.committed = [this](const auto& staged) { QuotaCommitted(staged); };
}

void InvariantChecker::Asked(const std::string& pool_uid, int64_t incarnation,
                             const lifecycle::ClaimAsk& ask) {
  const auto [it, fresh] = asked_.emplace(std::tuple(pool_uid, ask.generation, incarnation), ask);
  if (fresh || it->second == ask) return;
  Fail(absl::StrCat("two different requests for the claim of ", pool_uid, " bear generation ",
                    ask.generation));
}

void InvariantChecker::CheckStep() {
  if (cloud_.revisions() == checked_) return;
  checked_ = cloud_.revisions();
  const std::vector<lifecycle::Difference> differences = Differences(BooksOf(cloud_));
  amnesty_.End(differences);
  for (const auto& [name, row] : cloud_.lifecycle.state().table<Pool>().rows()) {
    const lifecycle::PoolAccount& account = row.row->account;
    if (account.requested_nodes <= account.granted_nodes || amnesty_.Owes(row.row->uid)) continue;
    Fail(absl::StrCat("pool ", name, ": requested ", account.requested_nodes, ", granted ",
                      account.granted_nodes));
  }
  for (const lifecycle::Difference& difference : differences) {
    if (!difference.passing && !amnesty_.Excuses(difference)) Fail(TextOf(difference));
  }
}

void InvariantChecker::CheckNoDifference() {
  for (const lifecycle::Difference& difference : Differences(BooksOf(cloud_)))
    Fail(absl::StrCat("at rest, ", TextOf(difference)));
}

void InvariantChecker::CheckBooks() {
  for (const std::string& fault : capacity::Audit(cloud_.capacity.state())) {
    Fail(absl::StrCat("capacity's books: ", fault));
  }
  for (const std::string& fault : quota::Audit(cloud_.quota.state())) {
    Fail(absl::StrCat("quota's books: ", fault));
  }
}

// --- lifecycle ---

void InvariantChecker::LifecycleCommitted(const StagedState<lifecycle::State>& staged) {
  const lifecycle::State& state = staged.state();
  std::set<std::string> disrupted;
  std::map<std::string, int64_t> gone;  // by pool: Nodes that were there when it was planned
  ForEachChanged<Node>(staged, [&](const Node* before, const Node* after) {
    NodeChanged(state, before, after);
    if (before == nullptr || after == nullptr) return;
    if (!IsDone(*before) && IsDone(*after)) ++gone[std::string(lifecycle::PoolNameOf(after->name))];
    if (lifecycle::TakenFor(*before) == nullptr && lifecycle::TakenFor(*after) != nullptr &&
        served_.contains(after->name))
      disrupted.insert(std::string(lifecycle::PoolNameOf(after->name)));
  });
  ForEachChanged<Pool>(staged,
                       [&](const Pool* before, const Pool* after) { PoolChanged(before, after); });
  ForEachChanged<Event>(staged, [&](const Event* before, const Event* after) {
    if (after == nullptr) return;
    const bool undelivered =
        after->reason == "CWNodeDeliverFail" || after->reason == "CWNodeRegistrationFailed";
    Said& said = said_[undelivered ? kUndelivered : after->reason];
    if (undelivered) {
      said.node += after->count - (before == nullptr ? 0 : before->count);
      return;
    }
    int64_t& times = absl::StrContains(after->object, "/nodes/") ? said.node : said.pool;
    times += after->count - (before == nullptr ? 0 : before->count);
  });
  for (const std::string& pool : disrupted) CheckBudget(state, pool, gone[pool]);
  CheckEvents();
}

void InvariantChecker::NodeChanged(const lifecycle::State& state, const Node* before,
                                   const Node* after) {
  const Node& node = before != nullptr ? *before : *after;
  const capacity::MachineRow* machine = cloud_.capacity.state().FindMachine(node.machine);
  // By the grant that the Node was made of: a machine may have been given back and granted again.
  const bool held = machine != nullptr && machine->claim == node.pool_uid &&
                    machine->state_time == node.grant_time;
  if (after == nullptr) {
    if (!IsDone(node)) Fail(absl::StrCat(node.name, " went while its machine is its own"));
    if (held && !amnesty_.OwesCapacity(node.pool_uid))
      Fail(absl::StrCat(node.name, " went and its machine is still held"));
    return;
  }
  const Pool* pool = state.FindPoolByUid(node.pool_uid);
  if (pool == nullptr) return Fail(absl::StrCat(node.name, " is of a pool that is gone"));
  if (before == nullptr) {
    served_.erase(after->name);
    ++happened_["CWNodeAssigned"];
    if (!held && !amnesty_.OwesCapacity(node.pool_uid))
      Fail(absl::StrCat(node.name, " was made of a machine that its pool does not hold"));
    // One plan may do more to it: it may even come and go.
    CountNode(Node{}, *after);
    return CheckMove(*pool, Node{}, *after);
  }
  ConditionsChanged(node.name, before->conditions, after->conditions);
  if (after->state_time < before->state_time)
    Fail(absl::StrCat(after->name, ": what became of it was before what it was"));
  if (after->state == NodeState::kProduction)
    served_.emplace(after->name, cloud_.lifecycle.revision());
  CountNode(*before, *after);
  CheckMove(*pool, *before, *after);
  CheckPreemption(*pool, *before, *after);
}

// Every transition is told of by one event, of the Node, of its pool or of both.
void InvariantChecker::CountNode(const Node& was, const Node& is) {
  const bool moved = was.state != is.state;
  const auto to = [&](NodeState state) { return moved && is.state == state; };
  const auto count = [&](bool happened, std::initializer_list<const char*> events) {
    if (!happened) return;
    for (const char* event : events) ++happened_[event];
  };
  const bool failed = to(NodeState::kDeliveryFailed);
  const bool drains = !was.desired.drain && is.desired.drain;
  const bool preempted = is.preempt_time != lifecycle::kNever;
  count(to(NodeState::kRegistered), {"CWNodeRegistered"});
  const bool was_here =
      was.state == NodeState::kRegistered || was.state == NodeState::kReconfiguring;
  count(failed && was_here, {"CWNodeBootFailed"});
  count(failed && !was_here, {kUndelivered});
  count(was.preempt_time == lifecycle::kNever && preempted, {"Preemption pending"});
  count(!was.desired.cordoned && is.desired.cordoned, {"CWNodeCordoned"});
  count(was.desired.cordoned && !is.desired.cordoned, {"CWNodeUncordoned"});
  const bool arrives = was.machine.empty() || was.state == NodeState::kRegistered;
  const bool had = lifecycle::HasReservedTaint(was);
  const bool has = lifecycle::HasReservedTaint(is);
  count(!arrives && !had && has, {"CWNodeTainted"});
  count(!arrives && had && !has, {"CWNodeUntainted"});
  count(!was.observed.unhealthy && is.observed.unhealthy && was.state != NodeState::kTriage,
        {"CWNodeUnhealthy"});
  count(drains, {"CWDrainNode", "CWNodeDraining"});
  count(!IsDrainedForPreemption(was) && IsDrainedForPreemption(is), {"Preemption in progress"});
  count(was.observed.drain_blocked_by.empty() && !is.observed.drain_blocked_by.empty(),
        {"CWNodeDrainingPDBViolation"});
  count(!was.desired.force_drain && is.desired.force_drain, {"CWNodeDrainingForceDelete"});
  count(to(NodeState::kPreparedForTerminate), {"CWNodePreparedForTerminate"});
  count(was.observed.removal_error.empty() && !is.observed.removal_error.empty(),
        {"CWNodePoolNodesRemoveError"});
  count(to(NodeState::kDeleted) || (failed && was_here), {"CWNodeDeleted"});
  count(to(NodeState::kDeleted) && preempted, {"Deleted for preemption"});
  count(moved && was.state == NodeState::kReconfiguring && is.state == NodeState::kProduction,
        {"CWReconfigureRebooted"});
  count(was.observed.staging_error.empty() && !is.observed.staging_error.empty(),
        {"CWNodeConfigStagingFailed"});
}

// What must hold of a Node's every step, as lifecycle knew the Node.
void InvariantChecker::CheckMove(const Pool& pool, const Node& was, const Node& is) {
  const bool boots = was.desired.phase != lifecycle::Phase::kRunning || was.state != is.state;
  const bool ordered =
      (is.state == NodeState::kAssigned || is.state == NodeState::kReconfiguring) &&
      is.desired.phase == lifecycle::Phase::kRunning;
  const auto* revision = lifecycle::FindRevision(pool, is.desired.node_profile);
  if (boots && ordered && revision != nullptr && revision->disabled)
    Fail(absl::StrCat(is.name, " is told to boot a disabled configuration"));
  if (was.state == is.state) return;
  // An operator's reservation drains whatever the Node leaves for.
  const bool busy = was.observed.active && !pool.deleting() && is.reserved_desired.empty();
  const bool idle_only = pool.spec.scale_down_strategy == lifecycle::ScaleDownStrategy::kIdleOnly;
  if (is.state == NodeState::kDraining && busy && idle_only &&
      is.removal_cause == lifecycle::RemovalCause::kScaleDown)
    Fail(absl::StrCat(is.name, " is active and drained under IdleOnly"));
  if (is.state == NodeState::kDraining && busy && pool.spec.disable_unhealthy_node_eviction &&
      is.removal_cause == lifecycle::RemovalCause::kRepair)
    Fail(absl::StrCat(is.name, " is active and drained because it is unhealthy"));
  if (is.state == NodeState::kReconfiguring && was.observed.active)
    Fail(absl::StrCat(is.name, " is active and rebooted"));
  const bool leaves = was.removal_cause == lifecycle::RemovalCause::kNone &&
                      is.removal_cause == lifecycle::RemovalCause::kScaleDown;
  if (leaves && is.protect_until_time != lifecycle::kNever &&
      cloud_.lifecycle.time() < is.protect_until_time)
    Fail(absl::StrCat(is.name, " leaves although it is protected"));
}

// A preempted Node is drained from T+2 min on and ends at T+7 min: never earlier, and in a calm
// world not later. One without work that its pool does not need is drained at once.
void InvariantChecker::CheckPreemption(const Pool& pool, const Node& was, const Node& is) {
  if (is.preempt_time == lifecycle::kNever || was.state == is.state) return;
  const absl::Duration since = cloud_.lifecycle.time() - is.preempt_time;
  const auto check = [&](absl::Duration due, absl::string_view what) {
    const bool late = is.preempt_time >= calm_since && since > due + absl::Seconds(1);
    if (since < due || late)
      Fail(absl::StrCat(is.name, ": ", what, " at T+", absl::FormatDuration(since)));
  };
  const bool at_once = !was.observed.active && IsUnwanted(cloud_.lifecycle.state(), pool);
  if (is.state == NodeState::kDraining &&
      is.removal_cause == lifecycle::RemovalCause::kPreemption && !at_once)
    check(lifecycle::kPreemptionDrain, "preemption in progress");
  // It ends with its work undrained. A drain that had begun before keeps its own deadline.
  if (was.state == NodeState::kDraining && is.state == NodeState::kPreparedForTerminate &&
      was.observed.active && is.observed.active &&
      was.desired.drain_deadline == is.preempt_time + lifecycle::kPreemptionEnd)
    check(lifecycle::kPreemptionEnd, "preemption ends");
}

void InvariantChecker::CheckBudget(const lifecycle::State& state, const std::string& name,
                                   int64_t gone) {
  const Pool* pool = state.table<Pool>().Find(name);
  if (pool == nullptr || pool->deleting()) return;
  const auto nodes = state.NodesOf(name);
  const auto here =
      std::count_if(nodes.begin(), nodes.end(), [](const Node* node) { return !IsDone(*node); });
  const auto size = std::max<int64_t>(pool->spec.target_nodes, here + gone);
  const auto most = lifecycle::MaxUnavailable(pool->spec.max_unavailable, size);
  std::vector<std::string> used;
  for (const Node* node : nodes) {
    const char* cause = lifecycle::TakenFor(*node);
    // A boot that is broken off disrupts nobody.
    if (cause != nullptr && served_.contains(node->name))
      used.push_back(absl::StrCat(node->machine, " ", cause));
  }
  if (most && static_cast<int64_t>(used.size()) > *most)
    Fail(absl::StrCat(name, ": maxUnavailable is ", pool->spec.max_unavailable, " of ", size,
                      ", and these are disrupted: ", absl::StrJoin(used, ", ")));
}

void InvariantChecker::PoolChanged(const Pool* before, const Pool* after) {
  if (before == nullptr) {
    ++happened_["CWNodePoolCreated"];
    gone_.erase(after->uid);
    return;
  }
  if (after != nullptr) {
    if (after->object_generation < before->object_generation)
      Fail(absl::StrCat(after->name, " was taken from an old copy of its object"));
    ConditionsChanged(after->name, before->status.conditions, after->status.conditions);
    return CountPool(*before, *after);
  }
  ++happened_["CWNodePoolDeleted"];
  gone_[before->uid] = cloud_.steady.Now();
  const std::string holding = absl::StrCat(QuotaOf(*before), "/holdings/", before->uid);
  // A service may have been restored since it answered.
  const bool haunted = amnesty_.IsGhost(before->uid);
  if (!haunted && cloud_.capacity.state().FindClaim(before->uid) != nullptr)
    Fail(absl::StrCat(before->name, " went and its claim is left"));
  if (!haunted && cloud_.quota.state().table<quota::Holding>().Find(holding) != nullptr)
    Fail(absl::StrCat(before->name, " went and its holding is left"));
  if (!cloud_.lifecycle.state().NodesOf(before->name).empty())
    Fail(absl::StrCat(before->name, " went and Nodes of it are left"));
}

void InvariantChecker::CountPool(const Pool& before, const Pool& after) {
  const lifecycle::Status& was = before.status;
  const lifecycle::Status& is = after.status;
  const auto turned = [&](absl::string_view type, absl::string_view reason) {
    return lifecycle::ReasonOf(is.conditions, type) == reason &&
           lifecycle::ReasonOf(was.conditions, type) != reason;
  };
  if (turned("Quota", "Over")) ++happened_["CWOverQuota"];
  if (turned("AtTarget", "TargetMet")) {
    // A target that came back to what is there scaled nothing, nor does a replacement.
    const int64_t target = after.spec.target_nodes;
    if (target > before.account.scaled_to) ++happened_["CWNodePoolScaledUp"];
    if (target < before.account.scaled_to) ++happened_["CWNodePoolScaledDown"];
  }
  const Condition* capacity = lifecycle::FindCondition(is.conditions, "Capacity");
  // An invalid pool asks for nothing: what is short is told once it is valid.
  const bool of_affinity = capacity != nullptr && absl::EndsWith(capacity->reason, "NodeAffinity");
  const auto invalid = [&](const lifecycle::Status& status) {
    return !of_affinity && lifecycle::ReasonOf(status.conditions, "Validated") == "Invalid";
  };
  if (capacity != nullptr && capacity->status == "False" && !invalid(is) &&
      (invalid(was) || turned("Capacity", capacity->reason)))
    ++happened_["CWInsufficientCapacity"];
  if (!was.node_profile.empty() && is.node_profile != was.node_profile)
    ++happened_["CWNodeConfigStaged"];
}

void InvariantChecker::ConditionsChanged(const std::string& name,
                                         const std::vector<Condition>& before,
                                         const std::vector<Condition>& after) {
  for (const Condition& now : after) {
    const Condition* was = lifecycle::FindCondition(before, now.type);
    if (was == nullptr) continue;
    const bool same = was->status == now.status;
    if (same ? was->last_transition_time != now.last_transition_time
             : was->last_transition_time > now.last_transition_time) {
      Fail(absl::StrCat(name, ": the transition time of ", now.type.get(),
                        " does not move with status"));
    }
  }
}

void InvariantChecker::CheckEvents() {
  for (const auto& [reason, times] : happened_) {
    const Said& said = said_[reason];
    const bool right = (said.node == times && (said.pool == times || said.pool == 0)) ||
                       (said.pool == times && said.node == 0);
    if (right) continue;
    Fail(absl::StrCat(reason, " was said ", said.node, " times of Nodes and ", said.pool,
                      " times of pools, and happened ", times, " times"));
  }
}

}  // namespace muster::simulation
