#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/configuration/core/breaker.h"
#include "services/configuration/core/orders.h"
#include "services/configuration/core/settle.h"
#include "services/configuration/core/strategy.h"
#include "services/configuration/core/testing/profiles.h"

// What becomes of what waits, of what is pending beside it, and of pins, when something else comes;
// and what is said of it.
namespace muster::configuration {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kPromotion = OrderKind::kPromote;

// "While Nodes are mid-delivery the switch waits": was a, is b, and c is pending.
PoolConfiguration MidDelivery(Strategy strategy) {
  return {.pool_uid = "p",
          .spec = {.strategy = strategy},
          .pending = {"c", kOld, {}},
          .revisions = {{"a", kOld, {}}, {"b", kOld, {}}},
          .mid_delivery = true};
}

PoolConfiguration WithOrder(const PoolConfiguration& pool, OrderKind kind,
                            absl::string_view requested) {
  return GiveOrder(pool, AllNamed({"a", "b", "c", "d"}), kind, requested, kNow, {}).pool;
}

PoolConfiguration Wanting(const PoolConfiguration& pool, absl::string_view id, Trigger trigger,
                          bool withdrawn = false) {
  return Next(pool, AllNamed({"a", "b", "c", "d"}), {.profile = Named(id)}, trigger, kNow,
              withdrawn);
}

PoolConfiguration Failing(const PoolConfiguration& pool, Trigger trigger, bool of_spec = false) {
  return Next(pool, AllNamed({"a", "b", "c", "d"}), {.problem = "No release.", .of_spec = of_spec},
              trigger, kNow);
}

// "`Manual`: everything waits as pending": a change of the spec does not take the place of what was
// ordered, nor does a release that of a change that is kept apart.
TEST(WaitingTest, ManualKeepsWhatTheSpecAsksForApartFromWhatWasOrdered) {
  const PoolConfiguration pool = WithOrder(MidDelivery(Strategy::kManual), kPromotion, "pending");
  PoolConfiguration apart = Wanting(pool, "d", Trigger::kSpec);
  EXPECT_EQ(apart.waiting.node_profile, "c");
  EXPECT_EQ(apart.pending.node_profile, "d");
  apart = Wanting(apart, "a", Trigger::kUpstream);
  EXPECT_EQ(apart.waiting.node_profile, "c");
  EXPECT_EQ(apart.pending.node_profile, "a");
  PoolConfiguration unmet = Failing(pool, Trigger::kSpec);
  EXPECT_TRUE(unmet.spec_unmet);
  unmet = Wanting(unmet, "d", Trigger::kUpstream);
  EXPECT_EQ(unmet.waiting.node_profile, "c");
  EXPECT_EQ(unmet.pending.node_profile, "d");
}

// "`OnSpecUpdate`: a change of the pool's spec is staged at once", as soon as it can be met.
TEST(WaitingTest, AChangeOfTheSpecIsNotForgottenWhileNothingFits) {
  PoolConfiguration pool = MidDelivery(Strategy::kOnSpecUpdate);
  pool.mid_delivery = false;
  pool = Failing(pool, Trigger::kSpec, /*of_spec=*/true);
  EXPECT_TRUE(pool.problem_of_spec);
  pool = Failing(pool, Trigger::kUpstream);
  EXPECT_FALSE(pool.problem_of_spec);
  EXPECT_TRUE(pool.spec_unmet);
  EXPECT_EQ(Wanting(pool, "d", Trigger::kUpstream).active(), "d");
  // What upstream alone made fail asks for nothing.
  pool = MidDelivery(Strategy::kOnSpecUpdate);
  pool = Wanting(Failing(pool, Trigger::kUpstream), "d", Trigger::kUpstream);
  EXPECT_EQ(pool.active(), "b");
  EXPECT_EQ(pool.pending.node_profile, "d");
}

// Under Manual only what was kept apart: there has to be something.
TEST(WaitingTest, NothingThatWasKeptApartIsNoUnmetSpec) {
  PoolConfiguration pool = WithOrder(MidDelivery(Strategy::kManual), kPromotion, "c");
  ASSERT_FALSE(pool.has_pending());
  EXPECT_FALSE(Failing(pool, Trigger::kUpstream).spec_unmet);
  pool.pending = {"d", kOld, {}};
  EXPECT_TRUE(Failing(pool, Trigger::kUpstream).spec_unmet);
}

// "an upstream release waits as pending": a rollback that was dropped stages none.
TEST(WaitingTest, ADroppedRollbackMakesNoSpecUnmet) {
  PoolConfiguration pool =
      WithOrder(MidDelivery(Strategy::kOnSpecUpdate), OrderKind::kRollback, "previous");
  ASSERT_THAT(pool.pinned, ElementsAre("b"));
  pool = WithOrder(pool, kPromotion, "pending");
  EXPECT_FALSE(pool.has_waiting());
  EXPECT_FALSE(pool.spec_unmet);
  pool.mid_delivery = false;
  pool = Wanting(pool, "c", Trigger::kUpstream);
  EXPECT_EQ(pool.active(), "b");
  EXPECT_EQ(pool.pending.node_profile, "c");
}

// "After a rollback the profile rolled back from is not staged again by itself": nor in the place
// of what was withdrawn.
TEST(WaitingTest, WhatIsPinnedTakesNothingsPlace) {
  PoolConfiguration pool = MidDelivery(Strategy::kAlways);
  pool.pending = {};
  pool.waiting = {"c", kOld, {}};
  pool.pinned = {"d"};
  pool = Wanting(pool, "d", Trigger::kUpstream, /*withdrawn=*/true);
  EXPECT_FALSE(pool.has_waiting());
  EXPECT_EQ(pool.active(), "b");
  EXPECT_EQ(pool.pending.node_profile, "d");
}

// "until something newer appears": only a rollback that may still be dropped keeps its pins.
TEST(WaitingTest, SomethingNewerEndsPinsUnlessARollbackWaits) {
  PoolConfiguration promotion = MidDelivery(Strategy::kManual);
  promotion.pinned = {"z"};
  promotion = WithOrder(promotion, kPromotion, "c");
  EXPECT_THAT(Wanting(promotion, "d", Trigger::kUpstream).pinned, IsEmpty());
  const PoolConfiguration rollback =
      WithOrder(MidDelivery(Strategy::kManual), OrderKind::kRollback, "previous");
  EXPECT_THAT(Wanting(rollback, "d", Trigger::kUpstream).pinned, ElementsAre("b"));
  EXPECT_THAT(Wanting(rollback, "d", Trigger::kSpec).pinned, IsEmpty()) << "the spec asks for it";
}

TEST(WaitingTest, WhatIsRolledBackToIsNotPinned) {
  PoolConfiguration pool = MidDelivery(Strategy::kAlways);
  pool.pending = {};
  pool.waiting = {"a", kOld, {}};
  EXPECT_THAT(WithOrder(pool, OrderKind::kRollback, "a").pinned, ElementsAre("b"));
}

// Another revision's failures are nothing to it.
TEST(WaitingTest, IsDroppedByItsOwnFailuresAlone) {
  const PoolConfiguration pool = WithOrder(MidDelivery(Strategy::kManual), kPromotion, "c");
  const PoolConfiguration after = CountFailures(
      pool, {.node_profile = "a", .machines = {"g1", "g2", "g3"}}, {.boot_failures_to_disable = 3});
  EXPECT_TRUE(IsDisabled(after, "a"));
  EXPECT_EQ(after.waiting, pool.waiting);
  EXPECT_EQ(after.orders, pool.orders);
}

TEST(WaitingTest, IsNotSettledWhenTheActiveOneIsWanted) {
  PoolConfiguration pool = MidDelivery(Strategy::kAlways);
  pool.pending = {};
  EXPECT_TRUE(IsSettled(State(), pool, {.profile = Named("b")}));
  pool.waiting = {"c", kOld, {}};
  EXPECT_FALSE(IsSettled(State(), pool, {.profile = Named("b")}));
}

// However it is asked for; but the same word may mean another one by now.
TEST(WaitingTest, TheSameAskedForAgainIsTheSameOrder) {
  PoolConfiguration promotion = WithOrder(MidDelivery(Strategy::kManual), kPromotion, "c");
  promotion = WithOrder(promotion, kPromotion, "pending");
  EXPECT_EQ(promotion.orders.size(), 1u) << "it is what was pending";
  PoolConfiguration pool = MidDelivery(Strategy::kManual);
  const auto again = [&](const std::set<std::string>& withdrawn) {
    const PoolConfiguration first = WithOrder(pool, OrderKind::kRollback, "previous");
    return GiveOrder(first, AllNamed({"a", "b", "c", "d"}), OrderKind::kRollback, "previous", kNow,
                     withdrawn)
        .pool;
  };
  EXPECT_EQ(again({"a"}).orders.size(), 1u) << "it means none";
  EXPECT_EQ(again({"a"}).waiting.node_profile, "a");
  pool.revisions.insert(pool.revisions.begin(), Revision{"d", kOld, {}});
  EXPECT_EQ(again({}).orders.size(), 1u);
  EXPECT_EQ(again({"a"}).waiting.node_profile, "d");
  EXPECT_EQ(again({"a"}).orders.at(0).outcome, OrderOutcome::kReplaced);
}

// Whoever reads the list of orders reads what became of each.
TEST(WaitingTest, OrdersSayWhatBecameOfThem) {
  const PoolConfiguration calm = MidDelivery(Strategy::kManual);
  PoolConfiguration pool = WithOrder(calm, kPromotion, "pending");
  EXPECT_EQ(pool.orders[0].message, "Waits until no Node is in delivery.");
  PoolConfiguration done = pool;
  done.mid_delivery = false;
  StageWaiting(done);
  EXPECT_EQ(done.orders[0].message, "c is the active profile.");
  EXPECT_EQ(Wanting(pool, "b", Trigger::kUpstream).orders[0].message,
            "The pool came to want b instead.");
  pool.pending = {"d", kOld, {}};
  EXPECT_EQ(WithOrder(pool, kPromotion, "d").orders[0].message, "Order 2 took its place.");
  const PoolConfiguration both = GiveBoth(calm, "pending", "previous", kNow).pool;
  ASSERT_EQ(both.orders.size(), 2u);
  EXPECT_EQ(both.orders[0].requested, "pending");
  EXPECT_EQ(both.orders[1].requested, "previous");
  for (const Order& order : both.orders)
    EXPECT_EQ(order.message, "Asked for both a promotion and a rollback; both are dropped.");
}

}  // namespace
}  // namespace muster::configuration
