#include "services/capacity/core/serve.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/capacity/core/audit.h"
#include "services/capacity/core/gang.h"
#include "services/capacity/core/testing/claims_test_base.h"
#include "services/capacity/core/testing/world.h"

namespace muster::capacity {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

class ServeTest : public ClaimsTest {
 protected:
  ClaimView Give(const std::string& uid, int64_t nodes, const std::vector<std::string>& ids,
                 ReturnReason reason = ReturnReason::kReleased) {
    return Sync(world_.Want(uid, nodes, World::Returns(ids, reason)));
  }
  auto Held(const std::string& uid) { return world_.MachinesOf(uid); }
  // Each for one machine: first whoever wants nvme, last whoever wants hdd.
  void WaitForDisks() {
    Sync(World::Where(world_.Want("nvme", 1), "disk", {"nvme"}));
    Sync(world_.Want("any", 1));
    Sync(World::Where(world_.Want("hdd", 1), "disk", {"hdd"}));
  }
  // a has hdd, b and c have nvme.
  void RegisterDisks() {
    world_.Register({World::Labelled(World::Machine("a"), "disk", "hdd"),
                     World::Labelled(World::Machine("b"), "disk", "nvme"),
                     World::Labelled(World::Machine("c"), "disk", "nvme")});
  }
  // Waits for a rack whose machines have such disks.
  void WaitForRack(const std::string& uid, const char* disk) {
    Sync(World::OfRacks(World::Where(world_.Want(uid, 4), "disk", {disk})));
  }
  // Racks of four machines: a has hdd, b and c have nvme.
  void RegisterRacksWithDisks() {
    std::vector<MachineRow> machines;
    for (const char* rack : {"a", "b", "c"}) {
      for (int slot = 0; slot < 4; ++slot) {
        machines.push_back(World::Labelled(
            World::Machine(absl::StrCat(rack, slot), "f", rack, slot, World::kRackType), "disk",
            *rack == 'a' ? "hdd" : "nvme"));
      }
    }
    world_.Register(machines);
  }
};

TEST_F(ServeTest, OnlyMachinesThatMatchAreGranted) {
  world_.RegisterLabelled({"a1", "a2"}, "disk", "nvme");
  world_.RegisterLabelled({"b1", "b2"}, "disk", "hdd");
  const ClaimView view = Sync(World::Where(world_.Want("p", 3), "disk", {"hdd"}));
  EXPECT_THAT(view.machines, ElementsAre("b1", "b2"));
  EXPECT_THAT(view.granted, ElementsAre("b1", "b2"));
  EXPECT_EQ(view.matching, 2);
  EXPECT_EQ(view.in_service, 4);
  EXPECT_EQ(view.reason, ClaimReason::kPartialNodeAffinity);
}

TEST_F(ServeTest, WhatMatchesIsCountedAlsoInRepair) {
  world_.RegisterLabelled({"a1", "a2"}, "disk", "nvme");
  world_.RegisterLabelled({"b1"}, "disk", "hdd");
  for (const char* other : {"a1", "a2"})
    ASSERT_TRUE(world_.Do(SetMachineState{other, MachineState::kInRepair}).ok());
  EXPECT_EQ(Sync(World::Where(world_.Want("p", 1), "disk", {"hdd"})).matching_in_repair, 0);
  const ClaimView view = Give("p", 1, {"b1"}, ReturnReason::kBroken);
  EXPECT_EQ(view.matching, 0);
  EXPECT_EQ(view.matching_in_repair, 1);
}

TEST_F(ServeTest, AClaimThatNothingFreeMatchesHoldsUpNobody) {
  world_.RegisterLabelled({"a1"}, "disk", "nvme");
  Sync(World::Where(world_.Want("first", 1), "disk", {"hdd"}));
  EXPECT_THAT(Sync(world_.Want("second", 1)).machines, ElementsAre("a1"));
  world_.RegisterLabelled({"b1"}, "disk", "hdd");
  EXPECT_THAT(Held("first"), ElementsAre("b1"));
}

TEST_F(ServeTest, AFreeMachineGoesToTheFirstThatMayHaveIt) {
  Sync(World::Where(world_.Want("nvme", 1), "disk", {"nvme"}));
  Sync(world_.Want("any", 2));
  Sync(World::Where(world_.Want("hdd", 1), "disk", {"hdd"}));
  world_.RegisterLabelled({"b1", "b2"}, "disk", "hdd");
  EXPECT_THAT(Held("any"), ElementsAre("b1", "b2"));
  world_.RegisterLabelled({"b3"}, "disk", "hdd");
  EXPECT_THAT(Held("hdd"), ElementsAre("b3"));
  world_.RegisterLabelled({"a1"}, "disk", "nvme");
  EXPECT_THAT(Held("nvme"), ElementsAre("a1"));
}

TEST_F(ServeTest, PlacementUnderAnAffinityCountsOnlyWhatMatches) {
  // f1/r1 has most room, but only f2/r2 has two that match.
  std::vector<MachineRow> machines;
  for (int i = 0; i < 4; ++i) {
    machines.push_back(World::Labelled(World::Machine(absl::StrCat("x", i), "f1", "r1", i), "disk",
                                       i == 0 ? "nvme" : "hdd"));
    machines.push_back(World::Labelled(World::Machine(absl::StrCat("y", i), "f2", "r2", i), "disk",
                                       i > 1 ? "nvme" : "hdd"));
  }
  world_.Register(machines);
  EXPECT_THAT(Sync(World::Where(world_.Want("p", 2), "disk", {"nvme"})).machines,
              ElementsAre("y2", "y3"));
  EXPECT_THAT(Sync(World::Where(world_.Want("p", 3), "disk", {"nvme"})).granted, ElementsAre("x0"));
}

TEST_F(ServeTest, ANewAffinityKeepsWhatIsHeld) {
  world_.RegisterLabelled({"a1"}, "disk", "nvme");
  Sync(world_.Want("p", 2));
  const ClaimView view = Sync(World::Where(world_.Want("p", 2), "disk", {"hdd"}));
  EXPECT_THAT(view.machines, ElementsAre("a1"));
  EXPECT_EQ(view.reason, ClaimReason::kNoneAvailableNodeAffinity);
  world_.RegisterLabelled({"b1"}, "disk", "hdd");
  EXPECT_EQ(world_.View("p").reason, ClaimReason::kSufficient);
}

TEST_F(ServeTest, AHeldMachineIsToldOfAsItIsNow) {
  world_.RegisterRack("f", "r", 2);
  Sync(world_.Want("p", 2));
  world_.Register({World::Machine("r-1", "f", "other", 1)});
  EXPECT_THAT(world_.View("p").racks, ElementsAre("r", "other"));
  // The same when that is taken back.
  State state = world_.state();
  StagedState<State> staged(state, world_.revision());
  ASSERT_TRUE(
      Decide(staged, RegisterMachines{{World::Machine("r-0", "f", "third")}}, world_.now()).ok());
  EXPECT_THAT(ViewOf(state, *state.FindClaim("p")).racks, ElementsAre("third", "other"));
  staged.RollBack();
  EXPECT_THAT(ViewOf(state, *state.FindClaim("p")).racks, ElementsAre("r", "other"));
  EXPECT_THAT(Audit(state), IsEmpty());
}

TEST_F(ServeTest, ANewLabelServesTheQueue) {
  world_.RegisterLabelled({"a1"}, "disk", "nvme");
  Sync(World::Where(world_.Want("p", 1), "disk", {"hdd"}));
  world_.RegisterLabelled({"a1"}, "disk", "hdd");
  EXPECT_THAT(Held("p"), ElementsAre("a1"));
}

TEST_F(ServeTest, ReasonsUnderAnAffinity) {
  const auto nvme = [&](const std::string& uid, int64_t nodes) {
    return World::Where(world_.Want(uid, nodes), "disk", {"nvme"});
  };
  EXPECT_EQ(Sync(nvme("p", 2)).reason, ClaimReason::kNoneAvailable);
  world_.RegisterLabelled({"b1", "b2"}, "disk", "hdd");
  EXPECT_EQ(world_.View("p").reason, ClaimReason::kNoneAvailableNodeAffinity);
  world_.RegisterLabelled({"a1"}, "disk", "nvme");
  EXPECT_EQ(world_.View("p").reason, ClaimReason::kPartialNodeAffinity);
  EXPECT_EQ(Sync(nvme("p", 4)).reason, ClaimReason::kPartial);
  EXPECT_EQ(Sync(nvme("q", 1)).reason, ClaimReason::kQueued);
}

TEST_F(ServeTest, PlaceAndNodesAhead) {
  Sync(World::Where(world_.Want("a", 3), "disk", {"nvme"}));
  Sync(world_.Want("b", 2));
  Sync(world_.Want("a", 3));
  EXPECT_EQ(*world_.View("a").queue, (QueuePlace{1, 0}));
  EXPECT_EQ(*world_.View("b").queue, (QueuePlace{2, 3}));
  SyncClaim more = world_.Want("a", 7);
  Sync(more);
  EXPECT_EQ(*world_.View("a").queue, (QueuePlace{1, 2}));  // the 2 of b are before the youngest
  SyncClaim urgent = world_.Want("u", 5);
  urgent.priority = 1;
  Sync(urgent);
  EXPECT_EQ(*world_.View("a").queue, (QueuePlace{2, 7}));
  EXPECT_FALSE(Sync(world_.Want("none", 0)).queue.has_value());
}

TEST_F(ServeTest, AGangGetsAllAtOnceOrNothing) {
  world_.RegisterRack("f", "r", 3);
  Sync(world_.Want("holder", 2));
  const ClaimView waits = Sync(world_.WantGang("g", 2));
  EXPECT_THAT(waits.machines, IsEmpty());
  EXPECT_EQ(waits.reason, ClaimReason::kQueued);
  Give("holder", 1, {"r-1"});
  EXPECT_THAT(Held("g"), ElementsAre("r-1", "r-2"));
}

TEST_F(ServeTest, FreeMachinesAreKeptForAGangThatCanBeMet) {
  world_.RegisterRack("f", "r", 3);
  Sync(world_.Want("holder", 2));
  Sync(world_.WantGang("g", 2));
  EXPECT_THAT(Sync(world_.Want("behind", 1)).machines, IsEmpty());
  const std::vector<KeptGang> kept = KeptGangs(world_.state(), {World::kZone, World::kType});
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].position.request.pool_uid, "g");
  EXPECT_EQ(kept[0].nodes, 1);
  // Who stands before it may have them.
  SyncClaim urgent = world_.Want("urgent", 1);
  urgent.priority = 1;
  EXPECT_THAT(Sync(urgent).machines, ElementsAre("r-2"));
}

