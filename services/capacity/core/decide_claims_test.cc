#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/capacity/core/audit.h"
#include "services/capacity/core/limits.h"
#include "services/capacity/core/parts.h"
#include "services/capacity/core/testing/claims_test_base.h"
#include "services/capacity/core/testing/world.h"
#include "services/common/error.h"

namespace muster::capacity {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class DecideClaimsTest : public ClaimsTest {
 protected:
  ClaimView Want(const std::string& uid, int64_t nodes, std::vector<MachineReturn> returns = {}) {
    return Sync(world_.Want(uid, nodes, std::move(returns)));
  }
  // The refusal's reason, after seeing that nothing changed.
  std::string Refused(const SyncClaim& claim) {
    const absl::StatusOr<ClaimView> view = world_.Do(claim);
    EXPECT_FALSE(view.ok());
    EXPECT_THAT(world_.changes(), IsEmpty());
    return error::ReasonOf(view.status());
  }
  void Machines(int first, int count) {
    std::vector<MachineRow> machines;
    for (int i = first; i < first + count; ++i)
      machines.push_back(World::Machine(absl::StrCat("m", i)));
    world_.Register(std::move(machines));
  }
};

TEST_F(DecideClaimsTest, GrantsWhatIsFreeAndQueuesTheRest) {
  Machines(1, 2);
  const absl::Time asked = world_.now();
  const ClaimView view = Want("p", 3);
  EXPECT_THAT(view.machines, ElementsAre("m1", "m2"));
  EXPECT_THAT(view.claim.parts, ElementsAre(ClaimPart{asked, 1}));
  EXPECT_EQ(view.reason, ClaimReason::kPartial);
  EXPECT_EQ(view.in_service, 2);
  EXPECT_EQ(world_.state().FindMachine("m1")->request_time, asked);
}

TEST_F(DecideClaimsTest, SameGenerationIsAnsweredAndChangesNothing) {
  Machines(1, 3);
  const SyncClaim request = world_.Want("p", 2);
  ClaimView first = Sync(request);
  first.granted.clear();  // by the first request only
  EXPECT_EQ(Sync(request), first);
  EXPECT_THAT(world_.changes(), IsEmpty());
}

TEST_F(DecideClaimsTest, RepeatedReturnsDoNotTakeAMachineThatCameBack) {
  Machines(1, 1);
  Want("p", 1);
  // Released, though still wanted: the claim gets the same machine again in the same decision.
  const SyncClaim request = world_.Want("p", 1, {{"m1", ReturnReason::kReleased}});
  EXPECT_THAT(Sync(request).machines, ElementsAre("m1"));
  EXPECT_THAT(Sync(request).machines, ElementsAre("m1"));
  EXPECT_THAT(world_.changes(), IsEmpty());
  SyncClaim without_returns = request;
  without_returns.returns.clear();
  EXPECT_THAT(Sync(without_returns).machines, ElementsAre("m1"));
}

TEST_F(DecideClaimsTest, OlderGenerationIsAborted) {
  Want("p", 2);
  Want("p", 3);
  SyncClaim old = world_.Want("p", 2);
  old.generation = 1;
  EXPECT_EQ(world_.Do(old).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Refused(old), "GENERATION_TOO_OLD");
}

TEST_F(DecideClaimsTest, OtherReturnsUnderTheSameGenerationAreRefused) {
  Machines(1, 2);
  Want("p", 2);
  SyncClaim again = world_.Want("p", 2, {{"m1", ReturnReason::kBroken}});
  again.generation = 1;
  EXPECT_EQ(Refused(again), "GENERATION_REUSED");
  again.generation = 2;
  Sync(again);
  again.returns = {{"m2", ReturnReason::kBroken}};
  EXPECT_EQ(Refused(again), "GENERATION_REUSED");
  again.returns = {{"m1", ReturnReason::kReleased}};
  EXPECT_EQ(Refused(again), "GENERATION_REUSED");
  again.returns.clear();
  again.nodes = 0;
  again.release = true;
  EXPECT_EQ(Refused(again), "GENERATION_REUSED");
}

TEST_F(DecideClaimsTest, OtherNodesUnderTheSameGenerationAreNotRead) {
  const ClaimView first = Want("p", 2);
  SyncClaim again = world_.Want("p", 3);
  again.generation = 1;
  again.priority = 7;
  EXPECT_EQ(Sync(again), first);
  EXPECT_THAT(world_.changes(), IsEmpty());
}

TEST_F(DecideClaimsTest, ZoneTypeAndClassCannotChange) {
  Want("p", 2);
  SyncClaim changed = world_.Want("p", 2);
  changed.zone = "US-EAST-04B";
  EXPECT_EQ(Refused(changed), "CLAIM_CHANGED");
  changed = world_.Want("p", 2);
  changed.instance_type = World::kRackType;
  EXPECT_EQ(Refused(changed), "CLAIM_CHANGED");
  changed = world_.Want("p", 2);
  changed.compute_class = ComputeClass::kSpot;
  EXPECT_EQ(Refused(changed), "CLAIM_CHANGED");
}

// What is queued is ordered, and taken, within an organization.
TEST_F(DecideClaimsTest, ItsOrganizationCannotChangeOnceItHasOne) {
  const auto want_of = [&](const std::string& organization) {
    SyncClaim claim = world_.Want("p", 2);
    claim.organization = organization;
    return claim;
  };
  Sync(want_of(""));
  Sync(want_of("acme"));
  EXPECT_EQ(Refused(want_of("umbrella")), "CLAIM_CHANGED");
  EXPECT_EQ(Refused(want_of("")), "CLAIM_CHANGED");
  Sync(want_of("acme"));
}

TEST_F(DecideClaimsTest, FewerThanHeldTakesNothingAway) {
  Machines(1, 3);
  Want("p", 3);
  const ClaimView view = Want("p", 1);
  EXPECT_EQ(view.machines.size(), 3u);
  EXPECT_EQ(view.reason, ClaimReason::kSufficient);
  // Two go back: nothing is asked for in their place.
  EXPECT_THAT(
      Want("p", 1, {{"m1", ReturnReason::kReleased}, {"m3", ReturnReason::kReleased}}).machines,
      ElementsAre("m2"));
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kFree);
}

