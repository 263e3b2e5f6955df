#pragma once

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/common/state.h"
#include "services/lifecycle/core/asked_to_go.h"
#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/metadata.h"
#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/plan.h"

// For tests: a random pool with Nodes in all states and random marks, and other services that
// always answer the same, by what they have charged and taken back. Of every second seed its type
// is granted in racks.
namespace muster::lifecycle {

class RandomWorld {
 public:
  explicit RandomWorld(uint64_t seed) : random_(seed), nodes_per_rack_(seed % 2 == 0 ? kRack : 0) {
    StagedState<State> staged(state, 0);
    staged.Put(Cluster{.name = kCluster, .zone = "US-EAST-04A"});
    staged.Put(Lease{.holder = "a", .epoch = 1});
    MakePool();
    const int size = Uniform(9);
    for (int i = 0; i < size; ++i) nodes_.push_back(MakeNode(i));
    MakeAccount();
    staged.Put(pool_);
    for (const Node& node : nodes_) staged.Put(node);
    revision = staged.revision();
    MakeAnswers();
  }

  Snapshot Look() const {
    const Pool* pool = state.table<Pool>().Find(kPool);
    Snapshot snapshot{state.table<Cluster>().Find(kCluster), pool, state.NodesOf(kPool),
                      state.VersionOf(kPool), catalogue_};
    snapshot.now = now;
    const Demand demand = DemandOf(*pool, snapshot.nodes, catalogue_);
    snapshot.answers = KnownAnswers(*pool);
    if (demand.holding) snapshot.answers.holding = AnswerTo(*demand.holding);
    if (demand.claim) snapshot.answers.claim = AnswerTo(*demand.claim);
    if (demand.configuration) snapshot.answers.configuration = configuration_;
    return snapshot;
  }
  absl::Status Apply(const Snapshot& snapshot, const PoolPlan& plan) {
    StagedState<State> staged(state, revision);
    const auto outcome = Decide(
        staged, ApplyPlan{kPool, snapshot.pool->uid, snapshot.version, "a", 1, plan.actions}, now);
    revision = staged.revision();
    return outcome.status();
  }
  const Pool* pool() const { return state.table<Pool>().Find(kPool); }

