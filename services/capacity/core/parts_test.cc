#include "services/capacity/core/parts.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/capacity/core/gang.h"
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

ClaimRow WithParts(size_t count, bool gang) {
  ClaimRow claim;
  claim.gang = gang;
  for (size_t i = 0; i < count; ++i) AddPart(claim.parts, T(static_cast<int64_t>(i)), 1);
  return claim;
}

TEST(PartsTest, TooManyPartsJoinTheTwoYoungest) {
  ClaimRow claim = WithParts(kMaxParts + 2, false);
  JoinParts(claim, {});
  ASSERT_EQ(claim.parts.size(), kMaxParts);
  EXPECT_EQ(claim.parts.back(), (ClaimPart{T(kMaxParts + 1), 3}));
  EXPECT_EQ(Outstanding(claim.parts), static_cast<int64_t>(kMaxParts) + 2);
  const ClaimRow before = claim;
  JoinParts(claim, {});
  EXPECT_EQ(claim, before);
}

TEST(PartsTest, TooManyPlacesJoinTheTwoYoungest) {
  const int64_t places = kMaxParts + 2;
  ClaimRow claim;
  claim.pool_uid = "p";
  AddPart(claim.parts, T(0), places);
  for (int64_t i = 0; i < places; ++i) AddPlace(claim, {T(i), "p", 1});
  JoinParts(claim, {});
  ASSERT_EQ(claim.places.size(), kMaxParts);
  EXPECT_EQ(claim.places.back(), (ClaimPlace{T(places - 1), "p", 3}));
}

// What is asked for at once stays so, and what was lost is replaced alone, whatever joins them.
TEST(PartsTest, OnlyPartsOfAKindAreJoined) {
  const auto youngest = [](bool oldest_lost, bool middle_lost, bool youngest_lost) {
    ClaimRow claim = WithParts(kMaxParts + 1, true);
    Ages held;
    if (oldest_lost) NoteLost(claim, T(kMaxParts - 2), T(kMaxParts));
    if (middle_lost) held[T(kMaxParts - 1)] = 1;  // is granted in parts
    if (youngest_lost) NoteLost(claim, T(kMaxParts), T(kMaxParts));
    JoinParts(claim, held);
    EXPECT_EQ(claim.parts.size(), kMaxParts);
    return std::vector<ClaimPart>(claim.parts.end() - 2, claim.parts.end());
  };
  const absl::Time oldest = T(kMaxParts - 2), middle = T(kMaxParts - 1), last = T(kMaxParts);
  const auto joins_the_two_youngest =
      testing::ElementsAre(ClaimPart{oldest, 1}, ClaimPart{last, 2});
  EXPECT_THAT(youngest(false, false, false), joins_the_two_youngest);
  EXPECT_THAT(youngest(false, true, true), joins_the_two_youngest);
  EXPECT_THAT(youngest(true, false, false), joins_the_two_youngest);
  const auto joins_round_the_middle =
      testing::ElementsAre(ClaimPart{middle, 1}, ClaimPart{last, 2});
  EXPECT_THAT(youngest(false, true, false), joins_round_the_middle);
  EXPECT_THAT(youngest(true, false, true), joins_round_the_middle);
  const auto joins_the_two_older = testing::ElementsAre(ClaimPart{middle, 2}, ClaimPart{last, 1});
  EXPECT_THAT(youngest(false, false, true), joins_the_two_older);
  EXPECT_THAT(youngest(true, true, false), joins_the_two_older);
}

}  // namespace
}  // namespace muster::capacity
