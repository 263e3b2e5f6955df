#include "services/capacity/core/place.h"

#include <gtest/gtest.h>

#include "services/capacity/core/names.h"

namespace muster::capacity {
namespace {

TEST(CapacityPlace, IsWhereTheRowIs) {
  State state;
  StagedState<State> staged(state, 0);
  staged.Put(MachineRow{.id = "m1", .zone = "US-EAST-04A", .instance_type = "t"});
  staged.Put(ClaimRow{.pool_uid = "u1",
                      .zone = "US-WEST-01A",
                      .pool = "organizations/acme/clusters/c1/nodePools/a",
                      .organization = "acme"});
  const State& now = staged.state();
  EXPECT_EQ(PlaceOf(now, MachineName("m1")).zone, "US-EAST-04A");
  EXPECT_EQ(PlaceOf(now, MachineName("m1")).name, "") << "it is the platform's";
  EXPECT_EQ(PlaceOf(now, ClaimName("u1")).zone, "US-WEST-01A");
  EXPECT_EQ(PlaceOf(now, ClaimName("u1")).name, "organizations/acme/clusters/c1/nodePools/a");
  EXPECT_EQ(PlaceOf(now, "zones/US-EAST-04A").zone, "US-EAST-04A");
  EXPECT_EQ(PlaceOf(now, "US-EAST-04A").zone, "US-EAST-04A");
  for (const char* nowhere : {"machines/m2", "claims/u2", "instanceTypes/t", ""}) {
    EXPECT_EQ(PlaceOf(now, nowhere).zone, "") << nowhere;
    EXPECT_EQ(PlaceOf(now, nowhere).name, "") << nowhere;
  }
}

}  // namespace
}  // namespace muster::capacity
