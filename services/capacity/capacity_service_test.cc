#include "services/capacity/testing/service_test_base.h"

namespace muster::capacity {
namespace {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::HasReason;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(CapacityServiceTest, FromCatalogueToAHeldMachine) {
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1", "m2", "m3"})), IsOk());
  auto claim = Call(&Stub::SyncClaim, Claim("p", 2));
  ASSERT_THAT(claim, IsOk());
  EXPECT_EQ(claim->name(), "claims/p");
  EXPECT_THAT(claim->machines(), ElementsAre("m1", "m2"));
  EXPECT_EQ(claim->reason(), v1::Claim::REASON_SUFFICIENT);
  EXPECT_EQ(claim->in_service(), 3);
  EXPECT_EQ(claim->compute_class(), type::v1::COMPUTE_CLASS_DEFAULT);

  claim = Call(&Stub::SyncClaim, Claim("p", 5, 2));
  ASSERT_THAT(claim, IsOk());
  EXPECT_EQ(claim->outstanding(), 2);
  EXPECT_EQ(claim->reason(), v1::Claim::REASON_PARTIAL);
  EXPECT_EQ(claim->queue_time().seconds(), absl::ToUnixSeconds(clock_.Now()));

  v1::GetClaimRequest get;
  get.set_name("claims/p");
  const auto read = Call(&Stub::GetClaim, get);
  ASSERT_THAT(read, IsOk());
  claim->clear_granted();  // of the request alone
  EXPECT_EQ(read->SerializeAsString(), claim->SerializeAsString());
  EXPECT_THAT(Call(&Stub::SyncClaim, Claim("p", 1, 1)), HasReason("GENERATION_TOO_OLD"));
  v1::SyncClaimRequest other_returns = Claim("p", 5, 2);
  other_returns.mutable_claim()->add_returns()->set_machine("m1");
  other_returns.mutable_claim()->mutable_returns(0)->set_reason(v1::MachineReturn::REASON_BROKEN);
  EXPECT_THAT(Call(&Stub::SyncClaim, other_returns), HasReason("GENERATION_REUSED"));

  v1::GetMachineRequest machine;
  machine.set_name("machines/m1");
  EXPECT_EQ(Call(&Stub::GetMachine, machine)->claim(), "p");
  v1::SetMachineStateRequest retire;
  retire.set_name("machines/m1");
  retire.set_state(v1::Machine::STATE_RETIRED);
  EXPECT_THAT(Call(&Stub::SetMachineState, retire), HasReason("MACHINE_HELD"));
}

TEST_F(CapacityServiceTest, MachinesThatTheCallerKnowsAreNotListedAgain) {
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1", "m2"})), IsOk());
  ASSERT_THAT(Call(&Stub::SyncClaim, Claim("p", 3)), IsOk());
  v1::SyncClaimRequest request = Claim("p", 3);
  // Of somebody who knows none, as all of an older release.
  auto claim = Call(&Stub::SyncClaim, request);
  ASSERT_THAT(claim, IsOk());
  EXPECT_THAT(claim->machines(), ElementsAre("m1", "m2"));
  EXPECT_FALSE(claim->machines_unchanged());
  const std::string print = claim->machines_print();
  v1::Claim rest = *claim;
  rest.clear_machines();
  rest.clear_racks();
  rest.clear_request_times();
  rest.clear_grant_times();
  rest.set_machines_unchanged(true);

  request.mutable_claim()->set_known_machines(print);
  claim = Call(&Stub::SyncClaim, request);
  ASSERT_THAT(claim, IsOk());
  EXPECT_EQ(claim->SerializeAsString(), rest.SerializeAsString());
  Stop();
  Start({});
  claim = Call(&Stub::SyncClaim, request);
  ASSERT_THAT(claim, IsOk());
  EXPECT_TRUE(claim->machines_unchanged()) << "every process says the same";
  v1::GetClaimRequest get;
  get.set_name("claims/p");
  const auto read = Call(&Stub::GetClaim, get);
  ASSERT_THAT(read, IsOk());
  EXPECT_THAT(read->machines(), ElementsAre("m1", "m2"));
  EXPECT_EQ(read->machines_print(), print);

  v1::BatchRegisterMachinesRequest moved = Machines({"m1"});
  moved.mutable_machines(0)->set_rack("r9");
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, moved), IsOk());
  claim = Call(&Stub::SyncClaim, request);
  ASSERT_THAT(claim, IsOk());
  EXPECT_FALSE(claim->machines_unchanged());
  EXPECT_THAT(claim->racks(), ElementsAre("r9", ""));
  EXPECT_NE(claim->machines_print(), print);
}

