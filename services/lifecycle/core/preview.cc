#include "services/lifecycle/core/preview.h"

#include <algorithm>
#include <set>
#include <utility>

#include "services/common/condition_names.h"
#include "services/common/state.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/plan.h"
#include "services/lifecycle/core/reconfiguration.h"
#include "services/lifecycle/core/removals.h"

namespace muster::lifecycle {
namespace {

using Why = DelayedRemoval::Why;

// At most as many passes as it takes to publish a pool, charge it, ask for its machines and order
// their boots.
constexpr int kPasses = 6;

struct LateOne {
  std::string machine = {};
  Why why = Why::kWorks;
};

// The delayed Nodes that will go in the end, as far as is known now: those that are awaited, and of
// the others as many as the surplus still lacks.
std::vector<LateOne> LateOnes(const Removals& removals) {
  std::vector<LateOne> late;
  int64_t open = removals.open;
  for (const bool awaited : {true, false}) {
    for (const DelayedRemoval& delayed : removals.delayed) {
      if (delayed.awaited != awaited) continue;
      if (!awaited && open-- <= 0) break;
      late.push_back({delayed.node->machine, delayed.why});
    }
  }
  return late;
}

// Likewise, with those that go because they are on racks that these begin, which then leave whole:
// while these wait for the budget the rows do not show that yet.
std::vector<LateOne> LateWithRacks(Snapshot snapshot, const Removals& removals) {
  std::vector<LateOne> late = LateOnes(removals);
  if (snapshot.catalogue.nodes_per_rack() == 0 || late.empty()) return late;
  std::vector<Node> rows;
  rows.reserve(snapshot.nodes.size());
  for (const Node* node : snapshot.nodes) rows.push_back(*node);
  for (size_t i = 0; i < rows.size(); ++i) snapshot.nodes[i] = &rows[i];
  std::set<std::string> gone;
  for (const Node* node : removals.going) gone.insert(node->machine);
  for (size_t told = 0; told < late.size();) {
    for (; told < late.size(); ++told) gone.insert(late[told].machine);
    for (Node& node : rows) {
      if (!gone.contains(node.machine) || !Stays(node.state)) continue;
      node.state = NodeState::kCordoned;
      node.removal_cause = RemovalCause::kScaleDown;
    }
    Budget unlimited("", 0, snapshot.nodes);
    const Removals rest = SelectRemovals(snapshot, snapshot.nodes, /*surplus=*/0, unlimited);
    for (const Node* node : rest.going) late.push_back({node->machine, Why::kBudget});
    for (LateOne& one : LateOnes(rest)) late.push_back(std::move(one));
  }
  return late;
}

// The profile that the Node runs, or will run once it has booted.
const std::string& ProfileOf(const Node& node) {
  const bool boots = IsInProgress(node.state) || node.state == NodeState::kReconfiguring;
  return boots ? node.desired.node_profile : node.observed.node_profile;
}

// Rows on which a mutation's consequences are gone through.
class Rehearsal {
 public:
  explicit Rehearsal(const DryRun& dry_run);

  // The rows as they are by now.
  const State& state() const { return state_; }
  // Carries out the plan of a snapshot of state(). True: another pass would ask for something else.
  bool Pass(Snapshot snapshot);
  Preview Told();

 private:
  // Who goes by the snapshot's rows.
  void FindVictims(const Snapshot& snapshot);
  // Those that left in a pass for repair and that the lowered target gives up: nobody comes for
  // them. `ill`: who was in triage before.
  void FindGivenUp(const Snapshot& after, const std::vector<std::string>& ill);
  void AddGoing(const std::string& machine);
  void TellVictims();
  void TellConfiguration();
  void KeepGranted(HoldingFacts& answer);
  // False: the Node of that machine has left or is on its way out.
  bool IsStaying(const std::string& machine) const;
  // Nodes that are here or come, and do not go.
  std::vector<const Node*> Staying() const;
  int64_t NodesToReboot() const;