  static constexpr char kCluster[] = "organizations/acme/clusters/c1";
  static constexpr char kPool[] = "organizations/acme/clusters/c1/nodePools/train";
  State state = {};
  int64_t revision = 0;
  absl::Time now = absl::FromUnixSeconds(1'750'000'000);

 private:
  static constexpr int kRack = 3;

  int Uniform(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  bool OneIn(int n) { return Uniform(n) == 0; }
  template <class T>
  T Pick(std::initializer_list<T> of) {
    return *(of.begin() + Uniform(static_cast<int>(of.size())));
  }
  absl::Time Ago() { return now - absl::Seconds(Pick({0, 1, 2, 60, 300, 900, 1800, 7200})); }
  // kNever at times.
  absl::Time Around() {
    return OneIn(3) ? kNever : now + absl::Seconds(Pick({-600, -1, 0, 1, 600}));
  }
  std::string Profile() { return Pick<const char*>({"np-000000000001", "np-000000000002"}); }

  void MakePool() {
    pool_.name = kPool;
    pool_.uid = "uid-1";
    pool_.zone = "US-EAST-04A";
    pool_.create_time = now - absl::Hours(3);
    Spec& spec = pool_.spec;
    spec.instance_type = "gd-8xa100-i128";
    spec.target_nodes = Uniform(9);
    if (nodes_per_rack_ > 0) spec.target_nodes -= spec.target_nodes % nodes_per_rack_;
    spec.scale_down_strategy =
        Pick<ScaleDownStrategy>({ScaleDownStrategy::kIdleOnly, ScaleDownStrategy::kPreferIdle});
    spec.disable_unhealthy_node_eviction = OneIn(2);
    spec.max_unavailable = Pick<const char*>({"", "", "1", "2", "25%", "100%"});
    if (OneIn(4)) spec.compute_class = "spot";
    if (OneIn(6)) spec.node_affinity = {{{"row", "In", {"7"}}}};
    if (OneIn(3)) spec.node_labels = {{"team", "ml"}};
    if (!spec.spot() && OneIn(3)) spec.prefill = Prefill{true, Pick({0, 60}), Uniform(5)};
    if (OneIn(6)) pool_.delete_time = Ago();
    if (OneIn(2)) MakeReconfiguration();
    if (OneIn(2)) pool_.status.node_profile = Profile();
  }
  void MakeReconfiguration() {
    using S = Reconfiguration::State;
    Reconfiguration asked;
    asked.state = Pick({S::kRunning, S::kRunning, S::kPaused, S::kHalted, S::kDone, S::kCancelled});
    if (pool_.deleting()) asked.state = S::kCancelled;
    asked.evict_active = OneIn(2);
    asked.max_unavailable = Pick<const char*>({"", "1", "50%"});
    if (OneIn(3)) asked.machines = {"g0", "g2", "g4"};
    if (OneIn(4)) asked.failed_machines = {"g99"};
    asked.create_time = asked.state_time = Ago();
    pool_.reconfiguration = asked;
  }

  Node MakeNode(int i) {
    Node node;
    node.machine = absl::StrCat("g", i);
    node.name = NodeName(kPool, node.machine);
    node.pool_uid = pool_.uid;
    node.rack = absl::StrCat("rack-", i / kRack);
    node.state = static_cast<NodeState>(Uniform(kNodeStates));
    if (OneIn(3)) node.state = NodeState::kProduction;
    node.create_time = now - absl::Hours(2) + absl::Seconds(Uniform(100));
    node.state_time = Ago();
    Desire(node);
    Observe(node);
    if (OneIn(6)) GiveOrders(node);
    node.removal_requested = OneIn(6);
    const bool may_be_asked = Stays(node.state) || node.state == NodeState::kCordoned;
    if (IsNamed(node) && may_be_asked && OneIn(2)) {
      node.asked_to_go_time = Ago();
      node.replace_time = kNever;
    }
    if (OneIn(5)) node.protect_until_time = Around();
    if (OneIn(10)) node.reserved_desired = kControlPlane;
    const bool in_cluster = node.state == NodeState::kCordoned ||
                            node.state == NodeState::kDraining ||
                            (node.state == NodeState::kPreparedForTerminate && OneIn(2));
    if (in_cluster) node.conditions = {{"CWRegistered", "True", "Registered", "", now, 0}};
    UpdateConditions(node, now);
    if (!OneIn(5)) UpdateMetadata(node, pool_, true);
    return node;
  }
  void Desire(Node& node) {
    Desired& desired = node.desired;
    desired.node_profile = Profile();
    const bool leaves = node.state == NodeState::kCordoned || node.state == NodeState::kDraining ||
                        node.state == NodeState::kPreparedForTerminate ||
                        node.state == NodeState::kDeleted;
    const bool off = node.state == NodeState::kPreparedForTerminate || IsReturnable(node.state);
    desired.phase = off ? Phase::kTerminated : Phase::kRunning;
    if (node.state == NodeState::kAssigned && OneIn(2)) {
      desired.phase = Phase::kUndecided;
      desired.node_profile.clear();
    }
    if (desired.phase != Phase::kUndecided) desired.phase_time = Ago();
    if (leaves) {
      using C = RemovalCause;
      node.removal_cause = Pick({C::kScaleDown, C::kRepair, C::kPreemption, C::kReservation});
      if (pool_.deleting() && OneIn(2)) node.removal_cause = C::kDeletion;
      if (node.removal_cause == C::kPreemption) node.preempt_time = Ago();
    }
    desired.cordoned = leaves || node.state == NodeState::kTriage;
    if (node.state == NodeState::kTriage && OneIn(3)) node.replace_time = Ago();
    if (node.state == NodeState::kReconfiguring) {
      node.reconfigure_time = Ago();
      desired.cordoned = true;
    }
    if (node.state == NodeState::kProduction && pool_.reconfiguration && OneIn(3)) {
      node.reconfigure_time = Ago();
      desired.cordoned = true;
      desired.drain = OneIn(2);
    }
    desired.drain |= node.state == NodeState::kDraining;
    if (!desired.drain) return;
    desired.drain_time = Ago();
    desired.drain_deadline = Around();
    desired.force_drain = desired.drain_deadline < now && OneIn(2);
  }
  void GiveOrders(Node& node) {
    NodeOrders& orders = node.orders;
    if (OneIn(2)) orders.cordon_time = Ago();
    if (orders.cordon_time != kNever && OneIn(2)) orders.drain_time = orders.cordon_time;
    orders.drain_forced = orders.drain_time != kNever && OneIn(4);
    if (OneIn(2)) orders.reboot = Pick({Reboot::kWhenIdle, Reboot::kDrained, Reboot::kForced});
    if (orders.reboot != Reboot::kNone) orders.reboot_time = Ago();
    KeepOrders(node);
  }
  void Observe(Node& node) {
    Observed& seen = node.observed;
    const bool registered = !IsInProgress(node.state);
    if (!registered) return;
    seen.node_profile = Profile();
    seen.active = node.state != NodeState::kRegistered && !IsReturnable(node.state) && OneIn(2);
    if (seen.active) seen.active_pods = {"default/job"};
    seen.active_time = Ago();
    seen.autoscaler_marked = OneIn(8);
    seen.unschedulable = OneIn(8);
    seen.unhealthy = OneIn(8) || (node.state == NodeState::kTriage && !OneIn(4));
    if (node.desired.drain && OneIn(3)) seen.drain_blocked_by = "default/web-pdb";
    if (IsInService(node.state) && OneIn(8)) seen.staging_error = "the disk is full";
    if (node.state == NodeState::kPreparedForTerminate && OneIn(4)) seen.removal_error = "stuck";
  }

  // As the invariant of demand.h has it.
  void MakeAccount() {
    PoolAccount& account = pool_.account;
    for (const Node& node : nodes_)
      account.prefill_nodes += node.replace_time != kNever || IsAskedToGo(node) ? 1 : 0;
    if (OneIn(8)) ++account.prefill_nodes;
    if (OneIn(8)) account.deferred_nodes = Uniform(2);
    if (OneIn(4)) account.leaving_racks = {"rack-0", "rack-9"};
    account.requested_nodes = static_cast<int64_t>(nodes_.size()) + Uniform(3);
    account.granted_nodes = account.requested_nodes + Uniform(3);
    account.generation = 5;
  }

  void MakeAnswers() {
    catalogue_ = {!OneIn(8), TypeFacts{"gd-8xa100-i128", 8, false, nodes_per_rack_}, !OneIn(10),
                  !OneIn(10)};
    if (OneIn(12)) catalogue_.type.reset();
    quota_away_ = OneIn(6);
    limit_ = Uniform(14);
    charged_ = pool_.account.granted_nodes;
    using A = PeerReply<ClaimFacts>;
    claim_.state = OneIn(6) ? A::State::kAway : A::State::kHere;
    if (claim_.here()) MakeClaim();
    using C = PeerReply<ConfigurationFacts>;
    configuration_.state = OneIn(6) ? C::State::kAway : C::State::kHere;
    if (!configuration_.here()) return;
    ConfigurationFacts& value = configuration_.value;
    if (!OneIn(8)) value.active = Profile();
    for (const char* profile : {"np-000000000001", "np-000000000002"}) {
      NodeConfiguration made;
      made.node_profile = profile;
      made.disabled = OneIn(6);
      value.revisions.push_back(made);
    }
    if (OneIn(8)) value.problem = "No release fits.";
  }
  void MakeClaim() {
    using R = ClaimFacts::Reason;
    ClaimFacts& value = claim_.value;
    for (const Node& node : nodes_) {
      if (!OneIn(IsReturnable(node.state) ? 2 : 12)) value.machines.push_back(node.machine);
    }
    if (OneIn(3)) value.machines.push_back("h1");
    if (OneIn(3)) value.machines.push_back("h2");
    const auto held = static_cast<int64_t>(value.machines.size());
    value.in_service = held + Uniform(3);
    value.matching = OneIn(3) ? 0 : value.in_service;
    value.reason = Pick({R::kQueued, R::kPartial, R::kNoneAvailable});
    if (!pool_.spec.spot()) return;
    for (const std::string& machine : value.machines) {
      if (OneIn(3)) value.reclaims.push_back({machine, Ago()});
    }
  }
  PeerReply<ClaimFacts> AnswerTo(const ClaimAsk& ask) const {
    PeerReply<ClaimFacts> answer = claim_;
    if (!answer.here()) return answer;
    for (const MachineReturn& back : ask.returns) returned_.insert(back.machine);
    std::erase_if(answer.value.machines,
                  [&](const std::string& machine) { return returned_.contains(machine); });
    const auto held = static_cast<int64_t>(answer.value.machines.size());
    answer.value.nodes = ask.nodes;
    answer.value.outstanding = std::max<int64_t>(0, ask.nodes - held);
    if (answer.value.outstanding == 0) answer.value.reason = ClaimFacts::Reason::kSufficient;
    return answer;
  }
  PeerReply<HoldingFacts> AnswerTo(const HoldingAsk& ask) const {
    using V = HoldingFacts::Verdict;
    PeerReply<HoldingFacts> answer;
    answer.state =
        quota_away_ ? PeerReply<HoldingFacts>::State::kAway : PeerReply<HoldingFacts>::State::kHere;
    const bool fits = ask.nodes <= std::max(charged_, limit_);
    if (fits && !quota_away_) charged_ = ask.nodes;
    answer.value = {fits ? V::kUnder : V::kOver, charged_, limit_, charged_, ""};
    return answer;
  }

  std::mt19937_64 random_;
  const int nodes_per_rack_;  // 0: it has no racks
  Pool pool_;
  std::vector<Node> nodes_;
  CatalogueFacts catalogue_;
  bool quota_away_ = false;
  int64_t limit_ = 0;
  mutable int64_t charged_ = 0;  // by quota
  PeerReply<ClaimFacts> claim_;
  mutable std::set<std::string> returned_;  // machines that were given back
  PeerReply<ConfigurationFacts> configuration_;
};

}  // namespace muster::lifecycle
