#include "tests/bench/fleet/shape.h"

#include <gtest/gtest.h>

#include "services/fleetsim/registry.h"

namespace muster::bench {
namespace {

int64_t Machines(const Shape& shape) {
  int64_t machines = 0;
  for (const auto& [place, count] : shape.machines) machines += count;
  return machines;
}

TEST(FleetShapeTest, PoolsWantAllNodesAndATenthMoreMachinesStandFree) {
  for (const int64_t nodes : {int64_t{1'000}, int64_t{100'000}, kMostNodes}) {
    const Shape shape = MakeShape(nodes);
    int64_t wanted = 0;
    for (const PoolShape& pool : shape.pools) wanted += pool.nodes;
    EXPECT_EQ(wanted, nodes);
    EXPECT_GE(Machines(shape), nodes + nodes / 10);
  }
}

TEST(FleetShapeTest, TheSimulatorTakesTheLargest) {
  EXPECT_LE(Machines(MakeShape(kMostNodes)), fleetsim::kMaxMachines);
}

}  // namespace
}  // namespace muster::bench
