#include "services/capacity/core/claim_reply.h"

#include <gtest/gtest.h>

#include "services/capacity/core/testing/world.h"

namespace muster::capacity {
namespace {

class ClaimReplyTest : public ::testing::Test {
 protected:
  ClaimReplyTest() { world_.AddCatalogue(); }
  void Sync(const SyncClaim& claim) { ASSERT_TRUE(world_.Do(claim).ok()); }
  // The pool gives up so many of its machines.
  void Give(const std::string& uid, int64_t nodes) {
    const std::vector<std::string> held = world_.MachinesOf(uid);
    std::vector<MachineReturn> returns;
    for (int64_t i = 0; i < nodes; ++i) returns.push_back({held.at(static_cast<size_t>(i))});
    Sync(world_.Want(uid, world_.View(uid).claim.nodes - nodes, returns));
  }
  // `holder` has as many machines as it wants, and gives one back every `apart`, `count` times.
  void GiveOneByOne(const std::string& holder, int count, absl::Duration apart) {
    for (int i = 0; i < count; ++i) {
      world_.Advance(apart);
      Give(holder, 1);
    }
  }
  std::optional<WaitRange> WaitOf(const std::string& uid) {
    return AnswerOf(world_.state(), world_.View(uid), world_.now()).wait;
  }