TEST_F(DecideClaimsTest, RaisingKeepsTheAgeOfTheOldPart) {
  Want("a", 1);
  Want("b", 1);
  Want("a", 2);
  Want("b", 2);
  Machines(1, 1);
  EXPECT_THAT(world_.MachinesOf("a"), ElementsAre("m1"));
  Machines(2, 1);
  EXPECT_THAT(world_.MachinesOf("b"), ElementsAre("m2"));
  Machines(3, 1);
  EXPECT_THAT(world_.MachinesOf("a"), ElementsAre("m1", "m3"));
}

TEST_F(DecideClaimsTest, LoweringCancelsTheYoungest) {
  const absl::Time asked = world_.now();
  Want("a", 2);
  Want("a", 5);
  EXPECT_THAT(Want("a", 3).claim.parts,
              ElementsAre(ClaimPart{asked, 2}, ClaimPart{asked + absl::Minutes(1), 1}));
  EXPECT_THAT(Want("a", 1).claim.parts, ElementsAre(ClaimPart{asked, 1}));
  EXPECT_THAT(Want("a", 0).claim.parts, IsEmpty());
}

// Their kind follows from what the gang holds and has lost, too: the rest of a request that got
// machines is not granted at once.
TEST_F(DecideClaimsTest, AGangsRequestsBeyondTheMostBecomeOneWithThoseOfTheirKind) {
  int64_t nodes = 0;
  const auto raise = [&](int64_t by) { return Sync(world_.WantGang("g", nodes += by)); };
  for (size_t i = 1; i < kMaxParts; ++i) raise(3);
  Machines(1, 2);  // fewer than any of them needs
  const absl::Time held = world_.now();
  ASSERT_THAT(raise(2).machines, ElementsAre("m1", "m2"));
  SyncClaim broken = world_.WantGang("g", nodes);
  broken.returns = {{"m1", ReturnReason::kBroken}};
  ASSERT_EQ(Sync(broken).claim.parts.size(), kMaxParts);
  raise(2);
  const absl::Time last = world_.now();
  const ClaimRow claim = raise(2).claim;
  ASSERT_EQ(claim.parts.size(), kMaxParts);
  EXPECT_EQ(claim.parts.end()[-2], (ClaimPart{held, 1}));
  EXPECT_EQ(claim.parts.back(), (ClaimPart{last, 7}));
}

