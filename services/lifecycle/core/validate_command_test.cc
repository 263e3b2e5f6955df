#include "services/lifecycle/core/validate_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/lifecycle/core/testing/pools.h"
#include "tests/testing/status_matchers.h"

namespace muster::lifecycle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <class Command>
std::vector<std::string> FieldsOf(const Command& command) {
  Faults faults;
  Validate(command, faults);
  return testing::FieldsOf(faults);
}
template <class Command>
std::vector<std::string> FieldsIn(const State& state, const Command& command) {
  Faults faults;
  ValidateIn(state, command, faults);
  return testing::FieldsOf(faults);
}

TEST(ValidateCommand, BindCluster) {
  EXPECT_THAT(FieldsOf(BindCluster{.kubernetes_uid = "a-1"}), IsEmpty());
  EXPECT_THAT(FieldsOf(BindCluster{.kubernetes_uid = "", .replaces = "A b"}),
              ElementsAre("kubernetes_uid", "replaces"));
}

TEST(ValidateCommand, AllowRemovals) {
  EXPECT_THAT(FieldsOf(AllowRemovals{.ttl = absl::Seconds(1)}), IsEmpty());
  EXPECT_THAT(FieldsOf(AllowRemovals{.ttl = absl::Hours(24)}), IsEmpty());
  EXPECT_THAT(FieldsOf(AllowRemovals{.ttl = absl::Milliseconds(999)}), ElementsAre("ttl"));
  EXPECT_THAT(FieldsOf(AllowRemovals{
                  .node_pools = -1, .nodes = -1, .ttl = absl::Hours(24) + absl::Seconds(1)}),
              ElementsAre("node_pools", "nodes", "ttl"));
}

TEST(ValidateCommand, ResizeNodePool) {
  EXPECT_THAT(FieldsOf(ResizeNodePool{}), ElementsAre("target_nodes")) << "it says nothing";
  EXPECT_THAT(FieldsOf(ResizeNodePool{.remove_machines = {"g1"}}), IsEmpty());
  EXPECT_THAT(FieldsOf(ResizeNodePool{.target_nodes = -1, .remove_machines = {"g1", "g1"}}),
              ElementsAre("remove_machines[1]", "target_nodes"));
}

TEST(ValidateCommand, ReconfigureNodePool) {
  EXPECT_THAT(FieldsOf(ReconfigureNodePool{.max_unavailable = "25%"}), IsEmpty());
  EXPECT_THAT(FieldsOf(ReconfigureNodePool{
                  .machines = {"g1", "g1"}, .max_unavailable = "all", .allowed_failures = -1}),
              ElementsAre("max_unavailable", "allowed_failures", "machines[1]"));
}

TEST(ValidateCommand, ApplyNodePoolIsHeldAgainstThePoolThatIsThere) {
  ApplyNodePool command{.name = kSimPool, .target_nodes = 1};
  command.spec.instance_type = "gd-8xa100-i128";
  command.spec.node_labels = {{"beta.kubernetes.io/os", "x"}};
  State state;
  EXPECT_THAT(FieldsIn(state, command), ElementsAre("spec.nodeLabels[beta.kubernetes.io/os]"));
  Simulation sim;
  sim.Create(1);
  Pool pool = *sim.pool();
  pool.spec.node_labels = command.spec.node_labels;
  StagedState<State> staged(state, 0);
  staged.Put(pool);
  command.spec.instance_type = pool.spec.instance_type;
  command.spec.node_labels["beta.kubernetes.io/arch"] = "x";
  EXPECT_THAT(FieldsIn(state, command), ElementsAre("spec.nodeLabels[beta.kubernetes.io/arch]"));
}

TEST(ValidateCommand, ApplyNodePool) {
  ApplyNodePool command{.object_generation = -1, .target_nodes = 1};
  command.spec.instance_type = "gd-8xa100-i128";
  EXPECT_THAT(FieldsOf(command), ElementsAre("node_pool.object_generation"));
}