  Pool last_;  // as the last pass left it
  int64_t charged_before_ = 0;
  int64_t asked_before_ = 0;  // of capacity before the mutation, or held already
  State state_;
  int64_t revision_ = 0;
  bool first_ = true;
  int64_t asked_ = 0;                            // of capacity, by the last pass
  int64_t granted_ = 0;                          // by quota, to the last pass that it granted all
  PeerReply<ConfigurationFacts> configuration_;  // to the first pass
  Preview told_;
  std::optional<Reconfiguration> reboots_;  // when the mutation asks for them
  bool lowers_ = false;                     // the mutation: the target
  std::vector<LateOne> late_;               // by the rows as they are by now
  // Machines.
  std::vector<std::string> going_;          // in any pass, first to go first
  std::set<std::string> found_;             // the same
  std::set<std::string> going_next_;        // by the rows as they are by now
  std::set<std::string> victims_;           // who goes in the end
  std::set<std::string> rebooting_before_;  // whose reboot had begun
};

Rehearsal::Rehearsal(const DryRun& dry_run) : last_(dry_run.after) {
  const auto held = static_cast<int64_t>(dry_run.nodes.size());
  if (dry_run.before) {
    asked_before_ = std::max(dry_run.before->account.requested_nodes, held);
    charged_before_ = std::max(dry_run.before->account.granted_nodes, asked_before_);
    lowers_ = dry_run.after.target_nodes() < dry_run.before->target_nodes();
  }
  const auto number_of = [](const Pool& pool) {
    return pool.reconfiguration ? pool.reconfiguration->number : 0;
  };
  if (number_of(dry_run.after) > (dry_run.before ? number_of(*dry_run.before) : 0))
    reboots_ = dry_run.after.reconfiguration;
  StagedState<State> staged(state_, 0);
  staged.Put(dry_run.lease);
  staged.Put(dry_run.cluster);
  staged.Put(dry_run.after);
  for (const Node& node : dry_run.nodes) {
    staged.Put(node);
    if (node.state == NodeState::kReconfiguring) rebooting_before_.insert(node.machine);
  }
  revision_ = staged.revision();
}

void Rehearsal::FindVictims(const Snapshot& snapshot) {
  const Pool& pool = *snapshot.pool;
  Budget budget(pool.spec.max_unavailable, pool.spec.target_nodes, snapshot.nodes);
  const int64_t kept = KeptNodes(pool, snapshot.nodes, snapshot.answers.claim);
  const int64_t surplus = SurplusOf(snapshot, snapshot.nodes, kept);
  const Removals removals = SelectRemovals(snapshot, snapshot.nodes, surplus, budget);
  going_next_.clear();
  for (const Node* node : removals.going) {
    AddGoing(node->machine);
    going_next_.insert(node->machine);
  }
  late_ = LateWithRacks(snapshot, removals);
}

void Rehearsal::FindGivenUp(const Snapshot& after, const std::vector<std::string>& ill) {
  const Pool& pool = *after.pool;
  const int64_t stay =
      KeptNodes(pool, after.nodes, after.answers.claim) - CountGoingByTarget(after, after.nodes);
  if (!lowers_ || stay < pool.target_nodes()) return;
  for (const std::string& machine : ill) {
    if (!IsStaying(machine)) AddGoing(machine);
  }
}

void Rehearsal::AddGoing(const std::string& machine) {
  if (found_.insert(machine).second) going_.push_back(machine);
}

void Rehearsal::TellVictims() {
  const auto add = [this](const std::string& machine) {
    if (!victims_.insert(machine).second) return false;
    ++told_.victim_count;
    if (told_.victims.size() < kMaxNamedMachines) told_.victims.push_back(machine);
    return true;
  };
  // Another may have gone instead, such as one that was to be repaired.
  for (const std::string& machine : going_) {
    if (going_next_.contains(machine) || !IsStaying(machine)) add(machine);
  }
  for (const LateOne& late : late_) {
    if (add(late.machine)) told_.waiting_victims += late.why == Why::kWorks ? 1 : 0;
  }
}

// Quota was only asked what it would answer and has kept nothing: what it granted before still
// holds.
void Rehearsal::KeepGranted(HoldingFacts& answer) {
  if (answer.verdict == HoldingFacts::Verdict::kUnder) {
    granted_ = answer.nodes;
  } else if (answer.nodes < granted_) {
    answer.held += granted_ - answer.nodes;
    answer.nodes = granted_;
  }
}

void Rehearsal::TellConfiguration() {
  if (!configuration_.here()) return;
  const ConfigurationFacts& told = configuration_.value;
  // What waits for Nodes that are mid-delivery will be active.
  told_.active = told.waiting ? told.waiting->node_profile : told.active;
  told_.pending = told.pending ? told.pending->node_profile : "";
}

bool Rehearsal::Pass(Snapshot snapshot) {
  if (std::exchange(first_, false)) {
    FindVictims(snapshot);
    configuration_ = snapshot.answers.configuration;
    TellConfiguration();
  } else if (snapshot.answers.configuration.here() && configuration_.here()) {
    // The first pass has staged it: Nodes that were told to boot since do not make it wait.
    snapshot.answers.configuration = configuration_;
  }
  if (snapshot.answers.holding.here()) KeepGranted(snapshot.answers.holding.value);
  const Demand demand = DemandOf(*snapshot.pool, snapshot.nodes, snapshot.catalogue);
  if (demand.claim) {
    asked_ = demand.claim->nodes;
    told_.claim = snapshot.answers.claim;
  }
  std::vector<std::string> ill;
  for (const Node* node : snapshot.nodes) {
    if (node->state == NodeState::kTriage) ill.push_back(node->machine);
  }
  StagedState<State> staged(state_, revision_);
  const Lease lease = *state_.table<Lease>().Find(Lease::kName);
  const ApplyPlan command{last_.name,   last_.uid,   snapshot.version,
                          lease.holder, lease.epoch, Plan(snapshot).actions};
  const bool done = Decide(staged, command, snapshot.now).ok();
  revision_ = staged.revision();
  const Pool* after = state_.table<Pool>().Find(last_.name);
  if (after != nullptr) last_ = *after;
  if (!done || after == nullptr) return false;
  const Demand next = DemandOf(last_, state_.NodesOf(last_.name), snapshot.catalogue);
  // What came early for others that go is wanted no more: who is too many for that goes in the next
  // pass, for which quota and capacity need not be asked.
  snapshot.pool = after;
  snapshot.nodes = state_.NodesOf(last_.name);
  FindVictims(snapshot);
  FindGivenUp(snapshot, ill);
  // Capacity was only asked what it would answer and has kept nothing: asking for less would lose
  // what it said of the rest.
  const bool less = next.claim && demand.claim && next.claim->nodes < demand.claim->nodes;
  return !less && !(next == demand);
}

bool Rehearsal::IsStaying(const std::string& machine) const {
  const Node* node = state_.table<Node>().Find(NodeName(last_.name, machine));
  return node != nullptr && Stays(node->state);
}

std::vector<const Node*> Rehearsal::Staying() const {
  std::vector<const Node*> nodes = state_.NodesOf(last_.name);
  std::erase_if(nodes, [&](const Node* node) {
    return !Stays(node->state) || victims_.contains(node->machine);
  });
  return nodes;
}

int64_t Rehearsal::NodesToReboot() const {
  const std::string& profile = told_.active.empty() ? last_.status.node_profile : told_.active;
  if (profile.empty() || last_.deleting()) return 0;
  const std::vector<const Node*> nodes = Staying();
  const AskedNodes reboots(reboots_);
  return std::count_if(nodes.begin(), nodes.end(), [&](const Node* node) {
    const bool asked = reboots.Has(*node);
    const bool begun =
        node->state == NodeState::kReconfiguring && !rebooting_before_.contains(node->machine);
    // One that is not told yet what to boot will be told that.
    const bool told = node->desired.phase != Phase::kUndecided;
    return asked && (begun || (told && ProfileOf(*node) != profile));
  });
}

Preview Rehearsal::Told() {
  TellVictims();
  Preview out = told_;
  out.nodes_to_reboot = NodesToReboot();
  const bool wanted = last_.deleting() || IsPublishedValid(last_);
  // Without those that come early for others that go: quota has no say in the end.
  out.charge = wanted ? last_.target_nodes() : std::ssize(Staying());
  out.charge_delta = out.charge - charged_before_;
  out.more_nodes = std::max<int64_t>(0, asked_ - asked_before_);
  if (out.more_nodes == 0) out.claim = {};
  if (!last_.deleting()) out.grantable = last_.status.grantable;
  const Condition* capacity = FindCondition(last_.status.conditions, condition::kCapacity);
  if (capacity != nullptr) out.capacity = capacity->message;
  const Condition* validated = FindCondition(last_.status.conditions, condition::kValidated);
  if (validated != nullptr && validated->reason == reason::kInvalid)
    out.invalid = validated->message;
  return out;
}

}  // namespace

std::optional<DryRun> DryRunOf(const State& state, std::optional<Pool> before,
                               const Outcome& outcome) {
  if (outcome.node) {
    const Pool* pool = state.table<Pool>().Find(PoolNameOf(outcome.node->name));
    if (pool == nullptr) return std::nullopt;
    before = *pool;
  } else if (!outcome.pool) {
    return std::nullopt;
  }
  Pool after = outcome.node ? *before : *outcome.pool;
  DryRun dry_run{std::move(before), std::move(after)};
  dry_run.cluster = *state.table<Cluster>().Find(ClusterNameOf(dry_run.after.name));
  for (const Node* node : state.NodesOf(dry_run.after.name)) dry_run.nodes.push_back(*node);
  if (const Lease* lease = state.table<Lease>().Find(Lease::kName)) dry_run.lease = *lease;
  return dry_run;
}

Preview Rehearse(const DryRun& dry_run, absl::FunctionRef<Snapshot(const State&)> look) {
  Rehearsal rehearsal(dry_run);
  for (int pass = 0; pass < kPasses; ++pass) {
    if (!rehearsal.Pass(look(rehearsal.state()))) break;
  }
  return rehearsal.Told();
}

NodePreview RehearseNode(const DryRun& dry_run, const Node& node,
                         absl::FunctionRef<Snapshot(const State&)> look) {
  Rehearsal rehearsal(dry_run);
  Snapshot snapshot = look(rehearsal.state());
  NodePreview told{.node = node, .obstacles = ExplainNode(snapshot, Plan(snapshot), node.name)};
  rehearsal.Pass(std::move(snapshot));
  if (const Node* after = rehearsal.state().table<Node>().Find(node.name)) told.node = *after;
  return told;
}

}  // namespace muster::lifecycle
