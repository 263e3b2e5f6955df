// A request with an id is carried out once, and told as often as it is repeated.
#include <gmock/gmock.h>
#include <google/protobuf/empty.pb.h>
#include <gtest/gtest.h>

#include <string>

#include "services/rpc/testing/write.h"

namespace muster::rpc {
namespace {

using error::ReasonOf;

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

// Who may not do it any more is told what it was told, and nothing is done.
TEST_F(RequestIdTest, OneThatIsOnlyRepeatedIsNotCarriedOut) {
  ASSERT_TRUE(CreateAs("r1", "apple", 7).ok());
  const int64_t revision = lane_.revision;
  const auto repeat = [&](const std::string& id, const std::string& name) {
    v1::CreateQuotaRequest request;
    request.set_request_id(id);
    request.set_quota_id(name);
    request.mutable_quota()->set_limit(7);
    access::Caller caller{.rights = std::make_shared<const access::Rights>(access::Rights::All())};
    EXPECT_EQ(IsAnswered(lane_, caller, request), id == "r1" && name == "apple");
    caller.unless_repeated = error::NotFound(name);
    error::Faults faults;
    const WriteOptions options = OptionsOf(request, &caller, faults);
    EXPECT_TRUE(faults.empty());
    return Call([&](grpc::CallbackServerContext* context, v1::Quota* response) {
      return rpc::Unary(context, [&](Responder responder) {
        CommitTo(
            writer_, std::move(responder), options, response,
            [&](StagedState<Orchard>& staged, absl::Time now) {
              return kDecide(staged, {name, 7}, now);
            },
            kRender);
      });
    });
  };
  EXPECT_TRUE(repeat("r1", "apple").ok());
  EXPECT_EQ(ReasonOf(repeat("r1", "pear").status()), "REQUEST_ID_REUSED");
  EXPECT_EQ(repeat("r2", "pear").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(repeat("", "pear").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(lane_.revision, revision);
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
  const access::Caller both = caller("organizations: [acme, beta]");
  const access::Caller zone = caller("zones: [US-EAST-04A]");
  const access::Caller all = caller("everywhere: true");
  EXPECT_EQ(KeptIdOf(nullptr, "r1"), "r1");
  EXPECT_EQ(KeptIdOf(&all, "r1"), "r1");
  EXPECT_NE(KeptIdOf(&acme, "r1"), "r1");
  EXPECT_EQ(KeptIdOf(&acme, "r1"), KeptIdOf(&cluster, "r1"));
  EXPECT_NE(KeptIdOf(&acme, "r1"), KeptIdOf(&beta, "r1"));
  // Who is of several takes nobody's by asking for what it is kept as.
  for (const access::Caller* other : {&both, &zone}) {
    EXPECT_NE(KeptIdOf(other, "r1"), "r1");
    EXPECT_NE(KeptIdOf(other, KeptIdOf(&acme, "r1")), KeptIdOf(&acme, "r1"));
  }
  EXPECT_NE(KeptIdOf(&acme, "r1"), KeptIdOf(&acme, "r2"));
  EXPECT_LE(KeptIdOf(&acme, std::string(64, 'x')).size(), ::muster::kMaxRequestIdBytes);
}

}  // namespace
}  // namespace muster::rpc
