#include "services/capacity/core/placement.h"

#include <algorithm>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/capacity/core/audit.h"
#include "services/capacity/core/testing/world.h"

namespace muster::capacity {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class PlacementTest : public testing::Test {
 protected:
  PlacementTest() { world_.AddCatalogue(); }
  ~PlacementTest() override { EXPECT_THAT(Audit(world_.state()), IsEmpty()); }

  std::vector<std::string> Want(const std::string& uid, int64_t nodes,
                                std::vector<MachineReturn> returns = {}) {
    const auto view = world_.Do(world_.Want(uid, nodes, std::move(returns)));
    world_.Advance(absl::Minutes(1));
    return view.ok() ? view->machines : std::vector<std::string>{};
  }
  std::vector<std::string> WantRacks(const std::string& uid, int64_t nodes,
                                     std::vector<MachineReturn> returns = {}) {
    const auto view = world_.Do(OfRacks(world_.Want(uid, nodes, std::move(returns))));
    world_.Advance(absl::Minutes(1));
    return view.ok() ? view->machines : std::vector<std::string>{};
  }
  void AddRack(const std::string& fabric, const std::string& rack,
               int count = World::kNodesPerRack) {
    world_.RegisterRack(fabric, rack, count, World::kRackType);
  }
  static SyncClaim OfRacks(SyncClaim claim) {
    claim.instance_type = World::kRackType;
    return claim;
  }
  static void AppendRack(const std::string& fabric, const std::string& rack, const Labels& labels,
                         std::vector<MachineRow>& machines) {
    for (int32_t slot = 0; slot < World::kNodesPerRack; ++slot) {
      machines.push_back(
          World::Machine(absl::StrCat(rack, "-", slot), fabric, rack, slot, World::kRackType));
      machines.back().labels = labels;
    }
  }
  void AddLabelledRack(const std::string& fabric, const std::string& rack, const Labels& labels) {
    std::vector<MachineRow> machines;
    AppendRack(fabric, rack, labels, machines);
    world_.Register(std::move(machines));
  }

