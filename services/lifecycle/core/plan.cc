#include "services/lifecycle/core/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/metadata.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/render.h"
#include "services/lifecycle/core/victims.h"

namespace muster::lifecycle {
namespace {

std::string Count(int64_t n, absl::string_view noun) {
  return absl::StrCat(n, " ", noun, n == 1 ? "" : "s");
}

// Plans one pool. Holds the Nodes as they will be once the actions so far are carried out.
class Planner {
 public:
  explicit Planner(const Snapshot& snapshot)
      : snapshot_(snapshot),
        pool_(*snapshot.pool),
        demand_(DemandOf(pool_, snapshot.nodes, snapshot.catalogue)),
        judgement_(Judge(pool_, snapshot.catalogue)),
        account_(pool_.account) {
    for (const Node* node : snapshot.nodes) nodes_[node->name] = *node;
  }

  PoolPlan Run() {
    if (Finished()) return std::move(plan_);
    PurgeReturned();
    AssignGranted();
    TimeOutBoots();
    LetGo();
    Remove();
    Drain();
    OrderBoots();
    RefreshAllMetadata();
    Agree();
    Publish();
    if (AnyAway()) Due(snapshot_.now + snapshot_.policy.retry);
    return std::move(plan_);
  }

 private:
  // --- small helpers ---

  const Answers& answers() const { return snapshot_.answers; }
  bool AnyAway() const {
    return answers().holding.away() || answers().claim.away() || answers().configuration.away();
  }
  void Do(Action action) { plan_.actions.push_back(std::move(action)); }
  void Emit(absl::string_view object, absl::string_view event, std::string message) {
    Do(EmitEvent{std::string(object), std::string(event), std::move(message)});
  }
  void Say(absl::string_view event, std::string message) {
    Emit(pool_.name, event, std::move(message));
  }
  // Of a Node, and of its pool.
  void Tell(const Node& node, absl::string_view event, const std::string& message) {
    Emit(node.name, event, message);
    Say(event, message);
  }
  void Wait(absl::string_view subject, absl::string_view reason) {
    plan_.defers.push_back({std::string(subject), std::string(reason)});
  }
  void Due(absl::Time at) { plan_.due = std::min(plan_.due, at); }
  // False once the plan is long enough: the rest is for the next one, which is due at once because
  // this one changes rows.
  bool Room() { return steps_ < kMaxStepsAPlan; }

  bool Take(Node& node, NodeEvent event, absl::string_view reason, absl::Time deadline = kNever) {
    StepNode action{node.name, event, deadline, std::string(reason)};
    if (!CarryOut(node, pool_, action, snapshot_.now).ok()) return false;
    Do(std::move(action));
    ++steps_;
    return true;
  }

  std::vector<const Node*> Nodes() const {
    std::vector<const Node*> nodes;
    for (const auto& [name, node] : nodes_) nodes.push_back(&node);
    return nodes;
  }
  // Nodes that are here or come, and are not on their way out.
  int64_t Keeping() const {
    return std::count_if(nodes_.begin(), nodes_.end(), [](const auto& entry) {
      return IsInProgress(entry.second.state) || IsInService(entry.second.state);
    });
  }
  bool PreferIdle() const { return pool_.spec.scale_down_strategy == "PreferIdle"; }
  bool ActiveToo() const { return pool_.deleting() || PreferIdle(); }
  // The profile that Nodes are to boot; empty: not known yet.
  std::string Profile() const {
    const bool fresh =
        answers().configuration.here() && !answers().configuration.value.active.empty();
    return fresh ? answers().configuration.value.active : pool_.status.node_profile;
  }

  // --- the parts of a plan, in order ---

  // Everything is released: the pool goes.
  bool Finished() {
    if (!IsReadyToRelease(pool_, snapshot_.nodes)) return false;
    if (answers().holding.here() && answers().claim.here() && answers().configuration.here()) {
      Say("CWNodePoolDeleted", absl::StrCat("NodePool ", LastIdOf(pool_.name), " was deleted."));
      Do(RemovePool{"no Node, claim or holding is left"});
    } else {
      Wait(pool_.name, "a service has not released the pool yet");
      Due(snapshot_.now + snapshot_.policy.retry);
    }
    return true;
  }

