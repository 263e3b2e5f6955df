#include "services/lifecycle/core/growth.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "services/lifecycle/core/limits.h"
#include "services/lifecycle/core/testing/decide.h"
#include "services/lifecycle/core/testing/pools.h"

namespace muster::lifecycle {
namespace {

ResizeNodePool To(int64_t target) { return {.name = kSimPool, .target_nodes = target}; }

TEST(Growth, OfANewPoolIsItsTarget) {
  Simulation sim;
  const auto growth = GrowthBy(sim.state(), PoolOfNodes(5));
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth->charge, 5);
  EXPECT_EQ(growth->pool.uid, "uid-1");
  EXPECT_EQ(growth->pool.name, kSimPool);
  EXPECT_EQ(growth->pool.zone, "US-EAST-04A");
  EXPECT_EQ(growth->pool.spec.instance_type, GoodSpec().instance_type);
  ApplyNodePool object = PoolOfNodes(5);
  object.uid = "uid-of-the-object";
  EXPECT_EQ(GrowthBy(sim.state(), object)->pool.uid, "uid-of-the-object");
  EXPECT_FALSE(GrowthBy(sim.state(), PoolOfNodes(0)).has_value());
  ApplyNodePool elsewhere = PoolOfNodes(5);
  elsewhere.name = "organizations/acme/clusters/none/nodePools/train";
  EXPECT_FALSE(GrowthBy(sim.state(), elsewhere).has_value()) << "it will be refused anyway";
}

TEST(Growth, IsWhatGoesBeyondWhatThePoolIsChargedFor) {
  Running sim(3);
  EXPECT_FALSE(GrowthBy(sim.state(), To(3)).has_value());
  EXPECT_FALSE(GrowthBy(sim.state(), To(2)).has_value());
  EXPECT_EQ(GrowthBy(sim.state(), To(4))->charge, 4);
  UpdateNodePool update{.name = kSimPool, .paths = {"spec.target_nodes"}, .target_nodes = 4};
  EXPECT_EQ(GrowthBy(sim.state(), update)->charge, 4);
  update.paths = {"spec.description"};
  EXPECT_FALSE(GrowthBy(sim.state(), update).has_value());
  sim.Delete();
  EXPECT_FALSE(GrowthBy(sim.state(), To(4)).has_value());
}

// So that who asks for it is told what is wrong, and nothing of quota.
TEST(Growth, OfWhatIsInvalidNobodyIsAsked) {
  Running sim(3);
  UpdateNodePool good{.name = kSimPool, .paths = {"spec"}, .target_nodes = 5};
  good.values = sim.pool()->spec;
  ASSERT_TRUE(GrowthBy(sim.state(), good).has_value());
  using Row = void (*)(UpdateNodePool&);
  for (const Row row : std::initializer_list<Row>{
           [](UpdateNodePool& update) { update.values.instance_type.clear(); },
           [](UpdateNodePool& update) { update.values.instance_type = "another"; },
           [](UpdateNodePool& update) { update.values.compute_class = "spot"; },
           [](UpdateNodePool& update) { update.target_nodes = kMaxTargetNodes + 1; },
           [](UpdateNodePool& update) { update.type = TypeFacts{.id = "r", .nodes_per_rack = 4}; },
       }) {
    UpdateNodePool update = good;
    row(update);
    EXPECT_FALSE(GrowthBy(sim.state(), update).has_value());
  }

  ApplyNodePool whole = PoolOfNodes(5);
  whole.spec.instance_type = "another";
  EXPECT_FALSE(GrowthBy(sim.state(), whole).has_value());
  ResizeNodePool resize = To(5);
  ASSERT_TRUE(GrowthBy(sim.state(), resize).has_value());
  resize.type = TypeFacts{.id = "r", .nodes_per_rack = 4};
  EXPECT_FALSE(GrowthBy(sim.state(), resize).has_value());
}

// What waits for quota is no growth that was granted.
TEST(Growth, OfAPoolThatIsOverQuotaIsAskedForAgain) {
  Simulation sim;
  sim.limit = 2;
  sim.Create(5);
  ASSERT_TRUE(sim.Converge());
  EXPECT_FALSE(GrowthBy(sim.state(), To(4)).has_value()) << "it is fewer than before";
  EXPECT_EQ(GrowthBy(sim.state(), To(6))->charge, 6);
}

}  // namespace
}  // namespace muster::lifecycle