TEST_F(DecideClaimsTest, OrderIsClassThenPriorityThenAgeThenUid) {
  SyncClaim spot = world_.Want("spot", 1);
  spot.compute_class = ComputeClass::kSpot;
  spot.priority = 100;
  Sync(spot);
  Want("old", 1);
  SyncClaim high = world_.Want("urgent", 1);
  high.priority = 5;
  ASSERT_TRUE(world_.Do(high).ok());
  ASSERT_TRUE(world_.Do(world_.Want("b", 1)).ok());
  ASSERT_TRUE(world_.Do(world_.Want("a", 1)).ok());
  for (int i = 1; i <= 5; ++i) Machines(i, 1);
  EXPECT_THAT(world_.MachinesOf("urgent"), ElementsAre("m1"));
  EXPECT_THAT(world_.MachinesOf("old"), ElementsAre("m2"));
  EXPECT_THAT(world_.MachinesOf("a"), ElementsAre("m3"));
  EXPECT_THAT(world_.MachinesOf("b"), ElementsAre("m4"));
  EXPECT_THAT(world_.MachinesOf("spot"), ElementsAre("m5"));
}

TEST_F(DecideClaimsTest, ANewPriorityMovesTheWholeClaim) {
  Want("a", 1);
  Want("b", 1);
  SyncClaim raised = world_.Want("b", 1);
  raised.priority = 1;
  Sync(raised);
  Machines(1, 1);
  EXPECT_THAT(world_.MachinesOf("b"), ElementsAre("m1"));
}

TEST_F(DecideClaimsTest, AReleasedMachineGoesToTheHeadOfTheQueueInTheSameDecision) {
  Machines(1, 2);
  Want("a", 2);
  Want("b", 1);
  Want("c", 1);
  Want("a", 1, {{"m2", ReturnReason::kReleased}});
  EXPECT_THAT(world_.MachinesOf("a"), ElementsAre("m1"));
  EXPECT_THAT(world_.MachinesOf("b"), ElementsAre("m2"));
  EXPECT_THAT(world_.MachinesOf("c"), IsEmpty());
}

TEST_F(DecideClaimsTest, ABrokenMachineIsAskedForAgainWithItsOldAge) {
  Machines(1, 2);
  const absl::Time asked = world_.now();
  Want("a", 2);
  Want("b", 1);
  const ClaimView view = Want("a", 2, {{"m1", ReturnReason::kBroken}});
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kInRepair);
  EXPECT_THAT(view.claim.parts, ElementsAre(ClaimPart{asked, 1}));
  Machines(3, 1);
  EXPECT_THAT(world_.MachinesOf("a"), ElementsAre("m2", "m3"));
  EXPECT_THAT(world_.MachinesOf("b"), IsEmpty());
  // Broken and wanted no more: nothing is asked for.
  EXPECT_THAT(Want("a", 1, {{"m3", ReturnReason::kBroken}}).claim.parts, IsEmpty());
}

// Nothing of the claim stays on the machine.
TEST_F(DecideClaimsTest, AMachineThatIsGivenBackIsAsNoneHeldItBefore) {
  SyncClaim first = world_.WantSpot("first", 1);
  SyncClaim urgent = world_.WantSpot("urgent", 1);
  urgent.priority = 1;
  Sync(first);
  Sync(urgent);
  Machines(1, 2);
  ASSERT_TRUE(world_.state().FindMachine("m1")->place_time.has_value()) << "of another's place";
  for (const ReturnReason reason : {ReturnReason::kBroken, ReturnReason::kPreempted}) {
    const std::string pool = world_.MachinesOf("urgent").empty() ? "first" : "urgent";
    const std::string id = world_.MachinesOf(pool).front();
    MachineRow machine = World::Machine(id);
    machine.state = reason == ReturnReason::kBroken ? MachineState::kInRepair : MachineState::kFree;
    machine.state_time = world_.now();
    Want(pool, 0, {{id, reason}});
    EXPECT_EQ(*world_.state().FindMachine(id), machine);
  }
}

TEST_F(DecideClaimsTest, AReleasedMachineThatIsStillWantedIsANewRequest) {
  Machines(1, 1);
  Want("a", 1);
  Want("b", 1);
  const absl::Time now = world_.now();
  EXPECT_THAT(Want("a", 1, {{"m1", ReturnReason::kPreempted}}).claim.parts,
              ElementsAre(ClaimPart{now, 1}));
  EXPECT_THAT(world_.MachinesOf("b"), ElementsAre("m1"));
}

