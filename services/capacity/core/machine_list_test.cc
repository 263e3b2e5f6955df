#include "services/capacity/core/machine_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "services/capacity/core/testing/world.h"

namespace muster::capacity {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Ids(const State& state, const MachineFilter& filter,
                             absl::string_view after = "", size_t limit = 1'000) {
  std::vector<std::string> ids;
  for (const MachineRow* machine : ListMachines(state, filter, after, limit))
    ids.push_back(machine->id);
  return ids;
}

TEST(MachineListTest, PagesRunOverZonesAndTypesInOrderOfId) {
  World world;
  world.AddCatalogue();
  world.Register({World::Machine("d"), World::Machine("b", "", "", 0, World::kRackType),
                  World::Machine("a"), World::Machine("c", "", "", 0, World::kRackType)});
  EXPECT_THAT(Ids(world.state(), {}), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(Ids(world.state(), {}, "", 3), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Ids(world.state(), {}, "c"), ElementsAre("d"));
  EXPECT_THAT(Ids(world.state(), {}, "b1"), ElementsAre("c", "d"));
  EXPECT_THAT(Ids(world.state(), {}, "d"), IsEmpty());
  EXPECT_THAT(Ids(world.state(), {.instance_type = World::kRackType}), ElementsAre("b", "c"));
  EXPECT_THAT(Ids(world.state(), {.zone = "NOWHERE"}), IsEmpty());
  EXPECT_THAT(Ids(world.state(), {.claim = "nobody"}), IsEmpty());
}

// Few in repair are found without a look at the many others of the zone.
TEST(MachineListTest, IdsStandByStateAndFollowIt) {
  World world;
  world.AddCatalogue();
  world.Register({World::Machine("a"), World::Machine("b"), World::Machine("c")});
  (void)world.Do(world.Want("p", 1));
  (void)world.Do(SetMachineState{"b", MachineState::kInRepair});
  const auto ids = [&](MachineState state) {
    return world.state().machine_ids().at({World::kZone, World::kType})[static_cast<size_t>(state)];
  };
  EXPECT_THAT(ids(MachineState::kFree), ElementsAre("c"));
  EXPECT_THAT(ids(MachineState::kHeld), ElementsAre("a"));
  EXPECT_THAT(ids(MachineState::kInRepair), ElementsAre("b"));
  EXPECT_THAT(Ids(world.state(), {.state = MachineState::kInRepair}), ElementsAre("b"));
  (void)world.Do(SetMachineState{"b", MachineState::kFree});
  EXPECT_THAT(ids(MachineState::kFree), ElementsAre("b", "c"));
  EXPECT_THAT(ids(MachineState::kInRepair), IsEmpty());
}

// Whatever the filter, the same machines as a walk over all of them finds.
TEST(MachineListTest, EveryFilterFindsWhatAWalkFinds) {
  World world;
  world.AddCatalogue();
  world.Do(UpdateZone{{.id = "US-WEST-01A", .instance_types = {World::kType}}});
  std::mt19937 random(7);
  std::vector<MachineRow> machines;
  for (int i = 0; i < 60; ++i) {
    machines.push_back(World::Machine(absl::StrCat("m", i)));
    if (i % 3 == 0) machines.back().zone = "US-WEST-01A";
    if (i % 5 == 0) machines.back().instance_type = World::kRackType;
  }
  world.Register(machines);
  for (int i = 0; i < 60; i += 7) {
    (void)world.Do(SetMachineState{absl::StrCat("m", i),
                                   i % 2 == 0 ? MachineState::kInRepair : MachineState::kRetired});
  }
  (void)world.Do(world.Want("p", 5));
  (void)world.Do(world.Want("q", 40));
  for (const char* zone : {"", World::kZone, "US-WEST-01A"}) {
    for (const char* type : {"", World::kType, World::kRackType}) {
      for (const char* claim : {"", "p", "q"}) {
        for (int s = -1; s < 5; ++s) {
          MachineFilter filter{zone, type, claim};
          if (s >= 0) filter.state = static_cast<MachineState>(s);
          std::vector<std::string> expected;
          for (const auto& [key, versioned] : world.state().table<MachineRow>().rows()) {
            const MachineRow& m = *versioned.row;
            if ((filter.zone.empty() || m.zone == zone) &&
                (filter.instance_type.empty() || m.instance_type == type) &&
                (filter.claim.empty() || m.claim == claim) && (s < 0 || m.state == *filter.state)) {
              expected.push_back(m.id);
            }
          }
          EXPECT_EQ(Ids(world.state(), filter), expected) << zone << type << claim << s;
        }
      }
    }
  }
}

}  // namespace
}  // namespace muster::capacity