  // Nodes whose machine capacity has back.
  void PurgeReturned() {
    if (!answers().claim.here()) return;
    const std::vector<std::string>& held = answers().claim.value.machines;
    int64_t removed = 0;
    for (auto it = nodes_.begin(); it != nodes_.end();) {
      const Node& node = it->second;
      const bool is_held = std::binary_search(held.begin(), held.end(), node.machine);
      if (is_held || !IsReturnable(node.state)) {
        if (!is_held) Wait(node.name, "its machine is not held by the pool's claim");
        ++it;
        continue;
      }
      removed += node.state == NodeState::kDeleted ? 1 : 0;
      Do(PurgeNode{node.name, "its machine was given back"});
      it = nodes_.erase(it);
    }
    if (removed > 0) {
      Say("CWNodePoolNodesRemoved", absl::StrCat("Removed ", Count(removed, "Node"), "."));
    }
  }

  // Machines that the claim holds and that have no Node.
  void AssignGranted() {
    if (!answers().claim.here()) return;
    if (!snapshot_.catalogue.known || !snapshot_.catalogue.type) {
      if (static_cast<size_t>(answers().claim.value.machines.size()) > nodes_.size()) {
        Wait(pool_.name, "granted machines wait for the catalogue");
      }
      return;
    }
    const bool gpu = snapshot_.catalogue.type->gpus > 0;
    int64_t slots = pool_.wanted_nodes() - Keeping();
    for (const std::string& machine : answers().claim.value.machines) {
      const std::string name = NodeName(pool_.name, machine);
      if (nodes_.contains(name) || !Room()) continue;
      const bool wanted = slots-- > 0;
      AssignNode action{machine, wanted ? Profile() : "", gpu, "capacity granted it"};
      nodes_[name] = NodeOf(pool_, action, snapshot_.now);
      Do(std::move(action));
      ++steps_;
      Say("CWNodeAssigned", absl::StrCat("Node ", machine, " was assigned to the NodePool."));
    }
  }

  void TimeOutBoots() {
    for (auto& [name, node] : nodes_) {
      if (Next(node.state, NodeEvent::kBootTimedOut) == std::nullopt) continue;
      if (node.desired.phase != Phase::kRunning) continue;
      const absl::Time deadline = node.desired.phase_time + snapshot_.policy.boot_deadline;
      if (snapshot_.now < deadline) {
        Due(deadline);
        continue;
      }
      if (!Take(node, NodeEvent::kBootTimedOut, "its boot outlasted the deadline")) continue;
      Say("CWNodeDeliverFail",
          absl::StrCat("Node ", node.machine,
                       " could not be delivered: it did not come up in time."));
    }
  }

  // Removals that did not reach their drain and are no longer right: the target rose, or work came.
  void LetGo() {
    if (pool_.deleting()) return;
    int64_t missing = pool_.wanted_nodes() - Keeping();
    std::vector<Node*> cordoned;
    for (auto& [name, node] : nodes_) {
      if (node.state == NodeState::kCordoned) cordoned.push_back(&node);
    }
    std::stable_sort(cordoned.begin(), cordoned.end(), [](const Node* a, const Node* b) {
      return a->observed.active > b->observed.active;
    });
    for (Node* node : cordoned) {
      const bool busy = node->observed.active && !ActiveToo();
      if (!busy && missing <= 0) continue;
      if (!Take(*node, NodeEvent::kUncordon, busy ? "work came to it" : "the target rose"))
        continue;
      --missing;
      Tell(*node, "CWNodeUncordoned", absl::StrCat("Node ", node->machine, " was uncordoned."));
      Tell(*node, "CWNodeUntainted",
           absl::StrCat("Node ", node->machine, " takes new work again."));
    }
  }