TEST_F(DecideClaimsTest, AMachineThatTheClaimDoesNotHoldIsSkipped) {
  Machines(1, 2);
  Want("a", 1);
  Want("b", 1);
  Want("a", 1, {{"m2", ReturnReason::kBroken}, {"nobody", ReturnReason::kReleased}});
  EXPECT_THAT(world_.MachinesOf("a"), ElementsAre("m1"));
  EXPECT_THAT(world_.MachinesOf("b"), ElementsAre("m2"));
}

// The answer to a return may be lost; it comes again by another request, when the machine has been
// mended and granted to the same claim.
TEST_F(DecideClaimsTest, AMachineThatIsHeldByAnotherGrantIsSkipped) {
  Machines(1, 1);
  const std::vector<absl::Time> first = Want("a", 1).grant_times;
  ASSERT_THAT(first, ElementsAre(world_.state().FindMachine("m1")->state_time));
  const auto back = [](absl::Time granted) {
    return std::vector<MachineReturn>{{"m1", ReturnReason::kBroken, granted}};
  };
  world_.Advance(absl::Minutes(1));
  ASSERT_THAT(Want("a", 1, back(first[0])).machines, IsEmpty());
  ASSERT_EQ(world_.StateOf("m1"), MachineState::kInRepair);
  ASSERT_TRUE(world_.Do(SetMachineState{"m1", MachineState::kFree}).ok());
  const absl::Time second = world_.state().FindMachine("m1")->state_time;
  ASSERT_NE(second, first[0]);
  const ClaimView kept = Want("a", 2, back(first[0]));
  EXPECT_THAT(kept.machines, ElementsAre("m1"));
  EXPECT_THAT(kept.grant_times, ElementsAre(second));
  // Nor is it given back for a release.
  SyncClaim release = world_.Want("a", 0, back(first[0]));
  release.release = true;
  EXPECT_EQ(Refused(release), "CLAIM_HOLDS_MACHINES");
  // Nor by one to come, of a history that was lost.
  EXPECT_THAT(Want("a", 2, back(second + absl::Minutes(1))).machines, ElementsAre("m1"));
  EXPECT_THAT(Want("a", 2, back(second)).machines, IsEmpty());
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kInRepair);
}

// Of a caller that does not tell grants apart.
TEST_F(DecideClaimsTest, AMachineIsTakenBackWheneverItWasGranted) {
  Machines(1, 1);
  Want("a", 1);
  const std::vector<MachineReturn> returns = {{"m1", ReturnReason::kBroken}};
  Want("a", 1, returns);
  ASSERT_TRUE(world_.Do(SetMachineState{"m1", MachineState::kFree}).ok());
  ASSERT_EQ(world_.StateOf("m1"), MachineState::kHeld);
  Want("a", 2, returns);
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kInRepair);
}

// Callers of another release do not know it.
TEST_F(DecideClaimsTest, TheGrantIsNotComparedAsAReturnIsRepeated) {
  Machines(1, 1);
  const absl::Time granted = Want("a", 1).grant_times.at(0);
  SyncClaim request = world_.Want("a", 1, {{"m1", ReturnReason::kBroken, granted}});
  Sync(request);
  request.returns[0].grant_time.reset();
  Sync(request);
  EXPECT_THAT(world_.changes(), IsEmpty());
}

TEST_F(DecideClaimsTest, ReleaseRemovesTheClaimOnceItHoldsNothing) {
  Machines(1, 2);
  Want("a", 3);
  SyncClaim release = world_.Want("a", 0, {{"m1", ReturnReason::kReleased}});
  release.release = true;
  EXPECT_EQ(Refused(release), "CLAIM_HOLDS_MACHINES");
  release.returns.push_back({"m2", ReturnReason::kBroken});
  const ClaimView last = Sync(release);
  EXPECT_THAT(last.machines, IsEmpty());
  EXPECT_THAT(last.claim.parts, IsEmpty());
  EXPECT_EQ(last.claim.generation, 2);
  EXPECT_EQ(world_.state().FindClaim("a"), nullptr);
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kFree);
  EXPECT_EQ(world_.StateOf("m2"), MachineState::kInRepair);
  // Once more: there is nothing to release.
  Sync(release);
  EXPECT_THAT(world_.changes(), IsEmpty());
}

