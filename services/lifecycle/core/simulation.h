#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/common/state.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/plan.h"

// For tests: the whole of the core in one thread, with quota, capacity, configuration and agents
// played by a few lines.
namespace muster::lifecycle {

inline constexpr char kSimCluster[] = "organizations/acme/clusters/c1";
inline constexpr char kSimPool[] = "organizations/acme/clusters/c1/nodePools/train";

class Simulation {
 public:
  explicit Simulation(uint64_t seed = 1) : random_(seed) {
    for (int i = 0; i < 100; ++i) free_.insert("g" + std::to_string(100 + i));
    Must(UpdateCluster{.cluster = {.name = kSimCluster, .zone = "US-EAST-04A"}});
    Must(TakeLease{.holder = "a", .epoch = 1});
  }

  // --- the world's knobs ---
  int64_t limit = 50;
  bool quota_away = false;
  bool capacity_away = false;
  bool configuration_away = false;
  CatalogueFacts catalogue{true, TypeFacts{"gd-8xa100-i128", 8, false, 0}, true, true};
  Policy policy = {};
  double boot_failure = 0;

  // --- callers ---
  template <class Command>
  absl::StatusOr<Outcome> Run(const Command& command) {
    now_ += absl::Milliseconds(1);  // no two commits at the same time
    Overlay<State> overlay(state_, revision_);
    auto outcome = Decide(overlay, command, now_);
    if (!outcome.ok() && !overlay.changes().empty())
      std::abort();  // a refusal leaves nothing behind
    revision_ = overlay.revision();
    return outcome;
  }
  template <class Command>
  void Must(const Command& command) {
    if (!Run(command).ok()) std::abort();
  }
  void Create(int64_t target, const std::string& strategy = "IdleOnly") {
    ApplyNodePool command{.name = kSimPool, .new_uid = "uid-1", .target_nodes = target};
    command.spec.instance_type = "gd-8xa100-i128";
    command.spec.scale_down_strategy = strategy;
    Must(command);
  }
  void Resize(int64_t target) { Must(ResizeNodePool{.name = kSimPool, .target_nodes = target}); }
  void Delete() { Must(DeleteNodePool{.name = kSimPool}); }
  void Advance(absl::Duration by) { now_ += by; }

  // Capacity serves its queue at any time, not only when it is asked.
  void Serve() {
    while (static_cast<int64_t>(held_.size()) < claim_nodes_ && !free_.empty()) {
      held_.insert(free_.extract(free_.begin()));
    }
  }

  // --- one pass of the loop; `dies`: the process is killed before it commits ---
  // True: the plan did something.
  bool Pass(bool dies = false) {
    const Pool* pool = state_.table<Pool>().Find(kSimPool);
    if (pool == nullptr) return false;
    Snapshot snapshot{state_.table<Cluster>().Find(kSimCluster), pool, state_.NodesOf(kSimPool),
                      state_.VersionOf(kSimPool), catalogue};
    const Demand demand = DemandOf(*pool, snapshot.nodes, catalogue);
    Remember(*pool, demand);
    snapshot.policy = policy;
    snapshot.now = now_;
    snapshot.answers = Ask(demand);
    last_plan = Plan(snapshot);
    same_twice &= Plan(snapshot) == last_plan;
    if (dies || last_plan.actions.empty()) return false;
    Must(ApplyPlan{kSimPool, pool->uid, snapshot.version, 1, last_plan.actions});
    return true;
  }

  // What agents do until nothing is left to do for them.
  bool Agents() {
    bool moved = false;
    for (const Node* node : state_.NodesOf(kSimPool)) {
      const Node copy = *node;
      moved |= Agent(copy);
    }
    return moved;
  }

  // Until nothing moves any more. False: it never settled.
  bool Settle() {
    for (int i = 0; i < 500; ++i) {
      const bool moved = Pass() | Agents();
      if (moved) continue;
      if (last_plan.due == kNever || last_plan.due > now_ + absl::Minutes(1)) return true;
      if (quota_away || capacity_away || configuration_away) return true;
      now_ = std::max(now_, last_plan.due);
    }
    return false;
  }

  void SetActive(const std::string& machine, bool active) {
    using O = ReportNode::Observation;
    ReportNode report{.node = NodeName(kSimPool, machine),
                      .observation = active ? O::kActive : O::kIdle};
    if (active) report.active_pods = {"default/job"};
    (void)Run(report);
  }

  // --- what to assert on ---
  const State& state() const { return state_; }
  const Pool* pool() const { return state_.table<Pool>().Find(kSimPool); }
  int64_t revision() const { return revision_; }
  absl::Time now() const { return now_; }
  int64_t holding() const { return holding_.nodes; }
  bool has_holding() const { return has_holding_; }
  bool has_claim() const { return has_claim_; }
  const std::set<std::string>& machines() const { return held_; }
  const std::set<std::string>& broken() const { return broken_; }
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

  PoolPlan last_plan = {};
  bool same_twice = true;  // every plan made twice was the same
  bool never_over = true;  // machines held <= requested <= granted <= holding <= limit at the time
  bool fenced = true;      // one generation always asked the same