TEST_F(ServeTest, AGangThatCannotBeMetIsPassedOver) {
  world_.RegisterRack("f", "r", 3);
  Sync(world_.WantGang("g", 4));
  EXPECT_THAT(Sync(world_.Want("behind", 1)).machines, ElementsAre("r-0"));
  EXPECT_EQ(world_.View("g").reason, ClaimReason::kNoneAvailable);
  // What the gang holds itself cannot come to it: 3 of 5 machines are others'.
  world_.RegisterRack("f", "s", 2);
  Give("behind", 0, {"r-0"});
  EXPECT_EQ(Held("g").size(), 4u);
  Sync(world_.WantGang("g", 6));
  EXPECT_THAT(Sync(world_.Want("behind", 1)).granted, ElementsAre("r-0"));
}

TEST_F(ServeTest, AMachineThatAGangLostIsAskedForAloneWithItsOldAge) {
  world_.RegisterRack("f", "r", 3);
  const absl::Time asked = world_.now();
  Sync(world_.WantGang("g", 3));
  Sync(world_.Want("other", 1));
  EXPECT_THAT(Give("g", 3, {"r-1"}, ReturnReason::kBroken).claim.parts,
              ElementsAre(ClaimPart{asked, 1}));
  ASSERT_TRUE(world_.Do(SetMachineState{"r-1", MachineState::kFree}).ok());
  EXPECT_THAT(Held("g"), ElementsAre("r-0", "r-1", "r-2"));
}

