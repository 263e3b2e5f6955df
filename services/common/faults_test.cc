#include "services/common/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::error {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Faults, NoneAreOk) {
  EXPECT_TRUE(Faults().empty());
  EXPECT_TRUE(Faults().status().ok());
}

TEST(Faults, AreToldInTheirOrder) {
  Faults faults;
  faults.Add("nodes", "must be 0 to 9.");
  faults.Require(true, "zone", "is required.");
  faults.Require(false, "pool", "is required.");
  EXPECT_FALSE(faults.empty());
  EXPECT_FALSE(faults.full());
  const absl::Status status = faults.status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "nodes: must be 0 to 9. pool: is required.");
  EXPECT_EQ(ReasonOf(status), "INVALID_FIELD");
  EXPECT_THAT(DetailOf(status)->fields, ElementsAre(FieldViolation{"nodes", "must be 0 to 9."},
                                                    FieldViolation{"pool", "is required."}));
}

TEST(Faults, AHundredAreNamed) {
  Faults faults;
  for (size_t i = 0; i < Faults::kMaxNamed; ++i) faults.Add(At("claims", i), "is bad.");
  EXPECT_FALSE(faults.full());
  EXPECT_EQ(DetailOf(faults.status())->fields.size(), Faults::kMaxNamed);
  EXPECT_EQ(DetailOf(faults.status())->fields.back().field, "claims[99]");
}

TEST(Faults, TwoMillionCostNoMoreThanAHundred) {
  Faults faults;
  for (size_t i = 0; i < 2'000'000; ++i) faults.Add("claims[]", "is bad.");
  EXPECT_TRUE(faults.full());
  EXPECT_EQ(faults.named().size(), Faults::kMaxNamed);
  EXPECT_LT(faults.named().capacity(), 2 * Faults::kMaxNamed);
  EXPECT_EQ(faults.others(), 1'999'900u);
  const absl::Status status = faults.status();
  const auto detail = DetailOf(status);
  ASSERT_EQ(detail->fields.size(), Faults::kMaxNamed + 1);
  EXPECT_EQ(detail->fields.back(), (FieldViolation{"", "and 1999900 more."}));
  EXPECT_THAT(std::string(status.message()), HasSubstr("is bad. and 1999900 more."));
}

TEST(Faults, WhoStopsLookingTellsNoNumber) {
  Faults faults;
  size_t seen = 0;
  for (size_t i = 0; i < 2'000'000; ++i) {
    if (faults.full()) {
      faults.StopLooking();
      break;
    }
    faults.Add("claims[]", "is bad.");
    ++seen;
  }
  EXPECT_EQ(seen, Faults::kMaxNamed + 1);
  EXPECT_EQ(DetailOf(faults.status())->fields.back(), (FieldViolation{"", "and more."}));
}

TEST(Faults, AreRenamed) {
  Faults faults;
  faults.Add("spec.targetNodes", "is bad.");
  faults.Add("spec.minNodes", "is bad.");
  faults.Rename("spec.targetNodes", "target_nodes");
  EXPECT_EQ(faults.named()[0].field, "target_nodes");
  EXPECT_EQ(faults.named()[1].field, "spec.minNodes");
}

TEST(Faults, Paths) {
  EXPECT_EQ(Below("claim", "pool"), "claim.pool");
  EXPECT_EQ(Below("", "pool"), "pool");
  EXPECT_EQ(At("claims", 3), "claims[3]");
}

}  // namespace
}  // namespace muster::error
