#include "services/capacity/core/gang.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/capacity/core/explain.h"
#include "services/capacity/core/testing/world.h"

// Queue, gangs and earmarks. tests/model finds the same over random histories.
namespace muster::capacity {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

class GangTest : public testing::Test {
 protected:
  GangTest() { world_.AddCatalogue(); }

  // One step later.
  template <class Command>
  void Then(const Command& command) {
    world_.Advance(absl::Seconds(1));
    (void)world_.Do(command);
  }
  // The claim gives back `ids` and wants that many fewer.
  void GiveBack(const std::string& uid, const std::vector<std::string>& ids,
                ReturnReason reason = ReturnReason::kReleased) {
    const int64_t nodes = world_.View(uid).claim.nodes - static_cast<int64_t>(ids.size());
    Then(world_.Want(uid, nodes, World::Returns(ids, reason)));
  }
  // The same request once more.
  void Repeat(const std::string& uid, int64_t nodes) {
    SyncClaim again = world_.Want(uid, nodes);
    --again.generation;
    Then(again);
  }

  World world_;
};

TEST_F(GangTest, ARaiseStandsBehindWhoAskedBeforeIt) {
  world_.RegisterRack("f", "r", 6);
  Then(world_.Want("x", 6));
  Then(world_.WantGang("g", 1));
  Then(world_.Want("b", 2));
  Then(world_.WantGang("g", 4));
  GiveBack("x", {"r-0", "r-1", "r-2"});
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(1));
  EXPECT_THAT(world_.MachinesOf("b"), SizeIs(2));
  GiveBack("x", {"r-3", "r-4"});
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(1)) << "what the raise adds comes at once";
  GiveBack("x", {"r-5"});
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(4));
}

// As where one commit decides both.
TEST_F(GangTest, TwoRaisesAtOneTimeAreTwoRequests) {
  ASSERT_TRUE(world_.Do(world_.WantGang("g", 2)).ok());
  ASSERT_TRUE(world_.Do(world_.WantGang("g", 5)).ok());
  world_.RegisterRack("f", "r", 2);
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(2)) << "the first does not wait for the second";
  world_.RegisterRack("f", "q", 2);
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(2)) << "what the second adds comes at once";
  ASSERT_TRUE(world_.Do(world_.WantGang("h", 2)).ok());
  ASSERT_THAT(world_.MachinesOf("h"), SizeIs(2));
  ASSERT_TRUE(world_.Do(world_.WantGang("h", 4)).ok());
  world_.RegisterRack("f", "s", 1);
  EXPECT_THAT(world_.MachinesOf("h"), SizeIs(2)) << "though it holds machines of the same time";
}

// A pool that holds its whole zone rises while some of its Nodes drain: what they give back is kept
// for it.
TEST_F(GangTest, WhatAGangIsToGiveBackItselfCanCompleteIt) {
  world_.RegisterRack("f", "r", 8);
  Then(world_.WantGang("g", 8));
  const auto want = [&](int64_t nodes, int64_t leaving, std::vector<MachineReturn> returns = {}) {
    SyncClaim claim = world_.Want("g", nodes, std::move(returns));
    claim.wanted_nodes = 8 + leaving;
    claim.leaving_nodes = leaving;
    Then(claim);
  };
  want(12, 4);
  EXPECT_EQ(world_.View("g").reason, ClaimReason::kQueued);
  Then(world_.Want("q", 4));
  for (int64_t left = 3; left >= 0; --left) {
    EXPECT_THAT(world_.MachinesOf("g"), SizeIs(left + 5));
    const std::string id = absl::StrCat("r-", left);
    want(left + 4, left, World::Returns({id}, ReturnReason::kReleased));
    EXPECT_THAT(world_.MachinesOf("q"), IsEmpty());
    want(8 + left, left);
    EXPECT_THAT(world_.MachinesOf("q"), IsEmpty());
  }
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(8));
  EXPECT_EQ(world_.View("q").reason, ClaimReason::kQueued);
}

// Nor does another claim lack what can never come.
TEST_F(GangTest, WhatAClaimIsToGiveBackItselfMayCome) {
  world_.RegisterRack("f", "r", 8);
  Then(world_.Want("c", 8));
  SyncClaim more = world_.Want("c", 12);
  more.leaving_nodes = 4;
  Then(more);
  EXPECT_EQ(world_.View("c").reason, ClaimReason::kQueued);
  more = world_.Want("c", 13);
  more.leaving_nodes = 4;
  Then(more);
  EXPECT_EQ(world_.View("c").reason, ClaimReason::kPartial);
}

