#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "services/common/state.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/explain.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/plan.h"
#include "services/lifecycle/core/preview.h"
#include "services/lifecycle/core/testing/coverage.h"
#include "services/lifecycle/core/testing/simulation_agents.h"
#include "services/lifecycle/core/testing/simulation_peers.h"
#include "services/lifecycle/core/validate_command.h"

// For tests: the whole of the core in one thread, with quota, capacity, configuration and agents
// played by a few lines (simulation_peers.h, simulation_agents.h).
namespace muster::lifecycle {

inline constexpr char kSimCluster[] = "organizations/acme/clusters/c1";
inline constexpr char kSimPool[] = "organizations/acme/clusters/c1/nodePools/train";

class Simulation : public SimPeers, public SimAgents {
 public:
  using O = ReportNode::Observation;

  // An event as it was told; `count` above 1: told before.
  struct Told {
    bool on_node = false;
    std::string object = {};  // the pool's or the machine's id
    std::string reason = {};
    std::string message = {};
    int64_t count = 1;
  };

  explicit Simulation(uint64_t seed = 1) : SimAgents(seed) {
    Must(UpdateCluster{.cluster = {.name = kSimCluster, .zone = "US-EAST-04A"}});
    Must(TakeLease{.holder = "a", .epoch = 1});
  }

  // --- the world's knobs ---
  CatalogueFacts catalogue{true, TypeFacts{"gd-8xa100-i128", 8, false, 0}, true, true};
  Policy policy = {};
  std::optional<int64_t> obtainable = {};  // see Snapshot
  LoopFacts loop = {};                     // likewise
  // Told of all that is committed, as a subscriber of a lane.
  std::function<void(absl::Span<const Revised<State::Change>>)> on_commit = {};

  // --- callers ---
  // `validate_only`: what is decided is taken back, as services/rpc/write.h does.
  template <class Command>
  absl::StatusOr<Outcome> Run(const Command& command, bool validate_only = false) {
    if constexpr (requires(Faults & faults) { Validate(command, faults); }) {
      Faults faults;
      Validate(command, faults);
      if (!faults.empty()) return faults.status();
    }
    now_ += absl::Milliseconds(tick_);  // no two commits at the same time
    StagedState<State> staged(state_, revision_);
    auto outcome = Decide(staged, command, now_);
    if (!outcome.ok() && !staged.changes().empty())
      std::abort();  // a refusal leaves nothing behind
    if (validate_only) staged.RollBack();
    revision_ = staged.revision();
    for (const auto& change : staged.changes()) Record(change.change);
    if (on_commit) on_commit(staged.changes());
    return outcome;
  }
  // The same as a dry run; it must not be refused.
  template <class Command>
  Tried TryOut(const Command& command) {
    StagedState<State> staged(state_, revision_);
    auto tried = Try(staged, command, now_);
    staged.RollBack();
    if (!tried.ok()) std::abort();
    return *std::move(tried);
  }
  template <class Command>
  void Must(const Command& command) {
    if (!Run(command).ok()) std::abort();
  }
  // From here on only Advance moves the clock.
  void StopClock() { tick_ = 0; }

  void Create(int64_t target, ScaleDownStrategy strategy = ScaleDownStrategy::kIdleOnly) {
    Apply([&](Spec& spec) {
      spec.target_nodes = target;
      spec.scale_down_strategy = strategy;
    });
  }
  // Creates the pool, or changes its spec.
  void Apply(const std::function<void(Spec&)>& change) { Must(Applied(change)); }
  ApplyNodePool Applied(const std::function<void(Spec&)>& change) const {
    ApplyNodePool command{.name = kSimPool, .new_uid = "uid-1", .type = catalogue.type};
    if (pool() != nullptr) command.spec = pool()->spec;
    command.spec.instance_type = "gd-8xa100-i128";
    change(command.spec);
    command.target_nodes = command.spec.target_nodes;
    return command;
  }
  void ApplySpot(int64_t nodes) {
    Apply([nodes](Spec& spec) {
      spec.compute_class = "spot";
      spec.target_nodes = nodes;
    });
  }
  void Resize(int64_t target) { Must(ResizeNodePool{.name = kSimPool, .target_nodes = target}); }
  void Delete() { Must(DeleteNodePool{.name = kSimPool}); }
  void Advance(absl::Duration by) { now_ += by; }
  absl::Status Report(const std::string& machine, O observation, const std::string& message = "") {
    return Run(ReportNode{.node = NodeName(kSimPool, machine),
                          .observation = observation,
                          .message = message})
        .status();
  }
  void SetActive(const std::string& machine, bool active, int64_t pods = 0) {
    ReportNode report{.node = NodeName(kSimPool, machine),
                      .observation = active ? O::kActive : O::kIdle,
                      .active_pod_count = pods};
    if (active) report.active_pods = {"default/job"};
    (void)Run(report);
  }

