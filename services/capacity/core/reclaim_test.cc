#include <optional>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/capacity/core/audit.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/core/testing/claims_test_base.h"
#include "services/capacity/core/testing/world.h"
#include "services/capacity/core/victims.h"

namespace muster::capacity {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ReclaimTest : public ClaimsTest {
 protected:
  // Each request a second after the one before, with the books right after it.
  ClaimView Sync(const SyncClaim& claim) {
    ClaimView view = ClaimsTest::Sync(claim, absl::Seconds(1));
    EXPECT_THAT(Audit(world_.state()), IsEmpty());
    return view;
  }
  ClaimView Give(const std::string& uid, int64_t nodes, const std::vector<std::string>& ids,
                 ReturnReason reason = ReturnReason::kPreempted) {
    return Sync(world_.Want(uid, nodes, World::Returns(ids, reason)));
  }
  void Under(const Policy& policy, const SyncClaim& claim) {
    world_.Change([&](StagedState<State>& staged) {
      EXPECT_TRUE(Decide(staged, claim, world_.now(), policy).ok());
    });
  }
  // Gets the machines one by one, in the order of their names.
  void Spot(const std::string& uid, const std::vector<std::string>& ids) {
    int64_t nodes = 0;
    for (const std::string& id : ids) {
      Sync(world_.WantSpot(uid, ++nodes));
      world_.Register({World::Machine(id)});
    }
  }
  // The claim's machines that are being reclaimed.
  std::vector<std::string> Reclaiming(const std::string& uid) {
    std::vector<std::string> ids;
    for (const Reclaimed& reclaim : world_.View(uid).reclaims) ids.push_back(reclaim.machine);
    return ids;
  }
  const MachineRow& Row(const std::string& id) { return *world_.state().FindMachine(id); }
  // The claim gets a machine of such a disk.
  void SpotWithDisk(const std::string& uid, const std::string& id, const std::string& disk) {
    const ClaimRow* known = world_.state().FindClaim(uid);
    (void)world_.Do(world_.WantSpot(uid, known == nullptr ? 1 : known->nodes + 1));
    world_.RegisterLabelled({id}, "disk", disk);
  }
};

// The machine that the rules choose, by a walk over all of them.
std::optional<std::string> FirstOf(const Inventory& inventory, const Affinity& affinity) {
  for (const SpotRank& rank : inventory.spot().ranks()) {
    std::optional<HeldMachine> newest;
    for (const auto& [labels, machines] : inventory.classes()) {
      const auto held = machines.reclaimable.find(rank.pool_uid);
      if (held == machines.reclaimable.end() || !Matches(affinity, labels)) continue;
      if (!newest || *held->second.begin() < *newest) newest = *held->second.begin();
    }
    if (newest) return newest->id;
  }
  return std::nullopt;
}

// Returns how many it reclaimed: all that the affinity matches.
int ReclaimAll(StagedState<State>& staged, absl::Time now, const Affinity& affinity,
               Victims& victims) {
  const Inventory& inventory = *staged.state().FindInventory({World::kZone, World::kType});
  for (int reclaimed = 0;; ++reclaimed) {
    const std::optional<std::string> expected = FirstOf(inventory, affinity);
    EXPECT_EQ(victims.Next(), expected);
    if (!expected || testing::Test::HasFailure()) return reclaimed;
    MachineRow machine = *staged.state().FindMachine(*expected);
    machine.state = MachineState::kReclaiming;
    machine.reclaim_time = now;
    staged.Put(std::move(machine));
  }
}

TEST_F(ReclaimTest, AShortDefaultClaimReclaimsOnlyWhatIsMissingNewestHeldFirst) {
  Spot("s", {"m1", "m2", "m3"});
  const MachineRow before = Row("m3");
  const absl::Time asked = world_.now();
  const ClaimView view = Sync(world_.Want("d", 2));
  EXPECT_THAT(view.machines, IsEmpty());
  EXPECT_EQ(view.reason, ClaimReason::kQueued);
  EXPECT_THAT(Reclaiming("s"), ElementsAre("m2", "m3"));
  EXPECT_EQ(Row("m3").earmark, "d");
  EXPECT_EQ(Row("m3").reclaim_time, asked);
  EXPECT_EQ(Row("m3").state_time, before.state_time);
  EXPECT_EQ(Row("m3").claim, "s");
  EXPECT_EQ(world_.View("s").claim.reclaim_generation, 2);
  EXPECT_EQ(world_.View("s").machines.size(), 3u);
  EXPECT_THAT(world_.View("s").claim.parts, IsEmpty());
}

TEST_F(ReclaimTest, SpotThatIsShortReclaimsNothing) {
  Spot("s", {"m1"});
  Sync(world_.WantSpot("t", 1));
  EXPECT_THAT(Reclaiming("s"), IsEmpty());
}

TEST_F(ReclaimTest, ReclaimsAreSpreadOverTheSpotClaims) {
  Spot("one", {"a1"});
  Spot("many", {"b1", "b2", "b3", "b4"});
  Spot("few", {"c1", "c2"});
  Sync(world_.Want("d", 1));
  EXPECT_THAT(Reclaiming("many"), ElementsAre("b4"));
  Sync(world_.Want("d", 3));  // 2/4 and 1/2: fewest being reclaimed first
  EXPECT_THAT(Reclaiming("few"), ElementsAre("c2"));
  EXPECT_THAT(Reclaiming("many"), ElementsAre("b3", "b4"));
  Sync(world_.Want("d", 4));
  EXPECT_THAT(Reclaiming("many"), ElementsAre("b2", "b3", "b4"));
  EXPECT_THAT(Reclaiming("one"), IsEmpty());
  Sync(world_.Want("d", 7));
  EXPECT_THAT(Reclaiming("one"), ElementsAre("a1"));
}

TEST_F(ReclaimTest, TiesGoToTheClaimOfTheNewestMachine) {
  Spot("old", {"a1"});
  world_.Advance(absl::Minutes(1));
  Spot("new", {"b1"});
  Sync(world_.Want("d", 1));
  EXPECT_THAT(Reclaiming("new"), ElementsAre("b1"));
}

TEST_F(ReclaimTest, OnlyMachinesThatMatchTheAffinityAreReclaimed) {
  Sync(world_.WantSpot("s", 3));
  world_.RegisterLabelled({"a1"}, "disk", "nvme");
  world_.RegisterLabelled({"b1", "b2"}, "disk", "hdd");
  const ClaimView view = Sync(World::Where(world_.Want("d", 2), "disk", {"nvme"}));
  EXPECT_THAT(Reclaiming("s"), ElementsAre("a1"));
  EXPECT_EQ(view.matching, 1);
}

TEST_F(ReclaimTest, AMachineGivenBackGoesToTheFirstWithTheAgeOfTheOldestPart) {
  Spot("s", {"m1"});
  const absl::Time asked = world_.now();
  Sync(world_.Want("d", 1));
  Sync(world_.Want("later", 1));  // finds nothing to reclaim
  const absl::Time given = world_.now();
  const ClaimView spot = Give("s", 1, {"m1"});
  EXPECT_EQ(Row("m1").claim, "d");
  EXPECT_EQ(Row("m1").state, MachineState::kHeld);
  EXPECT_EQ(Row("m1").compute_class, ComputeClass::kDefault);
  EXPECT_EQ(Row("m1").request_time, asked);
  EXPECT_EQ(Row("m1").state_time, given);
  EXPECT_FALSE(Row("m1").reclaim_time.has_value());
  EXPECT_EQ(Row("m1").earmark, "");
  EXPECT_THAT(world_.View("d").claim.parts, IsEmpty());
  // The spot claim waits for another, from now on and behind all default claims.
  EXPECT_THAT(spot.claim.parts, ElementsAre(ClaimPart{given, 1}));
  EXPECT_EQ(spot.queue->place, 2);
}

TEST_F(ReclaimTest, ABrokenMachineIsReplacedByAnotherReclaim) {
  Spot("s", {"m1", "m2"});
  Sync(world_.Want("d", 1));
  Give("s", 2, {"m2"}, ReturnReason::kBroken);
  EXPECT_EQ(world_.StateOf("m2"), MachineState::kInRepair);
  EXPECT_EQ(Row("m2").earmark, "");
  EXPECT_THAT(Reclaiming("s"), ElementsAre("m1"));
  EXPECT_EQ(Row("m1").earmark, "d");
}

TEST_F(ReclaimTest, AReclaimIsTakenBackWhenTheClaimGoesAwayBeforeTheDrain) {
  Spot("s", {"m1", "m2"});
  const MachineRow before = Row("m2");
  Sync(world_.Want("d", 1));
  SyncClaim release = world_.Want("d", 0);
  release.release = true;
  Sync(release);
  EXPECT_EQ(Row("m2"), before);
  EXPECT_EQ(world_.View("s").claim.reclaim_generation, 2);
}

TEST_F(ReclaimTest, OnceTheDrainBeganTheMachineGoesBackForTheNextWhoIsShort) {
  Spot("s", {"m1"});
  Sync(world_.Want("d", 1));
  world_.Advance(kSpotNotice);
  Sync(world_.Want("d", 0));
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kReclaiming);
  EXPECT_EQ(Row("m1").earmark, "");
  Sync(world_.Want("e", 1));
  EXPECT_EQ(Row("m1").earmark, "e");
  EXPECT_EQ(world_.View("s").claim.reclaim_generation, 1);
}

