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

// What is held as spot could be a default pool's; what is taken back is nobody's own any more.
TEST(MirroredMachine, TellsWhatIsFreeHeldLentAndTakenBackApart) {
  using capacity::v1::Machine;
  using Use = MachineMirror::Use;
  const auto use = [](Machine::State state, type::v1::ComputeClass compute_class) {
    Machine machine;
    machine.set_state(state);
    machine.set_claim("p");
    machine.set_compute_class(compute_class);
    return MirroredMachine(machine).use;
  };
  EXPECT_EQ(use(Machine::STATE_FREE, type::v1::COMPUTE_CLASS_UNSPECIFIED), Use::kFree);
  EXPECT_EQ(use(Machine::STATE_HELD, type::v1::COMPUTE_CLASS_DEFAULT), Use::kHeld);
  EXPECT_EQ(use(Machine::STATE_HELD, type::v1::COMPUTE_CLASS_SPOT), Use::kLent);
  EXPECT_EQ(use(Machine::STATE_RECLAIMING, type::v1::COMPUTE_CLASS_SPOT), Use::kReclaimed);
  EXPECT_EQ(use(Machine::STATE_IN_REPAIR, type::v1::COMPUTE_CLASS_UNSPECIFIED), Use::kNone);
}

}  // namespace
}  // namespace muster::lifecycle