// An older server took a request in between: it knows nothing of what leaves, and hands it on.
TEST_F(GangTest, WhatAnOlderServerHandsOnOfMachinesThatLeaveIsVoid) {
  world_.RegisterRack("f", "r", 8);
  Then(world_.Want("c", 8));
  SyncClaim more = world_.Want("c", 12);
  more.leaving_nodes = 4;
  Then(more);
  ASSERT_EQ(world_.View("c").reason, ClaimReason::kQueued);
  world_.Change([](auto& staged) {
    ClaimRow claim = *staged.state().FindClaim("c");
    ++claim.generation;
    staged.Put(std::move(claim));
  });
  EXPECT_EQ(world_.View("c").reason, ClaimReason::kPartial);
}

// The turn of its default gang had begun when nothing was left for the class: a spot gang's does
// not go on from there.
TEST_F(GangTest, ASpotGangsTurnIsItsOwnBesideAnUnfinishedOneOfItsOrganization) {
  world_.RegisterRack("f", "r", 8);
  Then(world_.Want("x", 8));
  const auto ask = [&](SyncClaim claim, const std::string& organization, int32_t priority) {
    claim.organization = organization;
    claim.priority = priority;
    Then(claim);
  };
  ask(world_.WantGang("low", 1), "acme", 0);
  ask(world_.WantGang("other", 6), "umbrella", 0);
  ask(world_.WantGang("high", 3), "acme", 9);
  SyncClaim spot = world_.WantSpot("spot", 2);
  spot.gang = true;
  ask(spot, "acme", 0);
  GiveBack("x", {"r-0", "r-1"});
  EXPECT_THAT(world_.MachinesOf("spot"), SizeIs(2)) << "what is kept for a gang is lent to spot";
  GiveBack("x", {"r-2", "r-3"});
  EXPECT_THAT(world_.MachinesOf("low"), IsEmpty());
  EXPECT_THAT(world_.MachinesOf("high"), IsEmpty());
  EXPECT_THAT(world_.MachinesOf("other"), IsEmpty());
}

TEST_F(GangTest, AMachineLostIsReplacedAlone) {
  world_.RegisterRack("f", "r", 4);
  Then(world_.Want("x", 1));
  Then(world_.WantGang("g", 3));
  Then(world_.Want("b", 1));
  SyncClaim lost = world_.WantGang("g", 3);
  lost.returns = {{world_.MachinesOf("g")[0], ReturnReason::kBroken}};
  Then(lost);
  Then(world_.WantGang("g", 5));
  GiveBack("x", world_.MachinesOf("x"));
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(3));
  EXPECT_THAT(world_.MachinesOf("b"), IsEmpty()) << "the lost machine's age is older";
}

// What can be met once a rack is free waits for it, however many requests it takes.
TEST_F(GangTest, RequestsThatMakeUpARackTogetherAreQueued) {
  world_.RegisterRack("f", "r1", 4, World::kRackType);
  Then(World::OfRacks(world_.Want("x", 4)));
  Then(World::OfRacks(world_.Want("p", 2)));
  EXPECT_EQ(world_.View("p").reason, ClaimReason::kNoneAvailable) << "half a rack is never granted";
  Then(world_.Want("p", 4));
  EXPECT_EQ(world_.View("p").reason, ClaimReason::kQueued);
  GiveBack("x", world_.MachinesOf("x"));
  EXPECT_THAT(world_.MachinesOf("p"), SizeIs(4));
}

// It is none that a rack could be made whole by, nor one that is missing.
TEST_F(GangTest, AMachineThatStandsInNoRackTakesNothingFromARackGang) {
  for (const char* rack : {"r1", "r2", "r3"}) world_.RegisterRack("f", rack, 4, World::kRackType);
  Then(World::OfRacks(world_.WantGang("g", 4)));
  Then(World::OfRacks(world_.Want("x", 4)));
  const std::string first = world_.MachinesOf("g")[0];
  MachineRow moved = *world_.state().FindMachine(first);
  world_.Register({World::Machine(first, moved.fabric, "", moved.slot, World::kRackType)});
  Then(world_.WantGang("g", 12));
  EXPECT_EQ(world_.View("g").reason, ClaimReason::kQueued);
  Then(World::OfRacks(world_.Want("b", 4)));
  EXPECT_THAT(world_.MachinesOf("b"), IsEmpty()) << "the free rack is kept for the gang";
  GiveBack("x", world_.MachinesOf("x"));
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(12));
}

