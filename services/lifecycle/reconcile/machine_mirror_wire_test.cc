#include "services/lifecycle/reconcile/machine_mirror_wire.h"

#include <gtest/gtest.h>

namespace muster::lifecycle {
namespace {

// A gang waits for what is in repair, and no more for what is retired.
TEST(MirroredMachine, TellsInServiceInRepairAndRetiredApart) {
  using capacity::v1::Machine;
  const auto print = [](Machine::State state) {
    Machine machine;
    machine.set_state(state);
    return MirroredMachine(machine).print;
  };
  EXPECT_EQ(print(Machine::STATE_FREE), print(Machine::STATE_HELD));
  EXPECT_NE(print(Machine::STATE_FREE), print(Machine::STATE_IN_REPAIR));
  EXPECT_NE(print(Machine::STATE_IN_REPAIR), 0U);
  EXPECT_EQ(print(Machine::STATE_RETIRED), 0U);
}

}  // namespace
}  // namespace muster::lifecycle
