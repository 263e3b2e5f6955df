#include <thread>
#include <vector>

#include "services/common/kept_request.h"
#include "services/quota/testing/service_test_base.h"
#include "tests/testing/once.h"

// A mutation that bears an id is carried out once, whoever repeats it when and where.
namespace muster::quota {
namespace {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;

class QuotaRequestIdTest : public testing::OnceTest<QuotaServiceTest> {
 protected:
  static v1::CreateQuotaRequest Create(const std::string& id, int64_t limit = 3) {
    v1::CreateQuotaRequest request;
    request.set_parent("organizations/acme");
    request.set_quota_id("US-EAST-04A~gd-8xa100-i128~default");
    request.mutable_quota()->set_limit(limit);
    request.set_request_id(id);
    return request;
  }
  size_t kept() {
    return service_->lane().Peek(
        [](const State& state, int64_t) { return state.table<KeptRequest>().size(); });
  }
};

TEST_F(QuotaRequestIdTest, EveryMutation) {
  ExpectOnce(&Stub::CreateQuota, Create(""), "create");
  v1::UpdateQuotaRequest update;
  update.mutable_quota()->set_name(kName);
  update.mutable_quota()->set_limit(5);
  const auto before = Call(&Stub::CreateQuota, Create("create"));  // the answer that is kept
  ASSERT_THAT(before, IsOk());
  update.mutable_quota()->set_etag(before->etag());
  ExpectOnce(&Stub::UpdateQuota, update, "update");
  v1::DeleteQuotaRequest remove;
  remove.set_name(kName);
  ExpectOnce(&Stub::DeleteQuota, remove, "delete");
  // Its answer is kept though there is no Quota any more.
  const auto created = Call(&Stub::CreateQuota, Create("create"));
  ASSERT_THAT(created, IsOk());
  EXPECT_EQ(created->limit(), 3);
  EXPECT_EQ(kept(), 3u);
}

TEST_F(QuotaRequestIdTest, WhatChangesNothingIsKeptToo) {
  ASSERT_THAT(SetLimit(5), IsOk());
  v1::UpdateQuotaRequest update;
  update.mutable_quota()->set_name(kName);
  update.mutable_quota()->set_limit(5);
  ExpectOnce(&Stub::UpdateQuota, update, "same");
  ASSERT_THAT(SetLimit(6), IsOk());
  update.set_request_id("same");
  const auto again = Call(&Stub::UpdateQuota, update);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->limit(), 5);
}

TEST_F(QuotaRequestIdTest, RefusalsAndTrialsKeepNothing) {
  v1::CreateQuotaRequest trial = Create("r");
  trial.set_validate_only(true);
  ASSERT_THAT(Call(&Stub::CreateQuota, trial), IsOk());
  ASSERT_THAT(SetLimit(1), IsOk());
  EXPECT_THAT(Call(&Stub::CreateQuota, Create("r")), StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_EQ(kept(), 0u);
  v1::DeleteQuotaRequest remove;
  remove.set_name(kName);
  ASSERT_THAT(Call(&Stub::DeleteQuota, remove), IsOk());
  EXPECT_THAT(Call(&Stub::CreateQuota, Create("r")), IsOk());
}

TEST_F(QuotaRequestIdTest, AtTheSameTimeFromManyItIsDoneOnce) {
  std::vector<absl::StatusOr<v1::Quota>> answers(8, absl::UnknownError("not called"));
  std::vector<std::thread> callers;
  for (auto& answer : answers) {
    callers.emplace_back([&] { answer = Call(&Stub::CreateQuota, Create("all")); });
  }
  for (std::thread& caller : callers) caller.join();
  for (const auto& answer : answers) {
    ASSERT_THAT(answer, IsOk());
    EXPECT_EQ(answer->SerializeAsString(), answers[0]->SerializeAsString());
  }
  EXPECT_EQ(service_->lane().revision(), 2);  // the Quota and its answer
}

TEST_F(QuotaRequestIdTest, OnAnotherReplicaAndAfterARestart) {
  const auto first = Call(&Stub::CreateQuota, Create("r"));
  ASSERT_THAT(first, IsOk());
  {
    const auto other = NewReplica();
    testing::TestServer server({{v1::QuotaService::service_full_name(), other->grpc_service()}});
    const auto stub = v1::QuotaService::NewStub(server.channel());
    grpc::ClientContext context;
    v1::Quota answer;
    ASSERT_THAT(rpc::FromGrpcStatus(stub->CreateQuota(&context, Create("r"), &answer)), IsOk());
    EXPECT_EQ(answer.SerializeAsString(), first->SerializeAsString());
  }
  Stop();
  Start();
  const auto again = Call(&Stub::CreateQuota, Create("r"));
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->SerializeAsString(), first->SerializeAsString());
  EXPECT_THAT(Call(&Stub::CreateQuota, Create("r", 4)), HasReason("REQUEST_ID_REUSED"));
}

TEST_F(QuotaRequestIdTest, AreForgottenAfterADay) {
  ASSERT_THAT(Call(&Stub::CreateQuota, Create("r")), IsOk());
  clock_.Advance(kRequestKeep);
  EXPECT_THAT(Call(&Stub::CreateQuota, Create("r")), StatusIs(absl::StatusCode::kAlreadyExists));
  v1::DeleteQuotaRequest remove;
  remove.set_name(kName);
  remove.set_request_id("new");
  ASSERT_THAT(Call(&Stub::DeleteQuota, remove), IsOk());
  EXPECT_EQ(kept(), 1u);  // the old one went with the new
}

TEST_F(QuotaRequestIdTest, BadOnesAreNamed) {
  for (const std::string& id : {std::string(65, 'x'), std::string("a b"), std::string("\t")}) {
    EXPECT_THAT(Call(&Stub::CreateQuota, Create(id)), HasFieldViolation("request_id"));
  }
  EXPECT_EQ(service_->lane().revision(), 0);
}

}  // namespace
}  // namespace muster::quota
