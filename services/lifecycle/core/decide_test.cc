#include "services/lifecycle/core/decide.h"

#include <gtest/gtest.h>

#include "services/lifecycle/core/test_decide.h"

namespace muster::lifecycle {
namespace {

TEST(Decide, ClusterKeepsItsZone) {
  Simulation sim;
  const auto changed =
      sim.Run(UpdateCluster{.cluster = {.name = kSimCluster, .zone = "US-EAST-04B"}});
  EXPECT_EQ(ReasonOf(changed.status()), "ZONE_CHANGED");
  const int64_t revision = sim.revision();
  EXPECT_TRUE(sim.Run(UpdateCluster{.cluster = {.name = kSimCluster, .zone = "US-EAST-04A"}}).ok());
  EXPECT_EQ(sim.revision(), revision);
}

TEST(Decide, DeleteIsIdempotent) {
  Simulation sim;
  EXPECT_EQ(ReasonOf(sim.Run(DeleteNodePool{.name = kSimPool}).status()), "NOT_FOUND");
  EXPECT_TRUE(sim.Run(DeleteNodePool{.name = kSimPool, .allow_missing = true}).ok());
  sim.Must(PoolOfNodes(1));
  sim.Delete();
  const int64_t revision = sim.revision();
  sim.Delete();
  EXPECT_EQ(sim.revision(), revision);
}

}  // namespace
}  // namespace muster::lifecycle
