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

}  // namespace
}  // namespace muster::lifecycle