  // --- one pass of the loop; `dies`: the process is killed before it commits ---
  // What Plan would look at now; the other services are asked.
  Snapshot Look() {
    Snapshot snapshot{state_.table<Cluster>().Find(kSimCluster), pool(), state_.NodesOf(kSimPool),
                      state_.VersionOf(kSimPool), catalogue};
    const Demand demand = DemandOf(*pool(), snapshot.nodes, catalogue);
    Remember(*pool(), demand);
    snapshot.restored = SnapshotOf(state_, kSimPool)->restored;
    snapshot.policy = policy;
    snapshot.now = now_;
    snapshot.obtainable = obtainable;
    snapshot.loop = loop;
    snapshot.answers = Ask(demand);
    return snapshot;
  }
  // True: the plan did something.
  bool Pass(bool dies = false) {
    if (pool() == nullptr) return false;
    const Snapshot snapshot = Look();
    last_plan = Plan(snapshot);
    same_twice &= Plan(snapshot) == last_plan && PlanLookingAtAll(snapshot) == last_plan;
    if (dies || last_plan.actions.empty()) return false;
    const Lease& lease = *state().table<Lease>().Find(Lease::kName);
    Must(ApplyPlan{kSimPool, pool()->uid, snapshot.version, lease.holder, lease.epoch,
                   last_plan.actions});
    return true;
  }
  // Reasons of why the pool is not where it should be.
  std::vector<std::string> Obstacles() {
    const Snapshot snapshot = Look();
    std::vector<std::string> reasons;
    for (Obstacle& obstacle : Explain(snapshot, Plan(snapshot))) {
      reasons.push_back(std::move(obstacle.reason));
    }
    return reasons;
  }

  // As `QUEUED nobody: 2 of 3 Nodes ...`.
  std::vector<std::string> ObstacleTexts() {
    constexpr const char* kActors[] = {"nobody", "user", "quota admin", "capacity", "operator"};
    const Snapshot snapshot = Look();
    std::vector<std::string> texts;
    for (const Obstacle& o : Explain(snapshot, Plan(snapshot))) {
      texts.push_back(
          absl::StrCat(o.reason, " ", kActors[static_cast<int>(o.actor)], ": ", o.message));
    }
    return texts;
  }

  // One thing of each agent. False: nothing is left to do for them.
  bool Agents() {
    bool moved = false;
    for (const Node* node : state_.NodesOf(kSimPool)) {
      if (const auto report = NextReport(*node)) moved |= Run(*report).ok();
    }
    return moved;
  }

  // Until nothing moves any more within a minute. False: it never settled.
  bool Converge() {
    for (int i = 0; i < 500; ++i) {
      const bool moved = Pass() | Agents();
      if (moved) continue;
      if (last_plan.due == kNever || last_plan.due > now_ + absl::Minutes(1)) return true;
      if (quota_away || capacity_away || configuration_away) return true;
      now_ = std::max(now_, last_plan.due);
    }
    return false;
  }
  // Until the last agent has said what it can, the clock untouched.
  void Drive() {
    while (Pass() | Agents()) {
    }
  }

  // --- what to assert on ---
  const State& state() const { return state_; }
  const Pool* pool() const { return state_.table<Pool>().Find(kSimPool); }
  int64_t revision() const { return revision_; }
  absl::Time now() const { return now_; }
  // Null when there is none.
  const Node* node(const std::string& machine) const {
    return state_.table<Node>().Find(NodeName(kSimPool, machine));
  }
  std::set<std::string> NodeMachines() const {
    std::set<std::string> machines;
    for (const Node* node : state_.NodesOf(kSimPool)) machines.insert(node->machine);
    return machines;
  }
  // Reasons of the pool's own events in the order in which they first happened.
  std::vector<std::string> Reasons() const {
    std::vector<std::pair<absl::Time, std::string>> all;
    for (const auto& [key, event] : state_.table<Event>().rows()) {
      if (event.row->object != kSimPool) continue;
      all.emplace_back(event.row->first_time, event.row->reason);
    }
    std::sort(all.begin(), all.end());
    std::vector<std::string> reasons;
    for (auto& [time, reason] : all) reasons.push_back(std::move(reason));
    return reasons;
  }
  int64_t CountOf(const std::string& reason) const {
    int64_t count = 0;
    for (const auto& [key, event] : state_.table<Event>().rows()) {
      // Some are told of the Node as well.
      if (event.row->object == kSimPool && event.row->reason == reason) count += event.row->count;
    }
    return count;
  }

