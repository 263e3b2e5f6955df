#include <functional>
#include <limits>

#include "services/capacity/testing/service_test_base.h"
#include "services/common/faults.h"

// Every field of every request, spoiled in every way: INVALID_ARGUMENT names it, and nothing is
// written.
namespace muster::capacity {
namespace {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::IsOk;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
constexpr int32_t kHuge32 = std::numeric_limits<int32_t>::max();
const std::string kLong(5'000, 'x');

template <class Request>
using Cases = std::vector<muster::testing::BadInput<Request>>;

using CapacityBadInputTest = CapacityServiceTest;

TEST_F(CapacityBadInputTest, Zones) {
  ExpectRefused<v1::UpdateZoneRequest>(
      &Stub::UpdateZone, Zone(),
      {{"zone.name", [](auto& r) { r.clear_zone(); }},
       {"zone.name", [](auto& r) { r.mutable_zone()->set_name("US-EAST-04A"); }},
       {"zone.name", [](auto& r) { r.mutable_zone()->set_name("zones/us-east-04a"); }},
       {"zone.name", [](auto& r) { r.mutable_zone()->set_name("zones/" + kLong); }},
       {"zone.access", [](auto& r) { r.mutable_zone()->clear_access(); }},
       {"zone.access",
        [](auto& r) { r.mutable_zone()->set_access(static_cast<v1::Zone::Access>(77)); }},
       {"zone.instance_types[1]", [](auto& r) { r.mutable_zone()->add_instance_types(""); }},
       {"zone.instance_types[1]", [](auto& r) { r.mutable_zone()->add_instance_types(kLong); }},
       {"zone.instance_types", [](auto& r) {
          for (int i = 0; i < 1'000; ++i) r.mutable_zone()->add_instance_types("t");
        }}});
}

TEST_F(CapacityBadInputTest, InstanceTypes) {
  const auto of = [](std::function<void(v1::InstanceType&)> spoil) {
    return [spoil](v1::UpdateInstanceTypeRequest& r) { spoil(*r.mutable_instance_type()); };
  };
  ExpectRefused<v1::UpdateInstanceTypeRequest>(
      &Stub::UpdateInstanceType, Type(),
      {{"instance_type.name", [](auto& r) { r.clear_instance_type(); }},
       {"instance_type.name", of([](auto& t) { t.set_name("instanceTypes/a b"); })},
       {"instance_type.name", of([](auto& t) { t.set_name("instanceTypes/" + kLong); })},
       {"instance_type.gpus", of([](auto& t) { t.set_gpus(-1); })},
       {"instance_type.gpus", of([](auto& t) { t.set_gpus(kHuge32); })},
       {"instance_type.gpu_model", of([](auto& t) { t.clear_gpu_model(); })},
       {"instance_type.gpu_model", of([](auto& t) { t.set_gpu_model(kLong); })},
       {"instance_type.vcpus", of([](auto& t) { t.set_vcpus(0); })},
       {"instance_type.vcpus", of([](auto& t) { t.set_vcpus(kHuge32); })},
       {"instance_type.memory_kib", of([](auto& t) { t.set_memory_kib(-1); })},
       {"instance_type.memory_kib", of([](auto& t) { t.set_memory_kib(kHuge); })},
       {"instance_type.ephemeral_storage_kib",
        of([](auto& t) { t.set_ephemeral_storage_kib(-1); })},
       {"instance_type.ephemeral_storage_kib",
        of([](auto& t) { t.set_ephemeral_storage_kib(kHuge); })},
       {"instance_type.architecture", of([](auto& t) { t.clear_architecture(); })},
       {"instance_type.architecture", of([](auto& t) { t.set_architecture("sparc"); })},
       {"instance_type.max_pods", of([](auto& t) { t.set_max_pods(0); })},
       {"instance_type.max_pods", of([](auto& t) { t.set_max_pods(kHuge32); })},
       {"instance_type.nodes_per_rack", of([](auto& t) { t.set_nodes_per_rack(-1); })},
       {"instance_type.nodes_per_rack", of([](auto& t) { t.set_nodes_per_rack(kHuge32); })}});
}

TEST_F(CapacityBadInputTest, Machines) {
  AddCatalogue();
  const auto of = [](std::function<void(v1::Machine&)> spoil) {
    return [spoil](v1::BatchRegisterMachinesRequest& r) { spoil(*r.mutable_machines(1)); };
  };
  ExpectRefused<v1::BatchRegisterMachinesRequest>(
      &Stub::BatchRegisterMachines, CapacityServiceTest::Machines({"m1", "m2"}),
      {{"machines", [](auto& r) { r.clear_machines(); }},
       {"machines",
        [](auto& r) {
          for (int i = 0; i < 999; ++i) *r.add_machines() = r.machines(0);
        }},
       {"machines[1].name", [](auto& r) { r.mutable_machines(1)->set_name("machines/m1"); }},
       {"machines[1].name", of([](auto& m) { m.clear_name(); })},
       {"machines[1].name", of([](auto& m) { m.set_name("machines/M1"); })},
       {"machines[1].name", of([](auto& m) { m.set_name("machines/" + kLong); })},
       {"machines[1].zone", of([](auto& m) { m.clear_zone(); })},
       {"machines[1].zone", of([](auto& m) { m.set_zone(kLong); })},
       {"machines[1].instance_type", of([](auto& m) { m.clear_instance_type(); })},
       {"machines[1].instance_type", of([](auto& m) { m.set_instance_type(kLong); })},
       {"machines[1].fabric", of([](auto& m) { m.set_fabric(kLong); })},
       {"machines[1].rack", of([](auto& m) { m.set_rack("a/b"); })},
       {"machines[1].slot", of([](auto& m) { m.set_slot(-1); })},
       {"machines[1].slot", of([](auto& m) { m.set_slot(kHuge32); })},
       {"machines[1].labels[]", of([](auto& m) { (*m.mutable_labels())[""] = "x"; })},
       {"machines[1].labels[a]", of([](auto& m) { (*m.mutable_labels())["a"] = kLong; })}});

  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, CapacityServiceTest::Machines({"m1"})), IsOk());
  v1::SetMachineStateRequest set;
  set.set_name("machines/m1");
  set.set_state(v1::Machine::STATE_IN_REPAIR);
  ExpectRefused<v1::SetMachineStateRequest>(
      &Stub::SetMachineState, set,
      {{"name", [](auto& r) { r.clear_name(); }},
       {"name", [](auto& r) { r.set_name("machines/" + kLong); }},
       {"state", [](auto& r) { r.clear_state(); }},
       {"state", [](auto& r) { r.set_state(v1::Machine::STATE_HELD); }},
       {"state", [](auto& r) { r.set_state(v1::Machine::STATE_RECLAIMING); }},
       {"state", [](auto& r) { r.set_state(static_cast<v1::Machine::State>(77)); }}});
}

using SpoilClaim = std::function<void(v1::ClaimRequest&)>;

void Return(v1::ClaimRequest& claim, const std::string& machine,
            int reason = v1::MachineReturn::REASON_RELEASED) {
  v1::MachineReturn* given = claim.add_returns();
  given->set_machine(machine);
  given->set_reason(static_cast<v1::MachineReturn::Reason>(reason));
}

// Adds a term of one expression.
v1::AffinityExpression& Express(v1::ClaimRequest& claim, const std::string& key,
                                int op = v1::AffinityExpression::OPERATOR_EXISTS) {
  v1::AffinityExpression& expression = *claim.mutable_affinity()->add_terms()->add_expressions();
  expression.set_key(key);
  expression.set_operator_(static_cast<v1::AffinityExpression::Operator>(op));
  return expression;
}

// Field below the claim, and how to spoil it.
std::vector<std::pair<std::string, SpoilClaim>> BadClaims() {
  return {{"pool_uid", [](auto& c) { c.clear_pool_uid(); }},
          {"pool_uid", [](auto& c) { c.set_pool_uid(kLong); }},
          {"pool_uid", [](auto& c) { c.set_pool_uid("Upper"); }},
          {"generation", [](auto& c) { c.set_generation(-1); }},
          {"generation", [](auto& c) { c.set_generation(std::numeric_limits<int64_t>::min()); }},
          {"generation", [](auto& c) { c.set_generation(kHuge); }},
          {"organization", [](auto& c) { c.clear_organization(); }},
          {"organization", [](auto& c) { c.set_organization("organizations/acme"); }},
          {"zone", [](auto& c) { c.clear_zone(); }},
          {"zone", [](auto& c) { c.set_zone(kLong); }},
          {"instance_type", [](auto& c) { c.clear_instance_type(); }},
          {"instance_type", [](auto& c) { c.set_instance_type(kLong); }},
          {"compute_class",
           [](auto& c) { c.set_compute_class(static_cast<type::v1::ComputeClass>(77)); }},
          {"nodes", [](auto& c) { c.set_nodes(-1); }},
          {"nodes", [](auto& c) { c.set_nodes(1'000'001); }},
          {"nodes", [](auto& c) { c.set_nodes(kHuge); }},
          {"nodes", [](auto& c) { c.set_release(true); }},
          {"pool", [](auto& c) { c.set_pool(kLong); }},
          {"pool", [](auto& c) { c.set_pool(std::string("a\0b", 3)); }},
          {"affinity.terms[0].expressions", [](auto& c) { c.mutable_affinity()->add_terms(); }},
          {"affinity.terms",
           [](auto& c) {
             for (int i = 0; i <= 16; ++i) Express(c, "disk");
           }},
          {"affinity.terms[0].expressions[0].key", [](auto& c) { Express(c, ""); }},
          {"affinity.terms[0].expressions[0].key", [](auto& c) { Express(c, kLong); }},
          {"affinity.terms[0].expressions[0].operator", [](auto& c) { Express(c, "disk", 0); }},
          {"affinity.terms[0].expressions[0].operator", [](auto& c) { Express(c, "disk", 77); }},
          {"affinity.terms[0].expressions[0].values",
           [](auto& c) { Express(c, "disk", v1::AffinityExpression::OPERATOR_NOT_IN); }},
          {"affinity.terms[0].expressions[0].values",
           [](auto& c) { Express(c, "disk").add_values("nvme"); }},
          {"affinity.terms[0].expressions[0].values[1]",
           [](auto& c) {
             auto& in = Express(c, "disk", v1::AffinityExpression::OPERATOR_IN);
             in.add_values("nvme");
             in.add_values(kLong);
           }},
          {"returns[0].machine", [](auto& c) { Return(c, ""); }},
          {"returns[0].machine", [](auto& c) { Return(c, kLong); }},
          {"returns[1].machine",
           [](auto& c) {
             Return(c, "m");
             Return(c, "m");
           }},
          {"returns[0].reason", [](auto& c) { Return(c, "m", 0); }},
          {"returns[0].reason", [](auto& c) { Return(c, "m", 77); }},
          {"returns[0].grant_time",
           [](auto& c) {
             Return(c, "m");
             c.mutable_returns(0)->mutable_grant_time()->set_nanos(-1);
           }},
          {"returns", [](auto& c) {
             for (int i = 0; i <= 1'000; ++i) Return(c, absl::StrCat("m", i));
           }}};
}

TEST_F(CapacityBadInputTest, Claims) {
  AddCatalogue();
  Cases<v1::SyncClaimRequest> single = {
      {"claim.pool_uid", [](auto& r) { r.clear_claim(); }},
      {"claim.generation", [](auto& r) { r.mutable_claim()->set_generation(0); }}};
  Cases<v1::BatchSyncClaimsRequest> batch = {
      {"claims[1].generation", [](auto& r) { r.mutable_claims(1)->set_generation(0); }}};
  Cases<v1::CheckClaimsRequest> check;
  const auto spoil_lists = [](auto& cases) {
    for (const auto& [field, spoil] : BadClaims()) {
      cases.push_back(
          {"claims[1]." + field, [spoil = spoil](auto& r) { spoil(*r.mutable_claims(1)); }});
    }
    cases.push_back({"claims", [](auto& r) { r.clear_claims(); }});
    cases.push_back(
        {"claims[1].pool_uid", [](auto& r) { r.mutable_claims(1)->set_pool_uid("a"); }});
    cases.push_back({"claims", [](auto& r) {
                       for (int i = 0; i < 999; ++i)
                         r.add_claims()->set_pool_uid(absl::StrCat("p", i));
                     }});
  };
  spoil_lists(batch);
  spoil_lists(check);
  for (const auto& [field, spoil] : BadClaims())
    single.push_back({"claim." + field, [spoil = spoil](auto& r) { spoil(*r.mutable_claim()); }});
  ExpectRefused<v1::SyncClaimRequest>(&Stub::SyncClaim, Claim("p", 3), single);
  v1::BatchSyncClaimsRequest good;
  *good.add_claims() = Claim("a", 1).claim();
  *good.add_claims() = Claim("b", 1).claim();
  ExpectRefused<v1::BatchSyncClaimsRequest>(&Stub::BatchSyncClaims, good, batch);
  v1::CheckClaimsRequest question;
  *question.mutable_claims() = good.claims();
  ExpectRefused<v1::CheckClaimsRequest>(&Stub::CheckClaims, question, check);
}

// As many faults as fit into a request cost no more than a few.
TEST_F(CapacityBadInputTest, MillionsOfFaults) {
  v1::SyncClaimRequest claim = Claim("p", 3);
  for (int i = 0; i < 500'000; ++i) claim.mutable_claim()->mutable_affinity()->add_terms();
  absl::Status refusal = Call(&Stub::SyncClaim, claim).status();
  EXPECT_THAT(refusal, HasFieldViolation("claim.affinity.terms"));
  EXPECT_LE(muster::error::DetailOf(refusal)->fields.size(), 17u);

  v1::BatchSyncClaimsRequest batch;
  for (int i = 0; i < 1'000; ++i) batch.add_claims();
  refusal = Call(&Stub::BatchSyncClaims, batch).status();
  EXPECT_THAT(refusal, HasFieldViolation("claims[0].pool_uid"));
  EXPECT_LE(muster::error::DetailOf(refusal)->fields.size(), muster::error::Faults::kMaxNamed + 1);
  EXPECT_EQ(muster::error::DetailOf(refusal)->fields.back().description, "and more.");
}

TEST_F(CapacityBadInputTest, Reads) {
  const auto name = [](auto method, auto request) {
    using Request = decltype(request);
    return std::pair(method, Cases<Request>{{"name", [](auto& r) { r.clear_name(); }},
                                            {"name", [](auto& r) { r.set_name("castles/x"); }},
                                            {"name", [](auto& r) { r.set_name(kLong); }}});
  };
  const auto get = [&](auto method, auto request) {
    const auto [m, cases] = name(method, request);
    ExpectRefused<decltype(request)>(m, request, cases);
  };
  using Ctx = grpc::ClientContext;
  get(static_cast<grpc::Status (Stub::*)(Ctx*, const v1::GetZoneRequest&, v1::Zone*)>(
          &Stub::GetZone),
      v1::GetZoneRequest());
  get(static_cast<grpc::Status (Stub::*)(Ctx*, const v1::GetInstanceTypeRequest&,
                                         v1::InstanceType*)>(&Stub::GetInstanceType),
      v1::GetInstanceTypeRequest());
  get(static_cast<grpc::Status (Stub::*)(Ctx*, const v1::GetMachineRequest&, v1::Machine*)>(
          &Stub::GetMachine),
      v1::GetMachineRequest());
  get(static_cast<grpc::Status (Stub::*)(Ctx*, const v1::GetClaimRequest&, v1::Claim*)>(
          &Stub::GetClaim),
      v1::GetClaimRequest());
  get(static_cast<grpc::Status (Stub::*)(Ctx*, const v1::ExplainClaimRequest&,
                                         v1::ExplainClaimResponse*)>(&Stub::ExplainClaim),
      v1::ExplainClaimRequest());

  ExpectRefused<v1::ListZonesRequest>(
      &Stub::ListZones, {},
      {{"page_size", [](auto& r) { r.set_page_size(-1); }},
       {"page_token", [](auto& r) { r.set_page_token("garbage"); }}});
  ExpectRefused<v1::ListInstanceTypesRequest>(
      &Stub::ListInstanceTypes, {},
      {{"page_size", [](auto& r) { r.set_page_size(-1); }},
       {"page_token", [](auto& r) { r.set_page_token("garbage"); }}});
  ExpectRefused<v1::ListClaimsRequest>(
      &Stub::ListClaims, {},
      {{"page_size", [](auto& r) { r.set_page_size(-1); }},
       {"page_token", [](auto& r) { r.set_page_token("garbage"); }}});
  ExpectRefused<v1::ListMachinesRequest>(
      &Stub::ListMachines, {},
      {{"page_size", [](auto& r) { r.set_page_size(-1); }},
       {"page_token", [](auto& r) { r.set_page_token("garbage"); }},
       {"zone", [](auto& r) { r.set_zone("nowhere"); }},
       {"instance_type", [](auto& r) { r.set_instance_type(kLong); }},
       {"state", [](auto& r) { r.set_state(static_cast<v1::Machine::State>(77)); }},
       {"claim", [](auto& r) { r.set_claim("Upper"); }},
       {"claim", [](auto& r) { r.set_claim(kLong); }}});
}

TEST_F(CapacityBadInputTest, Placements) {
  AddCatalogue();
  v1::UpdateInstanceTypeRequest racks = Type();
  racks.mutable_instance_type()->set_name("instanceTypes/gb200-4x");
  racks.mutable_instance_type()->set_nodes_per_rack(18);
  ASSERT_THAT(Call(&Stub::UpdateInstanceType, racks), IsOk());
  const auto of = [](std::function<void(v1::PlacementRequest&)> spoil) {
    return [spoil](v1::FindPlacementsRequest& r) { spoil(*r.mutable_requests(1)); };
  };
  v1::FindPlacementsRequest good;
  for (int i = 0; i < 2; ++i) {
    good.add_requests()->set_instance_type(kType);
    good.mutable_requests(i)->set_nodes(1);
  }
  good.add_zones(kZone);
  ExpectRefused<v1::FindPlacementsRequest>(
      &Stub::FindPlacements, good,
      {{"requests", [](auto& r) { r.clear_requests(); }},
       {"requests",
        [](auto& r) {
          for (int i = 0; i < 19; ++i) *r.add_requests() = r.requests(0);
        }},
       {"requests[1].instance_type", of([](auto& p) { p.clear_instance_type(); })},
       {"requests[1].instance_type", of([](auto& p) { p.set_instance_type(kLong); })},
       {"requests[1].instance_type", of([](auto& p) { p.set_instance_type("castle"); })},
       {"requests[1].nodes", of([](auto& p) { p.clear_nodes(); })},
       {"requests[1].nodes", of([](auto& p) { p.set_nodes(-1); })},
       {"requests[1].nodes", of([](auto& p) { p.set_nodes(1'000'001); })},
       {"requests[1].nodes", of([](auto& p) { p.set_nodes(kHuge); })},
       {"requests[1].nodes", of([](auto& p) {
          p.set_instance_type("gb200-4x");
          p.set_nodes(17);
        })},
       {"requests[1].compute_class",
        of([](auto& p) { p.set_compute_class(static_cast<type::v1::ComputeClass>(77)); })},
       {"zones[1]", [](auto& r) { r.add_zones(""); }},
       {"zones[1]", [](auto& r) { r.add_zones(kLong); }},
       {"zones[1]", [](auto& r) { r.add_zones("US-WEST-01A"); }},
       {"zones[1]", [](auto& r) { r.add_zones(kZone); }},
       {"zones", [](auto& r) {
          for (int i = 0; i < 100; ++i) r.add_zones(absl::StrCat("Z", i, "A"));
        }}});
}

TEST_F(CapacityBadInputTest, Watches) {
  const auto refused = [&](const v1::WatchCapacityRequest& request) {
    grpc::ClientContext context;
    const auto stream = stub_->WatchCapacity(&context, request);
    v1::WatchCapacityResponse message;
    EXPECT_FALSE(stream->Read(&message));
    return rpc::FromGrpcStatus(stream->Finish());
  };
  {
    const auto refused_claims = [&](const v1::WatchClaimsRequest& request) {
      grpc::ClientContext context;
      const auto stream = stub_->WatchClaims(&context, request);
      v1::WatchClaimsResponse message;
      EXPECT_FALSE(stream->Read(&message));
      return rpc::FromGrpcStatus(stream->Finish());
    };
    v1::WatchClaimsRequest claims;
    claims.mutable_start()->set_after_revision(-1);
    EXPECT_THAT(refused_claims(claims), HasFieldViolation("start.after_revision"));
    claims.Clear();
    claims.set_zone("us-east");
    EXPECT_THAT(refused_claims(claims), HasFieldViolation("zone"));
  }
  v1::WatchCapacityRequest request;
  request.mutable_start()->set_after_revision(-1);
  EXPECT_THAT(refused(request), HasFieldViolation("start.after_revision"));
  request.Clear();
  request.set_zone("us-east");
  EXPECT_THAT(refused(request), HasFieldViolation("zone"));
  request.Clear();
  request.add_kinds(v1::WatchCapacityRequest::KIND_CLAIM);
  request.add_kinds(v1::WatchCapacityRequest::KIND_UNSPECIFIED);
  EXPECT_THAT(refused(request), HasFieldViolation("kinds[1]"));
  request.set_kinds(1, static_cast<v1::WatchCapacityRequest::Kind>(77));
  EXPECT_THAT(refused(request), HasFieldViolation("kinds[1]"));
}

}  // namespace
}  // namespace muster::capacity