struct Waits {
  uint64_t count = 0;
  double seconds = 0;
};
Waits CountWaits(const CapacityService& service) {
  Waits waits;
  for (const prometheus::MetricFamily& family : service.collectable()->Collect()) {
    if (family.name != "muster_capacity_wait_seconds") continue;
    for (const prometheus::ClientMetric& metric : family.metric) {
      waits.count += metric.histogram.sample_count;
      waits.seconds += metric.histogram.sample_sum;
    }
  }
  return waits;
}

// New machines end the longest waits: those are counted, too.
TEST_F(CapacityServiceTest, HowLongAMachineThatIsNewWasWaitedForIsCounted) {
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::SyncClaim, Claim("p", 2)), IsOk());
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1", "m2"})), IsOk());
  ASSERT_THAT(Call(&Stub::SyncClaim, Claim("p", 2)), IsOk());
  EXPECT_EQ(CountWaits(*service_).count, 2u);
}

// It has the age of the request, which the machine that broke had ended.
TEST_F(CapacityServiceTest, AReplacementWasWaitedForSinceTheLoss) {
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1", "m2"})), IsOk());
  ASSERT_THAT(Call(&Stub::SyncClaim, Claim("p", 1)), IsOk());
  clock_.Advance(absl::Hours(90 * 24));
  const auto broken = [&](const std::string& machine, int64_t generation) {
    v1::SyncClaimRequest request = Claim("p", 1, generation);
    v1::MachineReturn* given = request.mutable_claim()->add_returns();
    given->set_machine(machine);
    given->set_reason(v1::MachineReturn::REASON_BROKEN);
    return request;
  };
  ASSERT_THAT(Call(&Stub::SyncClaim, broken("m1", 2)), IsOk());
  ASSERT_THAT(Call(&Stub::SyncClaim, broken("m2", 3)), IsOk());
  clock_.Advance(absl::Seconds(20));
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m3"})), IsOk());
  ASSERT_THAT(Call(&Stub::SyncClaim, broken("m2", 3)), IsOk());
  const Waits waits = CountWaits(*service_);
  EXPECT_EQ(waits.count, 3u);
  EXPECT_EQ(waits.seconds, 20);
}

TEST_F(CapacityServiceTest, GivenBackMachinesGoOnAndAReleasedClaimIsGone) {
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1", "m2"})), IsOk());
  ASSERT_THAT(Call(&Stub::SyncClaim, Claim("p", 2)), IsOk());
  ASSERT_THAT(Call(&Stub::SyncClaim, Claim("q", 1)), IsOk());
  v1::SyncClaimRequest release = Claim("p", 0, 2);
  release.mutable_claim()->set_release(true);
  EXPECT_THAT(Call(&Stub::SyncClaim, release), HasReason("CLAIM_HOLDS_MACHINES"));
  for (const auto& [id, reason] : {std::pair("m1", v1::MachineReturn::REASON_RELEASED),
                                   std::pair("m2", v1::MachineReturn::REASON_BROKEN)}) {
    v1::MachineReturn* given = release.mutable_claim()->add_returns();
    given->set_machine(id);
    given->set_reason(reason);
  }
  const auto last = Call(&Stub::SyncClaim, release);
  ASSERT_THAT(last, IsOk());
  EXPECT_THAT(last->machines(), IsEmpty());
  v1::GetClaimRequest get;
  get.set_name("claims/p");
  EXPECT_THAT(Call(&Stub::GetClaim, get), StatusIs(absl::StatusCode::kNotFound));
  get.set_name("claims/q");
  EXPECT_THAT(Call(&Stub::GetClaim, get)->machines(), ElementsAre("m1"));
  v1::SetMachineStateRequest repaired;
  repaired.set_name("machines/m2");
  repaired.set_state(v1::Machine::STATE_FREE);
  EXPECT_EQ(Call(&Stub::SetMachineState, repaired)->state(), v1::Machine::STATE_FREE);
}

