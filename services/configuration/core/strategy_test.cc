#include "services/configuration/core/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "services/configuration/core/limits.h"
#include "services/configuration/core/names.h"

namespace muster::configuration {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

const absl::Time kOld = absl::FromUnixSeconds(1'000);
const absl::Time kNow = absl::FromUnixSeconds(2'000);

NodeProfile Profile(absl::string_view id) {
  return {.id = std::string(id), .image = std::string(id)};
}
Resolution To(absl::string_view id) { return {.profile = Profile(id)}; }

PoolConfiguration Pool(Strategy strategy, absl::string_view active, absl::string_view pending = "",
                       absl::string_view problem = "") {
  PoolConfiguration pool = {
      .pool_uid = "p", .spec = {.strategy = strategy}, .problem = std::string(problem)};
  if (!active.empty()) pool.revisions.push_back({std::string(active), kOld, {}});
  if (!pending.empty()) pool.pending = {std::string(pending), kOld, {}};
  return pool;
}

PoolConfiguration After(const PoolConfiguration& pool, const Resolution& to, Trigger trigger) {
  const NodeProfile active = Profile(pool.active());
  return Next(pool, pool.revisions.empty() ? nullptr : &active, to, trigger, kNow);
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
      EXPECT_EQ(after.revisions.back().create_time, kNow);
    }
    // The same answer again changes nothing.
    EXPECT_EQ(After(after, To("new"), kUpstream), after);
  }
}

TEST(StrategyTest, NothingFitsKeepsTheActiveOne) {
  for (const Strategy strategy : {kManual, kOnSpecUpdate, kAlways}) {
    for (const Trigger trigger : {kSpec, kUpstream}) {
      const auto after = After(Pool(strategy, "old", "mid"), {.problem = "No release."}, trigger);
      EXPECT_EQ(after, Pool(strategy, "old", "", "No release."));
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
  EXPECT_EQ(pool.revisions.back().create_time, kNow);
}

TEST(StrategyTest, RevisionsAreBoundedAndInOrder) {
  PoolConfiguration pool = Pool(kAlways, "first");
  for (size_t i = 0; i < kMaxRevisions + 5; ++i) {
    // The clock runs backwards.
    const absl::Time now = kNow - absl::Seconds(static_cast<int64_t>(i));
    const NodeProfile active = Profile(pool.active());
    pool = Next(pool, &active, To(absl::StrCat("np", i)), kUpstream, now);
  }
  ASSERT_EQ(pool.revisions.size(), kMaxRevisions);
  EXPECT_EQ(pool.active(), absl::StrCat("np", kMaxRevisions + 4));
  EXPECT_EQ(pool.revisions.front().node_profile, "np5");
  for (const Revision& revision : pool.revisions) EXPECT_EQ(revision.create_time, kNow);
}

}  // namespace
}  // namespace muster::configuration
