#include <google/rpc/error_details.pb.h>

#include <map>
#include <utility>

#include "services/quota/core/limits.h"
#include "services/quota/testing/service_test_base.h"
#include "tests/testing/watch_messages.h"

namespace muster::quota {
namespace {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;

TEST(QuotaServiceOptions, HowManyOrganizationsMetricsNameIsBounded) {
  for (const int organizations : {-1, kMaxMetricsOrganizations + 1}) {
    QuotaService::Options options;
    options.metrics_organizations = organizations;
    EXPECT_THAT(QuotaService::Create(std::move(options)).status(),
                HasFieldViolation("metrics_organizations"));
  }
}

TEST_F(QuotaServiceTest, HoldsAndTellsWhatRemains) {
  ASSERT_THAT(SetLimit(10), IsOk());
  auto answer = Sync(Holding("a", 7));
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->answer().verdict(), v1::HoldingAnswer::VERDICT_UNDER);
  EXPECT_EQ(answer->answer().remaining(), 3);
  answer = Sync(Holding("b", 4));
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->answer().verdict(), v1::HoldingAnswer::VERDICT_OVER);

  v1::GetQuotaRequest get;
  get.set_name(kName);
  const auto quota = Call(&Stub::GetQuota, get);
  ASSERT_THAT(quota, IsOk());
  EXPECT_EQ(quota->held(), 7);
  EXPECT_EQ(quota->limit(), 10);
}

TEST_F(QuotaServiceTest, ABatchIsAnsweredOneByOne) {
  ASSERT_THAT(SetLimit(5), IsOk());
  ASSERT_THAT(Sync(Holding("old", 1, 9)), IsOk());
  v1::BatchSyncHoldingsRequest request;
  *request.add_holdings() = Holding("a", 3);
  *request.add_holdings() = Holding("old", 2, 8);
  *request.add_holdings() = Holding("b", 2);
  *request.add_holdings() = Holding("c", 1);
  const auto response = Call(&Stub::BatchSyncHoldings, request);
  ASSERT_THAT(response, IsOk());
  ASSERT_EQ(response->results_size(), 4);
  EXPECT_EQ(response->results(0).answer().nodes(), 3);
  EXPECT_THAT(rpc::FromRpcStatus(response->results(1).error()), HasReason("GENERATION_TOO_OLD"));
  EXPECT_EQ(response->results(2).answer().verdict(), v1::HoldingAnswer::VERDICT_OVER);
  EXPECT_EQ(response->results(3).answer().nodes(), 1);
}

TEST_F(QuotaServiceTest, AnOverAnswerTellsWhoHoldsTheRest) {
  ASSERT_THAT(SetLimit(10), IsOk());
  v1::HoldingRequest holder = Holding("big", 7);
  holder.set_pool("organizations/acme/clusters/c/nodePools/big");
  ASSERT_THAT(Sync(holder), IsOk());
  const auto answer = Sync(Holding("b", 4));
  ASSERT_THAT(answer, IsOk());
  ASSERT_EQ(answer->answer().holders_size(), 1);
  EXPECT_EQ(answer->answer().holders(0).pool_uid(), "big");
  EXPECT_EQ(answer->answer().holders(0).pool(), holder.pool());
  EXPECT_EQ(answer->answer().holders(0).nodes(), 7);
  EXPECT_EQ(answer->answer().other_holders(), 0);
}

TEST_F(QuotaServiceTest, MustFitIsToldAsAQuotaFailureAndTheGenerationStays) {
  ASSERT_THAT(SetLimit(3), IsOk());
  v1::SyncHoldingRequest request;
  *request.mutable_holding() = Holding("a", 4, 5);
  request.mutable_holding()->set_must_fit(true);
  grpc::ClientContext context;
  v1::SyncHoldingResponse response;
  const grpc::Status status = stub_->SyncHolding(&context, request, &response);
  EXPECT_THAT(rpc::FromGrpcStatus(status),
              AllOf(StatusIs(absl::StatusCode::kResourceExhausted), HasReason("QUOTA_EXCEEDED")));
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  google::rpc::QuotaFailure failure;
  for (const auto& any : details.details()) any.UnpackTo(&failure);
  ASSERT_EQ(failure.violations_size(), 1);
  EXPECT_EQ(failure.violations(0).subject(), kName);
  EXPECT_THAT(failure.violations(0).description(),
              ::testing::HasSubstr("no room for 4 Nodes: limit 3, held 0"));

  v1::BatchSyncHoldingsRequest batch;
  *batch.add_holdings() = Holding("a", 1, 4);
  *batch.add_holdings() = Holding("b", 9);
  batch.mutable_holdings(1)->set_must_fit(true);
  const auto results = Call(&Stub::BatchSyncHoldings, batch);
  ASSERT_THAT(results, IsOk());
  EXPECT_THAT(rpc::FromRpcStatus(results->results(0).error()), HasReason("GENERATION_TOO_OLD"));
  EXPECT_THAT(rpc::FromRpcStatus(results->results(1).error()), HasReason("QUOTA_EXCEEDED"));
}

