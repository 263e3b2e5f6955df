#pragma once

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/quota/v1/quota_service.grpc.pb.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "services/quota/quota_service.h"
#include "tests/testing/service_test.h"

namespace muster::quota {

using Stub = v1::QuotaService::Stub;

// See ServiceTest.
class QuotaServiceTest : public testing::ServiceTest<QuotaService, v1::QuotaService> {
 protected:
  static constexpr char kName[] = "organizations/acme/quotas/US-EAST-04A~gd-8xa100-i128~default";

  QuotaServiceTest() : ServiceTest("quota") {}

  absl::StatusOr<v1::Quota> SetLimit(int64_t limit, const std::string& name = kName) {
    v1::UpdateQuotaRequest request;
    request.mutable_quota()->set_name(name);
    request.mutable_quota()->set_limit(limit);
    request.set_allow_missing(true);
    return Call(&Stub::UpdateQuota, request);
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
    return Call(&Stub::SyncHolding, request);
  }
};

}  // namespace muster::quota