TEST_F(ServeTest, AGangKeepsOnlyWhatMatches) {
  world_.RegisterLabelled({"a1", "a2"}, "disk", "nvme");
  world_.RegisterLabelled({"b1"}, "disk", "hdd");
  Sync(World::Where(world_.Want("holder", 1), "disk", {"nvme"}));
  Sync(World::Where(world_.WantGang("g", 2), "disk", {"nvme"}));
  EXPECT_THAT(Sync(world_.Want("behind", 2)).machines, ElementsAre("b1"));
  Give("holder", 0, {"a1"});
  EXPECT_THAT(Held("g"), ElementsAre("a1", "a2"));
}

TEST_F(ServeTest, AGangThatIsOneNoMoreTakesWhatIsThere) {
  world_.RegisterRack("f", "r", 2);
  Sync(world_.Want("holder", 1));
  Sync(world_.WantGang("g", 2));
  SyncClaim plain = world_.Want("g", 2);
  plain.gang = false;
  EXPECT_THAT(Sync(plain).machines, ElementsAre("r-1"));
}

TEST_F(ServeTest, RacksAreGrantedWhereEnoughOfThemMatches) {
  std::vector<MachineRow> machines;
  for (int i = 0; i < 5; ++i) {
    const std::string disk = i == 0 ? "hdd" : "nvme";
    machines.push_back(World::Labelled(
        World::Machine(absl::StrCat("x", i), "f", "x", i, World::kRackType), "disk", disk));
    machines.push_back(
        World::Labelled(World::Machine(absl::StrCat("y", i), "f", "y", i, World::kRackType), "disk",
                        i < 2 ? "hdd" : "nvme"));
  }
  world_.Register(machines);
  const SyncClaim claim = World::OfRacks(World::Where(world_.Want("p", 8), "disk", {"nvme"}));
  EXPECT_THAT(Sync(claim).machines, ElementsAre("x1", "x2", "x3", "x4"));
}

