#include <gtest/gtest.h>

#include "services/lifecycle/core/decide.h"
#include "services/lifecycle/core/testing/decide.h"

namespace muster::lifecycle {
namespace {

TEST(Decide, ResizeNamesItsOwnField) {
  Simulation sim;
  sim.Must(PoolOfNodes(1));
  const auto status = sim.Run(ResizeNodePool{.name = kSimPool, .target_nodes = -1}).status();
  EXPECT_EQ(muster::error::DetailOf(status)->fields[0].field, "target_nodes");
}

// The adapter will apply the object's spec again, so that whoever changes the pool here is told.
TEST(Decide, WhoeverChangesAKubernetesObjectHereIsToldThatItIsSetBack) {
  const auto resized = [](Simulation& sim, int64_t target) {
    return sim.Run(ResizeNodePool{.name = kSimPool, .target_nodes = target})->set_back;
  };
  Simulation plain;
  plain.Must(PoolOfNodes(1));
  EXPECT_FALSE(resized(plain, 2));
  EXPECT_FALSE(plain.Run(PoolOfNodes(3))->set_back);

  Simulation sim;
  ApplyNodePool object = PoolOfNodes(1);
  object.object_generation = 1;
  sim.Must(object);
  EXPECT_TRUE(resized(sim, 2));
  EXPECT_FALSE(resized(sim, 2)) << "nothing changed";
  EXPECT_TRUE(sim.Run(PoolOfNodes(3))->set_back);
  EXPECT_FALSE(sim.Run(PoolOfNodes(3))->set_back) << "nothing changed";
  object.object_generation = 2;
  object.target_nodes = 4;
  EXPECT_FALSE(sim.Run(object)->set_back) << "it is the object's change";
}

}  // namespace
}  // namespace muster::lifecycle
