#include "services/rpc/write.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "services/rpc/testing/write.h"

namespace muster::rpc {
namespace {

TEST_F(WriteTest, CommitsAndAnswers) {
  const auto answer = Create("apple", 7);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->name(), "apple");
  EXPECT_EQ(answer->limit(), 7);
  ASSERT_NE(Find("apple"), nullptr);
  EXPECT_EQ(Find("apple")->weight, 7);
  EXPECT_EQ(lane_.revision, 1);
  EXPECT_EQ(answer->revision(), 1) << "a watch after it tells of all that comes later";
  EXPECT_EQ(shown_, "1");
  EXPECT_FALSE(Create("apple", 7).ok());
  EXPECT_EQ(shown_, "") << "it shows nothing";
}

TEST_F(WriteTest, EveryFaultIsToldAndNothingIsDecided) {
  const auto answer = Create("", -1);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(error::DetailOf(answer.status())->fields.size(), 2u);
  EXPECT_EQ(lane_.revision, 0);
}

TEST_F(WriteTest, WhatIsDecidedAgainstIsTheAnswer) {
  ASSERT_TRUE(Create("apple", 7).ok());
  const auto answer = Create("apple", 8);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(error::ReasonOf(answer.status()), "ALREADY_EXISTS");
  EXPECT_EQ(Find("apple")->weight, 7);
}

TEST_F(WriteTest, ValidateOnlyAnswersTheSameAndWritesNothing) {
  const auto tried = Create("apple", 7, true);
  ASSERT_TRUE(tried.ok()) << tried.status();
  EXPECT_EQ(tried->limit(), 7);
  EXPECT_EQ(tried->revision(), 0);
  EXPECT_EQ(Find("apple"), nullptr);
  EXPECT_EQ(lane_.revision, 0);
  ASSERT_TRUE(Create("apple", 7).ok());
  EXPECT_EQ(Create("apple", 7, true).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(WriteTest, WhatCouldNotBeCommittedIsNotAnswered) {
  lane_.lost = error::Unavailable("The database is away.");
  EXPECT_EQ(Create("apple", 7).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Find("apple"), nullptr);
}

TEST_F(WriteTest, ADecisionMayGiveNothingAndARenderingAnError) {
  const auto answer = Call([this](grpc::CallbackServerContext* context, v1::Quota* response) {
    return rpc::Unary(context, [&](Responder responder) {
      CommitTo(
          writer_, std::move(responder), {}, response,
          [](StagedState<Orchard>& staged, absl::Time) {
            staged.Put(Fruit{"pear", 1});
            return absl::OkStatus();
          },
          [](const auto&, v1::Quota&) { return absl::AbortedError("Told after the commit."); });
    });
  });
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kAborted);
  EXPECT_NE(Find("pear"), nullptr);
}

TEST_F(WriteTest, CommitHandsOverWhatWasDecidedOrWhyNot) {
  std::vector<absl::StatusOr<int64_t>> outcomes;
  const auto weigh = [](StagedState<Orchard>& staged, absl::Time) -> int64_t {
    staged.Put(Fruit{"plum", 3});
    return staged.state().table<Fruit>().Find("plum")->weight;
  };
  const auto keep = [&](absl::StatusOr<int64_t> outcome, int64_t) { outcomes.push_back(outcome); };
  Commit(lane_, absl::InfiniteFuture(), {.validate_only = true}, weigh, keep);
  EXPECT_EQ(Find("plum"), nullptr);
  lane_.lost = absl::UnavailableError("away");
  Commit(lane_, absl::InfiniteFuture(), {}, weigh, keep);
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(*outcomes[0], 3);
  EXPECT_EQ(outcomes[1].status(), lane_.lost);
}

// By the calls whose caller is counted.
TEST_F(WriteTest, WhatIsCommittedIsCounted) {
  FakeSteadyClock clock;
  const auto pace = std::make_shared<ChangePace>(1, &clock);
  const auto create = [&](const std::string& name, WriteOptions options) {
    options.pace = pace;
    return Call([this, name, options](grpc::CallbackServerContext* context, v1::Quota* response) {
             return rpc::Unary(context, [&](Responder responder) {
               CommitTo(
                   writer_, std::move(responder), options, response,
                   [name](StagedState<Orchard>& staged, absl::Time now) {
                     return kDecide(staged, Fruit{name, 1}, now);
                   },
                   kRender);
             });
           })
        .status();
  };
  // Up to what is waited for.
  const auto counted = [&] { return (pace->Wait() + ChangePace::kAtOnce) / absl::Minutes(1); };
  EXPECT_TRUE(create("apple", {}).ok());
  EXPECT_TRUE(create("pear", {}).ok());
  EXPECT_EQ(counted(), 2);
  EXPECT_FALSE(create("pear", {}).ok()) << "exists";
  EXPECT_TRUE(create("plum", {.validate_only = true}).ok());
  EXPECT_EQ(counted(), 2);
  const WriteOptions once = {
      .request_id = "r", .kept_id = "r", .method = "m", .digest = "d", .account = "acme"};
  EXPECT_TRUE(create("quince", once).ok());
  EXPECT_EQ(counted(), 4) << "with the answer that is kept";
  ASSERT_NE(lane_.state.table<KeptRequest>().Find("r"), nullptr);
  EXPECT_EQ(lane_.state.table<KeptRequest>().Find("r")->account, "acme");
  EXPECT_TRUE(create("quince", once).ok());
  EXPECT_EQ(counted(), 4) << "told again, not done again";
  // A row of many bytes, and an answer that repeats it.
  EXPECT_TRUE(create(std::string(2 * ChangePace::kBytesAChange, 'a'), {}).ok());
  EXPECT_EQ(counted(), 4 + 2);
  const WriteOptions large = {
      .request_id = "s", .kept_id = "s", .method = "m", .digest = "d", .account = "acme"};
  EXPECT_TRUE(create(std::string(2 * ChangePace::kBytesAChange, 'b'), large).ok());
  EXPECT_EQ(counted(), 4 + 2 + 2 + 3) << "the answer has more beside it";
}

}  // namespace
}  // namespace muster::rpc