TEST_F(GangTest, ARackGangWithABrokenMachineGrows) {
  world_.RegisterRack("f", "r1", 4, World::kRackType);
  Then(World::OfRacks(world_.WantGang("g", 4)));
  SyncClaim raised = world_.WantGang("g", 8);
  raised.returns = {{"r1-2", ReturnReason::kBroken}};
  Then(raised);
  Then(World::OfRacks(world_.Want("b", 4)));
  world_.RegisterRack("f", "r2", 4, World::kRackType);
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(7)) << "one whole rack is all that the raise needs";
  EXPECT_THAT(world_.MachinesOf("b"), IsEmpty());
  Then(SetMachineState{"r1-2", MachineState::kFree});
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(8));
}

// What an older request takes once it comes is not there for a younger one; if that can never come,
// it takes nothing.
TEST_F(GangTest, NothingIsKeptForARequestThatItsOlderOneLeavesTooLittle) {
  for (const bool older_can_come : {true, false}) {
    SCOPED_TRACE(older_can_come);
    const std::string g = absl::StrCat("g", older_can_come);
    const std::string b = absl::StrCat("b", older_can_come);
    if (older_can_come) world_.RegisterRack("f", "r", 7);
    if (older_can_come) Then(world_.Want("x", 5));
    Then(world_.WantGang(g, older_can_come ? 4 : 9));
    world_.Advance(absl::Hours(25));  // the older one keeps nothing any more
    Then(world_.WantGang(g, older_can_come ? 8 : 13));
    Then(world_.Want(b, 2));
    EXPECT_THAT(world_.MachinesOf(b), SizeIs(older_can_come ? 2 : 0));
    GiveBack(b, world_.MachinesOf(b));
    Then(world_.Want(g, 0));
    Then(world_.Want(b, 0));
  }
}

TEST_F(GangTest, NorAreWholeRacks) {
  for (const char* rack : {"r1", "r2", "r3"}) world_.RegisterRack("f", rack, 4, World::kRackType);
  Then(World::OfRacks(world_.Want("x", 8)));
  Then(World::OfRacks(world_.WantGang("g", 8)));
  world_.Advance(absl::Hours(25));
  Then(world_.WantGang("g", 16));
  Then(World::OfRacks(world_.Want("b", 4)));
  EXPECT_THAT(world_.MachinesOf("b"), SizeIs(4));
}

// It can only come from the gang's own rack.
TEST_F(GangTest, WholeRacksAreNotKeptForPartOfOne) {
  world_.RegisterRack("f", "r1", 4, World::kRackType);
  Then(World::OfRacks(world_.WantGang("g", 4)));
  GiveBack("g", {"r1-2"});
  Then(SetMachineState{"r1-2", MachineState::kInRepair});
  Then(world_.WantGang("g", 4));
  world_.RegisterRack("f", "r2", 4, World::kRackType);
  const absl::Time keeps_after = absl::InfinitePast();
  EXPECT_THAT(KeptGangs(world_.state(), {World::kZone, World::kRackType}, keeps_after), IsEmpty());
  Then(World::OfRacks(world_.Want("b", 4)));
  EXPECT_THAT(world_.MachinesOf("b"), SizeIs(4));
  Then(SetMachineState{"r1-2", MachineState::kFree});
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(4));
}

// All of its fabric is.
TEST_F(GangTest, ARackInRepairCompletesAGang) {
  world_.RegisterRack("f", "r1", 4, World::kRackType);
  world_.RegisterRack("g", "r2", 4, World::kRackType);
  for (int i = 0; i < 4; ++i)
    Then(SetMachineState{absl::StrCat("r2-", i), MachineState::kInRepair});
  Then(World::OfRacks(world_.WantGang("g", 8)));
  EXPECT_EQ(world_.View("g").reason, ClaimReason::kQueued);
  Then(World::OfRacks(world_.Want("b", 4)));
  EXPECT_THAT(world_.MachinesOf("b"), IsEmpty());
  for (int i = 0; i < 4; ++i) Then(SetMachineState{absl::StrCat("r2-", i), MachineState::kFree});
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(8));
}