// Every request at every state that a pool's uid can be in.
TEST_F(DecideClaimsTest, ReleasedIsFinal) {
  Machines(1, 2);
  Want("held", 1);
  Want("gone", 1);
  SyncClaim release = world_.Want("gone", 0, {{"m2", ReturnReason::kReleased}});
  release.release = true;
  Sync(release);
  SyncClaim never = world_.Want("never", 0);
  never.release = true;
  Sync(never);  // of a claim that was never there: it may be under way still
  EXPECT_EQ(world_.changes().size(), 1u);

  for (const char* uid : {"gone", "never"}) {
    for (const int64_t generation : {1, 2, 3, 1'000}) {
      SyncClaim late = world_.Want(uid, 1);
      late.generation = generation;
      EXPECT_EQ(Refused(late), "POOL_RELEASED") << uid << " " << generation;
      late.nodes = 0;
      late.release = true;
      Sync(late);
      EXPECT_THAT(world_.changes(), IsEmpty());
    }
  }
  EXPECT_EQ(world_.StateOf("m2"), MachineState::kFree);
  EXPECT_THAT(world_.MachinesOf("held"), ElementsAre("m1"));
  EXPECT_THAT(Audit(world_.state()), IsEmpty());
  // A whole batch: only what is late is refused.
  const auto views = world_.Do(SyncClaims{{world_.Want("gone", 1), world_.Want("held", 2)}});
  EXPECT_EQ(muster::error::ReasonOf(views[0].status()), "POOL_RELEASED");
  ASSERT_TRUE(views[1].ok());
  EXPECT_THAT(world_.MachinesOf("held"), ElementsAre("m1", "m2"));
}

TEST_F(DecideClaimsTest, AReleasedPoolIsForgottenAfterItsTime) {
  const auto release = [&](const char* uid) {
    SyncClaim command = world_.Want(uid, 0);
    command.release = true;
    Sync(command);
  };
  world_.policy.released_keep = absl::Hours(2);
  release("a");
  world_.Advance(absl::Hours(2) - absl::Minutes(2));
  release("b");  // a minute before
  EXPECT_NE(FindReleased(world_.state(), "a"), nullptr);
  release("c");
  EXPECT_EQ(FindReleased(world_.state(), "a"), nullptr);
  EXPECT_NE(FindReleased(world_.state(), "b"), nullptr);
}

TEST_F(DecideClaimsTest, AGenerationOfTheFarFutureIsRefused) {
  SyncClaim claim = world_.Want("p", 1);
  claim.generation = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Refused(claim), "GENERATION_OUT_OF_RANGE");
  claim.nodes = 0;
  claim.release = true;
  EXPECT_EQ(Refused(claim), "GENERATION_OUT_OF_RANGE");
  Want("p", 1);
  claim.release = false;
  EXPECT_EQ(Refused(claim), "GENERATION_OUT_OF_RANGE");
  EXPECT_THAT(world_.changes(), IsEmpty());
  EXPECT_EQ(Want("p", 2).claim.generation, 2);
}

TEST_F(DecideClaimsTest, Reasons) {
  SyncClaim unknown = world_.Want("u", 1);
  unknown.instance_type = "nothing";
  EXPECT_EQ(Sync(unknown).reason, ClaimReason::kUnknownInstanceType);
  SyncClaim elsewhere = world_.Want("e", 1);
  elsewhere.zone = "US-WEST-01A";
  EXPECT_EQ(Sync(elsewhere).reason, ClaimReason::kNotInZone);
  EXPECT_EQ(Want("p", 2).reason, ClaimReason::kNoneAvailable);
  Machines(1, 1);
  EXPECT_EQ(world_.View("p").reason, ClaimReason::kPartial);
  EXPECT_EQ(Want("q", 1).reason, ClaimReason::kQueued);
  EXPECT_EQ(Want("z", 0).reason, ClaimReason::kSufficient);
  Machines(2, 1);
  EXPECT_EQ(world_.View("p").reason, ClaimReason::kSufficient);
  EXPECT_EQ(world_.View("p").in_service, 2);
}