TEST_F(QuotaServiceTest, ACheckSaysWhatWouldHappenAndWritesNothing) {
  ASSERT_THAT(SetLimit(5), IsOk());
  ASSERT_THAT(Sync(Holding("a", 2, 9)), IsOk());
  const int64_t revision = service_->lane().revision();
  v1::CheckQuotaRequest check;
  *check.add_holdings() = Holding("a", 4, 0);
  *check.add_holdings() = Holding("new", 1, 0);
  *check.add_holdings() = Holding("late", 1, 0);
  const auto results = Call(&Stub::CheckQuota, check);
  ASSERT_THAT(results, IsOk());
  ASSERT_EQ(results->results_size(), 3);
  EXPECT_EQ(results->results(0).answer().nodes(), 4);
  EXPECT_EQ(results->results(1).answer().verdict(), v1::HoldingAnswer::VERDICT_UNDER);
  EXPECT_EQ(results->results(1).answer().held(), 5);
  EXPECT_EQ(results->results(1).answer().revision(), revision);
  EXPECT_EQ(results->results(2).answer().verdict(), v1::HoldingAnswer::VERDICT_OVER);
  EXPECT_EQ(results->results(2).answer().holders(0).pool_uid(), "a");
  EXPECT_EQ(results->results(2).answer().holders(0).nodes(), 4);
  EXPECT_EQ(service_->lane().revision(), revision);
  const auto answer = Sync(Holding("a", 3, 9));
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->answer().held(), 3);
}

TEST_F(QuotaServiceTest, ValidateOnlyWritesNothing) {
  v1::UpdateQuotaRequest request;
  request.mutable_quota()->set_name(kName);
  request.mutable_quota()->set_limit(4);
  request.set_allow_missing(true);
  request.set_validate_only(true);
  const auto quota = Call(&Stub::UpdateQuota, request);
  ASSERT_THAT(quota, IsOk());
  EXPECT_EQ(quota->limit(), 4);
  EXPECT_EQ(service_->lane().revision(), 0);
}

// What follows a trial sends the etag of what is there.
TEST_F(QuotaServiceTest, WhatIsOnlyTriedHasTheEtagOfWhatIsThere) {
  v1::UpdateQuotaRequest request;
  request.mutable_quota()->set_name(kName);
  request.mutable_quota()->set_limit(6);
  request.set_allow_missing(true);
  request.set_validate_only(true);
  auto tried = Call(&Stub::UpdateQuota, request);
  ASSERT_THAT(tried, IsOk());
  EXPECT_EQ(tried->etag(), "") << "there is none";
  const auto first = SetLimit(4);
  ASSERT_THAT(first, IsOk());
  tried = Call(&Stub::UpdateQuota, request);
  ASSERT_THAT(tried, IsOk());
  EXPECT_EQ(tried->limit(), 6);
  EXPECT_EQ(tried->etag(), first->etag());
  ASSERT_THAT(SetLimit(5), IsOk());
  request.set_validate_only(false);
  request.mutable_quota()->set_etag(tried->etag());
  EXPECT_THAT(Call(&Stub::UpdateQuota, request),
              AllOf(StatusIs(absl::StatusCode::kAborted), HasReason("ETAG_MISMATCH")));
}

