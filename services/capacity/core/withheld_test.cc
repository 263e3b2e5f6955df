// Requests that give machines back, and so ask for less than is wanted in all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "services/capacity/core/parts.h"
#include "services/capacity/core/testing/claims_test_base.h"

namespace muster::capacity {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Claim p holds m0 to m3 and waits for three more since `asked`; q came after it.
class WithheldTest : public ClaimsTest {
 protected:
  WithheldTest() {
    world_.RegisterSome(4);
    Want("p", 4);
    asked_ = world_.now();
    Want("p", 7);
    Want("q", 3);
  }
  ClaimView Want(const std::string& uid, int64_t nodes) { return Sync(world_.Want(uid, nodes)); }
  // One that leaves `nodes` of `wanted`.
  SyncClaim GivesBack(std::vector<MachineReturn> returns, int64_t nodes, int64_t wanted) const {
    SyncClaim claim = world_.Want("p", nodes, std::move(returns));
    claim.wanted_nodes = wanted;
    return claim;
  }
  const ClaimRow& Row(const std::string& uid) const { return *world_.state().FindClaim(uid); }

  absl::Time asked_;
};

TEST_F(WithheldTest, WhatWaitsKeepsItsPlace) {
  const SyncClaim back = GivesBack(World::Returns({"m0"}), 3, 7);
  EXPECT_THAT(Sync(back).claim.parts, IsEmpty()) << "nothing is got by the request itself";
  EXPECT_THAT(Row("p").withheld_parts, ElementsAre(ClaimPart{asked_, 3}));
  EXPECT_THAT(world_.MachinesOf("q"), ElementsAre("m0"));
  Sync(back);
  EXPECT_THAT(world_.changes(), IsEmpty()) << "repeated";
  world_.RegisterSome(1);
  EXPECT_THAT(world_.MachinesOf("q"), ElementsAre("m0", "m4")) << "p rests";
  EXPECT_THAT(Want("p", 6).claim.parts, ElementsAre(ClaimPart{asked_, 3}));
  EXPECT_THAT(Row("p").withheld_parts, IsEmpty());
  EXPECT_THAT(Row("p").places, IsEmpty());
  world_.RegisterSome(1);
  EXPECT_THAT(world_.MachinesOf("p"), ElementsAre("m1", "m2", "m3", "m5"));
}

// It gets as many of the oldest as it asks for, and keeps as many more as it wants in all.
TEST_F(WithheldTest, PartOfItIsWithheld) {
  const absl::Time more = world_.now();
  Want("p", 8);
  Sync(GivesBack({}, 6, 8));
  EXPECT_THAT(Row("p").parts, ElementsAre(ClaimPart{asked_, 2}));
  EXPECT_THAT(Row("p").withheld_parts, ElementsAre(ClaimPart{asked_, 1}, ClaimPart{more, 1}));
  Sync(GivesBack({}, 5, 7));
  EXPECT_THAT(Row("p").parts, ElementsAre(ClaimPart{asked_, 1}));
  EXPECT_THAT(Row("p").withheld_parts, ElementsAre(ClaimPart{asked_, 2}));
  world_.RegisterSome(4);
  EXPECT_THAT(world_.MachinesOf("p"), SizeIs(5));
  EXPECT_THAT(world_.MachinesOf("q"), SizeIs(3));
  const absl::Time anew = world_.now();
  EXPECT_THAT(Want("p", 9).claim.parts, ElementsAre(ClaimPart{asked_, 2}, ClaimPart{anew, 2}));
}

TEST_F(WithheldTest, AlsoWhenOneAfterAnotherIsGivenBack) {
  Sync(GivesBack(World::Returns({"m0"}), 3, 7));
  Sync(GivesBack(World::Returns({"m1"}), 2, 6));
  EXPECT_THAT(Row("p").withheld_parts, ElementsAre(ClaimPart{asked_, 3}));
  EXPECT_THAT(Want("p", 5).claim.parts, ElementsAre(ClaimPart{asked_, 3}));
}

// What is more is asked for anew, what is less was asked for last.
TEST_F(WithheldTest, AChangeOfMindIsAsWithoutIt) {
  Sync(GivesBack(World::Returns({"m0"}), 3, 7));
  const absl::Time again = world_.now();
  EXPECT_THAT(Want("p", 8).claim.parts, ElementsAre(ClaimPart{asked_, 3}, ClaimPart{again, 2}));
  Sync(GivesBack(World::Returns({"m1"}), 2, 6));
  EXPECT_THAT(Row("p").withheld_parts, ElementsAre(ClaimPart{asked_, 3}, ClaimPart{again, 1}));
  EXPECT_THAT(Want("p", 4).claim.parts, ElementsAre(ClaimPart{asked_, 2}));
}

// An older server took a request in between: it knows nothing of what is withheld, asked for it
// anew, and hands it on.
TEST_F(WithheldTest, WhatAnOlderServerHandedOnIsVoid) {
  Sync(GivesBack(World::Returns({"m0"}), 3, 7));
  const absl::Time anew = world_.now();
  world_.Change([&](StagedState<State>& staged) {
    ClaimRow row = Row("p");
    ++row.generation;
    row.nodes = 7;
    row.parts = {{anew, 4}};
    staged.Put(std::move(row));
  });
  world_.RegisterSome(6);
  ASSERT_THAT(world_.MachinesOf("p"), SizeIs(7));
  const absl::Time now = world_.now();
  EXPECT_THAT(Want("p", 9).claim.parts, ElementsAre(ClaimPart{now, 2}));
  EXPECT_THAT(Row("p").withheld_parts, IsEmpty());
}

TEST_F(WithheldTest, WithoutTheNumberOfAllNothingIsKept) {
  Sync(GivesBack(World::Returns({"m0"}), 3, 0));
  EXPECT_THAT(Row("p").withheld_parts, IsEmpty());
  const absl::Time again = world_.now();
  EXPECT_THAT(Want("p", 6).claim.parts, ElementsAre(ClaimPart{again, 3}));
}

// Its replacement has the place of the machine, and is not the one that is given back beside it.
TEST_F(WithheldTest, WhatIsLostToRepairKeepsItsPlaceToo) {
  std::vector<MachineReturn> returns = World::Returns({"m0"});
  returns.push_back({"m1", ReturnReason::kBroken});
  const absl::Time first = *world_.state().FindMachine("m1")->request_time;
  Sync(GivesBack(returns, 2, 7));
  EXPECT_THAT(world_.MachinesOf("p"), ElementsAre("m2", "m3"));
  EXPECT_THAT(world_.MachinesOf("q"), ElementsAre("m0"));
  EXPECT_THAT(Row("p").withheld_parts, ElementsAre(ClaimPart{first, 1}, ClaimPart{asked_, 3}));
  EXPECT_THAT(Want("p", 6).claim.parts, ElementsAre(ClaimPart{first, 1}, ClaimPart{asked_, 3}));
  EXPECT_TRUE(HasLost(Row("p"), first));
}

// One of its organization that goes before it takes its place, and leaves it the younger one.
TEST_F(WithheldTest, ItsPlacesAreTheOrganizations) {
  const absl::Time later = world_.now();
  SyncClaim urgent = world_.Want("r", 1);
  urgent.priority = 5;
  Sync(urgent);
  Sync(GivesBack(World::Returns({"m0"}), 3, 7));
  EXPECT_THAT(world_.MachinesOf("r"), ElementsAre("m0"));
  EXPECT_THAT(Row("p").withheld_places,
              ElementsAre(ClaimPlace{asked_, "p", 2}, ClaimPlace{later, "r", 1}));
  EXPECT_THAT(Want("p", 6).claim.parts, ElementsAre(ClaimPart{asked_, 3}));
  EXPECT_THAT(Row("p").places, ElementsAre(ClaimPlace{asked_, "p", 2}, ClaimPlace{later, "r", 1}));
}

TEST_F(WithheldTest, AGangStaysOne) {
  Sync(world_.WantGang("g", 3));
  const absl::Time asked = Row("g").parts.front().request_time;
  SyncClaim back = world_.Want("g", 0);
  back.wanted_nodes = 3;
  Sync(back);
  EXPECT_THAT(Row("g").withheld_parts, ElementsAre(ClaimPart{asked, 3}));
  Sync(world_.Want("g", 3));
  EXPECT_THAT(Row("g").parts, ElementsAre(ClaimPart{asked, 3}));
  world_.RegisterSome(8);
  EXPECT_THAT(world_.MachinesOf("g"), IsEmpty()) << "six are for those before it";
  world_.RegisterSome(1);
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(3));
}

