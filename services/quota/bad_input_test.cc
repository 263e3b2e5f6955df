#include <functional>
#include <limits>

#include "services/common/faults.h"
#include "services/quota/testing/service_test_base.h"

// Every field of every request, spoiled in every way: INVALID_ARGUMENT names it, and nothing is
// written.
namespace muster::quota {
namespace {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::IsOk;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
const std::string kLong(5'000, 'x');

template <class Request>
using Cases = std::vector<muster::testing::BadInput<Request>>;

using QuotaBadInputTest = QuotaServiceTest;

v1::Quota Good() {
  v1::Quota quota;
  quota.set_limit(3);
  for (int i = 0; i < 2; ++i) {
    v1::LimitOverride* added = quota.add_overrides();
    added->set_limit(5);
    added->mutable_effective_time()->set_seconds(1'760'000'000 + 100 * i);
    added->mutable_expire_time()->set_seconds(1'760'000'100 + 100 * i);
    added->set_reason("launch");
  }
  return quota;
}

// Field below the Quota, and how to spoil it.
std::vector<std::pair<std::string, std::function<void(v1::Quota&)>>> BadQuotas() {
  const auto at = [](int i, std::function<void(v1::LimitOverride&)> spoil) {
    return [i, spoil](v1::Quota& q) { spoil(*q.mutable_overrides(i)); };
  };
  return {
      {"limit", [](auto& q) { q.set_limit(-1); }},
      {"limit", [](auto& q) { q.set_limit(1'000'001); }},
      {"limit", [](auto& q) { q.set_limit(kHuge); }},
      {"overrides",
       [](auto& q) {
         for (int i = 0; i < 15; ++i) *q.add_overrides() = q.overrides(1);
       }},
      {"overrides[1].limit", at(1, [](auto& o) { o.set_limit(-1); })},
      {"overrides[1].limit", at(1, [](auto& o) { o.set_limit(kHuge); })},
      {"overrides[1].effective_time", at(1, [](auto& o) { o.clear_effective_time(); })},
      {"overrides[1].effective_time",
       at(1, [](auto& o) { o.mutable_effective_time()->set_seconds(kHuge); })},
      {"overrides[1].effective_time",
       at(1, [](auto& o) { o.mutable_effective_time()->set_nanos(-1); })},
      // Within the one before it.
      {"overrides[1].effective_time",
       at(1, [](auto& o) { o.mutable_effective_time()->set_seconds(1'760'000'099); })},
      // Before the one before it.
      {"overrides[1].effective_time", [](auto& q) { q.mutable_overrides()->SwapElements(0, 1); }},
      // The same one twice.
      {"overrides[1].effective_time", [](auto& q) { *q.mutable_overrides(1) = q.overrides(0); }},
      {"overrides[1].expire_time", at(1, [](auto& o) { o.clear_expire_time(); })},
      {"overrides[1].expire_time",
       at(1, [](auto& o) { o.mutable_expire_time()->set_seconds(-kHuge); })},
      {"overrides[1].expire_time",
       at(1, [](auto& o) { o.mutable_expire_time()->set_nanos(1'000'000'000); })},
      {"overrides[1].expire_time",
       at(1, [](auto& o) { *o.mutable_expire_time() = o.effective_time(); })},
      // As close as nothing, in microseconds.
      {"overrides[1].expire_time", at(1,
                                      [](auto& o) {
                                        *o.mutable_expire_time() = o.effective_time();
                                        o.mutable_expire_time()->set_nanos(999);
                                      })},
      {"overrides[1].reason", at(1, [](auto& o) { o.set_reason(kLong); })},
      {"overrides[1].reason", at(1, [](auto& o) { o.set_reason(std::string("a\0b", 3)); })}};
}

TEST_F(QuotaBadInputTest, Quotas) {
  Cases<v1::CreateQuotaRequest> create = {
      {"parent", [](auto& r) { r.clear_parent(); }},
      {"parent", [](auto& r) { r.set_parent("organizations/ACME"); }},
      {"parent", [](auto& r) { r.set_parent("organizations/-"); }},
      {"parent", [](auto& r) { r.set_parent("organizations/" + kLong); }},
      {"quota_id", [](auto& r) { r.clear_quota_id(); }},
      {"quota_id", [](auto& r) { r.set_quota_id("US-EAST-04A~t"); }},
      {"quota_id", [](auto& r) { r.set_quota_id("nowhere~t~default"); }},
      {"quota_id", [](auto& r) { r.set_quota_id("US-EAST-04A~a b~default"); }},
      {"quota_id", [](auto& r) { r.set_quota_id("US-EAST-04A~t~gold"); }},
      {"quota_id", [](auto& r) { r.set_quota_id(kLong); }},
      {"quota.name", [](auto& r) { r.mutable_quota()->set_name("organizations/a/quotas/b"); }}};
  Cases<v1::UpdateQuotaRequest> update = {
      {"quota.name", [](auto& r) { r.clear_quota(); }},
      {"quota.name", [](auto& r) { r.mutable_quota()->set_name("organizations/acme"); }},
      {"quota.name", [](auto& r) { r.mutable_quota()->set_name(kLong); }},
      {"quota.name",
       [](auto& r) {
         r.mutable_quota()->set_name("organizations/acme/quotas/US-EAST-04A~t~gold");
       }},
      {"update_mask", [](auto& r) { r.mutable_update_mask()->add_paths("held"); }},
      {"update_mask", [](auto& r) { r.mutable_update_mask()->add_paths(""); }},
      {"update_mask", [](auto& r) { r.mutable_update_mask()->add_paths("overrides.limit"); }}};
  for (const auto& [field, spoil] : BadQuotas()) {
    create.push_back({"quota." + field, [spoil = spoil](auto& r) { spoil(*r.mutable_quota()); }});
    update.push_back({"quota." + field, [spoil = spoil](auto& r) { spoil(*r.mutable_quota()); }});
  }
  v1::CreateQuotaRequest good;
  good.set_parent("organizations/acme");
  good.set_quota_id("US-EAST-04A~gd-8xa100-i128~default");
  *good.mutable_quota() = Good();
  ExpectRefused<v1::CreateQuotaRequest>(&Stub::CreateQuota, good, create);
  v1::UpdateQuotaRequest change;
  *change.mutable_quota() = Good();
  change.mutable_quota()->set_name(kName);
  change.set_allow_missing(true);
  ExpectRefused<v1::UpdateQuotaRequest>(&Stub::UpdateQuota, change, update);
  v1::DeleteQuotaRequest remove;
  remove.set_allow_missing(true);
  ExpectRefused<v1::DeleteQuotaRequest>(
      &Stub::DeleteQuota, remove,
      {{"name", [](auto&) {}},
       {"name", [](auto& r) { r.set_name("organizations/acme"); }},
       {"name", [](auto& r) { r.set_name(kLong); }}});
  // What was spoiled was good.
  EXPECT_THAT(Call(&Stub::CreateQuota, good), IsOk());
  EXPECT_THAT(Call(&Stub::UpdateQuota, change), IsOk());
}

// Field below the request for a holding, and how to spoil it.
std::vector<std::pair<std::string, std::function<void(v1::HoldingRequest&)>>> BadHoldings() {
  const std::string quota = "organizations/acme/quotas/US-EAST-04A~t~default";
  return {{"name", [](auto& h) { h.clear_name(); }},
          {"name", [quota](auto& h) { h.set_name(quota); }},
          {"name", [quota](auto& h) { h.set_name(quota + "/holdings/"); }},
          {"name", [quota](auto& h) { h.set_name(quota + "/holdings/Upper"); }},
          {"name", [quota](auto& h) { h.set_name(quota + "/holdings/" + kLong); }},
          {"name", [](auto& h) { h.set_name("organizations/acme/quotas/a~t~default/holdings/p"); }},
          {"nodes", [](auto& h) { h.set_nodes(-1); }},
          {"nodes", [](auto& h) { h.set_nodes(1'000'001); }},
          {"nodes", [](auto& h) { h.set_nodes(kHuge); }},
          {"nodes", [](auto& h) { h.set_release(true); }},
          {"generation", [](auto& h) { h.set_generation(-1); }},
          {"generation", [](auto& h) { h.set_generation(std::numeric_limits<int64_t>::min()); }},
          {"generation", [](auto& h) { h.set_generation(kHuge); }},
          {"pool", [](auto& h) { h.set_pool(kLong); }},
          {"pool", [](auto& h) { h.set_pool(std::string("a\0b", 3)); }}};
}

TEST_F(QuotaBadInputTest, Holdings) {
  Cases<v1::SyncHoldingRequest> single = {
      {"holding.name", [](auto& r) { r.clear_holding(); }},
      {"holding.generation", [](auto& r) { r.mutable_holding()->set_generation(0); }}};
  Cases<v1::BatchSyncHoldingsRequest> batch = {
      {"holdings[1].generation", [](auto& r) { r.mutable_holdings(1)->set_generation(0); }}};
  Cases<v1::CheckQuotaRequest> check;
  const auto spoil_lists = [&](auto& cases) {
    cases.push_back({"holdings", [](auto& r) { r.clear_holdings(); }});
    cases.push_back({"holdings", [](auto& r) {
                       for (int i = 0; i < 999; ++i)
                         *r.add_holdings() = Holding(absl::StrCat("x", i), 1);
                     }});
    cases.push_back({"holdings[1].name",
                     [](auto& r) { r.mutable_holdings(1)->set_name(r.holdings(0).name()); }});
    for (const auto& [field, spoil] : BadHoldings()) {
      cases.push_back(
          {"holdings[1]." + field, [spoil = spoil](auto& r) { spoil(*r.mutable_holdings(1)); }});
    }
  };
  spoil_lists(batch);
  spoil_lists(check);
  for (const auto& [field, spoil] : BadHoldings()) {
    single.push_back(
        {"holding." + field, [spoil = spoil](auto& r) { spoil(*r.mutable_holding()); }});
  }
  v1::SyncHoldingRequest one;
  *one.mutable_holding() = Holding("a", 1);
  ExpectRefused<v1::SyncHoldingRequest>(&Stub::SyncHolding, one, single);
  v1::BatchSyncHoldingsRequest two;
  *two.add_holdings() = Holding("a", 1);
  *two.add_holdings() = Holding("b", 1);
  ExpectRefused<v1::BatchSyncHoldingsRequest>(&Stub::BatchSyncHoldings, two, batch);
  v1::CheckQuotaRequest question;
  *question.mutable_holdings() = two.holdings();
  ExpectRefused<v1::CheckQuotaRequest>(&Stub::CheckQuota, question, check);
}

// As many faults as fit into a request cost no more than a few.
TEST_F(QuotaBadInputTest, MillionsOfFaults) {
  v1::CreateQuotaRequest create;
  create.set_parent("organizations/acme");
  create.set_quota_id("US-EAST-04A~gd-8xa100-i128~default");
  for (int i = 0; i < 500'000; ++i) create.mutable_quota()->add_overrides();
  absl::Status refusal = Call(&Stub::CreateQuota, create).status();
  EXPECT_THAT(refusal, HasFieldViolation("quota.overrides"));
  EXPECT_EQ(error::DetailOf(refusal)->fields.size(), 1u);

  v1::BatchSyncHoldingsRequest batch;
  for (int i = 0; i < 1'000; ++i) batch.add_holdings();
  refusal = Call(&Stub::BatchSyncHoldings, batch).status();
  EXPECT_THAT(refusal, HasFieldViolation("holdings[0].name"));
  EXPECT_LE(error::DetailOf(refusal)->fields.size(), error::Faults::kMaxNamed + 1);
  EXPECT_EQ(error::DetailOf(refusal)->fields.back(), (error::FieldViolation{"", "and more."}));
}

TEST_F(QuotaBadInputTest, Reads) {
  ExpectRefused<v1::GetQuotaRequest>(&Stub::GetQuota, {},
                                     {{"name", [](auto&) {}},
                                      {"name", [](auto& r) { r.set_name("castles/x"); }},
                                      {"name", [](auto& r) { r.set_name(kLong); }}});
  ExpectRefused<v1::GetHoldingRequest>(&Stub::GetHolding, {},
                                       {{"name", [](auto&) {}},
                                        {"name", [](auto& r) { r.set_name(kName); }},
                                        {"name", [](auto& r) { r.set_name(kLong); }}});
  const auto spoil_filters = [](auto& cases) {
    cases.push_back({"parent", [](auto& r) { r.clear_parent(); }});
    cases.push_back({"parent", [](auto& r) { r.set_parent("organizations/ACME"); }});
    cases.push_back({"parent", [](auto& r) { r.set_parent(kLong); }});
    cases.push_back({"page_size", [](auto& r) { r.set_page_size(-1); }});
    cases.push_back({"page_token", [](auto& r) { r.set_page_token("garbage"); }});
    cases.push_back({"zone", [](auto& r) { r.set_zone("nowhere"); }});
    cases.push_back({"zone", [](auto& r) { r.set_zone(kLong); }});
    cases.push_back({"instance_type", [](auto& r) { r.set_instance_type("a b"); }});
    cases.push_back({"instance_type", [](auto& r) { r.set_instance_type(kLong); }});
    cases.push_back({"compute_class", [](auto& r) {
                       r.set_compute_class(static_cast<type::v1::ComputeClass>(77));
                     }});
  };
  Cases<v1::ListQuotasRequest> quotas;
  spoil_filters(quotas);
  v1::ListQuotasRequest list;
  list.set_parent("organizations/acme");
  ExpectRefused<v1::ListQuotasRequest>(&Stub::ListQuotas, list, quotas);
  Cases<v1::ListHoldingsRequest> holdings = {
      {"parent", [](auto& r) { r.set_parent("organizations/acme"); }},
      {"pool_uid", [](auto& r) { r.set_pool_uid("Upper"); }},
      {"pool_uid", [](auto& r) { r.set_pool_uid(kLong); }}};
  spoil_filters(holdings);
  v1::ListHoldingsRequest below;
  below.set_parent(kName);
  ExpectRefused<v1::ListHoldingsRequest>(&Stub::ListHoldings, below, holdings);
}

TEST_F(QuotaBadInputTest, Watches) {
  const auto refused = [&](const v1::WatchQuotasRequest& request) {
    grpc::ClientContext context;
    const auto stream = stub_->WatchQuotas(&context, request);
    v1::WatchQuotasResponse message;
    EXPECT_FALSE(stream->Read(&message));
    return rpc::FromGrpcStatus(stream->Finish());
  };
  v1::WatchQuotasRequest request;
  request.mutable_start()->set_after_revision(-1);
  EXPECT_THAT(refused(request), HasFieldViolation("start.after_revision"));
  request.Clear();
  request.set_zone("us-east");
  EXPECT_THAT(refused(request), HasFieldViolation("zone"));
}

}  // namespace
}  // namespace muster::quota
