#include "services/lifecycle/core/snapshot.h"

#include <gtest/gtest.h>

#include <optional>

#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

TEST(SnapshotOf, IsThePoolWithItsClusterAndNodes) {
  Running sim(2);
  const std::optional<Snapshot> snapshot = SnapshotOf(sim.state(), kSimPool);
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->pool->name, kSimPool);
  EXPECT_EQ(snapshot->cluster->name, kSimCluster);
  ASSERT_EQ(snapshot->nodes.size(), 2U);
  EXPECT_LT(snapshot->nodes[0]->name, snapshot->nodes[1]->name);
  EXPECT_EQ(snapshot->version, sim.state().VersionOf(kSimPool));
  EXPECT_FALSE(SnapshotOf(sim.state(), std::string(kSimPool) + "-2"));
}

TEST(SnapshotOf, KeepsTheRowsAsTheyWere) {
  Running sim(1);
  const Snapshot before = *SnapshotOf(sim.state(), kSimPool);
  const std::string machine = before.nodes[0]->machine;
  sim.Delete();
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.pool(), nullptr);
  EXPECT_FALSE(before.pool->deleting());
  EXPECT_EQ(before.nodes[0]->machine, machine);
  EXPECT_EQ(before.nodes[0]->state, NodeState::kProduction);
}

TEST(AddTaken, NamesTheMachinesThatAreNodesOfAnother) {
  Running sim(2);
  Pool other = *sim.pool();
  other.uid = "uid-2";
  Snapshot snapshot;
  snapshot.pool = &other;
  snapshot.answers.claim.value.machines = {sim.state().NodesOf(kSimPool)[0]->machine, "g999"};
  AddTaken(sim.state(), snapshot);
  EXPECT_TRUE(snapshot.answers.claim.value.taken.empty()) << "capacity has not answered";
  snapshot.answers.claim.state = PeerReply<ClaimFacts>::State::kHere;
  AddTaken(sim.state(), snapshot);
  EXPECT_EQ(snapshot.answers.claim.value.taken,
            std::vector<std::string>{sim.state().NodesOf(kSimPool)[0]->machine});
}

TEST(AddTaken, LooksOnlyForMachinesThatMayBecomeNodes) {
  Running sim(2);
  const Snapshot rows = *SnapshotOf(sim.state(), kSimPool);
  Pool other = *sim.pool();
  other.uid = "uid-2";
  Node leaving = *rows.nodes[1];
  leaving.state = NodeState::kDeleted;
  Snapshot snapshot;
  snapshot.pool = &other;
  snapshot.nodes = {rows.nodes[0], &leaving};
  snapshot.answers.claim.state = PeerReply<ClaimFacts>::State::kHere;
  snapshot.answers.claim.value.machines = {rows.nodes[0]->machine, leaving.machine};
  AddTaken(sim.state(), snapshot);
  EXPECT_EQ(snapshot.answers.claim.value.taken, std::vector<std::string>{leaving.machine});
}

}  // namespace
}  // namespace muster::lifecycle
