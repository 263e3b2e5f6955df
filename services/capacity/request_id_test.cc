#include "services/capacity/service_test_base.h"
#include "tests/testing/once.h"

// A mutation that bears an id is carried out once.
namespace muster::capacity {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;

using CapacityRequestIdTest = testing::OnceTest<CapacityServiceTest>;

TEST_F(CapacityRequestIdTest, EveryMutation) {
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1"})), IsOk());
  v1::SetMachineStateRequest repair;
  repair.set_name("machines/m1");
  repair.set_state(v1::Machine::STATE_IN_REPAIR);
  ExpectOnce(&Stub::SetMachineState, repair, "repair");
  // A repair that comes late does not undo what was said since.
  v1::SetMachineStateRequest free = repair;
  free.set_state(v1::Machine::STATE_FREE);
  ASSERT_THAT(Call(&Stub::SetMachineState, free), IsOk());
  repair.set_request_id("repair");
  const auto told = Call(&Stub::SetMachineState, repair);
  ASSERT_THAT(told, IsOk());
  EXPECT_EQ(told->state(), v1::Machine::STATE_IN_REPAIR);
  v1::GetMachineRequest get;
  get.set_name("machines/m1");
  EXPECT_EQ(Call(&Stub::GetMachine, get)->state(), v1::Machine::STATE_FREE);
}

TEST_F(CapacityRequestIdTest, ARefusalThatWritesNothingIsNotKept) {
  v1::SetMachineStateRequest repair;
  repair.set_name("machines/m1");
  repair.set_state(v1::Machine::STATE_IN_REPAIR);
  repair.set_request_id("r");
  EXPECT_THAT(Call(&Stub::SetMachineState, repair), StatusIs(absl::StatusCode::kNotFound));
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1"})), IsOk());
  EXPECT_THAT(Call(&Stub::SetMachineState, repair), IsOk());
}

}  // namespace
}  // namespace muster::capacity
