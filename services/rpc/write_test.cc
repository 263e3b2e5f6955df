#include "services/rpc/write.h"

#include <gmock/gmock.h>
#include <google/protobuf/empty.pb.h>
#include <gtest/gtest.h>

#include <functional>

#include "services/common/error.h"
#include "services/rpc/fake_lane.h"
#include "services/rpc/fake_quota_service.h"
#include "services/rpc/status.h"

namespace muster::rpc {
namespace {

using ::testing::HasSubstr;

// "There is this fruit": quota_id is its name, quota.limit its weight.
constexpr auto kParse = [](const v1::CreateQuotaRequest& request, error::Faults& faults) {
  faults.Require(!request.quota_id().empty(), "quota_id", "is required.");
  faults.Require(request.quota().limit() >= 0, "quota.limit", "must not be negative.");
  return Fruit{request.quota_id(), request.quota().limit()};
};
constexpr auto kDecide = [](StagedState<Orchard>& staged, const Fruit& fruit,
                            absl::Time) -> absl::StatusOr<Fruit> {
  if (staged.state().table<Fruit>().Find(fruit.name) != nullptr)
    return error::AlreadyExists(fruit.name);
  staged.Put(fruit);
  return *staged.state().table<Fruit>().Find(fruit.name);
};
constexpr auto kRender = [](const Fruit& fruit, v1::Quota& response) {
  response.set_name(fruit.name);
  response.set_limit(fruit.weight);
};

class WriteTest : public ::testing::Test {
 protected:
  using Unary = grpc::ServerUnaryReactor*;

  // The RPC does what `handle` does.
  absl::StatusOr<v1::Quota> Call(
      std::function<Unary(grpc::CallbackServerContext*, v1::Quota*)> handle) {
    server_.service.get = [handle](grpc::CallbackServerContext* context, const v1::GetQuotaRequest*,
                                   v1::Quota* response) { return handle(context, response); };
    grpc::ClientContext context;
    v1::Quota response;
    const absl::Status status = FromGrpcStatus(server_.stub->GetQuota(&context, {}, &response));
    const auto shown = context.GetServerTrailingMetadata().find(kRevisionHeader);
    shown_ = shown == context.GetServerTrailingMetadata().end()
                 ? ""
                 : std::string(shown->second.data(), shown->second.size());
    if (!status.ok()) return status;
    return response;
  }
  absl::StatusOr<v1::Quota> Create(const std::string& name, int64_t weight,
                                   bool validate_only = false, const std::string& request_id = "") {
    v1::CreateQuotaRequest request;
    request.set_request_id(request_id);
    request.set_quota_id(name);
    request.mutable_quota()->set_limit(weight);
    request.set_validate_only(validate_only);
    return Call([this, request](grpc::CallbackServerContext* context, v1::Quota* response) {
      return Write(context, writer_, request, response, kParse, kDecide, kRender);
    });
  }
  const Fruit* Find(const std::string& name) { return lane_.state.table<Fruit>().Find(name); }

  CaughtLog log_;
  FakeLane<Orchard> lane_;
  Writer<FakeLane<Orchard>> writer_{&lane_};
  FakeServer server_;
  std::string shown_;  // the revision of the last answer, as its metadata has it
};

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
  EXPECT_EQ(error::DetailOf(answer.status())->reason, "ALREADY_EXISTS");
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

std::string ReasonOf(const absl::Status& status) {
  const auto detail = error::DetailOf(status);
  return detail ? detail->reason : "";
}

class RequestIdTest : public WriteTest {
 protected:
  absl::StatusOr<v1::Quota> CreateAs(const std::string& id, const std::string& name,
                                     int64_t weight) {
    return Create(name, weight, false, id);
  }
  void Remove(const std::string& name) {
    StagedState<Orchard> staged(lane_.state, lane_.revision);
    staged.Delete<Fruit>(name);
    lane_.revision = staged.revision();
  }
};

TEST_F(RequestIdTest, TheSameAgainIsAnsweredTheSameAndDoneOnce) {
  ASSERT_TRUE(CreateAs("r1", "apple", 7).ok());
  const int64_t revision = lane_.revision;
  Remove("apple");  // what it was answered with need not be so any more
  const auto again = CreateAs("r1", "apple", 7);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->name(), "apple");
  EXPECT_EQ(again->limit(), 7);
  EXPECT_EQ(again->revision(), 1) << "of what it shows";
  EXPECT_EQ(Find("apple"), nullptr);
  EXPECT_EQ(lane_.revision, revision + 1);
  EXPECT_TRUE(CreateAs("r2", "apple", 7).ok());
  EXPECT_NE(Find("apple"), nullptr);
}

TEST_F(RequestIdTest, TheRevisionIsShownAlsoByWhatHasNoFieldForIt) {
  google::protobuf::Empty nothing;
  const auto create = [&](const std::string& id, const std::string& name) {
    v1::CreateQuotaRequest request;
    request.set_request_id(id);
    request.set_quota_id(name);
    const auto answer = Call([&](grpc::CallbackServerContext* context, v1::Quota*) {
      return Write(context, writer_, request, &nothing, kParse, kDecide,
                   [](const Fruit&, google::protobuf::Empty&) {});
    });
    EXPECT_TRUE(answer.ok()) << answer.status();
    return shown_;
  };
  EXPECT_EQ(create("", "apple"), "1");
  const std::string first = create("r1", "pear");
  EXPECT_EQ(first, absl::StrCat(lane_.revision));
  Remove("pear");
  EXPECT_EQ(create("r1", "pear"), first) << "the same again";
  ASSERT_TRUE(CreateAs("r2", "plum", 1).ok());
  const auto again = CreateAs("r2", "plum", 1);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(shown_, absl::StrCat(again->revision()));
}

TEST_F(RequestIdTest, WhatWasDoneAndNotToldIsToldWhenItIsRepeated) {
  lane_.lost_answer = absl::UnknownError("The connection is gone.");
  EXPECT_EQ(CreateAs("r1", "apple", 7).status().code(), absl::StatusCode::kUnknown);
  lane_.lost_answer = absl::OkStatus();
  const int64_t revision = lane_.revision;
  const auto again = CreateAs("r1", "apple", 7);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->limit(), 7);
  EXPECT_EQ(lane_.revision, revision);
}

