#include "services/capacity/core/arrivals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/capacity/core/audit.h"
#include "services/capacity/core/testing/world.h"

namespace muster::capacity {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(seconds); }

TEST(ArriveTest, TheRecordBeginsWhereTheFirstWouldHaveBeenSeen) {
  std::vector<Burst> bursts;
  Arrive(bursts, 3, At(100), At(160));
  EXPECT_THAT(bursts, ElementsAre(Burst{At(100), 0}, Burst{At(160), 3}));
  // What it says of later ones is known already.
  Arrive(bursts, 1, At(0), At(300));
  EXPECT_THAT(bursts, ElementsAre(Burst{At(100), 0}, Burst{At(160), 3}, Burst{At(300), 1}));
}

TEST(ArriveTest, WhatComesWithinHalfTheUsualTimeIsOneBurst) {
  std::vector<Burst> bursts = {{At(0), 0}, {At(100), 1}};
  Arrive(bursts, 2, At(0), At(130));
  Arrive(bursts, 3, At(0), At(150));
  EXPECT_THAT(bursts, ElementsAre(Burst{At(0), 0}, Burst{At(100), 6}));
  // Counted from its first machine, so that it comes to an end however steadily they come.
  Arrive(bursts, 1, At(0), At(151));
  EXPECT_THAT(bursts, ElementsAre(Burst{At(0), 0}, Burst{At(100), 6}, Burst{At(151), 1}));
  Arrive(bursts, 1, At(0), At(188));  // 75 s is usual by now
  EXPECT_EQ(bursts.back(), (Burst{At(151), 2}));
}

TEST(ArriveTest, TheOldestAreForgotten) {
  std::vector<Burst> bursts;
  for (int64_t i = 1; i <= 100; ++i) Arrive(bursts, i, At(0), At(100 * i));
  ASSERT_EQ(bursts.size(), kKeptBursts + 1);
  EXPECT_EQ(bursts.front(), (Burst{At(8'000), 80}));
  EXPECT_EQ(bursts.back(), (Burst{At(10'000), 100}));
}

class ArrivalsTest : public ::testing::Test {
 protected:
  ArrivalsTest() { world_.AddCatalogue(); }
  void Sync(const SyncClaim& claim) {
    ASSERT_TRUE(world_.Do(claim).ok());
    EXPECT_THAT(Audit(world_.state()), IsEmpty());
  }
  void Give(const std::string& uid, int64_t nodes, const std::vector<std::string>& machines,
            ReturnReason reason = ReturnReason::kReleased) {
    Sync(world_.Want(uid, nodes, World::Returns(machines, reason)));
  }
  std::vector<Burst> Bursts(ComputeClass compute_class = ComputeClass::kDefault) {
    const ArrivalsRow* row =
        world_.state().FindArrivals({World::kZone, World::kType}, compute_class);
    return row == nullptr ? std::vector<Burst>() : row->bursts;
  }

  World world_;
};

TEST_F(ArrivalsTest, MachinesGivenBackCountWhoeverGetsThem) {
  world_.RegisterRack("f", "r", 4);
  const absl::Time granted = world_.now();
  Sync(world_.Want("p", 4));
  EXPECT_THAT(Bursts(), IsEmpty());
  world_.Advance(absl::Hours(1));
  Sync(world_.Want("q", 1));
  Give("p", 2, {"r-0", "r-1"});  // one goes to q, one stays free
  const absl::Time given = world_.now();
  EXPECT_THAT(Bursts(), ElementsAre(Burst{granted, 0}, Burst{given, 2}));
  world_.Advance(absl::Hours(1));
  Give("q", 0, world_.MachinesOf("q"), ReturnReason::kPreempted);
  EXPECT_THAT(Bursts(), ElementsAre(Burst{granted, 0}, Burst{given, 2}, Burst{world_.now(), 1}));
}

TEST_F(ArrivalsTest, NewMachinesCountIfSomebodyWaited) {
  world_.RegisterRack("f", "r", 2);
  const absl::Time asked = world_.now();
  Sync(world_.Want("p", 3));
  EXPECT_THAT(Bursts(), IsEmpty());
  world_.Advance(absl::Hours(1));
  world_.RegisterRack("f", "s", 2);  // one of them is not wanted
  EXPECT_THAT(Bursts(), ElementsAre(Burst{asked, 0}, Burst{world_.now(), 1}));
}

TEST_F(ArrivalsTest, WhatIsRepairedOrMovedIsNothingNew) {
  world_.RegisterRack("f", "r", 2);
  Sync(world_.Want("p", 2));
  Sync(world_.Want("q", 1));
  world_.Advance(absl::Hours(1));
  Give("p", 2, {"r-0"}, ReturnReason::kBroken);
  ASSERT_TRUE(world_.Do(SetMachineState{"r-0", MachineState::kFree}).ok());
  EXPECT_EQ(world_.StateOf("r-0"), MachineState::kHeld);
  world_.Register({World::Machine("r-1", "f", "another", 7)});
  EXPECT_THAT(Bursts(), IsEmpty());
}

TEST_F(ArrivalsTest, SpotCountsWhatDefaultClaimsLeave) {
  world_.RegisterRack("f", "r", 3);
  const absl::Time granted = world_.now();
  Sync(world_.Want("p", 3));
  world_.Advance(absl::Hours(1));
  Sync(world_.WantSpot("s", 5));
  Sync(world_.Want("q", 1));
  Give("p", 1, {"r-0", "r-1"});  // one goes to q, one to s
  EXPECT_THAT(Bursts(), ElementsAre(Burst{granted, 0}, Burst{world_.now(), 2}));
  EXPECT_THAT(Bursts(ComputeClass::kSpot), ElementsAre(Burst{granted, 0}, Burst{world_.now(), 1}));
}

TEST_F(ArrivalsTest, ADecisionChangesOneRowAClassAndOnlyIfMachinesCame) {
  world_.RegisterRack("f", "r", 8);
  Sync(world_.Want("p", 4));
  Sync(world_.Want("q", 4));
  world_.Advance(absl::Hours(1));
  const auto rows = [&] {
    return std::count_if(world_.changes().begin(), world_.changes().end(), [](const auto& change) {
      return change.change.kind() == ArrivalsRow::kKind;
    });
  };
  EXPECT_EQ(rows(), 0);
  const auto all = [](const std::string& rack, int from) {
    std::vector<MachineReturn> returns;
    for (int i = from; i < from + 4; ++i) returns.push_back({absl::StrCat(rack, "-", i)});
    return returns;
  };
  world_.Do(SyncClaims{{world_.Want("p", 0, all("r", 0)), world_.Want("q", 0, all("r", 4))}});
  EXPECT_EQ(rows(), 2);
  EXPECT_EQ(Bursts().back(), (Burst{world_.now(), 8}));
}

}  // namespace
}  // namespace muster::capacity
