#include "services/configuration/core/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/names.h"
#include "services/configuration/core/orders.h"
#include "services/configuration/core/profile.h"

namespace muster::configuration {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

const absl::Time kOld = absl::FromUnixSeconds(1'000);
const absl::Time kNow = absl::FromUnixSeconds(2'000);

NodeProfile Profile(absl::string_view id) {
  return {.id = std::string(id), .image = std::string(id)};
}
// As the state would hold them.
Table<NodeProfile> Profiles(const std::vector<std::string>& ids) {
  Table<NodeProfile> table;
  for (const std::string& id : ids) {
    const NodeProfile profile = Profile(id);
    (void)table.Set(profile.Key(), std::make_shared<const NodeProfile>(profile), 1);
  }
  return table;
}
Resolution To(absl::string_view id) { return {.profile = Profile(id)}; }

std::vector<std::string> Facts(absl::string_view from, absl::string_view to) {
  const NodeProfile before = Profile(from);
  return Summary(&before, Profile(to));
}

PoolConfiguration Pool(Strategy strategy, absl::string_view active, absl::string_view pending = "",
                       absl::string_view problem = "") {
  PoolConfiguration pool = {
      .pool_uid = "p", .spec = {.strategy = strategy}, .problem = std::string(problem)};
  if (!active.empty()) pool.revisions.push_back({std::string(active), kOld, {}});
  if (!pending.empty()) pool.pending = {std::string(pending), kOld, Facts(active, pending)};
  pool.spec_unmet = !problem.empty();
  return pool;
}

PoolConfiguration After(const PoolConfiguration& pool, const Resolution& to, Trigger trigger) {
  return Next(pool, Profiles({pool.active(), pool.waiting.node_profile}), to, trigger, kNow);
}

// Strategy × trigger × what stood before → what is active and pending when the answer is "new".
struct Row {
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

constexpr Row kRows[] = {
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
  for (const Row& row : kRows) {
    SCOPED_TRACE(absl::StrCat(Print(row.strategy), row.trigger == kSpec ? " spec " : " upstream ",
                              row.active, " ", row.pending, " ", row.problem));
    const auto before = Pool(row.strategy, row.active, row.pending, row.problem);
    const auto after = After(before, To("new"), row.trigger);
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
    EXPECT_EQ(After(after, To("new"), kUpstream), after);
  }
}

TEST(StrategyTest, NothingFitsKeepsTheActiveOne) {
  for (const Strategy strategy : {kManual, kOnSpecUpdate, kAlways}) {
    for (const Trigger trigger : {kSpec, kUpstream}) {
      const auto after = After(Pool(strategy, "old", "mid"), {.problem = "No release."}, trigger);
      PoolConfiguration expected = Pool(strategy, "old", "", "No release.");
      expected.spec_unmet = trigger == kSpec;
      EXPECT_EQ(after, expected);
    }
  }
}

TEST(StrategyTest, BackToTheActiveOneDropsWhatWaits) {
  for (const Strategy strategy : {kManual, kOnSpecUpdate, kAlways}) {
    EXPECT_EQ(After(Pool(strategy, "old", "mid"), To("old"), kSpec), Pool(strategy, "old"));
    EXPECT_EQ(After(Pool(strategy, "old", "", "No release."), To("old"), kSpec),
              Pool(strategy, "old"));
  }
}

TEST(StrategyTest, WhatWaitsKeepsItsTime) {
  const auto after = After(Pool(kManual, "old", "new"), To("new"), kSpec);
  EXPECT_EQ(after, Pool(kManual, "old", "new"));
}

TEST(StrategyTest, AProfileStandsOnceAndLast) {
  auto pool = After(After(Pool(kAlways, "a"), To("b"), kSpec), To("a"), kSpec);
  EXPECT_THAT(pool.revisions, ElementsAre(Field(&Revision::node_profile, "b"),
                                          Field(&Revision::node_profile, "a")));
}

// Reference, createdAt: "When the Node configuration was created".
TEST(StrategyTest, WhenAConfigurationWasMadeNeverMoves) {
  const auto at = [](int64_t hours) { return kNow + absl::Hours(hours); };
  const auto next = [&](PoolConfiguration pool, absl::string_view to, int64_t hours) {
    const auto profiles = Profiles({pool.active(), std::string(to)});
    return Next(std::move(pool), profiles, To(to), kUpstream, at(hours));
  };
  PoolConfiguration pool = next(Pool(kAlways, "a"), "b", 1);
  const absl::Time made = FindRevision(pool, "a")->create_time;
  pool = next(next(pool, "a", 2), "b", 3);
  EXPECT_EQ(FindRevision(pool, "a")->create_time, made);
  EXPECT_EQ(FindRevision(pool, "b")->create_time, at(1));
  // It was pending first, and waited then.
  pool.spec.strategy = kManual;
  pool = next(pool, "c", 4);
  ASSERT_EQ(pool.pending.node_profile, "c");
  pool.mid_delivery = true;
  pool = GiveOrder(pool, Profiles({"a", "b", "c"}), OrderKind::kPromote, "pending", at(5), {}).pool;
  ASSERT_EQ(pool.waiting.node_profile, "c");
  pool.mid_delivery = false;
  pool = next(pool, "c", 6);
  ASSERT_EQ(pool.active(), "c");
  EXPECT_EQ(pool.revisions.back().create_time, at(4));
  pool = GiveOrder(pool, Profiles({"a", "b", "c"}), OrderKind::kRollback, "a", at(7), {}).pool;
  ASSERT_EQ(pool.active(), "a");
  EXPECT_EQ(pool.revisions.back().create_time, made);
}

// Nor by orders that take it out of the way.
TEST(StrategyTest, WhenAConfigurationWasMadeDoesNotMoveThoughItWaitedInVain) {
  const auto at = [](int64_t hours) { return kNow + absl::Hours(hours); };
  const auto next = [&](PoolConfiguration pool, int64_t hours) {
    return Next(std::move(pool), Profiles({"a", "b"}), To("b"), kUpstream, at(hours));
  };
  const auto order = [&](const PoolConfiguration& pool, OrderKind kind, int64_t hours) {
    return GiveOrder(pool, Profiles({"a", "b"}), kind,
                     kind == OrderKind::kPromote ? "pending" : "a", at(hours), {})
        .pool;
  };
  PoolConfiguration pool = next(Pool(kManual, "a"), 1);
  pool.mid_delivery = true;
  pool = order(pool, OrderKind::kPromote, 2);
  ASSERT_EQ(pool.waiting.node_profile, "b");
  // Both are dropped.
  pool = next(order(pool, OrderKind::kRollback, 3), 3);
  ASSERT_EQ(pool.pending.node_profile, "b");
  EXPECT_EQ(pool.pending.create_time, at(1));
  // What came to be pending meanwhile stays as it is, too.
  PoolConfiguration named = next(Pool(kManual, "a"), 1);
  named.mid_delivery = true;
  named = GiveOrder(named, Profiles({"a", "b"}), OrderKind::kPromote, "b", at(2), {}).pool;
  const auto wants_c = [&](PoolConfiguration of, int64_t hours) {
    return Next(std::move(of), Profiles({"a", "b", "c"}), To("c"), kUpstream, at(hours));
  };
  named = wants_c(named, 3);
  ASSERT_EQ(named.pending.node_profile, "c");
  ASSERT_EQ(named.waiting.node_profile, "b");
  named = wants_c(order(named, OrderKind::kRollback, 4), 4);
  ASSERT_EQ(named.pending.node_profile, "c");
  EXPECT_EQ(named.pending.create_time, at(3));
  // A rollback takes the place of what waits by itself.
  PoolConfiguration always = Pool(kAlways, "a");
  always.revisions.insert(always.revisions.begin(), Revision{"z", at(-1), {}});
  always.mid_delivery = true;
  always = next(always, 1);
  ASSERT_EQ(always.waiting.node_profile, "b");
  always = next(
      GiveOrder(always, Profiles({"a", "b", "z"}), OrderKind::kRollback, "z", at(2), {}).pool, 2);
  ASSERT_EQ(always.pending.node_profile, "b");
  EXPECT_EQ(always.pending.create_time, at(1));
}

TEST(StrategyTest, RevisionsAreBoundedAndInOrder) {
  PoolConfiguration pool = Pool(kAlways, "first");
  for (size_t i = 0; i < kMostRevisions + 5; ++i) {
    pool = Next(pool, Profiles({pool.active()}), To(absl::StrCat("np", i)), kUpstream, kNow);
  }
  ASSERT_EQ(pool.revisions.size(), kMostRevisions);
  EXPECT_EQ(pool.active(), absl::StrCat("np", kMostRevisions + 4));
  EXPECT_EQ(pool.revisions.front().node_profile, "np5");
}

// What upstream did to a pool whose spec is met is upstream's, also when it was a problem
// meanwhile.
TEST(StrategyTest, AProblemThatUpstreamMadeStagesNothing) {
  auto pool = After(Pool(kOnSpecUpdate, "old"), {.problem = "No release."}, kUpstream);
  EXPECT_FALSE(pool.spec_unmet);
  pool = After(pool, To("new"), kUpstream);
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
    // What waits gives way to something newer, also to the active one.
    {kManual, kSpec, "mid", "new", "mid", "new"},
    {kManual, kSpec, "mid", "old", "", ""},
    {kManual, kUpstream, "mid", "new", "new", ""},
    {kOnSpecUpdate, kUpstream, "mid", "new", "new", ""},
    {kOnSpecUpdate, kUpstream, "mid", "old", "", ""},
    {kOnSpecUpdate, kUpstream, "mid", "mid", "mid", ""},
    {kAlways, kSpec, "mid", "old", "", ""},
};

TEST(DeliveryTest, Table) {
  for (const DeliveryRow& row : kDeliveryRows) {
    SCOPED_TRACE(absl::StrCat(Print(row.strategy), row.trigger == kSpec ? " spec " : " upstream ",
                              row.waiting, " ", row.wanted));
    PoolConfiguration pool = Pool(row.strategy, "old");
    pool.mid_delivery = true;
    if (row.waiting[0] != 0) pool.waiting = {row.waiting, kOld, Facts("old", row.waiting)};
    auto after = After(pool, To(row.wanted), row.trigger);
    EXPECT_EQ(after.active(), "old");
    EXPECT_EQ(after.waiting.node_profile, row.waiting_after);
    EXPECT_EQ(after.pending.node_profile, row.pending_after);
    EXPECT_EQ(After(after, To(row.wanted), kUpstream), after);
    // The Nodes are there.
    const std::string target = after.has_waiting() ? after.waiting.node_profile : "old";
    after.mid_delivery = false;
    after = After(after, To(target), kUpstream);
    EXPECT_EQ(after.active(), target);
    EXPECT_FALSE(after.has_waiting());
    EXPECT_FALSE(after.has_pending());
  }
}

TEST(DeliveryTest, TheFirstNeverWaits) {
  PoolConfiguration pool = Pool(kManual, "");
  pool.mid_delivery = true;
  EXPECT_EQ(After(pool, To("new"), kSpec).active(), "new");
}

TEST(DeliveryTest, WhatWaitsIsStagedThoughNothingFitsAnyMore) {
  PoolConfiguration pool = Pool(kAlways, "old");
  pool.mid_delivery = true;
  pool = After(pool, To("new"), kUpstream);
  pool = After(pool, {.problem = "No release."}, kUpstream);
  EXPECT_EQ(pool.waiting.node_profile, "new");
  pool.mid_delivery = false;
  pool = After(pool, {.problem = "No release."}, kUpstream);
  EXPECT_EQ(pool.active(), "new");
  EXPECT_EQ(pool.problem, "No release.");
}

// Whatever nothing could be resolved to in between: what came then is pending beside what waits.
void ExpectPendingAfterAProblem(PoolConfiguration pool, Trigger trigger, bool spec_unmet) {
  pool.mid_delivery = true;
  pool.waiting = {"mid", kOld, Facts("old", "mid")};
  pool = After(pool, {.problem = "No release."}, trigger);
  EXPECT_EQ(pool.spec_unmet, spec_unmet);
  pool = After(pool, To("new"), kUpstream);
  EXPECT_EQ(pool.waiting.node_profile, "mid");
  EXPECT_EQ(pool.pending.node_profile, "new");
}

// What the spec asks for is kept apart from what waits, whenever it comes to be met.
TEST(DeliveryTest, ASpecThatIsMetLateTakesNothingsPlaceUnderManual) {
  for (const bool pending : {true, false}) {
    SCOPED_TRACE(pending);
    PoolConfiguration pool = Pool(kManual, "old");
    if (pending) pool.pending = {"next", kOld, Facts("old", "next")};
    ExpectPendingAfterAProblem(pool, pending ? kUpstream : kSpec, true);
  }
}

// An upstream release is none of the spec's, whatever it could not be resolved to in between.
TEST(DeliveryTest, AReleaseAfterAProblemIsPendingBesideWhatWaits) {
  PoolConfiguration pool = Pool(kOnSpecUpdate, "old");
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
  PoolConfiguration pool = Pool(kOnSpecUpdate, "old");
  pool.mid_delivery = true;
  pool = After(pool, To("mid"), kSpec);
  pool.mid_delivery = false;
  pool = After(pool, To("new"), kSpec);
  EXPECT_THAT(pool.revisions, ElementsAre(Field(&Revision::node_profile, "old"),
                                          Field(&Revision::node_profile, "new")));
}

TEST(PinTest, APinnedOneIsPendingUntilSomethingElseComes) {
  for (const Strategy strategy : {kManual, kOnSpecUpdate, kAlways}) {
    PoolConfiguration pool = Pool(strategy, "old");
    pool.pinned = {"bad"};
    pool = After(pool, To("bad"), kSpec);
    EXPECT_EQ(pool.active(), "old");
    EXPECT_EQ(pool.pending.node_profile, "bad");
    EXPECT_THAT(pool.pinned, ElementsAre("bad"));
    EXPECT_EQ(After(pool, To("bad"), kUpstream), pool);
    pool = After(pool, To("new"), kUpstream);
    EXPECT_TRUE(pool.pinned.empty());
    EXPECT_EQ(pool.active(), strategy == kAlways ? "new" : "old");
  }
}

// Upstream takes the rolled back one's release back, and publishes it again: there was nothing newer.
TEST(PinTest, AnOlderOneThatComesBackEndsNoPin) {
  PoolConfiguration pool = Pool(kAlways, "old");
  pool.pinned = {"bad"};
  pool = After(pool, To("old"), kUpstream);
  EXPECT_THAT(pool.pinned, ElementsAre("bad"));
  pool = After(pool, To("bad"), kUpstream);
  EXPECT_EQ(pool.active(), "old");
  EXPECT_EQ(pool.pending.node_profile, "bad");
  // What the spec asks for is wanted, however old; also if it was not there when that was asked.
  PoolConfiguration late = pool;
  late.spec_unmet = true;
  EXPECT_TRUE(After(late, To("old"), kUpstream).pinned.empty());
  pool = After(pool, To("old"), kSpec);
  EXPECT_TRUE(pool.pinned.empty());
}

TEST(PinTest, ADisabledOneIsPending) {
  PoolConfiguration pool = Pool(kAlways, "bad");
  pool.revisions.front().disabled = true;
  EXPECT_EQ(After(pool, To("bad"), kSpec), pool);  // it stays, being active
  pool = After(pool, To("new"), kUpstream);
  EXPECT_EQ(pool.active(), "new");
  pool = After(pool, To("bad"), kUpstream);
  EXPECT_EQ(pool.active(), "new");
  EXPECT_EQ(pool.pending.node_profile, "bad");
}

TEST(PinTest, AProfileThatComesBackKeepsItsCount) {
  PoolConfiguration pool = Pool(kAlways, "a");
  pool.revisions.front().enable_count = 3;
  pool = After(After(pool, To("b"), kUpstream), To("a"), kUpstream);
  EXPECT_EQ(pool.active(), "a");
  EXPECT_EQ(pool.revisions.back().enable_count, 3);
}

}  // namespace
}  // namespace muster::configuration