TEST_F(QuotaServiceTest, EtagGuardsUpdatesAndDeletes) {
  const auto first = SetLimit(4);
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(SetLimit(5), IsOk());
  v1::UpdateQuotaRequest update;
  *update.mutable_quota() = *first;
  EXPECT_THAT(Call(&Stub::UpdateQuota, update), HasReason("ETAG_MISMATCH"));
  v1::DeleteQuotaRequest remove;
  remove.set_name(kName);
  remove.set_etag(first->etag());
  EXPECT_THAT(Call(&Stub::DeleteQuota, remove), HasReason("ETAG_MISMATCH"));
  remove.clear_etag();
  EXPECT_THAT(Call(&Stub::DeleteQuota, remove), IsOk());
  EXPECT_THAT(Call(&Stub::DeleteQuota, remove), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(QuotaServiceTest, CreateMakesAQuotaOnce) {
  v1::CreateQuotaRequest request;
  request.set_parent("organizations/acme");
  request.set_quota_id("US-EAST-04A~gd-8xa100-i128~default");
  request.mutable_quota()->set_limit(4);
  request.set_validate_only(true);
  ASSERT_THAT(Call(&Stub::CreateQuota, request), IsOk());
  EXPECT_EQ(service_->lane().revision(), 0);
  request.set_validate_only(false);
  const auto quota = Call(&Stub::CreateQuota, request);
  ASSERT_THAT(quota, IsOk());
  EXPECT_EQ(quota->name(), kName);
  EXPECT_EQ(quota->limit(), 4);
  EXPECT_NE(quota->etag(), "");
  EXPECT_THAT(Call(&Stub::CreateQuota, request),
              AllOf(StatusIs(absl::StatusCode::kAlreadyExists), HasReason("ALREADY_EXISTS")));
  EXPECT_EQ(service_->lane().revision(), 1);
}

TEST_F(QuotaServiceTest, AnUpdateWritesWhatItsMaskNames) {
  ASSERT_THAT(SetLimit(4), IsOk());
  v1::UpdateQuotaRequest request;
  request.mutable_quota()->set_name(kName);
  request.mutable_quota()->set_limit(5);
  request.mutable_update_mask()->add_paths("*");
  auto quota = Call(&Stub::UpdateQuota, request);
  ASSERT_THAT(quota, IsOk());
  EXPECT_EQ(quota->limit(), 5);
  request.mutable_update_mask()->set_paths(0, "held");
  EXPECT_THAT(Call(&Stub::UpdateQuota, request), HasFieldViolation("update_mask"));
}

TEST_F(QuotaServiceTest, ListsShowWhatTheirFiltersName) {
  for (const char* id : {"A-1A~t1~default", "A-1A~t1~spot", "A-1A~t2~default", "B-1A~t1~default"}) {
    const std::string name = absl::StrCat("organizations/acme/quotas/", id);
    ASSERT_THAT(SetLimit(5, name), IsOk());
    for (const char* pool : {"p1", "p2"}) {
      v1::HoldingRequest holding = Holding(pool, 1);
      holding.set_name(absl::StrCat(name, "/holdings/", pool));
      ASSERT_THAT(Sync(holding), IsOk());
    }
  }
  const auto quotas = [&](v1::ListQuotasRequest request) {
    request.set_parent("organizations/acme");
    std::vector<std::string> ids;
    const auto page = Call(&Stub::ListQuotas, request);
    EXPECT_THAT(page, IsOk());
    if (!page.ok()) return ids;
    for (const auto& quota : page->quotas())
      ids.push_back(quota.name().substr(quota.name().rfind('/') + 1));
    return ids;
  };
  v1::ListQuotasRequest list;
  list.set_zone("A-1A");
  EXPECT_THAT(quotas(list), ElementsAre("A-1A~t1~default", "A-1A~t1~spot", "A-1A~t2~default"));
  list.set_instance_type("t1");
  EXPECT_THAT(quotas(list), ElementsAre("A-1A~t1~default", "A-1A~t1~spot"));
  list.set_compute_class(type::v1::COMPUTE_CLASS_SPOT);
  EXPECT_THAT(quotas(list), ElementsAre("A-1A~t1~spot"));
  list.set_zone("C-1A");
  EXPECT_THAT(quotas(list), ElementsAre());

  v1::ListHoldingsRequest holdings;
  holdings.set_parent("organizations/acme/quotas/-");
  holdings.set_zone("A-1A");
  holdings.set_compute_class(type::v1::COMPUTE_CLASS_DEFAULT);
  holdings.set_pool_uid("p2");
  holdings.set_page_size(1);
  auto page = Call(&Stub::ListHoldings, holdings);
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->holdings_size(), 1);
  EXPECT_EQ(page->holdings(0).name(), "organizations/acme/quotas/A-1A~t1~default/holdings/p2");
  holdings.set_page_token(page->next_page_token());
  holdings.set_pool_uid("p1");
  EXPECT_THAT(Call(&Stub::ListHoldings, holdings), HasFieldViolation("page_token"));
  holdings.set_pool_uid("p2");
  page = Call(&Stub::ListHoldings, holdings);
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->holdings_size(), 1);
  EXPECT_EQ(page->holdings(0).name(), "organizations/acme/quotas/A-1A~t2~default/holdings/p2");
  EXPECT_EQ(page->next_page_token(), "");
}

