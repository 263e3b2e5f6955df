#include "services/configuration/core/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/names.h"
#include "services/configuration/core/orders.h"
#include "services/configuration/core/profile.h"
#include "services/configuration/core/testing/profiles.h"

namespace muster::configuration {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

Resolution To(absl::string_view id) { return {.profile = Named(id)}; }

std::vector<std::string> Facts(absl::string_view from, absl::string_view to) {
  const NodeProfile before = Named(from);
  return Summary(&before, Named(to));
}

PoolConfiguration PoolWith(Strategy strategy, absl::string_view active,
                           absl::string_view pending = "", absl::string_view problem = "") {
  PoolConfiguration pool = {
      .pool_uid = "p", .spec = {.strategy = strategy}, .problem = std::string(problem)};
  if (!active.empty()) pool.revisions.push_back({std::string(active), kOld, {}});
  if (!pending.empty()) pool.pending = {std::string(pending), kOld, Facts(active, pending)};
  pool.spec_unmet = !problem.empty();
  return pool;
}

PoolConfiguration AfterNext(const PoolConfiguration& pool, const Resolution& to, Trigger trigger) {
  return Next(pool, AllNamed({pool.active(), pool.waiting.node_profile}), to, trigger, kNow);
}

// Strategy × trigger × what stood before → what is active and pending when the answer is "new".
struct StrategyRow {
  Strategy strategy = Strategy::kManual;
  Trigger trigger = Trigger::kSpec;
  const char* active = "";
  const char* pending = "";
  const char* problem = "";
  const char* active_after = "";
  const char* pending_after = "";
};
constexpr auto kManual = Strategy::kManual;
constexpr auto kOnSpecUpdate = Strategy::kOnSpecUpdate;
constexpr auto kAlways = Strategy::kAlways;
constexpr auto kSpec = Trigger::kSpec;
constexpr auto kUpstream = Trigger::kUpstream;

constexpr StrategyRow kStrategyRows[] = {
    // The first is always staged, with a problem before it or without.
    {kManual, kSpec, "", "", "", "new", ""},
    {kManual, kUpstream, "", "", "No release.", "new", ""},
    {kOnSpecUpdate, kSpec, "", "", "", "new", ""},
    {kOnSpecUpdate, kUpstream, "", "", "No release.", "new", ""},
    {kAlways, kSpec, "", "", "", "new", ""},
    {kAlways, kUpstream, "", "", "No release.", "new", ""},
    // Later ones as the strategy says.
    {kManual, kSpec, "old", "", "", "old", "new"},
    {kManual, kUpstream, "old", "", "", "old", "new"},
    {kOnSpecUpdate, kSpec, "old", "", "", "new", ""},
    {kOnSpecUpdate, kUpstream, "old", "", "", "old", "new"},
    {kAlways, kSpec, "old", "", "", "new", ""},
    {kAlways, kUpstream, "old", "", "", "new", ""},
    // What waited gives way.
    {kManual, kSpec, "old", "mid", "", "old", "new"},
    {kManual, kUpstream, "old", "mid", "", "old", "new"},
    {kOnSpecUpdate, kSpec, "old", "mid", "", "new", ""},
    {kOnSpecUpdate, kSpec, "old", "new", "", "new", ""},
    {kOnSpecUpdate, kUpstream, "old", "mid", "", "old", "new"},
    {kAlways, kSpec, "old", "mid", "", "new", ""},
    {kAlways, kUpstream, "old", "new", "", "new", ""},
    // What ends a problem was asked for by the spec.
    {kManual, kUpstream, "old", "", "No release.", "old", "new"},
    {kOnSpecUpdate, kUpstream, "old", "", "No release.", "new", ""},
    {kAlways, kUpstream, "old", "", "No release.", "new", ""},
};

TEST(StrategyTest, Table) {
  for (const StrategyRow& row : kStrategyRows) {
    SCOPED_TRACE(absl::StrCat(Print(row.strategy), row.trigger == kSpec ? " spec " : " upstream ",
                              row.active, " ", row.pending, " ", row.problem));
    const auto before = PoolWith(row.strategy, row.active, row.pending, row.problem);
    const auto after = AfterNext(before, To("new"), row.trigger);
    EXPECT_EQ(after.active(), row.active_after);
    EXPECT_EQ(after.pending.node_profile, row.pending_after);
    EXPECT_EQ(after.problem, "");
    const bool staged = after.active() != before.active();
    EXPECT_EQ(after.revisions.size(), before.revisions.size() + (staged ? 1 : 0));
    if (staged) {
      const bool was_pending = before.pending.node_profile == after.active();
      EXPECT_EQ(after.revisions.back().create_time,
                was_pending ? before.pending.create_time : kNow);
    }
    // The same answer again changes nothing.
    EXPECT_EQ(AfterNext(after, To("new"), kUpstream), after);
  }
}

TEST(StrategyTest, NothingFitsKeepsTheActiveOne) {
  for (const Strategy strategy : {kManual, kOnSpecUpdate, kAlways}) {
    for (const Trigger trigger : {kSpec, kUpstream}) {
      const auto after =
          AfterNext(PoolWith(strategy, "old", "mid"), {.problem = "No release."}, trigger);
      PoolConfiguration expected = PoolWith(strategy, "old", "", "No release.");
      expected.spec_unmet = trigger == kSpec;
      EXPECT_EQ(after, expected);
    }
  }
}

TEST(StrategyTest, BackToTheActiveOneDropsWhatWaits) {
  for (const Strategy strategy : {kManual, kOnSpecUpdate, kAlways}) {
    EXPECT_EQ(AfterNext(PoolWith(strategy, "old", "mid"), To("old"), kSpec),
              PoolWith(strategy, "old"));
    EXPECT_EQ(AfterNext(PoolWith(strategy, "old", "", "No release."), To("old"), kSpec),
              PoolWith(strategy, "old"));
  }
}

TEST(StrategyTest, WhatWaitsKeepsItsTime) {
  const auto after = AfterNext(PoolWith(kManual, "old", "new"), To("new"), kSpec);
  EXPECT_EQ(after, PoolWith(kManual, "old", "new"));
}

TEST(StrategyTest, AProfileStandsOnceAndLast) {
  auto pool = AfterNext(AfterNext(PoolWith(kAlways, "a"), To("b"), kSpec), To("a"), kSpec);
  EXPECT_THAT(pool.revisions, ElementsAre(Field(&Revision::node_profile, "b"),
                                          Field(&Revision::node_profile, "a")));
}

// Reference, createdAt: "When the Node configuration was created".
TEST(StrategyTest, WhenAConfigurationWasMadeNeverMoves) {
  const auto at = [](int64_t hours) { return kNow + absl::Hours(hours); };
  const auto next = [&](PoolConfiguration pool, absl::string_view to, int64_t hours) {
    const auto profiles = AllNamed({pool.active(), std::string(to)});
    return Next(std::move(pool), profiles, To(to), kUpstream, at(hours));
  };
  PoolConfiguration pool = next(PoolWith(kAlways, "a"), "b", 1);
  const absl::Time made = FindRevision(pool, "a")->create_time;
  pool = next(next(pool, "a", 2), "b", 3);
  EXPECT_EQ(FindRevision(pool, "a")->create_time, made);
  EXPECT_EQ(FindRevision(pool, "b")->create_time, at(1));
  // It was pending first, and waited then.
  pool.spec.strategy = kManual;
  pool = next(pool, "c", 4);
  ASSERT_EQ(pool.pending.node_profile, "c");
  pool.mid_delivery = true;
  pool = GiveOrder(pool, AllNamed({"a", "b", "c"}), OrderKind::kPromote, "pending", at(5), {}).pool;
  ASSERT_EQ(pool.waiting.node_profile, "c");
  pool.mid_delivery = false;
  pool = next(pool, "c", 6);
  ASSERT_EQ(pool.active(), "c");
  EXPECT_EQ(pool.revisions.back().create_time, at(4));
  pool = GiveOrder(pool, AllNamed({"a", "b", "c"}), OrderKind::kRollback, "a", at(7), {}).pool;
  ASSERT_EQ(pool.active(), "a");
  EXPECT_EQ(pool.revisions.back().create_time, made);
}

// Nor by orders that take it out of the way.
TEST(StrategyTest, WhenAConfigurationWasMadeDoesNotMoveThoughItWaitedInVain) {
  const auto at = [](int64_t hours) { return kNow + absl::Hours(hours); };
  const auto next = [&](PoolConfiguration pool, int64_t hours) {
    return Next(std::move(pool), AllNamed({"a", "b"}), To("b"), kUpstream, at(hours));
  };
  const auto order = [&](const PoolConfiguration& pool, OrderKind kind, int64_t hours) {
    return GiveOrder(pool, AllNamed({"a", "b"}), kind,
                     kind == OrderKind::kPromote ? "pending" : "a", at(hours), {})
        .pool;
  };
  PoolConfiguration pool = next(PoolWith(kManual, "a"), 1);
  pool.mid_delivery = true;
  pool = order(pool, OrderKind::kPromote, 2);
  ASSERT_EQ(pool.waiting.node_profile, "b");
  // Both are dropped.
  pool = next(order(pool, OrderKind::kRollback, 3), 3);
  ASSERT_EQ(pool.pending.node_profile, "b");
  EXPECT_EQ(pool.pending.create_time, at(1));
  // What came to be pending meanwhile stays as it is, too.
  PoolConfiguration named = next(PoolWith(kManual, "a"), 1);
  named.mid_delivery = true;
  named = GiveOrder(named, AllNamed({"a", "b"}), OrderKind::kPromote, "b", at(2), {}).pool;
  const auto wants_c = [&](PoolConfiguration of, int64_t hours) {
    return Next(std::move(of), AllNamed({"a", "b", "c"}), To("c"), kUpstream, at(hours));
  };
  named = wants_c(named, 3);
  ASSERT_EQ(named.pending.node_profile, "c");
  ASSERT_EQ(named.waiting.node_profile, "b");
  named = wants_c(order(named, OrderKind::kRollback, 4), 4);
  ASSERT_EQ(named.pending.node_profile, "c");
  EXPECT_EQ(named.pending.create_time, at(3));
  // A rollback takes the place of what waits by itself.
  PoolConfiguration always = PoolWith(kAlways, "a");
  always.revisions.insert(always.revisions.begin(), Revision{"z", at(-1), {}});
  always.mid_delivery = true;
  always = next(always, 1);
  ASSERT_EQ(always.waiting.node_profile, "b");
  always = next(
      GiveOrder(always, AllNamed({"a", "b", "z"}), OrderKind::kRollback, "z", at(2), {}).pool, 2);
  ASSERT_EQ(always.pending.node_profile, "b");
  EXPECT_EQ(always.pending.create_time, at(1));
}

TEST(StrategyTest, RevisionsAreBoundedAndInOrder) {
  PoolConfiguration pool = PoolWith(kAlways, "first");
  for (size_t i = 0; i < kMostRevisions + 5; ++i) {
    pool = Next(pool, AllNamed({pool.active()}), To(absl::StrCat("np", i)), kUpstream, kNow);
  }
  ASSERT_EQ(pool.revisions.size(), kMostRevisions);
  EXPECT_EQ(pool.active(), absl::StrCat("np", kMostRevisions + 4));
  EXPECT_EQ(pool.revisions.front().node_profile, "np5");
}

// What upstream did to a pool whose spec is met is upstream's, also when it was a problem
// meanwhile.
TEST(StrategyTest, AProblemThatUpstreamMadeStagesNothing) {
  auto pool = AfterNext(PoolWith(kOnSpecUpdate, "old"), {.problem = "No release."}, kUpstream);
  EXPECT_FALSE(pool.spec_unmet);
  pool = AfterNext(pool, To("new"), kUpstream);
  EXPECT_EQ(pool.active(), "old");
  EXPECT_EQ(pool.pending.node_profile, "new");
}

struct DeliveryRow {
  Strategy strategy = Strategy::kManual;
  Trigger trigger = Trigger::kSpec;
  const char* waiting = "";
  const char* wanted = "";
  const char* waiting_after = "";
  const char* pending_after = "";
};
constexpr DeliveryRow kDeliveryRows[] = {
    // What would be staged waits; what would be pending is.
    {kManual, kSpec, "", "new", "", "new"},
    {kOnSpecUpdate, kSpec, "", "new", "new", ""},
    {kOnSpecUpdate, kUpstream, "", "new", "", "new"},
    {kAlways, kUpstream, "", "new", "new", ""},
    // What waits gives way to what the strategy stages, and to the active one.
    {kManual, kSpec, "mid", "new", "mid", "new"},
    {kManual, kSpec, "mid", "old", "", ""},
    {kManual, kUpstream, "mid", "new", "mid", "new"},
    {kOnSpecUpdate, kSpec, "mid", "new", "new", ""},
    {kOnSpecUpdate, kUpstream, "mid", "new", "mid", "new"},
    {kOnSpecUpdate, kUpstream, "mid", "old", "", ""},
    {kOnSpecUpdate, kUpstream, "mid", "mid", "mid", ""},
    {kAlways, kSpec, "mid", "old", "", ""},
    {kAlways, kUpstream, "mid", "new", "new", ""},
};

TEST(DeliveryTest, Table) {
  for (const DeliveryRow& row : kDeliveryRows) {
    SCOPED_TRACE(absl::StrCat(Print(row.strategy), row.trigger == kSpec ? " spec " : " upstream ",
                              row.waiting, " ", row.wanted));
    PoolConfiguration pool = PoolWith(row.strategy, "old");
    pool.mid_delivery = true;
    if (row.waiting[0] != 0) pool.waiting = {row.waiting, kOld, Facts("old", row.waiting)};
    auto after = AfterNext(pool, To(row.wanted), row.trigger);
    EXPECT_EQ(after.active(), "old");
    EXPECT_EQ(after.waiting.node_profile, row.waiting_after);
    EXPECT_EQ(after.pending.node_profile, row.pending_after);
    EXPECT_EQ(AfterNext(after, To(row.wanted), kUpstream), after);
    // The Nodes are there.
    const std::string target = after.has_waiting() ? after.waiting.node_profile : "old";
    after.mid_delivery = false;
    after = AfterNext(after, To(target), kUpstream);
    EXPECT_EQ(after.active(), target);
    EXPECT_FALSE(after.has_waiting());
    EXPECT_FALSE(after.has_pending());
  }
}

// Whatever the strategy and the trigger; but an order's profile waits on, as it would stay active.
TEST(DeliveryTest, WhatIsWithdrawnGivesWay) {
  const auto after = [](const PoolConfiguration& pool, absl::string_view to, Trigger trigger) {
    return Next(pool, AllNamed({"old", "mid"}), To(to), trigger, kNow, /*waiting_withdrawn=*/true);
  };
  for (const Strategy strategy : {kManual, kOnSpecUpdate, kAlways}) {
    for (const Trigger trigger : {kSpec, kUpstream}) {
      SCOPED_TRACE(absl::StrCat(Print(strategy), trigger == kSpec ? " spec" : " upstream"));
      PoolConfiguration pool = PoolWith(strategy, "old", "new");
      pool.mid_delivery = true;
      pool.waiting = {"mid", kOld, Facts("old", "mid")};
      const auto next = after(pool, "new", trigger);
      EXPECT_EQ(next.waiting.node_profile, "new");
      EXPECT_FALSE(next.has_pending());
      EXPECT_EQ(after(pool, "old", trigger), [&] {
        PoolConfiguration back = PoolWith(strategy, "old");
        back.mid_delivery = true;
        return back;
      }());
      // What is disabled takes nothing's place.
      PoolConfiguration disabled = pool;
      disabled.revisions.insert(disabled.revisions.begin(), Revision{"new", kOld, {}});
      disabled.revisions.front().disabled = true;
      const auto kept = after(disabled, "new", trigger);
      EXPECT_FALSE(kept.has_waiting());
      EXPECT_EQ(kept.pending.node_profile, "new");
    }
  }
  PoolConfiguration ordered = PoolWith(kOnSpecUpdate, "old");
  ordered.mid_delivery = true;
  ordered.waiting = {"mid", kOld, Facts("old", "mid")};
  ordered.orders.push_back({.number = 1,
                            .kind = OrderKind::kPromote,
                            .requested = "mid",
                            .node_profile = "mid",
                            .outcome = OrderOutcome::kWaiting});
  ordered = after(ordered, "new", kUpstream);
  EXPECT_EQ(ordered.waiting.node_profile, "mid");
  EXPECT_EQ(ordered.pending.node_profile, "new");
}

TEST(DeliveryTest, TheFirstNeverWaits) {
  PoolConfiguration pool = PoolWith(kManual, "");
  pool.mid_delivery = true;
  EXPECT_EQ(AfterNext(pool, To("new"), kSpec).active(), "new");
}

TEST(DeliveryTest, WhatWaitsIsStagedThoughNothingFitsAnyMore) {
  PoolConfiguration pool = PoolWith(kAlways, "old");
  pool.mid_delivery = true;
  pool = AfterNext(pool, To("new"), kUpstream);
  pool = AfterNext(pool, {.problem = "No release."}, kUpstream);
  EXPECT_EQ(pool.waiting.node_profile, "new");
  pool.mid_delivery = false;
  pool = AfterNext(pool, {.problem = "No release."}, kUpstream);
  EXPECT_EQ(pool.active(), "new");
  EXPECT_EQ(pool.problem, "No release.");
}

// Whatever nothing could be resolved to in between: what came then is pending beside what waits.
void ExpectPendingAfterAProblem(PoolConfiguration pool, Trigger trigger, bool spec_unmet) {
  pool.mid_delivery = true;
  pool.waiting = {"mid", kOld, Facts("old", "mid")};
  pool = AfterNext(pool, {.problem = "No release."}, trigger);
  EXPECT_EQ(pool.spec_unmet, spec_unmet);
  pool = AfterNext(pool, To("new"), kUpstream);
  EXPECT_EQ(pool.waiting.node_profile, "mid");
  EXPECT_EQ(pool.pending.node_profile, "new");
}

// What the spec asks for is kept apart from what waits, whenever it comes to be met.
TEST(DeliveryTest, ASpecThatIsMetLateTakesNothingsPlaceUnderManual) {
  for (const bool pending : {true, false}) {
    SCOPED_TRACE(pending);
    PoolConfiguration pool = PoolWith(kManual, "old");
    if (pending) pool.pending = {"next", kOld, Facts("old", "next")};
    ExpectPendingAfterAProblem(pool, pending ? kUpstream : kSpec, true);
  }
}

// An upstream release is none of the spec's, whatever it could not be resolved to in between.
TEST(DeliveryTest, AReleaseAfterAProblemIsPendingBesideWhatWaits) {
  PoolConfiguration pool = PoolWith(kOnSpecUpdate, "old");
  pool.orders.push_back({.number = 1,
                         .kind = OrderKind::kPromote,
                         .requested = "mid",
                         .node_profile = "mid",
                         .outcome = OrderOutcome::kWaiting});
  pool.pending = {"next", kOld, Facts("old", "next")};
  ExpectPendingAfterAProblem(pool, kUpstream, false);
}

// A spec that changes again before the Nodes are there leaves no trace of what never was active.
TEST(DeliveryTest, OnlyTheLastDecisionIsStaged) {
  PoolConfiguration pool = PoolWith(kOnSpecUpdate, "old");
  pool.mid_delivery = true;
  pool = AfterNext(pool, To("mid"), kSpec);
  pool.mid_delivery = false;
  pool = AfterNext(pool, To("new"), kSpec);
  EXPECT_THAT(pool.revisions, ElementsAre(Field(&Revision::node_profile, "old"),
                                          Field(&Revision::node_profile, "new")));
}

TEST(PinTest, APinnedOneIsPendingUntilSomethingElseComes) {
  for (const Strategy strategy : {kManual, kOnSpecUpdate, kAlways}) {
    PoolConfiguration pool = PoolWith(strategy, "old");
    pool.pinned = {"bad"};
    pool = AfterNext(pool, To("bad"), kSpec);
    EXPECT_EQ(pool.active(), "old");
    EXPECT_EQ(pool.pending.node_profile, "bad");
    EXPECT_THAT(pool.pinned, ElementsAre("bad"));
    EXPECT_EQ(AfterNext(pool, To("bad"), kUpstream), pool);
    pool = AfterNext(pool, To("new"), kUpstream);
    EXPECT_TRUE(pool.pinned.empty());
    EXPECT_EQ(pool.active(), strategy == kAlways ? "new" : "old");
  }
}

// Upstream takes the rolled back one's release back, and publishes it again: there was nothing
// newer.
TEST(PinTest, AnOlderOneThatComesBackEndsNoPin) {
  PoolConfiguration pool = PoolWith(kAlways, "old");
  pool.pinned = {"bad"};
  pool = AfterNext(pool, To("old"), kUpstream);
  EXPECT_THAT(pool.pinned, ElementsAre("bad"));
  pool = AfterNext(pool, To("bad"), kUpstream);
  EXPECT_EQ(pool.active(), "old");
  EXPECT_EQ(pool.pending.node_profile, "bad");
  // What the spec asks for is wanted, however old; also if it was not there when that was asked.
  PoolConfiguration late = pool;
  late.spec_unmet = true;
  EXPECT_TRUE(AfterNext(late, To("old"), kUpstream).pinned.empty());
  pool = AfterNext(pool, To("old"), kSpec);
  EXPECT_TRUE(pool.pinned.empty());
}

TEST(PinTest, ADisabledOneIsPending) {
  PoolConfiguration pool = PoolWith(kAlways, "bad");
  pool.revisions.front().disabled = true;
  EXPECT_EQ(AfterNext(pool, To("bad"), kSpec), pool);  // it stays, being active
  pool = AfterNext(pool, To("new"), kUpstream);
  EXPECT_EQ(pool.active(), "new");
  pool = AfterNext(pool, To("bad"), kUpstream);
  EXPECT_EQ(pool.active(), "new");
  EXPECT_EQ(pool.pending.node_profile, "bad");
}

TEST(PinTest, AProfileThatComesBackKeepsItsCount) {
  PoolConfiguration pool = PoolWith(kAlways, "a");
  pool.revisions.front().enable_count = 3;
  pool = AfterNext(AfterNext(pool, To("b"), kUpstream), To("a"), kUpstream);
  EXPECT_EQ(pool.active(), "a");
  EXPECT_EQ(pool.revisions.back().enable_count, 3);
}

}  // namespace
}  // namespace muster::configuration
