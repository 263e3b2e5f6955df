#include "services/configuration/core/decide.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "services/common/error.h"
#include "services/common/generation.h"
#include "services/common/testing/absent_rows.h"
#include "services/configuration/core/profile.h"
#include "services/configuration/core/testing/world.h"

namespace muster::configuration {
namespace {

SyncPool SyncAt(int64_t generation, Spec spec = {.gpu = true}, std::string uid = "p") {
  return {.pool_uid = std::move(uid), .generation = generation, .spec = std::move(spec)};
}

TEST(PublishReleaseTest, TwiceIsOnce) {
  World world;
  const PublishRelease command = {Channel::kStable, Component::kGpuDriver, "570.1"};
  const Release first = *world.Run(command);
  EXPECT_EQ(world.written, 1u);
  EXPECT_EQ(first.create_time, world.now);
  world.now += absl::Hours(1);
  EXPECT_EQ(*world.Run(command), first);
  EXPECT_EQ(world.written, 0u);
}

TEST(PublishReleaseTest, WhatNoPoolCanAskForIsRefusedUnlessItIsThere) {
  World world;
  PublishRelease release{Channel::kStable, Component::kKernel, std::string(128, 'k')};
  EXPECT_TRUE(world.Run(release).ok());
  release.version += "k";
  EXPECT_EQ(error::ReasonOf(world.Run(release).status()), "INVALID_FIELD");
  StagedState<State> staged(world.state, world.revision);
  staged.Put(Release{
      .channel = release.channel, .component = release.component, .version = release.version});
  world.revision = staged.revision();
  EXPECT_TRUE(world.Run(release).ok()) << "it was published when longer ones were taken";
}

TEST(DeleteReleaseTest, OnlyOneThatIsWithdrawnIsForgotten) {
  World world;
  const PublishRelease release{Channel::kStable, Component::kGpuDriver, "999"};
  const DeleteRelease order{Channel::kStable, Component::kGpuDriver, "999"};
  EXPECT_EQ(world.Run(order).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(world.Run(DeleteRelease{order.channel, order.component, "999", true}).ok());
  ASSERT_TRUE(world.Run(release).ok());
  EXPECT_EQ(error::ReasonOf(world.Run(order)), "RELEASE_IN_FORCE");
  ASSERT_TRUE(world.Run(WithdrawRelease{release.channel, release.component, "999"}).ok());
  EXPECT_TRUE(world.Run(order).ok());
  EXPECT_EQ(world.Run(order).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(world.Run(release).ok());
  EXPECT_FALSE(world.Run(release)->withdraw_time.has_value()) << "it is as new";
}

// Like publishing: what is withdrawn already was withdrawn then.
TEST(WithdrawReleaseTest, TwiceIsOnce) {
  World world;
  const WithdrawRelease order{Channel::kStable, Component::kGpuDriver, "570.1"};
  ASSERT_TRUE(world.Run(PublishRelease{order.channel, order.component, order.version}).ok());
  const Release first = *world.Run(order);
  EXPECT_EQ(first.withdraw_time, world.now);
  world.now += absl::Hours(1);
  EXPECT_EQ(*world.Run(order), first);
  EXPECT_EQ(world.written, 0u);
}

TEST(SyncPoolTest, FirstAnswer) {
  World world = Basics();
  const PoolConfiguration pool = *world.Run(SyncAt(1));
  EXPECT_EQ(world.written, 2u);  // the profile and the pool
  EXPECT_EQ(pool, *world.Pool("p"));
  EXPECT_EQ(pool.generation, 1);
  const NodeProfile* profile = world.Profile(pool.active());
  ASSERT_NE(profile, nullptr);
  EXPECT_EQ(profile->gpu_driver, "570.86.15");
  EXPECT_EQ(pool.revisions.back().create_time, world.now);
  EXPECT_EQ(pool.revisions.back().summary, Summary(nullptr, *profile));
}

TEST(SyncPoolTest, TwiceIsOnce) {
  World world = Basics();
  const PoolConfiguration first = *world.Run(SyncAt(1));
  world.now += absl::Hours(1);
  EXPECT_EQ(*world.Run(SyncAt(1)), first);
  EXPECT_EQ(world.written, 0u);
}

TEST(SyncPoolTest, EqualPoolsShareAProfile) {
  World world = Basics();
  const PoolConfiguration first = *world.Run(SyncAt(1));
  EXPECT_EQ(world.Run(SyncAt(1, {.gpu = true}, "q"))->active(), first.active());
  EXPECT_EQ(world.written, 1u);
}

TEST(SyncPoolTest, FencedByGeneration) {
  World world = Basics();
  (void)world.Run(SyncAt(5));
  const auto older = world.Run(SyncAt(4, {.image_name = "late"}));
  EXPECT_EQ(older.status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(error::ReasonOf(older.status()), "GENERATION_TOO_OLD");
  EXPECT_EQ(world.written, 0u);

  // Newer and otherwise the same: only the generation is written, and it fences.
  PoolConfiguration same = *world.Pool("p");
  same.generation = 7;
  EXPECT_EQ(*world.Run(SyncAt(7)), same);
  EXPECT_EQ(world.written, 1u);
  EXPECT_FALSE(world.Run(SyncAt(6, {.image_name = "late"})).ok());
  EXPECT_EQ(*world.Pool("p"), same);

  // The cluster's Kubernetes version moves without the pool's generation.
  world.Publish(Component::kKubernetes, "1.34");
  EXPECT_EQ(world.Run(SyncAt(7, {.gpu = true, .kubernetes = "1.33"}))->spec.kubernetes, "1.33");
}

TEST(SyncPoolTest, ReleaseRemoves) {
  World world = Basics();
  (void)world.Run(SyncAt(3));
  const SyncPool older = {.pool_uid = "p", .generation = 2, .release = true};
  EXPECT_EQ(world.Run(older).status().code(), absl::StatusCode::kAborted);
  const SyncPool release = {.pool_uid = "p", .generation = 3, .release = true};
  EXPECT_EQ(*world.Run(release), (PoolConfiguration{.pool_uid = "p", .generation = 3}));
  EXPECT_EQ(world.Pool("p"), nullptr);
  EXPECT_TRUE(world.Run(release).ok());
  EXPECT_EQ(world.written, 0u);
}

// Every request at every state that a pool's uid can be in.
TEST(SyncPoolTest, ReleasedIsFinal) {
  World world = Basics();
  (void)world.Run(SyncAt(3, {.gpu = true}, "gone"));
  EXPECT_TRUE(world.Run(SyncPool{.pool_uid = "gone", .generation = 3, .release = true}).ok());
  // Of a pool that was never there: its first request may be under way still.
  EXPECT_TRUE(world.Run(SyncPool{.pool_uid = "never", .generation = 1, .release = true}).ok());
  EXPECT_EQ(world.written, 1u);
  const auto unwritten = [&](const absl::Status& status) {
    EXPECT_EQ(world.written, 0u);
    EXPECT_EQ(world.state.table<PoolConfiguration>().size(), 0u);
    return error::ReasonOf(status);
  };
  for (const char* uid : {"gone", "never"}) {
    for (const int64_t generation : {1, 3, 4, 1'000}) {
      EXPECT_EQ(unwritten(world.Run(SyncAt(generation, {.gpu = true}, uid)).status()),
                "POOL_RELEASED");
      const SyncPool release = {.pool_uid = uid, .generation = generation, .release = true};
      EXPECT_EQ(unwritten(world.Run(release).status()), "");
    }
    EXPECT_EQ(unwritten(world.Run(OrderPool{uid, OrderKind::kRollback, "previous"}).status()),
              "NOT_FOUND");
    EXPECT_EQ(unwritten(world.Run(EnableRevision{uid, "np-000000000000"}).status()), "NOT_FOUND");
    EXPECT_EQ(world.Run(SettlePools{{PoolConfigurationName(uid)}}), 0u);
  }
}

// Orders whose end nobody was told of are not forgotten: there are at most so many, and then room
// again once lifecycle has told them.
TEST(OrderPoolTest, TooManyThatWereNotToldAreRefusedUntilTheyAre) {
  World world = Basics();
  ASSERT_TRUE(world.Run(SyncAt(1, {.gpu = true}, "a")).ok());
  const OrderPool order{"a", OrderKind::kRollback, "np-000000000000"};
  for (size_t i = 0; i < kMostOrders; ++i) {
    if (i == kMostOrders - 1) {  // room for one, and not for two
      EXPECT_EQ(error::ReasonOf(
                    world.Run(OrderPool{"a", OrderKind::kPromote, "pending", "previous"}).status()),
                "TOO_MANY_ORDERS");
    }
    ASSERT_NE(error::ReasonOf(world.Run(order).status()), "TOO_MANY_ORDERS") << i;
  }
  for (const OrderKind kind : {OrderKind::kPromote, OrderKind::kRollback}) {
    const absl::Status refused = world.Run(OrderPool{"a", kind, "previous"}).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(error::ReasonOf(refused), "TOO_MANY_ORDERS");
    EXPECT_EQ(world.written, 0u);
  }
  const auto orders = [&] {
    return world.state.table<PoolConfiguration>().Find(PoolConfigurationName("a"))->orders;
  };
  ASSERT_EQ(orders().size(), kMostOrders);
  SyncPool told = SyncAt(2, {.gpu = true}, "a");
  told.orders_told = orders().back().number;
  ASSERT_TRUE(world.Run(told).ok());
  EXPECT_LT(orders().size(), kMostOrders);
  EXPECT_NE(error::ReasonOf(world.Run(order).status()), "TOO_MANY_ORDERS");
}

// A check answers what the same request gets, and once it is taken back nothing is left of it.
TEST(CheckTest, SaysWhatASyncGets) {
  World world = Basics();
  world.Publish(Component::kNcoreImage, "mine");
  (void)world.Run(SyncAt(7, {.gpu = true}, "a"));
  (void)world.Run(SyncPool{.pool_uid = "gone", .generation = 1, .release = true});
  const SyncPools checked = {{SyncAt(kNewestGeneration, {.image_name = "mine"}, "a"),
                              SyncAt(kNewestGeneration, {.gpu = true}, "new"),
                              SyncAt(6, {.gpu = true}, "b"), SyncAt(9, {.gpu = true}, "gone")}};
  SyncPools sent = checked;
  sent.requests[0].generation = 8;
  sent.requests[1].generation = 1;
  State state = world.state;
  StagedState<State> staged(state, world.revision);
  const auto told = Check(staged, checked, world.now, world.policy);
  EXPECT_FALSE(staged.changes().empty());
  staged.RollBack();
  EXPECT_TRUE(SameState(state, world.state));
  const auto got = *world.Run(sent);
  ASSERT_EQ(told.size(), got.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(told[i].status(), got[i].status()) << i;
    EXPECT_TRUE(!got[i].ok() || *told[i] == *got[i]) << i;
  }
  EXPECT_EQ(error::ReasonOf(told[3].status()), "POOL_RELEASED");
}

TEST(SyncPoolTest, AReleasedPoolIsForgottenAfterItsTime) {
  World world;
  const auto release = [&](const char* uid) {
    (void)world.Run(SyncPool{.pool_uid = uid, .generation = 1, .release = true});
  };
  world.policy.released_keep = absl::Hours(2);
  release("a");
  world.now += absl::Hours(2) - absl::Seconds(1);
  release("b");
  EXPECT_NE(FindReleased(world.state, "a"), nullptr);
  world.now += absl::Seconds(1);
  release("c");
  EXPECT_EQ(FindReleased(world.state, "a"), nullptr);
  EXPECT_NE(FindReleased(world.state, "b"), nullptr);
}

// What the pool's Nodes run stays among its revisions for as long as they are said to run it.
TEST(SyncPoolTest, WhatNodesRunIsNotForgotten) {
  World world = Basics();
  const Spec spec = {.gpu = true, .strategy = Strategy::kAlways};
  const std::string first = world.Run(SyncAt(1, spec))->active();
  size_t version = 3;
  for (; version < 3 + kMaxRevisions; ++version)
    world.Publish(Component::kNcoreImage, absl::StrCat(version));
  ASSERT_EQ(world.Pool("p")->revisions.size(), kMaxRevisions + 1);
  SyncPool sync = SyncAt(2, spec);
  sync.running_profiles = {first};
  PoolConfiguration pool = *world.Run(sync);
  EXPECT_EQ(pool.revisions.size(), kMaxRevisions);
  EXPECT_NE(FindRevision(pool, first), nullptr);
  world.Publish(Component::kNcoreImage, absl::StrCat(version));
  pool = *world.Run(SyncAt(3, spec));
  EXPECT_EQ(pool.revisions.size(), kMaxRevisions);
  EXPECT_EQ(FindRevision(pool, first), nullptr) << "no Node runs it any more";
}

TEST(SyncPoolTest, AGenerationOfTheFarFutureIsRefused) {
  World world = Basics();
  constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(error::ReasonOf(world.Run(SyncAt(kGreatest)).status()), "GENERATION_OUT_OF_RANGE");
  EXPECT_TRUE(world.Run(SyncAt(1)).ok());
  EXPECT_EQ(error::ReasonOf(world.Run(SyncAt(kGreatest)).status()), "GENERATION_OUT_OF_RANGE");
  EXPECT_EQ(world.written, 0u);
  EXPECT_TRUE(world.Run(SyncAt(2)).ok());
}

TEST(SyncPoolTest, NothingFits) {
  World world = Basics();
  PoolConfiguration pool = *world.Run(SyncAt(1, {.gpu_version = "999", .gpu = true}));
  EXPECT_EQ(pool.active(), "");
  EXPECT_EQ(pool.problem, "No release of gpu-driver 999 in channel stable: there is 570.");
  // The release that was missing gives the pool its first profile, under Manual too.
  world.Publish(Component::kGpuDriver, "999.1");
  EXPECT_EQ(world.Profile(world.Pool("p")->active())->gpu_driver, "999.1");
  EXPECT_EQ(world.Pool("p")->problem, "");
}

TEST(SyncPoolTest, NothingFitsAnyMore) {
  World world = Basics();
  const PoolConfiguration before = *world.Run(SyncAt(1));
  const PoolConfiguration after = *world.Run(SyncAt(2, {.gpu_version = "999", .gpu = true}));
  EXPECT_EQ(after.active(), before.active());
  EXPECT_NE(after.problem, "");
  EXPECT_EQ(after.revisions, before.revisions);
  EXPECT_EQ(world.written, 1u);
}

struct Path {
  Strategy strategy = Strategy::kManual;
  bool spec_staged = false;
  bool upstream_staged = false;
};
constexpr Path kPaths[] = {{Strategy::kManual, false, false},
                           {Strategy::kOnSpecUpdate, true, false},
                           {Strategy::kAlways, true, true}};

TEST(StrategyPathTest, AReleaseComes) {
  for (const Path& path : kPaths) {
    SCOPED_TRACE(Print(path.strategy));
    World world = Basics();
    const auto first = world.Run(SyncAt(1, {.gpu = true, .strategy = path.strategy}))->active();
    world.now += absl::Hours(1);
    world.Publish(Component::kGpuDriver, "570.124.06");
    const PoolConfiguration& pool = *world.Pool("p");
    EXPECT_EQ(pool.active() != first, path.upstream_staged);
    EXPECT_EQ(pool.has_pending(), !path.upstream_staged);
    const Revision& news = path.upstream_staged ? pool.revisions.back() : pool.pending;
    EXPECT_EQ(world.Profile(news.node_profile)->gpu_driver, "570.124.06");
    EXPECT_EQ(news.create_time, world.now);
    EXPECT_EQ(news.summary[1], "GPU driver 570.86.15 → 570.124.06");
  }
}

TEST(StrategyPathTest, TheSpecChanges) {
  for (const Path& path : kPaths) {
    SCOPED_TRACE(Print(path.strategy));
    World world = Basics();
    world.Publish(Component::kGpuDriver, "565.1");
    const auto first = world.Run(SyncAt(1, {.gpu = true, .strategy = path.strategy}))->active();
    const auto pool =
        *world.Run(SyncAt(2, {.gpu_version = "565", .gpu = true, .strategy = path.strategy}));
    EXPECT_EQ(pool.active() != first, path.spec_staged);
    EXPECT_EQ(pool.has_pending(), !path.spec_staged);
    // Back again: nothing waits.
    const auto back = *world.Run(SyncAt(3, {.gpu = true, .strategy = path.strategy}));
    EXPECT_EQ(back.active(), first);
    EXPECT_FALSE(back.has_pending());
  }
}

TEST(StrategyPathTest, TheClustersKubernetesIsNotThePoolsSpec) {
  for (const Path& path : kPaths) {
    SCOPED_TRACE(Print(path.strategy));
    World world = Basics();
    world.Publish(Component::kKubernetes, "1.34");
    const Spec spec = {.kubernetes = "1.33", .strategy = path.strategy};
    const auto first = world.Run(SyncAt(1, spec))->active();
    Spec upgraded = spec;
    upgraded.kubernetes = "1.34";
    const auto pool = *world.Run(SyncAt(1, upgraded));
    EXPECT_EQ(pool.active() != first, path.upstream_staged);
    EXPECT_EQ(pool.has_pending(), !path.upstream_staged);
  }
}

TEST(StrategyPathTest, AnotherStrategyStagesWhatWaitsOnlyIfItIsAlways) {
  World world = Basics();
  Spec spec = {.gpu = true, .strategy = Strategy::kManual};
  const auto first = world.Run(SyncAt(1, spec))->active();
  world.Publish(Component::kGpuDriver, "570.124.06");
  spec.strategy = Strategy::kOnSpecUpdate;
  EXPECT_EQ(world.Run(SyncAt(2, spec))->active(), first);
  const std::string waiting = world.Pool("p")->pending.node_profile;
  EXPECT_NE(waiting, "");
  spec.strategy = Strategy::kAlways;
  EXPECT_EQ(world.Run(SyncAt(3, spec))->active(), waiting);
  EXPECT_FALSE(world.Pool("p")->has_pending());
}

TEST(StrategyPathTest, WhatIsNotReadIsNoChange) {
  World world = Basics();
  world.Publish(Component::kKernel, "6.5");
  (void)world.Run(SyncAt(1, {.image_kernel = "6.5", .gpu = true}));
  world.Publish(Component::kGpuDriver, "570.124.06");
  ASSERT_TRUE(world.Pool("p")->has_pending());
  // The image wins: gpu_version is not read, so what waits goes on waiting.
  EXPECT_TRUE(world.Run(SyncAt(2, {.image_kernel = "6.5", .gpu_version = "565", .gpu = true}))
                  ->has_pending());
}

TEST(PublishReleaseTest, WritesOnlyWhatChanges) {
  World world = Basics();
  for (int i = 0; i < 100; ++i) {
    (void)world.Run(SyncAt(1, {.gpu = true}, absl::StrCat("any-", i)));
    (void)world.Run(SyncAt(1, {.gpu_version = "570", .gpu = true}, absl::StrCat("major-", i)));
    (void)world.Run(SyncAt(1, {.gpu = false}, absl::StrCat("cpu-", i)));
  }
  world.Publish(Component::kGpuDriver, "570.9");  // older than what there is
  EXPECT_EQ(world.written, 1u);
  world.Publish(Component::kGpuDriver,
                "580.1");  // the release, one profile, the hundred that take any
  EXPECT_EQ(world.written, 102u);
  world.Publish(Component::kGpuDriver, "570.124.06");
  EXPECT_EQ(world.written, 102u);
  world.Publish(Component::kNcoreImage, "2.10.2");  // three profiles, everybody
  EXPECT_EQ(world.written, 304u);
  (void)world.Run(PublishRelease{Channel::kLatest, Component::kNcoreImage, "9"});
  EXPECT_EQ(world.written, 1u);
}

TEST(SyncPoolsTest, EachOnItsOwn) {
  World world = Basics();
  (void)world.Run(SyncAt(5, {.gpu = true}, "b"));
  const auto answers = *world.Run(
      SyncPools{{SyncAt(1, {}, "a"), SyncAt(4, {}, "b"), SyncAt(1, {.gpu = true}, "c")}});
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(*answers[0], *world.Pool("a"));
  EXPECT_EQ(answers[1].status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(*answers[2], *world.Pool("c"));
  EXPECT_EQ(world.Pool("b")->generation, 5);
}

TEST(State, WhatIsDeletedAndNeverWasChangesNothing) {
  EXPECT_EQ(RowsAfterAbsentOnesGo<State>(), 0);
}

}  // namespace
}  // namespace muster::configuration
