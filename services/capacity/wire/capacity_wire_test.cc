#include "services/capacity/wire/capacity_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "services/capacity/core/testing/world.h"
#include "services/common/timestamp.h"
#include "tests/testing/proto_matchers.h"
#include "tests/testing/status_matchers.h"

namespace muster::capacity {
namespace {

using ::muster::testing::EqualsProto;
using ::muster::testing::FieldsOf;
using ::muster::testing::IsOkAndHolds;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;

const absl::Time kTime = absl::FromUnixMicros(1'750'000'000'000'001);

ClaimRow SomeClaim() {
  ClaimRow claim;
  claim.pool_uid = "p-1";
  claim.generation = 7;
  claim.zone = World::kZone;
  claim.instance_type = World::kType;
  claim.compute_class = ComputeClass::kSpot;
  claim.nodes = 9;
  claim.priority = -3;
  claim.pool = "organizations/acme/clusters/c1/nodePools/train";
  claim.parts = {{kTime, 2}, {kTime + absl::Seconds(1), 3}};
  claim.lost = {{kTime, kTime + absl::Seconds(5)}};
  claim.withheld_parts = {{kTime, 3}};
  claim.withheld_places = {{kTime, "p-1", 1}, {kTime, "p-2", 2}};
  claim.returns_digest = -12345;
  claim.affinity = {
      {{{{"disk", AffinityOperator::kIn, {"nvme", ""}},
         {"gone", AffinityOperator::kDoesNotExist, {}}}},
       {{{"a.b/c", AffinityOperator::kNotIn, {"x"}}, {"seen", AffinityOperator::kExists, {}}}}}};
  claim.gang = true;
  claim.reclaim_generation = 4;
  claim.organization = "acme";
  claim.leaving_nodes = 1;
  claim.leaving_generation = 7;
  claim.places = {{kTime, "p-1", 1}, {kTime, "p-2", 4}};
  return claim;
}

TEST(CapacityWireTest, RowsComeBackAsTheyWent) {
  const ZoneRow zone{"US-EAST-04A", ZoneAccess::kDedicated, {"a", "b"}};
  EXPECT_THAT(FromProto(ToProto(zone)), IsOkAndHolds(zone));
  const InstanceTypeRow type{"gb200-4x", 4, "GB200", 144, 960, 30, "arm64", 110, true, 18, true};
  EXPECT_THAT(FromProto(ToProto(type)), IsOkAndHolds(type));
  MachineRow machine = World::Machine("m-1", "f", "r", 3);
  machine.labels = {{"a", "b"}, {"c", ""}};
  machine.state_time = kTime;
  for (const MachineState state :
       {MachineState::kFree, MachineState::kHeld, MachineState::kReclaiming,
        MachineState::kInRepair, MachineState::kRetired}) {
    machine.state = state;
    EXPECT_THAT(FromProto(ToProto(machine)), IsOkAndHolds(machine));
  }
  machine.claim = "p-1";
  machine.request_time = kTime - absl::Hours(1);
  for (const ComputeClass held_as : {ComputeClass::kDefault, ComputeClass::kSpot}) {
    machine.compute_class = held_as;
    EXPECT_THAT(FromProto(ToProto(machine)), IsOkAndHolds(machine));
  }
  machine.reclaim_time = kTime;
  machine.earmark = "p-2";
  machine.place_time = kTime - absl::Hours(2);
  EXPECT_THAT(FromProto(ToProto(machine)), IsOkAndHolds(machine));
  EXPECT_THAT(FromProto(ToProto(SomeClaim())), IsOkAndHolds(SomeClaim()));
  const ArrivalsRow arrivals{
      "US-EAST-04A", "t", ComputeClass::kSpot, {{absl::UnixEpoch(), 0}, {machine.state_time, 7}}};
  EXPECT_THAT(FromProto(ToProto(arrivals)), IsOkAndHolds(arrivals));
  EXPECT_THAT(FromProto(v1::Arrivals()), StatusIs(absl::StatusCode::kInternal));
}

TEST(CapacityWireTest, AClaimIsAnsweredWithWhatFollows) {
  ClaimReply answer{{SomeClaim(), {"m1", "m2"}, ClaimReason::kPartial, 8}};
  ClaimView& view = answer.view;
  view.matching = 6;
  view.matching_in_repair = 7;
  view.granted = {"m2"};
  view.racks = {"r1", ""};
  view.request_times = view.grant_times = {kTime, kTime};
  view.reclaims = {{kTime, "m1"}};
  view.machines_print = "1f";
  view.queue = {3, 20};
  answer.wait = {absl::Hours(1), absl::Hours(2)};
  EXPECT_THAT(ToProto(answer), EqualsProto(R"pb(
                name: "claims/p-1"
                generation: 7
                zone: "US-EAST-04A"
                instance_type: "gd-8xa100-i128"
                compute_class: COMPUTE_CLASS_SPOT
                nodes: 9
                priority: -3
                pool: "organizations/acme/clusters/c1/nodePools/train"
                machines: "m1"
                machines: "m2"
                outstanding: 5
                reason: REASON_PARTIAL
                queue_time { seconds: 1750000000 nanos: 1000 }
                in_service: 8
                parts {
                  request_time { seconds: 1750000000 nanos: 1000 }
                  nodes: 2
                }
                parts {
                  request_time { seconds: 1750000001 nanos: 1000 }
                  nodes: 3
                }
                returns_digest: -12345
                lost_times { seconds: 1750000000 nanos: 1000 }
                lost_since { seconds: 1750000005 nanos: 1000 }
                withheld_parts {
                  request_time { seconds: 1750000000 nanos: 1000 }
                  nodes: 3
                }
                withheld_places {
                  time { seconds: 1750000000 nanos: 1000 }
                  asked_by: "p-1"
                  nodes: 1
                }
                withheld_places {
                  time { seconds: 1750000000 nanos: 1000 }
                  asked_by: "p-2"
                  nodes: 2
                }
                affinity {
                  terms {
                    expressions { key: "disk" operator: OPERATOR_IN values: "nvme" values: "" }
                    expressions { key: "gone" operator: OPERATOR_DOES_NOT_EXIST }
                  }
                  terms {
                    expressions { key: "a.b/c" operator: OPERATOR_NOT_IN values: "x" }
                    expressions { key: "seen" operator: OPERATOR_EXISTS }
                  }
                }
                gang: true
                granted: "m2"
                queue {
                  place: 3
                  nodes_ahead: 20
                  wait {
                    earliest { seconds: 3600 }
                    latest { seconds: 7200 }
                  }
                }
                reclaims {
                  machine: "m1"
                  reclaim_time { seconds: 1750000000 nanos: 1000 }
                }
                matching: 6
                matching_in_repair: 7
                reclaim_generation: 4
                racks: "r1"
                racks: ""
                organization: "acme"
                leaving_nodes: 1
                leaving_generation: 7
                places {
                  time { seconds: 1750000000 nanos: 1000 }
                  asked_by: "p-1"
                  nodes: 1
                }
                places {
                  time { seconds: 1750000000 nanos: 1000 }
                  asked_by: "p-2"
                  nodes: 4
                }
                request_times { seconds: 1750000000 nanos: 1000 }
                request_times { seconds: 1750000000 nanos: 1000 }
                grant_times { seconds: 1750000000 nanos: 1000 }
                grant_times { seconds: 1750000000 nanos: 1000 }
                machines_print: "1f"
              )pb"));
  view.machines_unchanged = true;
  EXPECT_TRUE(ToProto(answer).machines_unchanged());
  answer.wait.reset();
  EXPECT_FALSE(ToProto(answer).queue().has_wait());
  view.queue.reset();
  EXPECT_FALSE(ToProto(answer).has_queue());
  EXPECT_THAT(ToProto(view.claim).machines(), ::testing::IsEmpty());
  EXPECT_EQ(ToProto(view.claim).reason(), v1::Claim::REASON_UNSPECIFIED);
  EXPECT_EQ(ToProto(ZoneRow{.id = "US-EAST-04A"}).region(), "US-EAST-04");
}

TEST(CapacityWireTest, WhatIsNotSaidTakesNoBytes) {
  const v1::Machine machine = ToProto(World::Machine("m"));
  EXPECT_EQ(machine.compute_class(), type::v1::COMPUTE_CLASS_UNSPECIFIED);
  EXPECT_FALSE(machine.has_reclaim_time());
  EXPECT_FALSE(machine.has_place_time());
  EXPECT_FALSE(ToProto(ClaimRow{.pool_uid = "p"}).has_affinity());
}

TEST(CapacityWireTest, AMachineOfAnOlderJournalIsHeldAsDefault) {
  MachineRow machine = World::Machine("m");
  machine.state = MachineState::kHeld;
  machine.claim = "p";
  v1::Machine old = ToProto(machine);
  old.clear_compute_class();
  EXPECT_THAT(FromProto(old), IsOkAndHolds(machine));
}

TEST(CapacityWireTest, EveryReasonObstacleAndLabelHasAWordOfItsOwn) {
  std::set<int> reasons;
  for (int i = 0; i <= static_cast<int>(ClaimReason::kNoneAvailableNodeAffinity); ++i) {
    ClaimReply answer{{SomeClaim(), {}, static_cast<ClaimReason>(i)}};
    reasons.insert(ToProto(answer).reason());
  }
  EXPECT_EQ(reasons.size(), static_cast<size_t>(v1::Claim::Reason_ARRAYSIZE - 1));
  EXPECT_FALSE(reasons.contains(v1::Claim::REASON_UNSPECIFIED));
  for (int i = 0; i <= static_cast<int>(ObstacleCode::kInRepair); ++i) {
    EXPECT_EQ(ToProto(Obstacle{static_cast<ObstacleCode>(i), 0, 0, ""}).code(), i + 1);
  }
  EXPECT_EQ(v1::ClaimObstacle::Code_MAX, static_cast<int>(ObstacleCode::kInRepair) + 1);
  for (int i = 0; i <= static_cast<int>(Availability::kSkuUnavailable); ++i) {
    EXPECT_EQ(ToProto(ZonePlacements{"Z", static_cast<Availability>(i), {}}).availability(), i + 1);
  }
  EXPECT_EQ(v1::Availability_MAX, static_cast<int>(Availability::kSkuUnavailable) + 1);
}

TEST(CapacityWireTest, WhatTheJournalCannotHoldIsAnInternalError) {
  v1::Zone zone = ToProto(ZoneRow{.id = "US-EAST-04A"});
  zone.set_access(v1::Zone::ACCESS_UNSPECIFIED);
  EXPECT_THAT(FromProto(zone), StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(FromProto(v1::InstanceType()), StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(FromProto(v1::Machine()), StatusIs(absl::StatusCode::kInternal));
  EXPECT_THAT(FromProto(v1::Claim()), StatusIs(absl::StatusCode::kInternal));
  v1::Machine machine = ToProto(World::Machine("m"));
  machine.set_compute_class(static_cast<type::v1::ComputeClass>(77));
  EXPECT_THAT(FromProto(machine), StatusIs(absl::StatusCode::kInternal));
  v1::Claim claim = ToProto(SomeClaim());
  claim.mutable_affinity()->mutable_terms(0)->mutable_expressions(1)->clear_operator_();
  EXPECT_THAT(FromProto(claim), StatusIs(absl::StatusCode::kInternal));
}

TEST(CapacityWireTest, AReturnIsOfOneGrantOrOfAny) {
  v1::ClaimRequest request;
  for (const char* machine : {"m1", "m2"}) {
    request.add_returns()->set_machine(machine);
    request.mutable_returns()->rbegin()->set_reason(v1::MachineReturn::REASON_BROKEN);
  }
  SetTimestamp(kTime, request.mutable_returns(0)->mutable_grant_time());
  Faults faults;
  const SyncClaim claim = FromProto(request, "claim", faults);
  EXPECT_EQ(claim.returns.at(0).grant_time, kTime);
  EXPECT_EQ(claim.returns.at(1).grant_time, std::nullopt);
}

TEST(CapacityWireTest, WhatTheCallerKnowsOfTheMachinesIsRead) {
  v1::ClaimRequest request;
  request.set_known_machines("1f");
  Faults faults;
  EXPECT_EQ(FromProto(request, "claim", faults).known_machines, "1f");
}

TEST(CapacityWireTest, NamesAndEnumsThatAreNoneAreNamed) {
  Faults faults;
  v1::UpdateZoneRequest zone;
  zone.mutable_zone()->set_name("zones/lower");
  zone.mutable_zone()->set_access(static_cast<v1::Zone::Access>(77));
  ParseRequest(zone, faults);
  v1::UpdateInstanceTypeRequest type;
  ParseRequest(type, faults);
  v1::Machine machine;
  machine.set_name("machines/good");
  FromProto(machine, "machines[0]", faults);
  machine.set_name("machines/a.b");
  FromProto(machine, "machines[1]", faults);
  v1::SetMachineStateRequest state;
  state.set_state(static_cast<v1::Machine::State>(77));
  ParseRequest(state, faults);
  v1::SyncClaimRequest claim;
  claim.mutable_claim()->set_compute_class(static_cast<type::v1::ComputeClass>(77));
  claim.mutable_claim()->add_returns();
  claim.mutable_claim()->mutable_affinity()->add_terms()->add_expressions();
  ParseRequest(claim, faults);
  FromProto(v1::ClaimRequest(), "claims[0]", faults);
  FromProto(claim.claim(), "claims[1]", faults);
  EXPECT_THAT(
      FieldsOf(faults),
      ElementsAre("zone.name", "zone.access", "instance_type.name", "machines[1].name", "name",
                  "state", "claim.compute_class", "claim.affinity.terms[0].expressions[0].operator",
                  "claim.returns[0].reason", "claims[1].compute_class",
                  "claims[1].affinity.terms[0].expressions[0].operator",
                  "claims[1].returns[0].reason"));
}

TEST(CapacityWireTest, ARequestsOutputFieldsAreNotRead) {
  Faults faults;
  v1::Machine machine;
  machine.set_name("machines/m");
  machine.set_state(v1::Machine::STATE_RETIRED);
  machine.set_claim("p");
  const MachineRow row = FromProto(machine, "machines[0]", faults);
  EXPECT_EQ(row.state, MachineState::kFree);
  EXPECT_EQ(row.claim, "");
}

}  // namespace
}  // namespace muster::capacity