  World world_;
};

TEST_F(PlacementTest, TakesTheTightestFabricThatHoldsThePoolWhole) {
  world_.RegisterRack("f1", "a", 4);
  world_.RegisterRack("f2", "b", 2);
  world_.RegisterRack("f3", "c", 3);
  EXPECT_THAT(Want("p", 2), ElementsAre("b-0", "b-1"));
  EXPECT_THAT(Want("q", 3), ElementsAre("c-0", "c-1", "c-2"));
}

TEST_F(PlacementTest, SpansTheRoomiestFabricsWhenNoneHoldsItWhole) {
  world_.RegisterRack("f1", "a", 2);
  world_.RegisterRack("f2", "b", 3);
  world_.RegisterRack("f3", "c", 2);
  EXPECT_THAT(Want("p", 5), ElementsAre("a-0", "a-1", "b-0", "b-1", "b-2"));
}

TEST_F(PlacementTest, StaysOnTheFabricThatThePoolUses) {
  world_.RegisterRack("f1", "a", 4);
  world_.RegisterRack("f2", "b", 2);
  EXPECT_THAT(Want("p", 3), ElementsAre("a-0", "a-1", "a-2"));
  EXPECT_THAT(Want("p", 4), ElementsAre("a-0", "a-1", "a-2", "a-3"));
  EXPECT_THAT(Want("p", 5), ElementsAre("a-0", "a-1", "a-2", "a-3", "b-0"));
}

TEST_F(PlacementTest, PrefersTheFabricWithMostOfThePool) {
  world_.RegisterRack("f1", "a", 1);
  world_.RegisterRack("f2", "b", 2);
  EXPECT_EQ(Want("p", 3).size(), 3u);
  world_.Register({World::Machine("new-1", "f1", "a", 7), World::Machine("new-2", "f2", "b", 7)});
  EXPECT_THAT(Want("p", 4), ElementsAre("a-0", "b-0", "b-1", "new-2"));
}

TEST_F(PlacementTest, FillsRacks) {
  world_.RegisterRack("f1", "a", 4);
  world_.RegisterRack("f1", "b", 2);
  // The tightest rack first; then the pool's own.
  EXPECT_THAT(Want("p", 1), ElementsAre("b-0"));
  EXPECT_THAT(Want("p", 2), ElementsAre("b-0", "b-1"));
  EXPECT_THAT(Want("q", 1), ElementsAre("a-0"));
  EXPECT_THAT(Want("r", 1), ElementsAre("a-1"));
  // q goes on beside itself.
  EXPECT_THAT(Want("q", 2), ElementsAre("a-0", "a-2"));
}

TEST_F(PlacementTest, LowestSlotThenId) {
  world_.Register({World::Machine("z", "f", "r", 0), World::Machine("b", "f", "r", 1),
                   World::Machine("a", "f", "r", 1)});
  EXPECT_THAT(Want("p", 1), ElementsAre("z"));
  EXPECT_THAT(Want("p", 2), ElementsAre("a", "z"));
}

TEST_F(PlacementTest, TiesGoToTheLowerName) {
  world_.RegisterRack("f2", "b", 2);
  world_.RegisterRack("f1", "d", 1);
  world_.RegisterRack("f1", "c", 1);
  EXPECT_THAT(Want("p", 1), ElementsAre("c-0"));
  EXPECT_THAT(Want("q", 2), ElementsAre("b-0", "b-1"));
}

TEST_F(PlacementTest, WholeRacksOnly) {
  AddRack("f1", "a", World::kNodesPerRack - 1);
  EXPECT_THAT(WantRacks("p", 4), IsEmpty());
  EXPECT_EQ(world_.View("p").reason, ClaimReason::kNoneAvailable);
  AddRack("f1", "b");
  EXPECT_THAT(world_.MachinesOf("p"), ElementsAre("b-0", "b-1", "b-2", "b-3"));
  // The missing machine makes the other rack whole.
  EXPECT_THAT(WantRacks("q", 4), IsEmpty());
  world_.Register({World::Machine("a-3", "f1", "a", 3, World::kRackType)});
  EXPECT_THAT(world_.MachinesOf("q"), ElementsAre("a-0", "a-1", "a-2", "a-3"));
}

TEST_F(PlacementTest, ASpareThatIsNeverGrantedIsWaitedForByNobody) {
  AddRack("f1", "a", World::kNodesPerRack + 1);
  EXPECT_EQ(WantRacks("p", 8).size(), 4u);
  EXPECT_EQ(world_.View("p").reason, ClaimReason::kPartial);
}

// A rack may have more machines than are granted of it.
TEST_F(PlacementTest, ASpareOfItsOwnRackBreaksUpNoRacksWorth) {
  AddRack("f1", "a", World::kNodesPerRack + 1);
  AddRack("f1", "b", World::kNodesPerRack + 1);
  EXPECT_EQ(WantRacks("p", 4).size(), 4u);
  EXPECT_EQ(WantRacks("p", 8).size(), 8u);
  // One that is lost is replaced by it.
  EXPECT_EQ(WantRacks("p", 8, {{"a-0", ReturnReason::kBroken}}).size(), 8u);
  EXPECT_EQ(world_.View("p").reason, ClaimReason::kSufficient);
  // And what is less than a rack is better than nothing.
  EXPECT_EQ(WantRacks("p", 9).size(), 9u);
}

TEST_F(PlacementTest, WhatARackHasLostIsMadeUpForBeforeASpareIsTaken) {
  AddRack("f1", "a");
  AddRack("f1", "b");
  EXPECT_EQ(WantRacks("p", 8).size(), 8u);
  EXPECT_EQ(
      WantRacks("p", 6, {{"b-0", ReturnReason::kBroken}, {"b-1", ReturnReason::kBroken}}).size(),
      6u);
  // Each a request of its own.
  EXPECT_EQ(WantRacks("p", 7).size(), 6u);
  EXPECT_EQ(WantRacks("p", 8).size(), 6u);
  world_.Register({World::Machine("a-4", "f1", "a", 4, World::kRackType),
                   World::Machine("b-4", "f1", "b", 4, World::kRackType),
                   World::Machine("b-5", "f1", "b", 5, World::kRackType)});
  EXPECT_THAT(world_.MachinesOf("p"),
              ElementsAre("a-0", "a-1", "a-2", "a-3", "b-2", "b-3", "b-4", "b-5"));
}

TEST_F(PlacementTest, LessThanARackIsNotGranted) {
  AddRack("f1", "a");
  AddRack("f1", "b");
  EXPECT_EQ(WantRacks("p", 6).size(), 4u);
  EXPECT_EQ(world_.View("p").claim.parts[0].nodes, 2);
  EXPECT_EQ(WantRacks("q", 4).size(), 4u)
      << "a claim that cannot use a whole rack must not hold up the next";
}

TEST_F(PlacementTest, ARackComesAtTheTurnOfThePartThatCompletesIt) {
  WantRacks("p", 2);
  WantRacks("q", 4);
  WantRacks("p", 4);
  AddRack("f1", "a");
  EXPECT_EQ(world_.MachinesOf("q").size(), 4u);
  AddRack("f1", "b");
  EXPECT_EQ(world_.MachinesOf("p").size(), 4u);
}

TEST_F(PlacementTest, WhatWasGrantedDoesNotCountForTheNextRack) {
  WantRacks("p", 4);
  WantRacks("p", 6);
  std::vector<MachineRow> machines;
  for (const char* rack : {"a", "b"}) AppendRack("f1", rack, {}, machines);
  world_.Register(machines);
  EXPECT_THAT(world_.MachinesOf("p"), ElementsAre("a-0", "a-1", "a-2", "a-3"));
  EXPECT_EQ(world_.View("p").claim.parts[0].nodes, 2);
}

TEST_F(PlacementTest, ARackThatSeveralClaimsHoldIsNotCompleted) {
  InstanceTypeRow type = *world_.state().FindInstanceType(World::kRackType);
  type.nodes_per_rack = 0;
  world_.Do(UpdateInstanceType{type});
  AddRack("f1", "a");
  EXPECT_THAT(WantRacks("p", 1), ElementsAre("a-0"));
  EXPECT_THAT(WantRacks("q", 2), ElementsAre("a-1", "a-2"));
  type.nodes_per_rack = World::kNodesPerRack;
  world_.Do(UpdateInstanceType{type});
  EXPECT_THAT(WantRacks("p", 2), ElementsAre("a-0"));
  EXPECT_THAT(
      WantRacks("q", 0, {{"a-1", ReturnReason::kReleased}, {"a-2", ReturnReason::kReleased}}),
      IsEmpty());
  EXPECT_THAT(world_.MachinesOf("p"), ElementsAre("a-0", "a-1")) << "now it is p's alone";
}

TEST_F(PlacementTest, RacksStayOnOneFabric) {
  AddRack("f1", "a");
  AddRack("f2", "b");
  AddRack("f2", "c");
  AddRack("f2", "d");
  EXPECT_EQ(WantRacks("p", 8),
            (std::vector<std::string>{"b-0", "b-1", "b-2", "b-3", "c-0", "c-1", "c-2", "c-3"}));
  EXPECT_EQ(WantRacks("q", 4), (std::vector<std::string>{"a-0", "a-1", "a-2", "a-3"}))
      << "the tightest fabric";
  EXPECT_EQ(WantRacks("p", 12).back(), "d-3");
}

// Whoever waits for less than a rack goes on waiting beside whole ones.
TEST_F(PlacementTest, RacksThatFewerWaitForGoFirst) {
  const Labels labels = {{"disk", "nvme"}, {"net", "ib"}};
  AddLabelledRack("f1", "a", labels);
  AddLabelledRack("f2", "b", {*labels.begin()});
  AddRack("f1", "c");
  for (const auto& [key, value] : labels)
    (void)world_.Do(OfRacks(World::Where(world_.Want(key, 1), key, {value})));
  EXPECT_EQ(WantRacks("p", 8),
            (std::vector<std::string>{"b-0", "b-1", "b-2", "b-3", "c-0", "c-1", "c-2", "c-3"}))
      << "its own fabric comes after that";
  EXPECT_EQ(WantRacks("p", 12).front(), "a-0");
}

// Looking at them all anew for every rack would take many minutes.
TEST_F(PlacementTest, ThousandsOfRacksAreGrantedAtOnce) {
  constexpr int kRacks = 10'000;
  constexpr int kWaiting = 40;
  constexpr int64_t kHalf = int64_t{kRacks} / 2 * World::kNodesPerRack;
  std::vector<MachineRow> machines;
  for (int rack = 0; rack < kRacks; ++rack) {
    const Labels labels = rack % 2 == 0 ? Labels() : Labels{{"disk", "nvme"}};
    AppendRack(absl::StrCat("f", rack / 2 % 10), absl::StrCat("r", rack), labels, machines);
  }
  world_.Register(std::move(machines));
  SyncClaims waiting;
  for (int i = 0; i < kWaiting; ++i) {
    waiting.claims.push_back(OfRacks(World::Where(world_.Want(absl::StrCat("waits", i), 1), "disk",
                                                  {"nvme", absl::StrCat("d", i)})));
  }
  (void)world_.Do(waiting);
  const std::vector<std::string> first = WantRacks("first", kHalf);
  EXPECT_EQ(std::ssize(first), kHalf);
  EXPECT_TRUE(std::all_of(first.begin(), first.end(), [&](const std::string& id) {
    return world_.state().FindMachine(id)->labels.empty();
  }));
  EXPECT_EQ(std::ssize(WantRacks("second", kHalf)), kHalf);
}

// Racks are chosen in one way while nobody waits with an affinity, and in another while somebody
// does.
TEST_F(PlacementTest, WhoWaitsForNoneOfTheRacksChangesNoChoice) {
  for (uint32_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    World alone;
    World beside;
    for (World* world : {&alone, &beside}) world->AddCatalogue();
    for (int rack = 0; rack < 12; ++rack) {
      const std::string fabric = absl::StrCat("f", random() % 3);
      for (World* world : {&alone, &beside})
        world->RegisterRack(fabric, absl::StrCat("r", rack), World::kNodesPerRack,
                            World::kRackType);
    }
    (void)beside.Do(OfRacks(World::Where(beside.Want("waits", 1), "disk", {"none"})));
    for (int step = 0; step < 8; ++step) {
      const std::string uid = absl::StrCat("p", random() % 3);
      const auto nodes = static_cast<int64_t>(random() % 7) * World::kNodesPerRack;
      for (World* world : {&alone, &beside}) {
        world->Advance(absl::Minutes(1));
        ASSERT_TRUE(world->Do(OfRacks(world->Want(uid, nodes))).ok());
      }
      EXPECT_EQ(alone.MachinesOf(uid), beside.MachinesOf(uid));
    }
  }
}

TEST_F(PlacementTest, ARepairedMachineGoesBackToTheClaimThatHoldsItsRack) {
  AddRack("f1", "a");
  WantRacks("p", 4);
  WantRacks("q", 4);
  EXPECT_EQ(WantRacks("p", 4, {{"a-1", ReturnReason::kBroken}}).size(), 3u);
  ASSERT_TRUE(world_.Do(SetMachineState{"a-1", MachineState::kFree}).ok());
  EXPECT_EQ(world_.MachinesOf("p").size(), 4u);
  EXPECT_THAT(world_.MachinesOf("q"), IsEmpty());
}

TEST_F(PlacementTest, AFreeMachineOfAHeldRackIsNotForOthers) {
  AddRack("f1", "a");
  WantRacks("p", 4);
  WantRacks("q", 4);
  WantRacks("p", 3, {{"a-1", ReturnReason::kReleased}});
  EXPECT_EQ(world_.StateOf("a-1"), MachineState::kFree);
  EXPECT_THAT(world_.MachinesOf("q"), IsEmpty());
  EXPECT_EQ(WantRacks("p", 4).size(), 4u);
}

TEST_F(PlacementTest, NodesPerRackCanChange) {
  AddRack("f1", "a", 3);
  EXPECT_THAT(WantRacks("p", 3), IsEmpty());
  InstanceTypeRow type = *world_.state().FindInstanceType(World::kRackType);
  type.nodes_per_rack = 3;
  world_.Do(UpdateInstanceType{type});
  EXPECT_EQ(world_.MachinesOf("p").size(), 3u);
}

}  // namespace
}  // namespace muster::capacity