TEST_F(GangTest, NothingIsReclaimedForAGangThatCannotBeCompleted) {
  world_.RegisterRack("f", "r", 4);
  Then(world_.WantSpot("s", 4));
  Then(world_.WantGang("g", 4));
  ASSERT_THAT(world_.View("s").reclaims, SizeIs(4));
  Then(world_.WantSpot("s", 3, {{"r-0", ReturnReason::kBroken}}));
  EXPECT_THAT(world_.View("s").reclaims, IsEmpty());
  Then(SetMachineState{"r-0", MachineState::kFree});
  EXPECT_THAT(world_.View("s").reclaims, SizeIs(3)) << "the gang can be completed again";
}

TEST_F(GangTest, WhatComesBackOneByOneIsKeptForTheGang) {
  world_.RegisterRack("f", "r", 3);
  Then(world_.WantSpot("s", 3));
  Then(world_.WantGang("g", 3));
  Then(world_.Want("b", 1));
  world_.Advance(absl::Minutes(3));
  for (const char* id : {"r-0", "r-1", "r-2"}) {
    EXPECT_THAT(world_.MachinesOf("g"), IsEmpty());
    Then(world_.WantSpot("s", 3, {{id, ReturnReason::kPreempted}}));
    EXPECT_THAT(world_.MachinesOf("b"), IsEmpty());
  }
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(3));
}

TEST_F(GangTest, WhatComesBackGoesToTheFirstInTheQueue) {
  world_.RegisterRack("f", "r", 1);
  Then(world_.WantSpot("s", 1));
  Then(world_.Want("b", 1));
  SyncClaim first = world_.Want("a", 1);
  first.priority = 5;
  Then(first);
  Then(world_.WantSpot("s", 1, {{"r-0", ReturnReason::kPreempted}}));
  EXPECT_THAT(world_.MachinesOf("a"), ElementsAre("r-0"));
}

TEST_F(GangTest, TheReclaimOfWhatWasHeldLongestIsTakenBack) {
  world_.RegisterRack("f", "r1", 1);
  Then(world_.WantSpot("s", 2));
  world_.Advance(absl::Minutes(1));
  world_.RegisterRack("f", "r2", 1);
  Then(world_.Want("d", 1));
  Then(world_.Want("e", 1));
  ASSERT_THAT(world_.View("s").reclaims, SizeIs(2));
  Then(world_.Want("d", 0));
  EXPECT_EQ(world_.StateOf("r1-0"), MachineState::kHeld);
  EXPECT_EQ(world_.StateOf("r2-0"), MachineState::kReclaiming);
}

TEST_F(GangTest, ATypeNoLongerOfferedReclaimsNothing) {
  world_.RegisterRack("f", "r", 2);
  Then(world_.WantSpot("s", 2));
  Then(world_.Want("d", 2));
  ASSERT_THAT(world_.View("s").reclaims, SizeIs(2));
  Then(UpdateZone{{.id = World::kZone}});
  EXPECT_THAT(world_.View("s").reclaims, IsEmpty());
}

TEST_F(GangTest, NothingIsKeptForever) {
  world_.RegisterRack("f", "r", 2);
  Then(world_.Want("x", 1));
  Then(world_.WantGang("g", 2));
  Then(world_.Want("b", 1));
  EXPECT_THAT(world_.MachinesOf("b"), IsEmpty());
  world_.Advance(absl::Hours(24));
  Repeat("b", 1);
  EXPECT_THAT(world_.MachinesOf("b"), SizeIs(1));
}

// Nobody need ask again.
TEST_F(GangTest, WhoWaitsBehindAGangIsServedOnceItsKeepEnds) {
  world_.RegisterRack("f", "r", 2);
  Then(world_.Want("x", 1));
  Then(world_.WantGang("g", 2));
  const absl::Time end = world_.now() + absl::Hours(24);
  Then(world_.Want("b", 1));
  EXPECT_EQ(NextKeepEnd(world_.state(), Policy(), absl::InfinitePast()), end);
  world_.Advance(end - world_.now() - absl::Seconds(1));
  EXPECT_EQ(world_.Do(EndKeeps{}), 0u);
  world_.Advance(absl::Seconds(1));
  EXPECT_GT(world_.Do(EndKeeps{}), 0u);
  EXPECT_THAT(world_.MachinesOf("b"), SizeIs(1));
  // The gang waits on; nothing is due any more.
  EXPECT_EQ(world_.Do(EndKeeps{}), 0u);
  EXPECT_EQ(NextKeepEnd(world_.state(), Policy(), world_.now()), absl::InfiniteFuture());
}

