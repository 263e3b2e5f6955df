#include "services/configuration/core/census.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/common/testing/fake_memory.h"
#include "services/configuration/core/testing/world.h"

namespace muster::configuration {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(CensusTest, OfNothingIsEmpty) { EXPECT_EQ(CensusOf(FakeMemory(State())), Census()); }

TEST(CensusTest, PoolsByWhatBecomesOfTheirConfiguration) {
  const Revision sound{.node_profile = "a"};
  Revision disabled{.node_profile = "b"};
  disabled.disabled = true;
  Census census;
  census.Add(PoolConfiguration{.revisions = {sound}});
  census.Add(PoolConfiguration{.pending = sound, .revisions = {disabled, sound}});
  census.Add(PoolConfiguration{.revisions = {sound, disabled}, .waiting = sound});
  census.Add(PoolConfiguration{.problem = "No driver fits."});
  EXPECT_EQ(census, (Census{.pools = 4,
                            .with_problem = 1,
                            .with_pending = 1,
                            .with_waiting = 1,
                            .active_disabled = 1,
                            .disabled_revisions = 2}));
}

TEST(CensusTest, AReleaseThatIsWithdrawnIsNotInForce) {
  World world;
  world.PublishBasics();
  world.Publish(Component::kGpuDriver, "580.65.06");
  world.Withdraw(Component::kGpuDriver, "570.86.15");
  EXPECT_THAT(CensusOf(FakeMemory(world.state)).releases,
              ElementsAre(Pair(std::pair(Channel::kStable, Component::kGpuDriver), 1),
                          Pair(std::pair(Channel::kStable, Component::kNcoreImage), 1),
                          Pair(std::pair(Channel::kStable, Component::kKubernetes), 1)));
}

}  // namespace
}  // namespace muster::configuration
