#include "services/lifecycle/peers/catalogue_mirror.h"

#include <gtest/gtest.h>

#include "services/common/steady_clock.h"
#include "services/lifecycle/peers/fake_peers.h"
#include "tests/testing/patience.h"

namespace muster::lifecycle {
namespace {

// The grace is of time that goes by, whatever is done to the time of day.
TEST(CatalogueMirror, IsKnownForAGraceAfterItIsOutOfReach) {
  FakePeers peers;
  FakeSteadyClock steady;
  CatalogueMirror mirror(peers.channels().capacity, &steady);
  mirror.Start([] {});
  const auto known = [&] { return mirror.Facts("gd-8xa100-i128", "US-EAST-04A").known; };
  testing::Until(known, "the catalogue");
  peers.capacity.SetCatalogueAway(true);
  testing::Until([&] { return peers.capacity.refused_watches() >= 2; }, "attempts to watch it");
  EXPECT_TRUE(known());
  steady.Advance(CatalogueMirror::kGrace);
  testing::Until([&] { return !known(); }, "the end of the grace");
  peers.capacity.SetCatalogueAway(false);
  testing::Until(known, "the catalogue again");
  mirror.Stop();
}

}  // namespace
}  // namespace muster::lifecycle
