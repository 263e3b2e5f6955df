#include "services/quota/quota_service.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "services/common/fake_clock.h"
#include "services/rpc/status.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"
#include "tests/testing/test_server.h"

namespace muster::quota {
namespace {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::AllOf;

constexpr char kName[] = "organizations/acme/quotas/US-EAST-04A~gd-8xa100-i128~default";
constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

class QuotaServiceTest : public ::testing::Test {
 protected:
  QuotaServiceTest() {
    QuotaService::Options options;
    options.lane.connect = {.conninfo = database_.conninfo("quota"), .schema = "quota"};
    options.clock = &clock_;
    auto service = QuotaService::Create(std::move(options));
    if (!service.ok()) throw std::runtime_error(service.status().ToString());
    service_ = *std::move(service);
    server_ = std::make_unique<testing::TestServer>(std::vector<rpc::NamedService>{
        {v1::QuotaService::service_full_name(), service_->grpc_service()}});
    stub_ = v1::QuotaService::NewStub(server_->channel());
  }
  ~QuotaServiceTest() override {
    // Whatever a test did: memory, tables and journal tell the same.
    const auto comparison = service_->lane().Compare();
    EXPECT_THAT(comparison, IsOk());
    if (comparison.ok()) {
      EXPECT_THAT(comparison->differences, ::testing::IsEmpty());
    }
  }

  template <class Request, class Response>
  absl::StatusOr<Response> Call(grpc::Status (v1::QuotaService::Stub::*method)(grpc::ClientContext*,
                                                                               const Request&,
                                                                               Response*),
                                const Request& request) {
    grpc::ClientContext context;
    Response response;
    const grpc::Status status = ((*stub_).*method)(&context, request, &response);
    if (!status.ok()) return rpc::FromGrpcStatus(status);
    return response;
  }
  absl::StatusOr<v1::Quota> SetLimit(int64_t limit, const std::string& name = kName) {
    v1::UpdateQuotaRequest request;
    request.mutable_quota()->set_name(name);
    request.mutable_quota()->set_limit(limit);
    request.set_allow_missing(true);
    return Call(&v1::QuotaService::Stub::UpdateQuota, request);
  }
  static v1::HoldingRequest Holding(const std::string& pool, int64_t nodes,
                                    int64_t generation = 1) {
    v1::HoldingRequest holding;
    holding.set_name(absl::StrCat(kName, "/holdings/", pool));
    holding.set_nodes(nodes);
    holding.set_generation(generation);
    return holding;
  }
  absl::StatusOr<v1::SyncHoldingResponse> Sync(const v1::HoldingRequest& holding) {
    v1::SyncHoldingRequest request;
    *request.mutable_holding() = holding;
    return Call(&v1::QuotaService::Stub::SyncHolding, request);
  }

