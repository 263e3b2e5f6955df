#include "services/common/kept_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "services/common/error.h"

namespace muster {
namespace {

class Kept : public StateBase<Kept, KeptRequest> {
 public:
  void Reindex(const KeptRequest* before, const KeptRequest* after) {
    kept_.Reindex(before, after);
  }
  const KeptByTime& kept() const { return kept_; }

 private:
  KeptByTime kept_;
};

const absl::Time kNow = absl::FromUnixSeconds(1'760'000'000);

KeptRequest Answer(const std::string& id, absl::Time at) {
  return {id, "muster.Request", "digest", 0, "answer", at};
}

TEST(KeptRequest, IsFoundUntilItsTimeIsOver) {
  Kept state;
  StagedState<Kept> staged(state, 0);
  EXPECT_EQ(FindKept(state, "a", kNow, kRequestKeep), nullptr);
  ASSERT_TRUE(Keep(staged, Answer("a", kNow), {}).ok());
  ASSERT_NE(FindKept(state, "a", kNow, kRequestKeep), nullptr);
  EXPECT_EQ(FindKept(state, "b", kNow, kRequestKeep), nullptr);
  const absl::Time end = kNow + kRequestKeep;
  EXPECT_NE(FindKept(state, "a", end - absl::Microseconds(1), kRequestKeep), nullptr);
  EXPECT_EQ(FindKept(state, "a", end, kRequestKeep), nullptr);
}

TEST(KeptRequest, AFewThatAreOlderGoWithEachNewOne) {
  Kept state;
  StagedState<Kept> staged(state, 0);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(Keep(staged, Answer(absl::StrCat("old", i), kNow + absl::Seconds(i)), {}).ok());
  }
  EXPECT_EQ(state.size(), 10u);
  const absl::Time later = kNow + kRequestKeep + absl::Seconds(20);
  ASSERT_TRUE(Keep(staged, Answer("n1", later), {}).ok());
  EXPECT_EQ(state.size(), 11 - kForgottenAtOnce);
  EXPECT_EQ(state.table<KeptRequest>().Find("old3"), nullptr);
  EXPECT_NE(state.table<KeptRequest>().Find("old4"), nullptr);
  ASSERT_TRUE(Keep(staged, Answer("n2", later), {}).ok());
  ASSERT_TRUE(Keep(staged, Answer("n3", later), {}).ok());
  EXPECT_EQ(state.size(), 3u);
  EXPECT_EQ(state.kept().ids().size(), 3u);
  staged.RollBack();
  EXPECT_EQ(state.size(), 0u);
  EXPECT_TRUE(state.kept().ids().empty());
  EXPECT_EQ(state.kept().bytes(), 0u);
}

// Room for `rows` answers of Answer's size.
KeepPolicy RoomFor(size_t rows) { return {.max_bytes = rows * BytesOf(Answer("id00", kNow))}; }

TEST(KeptRequest, TheOldestGoWhenThereIsNoRoomButNoneTooEarly) {
  Kept state;
  StagedState<Kept> staged(state, 0);
  const KeepPolicy policy = RoomFor(10);
  for (int i = 10; i < 20; ++i) {
    ASSERT_TRUE(Keep(staged, Answer(absl::StrCat("id", i), kNow + absl::Seconds(i)), policy).ok());
  }
  const size_t full = staged.Mark();
  const absl::Time early = kNow + kMinRequestKeep;
  const absl::Status refused = Keep(staged, Answer("id98", early), policy);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(error::ReasonOf(refused), "REQUEST_IDS_EXHAUSTED");
  EXPECT_EQ(error::DetailOf(refused)->retry_after, absl::Seconds(10));
  staged.RollBack(full);
  EXPECT_EQ(state.size(), 10u);
  // Now two of them may go, and only what must.
  ASSERT_TRUE(Keep(staged, Answer("id99", early + absl::Seconds(11)), policy).ok());
  EXPECT_EQ(state.size(), 10u);
  EXPECT_EQ(state.table<KeptRequest>().Find("id10"), nullptr);
  EXPECT_NE(state.table<KeptRequest>().Find("id11"), nullptr);
  // A great answer takes the room of several.
  KeptRequest great = Answer("id97", early + kMinRequestKeep);
  great.answer = std::string(3 * BytesOf(great), 'x');
  ASSERT_TRUE(Keep(staged, great, policy).ok());
  EXPECT_LE(state.kept().bytes(), policy.max_bytes);
  EXPECT_EQ(state.size(), 7u);
}

TEST(KeptRequest, NobodyTakesMoreThanHisShareOfTheRoom) {
  const auto of = [](const std::string& account, int i, absl::Time at) {
    KeptRequest kept = Answer(absl::StrCat("id", i), at);
    kept.account = account;
    return kept;
  };
  const std::string acme = "organizations/acme";
  const std::string beta = "organizations/beta";
  const KeepPolicy policy = {.max_bytes = kKeptShare * 5 * BytesOf(of(acme, 10, kNow))};
  Kept state;
  StagedState<Kept> staged(state, 0);
  for (int i = 10; i < 15; ++i)
    ASSERT_TRUE(Keep(staged, of(acme, i, kNow + absl::Seconds(i)), policy).ok());
  const size_t full = staged.Mark();
  const absl::Status refused = Keep(staged, of(acme, 15, kNow + absl::Minutes(1)), policy);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(error::ReasonOf(refused), "REQUEST_IDS_EXHAUSTED");
  EXPECT_EQ(error::DetailOf(refused)->retry_after,
            kMinRequestKeep + absl::Seconds(10) - absl::Minutes(1));
  staged.RollBack(full);
  // Others have room; the platform more than one share.
  ASSERT_TRUE(Keep(staged, of(beta, 20, kNow + absl::Minutes(1)), policy).ok());
  for (int i = 30; i < 40; ++i)
    ASSERT_TRUE(Keep(staged, of("", i, kNow + absl::Minutes(1)), policy).ok());
  // Its own oldest makes room, once it may.
  ASSERT_TRUE(Keep(staged, of(acme, 16, kNow + kMinRequestKeep + absl::Seconds(11)), policy).ok());
  EXPECT_EQ(state.table<KeptRequest>().Find("id10"), nullptr);
  EXPECT_NE(state.table<KeptRequest>().Find("id11"), nullptr);
  EXPECT_NE(state.table<KeptRequest>().Find("id20"), nullptr);
  ASSERT_NE(state.kept().Of(acme), nullptr);
  EXPECT_EQ(state.kept().Of(acme)->ids.size(), 5u);
  EXPECT_EQ(state.kept().Of(""), nullptr);
  staged.RollBack();
  EXPECT_EQ(state.kept().Of(acme), nullptr);
  EXPECT_EQ(state.kept(), KeptByTime());
}

// Under the same id a new answer comes where one whose time is over lies.
TEST(KeptRequest, WhatALaterReleaseSaidOfAnAnswerGoesWithIt) {
  Kept state;
  StagedState<Kept> staged(state, 0);
  KeptRequest old = Answer("a", kNow);
  old.later = "of the old one";
  ASSERT_TRUE(Keep(staged, old, {}).ok());
  ASSERT_TRUE(Keep(staged, Answer("a", kNow + kRequestKeep), {}).ok());
  ASSERT_NE(state.table<KeptRequest>().Find("a"), nullptr);
  EXPECT_EQ(state.table<KeptRequest>().Find("a")->later, "");
  EXPECT_EQ(state.kept().ids().size(), 1u);
}

TEST(KeptRequest, WhatIsOverDoesNotCountAsRoomThatIsMissing) {
  Kept state;
  StagedState<Kept> staged(state, 0);
  const KeepPolicy policy = RoomFor(20);
  for (int i = 10; i < 30; ++i) {
    ASSERT_TRUE(Keep(staged, Answer(absl::StrCat("id", i), kNow), policy).ok());
  }
  ASSERT_TRUE(Keep(staged, Answer("id99", kNow + kRequestKeep), policy).ok());
  EXPECT_EQ(state.size(), 21 - kForgottenAtOnce);
}

TEST(KeptRequest, NobodyKeepsThemForTooShortATime) {
  EXPECT_TRUE(CheckKeepPolicy({}).ok());
  EXPECT_TRUE(CheckKeepPolicy({.keep = kMinRequestKeep}).ok());
  const absl::Status status = CheckKeepPolicy({.keep = kMinRequestKeep - absl::Seconds(1)});
  EXPECT_EQ(error::DetailOf(status)->fields[0].field, "request_keep");
}

TEST(KeptRequest, IdsArePrintableAndShort) {
  for (const std::string& good : {std::string(), std::string("a"), std::string(64, '~'),
                                  std::string("1b4e28ba-2fa1-11d2-883f-0016d3cca427")}) {
    error::Faults faults;
    ValidateRequestId(good, faults);
    EXPECT_TRUE(faults.empty()) << good;
  }
  for (const std::string& bad : {std::string("a b"), std::string(65, 'x'), std::string("a\0b", 3),
                                 std::string("\xc3\xa4"), std::string("a\n")}) {
    error::Faults faults;
    ValidateRequestId(bad, faults);
    ASSERT_EQ(faults.size(), 1u) << bad;
    EXPECT_EQ(faults.named()[0].field, "request_id");
  }
}

TEST(KeptRequest, OnlyTheSameRequestGetsItsAnswer) {
  const KeptRequest kept = Answer("a", kNow);
  EXPECT_TRUE(CheckSameRequest(kept, "muster.Request", "digest").ok());
  for (const absl::Status& status : {CheckSameRequest(kept, "muster.Request", "other"),
                                     CheckSameRequest(kept, "muster.Other", "digest")}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(error::ReasonOf(status), "REQUEST_ID_REUSED");
  }
}

}  // namespace
}  // namespace muster
