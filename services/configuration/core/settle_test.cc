#include "services/configuration/core/settle.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/common/testing/fake_memory.h"
#include "services/configuration/core/testing/world.h"

namespace muster::configuration {
namespace {

// 10,000 pools, four wants. A release that a quarter of them follow: so many rows, in so many
// batches, and no row for the others.
TEST(SettleTest, TenThousandPoolsInBoundedBatches) {
  World world = Basics();
  world.Publish(Component::kNcoreImage, "mine");
  for (int i = 0; i < 2'500; ++i) {
    (void)world.Run(Sync(absl::StrCat("any-", i), {.gpu = true, .strategy = Strategy::kAlways}));
    (void)world.Run(Sync(absl::StrCat("major-", i), {.gpu_version = "570", .gpu = true}));
    (void)world.Run(Sync(absl::StrCat("cpu-", i), {}));
    (void)world.Run(Sync(absl::StrCat("named-", i), {.image_name = "mine"}));
  }
  EXPECT_TRUE(UnsettledPools(FakeMemory(world.state)).empty());
  (void)world.Run(PublishRelease{Channel::kStable, Component::kGpuDriver, "580.1"});
  EXPECT_EQ(world.written, 1u);
  EXPECT_EQ(UnsettledPools(FakeMemory(world.state)).size(), 2'500u);
  EXPECT_EQ(world.SettleAll(), 5u);
  EXPECT_EQ(world.written, 2'501u);  // the pools and one profile
  EXPECT_EQ(world.SettleAll(), 0u);
  EXPECT_EQ(world.written, 0u);

  // The image is everybody's but those that name theirs.
  (void)world.Run(PublishRelease{Channel::kStable, Component::kNcoreImage, "2.10.2"});
  EXPECT_EQ(world.SettleAll(), 15u);
  EXPECT_EQ(world.written, 7'503u);
  // It is withdrawn: those that only had it pending are as before, those under Always go back.
  world.Withdraw(Component::kNcoreImage, "2.10.2");
  EXPECT_EQ(world.written, 7'501u);
  EXPECT_FALSE(world.Pool("cpu-7")->has_pending());
  EXPECT_EQ(world.Profile(world.Pool("any-7")->active())->image, "2.10.1");
}

// Any order, any size of batch, some of them twice: the same rows in the end.
TEST(SettleTest, PiecesComeToTheSame) {
  World whole = Basics();
  for (int i = 0; i < 50; ++i) {
    const Spec spec = {.gpu = i % 2 == 0, .strategy = static_cast<Strategy>(i % 3)};
    (void)whole.Run(Sync(absl::StrCat("p-", i), spec));
  }
  World pieces = whole;
  const PublishRelease release = {Channel::kStable, Component::kNcoreImage, "3"};
  (void)whole.Run(release);
  (void)pieces.Run(release);
  EXPECT_EQ(whole.SettleAll(), 1u);
  const std::vector<std::string> keys = UnsettledPools(FakeMemory(pieces.state));
  ASSERT_EQ(keys.size(), 50u);
  for (size_t i = keys.size(); i-- > 0;) (void)pieces.Run(SettlePools{{keys[i], keys[49]}});
  for (int i = 0; i < 50; ++i) {
    const std::string uid = absl::StrCat("p-", i);
    EXPECT_EQ(*pieces.Pool(uid), *whole.Pool(uid));
  }
}

// The withdrawal led the pool back: "previous" does not lead it to what was withdrawn.
TEST(SettleTest, ARollbackAfterAWithdrawalIsNotToWhatWasWithdrawn) {
  for (const Component component : {Component::kNcoreImage, Component::kGpuDriver}) {
    World world = Basics();
    (void)world.Run(Sync("any", {.gpu = true, .strategy = Strategy::kAlways}));
    const std::string good = world.Pool("any")->active();
    world.Publish(component, "999.1");
    ASSERT_NE(world.Pool("any")->active(), good);
    world.Withdraw(component, "999.1");
    ASSERT_EQ(world.Pool("any")->active(), good);
    const auto order = world.Run(OrderPool{"any", OrderKind::kRollback, "previous"});
    ASSERT_TRUE(order.ok());
    EXPECT_EQ(error::ReasonOf(order->refusal), "ROLLBACK_FAILED");
    EXPECT_EQ(world.Pool("any")->active(), good);
  }
}

struct Part {
  const char* name = "";
  Spec spec = {};  // of the profile that has it
  PublishRelease release = {};
};

const Part kParts[] = {
    {"image", {.image_name = "mine"}, {Channel::kStable, Component::kNcoreImage, "mine"}},
    {"kernel", {.image_kernel = "6.5"}, {Channel::kStable, Component::kKernel, "6.5"}},
    {"driver", {.gpu_version = "565"}, {Channel::kStable, Component::kGpuDriver, "565.1"}},
    {"Kubernetes", {.kubernetes = "1.32"}, {Channel::kStable, Component::kKubernetes, "1.32.5"}},
    // The same version is in force in channel stable.
    {"train",
     {.release_train = Channel::kLatest},
     {Channel::kLatest, Component::kGpuDriver, "570.86.15"}}};

// Whichever part of it was withdrawn, also once nobody knows the release any more; until it is
// published again.
TEST(SettleTest, PreviousPassesOverWhatHasAPartThatWasWithdrawn) {
  for (const Part& part : kParts) {
    SCOPED_TRACE(part.name);
    World world = Basics();
    (void)world.Run(PublishRelease{Channel::kLatest, Component::kNcoreImage, "2.10.1"});
    (void)world.Run(PublishRelease{Channel::kLatest, Component::kKubernetes, "1.33"});
    (void)world.Run(part.release);
    Spec spec = part.spec;
    spec.gpu = true;
    spec.strategy = Strategy::kAlways;
    (void)world.Run(Sync("any", {.gpu = true, .strategy = Strategy::kAlways}));
    const std::string sound = world.Pool("any")->active();
    (void)world.Run(Sync("any", spec));
    const std::string with_part = world.Pool("any")->active();
    (void)world.Run(Sync("any", {.strategy = Strategy::kAlways}));
    ASSERT_EQ(world.Pool("any")->revisions.size(), 3u);
    const auto previous = [&] {
      World then = world;
      const auto order = then.Run(OrderPool{"any", OrderKind::kRollback, "previous"});
      EXPECT_TRUE(order.ok() && order->refusal.ok());
      return then.Pool("any")->active();
    };
    EXPECT_EQ(previous(), with_part);
    const auto& [channel, component, version] = part.release;
    world.Settled(WithdrawRelease{channel, component, version});
    EXPECT_EQ(previous(), sound);
    ASSERT_TRUE(world.Run(DeleteRelease{channel, component, version}).ok());
    EXPECT_EQ(previous(), sound) << "deleted";
    world.Settled(part.release);
    EXPECT_EQ(previous(), with_part);
  }
}

// No Node boots a release that is withdrawn before the change of the spec that it came with goes
// live.
TEST(SettleTest, WhatWaitsGivesWayWhenAPartOfItIsWithdrawn) {
  for (const bool deleted : {false, true}) {
    SCOPED_TRACE(deleted);
    World world = Basics();
    (void)world.Run(Sync("any", {.gpu_version = "570", .gpu = true}));
    world.Publish(Component::kGpuDriver, "580.1");
    world.Publish(Component::kNcoreImage, "2.10.2");
    SyncPool change = Sync("any", {.gpu_version = "580", .gpu = true});
    change.nodes_in_delivery = 1;
    (void)world.Run(change);
    const std::string bad = world.Pool("any")->waiting.node_profile;
    ASSERT_FALSE(bad.empty());
    ASSERT_EQ(world.Profile(bad)->image, "2.10.2");
    if (deleted) {
      (void)world.Run(WithdrawRelease{Channel::kStable, Component::kNcoreImage, "2.10.2"});
      world.Settled(DeleteRelease{Channel::kStable, Component::kNcoreImage, "2.10.2"});
    } else {
      world.Withdraw(Component::kNcoreImage, "2.10.2");
    }
    change.nodes_in_delivery = 0;
    (void)world.Run(change);
    const NodeProfile* active = world.Profile(world.Pool("any")->active());
    EXPECT_EQ(active->image, "2.10.1");
    EXPECT_EQ(active->gpu_driver, "580.1");
    EXPECT_FALSE(world.Pool("any")->has_pending());
  }
}

TEST(SettleTest, APoolThatIsGoneIsLeftOut) {
  World world = Basics();
  EXPECT_EQ(world.Run(SettlePools{{"poolConfigurations/gone"}}), 0u);
  EXPECT_EQ(world.written, 0u);
}

// Neither it nor one that is settled ends the batch.
TEST(SettleTest, CountsThoseOfABatchThatChange) {
  World world = Basics();
  const Spec follows = {.gpu = true, .strategy = Strategy::kAlways};
  for (const char* uid : {"a", "b"})
    ASSERT_TRUE(world.Run(SyncPool{.pool_uid = uid, .generation = 1, .spec = follows}).ok());
  ASSERT_TRUE(world.Run(SyncPool{.pool_uid = "other", .generation = 1}).ok());
  (void)world.Run(PublishRelease{Channel::kStable, Component::kGpuDriver, "580.1"});
  const SettlePools batch{{"poolConfigurations/gone", "poolConfigurations/other",
                           "poolConfigurations/a", "poolConfigurations/b"}};
  EXPECT_EQ(world.Run(batch), 2u);
  for (const char* uid : {"a", "b"})
    EXPECT_EQ(world.Profile(world.Pool(uid)->active())->gpu_driver, "580.1") << uid;
  EXPECT_EQ(world.Run(batch), 0u);
}

}  // namespace
}  // namespace muster::configuration