  FakeClock clock_;
  testing::TestDatabase database_;
  std::unique_ptr<QuotaService> service_;
  std::unique_ptr<testing::TestServer> server_;
  std::unique_ptr<v1::QuotaService::Stub> stub_;
};

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
  const auto quota = Call(&v1::QuotaService::Stub::GetQuota, get);
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
  const auto response = Call(&v1::QuotaService::Stub::BatchSyncHoldings, request);
  ASSERT_THAT(response, IsOk());
  ASSERT_EQ(response->results_size(), 4);
  EXPECT_EQ(response->results(0).answer().nodes(), 3);
  EXPECT_THAT(rpc::FromRpcStatus(response->results(1).error()), HasReason("GENERATION_TOO_OLD"));
  EXPECT_EQ(response->results(2).answer().verdict(), v1::HoldingAnswer::VERDICT_OVER);
  EXPECT_EQ(response->results(3).answer().nodes(), 1);
}

TEST_F(QuotaServiceTest, ValidateOnlyWritesNothing) {
  v1::UpdateQuotaRequest request;
  request.mutable_quota()->set_name(kName);
  request.mutable_quota()->set_limit(4);
  request.set_allow_missing(true);
  request.set_validate_only(true);
  const auto quota = Call(&v1::QuotaService::Stub::UpdateQuota, request);
  ASSERT_THAT(quota, IsOk());
  EXPECT_EQ(quota->limit(), 4);
  EXPECT_EQ(service_->lane().revision(), 0);
}

TEST_F(QuotaServiceTest, EtagGuardsUpdatesAndDeletes) {
  const auto first = SetLimit(4);
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(SetLimit(5), IsOk());
  v1::UpdateQuotaRequest update;
  *update.mutable_quota() = *first;
  EXPECT_THAT(Call(&v1::QuotaService::Stub::UpdateQuota, update), HasReason("ETAG_MISMATCH"));
  v1::DeleteQuotaRequest remove;
  remove.set_name(kName);
  remove.set_etag(first->etag());
  EXPECT_THAT(Call(&v1::QuotaService::Stub::DeleteQuota, remove), HasReason("ETAG_MISMATCH"));
  remove.clear_etag();
  EXPECT_THAT(Call(&v1::QuotaService::Stub::DeleteQuota, remove), IsOk());
  EXPECT_THAT(Call(&v1::QuotaService::Stub::DeleteQuota, remove),
              StatusIs(absl::StatusCode::kNotFound));
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
  auto page = Call(&v1::QuotaService::Stub::ListQuotas, request);
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->quotas_size(), 2);
  EXPECT_EQ(page->quotas(0).name(), "organizations/a/quotas/US-EAST-04A~t~default");
  request.set_page_token(page->next_page_token());
  page = Call(&v1::QuotaService::Stub::ListQuotas, request);
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->quotas_size(), 1);
  EXPECT_EQ(page->next_page_token(), "");
  request.set_parent("organizations/b");
  EXPECT_THAT(Call(&v1::QuotaService::Stub::ListQuotas, request), HasFieldViolation("page_token"));
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

TEST_F(QuotaServiceTest, BadInputNamesTheFieldAndWritesNothing) {
  const auto update = [&](const std::string& name, int64_t limit) { return SetLimit(limit, name); };
  EXPECT_THAT(update("", 1), HasFieldViolation("quota.name"));
  EXPECT_THAT(update(std::string(5000, 'x'), 1), HasFieldViolation("quota.name"));
  EXPECT_THAT(update(kName, -1), HasFieldViolation("quota.limit"));
  EXPECT_THAT(update(kName, kHuge), HasFieldViolation("quota.limit"));

  v1::HoldingRequest holding = Holding("a", -1);
  EXPECT_THAT(Sync(holding), HasFieldViolation("holding.nodes"));
  holding = Holding("a", kHuge);
  EXPECT_THAT(Sync(holding), HasFieldViolation("holding.nodes"));
  holding = Holding("a", 1, 0);
  EXPECT_THAT(Sync(holding), HasFieldViolation("holding.generation"));
  holding = Holding("a", 1);
  holding.set_pool(std::string(600, 'x'));
  EXPECT_THAT(Sync(holding), HasFieldViolation("holding.pool"));
  EXPECT_THAT(Sync(v1::HoldingRequest()), HasFieldViolation("holding.name"));

  v1::BatchSyncHoldingsRequest batch;
  EXPECT_THAT(Call(&v1::QuotaService::Stub::BatchSyncHoldings, batch),
              HasFieldViolation("holdings"));
  *batch.add_holdings() = Holding("a", 1);
  *batch.add_holdings() = Holding("a", 2);
  EXPECT_THAT(Call(&v1::QuotaService::Stub::BatchSyncHoldings, batch),
              HasFieldViolation("holdings[1].name"));

  v1::ListQuotasRequest list;
  list.set_parent("organizations");
  EXPECT_THAT(Call(&v1::QuotaService::Stub::ListQuotas, list), HasFieldViolation("parent"));
  list.set_parent("organizations/acme");
  list.set_page_size(-1);
  EXPECT_THAT(Call(&v1::QuotaService::Stub::ListQuotas, list), HasFieldViolation("page_size"));
  EXPECT_EQ(service_->lane().revision(), 0);
}

}  // namespace
}  // namespace muster::quota