// What is kept and reclaimed for a claim stays so while it gives something back.
class RestingTest : public ClaimsTest {
 protected:
  void Do(const SyncClaim& claim) { Sync(claim, absl::Seconds(1)); }
  // The claim gives back `ids`, and wants `wanted` in all.
  void GiveBack(const std::string& uid, const std::vector<std::string>& ids, int64_t wanted) {
    const auto held = static_cast<int64_t>(world_.MachinesOf(uid).size());
    SyncClaim claim =
        world_.Want(uid, held - static_cast<int64_t>(ids.size()), World::Returns(ids));
    claim.wanted_nodes = wanted;
    Do(claim);
  }
};

// What is given back while it rests is not for spot: the claim takes it next.
TEST_F(RestingTest, Reclaims) {
  world_.RegisterSome(6);
  Do(world_.Want("p", 3));
  Do(world_.WantSpot("s", 3));
  Do(world_.WantSpot("t", 1));
  Do(world_.Want("p", 5));
  const std::vector<Reclaimed> reclaims = world_.View("s").reclaims;
  ASSERT_THAT(reclaims, SizeIs(2));
  GiveBack("p", {"m0"}, 5);
  EXPECT_EQ(world_.View("s").reclaims, reclaims);
  EXPECT_THAT(world_.MachinesOf("t"), IsEmpty());
  Do(world_.Want("other", 0));
  EXPECT_EQ(world_.View("s").reclaims, reclaims) << "nor at a decision of another";
  EXPECT_THAT(world_.MachinesOf("t"), IsEmpty());
  Do(world_.Want("p", 5));
  EXPECT_EQ(world_.View("s").reclaims, reclaims);
  EXPECT_THAT(world_.MachinesOf("p"), ElementsAre("m0", "m1", "m2"));
}

