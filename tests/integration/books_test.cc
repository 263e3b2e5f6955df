// What belongs to no pool: the checker at the end of every house sees it, an operator sees it, and
// the services get rid of it by themselves.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <muster/capacity/v1/capacity_service.grpc.pb.h>

#include "tests/integration/house.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kGhost[] = "9d0fdb5e-dead-4bad-8bad-000000000001";

// A late request for the holding and the claim of a pool that there is not.
grpc::Status HoldForGhost(const House& house, int64_t generation = 3) {
  grpc::ClientContext context;
  quota::v1::SyncHoldingRequest request;
  request.mutable_holding()->set_name(
      std::string("organizations/acme/quotas/RNO2A~gd-8xa100-i128~default/holdings/") + kGhost);
  request.mutable_holding()->set_nodes(2);
  request.mutable_holding()->set_generation(generation);
  quota::v1::SyncHoldingResponse response;
  return quota::v1::QuotaService::NewStub(house.channel())
      ->SyncHolding(&context, request, &response);
}

grpc::Status ClaimForGhost(const House& house, int64_t generation = 3) {
  grpc::ClientContext context;
  capacity::v1::SyncClaimRequest request;
  request.mutable_claim()->set_pool_uid(kGhost);
  request.mutable_claim()->set_generation(generation);
  request.mutable_claim()->set_zone("RNO2A");
  request.mutable_claim()->set_instance_type("gd-8xa100-i128");
  request.mutable_claim()->set_nodes(2);
  capacity::v1::Claim response;
  return capacity::v1::CapacityService::NewStub(house.channel())
      ->SyncClaim(&context, request, &response);
}

TEST(Books, AGhostIsSeenByTheCheckerAndByAnOperator) {
  House house({.audit_books = false});
  house.ApplyCatalogue();
  house.ApplyExample();
  ASSERT_TRUE(house.AwaitSettled(1)) << house.Logs();
  EXPECT_EQ(house.AuditBooks(), "");
  const Finished sound = house.Ctl({"debug", "audit", "--settle=100ms"});
  EXPECT_EQ(sound.exit_code, 0) << sound.output;
  EXPECT_THAT(sound.output, HasSubstr("acme           RNO2A   gd-8xa100-i128   default   1       1 "
                                      "      1         1          1"));

  ASSERT_TRUE(HoldForGhost(house).ok());
  ASSERT_TRUE(ClaimForGhost(house).ok());
  const std::string wrong = house.AuditBooks(absl::ZeroDuration());
  EXPECT_THAT(wrong, HasSubstr(std::string("orphan_claim ") + kGhost));
  EXPECT_THAT(wrong, HasSubstr("2 Nodes charged to a pool that does not exist."));
  const Finished haunted = house.Ctl({"debug", "audit", "--settle=100ms"});
  EXPECT_EQ(haunted.exit_code, 1) << haunted.output;
  EXPECT_THAT(haunted.output, HasSubstr(kGhost));
  EXPECT_THAT(haunted.output, HasSubstr("2 machines held by a pool that does not exist."));
}

TEST(Books, AGhostIsGivenBackByTheServicesThemselves) {
  House house({.musterd_flags = {"--orphan_interval=1s", "--orphan_grace=2s"}});
  house.ApplyCatalogue();
  house.ApplyExample();
  ASSERT_TRUE(house.AwaitSettled(1)) << house.Logs();
  ASSERT_TRUE(HoldForGhost(house).ok());
  ASSERT_TRUE(ClaimForGhost(house).ok());
  EXPECT_EQ(house.AuditBooks(), "") << house.Logs();
  EXPECT_EQ(house.CheckBooks(1), "") << "the living pool keeps what it has";
  EXPECT_EQ(HoldForGhost(house, 9).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ClaimForGhost(house, 9).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

}  // namespace
}  // namespace muster::testing