TEST_F(ReclaimTest, TheNoticeEndsAtTwoMinutesSharp) {
  Spot("s", {"m1"});
  ASSERT_TRUE(world_.Do(world_.Want("d", 1)).ok());
  world_.Advance(kSpotNotice - absl::Nanoseconds(1));
  ASSERT_TRUE(world_.Do(world_.Want("d", 0)).ok());
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kHeld);
  ASSERT_TRUE(world_.Do(world_.Want("d", 1)).ok());
  world_.Advance(kSpotNotice);
  ASSERT_TRUE(world_.Do(world_.Want("d", 0)).ok());
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kReclaiming);
}

// Whatever users are promised: lifecycle drains after the notice that is set.
TEST_F(ReclaimTest, WhetherTheDrainBeganGoesByTheNoticeThatIsSet) {
  Spot("s", {"m1"});
  const Policy late{.preemption_notice = absl::Minutes(10)};
  Under(late, world_.Want("d", 1));
  world_.Advance(absl::Minutes(5));
  Under(late, world_.Want("d", 0));
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kHeld);
  const Policy early{.preemption_notice = absl::Seconds(10)};
  Under(early, world_.Want("d", 1));
  world_.Advance(absl::Seconds(11));
  Under(early, world_.Want("d", 0));
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kReclaiming);
}

