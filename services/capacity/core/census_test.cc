#include "services/capacity/core/census.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/capacity/core/grants.h"
#include "services/capacity/core/testing/world.h"
#include "services/common/testing/fake_memory.h"

namespace muster::capacity {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class CensusTest : public ::testing::Test {
 protected:
  CensusTest() { world_.AddCatalogue(); }
  void Sync(const SyncClaim& claim) { ASSERT_TRUE(world_.Do(claim).ok()); }
  Census Count() const { return CensusOf(FakeMemory(world_.state())); }

  World world_;
  const CensusKey default_{World::kZone, World::kType, ComputeClass::kDefault};
  const CensusKey spot_{World::kZone, World::kType, ComputeClass::kSpot};
};

TEST_F(CensusTest, OfNothingIsEmpty) {
  EXPECT_THAT(Count().machines, IsEmpty());
  EXPECT_THAT(Count().claims, IsEmpty());
}

TEST_F(CensusTest, MachinesByState) {
  world_.Register({World::Machine("m1"), World::Machine("m2"), World::Machine("m3")});
  Sync(world_.Want("d", 1));
  const Census census = Count();
  const MachineCounts& counts = census.machines.at({World::kZone, World::kType});
  EXPECT_EQ(counts.count(MachineState::kFree), 2);
  EXPECT_EQ(counts.count(MachineState::kHeld), 1);
  EXPECT_EQ(counts.registered(), 3);
}

TEST_F(CensusTest, ClaimsThatWaitAndSinceWhen) {
  const absl::Time first = world_.now();
  world_.Register({World::Machine("m1")});
  Sync(world_.Want("served", 1));
  Sync(world_.Want("old", 2));
  world_.Advance(absl::Minutes(5));
  Sync(world_.Want("young", 3));
  EXPECT_THAT(Count().claims, ElementsAre(Pair(default_, ClaimCount{3, 2, 5, first})));
}

TEST_F(CensusTest, AServedQueueIsShownWithNobodyInIt) {
  Sync(world_.Want("d", 1));
  world_.Register({World::Machine("m1")});
  EXPECT_THAT(Count().claims, ElementsAre(Pair(default_, ClaimCount{.claims = 1})));
}

TEST_F(CensusTest, ClassesWaitApart) {
  Sync(world_.Want("d", 1));
  Sync(world_.WantSpot("s", 4));
  const auto claims = Count().claims;
  EXPECT_EQ(claims.at(default_).nodes, 1);
  EXPECT_EQ(claims.at(spot_).nodes, 4);
}

// A gang whose last machine is in repair waits beside free ones, and so does who wants others.
TEST_F(CensusTest, WhoWaitsThoughEnoughMachinesThatMatchAreFree) {
  world_.RegisterSome(4, {{"disk", "hdd"}});
  world_.RegisterSome(1, {{"disk", "nvme"}});
  Sync(World::Where(world_.Want("n", 1), "disk", {"nvme"}));
  Sync(World::Where(world_.Want("m", 2), "disk", {"nvme"}));
  EXPECT_EQ(Count().claims.at(default_).nodes, 2);
  EXPECT_EQ(Count().claims.at(default_).servable, 0) << "those that are free do not match";
  const auto wants_racks = [&](const std::string& uid) {
    return World::OfRacks(world_.Want(uid, World::kNodesPerRack));
  };
  world_.RegisterRack("f", "r1", 3, World::kRackType);
  Sync(wants_racks("a"));
  const CensusKey racks{World::kZone, World::kRackType, ComputeClass::kDefault};
  EXPECT_EQ(Count().claims.at(racks).servable, 0) << "too few are free";
  world_.RegisterRack("f", "r2", 3, World::kRackType);
  EXPECT_EQ(Count().claims.at(racks).servable, World::kNodesPerRack);
  world_.Do(UpdateZone{{.id = World::kZone}});
  EXPECT_EQ(Count().claims.at(racks).servable, 0) << "the type is no longer offered";
}

// A pool of a type that there is not waits too, and names it as it likes.
TEST_F(CensusTest, WhatIsNotInTheCatalogueIsOther) {
  for (const char* type : {"made-up-1", "made-up-2"}) {
    SyncClaim claim = world_.Want(type, 1);
    claim.instance_type = type;
    Sync(claim);
  }
  SyncClaim elsewhere = world_.Want("elsewhere", 1);
  elsewhere.zone = "US-MADEUP-01A";
  Sync(elsewhere);
  const Census census = Count();
  EXPECT_THAT(
      census.claims,
      ElementsAre(Pair(CensusKey{World::kZone, "other"}, ClaimCount{2, 2, 2, world_.now()}),
                  Pair(CensusKey{"other", World::kType}, ClaimCount{1, 1, 1, world_.now()})));
  EXPECT_THAT(census.machines,
              ElementsAre(Pair(InventoryKey{World::kZone, "other"}, MachineCounts()),
                          Pair(InventoryKey{"other", World::kType}, MachineCounts())));
}

// How long a machine's Node was waited for.
TEST_F(CensusTest, AGrantTellsHowLongItWasWaitedFor) {
  Sync(world_.Want("d", 1));
  const ClaimRow claim = *world_.state().FindClaim("d");
  world_.Advance(absl::Minutes(7));
  MachineRow free = World::Machine("m1");
  world_.Register({free});
  const MachineRow held = *world_.state().FindMachine("m1");
  EXPECT_TRUE(IsGrant(free, held));
  EXPECT_EQ(WaitOf(held, claim), absl::Minutes(7));
  EXPECT_FALSE(IsGrant(held, held));
  EXPECT_FALSE(IsGrant(held, free));
  // One that was earmarked may change hands at once.
  MachineRow another = held;
  another.claim = "s";
  EXPECT_TRUE(IsGrant(another, held));
}

// While the machine was there that broke, nobody waited.
TEST_F(CensusTest, AReplacementIsWaitedForSinceTheLoss) {
  world_.RegisterSome(2);
  Sync(world_.Want("d", 2));
  world_.Advance(absl::Hours(90 * 24));
  const absl::Time lost = world_.now();
  Sync(world_.Want("d", 2, World::Returns({"m0"}, ReturnReason::kBroken)));
  EXPECT_EQ(Count().claims.at(default_).oldest, lost);
  world_.Advance(absl::Minutes(5));
  Sync(world_.Want("d", 2, World::Returns({"m1"}, ReturnReason::kBroken)));
  EXPECT_EQ(Count().claims.at(default_).oldest, lost) << "of the first of them";
  const ClaimRow claim = *world_.state().FindClaim("d");
  world_.RegisterSome(2);
  EXPECT_EQ(WaitOf(*world_.state().FindMachine("m2"), claim), absl::Minutes(5));
  EXPECT_THAT(world_.state().FindClaim("d")->lost, IsEmpty());
}

// What was lost before, and is wanted no more, is no reason to count from then.
TEST_F(CensusTest, ALaterLossIsWaitedForSinceItself) {
  world_.RegisterSome(3);
  Sync(world_.Want("d", 3));
  world_.Advance(absl::Hours(1));
  Sync(world_.Want("d", 3, World::Returns({"m0"}, ReturnReason::kBroken)));
  Sync(world_.Want("d", 2));
  world_.Advance(absl::Hours(1));
  const absl::Time lost = world_.now();
  Sync(world_.Want("d", 2, World::Returns({"m1"}, ReturnReason::kBroken)));
  EXPECT_EQ(Count().claims.at(default_).oldest, lost);
}

// Of a request of which one Node never came the other one is no reason to count anew.
TEST_F(CensusTest, WhatNeverCameIsWaitedForSinceTheRequest) {
  world_.RegisterSome(1);
  const absl::Time asked = world_.now();
  Sync(world_.Want("d", 2));
  world_.Advance(absl::Hours(5));
  Sync(world_.Want("d", 2, World::Returns({"m0"}, ReturnReason::kBroken)));
  EXPECT_EQ(Count().claims.at(default_).oldest, asked);
}

}  // namespace
}  // namespace muster::capacity
