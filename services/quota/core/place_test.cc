#include "services/quota/core/place.h"

#include <gtest/gtest.h>

namespace muster::quota {
namespace {

TEST(QuotaPlace, IsWhatTheNameSays) {
  const std::string quota = "organizations/acme/quotas/US-EAST-04A~gd-8xa100-i128~spot";
  EXPECT_EQ(PlaceOf(quota).name, quota);
  EXPECT_EQ(PlaceOf(quota).zone, "US-EAST-04A");
  EXPECT_EQ(PlaceOf(quota + "/holdings/u1").name, quota + "/holdings/u1");
  EXPECT_EQ(PlaceOf(quota + "/holdings/u1").zone, "US-EAST-04A");
  EXPECT_EQ(PlaceOf("organizations/acme").zone, "");
  EXPECT_EQ(PlaceOf("organizations/acme").name, "organizations/acme");
}

}  // namespace
}  // namespace muster::quota
