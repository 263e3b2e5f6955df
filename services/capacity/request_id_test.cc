#include "services/capacity/core/place.h"
#include "services/capacity/testing/service_test_base.h"
#include "services/rpc/lane_service.h"
#include "tests/testing/once.h"
#include "tests/testing/test_policy.h"

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

// What is gone is in no zone, and what has its name by now is in another, perhaps: who repeats its
// order is not told that.
TEST_F(CapacityRequestIdTest, AZonesOperatorRepeatsADeletion) {
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1"})), IsOk());
  v1::SetMachineStateRequest retire;
  retire.set_name("machines/m1");
  retire.set_state(v1::Machine::STATE_RETIRED);
  ASSERT_THAT(Call(&Stub::SetMachineState, retire), IsOk());
  const testing::TestPolicy policy(
      absl::StrCat("bindings: [{role: operator, principals: [local], zones: [", kZone, "]}]"));
  testing::TestServer server(
      {rpc::LaneService(v1::CapacityService::service_full_name(), *service_)}, policy.guard());
  const auto stub = v1::CapacityService::NewStub(
      grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials()));
  const auto remove = [&](const std::string& id, bool allow_missing = false) {
    v1::DeleteMachineRequest request;
    request.set_name("machines/m1");
    request.set_request_id(id);
    request.set_allow_missing(allow_missing);
    return testing::Call(*stub, &Stub::DeleteMachine, request).status();
  };
  ASSERT_THAT(remove("one"), IsOk());
  EXPECT_THAT(remove("one"), IsOk());
  EXPECT_THAT(remove("one", true), StatusIs(absl::StatusCode::kNotFound)) << "another request";
  EXPECT_THAT(remove("two"), StatusIs(absl::StatusCode::kNotFound));
  v1::UpdateZoneRequest west = Zone();
  west.mutable_zone()->set_name("zones/US-WEST-01A");
  ASSERT_THAT(Call(&Stub::UpdateZone, west), IsOk());
  v1::BatchRegisterMachinesRequest elsewhere = Machines({"m1"});
  elsewhere.mutable_machines(0)->set_zone("US-WEST-01A");
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, elsewhere), IsOk());
  ASSERT_THAT(Call(&Stub::SetMachineState, retire), IsOk());
  EXPECT_THAT(remove("one"), IsOk());
  EXPECT_THAT(remove("two"), StatusIs(absl::StatusCode::kNotFound));
  v1::GetMachineRequest get;
  get.set_name("machines/m1");
  EXPECT_THAT(Call(&Stub::GetMachine, get), IsOk()) << "the other one stays";
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
