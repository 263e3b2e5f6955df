#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "services/lifecycle/core/demand.h"
#include "services/lifecycle/core/node_machine.h"
#include "services/lifecycle/core/plan_draft.h"
#include "services/lifecycle/core/testing/pools.h"
#include "services/lifecycle/core/testing/random_world.h"

namespace muster::lifecycle {
namespace {

using ::testing::IsEmpty;

constexpr uint64_t kWorlds = 20'000;

int64_t QuietOf(const Snapshot& snapshot) {
  const PlanFacts facts(snapshot);
  return Draft(facts).quiet.size();
}

// Also as time goes by and the plans are carried out.
TEST(QuietNodes, NoPlanChangesBecauseTheyAreNotLookedAt) {
  int64_t quiet = 0;
  for (uint64_t seed = 0; seed < kWorlds; ++seed) {
    SCOPED_TRACE(seed);
    RandomWorld world(seed);
    for (int pass = 0; pass < 3 && world.pool() != nullptr; ++pass) {
      const Snapshot snapshot = world.Look();
      const PoolPlan plan = Plan(snapshot);
      ASSERT_TRUE(plan == PlanLookingAtAll(snapshot));
      quiet += QuietOf(snapshot);
      ASSERT_TRUE(world.Apply(snapshot, plan).ok());
      world.now += absl::Minutes(pass * 20);
    }
  }
  EXPECT_GT(quiet, static_cast<int64_t>(kWorlds)) << "else this shows nothing";
}

// All that CountsTheSame leaves out.
Node Otherwise(const Node& node, absl::Time now) {
  Node other = node;
  Observed& seen = other.observed;
  seen.active = !seen.active;
  seen.active_time = now;
  seen.active_pods =
      seen.active ? std::vector<std::string>{"default/new"} : std::vector<std::string>();
  seen.active_pod_count = seen.active ? 7 : 0;
  seen.unschedulable = !seen.unschedulable;
  if (IsInProgress(node.state)) {
    const bool assigned = node.state == NodeState::kAssigned;
    other.state = assigned ? NodeState::kBooting : NodeState::kAssigned;
    other.state_time = now;
  }
  UpdateConditions(other, now);
  return other;
}

// Whatever else is decided about the pool.
TEST(QuietNodes, NoPlanChangesByTheWorkOfThoseThatItOnlyCounts) {
  int64_t counted = 0, looked_at_all = 0;
  for (uint64_t seed = 0; seed < kWorlds; ++seed) {
    SCOPED_TRACE(seed);
    RandomWorld world(seed);
    for (int pass = 0; pass < 3 && world.pool() != nullptr; ++pass) {
      const Snapshot snapshot = world.Look();
      std::vector<const Node*> only_counted;
      const PoolPlan plan = Plan(snapshot, &only_counted);
      Snapshot other = snapshot;
      std::vector<std::unique_ptr<const Node>> others;
      for (const Node*& node : other.nodes) {
        if (!absl::c_linear_search(only_counted, node)) continue;
        others.push_back(std::make_unique<const Node>(Otherwise(*node, world.now)));
        ASSERT_TRUE(CountsTheSame(*node, *others.back()));
        node = others.back().get();
      }
      ASSERT_EQ(others.size(), only_counted.size()) << "they are rows of the snapshot";
      std::vector<const Node*> counted_then;
      ASSERT_TRUE(Plan(other, &counted_then) == plan);
      ASSERT_TRUE(PlanLookingAtAll(other) == plan);
      ASSERT_EQ(counted_then.size(), only_counted.size());
      ASSERT_TRUE(DemandOf(*other.pool, other.nodes, other.catalogue) ==
                  DemandOf(*snapshot.pool, snapshot.nodes, snapshot.catalogue));
      counted += std::ssize(only_counted);
      looked_at_all += only_counted.empty() && QuietOf(snapshot) > 0 ? 1 : 0;
      ASSERT_TRUE(world.Apply(snapshot, plan).ok());
      world.now += absl::Minutes(pass * 20);
    }
  }
  EXPECT_GT(counted, static_cast<int64_t>(kWorlds / 2)) << "else this shows nothing";
  EXPECT_GT(looked_at_all, 0) << "some choose among all";
}

TEST(QuietNodes, AreNotOnlyCountedWhereSomeHaveToGo) {
  Running sim(3);
  std::vector<const Node*> only_counted;
  Plan(sim.Look(), &only_counted);
  EXPECT_EQ(only_counted.size(), 3U);
  sim.SetActive("g100", true);
  sim.SetActive("g101", true);
  sim.SetActive("g102", true);
  sim.Resize(2);
  Plan(sim.Look(), &only_counted);
  EXPECT_THAT(only_counted, IsEmpty()) << "the first that falls idle goes";
}

TEST(QuietNodes, AreAllOfAPoolThatIsAsItShouldBe) {
  Running sim(5);
  sim.SetActive("g101", true);
  EXPECT_EQ(QuietOf(sim.Look()), 5);
  EXPECT_TRUE(Plan(sim.Look()).actions.empty());
}

TEST(QuietNodes, BootInGoodTime) {
  Simulation sim;
  sim.Create(3);
  while (sim.node("g102") == nullptr) sim.Pass();
  sim.Pass();
  const Snapshot booting = sim.Look();
  EXPECT_EQ(QuietOf(booting), 3);
  const absl::Time deadline = booting.nodes[0]->desired.phase_time + booting.policy.boot_deadline;
  EXPECT_EQ(Plan(booting).due, deadline);
  Snapshot late = booting;
  late.now = deadline;
  EXPECT_EQ(QuietOf(late), 0);
}

// What makes a Node one to look at.
TEST(QuietNodes, AreThoseAboutWhichThereIsNothing) {
  Running sim(1);
  const Snapshot before = sim.Look();
  using Change = std::function<void(Node&)>;
  const std::pair<const char*, Change> changes[] = {
      {"unhealthy", [](Node& n) { n.observed.unhealthy = true; }},
      {"marked", [](Node& n) { n.observed.autoscaler_marked = true; }},
      {"drain blocked", [](Node& n) { n.observed.drain_blocked_by = "default/web"; }},
      {"staging failed", [](Node& n) { n.observed.staging_error = "the disk is full"; }},
      {"removal failed", [](Node& n) { n.observed.removal_error = "stuck"; }},
      {"in triage", [](Node& n) { n.state = NodeState::kTriage; }},
      {"drained", [](Node& n) { n.desired.drain = true; }},
      {"to stage", [](Node& n) { n.desired.node_profile = "np-000000000002"; }},
      {"to be preempted", [](Node& n) { n.preempt_time = absl::UnixEpoch(); }},
      {"to be replaced", [](Node& n) { n.replace_time = absl::UnixEpoch(); }},
      {"asked to go", [](Node& n) { n.asked_to_go_time = absl::UnixEpoch(); }},
      {"chosen", [](Node& n) { n.reconfigure_time = absl::UnixEpoch(); }},
      {"reserved", [](Node& n) { n.reserved_desired = kControlPlane; }},
      {"ordered", [](Node& n) { n.orders.cordon_time = absl::UnixEpoch(); }},
      {"leaving", [](Node& n) { n.removal_cause = RemovalCause::kRepair; }},
      {"other labels",
       [](Node& n) {
         n.desired.labels = StringMap{{"team", "ml"}};
       }},
      {"other annotations",
       [](Node& n) {
         n.desired.annotations = StringMap{{"a", "b"}};
       }},
      {"other taints", [](Node& n) { n.desired.taints = {}; }},
      {"not held", [](Node& n) { n.machine = "g999"; }},
  };
  for (const auto& [what, change] : changes) {
    Node node = *before.nodes[0];
    change(node);
    Snapshot snapshot = before;
    snapshot.nodes = {&node};
    EXPECT_EQ(QuietOf(snapshot), 0) << what;
  }
  Snapshot reclaimed = before;
  reclaimed.answers.claim.value.reclaims = {{before.nodes[0]->machine, before.now}};
  EXPECT_EQ(QuietOf(reclaimed), 0);
  Snapshot unread = before;
  unread.catalogue = {};
  EXPECT_EQ(QuietOf(unread), 0) << "no metadata is known to be right";
}

}  // namespace
}  // namespace muster::lifecycle