TEST_F(CapacityServiceTest, AReleasedUidIsRefusedForAsLongAsAnOperatorSays) {
  Stop();
  Start({.released_keep = absl::Hours(1)});
  AddCatalogue();
  const auto release = [&](const char* uid) {
    v1::SyncClaimRequest request = Claim(uid, 0);
    request.mutable_claim()->set_release(true);
    EXPECT_THAT(Call(&Stub::SyncClaim, request), IsOk());
  };
  release("p");
  EXPECT_THAT(Call(&Stub::SyncClaim, Claim("p", 1)), HasReason("POOL_RELEASED"));
  clock_.Advance(absl::Hours(1));
  release("q");
  EXPECT_THAT(Call(&Stub::SyncClaim, Claim("p", 1)), IsOk());
}

TEST_F(CapacityServiceTest, ACheckSaysWhatASyncGetsAndChangesNothing) {
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1", "m2"})), IsOk());
  ASSERT_THAT(Call(&Stub::SyncClaim, Claim("p", 1, 7)), IsOk());
  v1::SyncClaimRequest release = Claim("gone", 0);
  release.mutable_claim()->set_release(true);
  ASSERT_THAT(Call(&Stub::SyncClaim, release), IsOk());
  const int64_t revision = service_->lane().revision();
  v1::CheckClaimsRequest check;
  *check.add_claims() = Claim("p", 2, 0).claim();
  *check.add_claims() = Claim("new", 1, 0).claim();
  *check.add_claims() = Claim("gone", 1, 0).claim();
  check.mutable_claims(0)->set_generation(0);
  for (int i = 0; i < 2; ++i) {
    const auto told = Call(&Stub::CheckClaims, check);
    ASSERT_THAT(told, IsOk());
    EXPECT_THAT(told->results(0).claim().machines(), ElementsAre("m1", "m2"));
    EXPECT_EQ(told->results(0).claim().generation(), 8);
    EXPECT_EQ(told->results(1).claim().outstanding(), 1);
    EXPECT_EQ(told->results(1).claim().queue().place(), 1);
    EXPECT_THAT(rpc::FromRpcStatus(told->results(2).error()), HasReason("POOL_RELEASED"));
  }
  EXPECT_EQ(service_->lane().revision(), revision);
  v1::GetClaimRequest get;
  get.set_name("claims/p");
  EXPECT_THAT(Call(&Stub::GetClaim, get)->machines(), ElementsAre("m1"));
  EXPECT_THAT(Call(&Stub::CheckClaims, v1::CheckClaimsRequest()), HasFieldViolation("claims"));
  *check.add_claims() = check.claims(0);
  EXPECT_THAT(Call(&Stub::CheckClaims, check), HasFieldViolation("claims[3].pool_uid"));
}

TEST_F(CapacityServiceTest, ABatchIsAnsweredOneByOne) {
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1", "m2"})), IsOk());
  ASSERT_THAT(Call(&Stub::SyncClaim, Claim("old", 0, 9)), IsOk());
  v1::BatchSyncClaimsRequest request;
  *request.add_claims() = Claim("a", 1).claim();
  *request.add_claims() = Claim("old", 1, 8).claim();
  *request.add_claims() = Claim("b", 2).claim();
  const auto response = Call(&Stub::BatchSyncClaims, request);
  ASSERT_THAT(response, IsOk());
  ASSERT_EQ(response->results_size(), 3);
  EXPECT_THAT(response->results(0).claim().machines(), ElementsAre("m1"));
  EXPECT_THAT(rpc::FromRpcStatus(response->results(1).error()), HasReason("GENERATION_TOO_OLD"));
  EXPECT_THAT(response->results(2).claim().machines(), ElementsAre("m2"));
  EXPECT_EQ(response->results(2).claim().outstanding(), 1);
}