  void Remove() {
    const int64_t surplus = Keeping() - pool_.wanted_nodes();
    if (surplus <= 0) return;
    std::vector<const Node*> victims = VictimsInOrder(Nodes(), ActiveToo());
    if (static_cast<int64_t>(victims.size()) > surplus)
      victims.resize(static_cast<size_t>(surplus));
    if (static_cast<int64_t>(victims.size()) < surplus) {
      Wait(pool_.name, absl::StrCat(surplus - static_cast<int64_t>(victims.size()),
                                    " active Nodes stay until they are idle"));
    }
    if (victims.size() > kMaxStepsAPlan) victims.resize(kMaxStepsAPlan);
    if (victims.empty()) return;
    Say("CWNodePoolRemoveNodes",
        absl::StrCat("Removing ", Count(static_cast<int64_t>(victims.size()), "Node"), "."));
    for (const Node* victim : victims) Dismiss(nodes_[victim->name]);
  }

  // The first step of a removal, which depends on how far the Node came.
  void Dismiss(Node& node) {
    const std::string reason =
        pool_.deleting() ? "the pool is being deleted" : "the pool is over target";
    Say("CWNodeDeletionRequestSuccess",
        absl::StrCat("Deletion of Node ", node.machine, " was requested."));
    if (IsInProgress(node.state) && node.desired.phase == Phase::kUndecided) {
      Take(node, NodeEvent::kDiscard, reason);
      Say("CWNodeDeleted", absl::StrCat("Node ", node.machine, " was deleted."));
      return;
    }
    Tell(node, "CWNodeMarkedPrepareForTerminate",
         absl::StrCat("Node ", node.machine, " is to be terminated: ", reason, "."));
    if (Next(node.state, NodeEvent::kAbort)) {
      Take(node, NodeEvent::kAbort, reason);
      Tell(node, "CWNodePreparedForTerminate",
           absl::StrCat("Node ", node.machine, " is prepared for termination."));
      return;
    }
    Take(node, NodeEvent::kCordon, reason);
    Tell(node, "CWNodeCordoned", absl::StrCat("Node ", node.machine, " was cordoned."));
    Tell(node, "CWNodeTainted", absl::StrCat("Node ", node.machine, " takes no new work."));
  }

  void Drain() {
    const absl::Time forced = snapshot_.now + snapshot_.policy.drain_deadline;
    for (auto& [name, node] : nodes_) {
      if (node.state == NodeState::kDraining && pool_.deleting() &&
          node.desired.drain_deadline == kNever) {
        SetDrainDeadline action{name, forced, "the pool is being deleted"};
        if (CarryOut(node, pool_, action, snapshot_.now).ok()) Do(std::move(action));
      }
      if (node.state != NodeState::kCordoned) continue;
      const absl::Time settled = node.state_time + snapshot_.policy.cordon_settle;
      if (snapshot_.now < settled) {
        Due(settled);
        continue;
      }
      if (!Take(node, NodeEvent::kDrain, "it is cordoned", ActiveToo() ? forced : kNever)) continue;
      Say("CWDrainNode", absl::StrCat("Draining Node ", node.machine, "."));
      Tell(node, "CWNodeDraining", absl::StrCat("Node ", node.machine, " is being drained."));
    }
  }

  // Nodes that were assigned while no profile was known, or while they were too many.
  void OrderBoots() {
    if (pool_.deleting()) return;
    const std::string profile = Profile();
    for (auto& [name, node] : nodes_) {
      if (node.state != NodeState::kAssigned || node.desired.phase != Phase::kUndecided) continue;
      if (profile.empty()) {
        Wait(name, "no configuration to boot into is known");
        continue;
      }
      if (Keeping() > pool_.wanted_nodes()) {
        Wait(name, "the pool has more Nodes than it wants");
        continue;
      }
      OrderBoot action{name, profile, "its configuration is known"};
      if (CarryOut(node, pool_, action, snapshot_.now).ok()) Do(std::move(action));
    }
  }