TEST_F(ReclaimTest, AReclaimedMachineForNobodyIsFreeWhenGivenBack) {
  Spot("s", {"m1"});
  Sync(world_.Want("d", 1));
  world_.Advance(kSpotNotice);
  Sync(world_.Want("d", 0));
  Give("s", 0, {"m1"});
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kFree);
}

TEST_F(ReclaimTest, AMachineThatCameOtherwiseTakesAReclaimBack) {
  Spot("s", {"m1", "m2", "m3"});
  Sync(world_.Want("d", 1));
  Sync(world_.Want("d", 2));
  world_.Register({World::Machine("x")});
  EXPECT_THAT(world_.MachinesOf("d"), ElementsAre("x"));
  EXPECT_THAT(Reclaiming("s"), ElementsAre("m3"));
  EXPECT_EQ(world_.View("s").claim.reclaim_generation, 3);
}

TEST_F(ReclaimTest, WhatOneMissesNoMoreGoesToTheNextWhoIsShort) {
  Spot("s", {"m1"});
  Sync(world_.Want("d", 1));
  Sync(world_.Want("e", 1));
  EXPECT_EQ(Row("m1").earmark, "d");
  Sync(world_.Want("d", 0));
  EXPECT_EQ(Row("m1").earmark, "e");
  EXPECT_EQ(world_.View("s").claim.reclaim_generation, 1);
}

TEST_F(ReclaimTest, ANewAffinityLetsGoOfWhatDoesNotMatch) {
  Sync(world_.WantSpot("s", 2));
  world_.RegisterLabelled({"a1"}, "disk", "nvme");
  world_.RegisterLabelled({"b1"}, "disk", "hdd");
  Sync(World::Where(world_.Want("d", 1), "disk", {"nvme"}));
  EXPECT_THAT(Reclaiming("s"), ElementsAre("a1"));
  Sync(World::Where(world_.Want("d", 1), "disk", {"hdd"}));
  EXPECT_THAT(Reclaiming("s"), ElementsAre("b1"));
  // The same when the machine's label changes.
  world_.RegisterLabelled({"b1"}, "disk", "tape");
  EXPECT_THAT(Reclaiming("s"), IsEmpty());
}

TEST_F(ReclaimTest, WhatOthersWaitForComesLast) {
  Spot("s", {"m1", "m2", "m3", "m4"});
  world_.RegisterLabelled({"m1", "m3"}, "disk", "hdd");
  world_.RegisterLabelled({"m2", "m4"}, "disk", "nvme");
  Sync(world_.Want("d", 3));
  EXPECT_THAT(Reclaiming("s"), ElementsAre("m2", "m3", "m4"));
  // Of those that it does not wait for one comes already, the other anew; then that held last.
  Sync(World::Where(world_.Want("e", 1), "disk", {"nvme"}));
  EXPECT_THAT(Reclaiming("s"), ElementsAre("m1", "m2", "m3", "m4"));
  for (const char* id : {"m1", "m3", "m4"}) EXPECT_EQ(Row(id).earmark, "d") << id;
  EXPECT_EQ(Row("m2").earmark, "e");
}