 private:
  struct Holding {
    int64_t nodes = 0;
    int64_t generation = 0;
  };

  void Remember(const Pool& pool, const Demand& demand) {
    if (!demand.claim) return;
    const auto key = std::pair(pool.uid, pool.account.generation);
    const auto [it, fresh] = asked_.emplace(key, *demand.claim);
    if (!fresh && !(it->second == *demand.claim)) fenced = false;
  }

  Answers Ask(const Demand& demand) {
    Answers answers;
    if (demand.holding) answers.holding = AskQuota(*demand.holding);
    if (demand.claim) answers.claim = AskCapacity(*demand.claim);
    if (demand.configuration) {
      using S = Answer<ConfigurationAnswer>::State;
      answers.configuration.state = configuration_away ? S::kAway : S::kHere;
      answers.configuration.value.active = configuration_away ? "" : "np-000000000001";
    }
    const Account& account = pool()->account;
    never_over &= static_cast<int64_t>(held_.size()) <= account.requested_nodes &&
                  account.requested_nodes <= account.granted_nodes &&
                  account.granted_nodes <= holding_.nodes;
    return answers;
  }

  Answer<HoldingAnswer> AskQuota(const HoldingAsk& ask) {
    Answer<HoldingAnswer> answer;
    answer.state = Answer<HoldingAnswer>::State::kAway;
    if (quota_away || ask.generation < holding_.generation) return answer;
    answer.state = Answer<HoldingAnswer>::State::kHere;
    has_holding_ = !ask.release;
    holding_.generation = ask.generation;
    using V = HoldingAnswer::Verdict;
    if (ask.nodes > holding_.nodes && ask.nodes > limit) {
      answer.value = {limit == 0 ? V::kNotSet : V::kOver, holding_.nodes};
      return answer;
    }
    holding_.nodes = ask.nodes;
    answer.value = {V::kUnder, ask.nodes};
    return answer;
  }

  Answer<ClaimAnswer> AskCapacity(const ClaimAsk& ask) {
    Answer<ClaimAnswer> answer;
    answer.state = Answer<ClaimAnswer>::State::kAway;
    if (capacity_away || ask.generation < claim_generation_) return answer;
    if (ask.generation > claim_generation_) {
      claim_generation_ = ask.generation;
      claim_nodes_ = ask.nodes;
      for (const MachineReturn& back : ask.returns) {
        if (held_.erase(back.machine) == 0) continue;
        (back.reason == MachineReturn::Reason::kBroken ? broken_ : free_).insert(back.machine);
      }
      if (ask.release && !held_.empty()) std::abort();
      has_claim_ = !ask.release;
    }
    Serve();
    answer.state = Answer<ClaimAnswer>::State::kHere;
    answer.value.machines.assign(held_.begin(), held_.end());
    answer.value.outstanding =
        std::max<int64_t>(0, claim_nodes_ - static_cast<int64_t>(held_.size()));
    answer.value.nodes = claim_nodes_;
    answer.value.in_service = static_cast<int64_t>(held_.size() + free_.size());
    using R = ClaimAnswer::Reason;
    answer.value.reason = answer.value.outstanding == 0 ? R::kSufficient
                          : held_.empty()               ? R::kNoneAvailable
                                                        : R::kPartial;
    return answer;
  }

  // One thing that the agent of this Node can report now.
  bool Agent(const Node& node) {
    using O = ReportNode::Observation;
    ReportNode report{.node = node.name};
    const bool run = node.desired.phase == Phase::kRunning;
    if (node.state == NodeState::kAssigned && run) {
      report.observation = O::kBootStarted;
    } else if (node.state == NodeState::kBooting && run) {
      const bool fails = std::uniform_real_distribution<>(0, 1)(random_) < boot_failure;
      report.observation = fails ? O::kBootFailed : O::kRegistered;
      report.node_profile = node.desired.node_profile;
    } else if (node.state == NodeState::kRegistered) {
      report.observation = O::kReady;
    } else if (node.state == NodeState::kDraining && !node.observed.active) {
      report.observation = O::kDrained;
    } else if (node.state == NodeState::kDraining && node.desired.drain_deadline != kNever) {
      report.observation = O::kDrained;
    } else if (node.state == NodeState::kPreparedForTerminate) {
      report.observation = O::kTerminated;
    } else {
      return false;
    }
    return Run(report).ok();
  }

  std::mt19937_64 random_;
  State state_;
  int64_t revision_ = 0;
  absl::Time now_ = absl::FromUnixSeconds(1'750'000'000);
  Holding holding_;
  bool has_holding_ = false;
  bool has_claim_ = false;
  int64_t claim_generation_ = 0;
  int64_t claim_nodes_ = 0;
  std::set<std::string> free_;
  std::set<std::string> held_;
  std::set<std::string> broken_;
  std::map<std::pair<std::string, int64_t>, ClaimAsk> asked_;
};

}  // namespace muster::lifecycle
