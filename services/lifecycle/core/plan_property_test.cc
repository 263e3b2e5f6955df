// What holds of Plan whatever the snapshot is.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "absl/strings/str_join.h"
#include "services/lifecycle/core/asked_to_go.h"
#include "services/lifecycle/core/budget.h"
#include "services/lifecycle/core/conditions.h"
#include "services/lifecycle/core/explain.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/removals.h"
#include "services/lifecycle/core/testing/random_world.h"
#include "services/lifecycle/core/testing/simulation.h"
#include "tests/testing/wording.h"

namespace muster::lifecycle {
namespace {

constexpr uint64_t kSeeds = 20'000;
// Plans until nothing is left to do with the same answers at the same time.
constexpr int kMostSteps = 8;

struct SaysWhy {
  bool operator()(const EmitEvent& a) const { return !a.message.empty(); }
  template <class A>
  bool operator()(const A& a) const {
    return !a.reason.empty();
  }
};

void ExpectSaysWhy(const Snapshot& snapshot, const PoolPlan& plan) {
  for (const Action& action : plan.actions) {
    EXPECT_TRUE(std::visit(SaysWhy(), action)) << action.index();
  }
  for (const Defer& defer : plan.defers) {
    EXPECT_FALSE(defer.subject.empty() || defer.message.empty()) << DeferReasonName(defer.reason);
    EXPECT_GT(defer.until, snapshot.now) << DeferReasonName(defer.reason);
  }
  // Due in the past with nothing to do would be asked for for ever.
  if (plan.actions.empty()) {
    EXPECT_GT(plan.due, snapshot.now);
  }
  std::string at_target(ReasonOf(snapshot.pool->status.conditions, "AtTarget"));
  for (const Action& action : plan.actions) {
    const auto* status = std::get_if<SetStatus>(&action);
    if (status != nullptr) {
      at_target = std::string(ReasonOf(status->status.conditions, "AtTarget"));
    }
  }
  if (at_target != "TargetMet" && !at_target.empty()) {
    EXPECT_FALSE(Explain(snapshot, plan).empty()) << at_target;
  }
}

// All that it says is well said.
void ExpectWellSaid(const Snapshot& snapshot, const PoolPlan& plan) {
  const auto check = [](const std::string& text) { EXPECT_EQ(testing::WordingFault(text), ""); };
  for (const Obstacle& obstacle : Explain(snapshot, plan)) check(obstacle.message);
  for (const Action& action : plan.actions) {
    if (const auto* event = std::get_if<EmitEvent>(&action)) check(event->message);
    if (const auto* status = std::get_if<SetStatus>(&action)) {
      for (const Condition& condition : status->status.conditions) check(condition.message);
    }
  }
}

// What a plan does, for people.
std::string Text(const PoolPlan& plan) {
  std::string text;
  for (const Action& action : plan.actions) {
    absl::StrAppend(&text, " #", action.index());
    if (const auto* step = std::get_if<StepNode>(&action)) {
      absl::StrAppend(&text, " ", LastIdOf(step->node), " ", NodeEventName(step->event));
    }
    if (const auto* set = std::get_if<SetAccount>(&action)) {
      absl::StrAppend(&text, " ", set->account.granted_nodes, "/", set->account.requested_nodes,
                      "/", set->account.prefill_nodes);
    }
    if (const auto* event = std::get_if<EmitEvent>(&action)) {
      absl::StrAppend(&text, " ", event->message);
    }
    if (const auto* status = std::get_if<SetStatus>(&action)) {
      for (const Condition& c : status->status.conditions) {
        absl::StrAppend(&text, " ", c.type.get(), "=", c.reason.get(), " ", c.message.get());
      }
    }
  }
  return text;
}

// Nodes whom the plan takes for good are idle under IdleOnly, and not protected. Returns how many
// it takes so.
int ExpectTakesOnlyWhoMayGo(const Snapshot& snapshot, const State& state, const PoolPlan& plan) {
  const Pool& pool = *snapshot.pool;
  int judged = 0;
  if (pool.deleting()) return judged;
  for (const Action& action : plan.actions) {
    const auto* step = std::get_if<StepNode>(&action);
    if (step == nullptr) continue;
    const Node* node = state.table<Node>().Find(step->node);
    if (node == nullptr) continue;
    const bool takes = step->event == NodeEvent::kCordon || step->event == NodeEvent::kAbort;
    if (takes && step->cause == RemovalCause::kScaleDown) {
      ++judged;
      EXPECT_LE(node->protect_until_time == kNever ? snapshot.now : node->protect_until_time,
                snapshot.now);
    }
    const bool scales_down =
        step->cause == RemovalCause::kScaleDown || node->removal_cause == RemovalCause::kScaleDown;
    const bool drains = step->event == NodeEvent::kDrain && node->preempt_time == kNever &&
                        node->orders.drain_time == kNever && node->reserved_desired.empty();
    if (pool.spec.scale_down_strategy == ScaleDownStrategy::kIdleOnly && scales_down &&
        (takes || drains)) {
      EXPECT_FALSE(node->observed.active) << node->name;
    }
  }
  return judged;
}

// Of a type that is granted in racks: once all have gone that go or are awaited, the pool keeps a
// part of one at most of the racks from which it takes whom nobody named. Returns whether it takes
// any.
bool ExpectRackByRack(const Snapshot& snapshot) {
  if (!snapshot.catalogue.type || snapshot.catalogue.type->nodes_per_rack == 0) return false;
  const Pool& pool = *snapshot.pool;
  const PeerReply<ClaimFacts>& claim = snapshot.answers.claim;
  Budget budget(pool.spec.max_unavailable, pool.spec.target_nodes, snapshot.nodes);
  const int64_t surplus =
      SurplusOf(snapshot, snapshot.nodes, KeptNodes(pool, snapshot.nodes, claim));
  const Removals removals = SelectRemovals(snapshot, snapshot.nodes, surplus, budget);
  std::set<const Node*> go(removals.going.begin(), removals.going.end());
  for (const DelayedRemoval& delayed : removals.delayed) {
    if (delayed.awaited) go.insert(delayed.node);
  }
  std::set<std::string> begun;
  for (const Node* node : removals.going) {
    if (!IsNamed(*node)) begun.insert(node->rack);
  }
  std::set<std::string> in_part;
  for (const Node* node : snapshot.nodes) {
    const bool keeps = Stays(node->state) && !IsNamed(*node) && !IsUnheld(pool, *node, claim);
    if (keeps && !go.contains(node) && begun.contains(node->rack)) in_part.insert(node->rack);
  }
  EXPECT_LE(in_part.size(), 1U) << absl::StrJoin(in_part, " ");
  return !begun.empty();
}

std::set<std::string> NodesThat(const State& state, const char* (*are)(const Node&)) {
  std::set<std::string> names;
  for (const Node* node : state.NodesOf(RandomWorld::kPool)) {
    if (are(*node) != nullptr) names.insert(node->name);
  }
  return names;
}

// With whoever is newly taken out of service the pool stays within its budget, the unhealthy, whom
// nobody took, counted; nullopt: there is none. Returns whether there is one, and somebody is newly
// taken.
bool ExpectWithinBudget(std::optional<int64_t> limit, const std::set<std::string>& were,
                        const std::set<std::string>& forced, const State& after) {
  std::set<std::string> are = NodesThat(after, DisruptionOf);
  std::set<std::string> taken = NodesThat(after, TakenFor);
  for (const std::string& name : forced) {
    taken.erase(name);
    if (!were.contains(name)) are.erase(name);
  }
  // Whoever is ill is out of service already: it is taken when those that were are not too many.
  std::set<std::string> well;
  for (const Node* node : after.NodesOf(RandomWorld::kPool)) {
    if (taken.contains(node->name) && !node->observed.unhealthy) well.insert(node->name);
  }
  const auto more = [&](const std::set<std::string>& names) {
    return !std::includes(were.begin(), were.end(), names.begin(), names.end());
  };
  if (!limit || !more(taken)) return false;
  EXPECT_LE(more(well) ? std::ssize(are) : std::ssize(taken), *limit)
      << absl::StrJoin(are, " ") << "\nwere\n"
      << absl::StrJoin(were, " ");
  return true;
}

// Who is forced is taken out of service whatever the budget says.
std::set<std::string> Forced(const Snapshot& snapshot) {
  std::set<std::string> forced;
  for (const Node* node : snapshot.nodes) {
    const NodeOrders& orders = node->orders;
    if (orders.drain_forced || orders.reboot == Reboot::kForced) forced.insert(node->name);
  }
  return forced;
}

TEST(PlanProperty, HoldsForEverySnapshot) {
  int taken = 0;
  int from_racks = 0;
  int budgeted = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    RandomWorld world(seed);
    int step = 0;
    for (; world.pool() != nullptr; ++step) {
      const Snapshot snapshot = world.Look();
      const PoolPlan plan = Plan(snapshot);
      ASSERT_LT(step, kMostSteps) << "it does not converge: " << Text(plan);
      EXPECT_EQ(Plan(snapshot), plan);
      ExpectSaysWhy(snapshot, plan);
      ExpectWellSaid(snapshot, plan);
      taken += ExpectTakesOnlyWhoMayGo(snapshot, world.state, plan);
      from_racks += ExpectRackByRack(snapshot) ? 1 : 0;
      if (HasFailure()) return;
      if (plan.actions.empty()) break;
      const Spec& spec = snapshot.pool->spec;
      std::optional<int64_t> limit =
          Budget(spec.max_unavailable, spec.target_nodes, snapshot.nodes).limit();
      if (snapshot.pool->deleting()) limit.reset();
      const std::set<std::string> forced = Forced(snapshot);
      const std::set<std::string> were = NodesThat(world.state, DisruptionOf);
      ASSERT_TRUE(world.Apply(snapshot, plan).ok());
      budgeted += ExpectWithinBudget(limit, were, forced, world.state) ? 1 : 0;
      ASSERT_FALSE(HasFailure()) << Text(plan);
    }
  }
  // The snapshots show something only if there is often something to see.
  EXPECT_GT(taken, 500);
  EXPECT_GT(from_racks, 500);
  EXPECT_GT(budgeted, 500);
}

// --- A -> B -> A ends as A ---

void Randomize(Spec& spec, std::mt19937_64& random) {
  const auto one_in = [&](uint64_t n) { return random() % n == 0; };
  spec.target_nodes = static_cast<int64_t>(random() % 7);
  spec.scale_down_strategy =
      one_in(2) ? ScaleDownStrategy::kIdleOnly : ScaleDownStrategy::kPreferIdle;
  spec.disable_unhealthy_node_eviction = one_in(2);
  spec.max_unavailable = one_in(2) ? "" : "34%";
  spec.node_labels.clear();
  if (one_in(2)) spec.node_labels = {{"team", "ml"}};
  spec.node_affinity.clear();
  if (one_in(3)) spec.node_affinity = {{{"row", "Exists", {}}}};
  spec.priority = static_cast<int32_t>(random() % 3);
  spec.prefill.reset();
  if (one_in(3)) spec.prefill = Prefill{true, 60, 2};
}

// What users see, times and counters of changes aside.
Status Seen(const Simulation& sim) {
  Status status = sim.pool()->status;
  for (auto* conditions : {&status.conditions, &status.summary}) {
    for (Condition& condition : *conditions) {
      condition.last_transition_time = kNever;
      condition.observed_generation = 0;
    }
  }
  return status;
}

bool Leaves(const Node& node) {
  return node.removal_cause != RemovalCause::kNone || IsReturnable(node.state);
}

// What is in the pool at one moment.
struct Stock {
  std::map<std::string, Node> staying = {};  // by machine
  int64_t machines = 0;                      // held or coming, of Nodes that leave apart
};
Stock StockOf(const Simulation& sim) {
  Stock stock;
  stock.machines = static_cast<int64_t>(sim.machines().size());
  for (const Node* node : sim.state().NodesOf(kSimPool)) {
    if (!Leaves(*node)) stock.staying.emplace(node->machine, *node);
    if (Leaves(*node) && sim.machines().contains(node->machine)) --stock.machines;
  }
  return stock;
}

// Since `then` nobody left but who was too many, and nobody booted again.
void ExpectNothingNeedless(const Simulation& sim, const Stock& then, int64_t target) {
  int64_t gone = 0;
  for (const auto& [machine, was] : then.staying) {
    const Node* node = sim.node(machine);
    if (node == nullptr || node->create_time != was.create_time || Leaves(*node)) {
      ++gone;
    } else if (was.desired.phase == Phase::kRunning) {
      EXPECT_EQ(node->desired.phase_time, was.desired.phase_time) << machine << " booted again";
    }
  }
  EXPECT_LE(gone, std::max<int64_t>(0, then.machines - target)) << "left needlessly";
}

// Every Node that quota covers is in one of the counters.
void ExpectCounted(const Simulation& sim) {
  const Status& status = sim.pool()->status;
  if (ReasonOf(status.conditions, "Validated") != "Valid") return;
  EXPECT_GE(status.queued_nodes + status.in_progress + status.current_nodes,
            std::min(sim.pool()->spec.target_nodes, sim.holding()));
}

// B for some passes.
void LiveUnder(Simulation& sim, const Spec& b, std::mt19937_64& random) {
  sim.Apply([&](Spec& spec) { spec = b; });
  for (uint64_t passes = random() % 12; passes > 0; --passes) {
    if (random() % 4 == 0 && !sim.machines().empty()) {
      sim.SetActive(*sim.machines().begin(), random() % 2 == 0);
    }
    sim.Pass();
    ExpectCounted(sim);
    sim.Agents();
    sim.Advance(absl::Seconds(random() % 3));
  }
  for (const std::string& machine : sim.machines()) sim.SetActive(machine, false);
}

void ExpectAll(const Simulation& sim, const Spec& a) {
  EXPECT_EQ(sim.holding(), a.target_nodes);
  EXPECT_EQ(static_cast<int64_t>(sim.machines().size()), a.target_nodes);
  EXPECT_TRUE(sim.fenced && sim.never_over && sim.same_twice);
  for (const Node* node : sim.state().NodesOf(kSimPool)) {
    EXPECT_EQ(node->state, NodeState::kProduction);
    EXPECT_FALSE(node->desired.cordoned);
    EXPECT_EQ(node->desired.labels.contains("team"), a.node_labels.contains("team"));
  }
}

// Each is a life of many passes.
constexpr uint64_t kLives = 5'000;

TEST(PlanProperty, ThereAndBackEndsWhereItBegan) {
  for (uint64_t seed = 1; seed <= kLives; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Simulation sim(seed);
    Spec a;
    a.instance_type = "gd-8xa100-i128";
    Randomize(a, random);
    Spec b = a;
    Randomize(b, random);
    sim.Apply([&](Spec& spec) { spec = a; });
    ASSERT_TRUE(sim.Converge());
    const Status before = Seen(sim);
    // Perhaps B before all of A's Nodes are back.
    for (uint64_t times = 1 + random() % 3; times > 0; --times) {
      LiveUnder(sim, b, random);
      sim.Apply([&](Spec& spec) { spec = a; });
      const Stock then = StockOf(sim);
      if (times > 1) sim.Pass();
      if (times == 1) {
        ASSERT_TRUE(sim.Converge());
      }
      ExpectNothingNeedless(sim, then, a.target_nodes);
    }
    EXPECT_EQ(Seen(sim), before);
    ExpectAll(sim, a);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace muster::lifecycle