// The first of the queue has one come before the second is served, and the affinities are known.
TEST_F(ReclaimTest, WhoseAffinityWasServedCountsNoMoreForThoseBehind) {
  Spot("s", {"t1", "n1", "h1"});
  world_.RegisterLabelled({"t1"}, "disk", "tape");
  world_.RegisterLabelled({"n1"}, "disk", "nvme");
  world_.RegisterLabelled({"h1"}, "disk", "hdd");
  Sync(World::Where(world_.Want("tape", 1), "disk", {"tape"}));
  Sync(World::Where(world_.Want("nvme", 1), "disk", {"nvme"}));
  Sync(world_.Want("any", 1));
  Sync(World::Where(world_.Want("hdd", 1), "disk", {"hdd"}));
  ASSERT_EQ(Row("h1").earmark, "any");
  world_.RegisterLabelled({"n2"}, "disk", "nvme");
  EXPECT_THAT(world_.MachinesOf("nvme"), ElementsAre("n2"));
  EXPECT_THAT(Reclaiming("s"), ElementsAre("h1", "n1", "t1"));
  EXPECT_EQ(Row("n1").earmark, "any");
  EXPECT_EQ(Row("h1").earmark, "hdd");
}

TEST_F(ReclaimTest, WhatComesOfManyLabelsIsTakenBackInTheOrderOfAll) {
  Spot("s", {"m1", "m2", "m3", "m4"});
  for (const std::string id : {"m1", "m2", "m3"}) world_.RegisterLabelled({id}, "rack", id);
  world_.RegisterLabelled({"m4"}, "rack", "m1");
  Sync(world_.Want("d", 4));
  Sync(world_.Want("d", 3));
  EXPECT_THAT(Reclaiming("s"), ElementsAre("m2", "m3", "m4"));
  Sync(world_.Want("d", 1));
  EXPECT_THAT(Reclaiming("s"), ElementsAre("m4"));
}

TEST_F(ReclaimTest, AGangReclaimsOnlyIfThatCompletesIt) {
  Spot("s", {"m1", "m2"});
  Sync(world_.Want("holder", 1));
  world_.Register({World::Machine("x")});
  Sync(world_.WantGang("g", 3));
  EXPECT_THAT(Reclaiming("s"), IsEmpty());
  Sync(world_.WantGang("g", 2));
  EXPECT_THAT(Reclaiming("s"), ElementsAre("m1", "m2"));
  // One comes back: it is kept for the gang until the other comes.
  Give("s", 1, {"m1"});
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kFree);
  EXPECT_THAT(Reclaiming("s"), ElementsAre("m2"));
  EXPECT_THAT(Sync(world_.Want("behind", 1)).machines, IsEmpty());
  Give("s", 0, {"m2"});
  EXPECT_THAT(world_.MachinesOf("g"), ElementsAre("m1", "m2"));
}

TEST_F(ReclaimTest, AGangMissesOnlyWhatIsNotKeptForIt) {
  Spot("s", {"m1", "m2", "m3"});
  Sync(world_.Want("holder", 3));
  for (const char* id : {"x", "y", "z"}) world_.Register({World::Machine(id)});
  Sync(world_.WantGang("g", 3));
  EXPECT_THAT(Reclaiming("s"), ElementsAre("m1", "m2", "m3"));
  // A machine that comes free is kept for it: one reclaim is taken back.
  Give("holder", 2, {"x"}, ReturnReason::kReleased);
  EXPECT_EQ(world_.StateOf("x"), MachineState::kFree);
  EXPECT_EQ(Reclaiming("s").size(), 2u);
  // All given back in one command complete it.
  Give("s", 1, Reclaiming("s"));
  EXPECT_EQ(world_.MachinesOf("g").size(), 3u);
}

TEST_F(ReclaimTest, WhoIsAheadOfAGangGetsWhatWasReclaimedForIt) {
  Spot("s", {"m1", "m2"});
  Sync(world_.WantGang("g", 2));
  SyncClaim urgent = world_.Want("urgent", 1);
  urgent.priority = 9;
  Sync(urgent);
  Give("s", 0, {"m1", "m2"});
  EXPECT_EQ(world_.MachinesOf("urgent").size(), 1u);
  EXPECT_THAT(world_.MachinesOf("g"), IsEmpty());
}

