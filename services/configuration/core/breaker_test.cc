#include "services/configuration/core/breaker.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "services/configuration/core/strategy.h"
#include "services/configuration/core/testing/world.h"

namespace muster::configuration {
namespace {

PoolConfiguration PoolOfTwoRevisions() {
  return {.pool_uid = "p",
          .revisions = {{.node_profile = "a"}, {.node_profile = "b", .enable_count = 2}}};
}

BootFailures Failures(const std::string& profile, int64_t enable_count, int machines) {
  BootFailures failures = {.node_profile = profile, .enable_count = enable_count};
  for (int i = 0; i < machines; ++i) failures.machines.push_back(absl::StrCat("g", i));
  return failures;
}

struct BreakerRow {
  const char* profile = "";
  int64_t enable_count = 0;
  int machines = 0;
  int threshold = 3;
  bool disabled = false;
};
constexpr BreakerRow kBreakerRows[] = {
    {"a", 0, 2, 3, false}, {"a", 0, 3, 3, true},  {"a", 0, 4, 3, true},  {"a", 0, 1, 1, true},
    {"b", 2, 3, 3, true},  {"b", 1, 9, 3, false}, {"b", 3, 9, 3, false}, {"a", 1, 9, 3, false},
    {"x", 0, 9, 3, false}, {"a", 0, 0, 1, false},
};

TEST(BreakerTest, Table) {
  for (const BreakerRow& row : kBreakerRows) {
    SCOPED_TRACE(absl::StrCat(row.profile, " ", row.enable_count, " ", row.machines));
    const PoolConfiguration after =
        CountFailures(PoolOfTwoRevisions(), Failures(row.profile, row.enable_count, row.machines),
                      {.boot_failures_to_disable = row.threshold});
    PoolConfiguration expected = PoolOfTwoRevisions();
    if (row.disabled) FindRevision(expected, row.profile)->disabled = true;
    EXPECT_EQ(after, expected);
  }
}

TEST(BreakerTest, EnablingForgetsWhatFailedBefore) {
  const BootFailures failures = Failures("a", 0, 3);
  PoolConfiguration pool = CountFailures(PoolOfTwoRevisions(), failures, {});
  EXPECT_TRUE(IsDisabled(pool, "a"));
  pool = Enable(pool, "a");
  EXPECT_FALSE(IsDisabled(pool, "a"));
  EXPECT_EQ(FindRevision(pool, "a")->enable_count, 1);
  EXPECT_EQ(CountFailures(pool, failures, {}), pool);
  EXPECT_EQ(Enable(pool, "a"), pool);
  EXPECT_EQ(Enable(pool, "unknown"), pool);
}

TEST(BreakerTest, WhatWaitsIsDroppedAndItsOrderHasFailed) {
  for (const OrderKind kind : {OrderKind::kPromote, OrderKind::kRollback}) {
    PoolConfiguration pool = PoolOfTwoRevisions();
    pool.mid_delivery = true;
    pool.waiting = {.node_profile = "a"};
    pool.pinned = {"b"};
    pool.orders = {{.number = 1,
                    .kind = kind,
                    .requested = "a",
                    .node_profile = "a",
                    .outcome = OrderOutcome::kWaiting}};
    pool = CountFailures(pool, Failures("a", 0, 3), {});
    EXPECT_FALSE(pool.has_waiting());
    EXPECT_TRUE(pool.pinned.empty());
    EXPECT_EQ(pool.orders[0].outcome, kind == OrderKind::kPromote ? OrderOutcome::kNoPending
                                                                  : OrderOutcome::kRollbackFailed);
    EXPECT_NE(pool.orders[0].message, "");
  }
}

// "Three boot failures in a row on different machines (flag) disable a revision"
TEST(BreakerTest, BootFailuresDisableWhatIsActiveUntilItIsEnabled) {
  World world = Basics();
  SyncPool sync = {.pool_uid = "p", .generation = 1, .spec = {.gpu = true}};
  sync.pool = "organizations/acme/clusters/c1/nodePools/a";
  const std::string active = world.Run(sync)->active();
  sync.generation = 2;
  sync.pool = "";
  sync.boot_failures = BootFailures{.node_profile = active, .machines = {"g1", "g2", "g3"}};
  EXPECT_TRUE(IsDisabled(*world.Run(sync), active));
  EXPECT_EQ(world.Pool("p")->pool, "organizations/acme/clusters/c1/nodePools/a") << "it stays";
  EXPECT_FALSE(IsDisabled(*world.Run(EnableRevision{"p", active}), active));
  EXPECT_EQ(world.Run(EnableRevision{"p", "np-0123456789ab"}).status().code(),
            absl::StatusCode::kNotFound);
  sync.generation = 3;
  EXPECT_FALSE(IsDisabled(*world.Run(sync), active)) << "those were before it was enabled";
}

}  // namespace
}  // namespace muster::configuration