TEST_F(CapacityServiceTest, ListsArePagedFilteredAndInOrder) {
  AddCatalogue();
  v1::UpdateZoneRequest other = Zone();
  other.mutable_zone()->set_name("zones/US-EAST-04B");
  other.mutable_zone()->add_instance_types(kType);
  ASSERT_THAT(Call(&Stub::UpdateZone, other), IsOk());
  v1::BatchRegisterMachinesRequest machines = Machines({"c", "a", "b", "d"});
  machines.mutable_machines(1)->set_zone("US-EAST-04B");
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, machines), IsOk());
  for (const char* uid : {"y", "x"}) ASSERT_THAT(Call(&Stub::SyncClaim, Claim(uid, 1)), IsOk());

  v1::ListMachinesRequest list;
  list.set_zone(kZone);
  list.set_page_size(2);
  auto page = Call(&Stub::ListMachines, list);
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->machines_size(), 2);
  EXPECT_EQ(page->machines(0).name(), "machines/b");
  EXPECT_EQ(page->machines(1).name(), "machines/c");
  list.set_page_token(page->next_page_token());
  page = Call(&Stub::ListMachines, list);
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->machines_size(), 1);
  EXPECT_EQ(page->machines(0).name(), "machines/d");
  EXPECT_EQ(page->next_page_token(), "");
  list.set_instance_type("other");
  EXPECT_THAT(Call(&Stub::ListMachines, list), HasFieldViolation("page_token"));
  list.clear_page_token();
  EXPECT_EQ(Call(&Stub::ListMachines, list)->machines_size(), 0);

  const auto zones = Call(&Stub::ListZones, v1::ListZonesRequest());
  ASSERT_EQ(zones->zones_size(), 2);
  EXPECT_EQ(zones->zones(0).region(), "US-EAST-04");
  EXPECT_THAT(zones->zones(1).instance_types(), ElementsAre(kType));
  EXPECT_EQ(
      Call(&Stub::ListInstanceTypes, v1::ListInstanceTypesRequest())->instance_types(0).gpu_model(),
      "A100");
  const auto claims = Call(&Stub::ListClaims, v1::ListClaimsRequest());
  ASSERT_EQ(claims->claims_size(), 2);
  EXPECT_EQ(claims->claims(0).name(), "claims/x");
  EXPECT_THAT(claims->claims(0).machines(), ElementsAre("c"));
}

TEST_F(CapacityServiceTest, ListsAreFilteredAndOrdered) {
  AddCatalogue();
  v1::BatchRegisterMachinesRequest machines = Machines({"c", "a", "b"});
  (*machines.mutable_machines(2)->mutable_labels())["row"] = "7";
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, machines), IsOk());
  ASSERT_THAT(Call(&Stub::SyncClaim, Claim("x", 1)), IsOk());
  v1::ListMachinesRequest list;
  list.set_order_by("name desc");
  auto page = Call(&Stub::ListMachines, list);
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->machines_size(), 3);
  EXPECT_EQ(page->machines(0).name(), "machines/c");
  list.set_state(v1::Machine::STATE_FREE);
  list.set_filter("labels.row = 7 OR state = HELD");
  page = Call(&Stub::ListMachines, list);
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->machines_size(), 1) << "the other fields of the request count, too";
  EXPECT_EQ(page->machines(0).name(), "machines/b");

  v1::ListClaimsRequest claims;
  claims.set_filter("reason != SUFFICIENT");
  EXPECT_EQ(Call(&Stub::ListClaims, claims)->claims_size(), 0);
  claims.set_filter("machines:*");
  EXPECT_EQ(Call(&Stub::ListClaims, claims)->claims_size(), 1) << "what follows from others, too";
}

TEST_F(CapacityServiceTest, WhatIsOutOfUseIsRemoved) {
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1"})), IsOk());
  v1::DeleteMachineRequest machine;
  machine.set_name("machines/m1");
  EXPECT_THAT(Call(&Stub::DeleteMachine, machine), HasReason("MACHINE_NOT_RETIRED"));
  v1::DeleteZoneRequest zone;
  zone.set_name(absl::StrCat("zones/", kZone));
  EXPECT_THAT(Call(&Stub::DeleteZone, zone), HasReason("ZONE_IN_USE"));
  v1::SetMachineStateRequest retire;
  retire.set_name("machines/m1");
  retire.set_state(v1::Machine::STATE_RETIRED);
  ASSERT_THAT(Call(&Stub::SetMachineState, retire), IsOk());
  machine.set_validate_only(true);
  ASSERT_THAT(Call(&Stub::DeleteMachine, machine), IsOk());
  machine.set_validate_only(false);
  ASSERT_THAT(Call(&Stub::DeleteMachine, machine), IsOk());
  EXPECT_THAT(Call(&Stub::DeleteMachine, machine), HasReason("NOT_FOUND"));
  v1::DeleteInstanceTypeRequest type;
  type.set_name(absl::StrCat("instanceTypes/", kType));
  EXPECT_THAT(Call(&Stub::DeleteInstanceType, type), HasReason("INSTANCE_TYPE_IN_USE"));
  ASSERT_THAT(Call(&Stub::DeleteZone, zone), IsOk());
  ASSERT_THAT(Call(&Stub::DeleteInstanceType, type), IsOk());
  type.set_name("type");
  EXPECT_THAT(Call(&Stub::DeleteInstanceType, type), HasFieldViolation("name"));
}