TEST_F(ServeTest, AGangOfRacksGetsAllRacksAtOnce) {
  world_.RegisterRack("f", "x", 4, World::kRackType);
  world_.RegisterRack("f", "y", 4, World::kRackType);
  Sync(World::OfRacks(world_.Want("holder", 4)));
  Sync(World::OfRacks(world_.WantGang("g", 8)));
  EXPECT_THAT(Sync(World::OfRacks(world_.Want("behind", 4))).machines, IsEmpty());
  Sync(World::OfRacks(world_.WantGang("never", 16)));
  Give("holder", 0, {"x-0", "x-1", "x-2", "x-3"});
  EXPECT_EQ(Held("g").size(), 8u);
  // One breaks: that one alone completes the rack again.
  Give("g", 8, {"y-2"}, ReturnReason::kBroken);
  ASSERT_TRUE(world_.Do(SetMachineState{"y-2", MachineState::kFree}).ok());
  EXPECT_EQ(Held("g").size(), 8u);
}

// Looking at every kept rack for everyone who waits would take many minutes.
TEST_F(ServeTest, ThousandsWaitBesideThousandsOfRacksThatAGangKeeps) {
  constexpr int kRacks = 5'000;
  constexpr int kWaiting = 10'000;
  SyncClaims claims{
      {World::OfRacks(world_.Want("holder", 4)), World::OfRacks(world_.WantGang("g", 4 * kRacks))}};
  for (int i = 0; i < kWaiting; ++i)
    claims.claims.push_back(World::OfRacks(world_.Want(absl::StrCat("w", i), 4)));
  (void)world_.Do(claims);
  std::vector<MachineRow> machines;
  for (int i = 0; i < 4 * kRacks; ++i) {
    machines.push_back(World::Machine(absl::StrCat("m", i), "f", absl::StrCat("r", i / 4), i % 4,
                                      World::kRackType));
  }
  world_.Register(std::move(machines));
  for (int i = 0; i < 100; ++i)
    world_.RegisterRack("f", absl::StrCat("part", i), 1, World::kRackType);
  EXPECT_THAT(Held("g"), IsEmpty());
  EXPECT_THAT(Held("w0"), IsEmpty());
  Give("holder", 0, Held("holder"));
  EXPECT_EQ(std::ssize(Held("g")), 4 * kRacks);
  EXPECT_THAT(Held("w0"), IsEmpty());
}