TEST_F(DecideClaimsTest, SpotIsServedInGeneralZonesAndNotOnSuperchips) {
  SyncClaim spot = world_.Want("s", 1);
  spot.compute_class = ComputeClass::kSpot;
  Sync(spot);
  ZoneRow zone = *world_.state().FindZone(World::kZone);
  zone.access = ZoneAccess::kDedicated;
  world_.Do(UpdateZone{zone});
  Machines(1, 1);
  EXPECT_EQ(world_.View("s").reason, ClaimReason::kNotInZone);
  EXPECT_EQ(Want("d", 1).reason, ClaimReason::kSufficient);
  Machines(2, 1);
  zone.access = ZoneAccess::kGeneral;
  InstanceTypeRow type = *world_.state().FindInstanceType(World::kType);
  type.superchip = true;
  world_.Do(UpdateInstanceType{type});
  world_.Do(UpdateZone{zone});
  EXPECT_THAT(world_.MachinesOf("s"), IsEmpty());
  type.superchip = false;
  world_.Do(UpdateInstanceType{type});
  EXPECT_THAT(world_.MachinesOf("s"), ElementsAre("m2"));
}

// As they come they stand in their racks; a machine that spot has already was not granted.
TEST_F(DecideClaimsTest, WhatTheRequestBroughtIsToldInOrderOfName) {
  world_.Register({World::Machine("m1", "f", "r", 2), World::Machine("m2", "f", "r", 1),
                   World::Machine("m3", "f", "r", 0)});
  EXPECT_THAT(Sync(world_.WantSpot("spot", 3)).granted, ElementsAre("m1", "m2", "m3"));
  const auto views = world_.Do(SyncClaims{{world_.WantSpot("spot", 4), world_.Want("p", 1)}});
  ASSERT_TRUE(views[0].ok() && views[1].ok());
  EXPECT_THAT(views[0]->reclaims.size(), 1u);
  EXPECT_THAT(views[0]->granted, IsEmpty());
}

// What its organization's more urgent claim left it for its place, and how often its machines were
// reclaimed.
TEST_F(DecideClaimsTest, TheNextRequestChangesNothingElse) {
  Want("p", 1);
  SyncClaim urgent = world_.Want("urgent", 1);
  urgent.priority = 1;
  Sync(urgent);
  Machines(1, 1);
  ASSERT_THAT(world_.MachinesOf("urgent"), ElementsAre("m1"));
  ClaimRow claim = world_.View("p").claim;
  ASSERT_THAT(claim.places, ElementsAre(testing::Field(&ClaimPlace::asked_by, "urgent")));
  claim.generation = 2;
  EXPECT_EQ(Want("p", 1).claim, claim);
  Machines(2, 1);
  Sync(world_.WantSpot("spot", 1));
  Machines(3, 1);
  Want("q", 1);
  ASSERT_EQ(world_.View("spot").claim.reclaim_generation, 1);
  EXPECT_EQ(Want("spot", 1).claim.reclaim_generation, 1);
}

TEST_F(DecideClaimsTest, ABatchIsDecidedInItsOrderAndARefusalHurtsNobody) {
  Machines(1, 1);
  Want("a", 1);
  SyncClaim stale = world_.Want("stale", 1);
  Sync(stale);
  SyncClaim changed = world_.Want("stale", 1);
  changed.zone = "US-WEST-01A";
  const auto views = world_.Do(SyncClaims{
      {world_.Want("b", 1), changed, world_.Want("a", 0, {{"m1", ReturnReason::kReleased}})}});
  ASSERT_TRUE(views[0].ok());
  EXPECT_EQ(views[1].status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(views[2].ok());
  // `stale` asked before `b`; all answers show the end of the batch.
  EXPECT_THAT(world_.MachinesOf("stale"), ElementsAre("m1"));
  EXPECT_THAT(views[0]->machines, IsEmpty());
  EXPECT_THAT(views[2]->machines, IsEmpty());
}

TEST_F(DecideClaimsTest, WhatWasDecidedCanBeTakenBack) {
  Machines(1, 3);
  Want("a", 2);
  State state = world_.state();
  StagedState<State> staged(state, world_.revision());
  ASSERT_TRUE(
      Decide(staged, world_.Want("a", 4, {{"m1", ReturnReason::kBroken}}), world_.now()).ok());
  ASSERT_FALSE(state.SameIndexes(world_.state()));
  staged.RollBack();
  EXPECT_TRUE(state.SameIndexes(world_.state()));
  EXPECT_THAT(Audit(state), IsEmpty());
}

}  // namespace
}  // namespace muster::capacity