TEST_F(ReclaimTest, AReclaimedMachineCountsAsHeldForSetMachineState) {
  Spot("s", {"m1"});
  Sync(world_.Want("d", 1));
  EXPECT_EQ(world_.Do(SetMachineState{"m1", MachineState::kRetired}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(ReclaimTest, NothingIsTakenFromWhereTheTypeIsNotOffered) {
  Spot("s", {"m1"});
  world_.Do(UpdateZone{{.id = World::kZone, .instance_types = {}}});
  Sync(world_.Want("d", 1));
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kHeld);
  world_.Do(UpdateZone{{.id = World::kZone, .instance_types = {World::kType}}});
  EXPECT_THAT(Reclaiming("s"), ElementsAre("m1"));
  // Not offered any more: nobody gets it, so it is taken back.
  world_.Do(UpdateZone{{.id = World::kZone, .instance_types = {}}});
  EXPECT_THAT(Reclaiming("s"), IsEmpty());
  Give("s", 0, {"m1"});
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kFree);
}

TEST_F(ReclaimTest, SpotThatIsOfferedNoMoreIsStillReclaimed) {
  Spot("s", {"m1"});
  world_.Do(UpdateZone{
      {.id = World::kZone, .access = ZoneAccess::kDedicated, .instance_types = {World::kType}}});
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kHeld);
  Sync(world_.Want("d", 1));
  EXPECT_THAT(Reclaiming("s"), ElementsAre("m1"));
}

TEST_F(ReclaimTest, FreeMachinesDoNotGoToSpotWhileADefaultClaimWaits) {
  Sync(world_.WantSpot("s", 2));
  Sync(world_.Want("d", 1));
  world_.Register({World::Machine("m1")});
  EXPECT_THAT(world_.MachinesOf("d"), ElementsAre("m1"));
  world_.Register({World::Machine("m2")});
  EXPECT_THAT(world_.MachinesOf("s"), ElementsAre("m2"));
}

TEST_F(ReclaimTest, VictimsAreThoseOfAWalkOverAllMachines) {
  std::mt19937 random(3);
  for (int i = 0; i < 120; ++i) {
    SpotWithDisk(absl::StrCat("s", random() % 12), absl::StrCat("m", i),
                 absl::StrCat("d", random() % 5));
    if (i % 3 == 0) world_.Advance(absl::Seconds(1));
  }
  State state = world_.state();
  StagedState<State> staged(state, world_.revision());
  const Affinity affinity = World::With("disk", {"d1", "d3"});
  Victims victims(*state.FindInventory({World::kZone, World::kType}), EligibleMachines{&affinity});
  EXPECT_GT(ReclaimAll(staged, world_.now(), affinity, victims), 12);
}

// However many are reclaimed, claims in front that have nothing to give are looked at once.
TEST_F(ReclaimTest, EachSpotClaimIsLookedAtOnce) {
  constexpr int kClaims = 50;
  std::vector<std::string> disks;
  for (int i = 0; i < kClaims; ++i) {
    // Who holds more stands in front.
    for (int machine = 0; machine < 3; ++machine) {
      SpotWithDisk(absl::StrCat("h", i), absl::StrCat("hdd", i, "-", machine),
                   absl::StrCat("hdd", i));
    }
    disks.push_back(absl::StrCat("nvme", i));
    SpotWithDisk(absl::StrCat("n", i), absl::StrCat("nvme", i), disks.back());
  }
  State state = world_.state();
  StagedState<State> staged(state, world_.revision());
  const Affinity affinity = World::With("disk", disks);
  Victims victims(*state.FindInventory({World::kZone, World::kType}), EligibleMachines{&affinity});
  EXPECT_EQ(ReclaimAll(staged, world_.now(), affinity, victims), kClaims);
  // Each in each class that matches, and once more after its reclaim.
  EXPECT_LE(victims.looks(), 2 * kClaims * kClaims + kClaims);
}

TEST_F(ReclaimTest, TheOldestPartsAreCoveredFirst) {
  Spot("s", {"m1"});
  Sync(world_.Want("first", 2));
  Sync(world_.Want("second", 1));
  EXPECT_EQ(Row("m1").earmark, "first");
  // A machine for the first: its earmark still covers the one it misses.
  world_.Register({World::Machine("x")});
  EXPECT_THAT(world_.MachinesOf("first"), ElementsAre("x"));
  EXPECT_EQ(Row("m1").earmark, "first");
  world_.Register({World::Machine("y")});
  EXPECT_EQ(Row("m1").earmark, "second");
}

}  // namespace
}  // namespace muster::capacity