  void RefreshAllMetadata() {
    int64_t refreshed = 0;
    for (auto& [name, node] : nodes_) {
      if (IsReturnable(node.state) || !Room()) continue;
      const bool gpu =
          snapshot_.catalogue.type ? snapshot_.catalogue.type->gpus > 0 : HasGpus(node);
      if (!UpdateMetadata(node, pool_, gpu)) continue;
      Do(RefreshMetadata{name, gpu, "the pool's labels, annotations or taints changed"});
      ++steps_;
      ++refreshed;
    }
    if (refreshed > 0) {
      Say("CWNodePoolMetadata",
          absl::StrCat("Updated metadata of ", Count(refreshed, "Node"), "."));
    }
  }

  // What quota and capacity have agreed to; see demand.h for why in this order.
  void Agree() {
    const int64_t before = account_.requested_nodes;
    if (answers().claim.here()) {
      const auto machines = static_cast<int64_t>(answers().claim.value.machines.size());
      account_.requested_nodes = std::max(answers().claim.value.nodes, machines);
    }
    const bool valid = judgement_.validity == Validity::kValid;
    const int64_t covered =
        answers().holding.here() ? answers().holding.value.nodes : account_.granted_nodes;
    const int64_t wanted = valid ? pool_.wanted_nodes() : 0;
    account_.requested_nodes = std::max(account_.requested_nodes, std::min(wanted, covered));
    const int64_t needed =
        std::max({wanted, account_.requested_nodes, static_cast<int64_t>(nodes_.size())});
    account_.granted_nodes = std::min(covered, needed);
    if (account_.granted_nodes == pool_.account.granted_nodes &&
        account_.requested_nodes == pool_.account.requested_nodes) {
      return;
    }
    const int64_t more = account_.requested_nodes - before;
    if (more > 0) {
      Say("CWNodeRequestQueued",
          absl::StrCat("Requested ", Count(more, "Node"), " of ", pool_.spec.instance_type, "."));
    }
    Do(SetAccount{account_.granted_nodes, account_.requested_nodes, "quota and capacity agreed"});
  }

  // The status, and the events that tell of its transitions.
  void Publish() {
    Status status = RenderStatus(snapshot_, demand_, Outlook{Nodes(), account_, judgement_});
    if (status == pool_.status) return;
    for (const Condition& condition : status.conditions) Announce(condition);
    if (!pool_.status.node_profile.empty() && status.node_profile != pool_.status.node_profile) {
      Say("CWNodeConfigStaged",
          absl::StrCat("Configuration ", status.node_profile, " was staged."));
    }
    Do(SetStatus{std::move(status), "what is published differs"});
  }

  void Announce(const Condition& now) {
    const Condition* before = FindCondition(pool_.status.conditions, now.type);
    const bool reworded = before == nullptr || before->message != now.message;
    if (now.type == "Validated" && now.reason == "Invalid" && reworded) {
      Say(judgement_.event, now.message);
    }
    if (before != nullptr && before->reason == now.reason) return;
    const absl::string_view was = before == nullptr ? absl::string_view() : before->reason;
    if (now.type == "Capacity" && now.status == "False") Say("CWInsufficientCapacity", now.message);
    if (now.type == "Capacity" && now.status == "Unknown")
      Say("CWNodePoolNodesRequestFailed", now.message);
    if (now.type == "Quota" && now.reason == "Over") Say("CWOverQuota", now.message);
    if (now.type == "Quota" && (now.reason == "NotSet" || now.status == "Unknown")) {
      Say("CWNodePoolQuotaCheckFailed", now.message);
    }
    if (now.type == "AtTarget" && now.reason == "TargetMet") {
      const std::string to = absl::StrCat(" to ", Count(pool_.spec.target_nodes, "Node"), ".");
      if (was == "UnderTarget") Say("CWNodePoolScaledUp", absl::StrCat("NodePool scaled up", to));
      if (was == "OverTarget")
        Say("CWNodePoolScaledDown", absl::StrCat("NodePool scaled down", to));
    }
  }

  const Snapshot& snapshot_;
  const Pool& pool_;
  const Demand demand_;
  const Judgement judgement_;
  Account account_;
  std::map<std::string, Node> nodes_;
  size_t steps_ = 0;
  PoolPlan plan_;
};

}  // namespace

PoolPlan Plan(const Snapshot& snapshot) { return Planner(snapshot).Run(); }

}  // namespace muster::lifecycle
