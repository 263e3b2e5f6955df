// What a collection was at a moment, page by page: by the journal of a lane.
#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/common/pieces.h"
#include "services/common/status_macros.h"
#include "services/quota/store/testing/changes_test_base.h"
#include "tests/testing/lane_trap.h"

namespace muster::storage {
namespace {

using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(QuotaChangesTest, AListIsAsItWas) {
  const auto list = [&](const Moment& then, const std::string& after = "", size_t limit = 10) {
    return lane_->ListPast({"organizations/acme/"}, then, after, limit, absl::InfiniteFuture());
  };
  const auto told = [](const absl::StatusOr<PastPage>& page) {
    if (!page.ok()) return page.status().ToString();
    return absl::StrJoin(page->rows, " ", [](std::string* out, const PastRow& row) {
      absl::StrAppend(out, row.kind, "@", row.revision);
    });
  };
  ASSERT_THAT(Do(*lane_, Want("p2", 1)), IsOk());                        // 5
  ASSERT_THAT(Do(*lane_, Want("p1", 6, 2)), IsOk());                     // 6
  ASSERT_THAT(Do(*lane_, quota::DeleteQuota{QuotaName(kKey)}), IsOk());  // 7
  EXPECT_EQ(told(list({.revision = 1})), "quota@1");
  EXPECT_EQ(told(list({.revision = 3})), "quota@2 holding@3");
  EXPECT_EQ(told(list({.revision = 5})), "quota@4 holding@3 holding@5");
  EXPECT_EQ(told(list({.revision = 6})), "quota@4 holding@6 holding@5");
  EXPECT_EQ(told(list({.revision = 7})), "holding@6 holding@5");
  EXPECT_EQ(told(list({})), "holding@6 holding@5");
  EXPECT_THAT(list({.revision = 8}), StatusIs(absl::StatusCode::kOutOfRange));
  // By time, and in pages of one moment.
  const auto log = List();
  const Moment then{.time = log->changes[2].commit_time};
  const auto whole = list(then);
  ASSERT_THAT(whole, IsOk());
  EXPECT_EQ(whole->revision, 2);
  const auto first = list({.revision = 5}, "", 2);
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ(told(first), "quota@4 holding@3");
  EXPECT_TRUE(first->more);
  const auto second = list({.revision = 5}, first->rows.back().key, 2);
  EXPECT_EQ(told(second), "holding@5");
  EXPECT_FALSE(second->more);
  // What was made anew was gone in between.
  ASSERT_THAT(DoAs({}, 5, true), IsOk());  // 8
  EXPECT_EQ(told(list({.revision = 7})), "holding@6 holding@5");
  EXPECT_EQ(told(list({.revision = 6})), "quota@4 holding@6 holding@5");
  // As far back as the journal tells of all that changed.
  ASSERT_THAT(lane_->Compact(5), IsOk());
  EXPECT_EQ(told(list({.revision = 7})), "holding@6 holding@5");
}

// Before the journal begins, and after, as long as something is not known that has changed since.
TEST_F(QuotaChangesTest, AListThatIsForgottenSaysFromWhenOnAllIsKnown) {
  ASSERT_THAT(Do(*lane_, Want("p2", 1)), IsOk());     // 5
  ASSERT_THAT(Do(*lane_, Want("p1", 6, 2)), IsOk());  // 6
  clock_.Advance(absl::Seconds(10));
  ASSERT_THAT(Do(*lane_, quota::DeleteQuota{QuotaName(kKey)}), IsOk());  // 7
  clock_.Advance(absl::Seconds(10));
  ASSERT_THAT(DoAs({}, 5, true), IsOk());  // 8
  const auto list = [&](const PastScope& scope, const Moment& then, size_t limit = 10) {
    return lane_->ListPast(scope, then, "", limit, absl::InfiniteFuture());
  };
  const auto log = List();
  ASSERT_THAT(log, IsOk());
  ASSERT_THAT(RevisionsOf(*log), ElementsAre(8, 7, 4, 2, 1));
  const absl::Time deleted = log->changes[1].commit_time;
  const PastScope all{"organizations/acme/"};
  const PastScope holdings{"organizations/acme/", "holdings"};
  ASSERT_THAT(lane_->Compact(5), IsOk());
  const auto is_known_from = [](int64_t revision) {
    return AllOf(StatusIs(absl::StatusCode::kOutOfRange,
                          HasSubstr(absl::StrCat("of these resources it knows what was from "
                                                 "revision ",
                                                 revision, " on, "))),
                 HasReason("REVISION_COMPACTED"));
  };
  for (const int64_t revision : {1, 4, 5, 6}) {
    SCOPED_TRACE(revision);
    EXPECT_THAT(list(all, {.revision = revision}), is_known_from(7)) << "what the quota was at 4";
    EXPECT_THAT(list(all, {.revision = revision}, 1), is_known_from(7)) << "of each page";
  }
  EXPECT_THAT(list(all, {.time = deleted - absl::Microseconds(1)}), is_known_from(7));
  EXPECT_THAT(list(all, {.time = deleted}), IsOk());
  EXPECT_THAT(list(all, {.revision = 7}), IsOk());
  // Of each collection, what was before a change of its own.
  EXPECT_THAT(list(holdings, {.revision = 5}), is_known_from(6));
  EXPECT_THAT(list(holdings, {.revision = 6}), IsOk());
  ASSERT_THAT(lane_->Compact(6), IsOk());
  EXPECT_THAT(list(holdings, {.revision = 5}), is_known_from(6)) << "where the journal begins";
  EXPECT_THAT(list(holdings, {.revision = 6}), IsOk());
}

// The last in order of key: of what is on the page itself all is known.
TEST_F(QuotaChangesTest, AListOfWhichTheEndIsForgottenHasNoFirstPage) {
  ASSERT_THAT(Do(*lane_, Want("p0", 1)), IsOk());     // 5
  ASSERT_THAT(Do(*lane_, Want("p1", 6, 2)), IsOk());  // 6
  ASSERT_THAT(lane_->Compact(4), IsOk());
  const auto first = [&](int64_t revision) {
    return lane_->ListPast({"organizations/acme/", "holdings"}, {.revision = revision}, "", 1,
                           absl::InfiniteFuture());
  };
  EXPECT_THAT(first(5), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("from revision 6 on")));
  const auto known = first(6);
  ASSERT_THAT(known, IsOk());
  EXPECT_EQ(known->rows.at(0).key, HoldingOf("p0"));
  EXPECT_TRUE(known->more);
}

// What has not changed since is known by memory, however old its last change; once it changes, what
// was then is gone, and a later page is as little known as the whole list.
TEST_F(QuotaChangesTest, ALaterPageSaysFromWhenOnAllIsKnown) {
  ASSERT_THAT(Do(*lane_, Want("p2", 1)), IsOk());  // 5
  ASSERT_THAT(lane_->Compact(5), IsOk());
  const auto page = [&](const std::string& after) {
    return lane_->ListPast({"organizations/acme/", "holdings"}, {.revision = 5}, after, 1,
                           absl::InfiniteFuture());
  };
  const auto first = page("");
  ASSERT_THAT(first, IsOk());
  ASSERT_TRUE(first->more);
  ASSERT_THAT(page(first->last), IsOk());
  ASSERT_THAT(Do(*lane_, Want("p2", 2, 2)), IsOk());  // 6
  EXPECT_THAT(page(first->last),
              AllOf(StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("from revision 6 on")),
                    HasReason("REVISION_COMPACTED")));
}

