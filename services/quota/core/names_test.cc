#include "services/quota/core/names.h"

#include <gtest/gtest.h>

namespace muster::quota {
namespace {

TEST(QuotaNames, ParseWhatTheyPrint) {
  const QuotaKey key{"acme", "US-EAST-04A", "H100_NVLINK_80GB.8.xeon.128", ComputeClass::kSpot};
  EXPECT_EQ(QuotaName(key),
            "organizations/acme/quotas/US-EAST-04A~H100_NVLINK_80GB.8.xeon.128~spot");
  EXPECT_EQ(ParseQuotaName(QuotaName(key)), key);
  const auto holding = ParseHoldingName(QuotaName(key) + "/holdings/9311678d-4064");
  ASSERT_TRUE(holding.has_value());
  EXPECT_EQ(holding->quota, QuotaName(key));
  EXPECT_EQ(holding->pool_uid, "9311678d-4064");
  EXPECT_EQ(ToString(*holding), QuotaName(key) + "/holdings/9311678d-4064");
}

// Ids may be any of the words between them.
TEST(QuotaNames, AnOrganizationMayBeCalledAsACollectionIs) {
  for (const char* organization : {"holdings", "quotas", "organizations"}) {
    const std::string quota = QuotaName({organization, "US-EAST-04A", "t", ComputeClass::kDefault});
    EXPECT_TRUE(ParseQuotaName(quota).has_value()) << quota;
    const auto holding = ParseHoldingName(ToString(HoldingName{quota, "holdings"}));
    ASSERT_TRUE(holding.has_value()) << quota;
    EXPECT_EQ(holding->quota, quota);
    EXPECT_EQ(holding->pool_uid, "holdings");
  }
}

TEST(QuotaNames, RefuseOtherShapes) {
  for (const char* name : {"", "organizations/acme", "organizations//quotas/US-EAST-04A~t~default",
                           "organizations/ACME/quotas/US-EAST-04A~t~default",
                           "organizations/acme/quotas/US-EAST-04A~t",
                           "organizations/acme/quotas/us-east-04a~t~default",
                           "organizations/acme/quotas/US-EAST-04A~t~gold",
                           "organizations/acme/quotas/US-EAST-04A~~default",
                           "organizations/acme/quotas/US-EAST-04A~t~default~x",
                           "organizations/acme/quotas/US-EAST-04A~t~default/holdings/p"}) {
    EXPECT_FALSE(ParseQuotaName(name).has_value()) << name;
  }
  EXPECT_FALSE(ParseHoldingName("organizations/acme/quotas/US-EAST-04A~t~default").has_value());
  EXPECT_FALSE(
      ParseHoldingName("organizations/acme/quotas/US-EAST-04A~t~default/holdings/").has_value());
  EXPECT_FALSE(
      ParseHoldingName("organizations/acme/quotas/US-EAST-04A~t~default/holdings/P").has_value());
}

TEST(QuotaNames, AFilterMatchesWhatItNamesAndNothingBeside) {
  const std::string name = "organizations/acme/quotas/US-EAST-04A~t~spot";
  EXPECT_TRUE(Matches({}, name));
  EXPECT_TRUE(Matches({"US-EAST-04A", "t", ComputeClass::kSpot}, name));
  EXPECT_FALSE(Matches({"US-EAST-04", "", {}}, name));
  EXPECT_FALSE(Matches({"", "t2", {}}, name));
  EXPECT_FALSE(Matches({"", "", ComputeClass::kDefault}, name));
}

}  // namespace
}  // namespace muster::quota
