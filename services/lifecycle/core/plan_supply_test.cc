#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/lifecycle/core/names.h"
#include "services/lifecycle/core/plan.h"
#include "services/lifecycle/core/testing/simulation.h"

namespace muster::lifecycle {
namespace {

TEST(Plan, AMachineThatWasRepairedAndGrantedAgainBecomesANewNode) {
  const Cluster cluster;
  Pool pool{.name = kSimPool, .uid = "uid-1", .zone = "US-EAST-04A"};
  pool.spec.instance_type = "gd-8xa100-i128";
  pool.spec.target_nodes = pool.account.requested_nodes = pool.account.granted_nodes = 1;
  Node node{.name = NodeName(pool.name, "g1"), .machine = "g1", .pool_uid = pool.uid};
  node.state = NodeState::kDeliveryFailed;
  Snapshot snapshot{&cluster, &pool, {&node}, 1, {true, TypeFacts{.gpus = 8}, true, true}};
  snapshot.now = absl::FromUnixSeconds(1'750'000'000);
  snapshot.answers.claim.state = PeerReply<ClaimFacts>::State::kHere;
  snapshot.answers.claim.value.nodes = 1;
  snapshot.answers.claim.value.machines = {"g1"};
  snapshot.answers.claim.value.request_times = {{"g1", snapshot.now - absl::Minutes(5)}};
  const std::vector<Action> actions = Plan(snapshot).actions;
  ASSERT_GE(actions.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<PurgeNode>(actions[0]));
  ASSERT_TRUE(std::holds_alternative<AssignNode>(actions[1]));
  EXPECT_EQ(std::get<AssignNode>(actions[1]).request_time, snapshot.now - absl::Minutes(5));

  // Where both tell grants apart, the grant says whether it is another's, whatever the machine came
  // back for.
  const auto assigned = [&]() -> std::optional<absl::Time> {
    const PoolPlan plan = Plan(snapshot);
    for (const Action& action : plan.actions) {
      if (const auto* assign = std::get_if<AssignNode>(&action)) return assign->grant_time;
    }
    return std::nullopt;
  };
  std::map<std::string, absl::Time>& grants = snapshot.answers.claim.value.grant_times;
  const absl::Time granted = absl::FromUnixSeconds(20);
  for (const NodeState ended : {NodeState::kDeliveryFailed, NodeState::kDeleted}) {
    node.state = ended;
    node.grant_time = granted;
    grants = {{"g1", granted}};
    EXPECT_EQ(assigned(), std::nullopt);
    grants = {{"g1", granted - absl::Seconds(1)}};
    EXPECT_EQ(assigned(), granted - absl::Seconds(1));
    // Told by a capacity of an older release; of a Node of an older release.
    grants.clear();
    EXPECT_EQ(assigned().has_value(), ended == NodeState::kDeliveryFailed);
    grants = {{"g1", granted}};
    node.grant_time = kNever;
    EXPECT_EQ(assigned().has_value(), ended == NodeState::kDeliveryFailed);
  }
}

// Capacity was restored to before it granted the machine.
TEST(Plan, ANodeTakesOverTheNewGrantOfItsMachine) {
  Simulation sim;
  sim.Create(1);
  ASSERT_TRUE(sim.Converge());
  const absl::Time granted = sim.node("g100")->grant_time;
  sim.Forget("g100");
  sim.OthersLeave();
  const std::vector<Action> actions = Plan(sim.Look()).actions;
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<SetGrantTime>(actions[0]));
  ASSERT_TRUE(sim.Converge());
  EXPECT_GT(sim.node("g100")->grant_time, granted);
  EXPECT_TRUE(Plan(sim.Look()).actions.empty());
  // By which it is given back.
  sim.Resize(0);
  ASSERT_TRUE(sim.Converge());
  EXPECT_TRUE(sim.machines().empty());
  EXPECT_EQ(sim.node("g100"), nullptr);
  EXPECT_TRUE(sim.same_twice);
}

TEST(Plan, ANodeStandsWhereItsMachineWasMovedTo) {
  Simulation sim;
  sim.rack_size = 2;
  sim.Create(3);
  ASSERT_TRUE(sim.Converge());
  ASSERT_EQ(sim.node("g101")->rack, "rack-50");
  EXPECT_TRUE(Plan(sim.Look()).actions.empty());
  sim.stands_in = {{"g101", "rack-7"}};
  const std::vector<Action> actions = Plan(sim.Look()).actions;
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<SetRack>(actions[0]));
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.node("g101")->rack, "rack-7");
  EXPECT_EQ(sim.node("g100")->rack, "rack-50");
  // Not known any more.
  sim.stands_in = {{"g101", ""}};
  EXPECT_TRUE(Plan(sim.Look()).actions.empty());
  EXPECT_TRUE(sim.same_twice);
}

}  // namespace
}  // namespace muster::lifecycle