TEST_F(QuotaChangesTest, AListIsWorkedOutOnceHoweverManyPagesItHas) {
  constexpr int kHoldings = 30;
  ASSERT_THAT(DoAs({}, 1'000), IsOk());
  for (int i = 0; i < kHoldings; ++i)
    ASSERT_THAT(Do(*lane_, Want(absl::StrCat("q", 10 + i), 1)), IsOk());
  const int64_t then = lane_->stats().revision;
  for (int i = 0; i < kHoldings; i += 2)
    ASSERT_THAT(Do(*lane_, Want(absl::StrCat("q", 10 + i), 2, 2)), IsOk());
  // The holdings, and those that have changed since.
  constexpr int64_t kAll = (1 + kHoldings) + kHoldings / 2;
  const PastScope scope{"organizations/acme/", "holdings"};
  for (const size_t size : {100, 10, 3}) {
    SCOPED_TRACE(size);
    const int64_t looked_at = lane_->stats().past_rows;
    std::vector<std::string> keys;
    PastPage page;
    do {
      auto next =
          lane_->ListPast(scope, {.revision = then}, page.last, size, absl::InfiniteFuture());
      ASSERT_THAT(next, IsOk());
      page = *std::move(next);
      for (const PastRow& row : page.rows) {
        EXPECT_LE(row.revision, then);
        keys.push_back(row.key);
      }
      // What comes in between is of now.
      ASSERT_THAT(Do(*lane_, Want("q39", 1, 100 + lane_->stats().revision)), IsOk());
    } while (page.more);
    EXPECT_THAT(keys, SizeIs(1 + kHoldings));
    EXPECT_LE(lane_->stats().past_rows - looked_at, kAll + 1);
  }
}

TEST_F(QuotaChangesTest, AListTakesTimeForItsCollectionOnly) {
  ASSERT_THAT(DoAs({}, 1'000), IsOk());
  for (int i = 0; i < 20; ++i) ASSERT_THAT(Do(*lane_, Want(absl::StrCat("q", 10 + i), 1)), IsOk());
  const auto looked_at = [&](const std::string& collection, size_t listed) {
    const int64_t before = lane_->stats().past_rows;
    const auto page =
        lane_->ListPast({"organizations/acme/", collection}, {}, "", 100, absl::InfiniteFuture());
    EXPECT_THAT(page, IsOk());
    EXPECT_THAT(page.value_or(PastPage()).rows, SizeIs(listed)) << collection;
    return lane_->stats().past_rows - before;
  };
  EXPECT_EQ(looked_at("quotas", 1), 1);
  EXPECT_EQ(looked_at("holdings", 21), 21);
  EXPECT_EQ(looked_at("nodes", 0), 0);
  EXPECT_EQ(looked_at("", 22), 22);
}

// Memory is read piece by piece, and others commit between two of them.
TEST_F(QuotaChangesTest, AListIsOfOneMomentHoweverLong) {
  testing::LaneTrap trap;
  LaneOptions options;
  options.yield = trap.Hook();
  Lane& lane = NewLane(options);
  constexpr int kHoldings = 2 * static_cast<int>(kPiece) + 500;
  const auto name = [](int i) { return absl::StrCat("h", 20'000 + i); };
  ASSERT_THAT(DoAs({}, 10'000), IsOk());
  ASSERT_THAT(DoDecide(lane,
                       [&](StagedState<quota::State>& staged, absl::Time now) -> absl::Status {
                         for (int i = 0; i < kHoldings; ++i)
                           RETURN_IF_ERROR(quota::Decide(staged, Want(name(i), 1), now).status());
                         return absl::OkStatus();
                       }),
              IsOk());
  const int64_t then = lane.stats().revision;
  const PastScope scope{"organizations/acme/", "holdings"};
  const auto keys = [&]() -> std::vector<std::string> {
    const auto page =
        lane.ListPast(scope, {.revision = then}, "", 2 * kHoldings, absl::InfiniteFuture());
    EXPECT_THAT(page, IsOk());
    std::vector<std::string> found;
    if (!page.ok()) return found;
    for (const PastRow& row : page->rows) {
      EXPECT_LE(row.revision, then);
      found.push_back(row.key);
    }
    return found;
  };
  const std::vector<std::string> before = keys();
  ASSERT_THAT(before, SizeIs(kHoldings + 1));
  // Of what was read already, and of what was not.
  bool changed = false;
  trap.Set(LanePoint::kNextPiece, [&] {
    changed = true;
    for (const int i : {0, kHoldings - 1}) {
      quota::SyncHolding gone = Want(name(i), 0, 2);
      gone.release = true;
      EXPECT_THAT(Do(lane, gone), IsOk());
    }
    for (const int i : {1, kHoldings - 2}) EXPECT_THAT(Do(lane, Want(name(i), 2, 2)), IsOk());
    for (const int i : {-1, kHoldings}) EXPECT_THAT(Do(lane, Want(name(i), 1)), IsOk());
  });
  EXPECT_EQ(keys(), before);
  EXPECT_TRUE(changed);
}

// Asked as of later than now, or just before a commit: memory was looked at before the journal.
TEST_F(QuotaChangesTest, AListIsOfNoLaterMomentThanMemoryThatItIsMadeFrom) {
  std::atomic<bool> armed = false;
  LaneOptions options;
  options.runner.fault = [&](absl::string_view site) -> Fault {
    if (absl::StartsWith(site, "read/") && armed.exchange(false)) {
      EXPECT_THAT(Do(*lane_, Want("p3", 1)), IsOk());  // 7
    }
    return {};
  };
  Lane& reader = NewLane(options);
  ASSERT_THAT(Do(*lane_, Want("p2", 1)), IsOk());     // 5
  ASSERT_THAT(Do(*lane_, Want("p1", 6, 2)), IsOk());  // 6
  const PastScope scope{"organizations/acme/", "holdings"};
  const auto list = [&](const Moment& then) {
    return reader.ListPast(scope, then, "", 1, absl::InfiniteFuture());
  };
  ASSERT_THAT(list({.revision = 6}), IsOk()) << "memory is there";
  armed = true;
  const auto now = list({.time = absl::Now() + absl::Hours(1)});
  ASSERT_THAT(now, IsOk());
  EXPECT_FALSE(armed);
  EXPECT_EQ(now->revision, 6);
  const auto later = reader.ListPast(scope, {.revision = 7}, "", 10, absl::InfiniteFuture());
  ASSERT_THAT(later, IsOk());
  EXPECT_THAT(later->rows, SizeIs(3));
}

TEST_F(QuotaChangesTest, ALaterPageIsOfNoOtherHistoryAndOfNothingForgotten) {
  ASSERT_THAT(Do(*lane_, Want("p2", 1)), IsOk());     // 5
  ASSERT_THAT(Do(*lane_, Want("p1", 6, 2)), IsOk());  // 6
  const PastScope scope{"organizations/acme/", "holdings"};
  const auto list = [&](const std::string& after, const std::string& incarnation = "") {
    return lane_->ListPast(scope, {.revision = 5, .incarnation = incarnation}, after, 1,
                           absl::InfiniteFuture());
  };
  const auto first = list("");
  ASSERT_THAT(first, IsOk());
  ASSERT_TRUE(first->more);
  const int64_t looked_at = lane_->stats().past_rows;
  ASSERT_THAT(list(first->last, first->incarnation), IsOk());
  EXPECT_EQ(lane_->stats().past_rows, looked_at);
  database_.Execute("UPDATE quota.journal_head SET incarnation = 'another'");
  EXPECT_THAT(list(first->last, first->incarnation), IsOfAnotherHistory());
  // Who does not say of which history the pages before were.
  ASSERT_THAT(list(first->last), IsOk());
  EXPECT_GT(lane_->stats().past_rows, looked_at) << "a list of the history before was told";
  ASSERT_THAT(lane_->Compact(6), IsOk());
  EXPECT_THAT(list(first->last), StatusIs(absl::StatusCode::kOutOfRange));
}

}  // namespace
}  // namespace muster::storage
