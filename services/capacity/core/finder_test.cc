#include "services/capacity/core/finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "services/capacity/core/explain.h"
#include "services/capacity/core/testing/world.h"

namespace muster::capacity {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Label = Availability;

PlacementRequest Ask(int64_t nodes, ComputeClass compute_class = ComputeClass::kDefault,
                     const std::string& type = World::kType) {
  return {type, nodes, compute_class};
}

// A world with one zone, to which tests add machines and claims.
class Scene {
 public:
  Scene() { world_.AddCatalogue(); }

  void Machines(int count, const Labels& labels = {}) { world_.RegisterSome(count, labels); }
  void Claim(const std::string& uid, int64_t nodes, std::function<void(SyncClaim&)> change = {}) {
    SyncClaim claim = world_.Want(uid, nodes);
    if (change) change(claim);
    EXPECT_TRUE(world_.Do(claim).ok());
    world_.Advance(absl::Minutes(1));
  }
  World& world() { return world_; }

 private:
  World world_;
};

void Spot(SyncClaim& claim) { claim.compute_class = ComputeClass::kSpot; }
void Gang(SyncClaim& claim) { claim.gang = true; }
void Picky(SyncClaim& claim) { claim.affinity = {{{{{"disk", AffinityOperator::kExists, {}}}}}}; }

struct Case {
  const char* name = "";
  std::function<void(Scene&)> set_up = {};
  std::vector<PlacementRequest> requests = {};
  std::vector<Label> labels = {};  // of the requests
};

const Case kCases[] = {
    {"FreeForAll", [](Scene& s) { s.Machines(3); }, {Ask(3)}, {Label::kLikely}},
    {"FreeForAllAsSpot",
     [](Scene& s) { s.Machines(3); },
     {Ask(3, ComputeClass::kSpot)},
     {Label::kLikely}},
    {"FreeForSome", [](Scene& s) { s.Machines(3); }, {Ask(4)}, {Label::kLimited}},
    {"NothingThere", [](Scene&) {}, {Ask(1)}, {Label::kNotAvailable}},
    {"HeldButEnoughInService",
     [](Scene& s) {
       s.Machines(3);
       s.Claim("p", 3);
     },
     {Ask(3)},
     {Label::kLimited}},
    {"HeldAndTooFewInService",
     [](Scene& s) {
       s.Machines(3);
       s.Claim("p", 3);
     },
     {Ask(4)},
     {Label::kNotAvailable}},
    {"SpotGivesWay",
     [](Scene& s) {
       s.Machines(3);
       s.Claim("p", 2, Spot);
     },
     {Ask(3)},
     {Label::kPossibly}},
    {"SpotDoesNotGiveWayToSpot",
     [](Scene& s) {
       s.Machines(3);
       s.Claim("p", 2, Spot);
     },
     {Ask(3, ComputeClass::kSpot)},
     {Label::kLimited}},
    {"SpotGivesWayForSome",
     [](Scene& s) {
       s.Machines(3);
       s.Claim("p", 3, Spot);
     },
     {Ask(4)},
     {Label::kLimited}},
    {"InRepairIsNotInService",
     [](Scene& s) {
       s.Machines(1);
       (void)s.world().Do(SetMachineState{"m0", MachineState::kInRepair});
     },
     {Ask(1)},
     {Label::kNotAvailable}},
    {"ARequestTakesFromTheNext",
     [](Scene& s) { s.Machines(5); },
     {Ask(3), Ask(3)},
     {Label::kLikely, Label::kLimited}},
    {"WhatOneTakesIsNotThereForTheNextOnceGivenBackEither",
     [](Scene& s) {
       s.Machines(5);
       s.Claim("p", 5);
     },
     {Ask(3), Ask(2), Ask(1)},
     {Label::kLimited, Label::kLimited, Label::kNotAvailable}},
    {"RequestsAreServedInTheirOrder",
     [](Scene& s) { s.Machines(3); },
     {Ask(3, ComputeClass::kSpot), Ask(3)},
     {Label::kLikely, Label::kNotAvailable}},
    {"ReclaimsAreTakenOnce",
     [](Scene& s) {
       s.Machines(3);
       s.Claim("p", 3, Spot);
     },
     {Ask(2), Ask(2)},
     {Label::kPossibly, Label::kLimited}},
    {"WhoWaitsForOtherMachinesIsNotInTheWay",
     [](Scene& s) {
       s.Machines(3);
       s.Claim("p", 9, Picky);
     },
     {Ask(3)},
     {Label::kLikely}},
    {"WhatIsKeptForAGangIsOutOfReach",
     [](Scene& s) {
       s.Machines(2);
       s.Claim("p", 2);
       s.Machines(3);
       s.Claim("gang", 5, Gang);
     },
     {Ask(1)},
     {Label::kLimited}},
    {"WhatAGangDoesNotMatchCanBeReclaimed",
     [](Scene& s) {
       s.Machines(1, {{"disk", "nvme"}});
       s.Claim("p", 1, Picky);
       s.Machines(1, {{"disk", "nvme"}});
       s.Machines(2);
       s.Claim("spot", 3, Spot);
       s.Claim("gang", 2, [](SyncClaim& claim) {
         Gang(claim);
         Picky(claim);
       });
     },
     {Ask(2), Ask(1)},
     {Label::kPossibly, Label::kLimited}},
    {"WholeRacksCount",
     [](Scene& s) {
       s.world().RegisterRack("f", "r1", 4, World::kRackType);
       s.world().RegisterRack("f", "r2", 4, World::kRackType);
     },
     {Ask(8, ComputeClass::kDefault, World::kRackType)},
     {Label::kLikely}},
    {"BrokenRacksDoNotCount",
     [](Scene& s) {
       s.world().RegisterRack("f", "r1", 4, World::kRackType);
       s.world().RegisterRack("f", "r2", 3, World::kRackType);
       s.world().RegisterRack("f", "r3", 3, World::kRackType);
     },
     {Ask(8, ComputeClass::kDefault, World::kRackType)},
     {Label::kLimited}},
    {"NoRackIsWhole",
     [](Scene& s) { s.world().RegisterRack("f", "r1", 3, World::kRackType); },
     {Ask(4, ComputeClass::kDefault, World::kRackType)},
     {Label::kNotAvailable}},
    {"EnoughMachinesAndNoWholeRack",
     [](Scene& s) {
       s.world().RegisterRack("f", "r1", 3, World::kRackType);
       s.world().RegisterRack("f", "r2", 3, World::kRackType);
     },
     {Ask(4, ComputeClass::kDefault, World::kRackType)},
     {Label::kNotAvailable}},
    {"ARackThatIsRepairedIsWhole",
     [](Scene& s) {
       s.world().RegisterRack("f", "r1", 4, World::kRackType);
       s.Claim("p", 4, [](SyncClaim& claim) { claim.instance_type = World::kRackType; });
       s.Claim("p", 4, [](SyncClaim& claim) {
         claim.instance_type = World::kRackType;
         claim.returns = {{"r1-0", ReturnReason::kBroken}};
       });
     },
     {Ask(4, ComputeClass::kDefault, World::kRackType)},
     {Label::kLimited}},
    {"RacksAreNotOfferedAsSpot",
     [](Scene& s) { s.world().RegisterRack("f", "r1", 4, World::kRackType); },
     {Ask(4, ComputeClass::kSpot, World::kRackType)},
     {Label::kSkuUnavailable}},
    {"TheZoneDoesNotOfferTheType",
     [](Scene& s) {
       s.Machines(3);
       s.world().Do(UpdateZone{{.id = World::kZone}});
     },
     {Ask(1)},
     {Label::kSkuUnavailable}},
    {"NoSpotInADedicatedZone",
     [](Scene& s) {
       s.Machines(3);
       s.world().Do(UpdateZone{{World::kZone, ZoneAccess::kDedicated, {World::kType}}});
     },
     {Ask(1, ComputeClass::kSpot), Ask(1)},
     {Label::kSkuUnavailable, Label::kLikely}},
};

class FinderTest : public ::testing::TestWithParam<Case> {};

TEST_P(FinderTest, Labels) {
  Scene scene;
  GetParam().set_up(scene);
  const std::vector<ZonePlacements> zones =
      FindPlacements(scene.world().state(), {GetParam().requests, {}});
  ASSERT_EQ(zones.size(), 1u);
  std::vector<Label> labels;
  for (const Placement& placement : zones[0].placements) labels.push_back(placement.availability);
  EXPECT_EQ(labels, GetParam().labels);
  EXPECT_EQ(zones[0].availability, *std::max_element(labels.begin(), labels.end()));
}

INSTANTIATE_TEST_SUITE_P(Cases, FinderTest, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

TEST(FinderNumbersTest, EachRequestIsToldWhatIsThereForIt) {
  Scene scene;
  scene.Machines(10);
  scene.Claim("spot", 4, Spot);
  scene.Claim("picky", 7, Picky);
  scene.Claim("high", 2, [](SyncClaim& c) {
    Picky(c);
    c.priority = 5;
  });
  const auto zones =
      FindPlacements(scene.world().state(), {{Ask(5), Ask(3), Ask(1, ComputeClass::kSpot)}, {}});
  ASSERT_EQ(zones.size(), 1u);
  EXPECT_THAT(zones[0].placements, ElementsAre(Placement{6, 4, 9, 10, Label::kLikely},
                                               Placement{1, 4, 9, 10, Label::kPossibly},
                                               Placement{0, 0, 9, 10, Label::kLimited}));
  EXPECT_EQ(zones[0].availability, Label::kLimited);
}

// Zones Z-{A,B,...} with that many machines each.
World Zones(const std::vector<int>& machines) {
  World world;
  world.AddCatalogue();
  world.Do(UpdateZone{{.id = World::kZone}});
  for (size_t i = 0; i < machines.size(); ++i) {
    const std::string zone = absl::StrCat("Z-", std::string(1, static_cast<char>('A' + i)));
    world.Do(UpdateZone{{zone, ZoneAccess::kGeneral, {World::kType}}});
    std::vector<MachineRow> rows;
    for (int m = 0; m < machines[i]; ++m) {
      rows.push_back(World::Machine(absl::StrCat("m", i, "-", m)));
      rows.back().zone = zone;
    }
    if (!rows.empty()) world.Register(std::move(rows));
  }
  return world;
}

void DoIn(const std::string& zone, World& world, SyncClaim claim) {
  claim.zone = zone;
  ASSERT_TRUE(world.Do(claim).ok());
}

std::vector<std::string> Order(const World& world, const PlacementQuery& query) {
  std::vector<std::string> zones;
  for (const ZonePlacements& zone : FindPlacements(world.state(), query))
    zones.push_back(zone.zone);
  return zones;
}

TEST(FinderRankTest, ByLabelThenByWhatIsLeftOverThenByName) {
  const World world = Zones({2, 9, 0, 5, 9});
  EXPECT_THAT(Order(world, {{Ask(4)}, {}}),
              ElementsAre("Z-B", "Z-E", "Z-D", "Z-A", "Z-C", World::kZone));
  EXPECT_THAT(Order(world, {{Ask(4)}, {"Z-C", "Z-D", "Z-E"}}), ElementsAre("Z-E", "Z-D", "Z-C"));
}

TEST(FinderRankTest, TheTightestRequestCountsRelativeToWhatItAsks) {
  World world = Zones({20, 14});
  world.Do(UpdateInstanceType{{.id = "other", .vcpus = 1, .memory_kib = 1}});
  for (const char* zone : {"Z-A", "Z-B"}) {
    world.Do(UpdateZone{{zone, ZoneAccess::kGeneral, {World::kType, "other"}}});
    std::vector<MachineRow> rows;
    for (int m = 0; m < (zone == std::string("Z-A") ? 2 : 3); ++m) {
      rows.push_back(World::Machine(absl::StrCat(m, "-other-", zone[2] == 'A' ? "a" : "b")));
      rows.back().zone = zone;
      rows.back().instance_type = "other";
    }
    world.Register(rows);
  }
  // A has 10 of 10 to spare, but 0 of 2; B has 4 of 10 and 1 of 2.
  EXPECT_THAT(Order(world, {{Ask(10), Ask(2, ComputeClass::kDefault, "other")}, {"Z-A", "Z-B"}}),
              ElementsAre("Z-B", "Z-A"));
}

TEST(FinderRankTest, TheShorterQueueIsBetterWhereNothingIsFree) {
  World world = Zones({3, 3});
  DoIn("Z-A", world, world.Want("p-a", 8));
  DoIn("Z-B", world, world.Want("p-b", 6));
  EXPECT_THAT(Order(world, {{Ask(2)}, {"Z-A", "Z-B"}}), ElementsAre("Z-B", "Z-A"));
}

TEST(FinderRankTest, WhereNothingIsFreeWhatCanBeReclaimedCounts) {
  World world = Zones({5, 9});
  DoIn("Z-A", world, world.WantSpot("s-a", 5));
  DoIn("Z-B", world, world.WantSpot("s-b", 9));
  EXPECT_THAT(Order(world, {{Ask(4)}, {"Z-A", "Z-B"}}), ElementsAre("Z-B", "Z-A"));
}

TEST(FinderFaultsTest, WhatTheCatalogueDoesNotKnowIsNamed) {
  const World world = Zones({1});
  const auto faults = FaultsOf(world.state(), {{Ask(1), Ask(1, ComputeClass::kDefault, "castle"),
                                                Ask(6, ComputeClass::kDefault, World::kRackType)},
                                               {"Z-A", "Z-Q"}});
  std::vector<std::string> fields;
  for (const auto& fault : faults) fields.push_back(fault.field);
  EXPECT_THAT(fields, ElementsAre("requests[1].instance_type", "requests[2].nodes", "zones[1]"));
  EXPECT_THAT(FaultsOf(world.state(), {{Ask(1)}, {"Z-A"}}), IsEmpty());
}

// None of its machines is reclaimed.
void ExpectSpotKeeps(const World& world, size_t count) {
  const auto machines = world.MachinesOf("spot");
  EXPECT_EQ(machines.size(), count);
  for (const std::string& id : machines) EXPECT_EQ(world.StateOf(id), MachineState::kHeld) << id;
}

// Spot may hold machines of a type since before it was granted in whole racks.
TEST(FinderNumbersTest, NothingIsReclaimedForWholeRacks) {
  Scene scene;
  World& world = scene.world();
  world.RegisterRack("f", "r1", 4);
  scene.Claim("spot", 4, Spot);
  world.Do(UpdateInstanceType{
      {.id = World::kType, .vcpus = 1, .memory_kib = 1, .nodes_per_rack = World::kNodesPerRack}});
  const auto zones = FindPlacements(world.state(), {{Ask(4)}, {}});
  ASSERT_EQ(zones.size(), 1u);
  EXPECT_THAT(zones[0].placements, ElementsAre(Placement{0, 0, 0, 4, Label::kLimited}));
  scene.Claim("p", 4);
  ExpectSpotKeeps(world, 4);
}

void KeepThreeForAGang(Scene& scene) {
  scene.Machines(2);
  scene.Claim("p", 2);
  scene.Machines(3);
  scene.Claim("gang", 5, Gang);
}

// "lent to `spot`"
TEST(FinderNumbersTest, WhatIsKeptForAGangIsLentToSpot) {
  Scene scene;
  KeepThreeForAGang(scene);
  const auto zones = FindPlacements(scene.world().state(), {{Ask(1, ComputeClass::kSpot)}, {}});
  ASSERT_EQ(zones.size(), 1u);
  EXPECT_EQ(zones[0].availability, Label::kLikely);
}

// A claim that wants `nodes` in all, and gets nothing before its next request.
void Rest(Scene& scene, const std::string& uid, int64_t nodes) {
  scene.Claim(uid, static_cast<int64_t>(scene.world().MachinesOf(uid).size()),
              [&](SyncClaim& claim) { claim.wanted_nodes = nodes; });
}

// What of it spot would get, as the finder says and as it then is.
void ExpectOfSpot(Scene& scene, Label label, absl::Time keeps_after = absl::InfinitePast()) {
  World& world = scene.world();
  const PlacementQuery query{{Ask(1, ComputeClass::kSpot)}, {}};
  EXPECT_EQ(FindPlacements(world.state(), query, keeps_after)[0].availability, label);
  scene.Claim("spot", 1, Spot);
  EXPECT_EQ(world.MachinesOf("spot").size(), label == Label::kLikely ? 1u : 0u);
}

// It is not lent: the gang may have it at its next request.
TEST(FinderNumbersTest, WhatAGangAtRestHasEnoughOfIsNotLent) {
  Scene scene;
  scene.Machines(2);
  scene.Claim("gang", 3, Gang);
  Rest(scene, "gang", 3);
  scene.Machines(1);
  ExpectOfSpot(scene, Label::kLimited);
  const auto told = Explain(scene.world().state(), *scene.world().state().FindClaim("spot"));
  EXPECT_THAT(told, Contains(Field(&Obstacle::code, ObstacleCode::kKeptForGang)));
}

TEST(FinderNumbersTest, NorIsItOnceTheGangKeepsNothingFromDefaultClaims) {
  Scene scene;
  scene.world().policy.gang_keep = absl::Seconds(1);
  scene.Machines(2);
  scene.Claim("gang", 3, Gang);
  Rest(scene, "gang", 3);
  scene.Machines(1);
  const PlacementQuery query{{Ask(3)}, {}};
  EXPECT_EQ(FindPlacements(scene.world().state(), query, scene.world().now())[0].availability,
            Label::kLikely);
  ExpectOfSpot(scene, Label::kLimited, scene.world().now() - absl::Seconds(1));
}

// A gang behind it lends what the first one, which keeps nothing more, gets with what is reclaimed.
TEST(FinderNumbersTest, WhatAnOverdueGangGetsIsNotLentByAnother) {
  Scene scene;
  World& world = scene.world();
  world.policy.gang_keep = absl::Minutes(9);
  scene.Machines(6);
  scene.Claim("p", 4);
  scene.Claim("held", 2, Spot);
  scene.Claim("gang", 4, Gang);
  world.Advance(absl::Minutes(9));
  scene.Machines(2);
  scene.Claim("large", 8, Gang);
  EXPECT_THAT(world.View("held").reclaims, SizeIs(2));
  ExpectOfSpot(scene, Label::kLimited, world.now() - absl::Minutes(9));
}

TEST(FinderNumbersTest, WhatAClaimAtRestCanHaveIsNotForSpot) {
  Scene scene;
  scene.Claim("p", 3);
  Rest(scene, "p", 3);
  scene.Machines(1);
  ExpectOfSpot(scene, Label::kLimited);
  scene.Claim("p", 3);
  EXPECT_EQ(scene.world().MachinesOf("p").size(), 1u);
}

// Its reclaim cannot be taken back, and nobody is short by it: it comes for the next one.
TEST(FinderNumbersTest, WhatIsReclaimedForNobodyCanBeHad) {
  Scene scene;
  World& world = scene.world();
  scene.Machines(2);
  scene.Claim("spot", 2, Spot);
  scene.Claim("p", 2);
  world.Advance(world.policy.preemption_notice);
  scene.Claim("p", 0);
  ASSERT_THAT(world.View("spot").reclaims, SizeIs(2));
  EXPECT_THAT(FindPlacements(world.state(), {{Ask(2)}, {}})[0].placements,
              ElementsAre(Placement{0, 2, 0, 2, Label::kPossibly}));
  scene.Claim("gang", 3, Gang);
  scene.Machines(1);
  (void)world.Do(SetMachineState{"m2", MachineState::kInRepair});
  EXPECT_THAT(FindPlacements(world.state(), {{Ask(1)}, {}})[0].placements,
              ElementsAre(Placement{0, 0, 3, 2, Label::kLimited}))
      << "the gang waits for them and one more";
}

// Default claims behind it go before it then.
TEST(FinderNumbersTest, WhatComesForAGangThatKeepsNothingMoreCanBeHad) {
  Scene scene;
  World& world = scene.world();
  scene.Machines(2);
  scene.Claim("spot", 2, Spot);
  scene.Claim("gang", 2, Gang);
  const PlacementQuery query{{Ask(2)}, {}};
  EXPECT_EQ(FindPlacements(world.state(), query)[0].availability, Label::kLimited);
  EXPECT_EQ(FindPlacements(world.state(), query, world.now())[0].availability, Label::kPossibly);
  world.policy.gang_keep = absl::Seconds(1);
  scene.Claim("late", 2);
  EXPECT_EQ(world.state().FindMachine("m0")->earmark, "late");
  EXPECT_EQ(world.state().FindMachine("m1")->earmark, "late");
}

// "Keeping ends after `--gang_keep`"
TEST(FinderNumbersTest, WhatIsKeptForAGangNoLongerIsThere) {
  Scene scene;
  KeepThreeForAGang(scene);
  const PlacementQuery query{{Ask(1)}, {}};
  const State& state = scene.world().state();
  EXPECT_EQ(FindPlacements(state, query)[0].availability, Label::kLimited);
  EXPECT_EQ(FindPlacements(state, query, scene.world().now())[0].availability, Label::kLikely);
}

// A gang that waits for more than spot can give keeps that from default claims behind it, too.
TEST(FinderNumbersTest, WhatAGangWaitsForIsNotReclaimedForOthers) {
  Scene scene;
  World& world = scene.world();
  scene.Machines(4);
  scene.Claim("p", 1);
  scene.Claim("spot", 3, Spot);
  scene.Claim("gang", 4, Gang);
  const PlacementQuery query{{Ask(2)}, {}};
  EXPECT_THAT(FindPlacements(world.state(), query)[0].placements,
              ElementsAre(Placement{0, 0, 4, 4, Label::kLimited}));
  EXPECT_THAT(FindPlacements(world.state(), query, world.now())[0].placements,
              ElementsAre(Placement{0, 3, 4, 4, Label::kPossibly}))
      << "the gang has kept it for long enough";
  scene.Claim("late", 2);
  ExpectSpotKeeps(world, 3);
}

// What is free is kept for another one ahead of it.
TEST(FinderNumbersTest, AGangForWhichTooLittleIsLeftFreeKeepsSpotToItself) {
  Scene scene;
  World& world = scene.world();
  scene.Machines(2, {{"disk", "nvme"}});
  scene.Claim("p", 2, Picky);
  scene.Machines(2);
  scene.Claim("spot", 2, Spot);
  scene.Machines(4, {{"disk", "nvme"}});
  scene.Claim("picky", 5, [](SyncClaim& claim) {
    Gang(claim);
    Picky(claim);
  });
  scene.Claim("gang", 4, Gang);
  const PlacementQuery query{{Ask(1)}, {}};
  EXPECT_THAT(FindPlacements(world.state(), query)[0].placements,
              ElementsAre(Placement{4, 0, 9, 8, Label::kLimited}));
  scene.Claim("late", 1);
  ExpectSpotKeeps(world, 2);
}

// What comes for one of its requests does not come for another.
TEST(FinderNumbersTest, AGangsSecondRequestKeepsSpotToItselfThoughMachinesComeForTheFirst) {
  Scene scene;
  World& world = scene.world();
  scene.Machines(2);
  scene.Claim("p", 2);
  scene.Machines(3);
  scene.Claim("spot", 3, Spot);
  scene.Claim("gang", 2, Gang);
  scene.Claim("gang", 4, Gang);
  EXPECT_THAT(FindPlacements(world.state(), {{Ask(1)}, {}})[0].placements,
              ElementsAre(Placement{0, 0, 4, 5, Label::kLimited}));
  scene.Claim("late", 1);
  EXPECT_EQ(world.View("spot").reclaims.size(), 2u);
}

// One that spot can complete takes what it waits for, and no more.
TEST(FinderNumbersTest, WhatAGangLeavesOfSpotCanBeReclaimed) {
  Scene scene;
  scene.Machines(4);
  scene.Claim("spot", 4, Spot);
  scene.Claim("gang", 3, Gang);
  EXPECT_THAT(FindPlacements(scene.world().state(), {{Ask(1)}, {}})[0].placements,
              ElementsAre(Placement{0, 1, 3, 4, Label::kPossibly}));
}

}  // namespace
}  // namespace muster::capacity
