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
  EXPECT_THAT(world_.MachinesOf("q"), ElementsAre("m0", "m4")) << "p is in no queue";
  EXPECT_THAT(Want("p", 6).claim.parts, ElementsAre(ClaimPart{asked_, 3}));
  EXPECT_THAT(Row("p").withheld_parts, IsEmpty());
  EXPECT_THAT(Row("p").places, IsEmpty());
  world_.RegisterSome(1);
  EXPECT_THAT(world_.MachinesOf("p"), ElementsAre("m1", "m2", "m3", "m5"));
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

// An older server took a request in between: it knows nothing of what is withheld, asked for it anew, and hands it on.
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