  World world_;
};

TEST_F(ClaimReplyTest, MachinesThatAreGivenBackAgainHaveComeAllTheSame) {
  world_.RegisterRack("f", "r", 1);
  Sync(world_.Want("p0", 1));
  for (int i = 0; i < 20; ++i) {
    Sync(world_.Want(absl::StrCat("p", i + 1), 1));
    world_.Advance(absl::Minutes(10));
    Give(absl::StrCat("p", i), 1);
    ASSERT_EQ(world_.MachinesOf(absl::StrCat("p", i + 1)).size(), 1u);
  }
  Sync(world_.Want("q", 1));
  const auto wait = WaitOf("q");
  ASSERT_TRUE(wait);
  EXPECT_LT(wait->earliest, absl::Minutes(10));
  EXPECT_GT(wait->latest, absl::Minutes(10));
  EXPECT_LT(wait->latest, absl::Hours(1));
}

TEST_F(ClaimReplyTest, FourOfAPoolThatIsGivenUpTellNothingOfTheNext) {
  world_.RegisterRack("f", "r", 4);
  Sync(world_.Want("p", 4));
  world_.Advance(absl::Minutes(5));
  Sync(world_.Want("q", 6));
  GiveOneByOne("p", 4, absl::Seconds(2));
  ASSERT_EQ(world_.MachinesOf("q").size(), 4u);
  Sync(world_.Want("late", 1));
  EXPECT_EQ(WaitOf("q"), std::nullopt);
  EXPECT_EQ(WaitOf("late"), std::nullopt);
}

TEST_F(ClaimReplyTest, HalfAnHourOfSteadyReleasesIsEnough) {
  world_.RegisterRack("f", "r", 40);
  Sync(world_.Want("p", 40));
  world_.Advance(absl::Minutes(5));
  Sync(world_.Want("q", 21));
  GiveOneByOne("p", 16, absl::Minutes(2));  // 37 min old: 5 are missing, which takes 10 min
  const auto wait = WaitOf("q");
  ASSERT_TRUE(wait);
  EXPECT_GT(wait->earliest, absl::Minutes(2));
  EXPECT_LT(wait->earliest, absl::Minutes(10));
  EXPECT_GT(wait->latest, absl::Minutes(10));
  EXPECT_LT(wait->latest, absl::Minutes(45));
}

TEST_F(ClaimReplyTest, WhoIsAheadWaitsLess) {
  world_.RegisterRack("f", "r", 40);
  Sync(world_.Want("p", 40));
  GiveOneByOne("p", 10, absl::Hours(1));
  Sync(world_.Want("first", 13));
  Sync(world_.Want("second", 9));
  Sync(world_.WantSpot("spot", 1));
  const auto* row =
      world_.state().FindArrivals({World::kZone, World::kType}, ComputeClass::kDefault);
  ASSERT_TRUE(WaitOf("first"));
  EXPECT_EQ(WaitOf("first"), EstimateWait(row->bursts, 3, world_.now()));
  EXPECT_EQ(WaitOf("second"), EstimateWait(row->bursts, 12, world_.now()));
}

TEST_F(ClaimReplyTest, SpotWaitsForWhatDefaultLeaves) {
  world_.RegisterRack("f", "r", 40);
  Sync(world_.Want("p", 40));
  Sync(world_.Want("q", 4));
  Sync(world_.WantSpot("s", 20));
  GiveOneByOne("p", 4, absl::Hours(1));
  EXPECT_EQ(WaitOf("s"), std::nullopt);
  GiveOneByOne("p", 10, absl::Hours(1));
  ASSERT_TRUE(WaitOf("s"));
  EXPECT_EQ(
      WaitOf("s"),
      EstimateWait(
          world_.state().FindArrivals({World::kZone, World::kType}, ComputeClass::kSpot)->bursts,
          10, world_.now()));
}

TEST_F(ClaimReplyTest, WhatIsKeptForAGangAheadNeedNotCome) {
  world_.RegisterRack("f", "r", 40);
  Sync(world_.Want("p", 40));
  GiveOneByOne("p", 10, absl::Hours(1));
  Sync(world_.WantGang("gang", 12));  // 10 are free and kept
  const auto* row =
      world_.state().FindArrivals({World::kZone, World::kType}, ComputeClass::kDefault);
  ASSERT_TRUE(WaitOf("gang"));
  EXPECT_EQ(WaitOf("gang"), EstimateWait(row->bursts, 2, world_.now()));
}

TEST_F(ClaimReplyTest, WhatIsBeingReclaimedIsNotWaitedFor) {
  world_.RegisterRack("f", "r", 40);
  Sync(world_.Want("p", 35));
  Sync(world_.WantSpot("s", 5));
  Sync(world_.Want("q", 12));  // 5 of them are reclaimed
  GiveOneByOne("p", 5, absl::Hours(1));
  const auto* row =
      world_.state().FindArrivals({World::kZone, World::kType}, ComputeClass::kDefault);
  ASSERT_TRUE(WaitOf("q"));
  EXPECT_EQ(WaitOf("q"), EstimateWait(row->bursts, 2, world_.now()));
  GiveOneByOne("p", 2, absl::Hours(1));
  ASSERT_FALSE(world_.View("q").claim.parts.empty());
  EXPECT_EQ(WaitOf("q"), std::nullopt);
}

// At best all that comes matches, at worst as many as of what there is.
TEST_F(ClaimReplyTest, WhoIsPickyMayWaitLonger) {
  world_.RegisterLabelled({"a0", "a1", "a2", "a3", "a4"}, "disk", "nvme");
  world_.RegisterRack("f", "r", 15);
  Sync(world_.Want("p", 20));
  Sync(world_.Want("plain", 15));
  GiveOneByOne("p", 15, absl::Hours(1));
  Sync(World::Where(world_.Want("picky", 2), "disk", {"nvme"}));
  ASSERT_EQ(world_.View("picky").reason, ClaimReason::kQueued);
  const auto& bursts =
      world_.state().FindArrivals({World::kZone, World::kType}, ComputeClass::kDefault)->bursts;
  const auto wait = WaitOf("picky");
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->earliest, EstimateWait(bursts, 2, world_.now())->earliest);
  EXPECT_EQ(wait->latest, EstimateWait(bursts, 8, world_.now())->latest);
}

TEST_F(ClaimReplyTest, NothingIsToldOfWhoHasAllOrCannotBeServed) {
  world_.RegisterRack("f", "r", 10);
  Sync(world_.Want("p", 10));
  GiveOneByOne("p", 5, absl::Hours(1));
  Sync(world_.Want("q", 5));
  EXPECT_EQ(WaitOf("q"), std::nullopt);
  SyncClaim picky = world_.Want("picky", 2);
  picky.affinity = {{{{{"disk", AffinityOperator::kExists, {}}}}}};
  Sync(picky);
  ASSERT_EQ(world_.View("picky").reason, ClaimReason::kNoneAvailableNodeAffinity);
  EXPECT_EQ(WaitOf("picky"), std::nullopt);
}

}  // namespace
}  // namespace muster::capacity