TEST_F(ServeTest, ARackThatAGangDoesNotKeepGoesPastThoseWhoCannotHaveIt) {
  std::vector<MachineRow> machines;
  for (const char* rack : {"a", "b", "c"}) {
    for (int slot = 0; slot < 4; ++slot) {
      machines.push_back(World::Labelled(
          World::Machine(absl::StrCat(rack, slot), "f", rack, slot, World::kRackType), "disk",
          *rack == 'c' ? "hdd" : "nvme"));
    }
  }
  world_.Register(std::move(machines));
  const auto of = [](SyncClaim claim, const char* disk) {
    return World::OfRacks(World::Where(std::move(claim), "disk", {disk}));
  };
  Sync(of(world_.Want("holder", 4), "nvme"));
  Sync(of(world_.WantGang("g", 8), "nvme"));
  (void)world_.Do(
      SyncClaims{{of(world_.Want("first", 4), "nvme"), of(world_.Want("second", 4), "nvme"),
                  of(world_.Want("third", 4), "hdd")}});
  EXPECT_THAT(Held("first"), IsEmpty());
  EXPECT_THAT(Held("second"), IsEmpty());
  EXPECT_THAT(Held("third"), ElementsAre("c0", "c1", "c2", "c3"));
}

TEST_F(ServeTest, AGangOfRacksThatCannotBeMetIsPassedOver) {
  world_.RegisterRack("f", "x", 4, World::kRackType);
  world_.RegisterRack("f", "y", 3, World::kRackType);
  Sync(World::OfRacks(world_.WantGang("g", 8)));
  EXPECT_EQ(Sync(World::OfRacks(world_.Want("behind", 4))).machines.size(), 4u);
}

TEST_F(ServeTest, SpotIsNotOfferedOnTypesGrantedInWholeRacks) {
  world_.RegisterRack("f", "x", 4, World::kRackType);
  const ClaimView view = Sync(World::OfRacks(world_.WantSpot("s", 4)));
  EXPECT_THAT(view.machines, IsEmpty());
  EXPECT_EQ(view.reason, ClaimReason::kNotInZone);
}

TEST_F(ServeTest, GrantedNamesWhatTheCommandBroughtAndNothingWhenRepeated) {
  world_.RegisterRack("f", "r", 3);
  Sync(world_.Want("p", 1));
  const SyncClaim more = world_.Want("p", 3, {{"r-0", ReturnReason::kReleased}});
  EXPECT_THAT(Sync(more).granted, ElementsAre("r-0", "r-1", "r-2"));
  EXPECT_THAT(Sync(more).granted, IsEmpty());
  const auto views = world_.Do(
      SyncClaims{{world_.Want("q", 1), world_.Want("p", 2, {{"r-1", ReturnReason::kReleased}})}});
  EXPECT_THAT(views[0]->granted, ElementsAre("r-1"));
  EXPECT_THAT(views[1]->granted, IsEmpty());
}

TEST_F(ServeTest, ARepeatedRequestBringsNothingThoughAnotherOfItsBatchDoes) {
  world_.RegisterRack("f", "r", 2);
  Sync(world_.Want("p", 2));
  const SyncClaim waits = world_.Want("q", 1);
  Sync(waits);
  const auto views =
      world_.Do(SyncClaims{{waits, world_.Want("p", 1, {{"r-1", ReturnReason::kReleased}})}});
  EXPECT_THAT(views[0]->machines, ElementsAre("r-1"));
  EXPECT_THAT(views[0]->granted, IsEmpty());
}

