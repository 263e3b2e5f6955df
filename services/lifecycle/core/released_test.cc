// A pool whose uid the other services have released: it is told, not asked again and again, and it
// can still be deleted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/lifecycle/core/explain.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(Released, ThePoolSaysSoAndWhoMustAct) {
  Running sim(2);
  sim.ReleaseUid();
  sim.Resize(3);
  ASSERT_TRUE(sim.Converge());
  for (const auto& [type, service] :
       std::map<std::string, std::string>{{"Quota", "quota"},
                                          {"Capacity", "capacity"},
                                          {"NodeReconfigurationRequired", "configuration"}}) {
    EXPECT_EQ(
        sim.Says(type),
        absl::StrCat("Unknown/InternalError: The uid of this NodePool was released in ", service,
                     ", where it does not come back: the NodePool was deleted, and then its "
                     "Kubernetes object stayed, or lifecycle's database was restored to a time "
                     "before that. Either delete the NodePool again, or delete the NodePool and "
                     "create it anew."));
  }
  int told = 0;
  const Snapshot snapshot = sim.Look();
  for (const Obstacle& obstacle : Explain(snapshot, Plan(snapshot))) {
    if (obstacle.reason != "POOL_RELEASED") continue;
    ++told;
    EXPECT_EQ(obstacle.actor, Actor::kUser);
    EXPECT_THAT(obstacle.message, HasSubstr("delete the NodePool and create it anew"));
  }
  EXPECT_EQ(told, 3);
}

// A refusal that is final is no answer that did not come: there is no retry in a few seconds.
TEST(Released, IsNotAskedAgainAndAgain) {
  Running sim(2);
  sim.ReleaseUid();
  ASSERT_TRUE(sim.Converge());
  EXPECT_GT(sim.last_plan.due, sim.now() + sim.policy.retry);
}

// What its machines are now is capacity's to say: they may be others' already.
TEST(Released, ItsNodesGo) {
  Running sim(2);
  sim.ReleaseUid();
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.Says("AtTarget"),
            "Unknown/InternalError: Nodes could not be read: capacity does not know machine g100, "
            "g101 as the NodePool's.");
  sim.Advance(kUnheldGrace - absl::Minutes(2));
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(sim.NodeMachines().size(), 2U)
      << "somebody may still delete the pool, or restore capacity";
  EXPECT_FALSE(sim.pool()->account.released);
  for (int i = 0; i < 3; ++i) {
    sim.Advance(absl::Minutes(11));
    ASSERT_TRUE(sim.Converge());
  }
  EXPECT_EQ(sim.NodeMachines().size(), 0U);
}

// Its object stayed while it was deleted, so it was made again under its uid, or a restore brought
// it back.
TEST(Released, DoesNotComeAliveOnceTheServicesHaveForgottenIt) {
  for (const bool had_nodes : {false, true}) {
    SCOPED_TRACE(had_nodes);
    Simulation sim;
    if (had_nodes) {
      sim.Create(2);
      ASSERT_TRUE(sim.Converge());
    }
    sim.ReleaseUid();
    sim.Create(3);
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(sim.Converge());
      sim.Advance(absl::Minutes(11));
    }
    ASSERT_TRUE(sim.NodeMachines().empty());
    const std::string quota = sim.Says("Quota");
    const std::string capacity = sim.Says("Capacity");

    sim.ForgetRelease();
    sim.Resize(4);
    ASSERT_TRUE(sim.Converge());
    EXPECT_FALSE(sim.has_holding());
    EXPECT_FALSE(sim.has_claim());
    EXPECT_TRUE(sim.NodeMachines().empty());
    EXPECT_EQ(sim.Says("Quota"), quota);
    EXPECT_EQ(sim.Says("Capacity"), capacity);
    EXPECT_THAT(capacity, HasSubstr("was released in capacity"));
    EXPECT_THAT(sim.Obstacles(), Contains("POOL_RELEASED"));
    EXPECT_TRUE(sim.same_twice);

    sim.Delete();
    ASSERT_TRUE(sim.Converge());
    EXPECT_EQ(sim.pool(), nullptr);
    EXPECT_FALSE(sim.has_holding());
    EXPECT_FALSE(sim.has_claim());
  }
}

// Capacity is not asked before the pool is valid.
TEST(Released, AnInvalidPoolIsToldToo) {
  Simulation sim;
  sim.ReleaseUid();
  sim.catalogue.offered = false;
  sim.Create(3);
  ASSERT_TRUE(sim.Converge());
  sim.ForgetRelease();
  sim.catalogue.offered = true;
  ASSERT_TRUE(sim.Converge());
  EXPECT_FALSE(sim.has_holding());
  EXPECT_TRUE(sim.NodeMachines().empty());
}

TEST(Released, DeletionCompletes) {
  for (const int64_t nodes : {0, 2}) {
    SCOPED_TRACE(nodes);
    Running sim(nodes);
    sim.ReleaseUid();
    sim.Delete();
    ASSERT_TRUE(sim.Converge());
    EXPECT_EQ(sim.pool(), nullptr);
    EXPECT_FALSE(sim.has_holding());
    EXPECT_FALSE(sim.has_claim());
  }
}

}  // namespace
}  // namespace muster::lifecycle
