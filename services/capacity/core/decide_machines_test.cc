#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/capacity/core/audit.h"
#include "services/capacity/core/testing/world.h"
#include "services/common/error.h"

namespace muster::capacity {
namespace {

using error::ReasonOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class DecideMachinesTest : public testing::Test {
 protected:
  DecideMachinesTest() { world_.AddCatalogue(); }
  ~DecideMachinesTest() override { EXPECT_THAT(Audit(world_.state()), IsEmpty()); }

  World world_;
};

TEST_F(DecideMachinesTest, RegisteringTwiceHasTheEffectOfOne) {
  world_.Register({World::Machine("m1"), World::Machine("m2")});
  const int64_t revision = world_.revision();
  world_.Register({World::Machine("m1"), World::Machine("m2")});
  EXPECT_EQ(world_.revision(), revision);
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kFree);
}

TEST_F(DecideMachinesTest, RefreshKeepsStateAndHolder) {
  world_.RegisterRack("f1", "r1", 1);
  ASSERT_TRUE(world_.Do(world_.Want("p", 1)).ok());
  MachineRow moved = World::Machine("r1-0", "f2", "r7", 3);
  moved.labels["disk"] = "nvme";
  world_.Advance(absl::Hours(1));
  const auto rows = world_.Do(RegisterMachines{{moved}});
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ((*rows)[0].claim, "p");
  EXPECT_EQ((*rows)[0].state, MachineState::kHeld);
  EXPECT_EQ((*rows)[0].state_time, world_.now() - absl::Hours(1));
  EXPECT_EQ((*rows)[0].labels.at("disk"), "nvme");
  EXPECT_EQ((*rows)[0].rack, "r7");
}

TEST_F(DecideMachinesTest, RegistrationIsAllOrNothing) {
  world_.Register({World::Machine("m1")});
  const int64_t revision = world_.revision();
  MachineRow elsewhere = World::Machine("m3");
  elsewhere.zone = "US-WEST-01A";
  EXPECT_EQ(ReasonOf(world_.Do(RegisterMachines{{World::Machine("m2"), elsewhere}}).status()),
            "UNKNOWN_ZONE");
  const MachineRow unknown = World::Machine("m3", "", "", 0, "b300-8x");
  EXPECT_EQ(ReasonOf(world_.Do(RegisterMachines{{World::Machine("m2"), unknown}}).status()),
            "UNKNOWN_INSTANCE_TYPE");
  const MachineRow changed = World::Machine("m1", "", "", 0, World::kRackType);
  EXPECT_EQ(ReasonOf(world_.Do(RegisterMachines{{World::Machine("m2"), changed}}).status()),
            "MACHINE_MOVED");
  EXPECT_EQ(world_.revision(), revision);
  EXPECT_EQ(world_.state().FindMachine("m2"), nullptr);
}

// Whoever operates one zone is not told what another has.
TEST_F(DecideMachinesTest, AMachineOfAnotherZoneIsRefusedWithoutSayingWhichItIs) {
  const MachineRow machine = World::Machine("m1");
  world_.Register({machine});
  ZoneRow other = *world_.state().FindZone(World::kZone);
  other.id = "US-WEST-01A";
  world_.Do(UpdateZone{other});
  MachineRow moved = machine;
  moved.zone = other.id;
  const absl::Status refused = world_.Do(RegisterMachines{{moved}}).status();
  EXPECT_EQ(ReasonOf(refused), "MACHINE_MOVED");
  EXPECT_THAT(std::string(refused.message()), Not(HasSubstr(World::kZone)));
  EXPECT_THAT(std::string(refused.message()), Not(HasSubstr(machine.instance_type.get())));
  moved.zone = machine.zone;
  moved.instance_type = World::kRackType;
  EXPECT_THAT(std::string(world_.Do(RegisterMachines{{moved}}).status().message()),
              HasSubstr(machine.instance_type.get()));
}

TEST_F(DecideMachinesTest, SetStateTable) {
  using enum MachineState;
  struct Case {
    MachineState from = kFree;
    MachineState to = kFree;
    std::string reason = {};
  };
  const Case cases[] = {
      {kFree, kFree, ""},
      {kFree, kInRepair, ""},
      {kFree, kRetired, ""},
      {kInRepair, kFree, ""},
      {kInRepair, kInRepair, ""},
      {kInRepair, kRetired, ""},
      {kHeld, kFree, "MACHINE_HELD"},
      {kHeld, kInRepair, "MACHINE_HELD"},
      {kHeld, kRetired, "MACHINE_HELD"},
      {kRetired, kFree, "MACHINE_RETIRED"},
      {kRetired, kInRepair, "MACHINE_RETIRED"},
      {kRetired, kRetired, ""},
  };
  int n = 0;
  for (const Case& c : cases) {
    SCOPED_TRACE(n);
    World world;
    world.AddCatalogue();
    world.Register({World::Machine("m")});
    if (c.from == kHeld) {
      ASSERT_TRUE(world.Do(world.Want("p", 1)).ok());
    }
    if (c.from == kInRepair || c.from == kRetired) {
      ASSERT_TRUE(world.Do(SetMachineState{"m", c.from}).ok());
    }
    const int64_t revision = world.revision();
    const auto row = world.Do(SetMachineState{"m", c.to});
    EXPECT_EQ(row.ok() ? "" : ReasonOf(row.status()), c.reason);
    EXPECT_EQ(world.StateOf("m"), c.reason.empty() ? c.to : c.from);
    EXPECT_EQ(world.revision(), revision + (c.reason.empty() && c.to != c.from ? 1 : 0));
    EXPECT_THAT(Audit(world.state()), IsEmpty());
    ++n;
  }
  EXPECT_EQ(world_.Do(SetMachineState{"nobody", kFree}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(DecideMachinesTest, RegistrationAndRepairServeTheQueueAtOnce) {
  ASSERT_TRUE(world_.Do(world_.Want("p", 2)).ok());
  const auto rows = world_.Do(RegisterMachines{{World::Machine("m1")}});
  EXPECT_EQ((*rows)[0].claim, "p");
  world_.Register({World::Machine("m2")});
  EXPECT_THAT(world_.MachinesOf("p"), ElementsAre("m1", "m2"));
  ASSERT_TRUE(world_.Do(world_.Want("p", 2, {{"m1", ReturnReason::kBroken}})).ok());
  const auto repaired = world_.Do(SetMachineState{"m1", MachineState::kFree});
  EXPECT_EQ(repaired->claim, "p");
}

TEST_F(DecideMachinesTest, CatalogueServesTheQueueWhenTheTypeIsOffered) {
  world_.Do(UpdateZone{{.id = World::kZone, .instance_types = {World::kRackType}}});
  world_.Register({World::Machine("m1")});
  ASSERT_TRUE(world_.Do(world_.Want("p", 1)).ok());
  EXPECT_EQ(world_.View("p").reason, ClaimReason::kNotInZone);
  EXPECT_EQ(world_.StateOf("m1"), MachineState::kFree);
  const ZoneRow zone = world_.Do(
      UpdateZone{{.id = World::kZone, .instance_types = {World::kType, "b", World::kType, "a"}}});
  EXPECT_THAT(zone.instance_types, ElementsAre("a", "b", World::kType));
  EXPECT_THAT(world_.MachinesOf("p"), ElementsAre("m1"));
  // A type that comes after the zone that offers it.
  SyncClaim other = world_.Want("q", 1);
  other.instance_type = "b";
  ASSERT_TRUE(world_.Do(other).ok());
  EXPECT_EQ(world_.View("q").reason, ClaimReason::kUnknownInstanceType);
  world_.Do(UpdateInstanceType{{.id = "b"}});
  EXPECT_EQ(world_.View("q").reason, ClaimReason::kNoneAvailable);
}

}  // namespace
}  // namespace muster::capacity