TEST_F(ServeTest, WhatOthersWaitForComesLastAndFromTheFabricThatIsUsedMost) {
  Sync(world_.Want("any", 4));
  Sync(World::Where(world_.Want("nvme", 1), "disk", {"nvme"}));
  std::vector<MachineRow> machines;
  for (int i = 0; i < 3; ++i) {
    machines.push_back(World::Labelled(World::Machine(absl::StrCat("a-", i), "f1", "a", i), "disk",
                                       i < 2 ? "nvme" : "hdd"));
    machines.push_back(World::Labelled(World::Machine(absl::StrCat("b-", i), "f2", "b", i), "disk",
                                       i < 1 ? "nvme" : "hdd"));
  }
  world_.Register(machines);
  EXPECT_THAT(Held("any"), ElementsAre("a-2", "b-0", "b-1", "b-2"));
  EXPECT_THAT(Held("nvme"), ElementsAre("a-0"));
}

TEST_F(ServeTest, WhoseAffinityWasServedCountsNoMoreForThoseBehind) {
  WaitForDisks();
  RegisterDisks();
  EXPECT_THAT(Held("nvme"), ElementsAre("b"));
  EXPECT_THAT(Held("any"), ElementsAre("c"));
  EXPECT_THAT(Held("hdd"), ElementsAre("a"));
}

TEST_F(ServeTest, AnAffinityCountsUntilTheLastWhoWaitsWithItIsServed) {
  WaitForDisks();
  Sync(World::Where(world_.WantSpot("spot", 1), "disk", {"nvme"}));
  RegisterDisks();
  EXPECT_THAT(Held("any"), ElementsAre("a"));
  EXPECT_THAT(Held("hdd"), IsEmpty());
  EXPECT_THAT(Held("spot"), ElementsAre("c"));
}

TEST_F(ServeTest, AnAffinityCountsWhileAGangWaitsWithIt) {
  WaitForDisks();
  Sync(World::Where(world_.WantGang("gang", 2), "disk", {"nvme"}));
  RegisterDisks();
  EXPECT_THAT(Held("nvme"), ElementsAre("b"));
  EXPECT_THAT(Held("any"), ElementsAre("a"));
  EXPECT_THAT(Held("hdd"), IsEmpty());
  EXPECT_THAT(Held("gang"), IsEmpty());
}

TEST_F(ServeTest, AnAffinityCountsOfRacksUntilTheLastWhoWaitsWithItIsServed) {
  WaitForRack("nvme", "nvme");
  Sync(World::OfRacks(world_.Want("any", 4)));
  WaitForRack("hdd", "hdd");
  RegisterRacksWithDisks();
  EXPECT_THAT(Held("nvme"), ElementsAre("b0", "b1", "b2", "b3"));
  EXPECT_THAT(Held("any"), ElementsAre("c0", "c1", "c2", "c3"));
  EXPECT_THAT(Held("hdd"), ElementsAre("a0", "a1", "a2", "a3"));
}

TEST_F(ServeTest, AnAffinityCountsOfRacksWhileAnotherWaitsWithIt) {
  WaitForRack("nvme", "nvme");
  Sync(World::OfRacks(world_.Want("any", 4)));
  WaitForRack("hdd", "hdd");
  WaitForRack("another", "nvme");
  RegisterRacksWithDisks();
  EXPECT_THAT(Held("nvme"), ElementsAre("b0", "b1", "b2", "b3"));
  EXPECT_THAT(Held("any"), ElementsAre("a0", "a1", "a2", "a3"));
  EXPECT_THAT(Held("hdd"), IsEmpty());
  EXPECT_THAT(Held("another"), ElementsAre("c0", "c1", "c2", "c3"));
}

