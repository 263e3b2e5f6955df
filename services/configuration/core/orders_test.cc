#include "services/configuration/core/orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"
#include "services/configuration/core/breaker.h"
#include "services/configuration/core/forget.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/strategy.h"
#include "services/configuration/core/testing/profiles.h"

namespace muster::configuration {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kPromote = OrderKind::kPromote;
constexpr auto kRollback = OrderKind::kRollback;

Table<NodeProfile> FourProfiles() { return AllNamed({"a", "b", "c", "d"}); }

// Was a, is b; c is pending.
PoolConfiguration PoolWithPending(bool mid_delivery = false) {
  return {.pool_uid = "p",
          .spec = {.strategy = Strategy::kManual},
          .pending = {"c", kOld, {}},
          .revisions = {{"a", kOld, {}}, {"b", kOld, {}}},
          .mid_delivery = mid_delivery};
}

Ordered Give(PoolConfiguration pool, OrderKind kind, absl::string_view requested) {
  return GiveOrder(std::move(pool), FourProfiles(), kind, requested, kNow, {});
}

struct OrderRow {
  OrderKind kind = OrderKind::kPromote;
  const char* requested = "";
  OrderOutcome outcome = OrderOutcome::kDone;
  const char* active_after = "";
  const char* disabled = "";
};
constexpr OrderRow kOrderRows[] = {
    {kPromote, "pending", OrderOutcome::kDone, "c"},
    {kPromote, "c", OrderOutcome::kDone, "c"},
    {kPromote, "a", OrderOutcome::kNoPending, "b"},
    {kPromote, "b", OrderOutcome::kNoPending, "b"},
    {kPromote, "unknown", OrderOutcome::kNoPending, "b"},
    {kRollback, "previous", OrderOutcome::kDone, "a"},
    {kRollback, "a", OrderOutcome::kDone, "a"},
    {kRollback, "b", OrderOutcome::kRollbackFailed, "b"},
    {kRollback, "c", OrderOutcome::kRollbackFailed, "b"},
    {kRollback, "unknown", OrderOutcome::kRollbackFailed, "b"},
    {kRollback, "previous", OrderOutcome::kRollbackFailed, "b", "a"},
    {kRollback, "a", OrderOutcome::kRollbackFailed, "b", "a"},
    {kRollback, "previous", OrderOutcome::kDone, "a", "b"},
};

// The word means what is pending now, not what it meant when it was first said.
TEST(OrdersTest, ASecondPromotionOfSomethingElseTakesThePlaceOfTheFirst) {
  PoolConfiguration pool = Give(PoolWithPending(true), kPromote, "pending").pool;
  ASSERT_EQ(pool.waiting.node_profile, "c");
  EXPECT_EQ(Give(pool, kPromote, "pending").order, pool.orders.back()) << "the same again";
  pool.pending = {"d", kOld, {}};
  const Ordered second = Give(pool, kPromote, "pending");
  EXPECT_EQ(second.pool.waiting.node_profile, "d");
  EXPECT_EQ(second.order.outcome, OrderOutcome::kWaiting);
  EXPECT_EQ(second.pool.orders.front().outcome, OrderOutcome::kReplaced);
}

TEST(OrdersTest, Table) {
  for (const OrderRow& row : kOrderRows) {
    SCOPED_TRACE(absl::StrCat(row.requested, " disabled ", row.disabled));
    PoolConfiguration pool = PoolWithPending();
    if (Revision* revision = FindRevision(pool, row.disabled)) revision->disabled = true;
    const Ordered given = Give(pool, row.kind, row.requested);
    EXPECT_EQ(given.order.outcome, row.outcome);
    EXPECT_EQ(given.pool.active(), row.active_after);
    EXPECT_NE(given.order.message, "");
    EXPECT_EQ(given.order.number, 1);
    EXPECT_EQ(given.order.requested, row.requested);
    EXPECT_EQ(given.order.create_time, kNow);
    const bool done = row.outcome == OrderOutcome::kDone;
    EXPECT_EQ(given.order.node_profile, done ? row.active_after : "");
    EXPECT_THAT(given.pool.orders, ElementsAre(given.order));
    EXPECT_EQ(Refusal(given.pool, given.order).ok(), done);
    const bool pins = done && row.kind == kRollback;
    EXPECT_EQ(given.pool.pinned, pins ? std::vector<std::string>{"b"} : std::vector<std::string>());
  }
}

TEST(OrdersTest, PreviousIsTheLastOneThatMayBeHad) {
  PoolConfiguration pool = PoolWithPending();
  pool.revisions = {{"a", kOld, {}}, {"c", kOld, {}}, {"d", kOld, {}}, {"b", kOld, {}}};
  const auto previous = [&](const std::set<std::string>& withdrawn) {
    return GiveOrder(pool, FourProfiles(), kRollback, "previous", kNow, withdrawn);
  };
  EXPECT_EQ(previous({}).pool.active(), "d");
  EXPECT_EQ(previous({"d", "b"}).pool.active(), "c");
  FindRevision(pool, "c")->disabled = true;
  EXPECT_EQ(previous({"d"}).pool.active(), "a");
  EXPECT_EQ(previous({"d", "a"}).order.outcome, OrderOutcome::kRollbackFailed);
  EXPECT_EQ(GiveOrder(pool, FourProfiles(), kRollback, "d", kNow, {"d"}).pool.active(), "d")
      << "whoever names one gets it";
}

TEST(OrdersTest, RefusalsNameTheirReason) {
  PoolConfiguration pool = PoolWithPending();
  pool.pending = {};
  Ordered given = Give(pool, kPromote, "pending");
  absl::Status refusal = Refusal(given.pool, given.order);
  EXPECT_EQ(refusal.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(error::ReasonOf(refusal), "NO_PENDING_CONFIGURATION");
  given = Give(pool, kRollback, "d");
  EXPECT_EQ(error::ReasonOf(Refusal(given.pool, given.order)), "ROLLBACK_FAILED");
  given = Give(Give(PoolWithPending(true), kPromote, "pending").pool, kRollback, "previous");
  EXPECT_EQ(error::ReasonOf(Refusal(given.pool, given.order)), "CONFIGURATION_CONFLICT");
}

TEST(OrdersTest, APendingOneThatIsDisabledIsNotPromoted) {
  PoolConfiguration pool = PoolWithPending();
  pool.pending.node_profile = "a";
  pool.revisions.front().disabled = true;
  for (const char* requested : {"pending", "a"}) {
    EXPECT_EQ(Give(pool, kPromote, requested).order.outcome, OrderOutcome::kNoPending);
  }
}

TEST(OrdersTest, APendingOneThatIsDisabledIsNotPromotedWhileAnotherWaits) {
  for (const char* first : {"c", "pending"}) {
    PoolConfiguration pool = Give(PoolWithPending(true), kPromote, first).pool;
    pool.revisions.front().disabled = true;
    pool.pending = {"a", kOld, {}};
    EXPECT_EQ(Give(pool, kPromote, "pending").order.outcome, OrderOutcome::kNoPending) << first;
  }
}

TEST(OrdersTest, NothingCameBeforeTheFirst) {
  PoolConfiguration pool = PoolWithPending();
  pool.revisions.erase(pool.revisions.begin());
  EXPECT_EQ(Give(pool, kRollback, "previous").order.outcome, OrderOutcome::kRollbackFailed);
  pool.revisions.clear();
  EXPECT_EQ(Give(pool, kRollback, "previous").order.outcome, OrderOutcome::kRollbackFailed);
}

TEST(OrdersTest, WaitsWhileNodesAreInDelivery) {
  for (const OrderKind kind : {kPromote, kRollback}) {
    const char* word = kind == kPromote ? "pending" : "previous";
    const char* named = kind == kPromote ? "c" : "a";
    const Ordered given = Give(PoolWithPending(true), kind, word);
    EXPECT_EQ(given.order.outcome, OrderOutcome::kWaiting);
    EXPECT_EQ(given.pool.active(), "b");
    EXPECT_EQ(given.pool.waiting.node_profile, named);
    EXPECT_THAT(given.pool.waiting.summary, ElementsAre(absl::StrCat("image b → ", named)));
    EXPECT_TRUE(Refusal(given.pool, given.order).ok());
    // The same again.
    for (const char* requested : {word, named}) {
      const Ordered again = Give(given.pool, kind, requested);
      EXPECT_EQ(again.pool, given.pool);
      EXPECT_EQ(again.order, given.order);
    }
    // The Nodes are there.
    PoolConfiguration pool = given.pool;
    pool.mid_delivery = false;
    StageWaiting(pool);
    EXPECT_EQ(pool.active(), named);
    EXPECT_EQ(pool.revisions.back().create_time, given.pool.waiting.create_time);
    EXPECT_EQ(pool.orders.back().outcome, OrderOutcome::kDone);
    EXPECT_EQ(pool.orders.back().number, given.order.number);
    EXPECT_FALSE(pool.has_waiting());
  }
}

TEST(OrdersTest, BothKindsAtOnceDropBoth) {
  for (const OrderKind first : {kPromote, kRollback}) {
    const bool promote_first = first == kPromote;
    PoolConfiguration pool =
        Give(PoolWithPending(true), first, promote_first ? "pending" : "previous").pool;
    const Ordered given =
        Give(pool, promote_first ? kRollback : kPromote, promote_first ? "previous" : "pending");
    EXPECT_EQ(given.order.outcome, OrderOutcome::kConflict);
    ASSERT_EQ(given.pool.orders.size(), 2u);
    EXPECT_EQ(given.pool.orders[0].outcome, OrderOutcome::kConflict);
    EXPECT_EQ(given.pool.orders[1], given.order);
    EXPECT_EQ(given.pool.active(), "b");
    EXPECT_FALSE(given.pool.has_waiting());
    EXPECT_THAT(given.pool.pinned, IsEmpty());
  }
}

// Reference, CWNodePoolNodeConfigUpdateConflict: "Fired when a user simulteaneouly attempts to
// upgrade to the pendingNodeConfig and rollback to a previous one." Both are dropped, and the one
// that waits.
TEST(OrdersTest, BothAtOnceAreDroppedAndTheOneThatWaits) {
  const PoolConfiguration calm = PoolWithPending(true);
  const PoolConfiguration cases[] = {calm, Give(calm, kPromote, "pending").pool,
                                     Give(calm, kRollback, "previous").pool};
  for (const PoolConfiguration& before : cases) {
    SCOPED_TRACE(before.waiting.node_profile);
    const Ordered given = GiveBoth(before, "pending", "previous", kNow);
    EXPECT_FALSE(given.pool.has_waiting());
    EXPECT_EQ(given.pool.active(), "b");
    EXPECT_THAT(given.pool.pinned, IsEmpty());
    ASSERT_EQ(given.pool.orders.size(), 2u);
    EXPECT_NE(given.pool.orders[0].kind, given.pool.orders[1].kind);
    for (const Order& order : given.pool.orders) EXPECT_EQ(order.outcome, OrderOutcome::kConflict);
    EXPECT_EQ(given.order, given.pool.orders.back());
    EXPECT_EQ(error::ReasonOf(Refusal(given.pool, given.order)), "CONFIGURATION_CONFLICT");
  }
  // What the strategy made wait was ordered by nobody.
  PoolConfiguration staged = calm;
  staged.pending = {};
  staged.waiting = {"c", kOld, {}};
  EXPECT_EQ(GiveBoth(staged, "pending", "a", kNow).pool.waiting, staged.waiting);
}

TEST(OrdersTest, ALaterOneOfTheSameKindTakesThePlace) {
  PoolConfiguration pool = PoolWithPending(true);
  pool.revisions.insert(pool.revisions.begin(), Revision{"d", kOld, {}});
  const Ordered first = Give(pool, kRollback, "previous");
  const Ordered second = Give(first.pool, kRollback, "d");
  EXPECT_EQ(second.order.outcome, OrderOutcome::kWaiting);
  EXPECT_EQ(second.pool.waiting.node_profile, "d");
  ASSERT_EQ(second.pool.orders.size(), 2u);
  EXPECT_EQ(second.pool.orders[0].outcome, OrderOutcome::kReplaced);
  EXPECT_THAT(second.pool.pinned, ElementsAre("b"));
}

TEST(OrdersTest, ARollbackPinsWhatTheStrategyMadeWait) {
  PoolConfiguration pool = PoolWithPending(true);
  pool.pending = {};
  pool.waiting = {"c", kOld, {}};
  const Ordered given = Give(pool, kRollback, "previous");
  EXPECT_EQ(given.pool.waiting.node_profile, "a");
  EXPECT_THAT(given.pool.pinned, ElementsAre("b", "c"));
}

// Dropped by a promotion or failed, the rollback leaves nothing behind.
TEST(OrdersTest, WithoutTheRollbackWhatTheStrategyMadeWaitWaitsOn) {
  PoolConfiguration before = PoolWithPending(true);
  before.pending = {};
  before.waiting = {"c", kOld, {}};
  const PoolConfiguration waits = Give(before, kRollback, "previous").pool;
  ASSERT_THAT(waits.pinned, ElementsAre("b", "c"));
  const BootFailures failures = {.node_profile = "a", .machines = {"g1", "g2", "g3"}};
  for (PoolConfiguration pool :
       {Give(waits, kPromote, "pending").pool, GiveBoth(waits, "c", "a", kNow).pool,
        CountFailures(waits, failures, {.boot_failures_to_disable = 3})}) {
    SCOPED_TRACE(pool.orders.back().message);
    EXPECT_EQ(WaitingOrder(pool), nullptr);
    EXPECT_THAT(pool.pinned, IsEmpty());
    EXPECT_FALSE(pool.has_pending());
    EXPECT_EQ(pool.waiting, before.waiting);
    pool.mid_delivery = false;
    pool = Next(pool, FourProfiles(), {.profile = Named("c")}, Trigger::kUpstream, kNow);
    EXPECT_EQ(pool.active(), "c");
  }
}

// The spec's change is not lost for a release that came while the rollback waited.
TEST(OrdersTest, WithoutTheRollbackWhatIsNewerThanWhatWaitedWaits) {
  PoolConfiguration before = PoolWithPending(true);
  before.spec.strategy = Strategy::kOnSpecUpdate;
  before.pending = {};
  before.waiting = {"c", kOld, {}};
  const auto next = [](const PoolConfiguration& pool) {
    return Next(pool, FourProfiles(), {.profile = Named("d")}, Trigger::kUpstream, kNow);
  };
  const PoolConfiguration waits = next(Give(before, kRollback, "previous").pool);
  ASSERT_EQ(waits.waiting.node_profile, "a");
  ASSERT_EQ(waits.pending.node_profile, "d");
  const BootFailures failures = {.node_profile = "a", .machines = {"g1", "g2", "g3"}};
  for (PoolConfiguration pool :
       {Give(waits, kPromote, "pending").pool, GiveBoth(waits, "d", "a", kNow).pool,
        CountFailures(waits, failures, {.boot_failures_to_disable = 3})}) {
    SCOPED_TRACE(pool.orders.back().message);
    pool = next(pool);
    EXPECT_EQ(pool.waiting.node_profile, "d");
    EXPECT_FALSE(pool.has_pending());
    EXPECT_THAT(pool.pinned, IsEmpty());
    EXPECT_FALSE(pool.spec_unmet);
  }
  // Carried out, it leaves no pins: what is pending is newer.
  PoolConfiguration done = waits;
  done.mid_delivery = false;
  done = next(done);
  EXPECT_EQ(done.active(), "a");
  EXPECT_EQ(done.pending.node_profile, "d");
  EXPECT_THAT(done.pinned, IsEmpty());
}

TEST(OrdersTest, ARollbackThatIsDroppedLeavesThePinsOfAnEarlierOne) {
  PoolConfiguration pool = PoolWithPending(true);
  pool.revisions.insert(pool.revisions.begin(), Revision{"d", kOld, {}});
  pool.pinned = {"c", "d"};
  pool = Give(pool, kRollback, "a").pool;
  ASSERT_THAT(pool.pinned, ElementsAre("b", "c", "d"));
  pool = Give(pool, kPromote, "pending").pool;
  EXPECT_THAT(pool.pinned, ElementsAre("c", "d"));
  EXPECT_FALSE(pool.has_waiting());
  EXPECT_EQ(pool.pending.node_profile, "c");
}

TEST(OrdersTest, PromotingAPinnedOneUnpinsIt) {
  PoolConfiguration pool = PoolWithPending();
  pool.pinned = {"c", "d"};
  EXPECT_THAT(Give(pool, kPromote, "pending").pool.pinned, ElementsAre("d"));
}

TEST(OrdersTest, ThoseThatWereToldOfAreForgottenAndTheOneThatWaitsIsNot) {
  PoolConfiguration pool = Give(PoolWithPending(true), kRollback, "a").pool;
  for (int i = 0; i < 20; ++i) pool = Give(pool, kRollback, "unknown").pool;
  Forget(pool, {}, 0);
  ASSERT_EQ(pool.orders.size(), 21u);
  Forget(pool, {}, 5);
  ASSERT_EQ(pool.orders.size(), 17u);
  EXPECT_EQ(pool.orders.front().outcome, OrderOutcome::kWaiting);
  EXPECT_EQ(pool.orders.front().number, 1);
  EXPECT_EQ(pool.orders[1].number, 6);
  Forget(pool, {}, 21);
  ASSERT_EQ(pool.orders.size(), kMaxOrders);
  EXPECT_EQ(pool.orders.front().number, 1);
  EXPECT_EQ(pool.orders.back().number, 21);
  pool.mid_delivery = false;
  StageWaiting(pool);
  EXPECT_EQ(pool.orders.front().outcome, OrderOutcome::kDone);
}

// What an order named stays; what it found by the word follows the resolution.
TEST(OrdersTest, OnlyWhatWasNotNamedGivesWay) {
  const auto next = [](PoolConfiguration pool, absl::string_view to) {
    return Next(std::move(pool), FourProfiles(), {.profile = Named(to)}, Trigger::kUpstream, kNow);
  };
  PoolConfiguration pool = next(Give(PoolWithPending(true), kPromote, "pending").pool, "d");
  EXPECT_EQ(pool.waiting.node_profile, "d");
  EXPECT_EQ(pool.orders.back().outcome, OrderOutcome::kWaiting);
  EXPECT_EQ(pool.orders.back().node_profile, "d");
  pool = next(pool, "b");
  EXPECT_FALSE(pool.has_waiting());
  EXPECT_EQ(pool.orders.back().outcome, OrderOutcome::kReplaced);

  pool = next(Give(PoolWithPending(true), kPromote, "c").pool, "d");
  EXPECT_EQ(pool.waiting.node_profile, "c");
  EXPECT_EQ(pool.pending.node_profile, "d");
  pool = next(Give(PoolWithPending(true), kRollback, "previous").pool, "d");
  EXPECT_EQ(pool.waiting.node_profile, "a");
  // Always stages what is newer than the order.
  pool.spec.strategy = Strategy::kAlways;
  pool = next(pool, "d");
  EXPECT_EQ(pool.waiting.node_profile, "d");
  EXPECT_EQ(pool.orders.back().outcome, OrderOutcome::kReplaced);
}

TEST(OrdersTest, APoolWithManySaysHowLargeItsJournalEntryIs) {
  PoolConfiguration pool = PoolWithPending();
  EXPECT_LT(pool.JournalBytes(), 100U);
  pool.orders.resize(kMostOrders, {.requested = "previous", .message = std::string(50, 'm')});
  EXPECT_GT(pool.JournalBytes(), kMostOrders * 58);
  pool.revisions.resize(kMostRevisions, {std::string(15, 'n'), kOld, {"driver 570.86.15"}});
  EXPECT_GT(pool.JournalBytes(), kMostOrders * 58 + (kMostRevisions - 2) * 30);
}

}  // namespace
}  // namespace muster::configuration