TEST_F(GangTest, EveryKeepEndsAtItsOwnTime) {
  Then(world_.WantGang("g", 2));
  const absl::Time first = world_.now() + absl::Hours(24);
  Then(world_.WantGang("h", 2));
  Then(world_.WantGang("g", 5));
  SyncClaim spot = world_.WantSpot("s", 2);
  spot.gang = true;
  Then(spot);
  Then(world_.Want("b", 1));
  std::vector<absl::Time> ends;
  for (absl::Time at = absl::InfinitePast(); at != absl::InfiniteFuture();
       at = NextKeepEnd(world_.state(), Policy(), at))
    ends.push_back(at);
  EXPECT_THAT(ends, ElementsAre(absl::InfinitePast(), first, first + absl::Seconds(1),
                                first + absl::Seconds(2)));
}

// What was kept while the policy was another is for others now.
TEST_F(GangTest, WhereNothingIsKeptThatIsSeenToOnce) {
  const Policy none{.gang_keep = absl::ZeroDuration()};
  EXPECT_EQ(NextKeepEnd(world_.state(), none, absl::InfinitePast()), absl::InfiniteFuture());
  Then(world_.WantGang("g", 2));
  EXPECT_LE(NextKeepEnd(world_.state(), none, absl::InfinitePast()), world_.now());
  EXPECT_EQ(NextKeepEnd(world_.state(), none, world_.now()), absl::InfiniteFuture());
}

// "A machine lost to repair is replaced alone, with its old age": also the last one of its request.
TEST_F(GangTest, WhatIsLostIsReplacedAloneWhateverElseIsLost) {
  world_.RegisterRack("f", "r", 3);
  world_.RegisterRack("f", "q", 2);
  Then(world_.WantGang("g", 3));
  const std::vector<std::string> held = world_.MachinesOf("g");
  ASSERT_THAT(held, SizeIs(3));
  Then(world_.Want("x", 2));
  world_.Advance(absl::Hours(30 * 24));
  std::vector<MachineReturn> broken;
  for (const std::string& id : held) broken.push_back({id, ReturnReason::kBroken});
  Then(world_.Want("g", 3, broken));
  Then(world_.Want("b", 3));
  Then(SetMachineState{held[0], MachineState::kFree});
  EXPECT_THAT(world_.MachinesOf("g"), ElementsAre(held[0]));
  Then(SetMachineState{held[1], MachineState::kFree});
  Then(SetMachineState{held[2], MachineState::kFree});
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(3));
  // What it asks for beyond that comes at once, as ever.
  Then(world_.WantGang("g", 5));
  GiveBack("x", {world_.MachinesOf("x")[0]});
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(3));
}

// Where spot has what was kept, too.
TEST_F(GangTest, WhoWaitsBehindAGangReclaimsOnceNothingIsKept) {
  world_.RegisterRack("f", "r", 5);
  Then(world_.Want("x", 2));
  Then(world_.WantGang("g", 5));
  Then(world_.WantSpot("s", 3));
  ASSERT_THAT(world_.MachinesOf("s"), SizeIs(3));
  Then(world_.Want("b", 1));
  EXPECT_THAT(world_.View("s").reclaims, IsEmpty());
  world_.Advance(absl::Hours(25));
  Repeat("b", 1);
  EXPECT_THAT(world_.View("s").reclaims, SizeIs(1));
}

// "Default before spot": what a gang keeps ends against default claims behind it only.
class OverdueGangTest : public GangTest {
 protected:
  // Of ten machines x gives back five and s holds five, when nothing is kept for the gangs any
  // more.
  void Start(const SyncClaims& gangs, absl::Duration later) {
    world_.RegisterRack("f", "r", 10);
    Then(world_.Want("x", 5));
    Then(world_.WantSpot("s", 10));
    Then(gangs);
    world_.Advance(later);
    Then(world_.Want("x", 0, World::Returns(world_.MachinesOf("x"))));
  }
  // The rest comes, too.
  void ExpectItIsCompleted(const std::string& gang) {
    EXPECT_THAT(world_.MachinesOf("s"), SizeIs(5)) << "what is free is for the gang";
    std::vector<std::string> due;
    for (const Reclaimed& reclaim : world_.View("s").reclaims) due.push_back(reclaim.machine);
    ASSERT_THAT(due, SizeIs(3));
    Then(world_.WantSpot("s", 10, World::Returns(due, ReturnReason::kPreempted)));
    EXPECT_THAT(world_.MachinesOf(gang), SizeIs(8));
  }
};

