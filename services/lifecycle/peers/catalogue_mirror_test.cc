#include "services/lifecycle/peers/catalogue_mirror.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "services/common/mutex.h"
#include "services/common/steady_clock.h"
#include "services/lifecycle/peers/testing/fake_peers.h"
#include "tests/testing/patience.h"

namespace muster::lifecycle {
namespace {

// The grace is of time that goes by, whatever is done to the time of day.
TEST(CatalogueMirror, IsKnownForAGraceAfterItIsOutOfReach) {
  FakePeers peers;
  FakeSteadyClock steady;
  CatalogueMirror mirror(peers.channels().capacity, &steady);
  mirror.Start([](const CatalogueMirror::Concerns&) {});
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

// All pools would be looked at for each type of a catalogue that somebody edits.
TEST(CatalogueMirror, TellsWhichPoolsAChangeConcerns) {
  FakePeers peers;
  CatalogueMirror mirror(peers.channels().capacity);
  const std::vector<std::pair<std::string, std::string>> pools = {
      {"gd-8xa100-i128", "US-EAST-04A"},
      {"gd-8xa100-i128", "US-EAST-04B"},
      {"gd-8xh100-i128", "US-EAST-04A"},
      {"gd-8xh100-i128", "US-EAST-04B"}};
  Mutex mutex;
  std::vector<std::string> told;
  mirror.Start([&](const CatalogueMirror::Concerns& concerns) {
    std::string which;
    for (const auto& [type, zone] : pools) which += concerns(type, zone) ? 'y' : 'n';
    MutexLock lock(mutex);
    told.push_back(which);
  });
  const auto last_of = [&](size_t count) {
    const auto heard = [&] {
      MutexLock lock(mutex);
      return told.size() >= count;
    };
    testing::Until(heard, "news of the catalogue");
    MutexLock lock(mutex);
    return told.size() == count ? told.back() : "too many";
  };
  EXPECT_EQ(last_of(1), "yyyy") << "it was not known";
  peers.capacity.ChangeType("gd-8xa100-i128", 4);
  EXPECT_EQ(last_of(2), "yynn");
  peers.capacity.ChangeZone("US-EAST-04B", {"gd-8xh100-i128"});
  EXPECT_EQ(last_of(3), "nyny") << "a zone, though it still does not offer the type";
  peers.capacity.ChangeZone("US-EAST-04A", {"gd-8xa100-i128", "gd-8xh100-i128"});
  EXPECT_EQ(last_of(4), "nnyn");
  mirror.Stop();
}

}  // namespace
}  // namespace muster::lifecycle