// Default claims behind it may have it, and then spot what they leave.
TEST_F(RestingTest, WhatItWantsNoMoreIsForSpot) {
  world_.RegisterSome(3);
  Do(world_.Want("p", 3));
  Do(world_.Want("p", 4));
  Do(world_.WantSpot("t", 1));
  Do(world_.Want("q", 1));
  GiveBack("p", {"m0", "m1"}, 2);
  EXPECT_THAT(world_.MachinesOf("q"), ElementsAre("m0"));
  EXPECT_THAT(world_.MachinesOf("t"), IsEmpty());
  Do(world_.Want("p", 1));
  EXPECT_THAT(world_.MachinesOf("t"), ElementsAre("m1"));
}

TEST_F(RestingTest, WhatAGangKeeps) {
  world_.RegisterSome(8);
  Do(world_.Want("x", 3));
  Do(world_.WantGang("g", 2));
  Do(world_.WantGang("g", 7));
  Do(world_.Want("b", 2));
  GiveBack("g", {"m3"}, 6);
  EXPECT_THAT(world_.MachinesOf("b"), IsEmpty());
  Do(world_.Want("g", 6));
  Do(world_.Want("x", 2, World::Returns({"m0"})));
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(6));
}

TEST_F(RestingTest, WhatWouldCompleteAGang) {
  world_.RegisterSome(8);
  Do(world_.Want("x", 3));
  Do(world_.WantGang("g", 2));
  Do(world_.WantGang("g", 6));
  Do(world_.Want("b", 2));
  GiveBack("g", {"m3"}, 5);
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(1)) << "not by the request itself";
  EXPECT_THAT(world_.MachinesOf("b"), IsEmpty());
  Do(world_.Want("g", 5));
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(5));
}

TEST_F(RestingTest, RacksThatAGangKeeps) {
  for (const char* rack : {"r1", "r2", "r3"}) world_.RegisterRack("f", rack, 4, World::kRackType);
  Do(World::OfRacks(world_.Want("x", 4)));
  Do(World::OfRacks(world_.WantGang("g", 4)));
  Do(world_.WantGang("g", 12));
  Do(World::OfRacks(world_.Want("b", 4)));
  GiveBack("g", world_.MachinesOf("g"), 8);
  EXPECT_THAT(world_.MachinesOf("g"), IsEmpty());
  EXPECT_THAT(world_.MachinesOf("b"), IsEmpty());
  Do(world_.Want("g", 8));
  EXPECT_THAT(world_.MachinesOf("g"), SizeIs(8));
}

TEST(Withheld, PlacesOfOthersComeBackAsTheyWere) {
  const auto at = [](int64_t seconds) { return absl::FromUnixSeconds(seconds); };
  ClaimRow claim{.pool_uid = "p"};
  claim.parts = {{at(1), 2}, {at(3), 1}};
  claim.places = {{at(0), "q", 1}, {at(1), "p", 2}};
  const ClaimRow before = claim;
  Withhold(claim);
  EXPECT_THAT(claim.parts, IsEmpty());
  EXPECT_THAT(PlacesOf(claim), IsEmpty());
  EXPECT_EQ(TakeUp(claim, 1), 1);
  EXPECT_THAT(claim.parts, ElementsAre(ClaimPart{at(1), 1}));
  EXPECT_THAT(claim.places, ElementsAre(ClaimPlace{at(0), "q", 1}));
  EXPECT_THAT(claim.withheld_parts, ElementsAre(ClaimPart{at(1), 1}, ClaimPart{at(3), 1}));
  EXPECT_THAT(claim.withheld_places, ElementsAre(ClaimPlace{at(1), "p", 2}));
  EXPECT_EQ(TakeUp(claim, 5), 2);
  EXPECT_EQ(claim, before);
  Withhold(claim);
  CancelWithheld(claim, 1);
  TakeUp(claim, 5);
  EXPECT_THAT(claim.parts, ElementsAre(ClaimPart{at(1), 1}));
  EXPECT_THAT(claim.places, ElementsAre(ClaimPlace{at(0), "q", 1}));
}

}  // namespace
}  // namespace muster::capacity