TEST_F(OverdueGangTest, SpotYieldsToIt) {
  Start({{world_.WantGang("g", 8)}}, absl::Hours(25));
  const absl::Time keeps_after = world_.now() - absl::Hours(24);
  const auto told = Explain(world_.state(), *world_.state().FindClaim("s"), keeps_after);
  EXPECT_THAT(told, Contains(AllOf(Field(&Obstacle::code, ObstacleCode::kKeptForGang),
                                   Field(&Obstacle::nodes, 5))));
  ExpectItIsCompleted("g");
}

TEST_F(OverdueGangTest, AlsoWhereNothingIsEverKept) {
  world_.policy.gang_keep = absl::ZeroDuration();
  Start({{world_.WantGang("g", 8)}}, absl::ZeroDuration());
  ExpectItIsCompleted("g");
}

TEST_F(OverdueGangTest, WhoTakesWhatIsFreeEndsItsReclaims) {
  Start({{world_.WantGang("g", 8)}}, absl::Hours(25));
  Then(world_.Want("b", 4));
  EXPECT_THAT(world_.MachinesOf("b"), SizeIs(4));
  EXPECT_THAT(world_.View("s").reclaims, IsEmpty()) << "it can no longer be completed";
  EXPECT_THAT(world_.MachinesOf("s"), SizeIs(6));
  EXPECT_EQ(world_.Do(EndKeeps{}), 0u);
}

TEST_F(OverdueGangTest, WhatIsFreeCompletesOneOfThem) {
  Start({{world_.WantGang("g", 8), world_.WantGang("h", 7)}}, absl::Hours(25));
  EXPECT_EQ(world_.Do(EndKeeps{}), 0u);
  ExpectItIsCompleted("g");
}

TEST_F(GangTest, NothingIsKeptForATimeOfZero) {
  world_.RegisterRack("f", "r", 2);
  Then(world_.Want("x", 1));
  world_.Change([&](StagedState<State>& staged) {
    (void)Decide(staged, SyncClaims{{world_.Want("c", 0), world_.WantGang("g", 2)}}, world_.now(),
                 Policy{.gang_keep = absl::ZeroDuration()});
    (void)Decide(staged, world_.Want("b", 1), world_.now() + absl::Seconds(1),
                 Policy{.gang_keep = absl::ZeroDuration()});
  });
  EXPECT_THAT(world_.MachinesOf("b"), SizeIs(1));
}

TEST_F(GangTest, WhatIsKeptIsLentToSpot) {
  world_.RegisterRack("f", "r", 2);
  Then(world_.Want("x", 1));
  Then(world_.WantGang("g", 2));
  Then(world_.WantSpot("s", 1));
  ASSERT_THAT(world_.MachinesOf("s"), SizeIs(1));
  GiveBack("x", world_.MachinesOf("x"));
  EXPECT_THAT(world_.View("s").reclaims, SizeIs(1)) << "now it completes the gang";
}

TEST_F(GangTest, WhatIsInRepairCompletesAGang) {
  world_.RegisterRack("f", "r", 2);
  Then(SetMachineState{"r-0", MachineState::kInRepair});
  Then(world_.WantGang("g", 2));
  Then(world_.Want("b", 1));
  EXPECT_THAT(world_.MachinesOf("b"), IsEmpty());
  EXPECT_EQ(world_.View("g").reason, ClaimReason::kQueued);
  Then(SetMachineState{"r-0", MachineState::kRetired});
  EXPECT_THAT(world_.MachinesOf("b"), SizeIs(1));
  EXPECT_EQ(world_.View("g").reason, ClaimReason::kNoneAvailable);
}

TEST_F(GangTest, AClaimWithoutAffinityLeavesWhatAnotherWaitsFor) {
  world_.RegisterLabelled({"m1"}, "disk", "nvme");
  world_.Register({World::Machine("m2")});
  Then(world_.Want("x", 2));
  Then(world_.Want("a", 1));
  Then(World::Where(world_.Want("n", 1), "disk", {"nvme"}));
  GiveBack("x", {"m1", "m2"});
  EXPECT_THAT(world_.MachinesOf("a"), ElementsAre("m2"));
  EXPECT_THAT(world_.MachinesOf("n"), ElementsAre("m1"));
}