TEST(ValidateCommandIn, MachinesToRemoveAreNodesOfThePool) {
  Running sim(3);
  const std::string machine = sim.state().NodesOf(kSimPool)[0]->machine;
  EXPECT_THAT(FieldsIn(sim.state(), ResizeNodePool{.name = kSimPool, .remove_machines = {machine}}),
              IsEmpty());
  EXPECT_THAT(
      FieldsIn(sim.state(), ResizeNodePool{.name = kSimPool, .remove_machines = {machine, "x"}}),
      ElementsAre("remove_machines[1]"));
}

TEST(TargetOf, FallsByThoseThatCountUntilNow) {
  Running sim(3);
  const auto& nodes = sim.state().NodesOf(kSimPool);
  ResizeNodePool command{.name = kSimPool,
                         .remove_machines = {nodes[0]->machine, nodes[1]->machine}};
  EXPECT_EQ(TargetOf(sim.state(), *sim.pool(), command), 1);
  command.target_nodes = 2;
  EXPECT_EQ(TargetOf(sim.state(), *sim.pool(), command), 2) << "what is said counts";
  command.target_nodes.reset();
  const std::string first = nodes[0]->machine;
  sim.Must(ResizeNodePool{.name = kSimPool, .remove_machines = {first}});
  EXPECT_EQ(sim.pool()->spec.target_nodes, 2);
  EXPECT_EQ(TargetOf(sim.state(), *sim.pool(),
                     ResizeNodePool{.name = kSimPool, .remove_machines = {first}}),
            2)
      << "one that goes already counts for nothing";
}

// The state, but that a Node is on its way out.
State With(const State& state, const std::string& machine, RemovalCause cause) {
  State changed = state;
  Node node = *changed.table<Node>().Find(NodeName(kSimPool, machine));
  node.state = NodeState::kCordoned;
  node.removal_cause = cause;
  StagedState<State>(changed, 1'000'000).Put(std::move(node));
  return changed;
}

// "with it target_nodes may be left out: it is then lowered by those of them that would otherwise
// stay or be replaced".
TEST(TargetOf, OneThatLeavesToBeReplacedCounts) {
  for (const RemovalCause cause :
       {RemovalCause::kRepair, RemovalCause::kPreemption, RemovalCause::kReservation}) {
    Running sim(3);
    const std::string leaves = sim.state().NodesOf(kSimPool)[0]->machine;
    const ResizeNodePool command{.name = kSimPool, .remove_machines = {leaves}};
    EXPECT_EQ(TargetOf(With(sim.state(), leaves, cause), *sim.pool(), command), 2);
    sim.Must(command);
    EXPECT_EQ(TargetOf(With(sim.state(), leaves, cause), *sim.pool(), command), 2) << "once";
  }
}

TEST(TargetOf, OneThatTheTargetWasLoweredForCountsOnce) {
  Running sim(3);
  const std::string named = sim.state().NodesOf(kSimPool)[0]->machine;
  const std::string other = sim.state().NodesOf(kSimPool)[1]->machine;
  const ResizeNodePool command{.name = kSimPool, .remove_machines = {named}};
  sim.Must(command);
  EXPECT_EQ(TargetOf(sim.state(), *sim.pool(), command), 2);
  EXPECT_EQ(TargetOf(With(sim.state(), other, RemovalCause::kRepair), *sim.pool(), command), 2)
      << "it goes, and another comes for this one";
  const ResizeNodePool another{.name = kSimPool, .remove_machines = {other}};
  EXPECT_EQ(TargetOf(With(sim.state(), other, RemovalCause::kRepair), *sim.pool(), another), 1)
      << "nobody is to come for this one either";
  // Named beside a target that nobody needs to go for.
  Running full(3);
  full.Must(ResizeNodePool{.name = kSimPool, .target_nodes = 3, .remove_machines = {named}});
  EXPECT_EQ(TargetOf(full.state(), *full.pool(), command), 2);
}

}  // namespace
}  // namespace muster::lifecycle
