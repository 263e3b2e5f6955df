#include "tests/simulation/judge.h"

#include <algorithm>
#include <memory>
#include <variant>

#include "services/capacity/core/audit.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/quota/core/audit.h"
#include "tests/simulation/fleet.h"
#include "tests/simulation/peers.h"

namespace muster::simulation {
namespace {

using lifecycle::Condition;
using lifecycle::Event;
using lifecycle::Node;
using lifecycle::NodeState;
using lifecycle::Pool;

// Calls f(before, after) for each changed row of that kind, in order.
template <class Row, class State, class F>
void ForEachChanged(const Overlay<State>& overlay, F f) {
  using Pointer = std::shared_ptr<const Row>;
  for (size_t i = 0; i < overlay.changes().size(); ++i) {
    const Pointer* after = std::get_if<Pointer>(&overlay.changes()[i].change.row);
    if (after == nullptr) continue;
    f(std::get<Pointer>(overlay.before(i).row).get(), after->get());
  }
}

bool IsDone(const Node& node) { return lifecycle::IsReturnable(node.state); }

}  // namespace

Judge::Judge(Cloud& cloud, const Fleet& fleet) : cloud_(cloud), fleet_(fleet) {
  const auto fail = [this](std::string what) { Fail(std::move(what)); };
  cloud.lifecycle.wrong = cloud.quota.wrong = cloud.capacity.wrong = cloud.configuration.wrong =
      fail;
  cloud.lifecycle.committed = [this](const auto& overlay) { LifecycleCommitted(overlay); };
  cloud.capacity.committed = [this](const auto& overlay) { CapacityCommitted(overlay); };
  cloud.quota.committed = [this](const auto& overlay) { QuotaCommitted(overlay); };
}

void Judge::Asked(const std::string& pool_uid, const lifecycle::ClaimAsk& ask) {
  const auto [it, fresh] = asked_.emplace(std::pair(pool_uid, ask.generation), ask);
  if (fresh || it->second == ask) return;
  Fail(absl::StrCat("two different requests for the claim of ", pool_uid, " bear generation ",
                    ask.generation));
}

void Judge::CheckStep() {
  const auto& quota = cloud_.quota.state();
  const auto& holdings = quota.table<quota::Holding>();
  for (const auto& [name, row] : cloud_.lifecycle.state().table<Pool>().rows()) {
    const Pool& pool = *row.row;
    const quota::Holding* holding =
        holdings.Find(absl::StrCat(QuotaOf(pool), "/holdings/", pool.uid));
    const int64_t held = cloud_.capacity.state().FootprintOf(pool.uid).held();
    const int64_t charged = holding == nullptr ? 0 : holding->nodes;
    const lifecycle::Account& account = pool.account;
    if (held > account.requested_nodes || account.requested_nodes > account.granted_nodes ||
        account.granted_nodes > charged) {
      Fail(absl::StrCat("pool ", pool.name, " ", pool.uid, ": held ", held, ", requested ",
                        account.requested_nodes, ", granted ", account.granted_nodes, ", charged ",
                        charged, " do not rise"));
    }
  }
}

void Judge::CheckBooks() {
  for (const std::string& fault : capacity::Audit(cloud_.capacity.state())) {
    Fail(absl::StrCat("capacity's books: ", fault));
  }
  for (const std::string& fault : quota::Audit(cloud_.quota.state())) {
    Fail(absl::StrCat("quota's books: ", fault));
  }
}

// --- lifecycle ---

void Judge::LifecycleCommitted(const Overlay<lifecycle::State>& overlay) {
  const lifecycle::State& state = overlay.state();
  ForEachChanged<Node>(
      overlay, [&](const Node* before, const Node* after) { NodeChanged(state, before, after); });
  ForEachChanged<Pool>(overlay,
                       [&](const Pool* before, const Pool* after) { PoolChanged(before, after); });
  ForEachChanged<Event>(overlay, [&](const Event* before, const Event* after) {
    if (after == nullptr) return;
    Said& said = said_[after->reason];
    int64_t& times = state.table<Pool>().Find(after->object) != nullptr ? said.pool : said.node;
    times += after->count - (before == nullptr ? 0 : before->count);
  });
  EventsMustMatch();
}

void Judge::NodeChanged(const lifecycle::State& state, const Node* before, const Node* after) {
  const Node& node = before != nullptr ? *before : *after;
  const capacity::MachineRow* machine = cloud_.capacity.state().FindMachine(node.machine);
  const bool held = machine != nullptr && machine->claim == node.pool_uid;
  if (after == nullptr) {
    if (!IsDone(node)) Fail(absl::StrCat(node.name, " went while its machine is its own"));
    if (held) Fail(absl::StrCat(node.name, " went and its machine is still held"));
    return;
  }
  if (before == nullptr) {
    ++tally_.made;
    if (!held) Fail(absl::StrCat(node.name, " was made of a machine that its pool does not hold"));
    if (state.FindPoolByUid(node.pool_uid) == nullptr)
      Fail(absl::StrCat(node.name, " was made for a pool that is gone"));
    return;
  }
  ConditionsChanged(node.name, before->conditions, after->conditions);
  if (before->state != after->state) NodeMoved(state, *before, *after);
}

void Judge::NodeMoved(const lifecycle::State& state, const Node& before, const Node& after) {
  switch (after.state) {
    case NodeState::kAssigned:
    case NodeState::kBooting:
    case NodeState::kReconfiguring:
    case NodeState::kTriage:
      return;
    case NodeState::kRegistered:
      ++tally_.registered;
      return;
    case NodeState::kProduction:
      if (before.state == NodeState::kCordoned) ++tally_.uncordoned;
      return;
    case NodeState::kCordoned:
      ++tally_.cordoned;
      return;
    case NodeState::kDraining: {
      ++tally_.draining;
      const Pool* pool = state.FindPoolByUid(after.pool_uid);
      if (before.observed.active && pool->spec.scale_down_strategy == "IdleOnly" &&
          !pool->deleting()) {
        Fail(absl::StrCat(after.name, " is active and drained under IdleOnly"));
      }
      return;
    }
    case NodeState::kPreparedForTerminate:
      ++tally_.prepared;
      return;
    case NodeState::kDeleted:
      ++tally_.deleted;
      return;
    case NodeState::kDeliveryFailed:
      ++tally_.delivery_failed;
      return;
  }
}

void Judge::PoolChanged(const Pool* before, const Pool* after) {
  if (before == nullptr) {
    ++tally_.pools_made;
    return;
  }
  if (after == nullptr) {
    ++tally_.pools_deleted;
    const std::string holding = absl::StrCat(QuotaOf(*before), "/holdings/", before->uid);
    if (cloud_.capacity.state().FindClaim(before->uid) != nullptr)
      Fail(absl::StrCat(before->name, " went and its claim is left"));
    if (cloud_.quota.state().table<quota::Holding>().Find(holding) != nullptr)
      Fail(absl::StrCat(before->name, " went and its holding is left"));
    if (!cloud_.lifecycle.state().NodesOf(before->name).empty())
      Fail(absl::StrCat(before->name, " went and Nodes of it are left"));
    return;
  }
  const auto& was = before->status.conditions;
  const auto& is = after->status.conditions;
  ConditionsChanged(after->name, was, is);
  const auto turned = [&](absl::string_view type, absl::string_view reason) {
    return lifecycle::ReasonOf(is, type) == reason && lifecycle::ReasonOf(was, type) != reason;
  };
  if (turned("Quota", "Over")) ++tally_.over_quota;
  if (turned("AtTarget", "TargetMet")) {
    const absl::string_view from = lifecycle::ReasonOf(was, "AtTarget");
    if (from == "UnderTarget") ++tally_.scaled_up;
    if (from == "OverTarget") ++tally_.scaled_down;
  }
  const Condition* capacity = lifecycle::FindCondition(is, "Capacity");
  if (capacity != nullptr && capacity->status == "False" && turned("Capacity", capacity->reason))
    ++tally_.short_of_capacity;
}

void Judge::ConditionsChanged(const std::string& name, const std::vector<Condition>& before,
                              const std::vector<Condition>& after) {
  for (const Condition& now : after) {
    const Condition* was = lifecycle::FindCondition(before, now.type);
    if (was == nullptr) continue;
    const bool same = was->status == now.status;
    if (same ? was->last_transition_time != now.last_transition_time
             : was->last_transition_time > now.last_transition_time) {
      Fail(absl::StrCat(name, ": the transition time of ", now.type, " does not move with status"));
    }
  }
}

void Judge::EventsMustMatch() {
  const std::pair<const char*, int64_t> wanted[] = {
      {"CWNodeAssigned", tally_.made},
      {"CWNodeRegistered", tally_.registered},
      {"CWNodeDeliverFail", tally_.delivery_failed},
      {"CWNodeCordoned", tally_.cordoned},
      {"CWNodeUncordoned", tally_.uncordoned},
      {"CWDrainNode", tally_.draining},
      {"CWNodeDraining", tally_.draining},
      {"CWNodePreparedForTerminate", tally_.prepared},
      {"CWNodeDeleted", tally_.deleted},
      {"CWNodePoolCreated", tally_.pools_made},
      {"CWNodePoolDeleted", tally_.pools_deleted},
      {"CWNodePoolScaledUp", tally_.scaled_up},
      {"CWNodePoolScaledDown", tally_.scaled_down},
      {"CWOverQuota", tally_.over_quota},
      {"CWInsufficientCapacity", tally_.short_of_capacity},
  };
  for (const auto& [reason, times] : wanted) {
    const auto it = said_.find(reason);
    const Said said = it == said_.end() ? Said() : it->second;
    const bool right = (said.node == times && (said.pool == times || said.pool == 0)) ||
                       (said.pool == times && said.node == 0);
    if (!right) {
      Fail(absl::StrCat(reason, " was said ", said.node, " times of Nodes and ", said.pool,
                        " times of pools, and happened ", times, " times"));
    }
  }
}

// --- capacity and quota ---

void Judge::CapacityCommitted(const Overlay<capacity::State>& overlay) {
  ForEachChanged<capacity::MachineRow>(
      overlay, [&](const capacity::MachineRow* before, const capacity::MachineRow* after) {
        MachineChanged(before, after);
      });
}

void Judge::MachineChanged(const capacity::MachineRow* before, const capacity::MachineRow* after) {
  if (before == nullptr) return;
  if (after == nullptr) return Fail(absl::StrCat("machine ", before->id, " was forgotten"));
  if (before->claim.empty() || before->claim == after->claim) return;
  const lifecycle::State& lifecycle = cloud_.lifecycle.state();
  const Pool* pool = lifecycle.FindPoolByUid(before->claim);
  const Node* node =
      pool == nullptr ? nullptr
                      : lifecycle.table<Node>().Find(lifecycle::NodeName(pool->name, before->id));
  if (node != nullptr && !IsDone(*node))
    Fail(absl::StrCat("the machine of ", node->name, " was taken from it"));
  const bool given_away = after->state != capacity::MachineState::kInRepair;
  if (given_away && !fleet_.IsOff(before->id))
    Fail(absl::StrCat("machine ", before->id, " was given back and still runs"));
}

void Judge::QuotaCommitted(const Overlay<quota::State>& overlay) {
  const quota::State& state = overlay.state();
  ForEachChanged<quota::Holding>(
      overlay, [&](const quota::Holding* before, const quota::Holding* after) {
        if (after == nullptr || after->nodes <= (before == nullptr ? 0 : before->nodes)) return;
        const quota::Quota* quota = state.table<quota::Quota>().Find(after->quota);
        const int64_t limit = quota == nullptr ? 0 : LimitAt(*quota, cloud_.now);
        if (state.Held(after->quota) > limit)
          Fail(absl::StrCat(after->Key(), " grew beyond the limit of ", limit));
      });
}

}  // namespace muster::simulation
