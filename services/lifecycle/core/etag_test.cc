#include "services/lifecycle/core/etag.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "services/lifecycle/core/test_decide.h"
#include "services/lifecycle/core/test_pools.h"

namespace muster::lifecycle {
namespace {

TEST(Etag, OfAPoolStaysWhileOnlyItsStatusMoves) {
  Simulation sim;
  sim.Create(2);
  const std::string etag = EtagOf(*sim.pool());
  ASSERT_TRUE(sim.Converge());
  EXPECT_EQ(EtagOf(*sim.pool()), etag);
  ResizeNodePool command{.name = kSimPool, .target_nodes = 3, .etag = etag};
  sim.Must(command);
  EXPECT_NE(EtagOf(*sim.pool()), etag);
  EXPECT_EQ(ReasonOf(sim.Run(command).status()), "ETAG_MISMATCH");
}

TEST(Etag, OfAPoolChangesWithItsDeletion) {
  Running sim(1);
  const std::string etag = EtagOf(*sim.pool());
  sim.Delete();
  EXPECT_NE(EtagOf(*sim.pool()), etag);
}

// Clients keep them over releases and restarts.
TEST(Etag, IsTheSameInEveryProcess) {
  Pool pool{.uid = "u"};
  pool.spec.instance_type = "gd-8xa100-i128";
  EXPECT_EQ(EtagOf(pool), "0b564b95924ed6ff");
}

TEST(Etag, OfANodeIsOfWhatItsOwnerWrites) {
  Running sim(1);
  const Node node = *sim.node(*sim.machines().begin());
  const std::string etag = EtagOf(node);
  sim.SetActive(node.machine, true);
  EXPECT_EQ(EtagOf(*sim.node(node.machine)), etag);
  UpdateNode command{
      .name = node.name, .etag = etag, .protect_until_time = sim.now() + absl::Hours(1)};
  sim.Must(command);
  EXPECT_NE(EtagOf(*sim.node(node.machine)), etag);
  EXPECT_EQ(ReasonOf(sim.Run(command).status()), "ETAG_MISMATCH");
}

TEST(Etag, OfANodeThatIsProtectedForCenturiesIsItsOwn) {
  const auto etag = [](absl::Time until) {
    return EtagOf(Node{.pool_uid = "u", .protect_until_time = until});
  };
  const auto at = [](int year) {
    return absl::FromCivil(absl::CivilSecond(year, 1, 1), absl::UTCTimeZone());
  };
  std::set<std::string> etags;
  for (const absl::Time until :
       {kNever, at(2300), at(2300) + absl::Seconds(1), at(9999), at(1600), absl::InfinitePast()})
    etags.insert(etag(until));
  EXPECT_EQ(etags.size(), 6u);
}

// Those that clients have stay what they are.
TEST(Etag, OfANodeIsTheSameInEveryProcess) {
  EXPECT_EQ(EtagOf(Node{.pool_uid = "u", .create_time = absl::FromUnixSeconds(1'800'000'000)}),
            "a54c298738cabaa8");
}

}  // namespace
}  // namespace muster::lifecycle
