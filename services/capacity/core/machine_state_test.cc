#include "services/capacity/core/machine_state.h"

#include <map>
#include <utility>

#include "gtest/gtest.h"

namespace muster::capacity {
namespace {

using enum MachineState;
using Event = MachineEvent;

constexpr MachineState kStates[] = {kFree, kHeld, kReclaiming, kInRepair, kRetired};
constexpr MachineEvent kEvents[] = {Event::kGranted,   Event::kReclaimed, Event::kReclaimCancelled,
                                    Event::kGivenBack, Event::kBroken,    Event::kTakenOut,
                                    Event::kRepaired,  Event::kRetired};

TEST(MachineStateTest, EveryStateTimesEveryEvent) {
  const std::map<std::pair<MachineState, MachineEvent>, MachineState> legal = {
      {{kFree, Event::kGranted}, kHeld},          {{kFree, Event::kTakenOut}, kInRepair},
      {{kHeld, Event::kReclaimed}, kReclaiming},  {{kReclaiming, Event::kReclaimCancelled}, kHeld},
      {{kFree, Event::kRepaired}, kFree},         {{kFree, Event::kRetired}, kRetired},
      {{kHeld, Event::kGivenBack}, kFree},        {{kHeld, Event::kBroken}, kInRepair},
      {{kReclaiming, Event::kGivenBack}, kFree},  {{kReclaiming, Event::kBroken}, kInRepair},
      {{kInRepair, Event::kTakenOut}, kInRepair}, {{kInRepair, Event::kRepaired}, kFree},
      {{kInRepair, Event::kRetired}, kRetired},   {{kRetired, Event::kRetired}, kRetired},
  };
  for (const MachineState state : kStates) {
    for (const MachineEvent event : kEvents) {
      SCOPED_TRACE(testing::Message() << NameOf(state) << " × " << static_cast<int>(event));
      const auto it = legal.find({state, event});
      const std::optional<MachineState> next = Next(state, event);
      EXPECT_EQ(next.has_value(), it != legal.end());
      if (next.has_value() && it != legal.end()) {
        EXPECT_EQ(*next, it->second);
      }
    }
  }
}

TEST(MachineStateTest, InServiceIsFreeOrHeldByAnyone) {
  EXPECT_TRUE(InService(kFree));
  EXPECT_TRUE(InService(kHeld));
  EXPECT_TRUE(InService(kReclaiming));
  EXPECT_FALSE(InService(kInRepair));
  EXPECT_FALSE(InService(kRetired));
}

}  // namespace
}  // namespace muster::capacity