TEST_F(RequestIdTest, WhatWasNotDoneIsDoneWhenItIsRepeated) {
  lane_.lost = error::Unavailable("The database is away.");
  EXPECT_EQ(CreateAs("r1", "apple", 7).status().code(), absl::StatusCode::kUnavailable);
  lane_.lost = absl::OkStatus();
  EXPECT_TRUE(CreateAs("r1", "apple", 7).ok());
  EXPECT_NE(Find("apple"), nullptr);
}

TEST_F(RequestIdTest, AnotherRequestUnderItIsRefused) {
  ASSERT_TRUE(CreateAs("r1", "apple", 7).ok());
  const int64_t revision = lane_.revision;
  for (const auto& answer : {CreateAs("r1", "apple", 8), CreateAs("r1", "pear", 7)}) {
    EXPECT_EQ(answer.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ReasonOf(answer.status()), "REQUEST_ID_REUSED");
  }
  EXPECT_EQ(lane_.revision, revision);
}

TEST_F(RequestIdTest, WhatIsRefusedAndWritesNothingKeepsNothing) {
  ASSERT_TRUE(Create("apple", 7).ok());
  EXPECT_EQ(CreateAs("r1", "apple", 7).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(lane_.state.table<KeptRequest>().size(), 0u);
  Remove("apple");
  EXPECT_TRUE(CreateAs("r1", "apple", 7).ok());
}

TEST_F(RequestIdTest, ARefusalThatWasWrittenIsKept) {
  const auto refuse = [&](int64_t weight) {
    return Call([this, weight](grpc::CallbackServerContext* context, v1::Quota* response) {
      return rpc::Unary(context, [&](Responder responder) {
        CommitTo(
            writer_, std::move(responder), {.request_id = "r1", .method = "m", .digest = "d"},
            response,
            [weight](StagedState<Orchard>& staged, absl::Time) {
              return staged.Put(Fruit{"rotten", weight});
            },
            [](bool, v1::Quota&) { return error::EtagMismatch("rotten", "1", "2"); });
      });
    });
  };
  EXPECT_EQ(ReasonOf(refuse(1).status()), "ETAG_MISMATCH");
  const int64_t revision = lane_.revision;
  EXPECT_EQ(ReasonOf(refuse(2).status()), "ETAG_MISMATCH");
  EXPECT_EQ(lane_.revision, revision);
  EXPECT_EQ(Find("rotten")->weight, 1);
}

TEST_F(RequestIdTest, ARefusalThatWroteNothingIsJudgedAnew) {
  const auto refuse = [&](const absl::Status& refusal) {
    return Call([this, refusal](grpc::CallbackServerContext* context, v1::Quota* response) {
      return rpc::Unary(context, [&](Responder responder) {
        CommitTo(
            writer_, std::move(responder), {.request_id = "r1", .method = "m", .digest = "d"},
            response, [](StagedState<Orchard>&, absl::Time) { return absl::OkStatus(); },
            [refusal](const auto&, v1::Quota&) { return refusal; });
      });
    });
  };
  EXPECT_EQ(refuse(absl::AbortedError("not yet")).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(lane_.revision, 0);
  EXPECT_TRUE(refuse(absl::OkStatus()).ok());
  EXPECT_TRUE(refuse(absl::AbortedError("never asked")).ok());
}

TEST_F(RequestIdTest, AreForgottenAfterTheirTime) {
  ASSERT_TRUE(CreateAs("r1", "apple", 7).ok());
  lane_.now += kRequestKeep - absl::Seconds(1);
  EXPECT_TRUE(CreateAs("r1", "apple", 7).ok());
  lane_.now += absl::Seconds(1);
  EXPECT_EQ(CreateAs("r1", "apple", 7).status().code(), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(CreateAs("r1", "pear", 1).ok());
  EXPECT_EQ(lane_.state.table<KeptRequest>().size(), 1u);
}

TEST_F(RequestIdTest, AreKeptAsLongAsTheWriterSays) {
  writer_.keep.keep = absl::Hours(1);
  ASSERT_TRUE(CreateAs("r1", "apple", 7).ok());
  lane_.now += absl::Hours(1) - absl::Seconds(1);
  EXPECT_TRUE(CreateAs("r1", "apple", 7).ok());
  lane_.now += absl::Seconds(1);
  EXPECT_EQ(CreateAs("r1", "apple", 7).status().code(), absl::StatusCode::kAlreadyExists);
}

// No caller fills the memory, and what cannot be kept is not done.
TEST_F(RequestIdTest, WithoutRoomNothingIsDone) {
  writer_.keep.max_bytes = 3 * kKeptRowBytes;
  ASSERT_TRUE(CreateAs("r1", "apple", 7).ok());
  ASSERT_TRUE(CreateAs("r2", "pear", 7).ok());
  const absl::Status refused = CreateAs("r3", "plum", 7).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(refused), "REQUEST_IDS_EXHAUSTED");
  EXPECT_EQ(Find("plum"), nullptr);
  EXPECT_TRUE(CreateAs("r1", "apple", 7).ok());  // what is kept is told
  EXPECT_TRUE(Create("fig", 1).ok());            // and who has no id is not in the way
  lane_.now += kMinRequestKeep;
  EXPECT_TRUE(CreateAs("r3", "plum", 7).ok());
  EXPECT_NE(Find("plum"), nullptr);
}

TEST_F(RequestIdTest, ATrialKeepsNothing) {
  EXPECT_TRUE(Create("apple", 7, true, "r1").ok());
  EXPECT_EQ(lane_.revision, 0);
  EXPECT_TRUE(CreateAs("r1", "apple", 7).ok());
  EXPECT_EQ(Create("apple", 7, true, "r1").status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(RequestIdTest, BadOnesAreNamed) {
  for (const std::string& id : {std::string(65, 'x'), std::string("a b"), std::string("\n")}) {
    const absl::Status status = CreateAs(id, "apple", 7).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(error::DetailOf(status)->fields[0].field, "request_id");
  }
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
}

TEST(RequestDigest, TellsRequestsApartButNotTheirIds) {
  v1::CreateQuotaRequest one;
  one.set_quota_id("a");
  v1::CreateQuotaRequest same = one;
  same.set_request_id("r1");
  EXPECT_EQ(RequestDigest(one), RequestDigest(same));
  EXPECT_EQ(RequestDigest(one).size(), 64u);
  same.set_quota_id("b");
  EXPECT_NE(RequestDigest(one), RequestDigest(same));
  EXPECT_NE(RequestDigest(v1::CreateQuotaRequest()), RequestDigest(v1::UpdateQuotaRequest()));
}

TEST(KeptId, AnOrganizationsIdsAreItsOwn) {
  const auto caller = [](const std::string& scope) {
    const auto policy =
        access::Policy::Parse("bindings: [{role: editor, principals: [local], " + scope + "}]");
    EXPECT_TRUE(policy.ok()) << policy.status();
    return access::Caller{.principal = "local", .rights = (*policy)->RightsOf("local")};
  };
  const access::Caller acme = caller("organizations: [acme]");
  const access::Caller cluster = caller("clusters: [organizations/acme/clusters/c1]");
  const access::Caller beta = caller("organizations: [beta]");
  const access::Caller all = caller("everywhere: true");
  EXPECT_EQ(KeptIdOf(nullptr, "r1"), "r1");
  EXPECT_EQ(KeptIdOf(&all, "r1"), "r1");
  EXPECT_NE(KeptIdOf(&acme, "r1"), "r1");
  EXPECT_EQ(KeptIdOf(&acme, "r1"), KeptIdOf(&cluster, "r1"));
  EXPECT_NE(KeptIdOf(&acme, "r1"), KeptIdOf(&beta, "r1"));
  EXPECT_NE(KeptIdOf(&acme, "r1"), KeptIdOf(&acme, "r2"));
  EXPECT_LE(KeptIdOf(&acme, std::string(64, 'x')).size(), ::muster::kMaxRequestIdBytes);
}

}  // namespace
}  // namespace muster::rpc
