#include "services/configuration/unsettled_count.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "services/common/testing/fake_memory.h"
#include "services/configuration/core/testing/world.h"

namespace muster::configuration {
namespace {

// Counts how often it is looked at.
struct CountedMemory {
  const State& state;
  mutable int looks = 0;

  template <class F>
  auto Peek(F f) const {
    ++looks;
    return f(state, int64_t{0});
  }
};

TEST(UnsettledCountTest, LooksForThemOnlyWhileThereMayBeSome) {
  World world = Basics();
  for (const char* uid : {"a", "b", "c"}) (void)world.Run(Sync(uid, {.gpu = true}));
  CountedMemory memory{world.state};
  UnsettledCount count;
  EXPECT_EQ(count.Of(memory), 0u);
  EXPECT_EQ(memory.looks, 1);

  (void)world.Run(PublishRelease{Channel::kStable, Component::kGpuDriver, "580.1"});
  count.ReleasesChanged();
  EXPECT_EQ(count.Of(memory), 3u);
  (void)world.Run(SettlePools{{PoolConfigurationName("a"), PoolConfigurationName("b")}});
  EXPECT_EQ(count.Of(memory), 1u);
  (void)world.SettleAll();
  EXPECT_EQ(count.Of(memory), 0u);
  EXPECT_EQ(memory.looks, 4);

  // What else becomes of a pool leaves it settled: nobody has to look.
  (void)world.Run(OrderPool{"a", OrderKind::kPromote, "pending"});
  (void)world.Run(OrderPool{"a", OrderKind::kRollback, "previous"});
  EXPECT_FALSE(world.Pool("a")->pinned.empty());
  (void)world.Run(Sync("b", {.strategy = Strategy::kAlways}));
  (void)world.Run(SyncPool{.pool_uid = "c", .generation = 1, .release = true});
  EXPECT_EQ(count.Of(memory), 0u);
  EXPECT_EQ(memory.looks, 4);
  EXPECT_TRUE(UnsettledPools(memory).empty());
}

// A release comes once it was looked through.
struct ChangingMemory {
  World& world;
  UnsettledCount& count;

  template <class F>
  auto Peek(F f) const {
    std::string after = f(world.state, int64_t{0});
    (void)world.Run(PublishRelease{Channel::kStable, Component::kGpuDriver, "580.1"});
    count.ReleasesChanged();
    return after;
  }
};

TEST(UnsettledCountTest, AReleaseThatComesMeanwhileIsForTheNextLook) {
  World world = Basics();
  (void)world.Run(Sync("a", {.gpu = true}));
  UnsettledCount count;
  EXPECT_EQ(count.Of(ChangingMemory{world, count}), 0u);
  EXPECT_EQ(count.Of(FakeMemory(world.state)), 1u);
}

}  // namespace
}  // namespace muster::configuration
