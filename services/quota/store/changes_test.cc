// Who changed what, and what was: by the journal of a lane.
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "services/common/current_caller.h"
#include "services/common/error.h"
#include "services/quota/store/testing/changes_test_base.h"

namespace muster::storage {
namespace {

using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(QuotaChangesTest, TheNewestIsFirstAndEachKnowsItsAuthorAndWhatWasBefore) {
  const auto log = List();
  ASSERT_THAT(log, IsOk());
  ASSERT_THAT(RevisionsOf(*log), ElementsAre(4, 2, 1));
  EXPECT_EQ(log->kind, "quota");
  EXPECT_EQ(log->next, 0);
  EXPECT_EQ(log->changes[0].author, (Author{.principal = "ann"}));
  EXPECT_EQ(log->changes[1].author, (Author{.principal = "bob", .request_id = "r2"}));
  EXPECT_EQ(log->changes[2].author, (Author{.principal = "ann", .reason = "new customer"}));
  EXPECT_EQ(LimitOf(log->changes[1].bytes), 20);
  EXPECT_EQ(LimitOf(log->changes[1].before), 10);
  EXPECT_EQ(log->changes[1].previous, 1);
  EXPECT_EQ(log->changes[2].before, nullptr);
  EXPECT_EQ(log->changes[2].previous, 0);
  // What the process does of its own accord is its own.
  const auto holding = lane_->ListChanges(HoldingOf("p1"), {}, 10, absl::InfiniteFuture());
  ASSERT_THAT(holding, IsOk());
  ASSERT_THAT(holding->changes, SizeIs(1));
  EXPECT_EQ(holding->changes[0].author, (Author{.principal = "self"}));
}

TEST_F(QuotaChangesTest, PagesFollowOneAnother) {
  const auto first = List(0, 2);
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(RevisionsOf(*first), ElementsAre(4, 2));
  EXPECT_EQ(LimitOf(first->changes[1].before), 10);
  EXPECT_EQ(first->next, 1);
  const auto second = List(first->next, 2);
  ASSERT_THAT(second, IsOk());
  EXPECT_THAT(RevisionsOf(*second), ElementsAre(1));
  EXPECT_EQ(second->next, 0);
}

TEST_F(QuotaChangesTest, WhatIsGoneIsStillTold) {
  ASSERT_THAT(Do(*lane_, quota::DeleteQuota{QuotaName(kKey)}), IsOk());
  const auto log = List();
  ASSERT_THAT(log, IsOk());
  EXPECT_THAT(RevisionsOf(*log), ElementsAre(5, 4, 2, 1));
  EXPECT_EQ(log->changes[0].bytes, nullptr);
  EXPECT_EQ(LimitOf(log->changes[0].before), 30);
  EXPECT_THAT(Past({}), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(LimitOf(Past({.revision = 4})->changes[0].bytes), 30);
  // Made anew, it has the past of what bore the name.
  ASSERT_THAT(DoAs({.principal = "eve"}, 5, true), IsOk());
  const auto whole = List();
  EXPECT_THAT(RevisionsOf(*whole), ElementsAre(6, 5, 4, 2, 1));
  EXPECT_EQ(whole->changes[0].previous, 0);
  EXPECT_EQ(whole->changes[0].before, nullptr);
  EXPECT_EQ(whole->changes[1].author, (Author{.principal = "self"})) << "who deleted it";
  EXPECT_EQ(LimitOf(Past({.revision = 4})->changes[0].bytes), 30);
  EXPECT_THAT(Past({.revision = 5}), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(LimitOf(Past({.revision = 6})->changes[0].bytes), 5);
}

// The one before may have been another's: no answer tells that it was there.
TEST_F(QuotaChangesTest, OfTheLastLifeAloneTheOneBeforeLeavesNoTrace) {
  const auto log = List();
  ASSERT_THAT(log, IsOk());
  ASSERT_THAT(RevisionsOf(*log), ElementsAre(4, 2, 1));
  const std::string name = QuotaName(kKey);
  clock_.Advance(absl::Seconds(10));
  ASSERT_THAT(Do(*lane_, quota::DeleteQuota{name}), IsOk());  // 5
  ASSERT_THAT(DoAs({.principal = "eve"}, 5, true), IsOk());   // 6
  ASSERT_THAT(DoAs({.principal = "eve"}, 6), IsOk());         // 7
  // One that nothing had the name of before.
  const std::string fresh = HoldingOf("p2");
  ASSERT_THAT(Do(*lane_, Want("p2", 1)), IsOk());  // 8
  const auto as_of_fresh = [&](const Moment& then) {
    absl::Status status = lane_->GetPast(fresh, then, Lives::kAll, absl::InfiniteFuture()).status();
    return absl::IsNotFound(status) ? error::NotFound(name) : status;
  };
  std::vector<Moment> before;
  for (int64_t revision = 1; revision <= 5; ++revision) before.push_back({.revision = revision});
  for (const LoggedChange& change : log->changes) before.push_back({.time = change.commit_time});
  // What the journal has of the one before becomes less.
  for (const int64_t compacted : {0, 1, 2, 3, 4, 5}) {
    SCOPED_TRACE(compacted);
    if (compacted > 0) {
      ASSERT_THAT(lane_->Compact(compacted), IsOk());
    }
    for (const Moment& then : before) {
      SCOPED_TRACE(then.revision);
      const auto past = Past(then, Lives::kLast);
      ASSERT_FALSE(past.ok());
      EXPECT_EQ(past.status(), as_of_fresh(then));
    }
    EXPECT_EQ(LimitOf(Past({.revision = 6}, Lives::kLast)->changes[0].bytes), 5);
    EXPECT_EQ(LimitOf(Past({}, Lives::kLast)->changes[0].bytes), 6);
  }
  // Then the last life's own beginning is.
  ASSERT_THAT(lane_->Compact(6), IsOk());
  EXPECT_THAT(Past({.revision = 6}, Lives::kLast),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("from revision 7 on")));
}

// A request's id may be any text, a resource's name too; what is kept of it is no part of the
// resource's past.
TEST_F(QuotaChangesTest, WhatIsKeptOfARequestOfThatNameIsNotItsPast) {
  const std::string name = QuotaName(kKey);
  ASSERT_THAT(Do(*lane_, quota::DeleteQuota{name}), IsOk());
  const auto commit = [&](const std::function<void(StagedState<quota::State>&)>& change) {
    std::promise<absl::Status> answer;
    lane_->Submit(
        [&](StagedState<quota::State>& staged, absl::Time) {
          change(staged);
          return absl::OkStatus();
        },
        [&](const absl::Status& status, int64_t) { answer.set_value(status); });
    ASSERT_THAT(testing::Await(answer.get_future(), "the commit"), IsOk());
  };
  commit([&](StagedState<quota::State>& staged) {
    staged.Put(KeptRequest{.request_id = name, .method = "m", .digest = "d"});
  });
  commit([&](StagedState<quota::State>& staged) { staged.Delete<KeptRequest>(name); });
  ASSERT_THAT(DoAs({.principal = "eve"}, 5, true), IsOk());
  EXPECT_THAT(RevisionsOf(*List()), ElementsAre(8, 5, 4, 2, 1));
  for (const int64_t revision : {6, 7})
    EXPECT_THAT(Past({.revision = revision}), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(QuotaChangesTest, ThePastIsAsItWas) {
  EXPECT_EQ(LimitOf(Past({.revision = 1})->changes[0].bytes), 10);
  EXPECT_EQ(LimitOf(Past({.revision = 3})->changes[0].bytes), 20);
  EXPECT_EQ(Past({.revision = 3})->changes[0].author.principal, "bob");
  EXPECT_EQ(LimitOf(Past({})->changes[0].bytes), 30);
  EXPECT_THAT(Past({.revision = 5}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("last revision is 4")));
  // By the lane's clock.
  const auto log = List();
  EXPECT_EQ(LimitOf(Past({.time = log->changes[1].commit_time})->changes[0].bytes), 20);
  EXPECT_THAT(Past({.time = log->changes[2].commit_time - absl::Microseconds(1)}),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(QuotaChangesTest, WhatTheJournalHasForgottenIsSaidToBeForgotten) {
  ASSERT_THAT(lane_->Compact(2), IsOk());
  EXPECT_EQ(CountOf("journal_author"), 2);
  const auto log = List();
  ASSERT_THAT(log, IsOk());
  EXPECT_THAT(RevisionsOf(*log), ElementsAre(4));
  EXPECT_EQ(log->changes[0].previous, 2);
  EXPECT_EQ(log->changes[0].before, nullptr);
  EXPECT_EQ(LimitOf(Past({.revision = 4})->changes[0].bytes), 30);
  EXPECT_THAT(Past({.revision = 3}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("from revision 4 on")));
  // Then memory alone knows it.
  ASSERT_THAT(lane_->Compact(4), IsOk());
  EXPECT_EQ(CountOf("journal_author"), 0);
  ASSERT_THAT(List(), IsOk());
  EXPECT_THAT(List()->changes, SizeIs(0));
  EXPECT_EQ(LimitOf(Past({.revision = 4})->changes[0].bytes), 30);
  EXPECT_EQ(LimitOf(Past({})->changes[0].bytes), 30);
  EXPECT_THAT(Past({.revision = 3}), StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(Past({.time = absl::UnixEpoch()}), StatusIs(absl::StatusCode::kOutOfRange));
}

// Commits are seldom made on the second.
TEST_F(QuotaChangesTest, TheOldestTimeThatIsNamedCanBeAskedFor) {
  clock_.Advance(absl::Microseconds(700'123));
  ASSERT_THAT(DoAs({.principal = "ann"}, 40), IsOk());  // 5
  ASSERT_THAT(lane_->Compact(4), IsOk());
  const auto list = [&](const Moment& then) {
    return lane_->ListPast({"organizations/acme/"}, then, "", 10, absl::InfiniteFuture());
  };
  for (const absl::Status& forgotten :
       {Past({.revision = 4}).status(), list({.revision = 4}).status()}) {
    SCOPED_TRACE(forgotten.message());
    ASSERT_THAT(forgotten, StatusIs(absl::StatusCode::kOutOfRange, HasSubstr(" on, ")));
    absl::string_view named = forgotten.message();
    named.remove_prefix(named.rfind(' ') + 1);
    ASSERT_TRUE(absl::ConsumeSuffix(&named, "."));
    absl::Time oldest;
    ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full, named, &oldest, nullptr));
    const auto past = Past({.time = oldest});
    ASSERT_THAT(past, IsOk());
    EXPECT_EQ(LimitOf(past->changes[0].bytes), 40);
    EXPECT_THAT(list({.time = oldest}), IsOk());
    EXPECT_THAT(Past({.time = oldest - absl::Microseconds(1)}),
                StatusIs(absl::StatusCode::kOutOfRange));
  }
}

// One that was deleted may have been there before the journal begins, whether or not there is
// another of its name now.
TEST_F(QuotaChangesTest, WhetherThereWasOneIsNotSaidOfWhatTheJournalHasForgotten) {
  const auto first = List();
  ASSERT_THAT(first, IsOk());
  const absl::Time then = first->changes[0].commit_time;
  const auto is_forgotten =
      AllOf(StatusIs(absl::StatusCode::kOutOfRange), HasReason("REVISION_COMPACTED"));
  clock_.Advance(absl::Seconds(10));
  ASSERT_THAT(Do(*lane_, quota::DeleteQuota{QuotaName(kKey)}), IsOk());  // 5
  ASSERT_THAT(lane_->Compact(5), IsOk());
  for (const bool made_anew : {false, true}) {
    SCOPED_TRACE(made_anew);
    if (made_anew) {
      ASSERT_THAT(DoAs({}, 5, true), IsOk());  // 6
    }
    EXPECT_THAT(Past({.revision = 4}), is_forgotten);
    EXPECT_THAT(Past({.time = then}), is_forgotten);
    EXPECT_THAT(Past({.revision = 5}), StatusIs(absl::StatusCode::kNotFound));
  }
  EXPECT_EQ(LimitOf(Past({})->changes[0].bytes), 5);
}

TEST_F(QuotaChangesTest, ALaterPageThatIsForgottenByThenIsEmpty) {
  ASSERT_THAT(Do(*lane_, quota::DeleteQuota{QuotaName(kKey)}), IsOk());
  const auto first = List(0, 2);
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(RevisionsOf(*first), ElementsAre(5, 4));
  ASSERT_THAT(lane_->Compact(first->next), IsOk());
  const auto second = List(first->next, 2, first->incarnation);
  ASSERT_THAT(second, IsOk());
  EXPECT_THAT(second->changes, SizeIs(0));
  EXPECT_EQ(second->next, 0);
  ASSERT_THAT(lane_->Compact(5), IsOk());
  EXPECT_THAT(List(first->next, 2), IsOk());
  EXPECT_THAT(List(), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(QuotaChangesTest, WhatIsTooOldIsForgotten) {
  LaneOptions options;
  options.journal_keep_time = absl::Hours(1);
  Lane& lane = NewLane(options);
  EXPECT_THAT(lane.CompactSome(), testing::IsOkAndHolds(false));
  EXPECT_EQ(CountOf("journal"), 4);
  clock_.Advance(absl::Hours(1) -
                 absl::Seconds(15));  // the second change is older by 5 s, the third younger
  EXPECT_THAT(lane.CompactSome(), testing::IsOkAndHolds(false));
  EXPECT_EQ(CountOf("journal"), 2);
  clock_.Advance(absl::Hours(1));
  EXPECT_THAT(lane.CompactSome(), testing::IsOkAndHolds(false));
  EXPECT_EQ(CountOf("journal"), 1) << "the last one stays";
  EXPECT_EQ(LimitOf(Past({})->changes[0].bytes), 30);
}

TEST_F(QuotaChangesTest, ALaterPageOfChangesIsOfNoOtherHistory) {
  const auto first = List(0, 2);
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(List(first->next, 2, first->incarnation), IsOk());
  database_.Execute("UPDATE quota.journal_head SET incarnation = 'another'");
  EXPECT_THAT(List(first->next, 2, first->incarnation), IsOfAnotherHistory());
  EXPECT_THAT(List(first->next, 2), IsOk());
  EXPECT_EQ(List(0, 2)->incarnation, "another");
}

// Restored after memory was looked at, and before the journal is.
TEST_F(QuotaChangesTest, WhatIsToldIsOfTheHistoryThatItNames) {
  std::atomic<bool> armed = false;
  LaneOptions options;
  options.runner.fault = [&](absl::string_view site) -> Fault {
    if (absl::StartsWith(site, "read/") && armed.exchange(false)) {
      database_.Execute(
          "UPDATE quota.journal_head SET incarnation = replace(gen_random_uuid()::text, '-', '')");
    }
    return {};
  };
  Lane& reader = NewLane(options);
  const std::string name = QuotaName(kKey);
  const auto list = [&] { return reader.ListChanges(name, {}, 10, absl::InfiniteFuture()); };
  const auto past = [&] {
    return reader.GetPast(name, {.revision = 4}, Lives::kAll, absl::InfiniteFuture());
  };
  ASSERT_THAT(list(), IsOk()) << "memory is there";
  armed = true;
  EXPECT_THAT(list(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_FALSE(armed);
  ASSERT_THAT(list(), IsOk());
  armed = true;
  EXPECT_THAT(past(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_FALSE(armed);
  EXPECT_THAT(past(), IsOk());
}

TEST_F(QuotaChangesTest, BeforeTheMigrationNothingIsKnownOfWhatWas) {
  database_.Execute("UPDATE quota.journal SET previous = NULL WHERE revision = 2");
  // Revision 2 by who keeps no authors; the next that there are, are of another batch.
  database_.Execute("DELETE FROM quota.journal_author WHERE last_revision = 2");
  const auto log = List();
  ASSERT_THAT(log, IsOk());
  EXPECT_THAT(RevisionsOf(*log), ElementsAre(4, 2));
  EXPECT_EQ(log->changes[0].author.principal, "ann");
  EXPECT_EQ(log->changes[1].previous, std::nullopt);
  EXPECT_EQ(log->changes[1].author, Author());
  EXPECT_THAT(Past({.revision = 1}), StatusIs(absl::StatusCode::kOutOfRange));
  database_.Execute("DELETE FROM quota.journal_author");
  EXPECT_EQ(List()->changes[0].author, Author());
}

TEST_F(QuotaChangesTest, APageHasItsBytes) {
  // As if the newest two were large.
  database_.Execute(
      "UPDATE quota.journal SET change = change || "
      "convert_to(repeat('x', 3000000), 'UTF8') WHERE revision IN (2, 4)");
  const auto first = List();
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(RevisionsOf(*first), ElementsAre(4));
  EXPECT_NE(first->changes[0].before, nullptr);
  EXPECT_EQ(first->next, 2);
  const auto second = List(first->next);
  ASSERT_THAT(second, IsOk());
  EXPECT_THAT(RevisionsOf(*second), ElementsAre(2, 1));
  EXPECT_EQ(second->next, 0);
  database_.Execute(
      "UPDATE quota.journal SET change = left_bytes.change FROM (SELECT revision, "
      "substr(change, 1, length(change) - 3000000) AS change FROM quota.journal WHERE "
      "revision IN (2, 4)) AS left_bytes WHERE left_bytes.revision = journal.revision");
}

TEST_F(QuotaChangesTest, WhatNobodyKnowsIsNotFoundNorIsWhatTheServiceKeepsForItself) {
  EXPECT_THAT(lane_->ListChanges("organizations/acme/quotas/none", {}, 10, absl::InfiniteFuture()),
              StatusIs(absl::StatusCode::kNotFound));
  ASSERT_THAT(DoDecide(*lane_,
                       [](StagedState<quota::State>& staged, absl::Time) {
                         staged.Put(KeptRequest{.request_id = "secret"});
                         return absl::OkStatus();
                       }),
              IsOk());
  EXPECT_THAT(lane_->ListChanges("secret", {}, 10, absl::InfiniteFuture()),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(lane_->GetPast("secret", {}, Lives::kAll, absl::InfiniteFuture()),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(store_->Parse("spoon", ""), nullptr);
  EXPECT_EQ(store_->Parse("quota", "\xff"), nullptr);
}

TEST_F(QuotaChangesTest, AllCommandsOfABatchHaveTheirOwnAuthors) {
  testing::OpenTransaction holder = database_.Hold("SELECT * FROM quota.journal_head FOR UPDATE");
  std::vector<std::future<absl::Status>> answers;
  for (const char* name : {"c1", "c2", "c3"}) {
    const auto author = [&] { return Author{.principal = name}; };
    const CurrentCaller caller(1, author);
    const auto promise = std::make_shared<std::promise<absl::Status>>();
    answers.push_back(promise->get_future());
    lane_->Submit(
        [name](StagedState<quota::State>& staged, absl::Time now) {
          return quota::Decide(staged, Want(name, 1), now).status();
        },
        [promise](const absl::Status& status, int64_t) { promise->set_value(status); });
  }
  holder.reset();
  for (auto& answer : answers) ASSERT_THAT(testing::Await(std::move(answer), "an answer"), IsOk());
  for (const char* name : {"c1", "c2", "c3"}) {
    const auto log = lane_->ListChanges(HoldingOf(name), {}, 1, absl::InfiniteFuture());
    ASSERT_THAT(log, IsOk());
    EXPECT_EQ(log->changes.at(0).author.principal, name);
  }
}

}  // namespace
}  // namespace muster::storage