// Nor does the text of any matter, whoever is served or passed over: that would be a million looks.
TEST_F(ServeTest, WhatIsGivenBackIsGrantedWithoutAnyLookAtAnAffinity) {
  constexpr int kClaims = 5'000;
  constexpr int kLabels = 200;
  std::vector<MachineRow> machines;
  for (int i = 0; i < kLabels; ++i) {
    machines.push_back(
        World::Labelled(World::Machine(absl::StrCat("m", i)), "disk", absl::StrCat("d", i)));
  }
  world_.Register(std::move(machines));
  Sync(world_.Want("holder", kLabels));
  SyncClaims claims;
  for (int i = 0; i < kClaims; ++i) {
    claims.claims.push_back(World::Where(world_.Want(absl::StrCat("p", i), 1), "disk",
                                         {absl::StrCat("d", i % kLabels), absl::StrCat("own", i)}));
  }
  (void)world_.Do(claims);
  const int64_t before = MatchesJudged();
  Give("holder", kLabels - 1, {"m7"});
  EXPECT_EQ(MatchesJudged(), before);
  EXPECT_THAT(world_.state().FindMachine("m7")->claim, StartsWith("p"));
}

// It would take many minutes if all affinities were judged anew for each who is served.
TEST_F(ServeTest, ThousandsAreServedAtOnceEachWithItsOwnAffinity) {
  constexpr int kClaims = 5'000;
  constexpr int kLabels = 250;
  SyncClaims claims;
  for (int i = 0; i < kClaims; ++i) {
    claims.claims.push_back(World::Where(world_.Want(absl::StrCat("p", i), 1), "disk",
                                         {absl::StrCat("d", i % kLabels), absl::StrCat("own", i)}));
  }
  (void)world_.Do(claims);
  std::vector<MachineRow> machines;
  for (int i = 0; i < kClaims; ++i) {
    const std::string disk = absl::StrCat("d", i % kLabels);
    machines.push_back(
        World::Labelled(World::Machine(absl::StrCat("m", i), "f", disk), "disk", disk));
  }
  world_.Register(std::move(machines));
  for (int i = 0; i < kClaims; ++i) EXPECT_EQ(Held(absl::StrCat("p", i)).size(), 1u);
}

TEST_F(ServeTest, ThousandsAreServedRacksAtOnceEachWithItsOwnAffinity) {
  constexpr int kClaims = 1'500;
  SyncClaims claims;
  for (int i = 0; i < kClaims; ++i) {
    claims.claims.push_back(World::OfRacks(World::Where(world_.Want(absl::StrCat("p", i), 4),
                                                        "disk", {"nvme", absl::StrCat("own", i)})));
  }
  (void)world_.Do(claims);
  std::vector<MachineRow> machines;
  for (int i = 0; i < 4 * kClaims; ++i) {
    const std::string rack = absl::StrCat("r", i / 4);
    machines.push_back(World::Labelled(
        World::Machine(absl::StrCat("m", i), "f", rack, i % 4, World::kRackType), "disk", "nvme"));
  }
  world_.Register(std::move(machines));
  for (int i = 0; i < kClaims; ++i) EXPECT_EQ(Held(absl::StrCat("p", i)).size(), 4u);
}

// It would take minutes if all racks were looked at anew for each that is taken from.
TEST_F(ServeTest, AClaimTakesWhatItMayHaveOfVeryManyRacks) {
  constexpr int kRacks = 25'000;
  for (int rack = 0; rack < kRacks; ++rack) {
    const std::string name = absl::StrCat("r", rack);
    world_.Register({World::Labelled(World::Machine("nvme-" + name, "", name, 0), "disk", "nvme"),
                     World::Labelled(World::Machine("hdd-" + name, "", name, 1), "disk", "hdd")});
  }
  const ClaimView view = Sync(World::Where(world_.Want("p", kRacks), "disk", {"nvme"}));
  EXPECT_EQ(view.machines.size(), size_t{kRacks});
  EXPECT_THAT(view.machines, Each(StartsWith("nvme-")));
  // Nor for one without affinity while others wait.
  Sync(World::Where(world_.Want("waits", 1), "disk", {"tape"}));
  EXPECT_EQ(Sync(world_.Want("q", kRacks)).machines.size(), size_t{kRacks});
}

}  // namespace
}  // namespace muster::capacity