TEST_F(QuotaServiceTest, ListsAreFilteredAndOrderedByWhatIsHeld) {
  for (const char* id : {"A-1A~t1~default", "A-1A~t2~default", "A-1A~t3~default"})
    ASSERT_THAT(SetLimit(5, absl::StrCat("organizations/acme/quotas/", id)), IsOk());
  v1::HoldingRequest holding = Holding("p1", 3);
  holding.set_name("organizations/acme/quotas/A-1A~t2~default/holdings/p1");
  ASSERT_THAT(Sync(holding), IsOk());
  v1::ListQuotasRequest list;
  list.set_parent("organizations/acme");
  list.set_order_by("held desc, name desc");
  auto page = Call(&Stub::ListQuotas, list);
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->quotas_size(), 3);
  EXPECT_EQ(page->quotas(0).name(), "organizations/acme/quotas/A-1A~t2~default");
  EXPECT_EQ(page->quotas(1).name(), "organizations/acme/quotas/A-1A~t3~default");
  list.set_filter("held > 0");
  page = Call(&Stub::ListQuotas, list);
  ASSERT_THAT(page, IsOk());
  EXPECT_EQ(page->quotas_size(), 1);
  EXPECT_GT(page->revision(), 0);
}

TEST_F(QuotaServiceTest, AnUpdateThatIsOnlyCheckedDeletesNothing) {
  ASSERT_THAT(SetLimit(5, kName), IsOk());
  v1::DeleteQuotaRequest request;
  request.set_name(kName);
  request.set_validate_only(true);
  EXPECT_THAT(Call(&Stub::DeleteQuota, request), IsOk());
  v1::GetQuotaRequest get;
  get.set_name(kName);
  EXPECT_THAT(Call(&Stub::GetQuota, get), IsOk());
}

TEST_F(QuotaServiceTest, ListsArePagedInOrder) {
  for (const char* organization : {"b", "a", "c"}) {
    ASSERT_THAT(
        SetLimit(1, absl::StrCat("organizations/", organization, "/quotas/US-EAST-04A~t~default")),
        IsOk());
  }
  v1::ListQuotasRequest request;
  request.set_parent("organizations/-");
  request.set_page_size(2);
  auto page = Call(&Stub::ListQuotas, request);
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->quotas_size(), 2);
  EXPECT_EQ(page->quotas(0).name(), "organizations/a/quotas/US-EAST-04A~t~default");
  request.set_page_token(page->next_page_token());
  page = Call(&Stub::ListQuotas, request);
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->quotas_size(), 1);
  EXPECT_EQ(page->next_page_token(), "");
  request.set_parent("organizations/b");
  EXPECT_THAT(Call(&Stub::ListQuotas, request), HasFieldViolation("page_token"));
}

TEST_F(QuotaServiceTest, AWatchShowsASnapshotThenEveryChange) {
  ASSERT_THAT(SetLimit(10), IsOk());
  grpc::ClientContext context;
  const auto stream = stub_->WatchQuotas(&context, {});
  v1::WatchQuotasResponse message;
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_EQ(message.type(), type::v1::WATCH_EVENT_TYPE_SNAPSHOT);
  EXPECT_EQ(message.quota().limit(), 10);
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_EQ(message.type(), type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END);
  const int64_t start = message.revision();
  ASSERT_THAT(Sync(Holding("a", 3)), IsOk());
  do {
    ASSERT_TRUE(stream->Read(&message));
  } while (message.type() == type::v1::WATCH_EVENT_TYPE_PROGRESS);
  EXPECT_EQ(message.type(), type::v1::WATCH_EVENT_TYPE_CHANGED);
  EXPECT_EQ(message.revision(), start + 1);
  EXPECT_EQ(message.holding().nodes(), 3);
  context.TryCancel();
}