  // The pool's condition: `False/Over: NodePool targetNodes ...`; empty: there is none.
  std::string Says(const std::string& type) const {
    const Condition* c = FindCondition(pool()->status.conditions, type);
    return c == nullptr
               ? ""
               : absl::StrCat(c->status.get(), "/", c->reason.get(), ": ", c->message.get());
  }
  std::string Reason(const std::string& type) const {
    return std::string(ReasonOf(pool()->status.conditions, type));
  }
  // Every event ever told, in order.
  const std::vector<Told>& told() const { return told_; }
  // Reasons told of the pool, or of a Node, since told()[from].
  std::vector<std::string> ReasonsSince(size_t from, const std::string& machine = "") const {
    std::vector<std::string> reasons;
    for (size_t i = from; i < told_.size(); ++i) {
      if (told_[i].on_node == !machine.empty() && (!told_[i].on_node || told_[i].object == machine))
        reasons.push_back(told_[i].reason);
    }
    return reasons;
  }

  PoolPlan last_plan = {};
  bool same_twice = true;  // every plan made twice was the same, also with every Node looked at
  bool never_over = true;  // machines held <= requested <= granted <= holding <= limit at the time
  bool fenced = true;      // one generation always asked the same

 private:
  // All that goes to quota and capacity.
  struct Asked {
    std::optional<HoldingAsk> holding = {};
    ClaimAsk claim = {};
    int32_t priority = 0;
    bool gang = false;
    Affinity affinity = {};
    bool operator==(const Asked&) const = default;
  };

  void Remember(const Pool& pool, const Demand& demand) {
    if (!demand.claim) return;
    const Asked asked{demand.holding, *demand.claim, pool.spec.priority, pool.spec.gang,
                      pool.spec.node_affinity};
    const auto key = std::pair(pool.uid, pool.account.generation);
    const auto [it, fresh] = asked_.emplace(key, asked);
    if (!fresh && !(it->second == asked)) fenced = false;
  }

  PeerReplies Ask(const Demand& demand) {
    PeerReplies answers = KnownAnswers(*pool());
    if (demand.holding) answers.holding = AskQuota(*demand.holding);
    if (demand.claim) {
      answers.claim = AskCapacity(*demand.claim, !pool()->spec.node_affinity.empty());
    }
    if (demand.configuration) answers.configuration = AskConfiguration(*demand.configuration);
    const PoolAccount& account = pool()->account;
    never_over &= static_cast<int64_t>(machines().size()) <= account.requested_nodes &&
                  account.requested_nodes <= account.granted_nodes &&
                  account.granted_nodes <= holding();
    return answers;
  }

  void Record(const State::Change& change) {
    Coverage& coverage = Coverage::Get();
    const auto see = [&](const auto& row) {
      if (row == nullptr) return;
      for (const Condition& c : row->conditions) coverage.SawCondition(c.type, c.reason);
    };
    if (const auto* node = std::get_if<std::shared_ptr<const Node>>(&change.row)) see(*node);
    if (const auto* pool = std::get_if<std::shared_ptr<const Pool>>(&change.row)) {
      if (*pool != nullptr) see(&(*pool)->status);
    }
    const auto* event = std::get_if<std::shared_ptr<const Event>>(&change.row);
    if (event == nullptr || *event == nullptr) return;
    const Event& e = **event;
    const bool on_node = e.object != kSimPool;
    coverage.SawEvent(on_node, e.reason);
    told_.push_back({on_node, std::string(LastIdOf(e.object)), e.reason, e.message, e.count});
  }

  State state_;
  int64_t revision_ = 0;
  int64_t tick_ = 1;
  absl::Time now_ = absl::FromUnixSeconds(1'750'000'000);
  std::map<std::pair<std::string, int64_t>, Asked> asked_;
  std::vector<Told> told_;
};

}  // namespace muster::lifecycle