TEST_F(GangTest, SoDoReclaims) {
  world_.RegisterLabelled({"m1"}, "disk", "nvme");
  world_.Register({World::Machine("m2")});
  Then(world_.WantSpot("s", 2));
  SyncClaims both{{world_.Want("a", 1), World::Where(world_.Want("n", 1), "disk", {"nvme"})}};
  Then(both);
  EXPECT_THAT(world_.View("s").reclaims, SizeIs(2));
}

TEST_F(GangTest, ABatchIsOneDecision) {
  world_.RegisterRack("f", "r", 1);
  Then(SyncClaims{{world_.WantSpot("s", 1), world_.Want("d", 1)}});
  EXPECT_THAT(world_.MachinesOf("d"), SizeIs(1));
  EXPECT_THAT(world_.MachinesOf("s"), IsEmpty());
}

TEST_F(GangTest, TheOrderOfABatchDecidesAmongEqualTimes) {
  world_.RegisterRack("f", "r", 1);
  Then(SyncClaims{{world_.Want("z", 2), world_.Want("a", 1)}});
  EXPECT_THAT(world_.MachinesOf("z"), SizeIs(1));
  EXPECT_EQ(world_.View("z").queue->place, 1);
  EXPECT_EQ(world_.View("a").queue->place, 2);
}

// "A claim without affinity takes machines that the fewest waiting affinities match": whole racks,
// too.
TEST_F(GangTest, ARackThatAnotherWaitsForIsLeft) {
  std::vector<MachineRow> machines;
  for (int32_t slot = 0; slot < World::kNodesPerRack; ++slot) {
    machines.push_back(World::Labelled(
        World::Machine(absl::StrCat("r1-", slot), "f", "r1", slot, World::kRackType), "disk",
        "nvme"));
  }
  world_.Register(machines);
  world_.RegisterRack("f", "r2", World::kNodesPerRack, World::kRackType);
  Then(World::OfRacks(world_.Want("h", 8)));
  Then(World::OfRacks(world_.Want("a", 4)));
  Then(World::OfRacks(World::Where(world_.Want("n", 4), "disk", {"nvme"})));
  GiveBack("h", world_.MachinesOf("h"));
  EXPECT_THAT(world_.MachinesOf("a"), ElementsAre("r2-0", "r2-1", "r2-2", "r2-3"));
  EXPECT_THAT(world_.MachinesOf("n"), SizeIs(4));
}

// It would take minutes if the racks were counted for each part.
TEST_F(GangTest, ManyRacksAreCountedForManyClaimsOfManyParts) {
  constexpr int kClaims = 400;
  for (int rack = 0; rack < 12'500; ++rack)
    world_.RegisterRack("f", absl::StrCat("r", rack), 1, World::kRackType);
  Then(World::OfRacks(world_.WantGang("g", World::kNodesPerRack)));
  ClaimRow claim = *world_.state().FindClaim("g");
  for (size_t i = 1; i < kMaxParts; ++i)
    claim.parts.push_back({world_.now() + absl::Microseconds(i), World::kNodesPerRack});
  claim.nodes = int64_t{kMaxParts} * World::kNodesPerRack;
  world_.Change([&](StagedState<State>& staged) {
    for (int i = 0; i < kClaims; ++i) {
      claim.pool_uid = absl::StrCat("g", i);
      staged.Put(claim);
    }
  });
  SyncClaims more;
  for (int i = 0; i < kClaims; ++i)
    more.claims.push_back(
        world_.Want(absl::StrCat("g", i), claim.nodes + int64_t{World::kNodesPerRack}));
  world_.Advance(absl::Seconds(1));
  for (const absl::StatusOr<ClaimView>& view : world_.Do(more)) {
    ASSERT_TRUE(view.ok()) << view.status();
    EXPECT_EQ(view->reason, ClaimReason::kNoneAvailable);
  }
  // A rack that is whole is enough for one part.
  world_.RegisterRack("f", "whole", World::kNodesPerRack, World::kRackType);
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(World::kNodesPerRack));
  EXPECT_EQ(world_.View("g7").reason, ClaimReason::kQueued);
}

}  // namespace
}  // namespace muster::capacity
