#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/capacity/core/audit.h"
#include "services/capacity/core/testing/world.h"
#include "services/common/error.h"
#include "services/common/testing/absent_rows.h"

namespace muster::capacity {
namespace {

using error::ReasonOf;
using testing::HasSubstr;
using testing::IsEmpty;

class DecideDeleteTest : public testing::Test {
 protected:
  DecideDeleteTest() { world_.AddCatalogue(); }
  ~DecideDeleteTest() override { EXPECT_THAT(Audit(world_.state()), IsEmpty()); }

  void Retire(const std::string& machine) {
    ASSERT_TRUE(world_.Do(SetMachineState{machine, MachineState::kRetired}).ok());
  }

  World world_;
};

TEST_F(DecideDeleteTest, AMachineGoesOnceItIsRetired) {
  world_.Register({World::Machine("m1")});
  EXPECT_EQ(ReasonOf(world_.Do(DeleteMachine{"m1"})), "MACHINE_NOT_RETIRED");
  Retire("m1");
  EXPECT_EQ(ReasonOf(world_.Do(DeleteMachine{"m1"})), "");
  EXPECT_EQ(world_.state().FindMachine("m1"), nullptr);
  EXPECT_EQ(ReasonOf(world_.Do(DeleteMachine{"m1"})), "NOT_FOUND");
  EXPECT_EQ(ReasonOf(world_.Do(DeleteMachine{"m1", true})), "");
}

TEST_F(DecideDeleteTest, OneThatIsHeldIsNotRetiredAndStays) {
  world_.Register({World::Machine("m1")});
  ASSERT_TRUE(world_.Do(world_.Want("p", 1)).ok());
  EXPECT_EQ(ReasonOf(world_.Do(DeleteMachine{"m1"})), "MACHINE_NOT_RETIRED");
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kHeld);
}

TEST_F(DecideDeleteTest, AZoneGoesOnceNothingIsInIt) {
  world_.Register({World::Machine("m1")});
  ASSERT_TRUE(world_.Do(world_.Want("p", 2)).ok());
  const absl::Status used = world_.Do(DeleteZone{World::kZone});
  EXPECT_EQ(ReasonOf(used), "ZONE_IN_USE");
  EXPECT_THAT(std::string(used.message()), HasSubstr("1 machines and 1 claims"));
  SyncClaim gone = world_.Want("p", 0, {{"m1", ReturnReason::kReleased}});
  gone.release = true;
  ASSERT_TRUE(world_.Do(gone).ok());
  Retire("m1");
  EXPECT_EQ(ReasonOf(world_.Do(DeleteZone{World::kZone})), "ZONE_IN_USE") << "its machine is there";
  ASSERT_EQ(ReasonOf(world_.Do(DeleteMachine{"m1"})), "");
  EXPECT_EQ(ReasonOf(world_.Do(DeleteZone{World::kZone})), "");
  EXPECT_EQ(world_.state().FindZone(World::kZone), nullptr);
  EXPECT_THAT(world_.state().table<ArrivalsRow>().rows(), IsEmpty());
  EXPECT_EQ(ReasonOf(world_.Do(DeleteZone{World::kZone})), "NOT_FOUND");
  EXPECT_EQ(ReasonOf(world_.Do(DeleteZone{World::kZone, true})), "");
}

// A claim alone, that waits for machines, keeps it too.
TEST_F(DecideDeleteTest, AClaimThatHoldsNothingKeepsItsZone) {
  ASSERT_TRUE(world_.Do(world_.Want("p", 2)).ok());
  EXPECT_EQ(ReasonOf(world_.Do(DeleteZone{World::kZone})), "ZONE_IN_USE");
}

TEST_F(DecideDeleteTest, ATypeGoesOnceNoZoneOffersIt) {
  EXPECT_EQ(ReasonOf(world_.Do(DeleteInstanceType{World::kType})), "INSTANCE_TYPE_IN_USE");
  world_.Do(UpdateZone{{.id = World::kZone, .instance_types = {World::kRackType}}});
  world_.Register({World::Machine("m1")});
  EXPECT_EQ(ReasonOf(world_.Do(DeleteInstanceType{World::kType})), "INSTANCE_TYPE_IN_USE");
  Retire("m1");
  ASSERT_EQ(ReasonOf(world_.Do(DeleteMachine{"m1"})), "");
  EXPECT_EQ(ReasonOf(world_.Do(DeleteInstanceType{World::kType})), "");
  EXPECT_EQ(world_.state().FindInstanceType(World::kType), nullptr);
  EXPECT_NE(world_.state().FindInstanceType(World::kRackType), nullptr);
  EXPECT_EQ(ReasonOf(world_.Do(DeleteInstanceType{World::kType})), "NOT_FOUND");
}

TEST(State, WhatIsDeletedAndNeverWasChangesNothing) {
  EXPECT_EQ(RowsAfterAbsentOnesGo<State>(), 0);
}

}  // namespace
}  // namespace muster::capacity
