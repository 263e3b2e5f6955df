#include "services/quota/wire/quota_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace muster::quota {
namespace {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::IsOk;
using ::muster::testing::IsOkAndHolds;
using ::muster::testing::StatusIs;

const absl::Time kTime = absl::FromUnixMicros(1'750'000'000'123'456);
const Quota kQuota{{"acme", "US-EAST-04A", "gd-8xa100-i128", ComputeClass::kSpot},
                   7,
                   kTime,
                   kTime + absl::Seconds(1)};

TEST(QuotaWire, QuotaAndHoldingComeBackAsTheyWent) {
  const v1::Quota message = ToProto(Versioned<Quota>{std::make_shared<const Quota>(kQuota), 42}, 3);
  EXPECT_EQ(message.held(), 3);
  EXPECT_EQ(message.etag(), EtagOf(kQuota));
  EXPECT_THAT(FromProto(message), IsOkAndHolds(kQuota));

  const Holding holding{kQuota.Key(), "uid-1", 3, 9, "organizations/acme/clusters/c/nodePools/p",
                        kTime};
  EXPECT_THAT(FromProto(ToProto(holding)), IsOkAndHolds(holding));
}

TEST(QuotaWire, RemainingIsNeverNegative) {
  EXPECT_EQ(ToProto(HoldingOutcome{Verdict::kOver, 3, 5, 9, 1}).remaining(), 0);
  EXPECT_EQ(ToProto(HoldingOutcome{Verdict::kUnder, 3, 9, 5, 1}).remaining(), 4);
}

TEST(QuotaWire, ARequestIsReadWithAll) {
  v1::HoldingRequest request;
  request.set_name(absl::StrCat(kQuota.Key(), "/holdings/uid-1"));
  request.set_nodes(3);
  request.set_generation(9);
  request.set_pool("p");
  request.set_release(true);
  request.set_must_fit(true);
  request.set_at_least(true);
  error::Faults faults;
  const SyncHolding command = FromProto(request, "holding", faults);
  EXPECT_THAT(faults.status(), IsOk());
  EXPECT_EQ(command.quota, kQuota.Key());
  EXPECT_EQ(command.pool_uid, "uid-1");
  EXPECT_EQ(command.nodes, 3);
  EXPECT_EQ(command.generation, 9);
  EXPECT_EQ(command.pool, "p");
  EXPECT_TRUE(command.release);
  EXPECT_TRUE(command.must_fit);
  EXPECT_TRUE(command.at_least);
}

TEST(QuotaWire, BadNamesAreNamed) {
  v1::HoldingRequest request;
  request.set_name("organizations/acme");
  error::Faults faults;
  FromProto(request, "holding", faults);
  EXPECT_THAT(faults.status(), HasFieldViolation("holding.name"));
  EXPECT_THAT(FromProto(v1::Quota()), StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(FromProto(v1::Holding()), StatusIs(absl::StatusCode::kInternal));
}

}  // namespace
}  // namespace muster::quota