TEST_F(QuotaServiceTest, AWatchOfAZoneTellsOfNoOther) {
  const std::string west = "organizations/acme/quotas/US-WEST-01A~gd-8xa100-i128~default";
  ASSERT_THAT(SetLimit(10), IsOk());
  ASSERT_THAT(SetLimit(20, west), IsOk());
  grpc::ClientContext context;
  v1::WatchQuotasRequest request;
  request.set_zone("US-EAST-04A");
  const auto stream = stub_->WatchQuotas(&context, request);
  EXPECT_THAT(testing::SnapshotKeys(*stream), ElementsAre(kName));
  ASSERT_THAT(SetLimit(30, west), IsOk());
  ASSERT_THAT(Sync(Holding("a", 3)), IsOk());
  EXPECT_EQ(testing::NextChange(*stream).key(), absl::StrCat(kName, "/holdings/a"));
  context.TryCancel();
}

TEST_F(QuotaServiceTest, AWatchFromTheFutureOrTheCompactedPastIsOutOfRange) {
  ASSERT_THAT(SetLimit(10), IsOk());
  ASSERT_THAT(SetLimit(11), IsOk());
  ASSERT_THAT(service_->lane().Compact(1), IsOk());
  for (const auto& [revision, reason] :
       std::map<int64_t, std::string>{{0, "REVISION_COMPACTED"}, {99, "REVISION_IN_FUTURE"}}) {
    grpc::ClientContext context;
    v1::WatchQuotasRequest request;
    request.mutable_start()->set_after_revision(revision);
    const auto stream = stub_->WatchQuotas(&context, request);
    v1::WatchQuotasResponse message;
    EXPECT_FALSE(stream->Read(&message));
    EXPECT_THAT(rpc::FromGrpcStatus(stream->Finish()),
                AllOf(StatusIs(absl::StatusCode::kOutOfRange), HasReason(reason)));
  }
}

// --- what is promised, sentence by sentence ---

TEST_F(QuotaServiceTest,
       ALimitLoweredBelowWhatIsHeldIsOverUntilItHasShrunkAndNothingGrowsMeanwhile) {
  ASSERT_THAT(SetLimit(10), IsOk());
  ASSERT_THAT(Sync(Holding("a", 6)), IsOk());
  ASSERT_THAT(Sync(Holding("b", 2)), IsOk());
  ASSERT_THAT(SetLimit(5), IsOk());
  const auto over = v1::HoldingAnswer::VERDICT_OVER;
  auto answer = Sync(Holding("a", 6, 2));
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->answer().verdict(), over);
  EXPECT_EQ(answer->answer().nodes(), 6) << "no Node is taken away because a limit fell";
  answer = Sync(Holding("b", 3, 2));
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->answer().verdict(), over);
  EXPECT_EQ(answer->answer().nodes(), 2);
  answer = Sync(Holding("a", 3, 3));
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->answer().verdict(), v1::HoldingAnswer::VERDICT_UNDER);
  EXPECT_EQ(answer->answer().held(), 5);
}

TEST_F(QuotaServiceTest, ADeletedQuotaInUseIsNotSetAndTakesNothingAway) {
  ASSERT_THAT(SetLimit(10), IsOk());
  ASSERT_THAT(Sync(Holding("a", 6)), IsOk());
  v1::DeleteQuotaRequest remove;
  remove.set_name(kName);
  ASSERT_THAT(Call(&Stub::DeleteQuota, remove), IsOk());
  auto answer = Sync(Holding("a", 7, 2));
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->answer().verdict(), v1::HoldingAnswer::VERDICT_NOT_SET);
  EXPECT_EQ(answer->answer().nodes(), 6);
  ASSERT_THAT(SetLimit(7), IsOk());
  answer = Sync(Holding("a", 7, 2));
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->answer().held(), 7) << "what was held counts against the new one";
}

}  // namespace
}  // namespace muster::quota