TEST_F(CapacityServiceTest, RegistrationIsAllOrNothing) {
  AddCatalogue();
  const int64_t revision = service_->lane().revision();
  v1::BatchRegisterMachinesRequest machines = Machines({"m1", "m2"});
  machines.mutable_machines(1)->set_zone("US-WEST-01A");
  EXPECT_THAT(Call(&Stub::BatchRegisterMachines, machines), HasReason("UNKNOWN_ZONE"));
  EXPECT_EQ(service_->lane().revision(), revision);
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1", "m2"})), IsOk());
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1", "m2"})), IsOk());
  EXPECT_EQ(service_->lane().revision(), revision + 2);
}

TEST_F(CapacityServiceTest, AWatchOfClaimsWakesWhoThenSyncs) {
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::SyncClaim, Claim("p", 1)), IsOk());
  grpc::ClientContext context;
  v1::WatchCapacityRequest request;
  request.add_kinds(v1::WatchCapacityRequest::KIND_CLAIM);
  const auto stream = stub_->WatchCapacity(&context, request);
  v1::WatchCapacityResponse message;
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_EQ(message.type(), type::v1::WATCH_EVENT_TYPE_SNAPSHOT);
  EXPECT_EQ(message.key(), "claims/p");
  EXPECT_EQ(message.claim().outstanding(), 1);
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_EQ(message.type(), type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END);
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1"})), IsOk());
  do {
    ASSERT_TRUE(stream->Read(&message));
  } while (message.type() == type::v1::WATCH_EVENT_TYPE_PROGRESS);
  EXPECT_EQ(message.type(), type::v1::WATCH_EVENT_TYPE_CHANGED);
  EXPECT_EQ(message.claim().outstanding(), 0);
  EXPECT_THAT(message.claim().machines(), IsEmpty());
  // The same generation asks, changes nothing, and is told what is held now.
  EXPECT_THAT(Call(&Stub::SyncClaim, Claim("p", 1))->machines(), ElementsAre("m1"));
  context.TryCancel();
}

TEST_F(CapacityServiceTest, AWatchShowsEveryKind) {
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1"})), IsOk());
  ASSERT_THAT(Call(&Stub::SyncClaim, Claim("p", 1)), IsOk());
  grpc::ClientContext context;
  const auto stream = stub_->WatchCapacity(&context, {});
  std::set<v1::WatchCapacityResponse::ResourceCase> seen;
  v1::WatchCapacityResponse message;
  while (stream->Read(&message) && message.type() == type::v1::WATCH_EVENT_TYPE_SNAPSHOT) {
    EXPECT_TRUE(seen.insert(message.resource_case()).second);
  }
  EXPECT_EQ(seen.size(), 4u);
  context.TryCancel();
}

TEST(CapacityServiceOptions, WhatAnOperatorSetsIsBounded) {
  CapacityService::Options keep;
  keep.gang_keep = -absl::Seconds(1);
  EXPECT_THAT(CapacityService::Create(std::move(keep)).status(), HasFieldViolation("gang_keep"));
  CapacityService::Options notice;
  notice.preemption_notice = kMinSpotNotice - absl::Milliseconds(1);
  EXPECT_THAT(CapacityService::Create(std::move(notice)).status(),
              HasFieldViolation("preemption_notice"));
}

TEST_F(CapacityServiceTest, ARestartForgetsNothing) {
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1", "m2"})), IsOk());
  ASSERT_THAT(Call(&Stub::SyncClaim, Claim("p", 3)), IsOk());
  CapacityService::Options options;
  options.lane.connect = {.conninfo = database_.conninfo("capacity"), .schema = "capacity"};
  options.lane = testing::Patient(std::move(options.lane));
  options.clock = &clock_;
  const auto other = CapacityService::Create(std::move(options));
  ASSERT_THAT(other, IsOk());
  (*other)->lane().Peek([&](const State& restarted, int64_t) {
    service_->lane().Peek(
        [&](const State& state, int64_t) { EXPECT_TRUE(restarted.SameIndexes(state)); });
    EXPECT_EQ(restarted.FootprintOf("p").held(), 2);
  });
}

}  // namespace
}  // namespace muster::capacity
