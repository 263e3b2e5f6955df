#include "services/capacity/core/parts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/capacity/core/limits.h"

namespace muster::capacity {
namespace {

absl::Time T(int64_t seconds) { return absl::FromUnixSeconds(seconds); }

TEST(PartsTest, ServedOldestFirstCancelledYoungestFirst) {
  std::vector<ClaimPart> parts;
  AddPart(parts, T(1), 2);
  AddPart(parts, T(2), 3);
  EXPECT_EQ(Outstanding(parts), 5);
  TakeFrom(parts, T(1));
  CancelYoungest(parts, 2);
  EXPECT_THAT(parts, testing::ElementsAre(ClaimPart{T(1), 1}, ClaimPart{T(2), 1}));
  CancelYoungest(parts, 2);
  EXPECT_TRUE(parts.empty());
}

TEST(PartsTest, AddKeepsTheOrderOfTimes) {
  std::vector<ClaimPart> parts;
  AddPart(parts, T(5), 1);
  AddPart(parts, T(1), 1);
  AddPart(parts, T(3), 1);
  AddPart(parts, T(3), 2);
  AddPart(parts, T(4), 0);
  EXPECT_THAT(parts,
              testing::ElementsAre(ClaimPart{T(1), 1}, ClaimPart{T(3), 3}, ClaimPart{T(5), 1}));
}

TEST(PartsTest, TooManyPartsJoinTheTwoYoungest) {
  std::vector<ClaimPart> parts;
  for (size_t i = 0; i <= kMaxParts; ++i) AddPart(parts, T(static_cast<int64_t>(i)), 1);
  ASSERT_EQ(parts.size(), kMaxParts);
  EXPECT_EQ(parts.back(), (ClaimPart{T(kMaxParts), 2}));
  EXPECT_EQ(Outstanding(parts), static_cast<int64_t>(kMaxParts) + 1);
}

}  // namespace
}  // namespace muster::capacity
