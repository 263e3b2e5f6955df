#include "services/capacity/testing/service_test_base.h"
#include "tests/testing/watch_messages.h"

// What a claim is told beside its machines, why it has no more, and where there is room.
namespace muster::capacity {
namespace {

using ::muster::testing::HasFieldViolation;
using ::muster::testing::IsOk;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using CapacityQuestionsTest = CapacityServiceTest;

v1::BatchRegisterMachinesRequest WithDisk(v1::BatchRegisterMachinesRequest request) {
  for (v1::Machine& machine : *request.mutable_machines())
    (*machine.mutable_labels())["disk"] = "nvme";
  return request;
}

v1::SyncClaimRequest OnDisk(v1::SyncClaimRequest request) {
  v1::AffinityExpression* expression =
      request.mutable_claim()->mutable_affinity()->add_terms()->add_expressions();
  expression->set_key("disk");
  expression->set_operator_(v1::AffinityExpression::OPERATOR_IN);
  expression->add_values("nvme");
  return request;
}

std::vector<v1::ClaimObstacle::Code> CodesOf(const v1::ExplainClaimResponse& response) {
  std::vector<v1::ClaimObstacle::Code> codes;
  for (const v1::ClaimObstacle& obstacle : response.obstacles()) codes.push_back(obstacle.code());
  return codes;
}

TEST_F(CapacityQuestionsTest, AnAffinityIsKeptAndExplained) {
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1", "m2"})), IsOk());
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, WithDisk(Machines({"m3"}))), IsOk());
  const auto claim = Call(&Stub::SyncClaim, OnDisk(Claim("p", 2)));
  ASSERT_THAT(claim, IsOk());
  EXPECT_THAT(claim->machines(), ElementsAre("m3"));
  EXPECT_THAT(claim->granted(), ElementsAre("m3"));
  EXPECT_EQ(claim->in_service(), 3);
  EXPECT_EQ(claim->matching(), 1);
  EXPECT_EQ(claim->reason(), v1::Claim::REASON_PARTIAL_NODE_AFFINITY);
  EXPECT_EQ(claim->queue().place(), 1);
  EXPECT_EQ(claim->queue().nodes_ahead(), 0);
  EXPECT_FALSE(claim->queue().has_wait());

  v1::ExplainClaimRequest request;
  request.set_name("claims/p");
  const auto explained = Call(&Stub::ExplainClaim, request);
  ASSERT_THAT(explained, IsOk());
  EXPECT_EQ(explained->revision(), service_->lane().revision());
  EXPECT_EQ(explained->claim().affinity().SerializeAsString(),
            claim->affinity().SerializeAsString());
  EXPECT_THAT(explained->claim().granted(), IsEmpty());
  EXPECT_THAT(CodesOf(*explained), ElementsAre(v1::ClaimObstacle::CODE_AFFINITY_MATCHES_FEWER));
  EXPECT_EQ(explained->obstacles(0).nodes(), 1);
  EXPECT_NE(explained->obstacles(0).message(), "");

  // The repetition brings nothing; the same claim without the affinity gets the rest.
  EXPECT_THAT(Call(&Stub::SyncClaim, OnDisk(Claim("p", 2)))->granted(), IsEmpty());
  const auto easier = Call(&Stub::SyncClaim, Claim("p", 2, 2));
  ASSERT_THAT(easier, IsOk());
  EXPECT_THAT(easier->granted(), ElementsAre("m1"));
  EXPECT_FALSE(easier->has_queue());
  EXPECT_THAT(Call(&Stub::ExplainClaim, request)->obstacles(), IsEmpty());
  request.set_name("claims/nobody");
  EXPECT_THAT(Call(&Stub::ExplainClaim, request), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(CapacityQuestionsTest, WhoWaitsIsToldItsPlaceAndAnEstimate) {
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1", "m2", "m3", "m4", "m5"})), IsOk());
  ASSERT_THAT(Call(&Stub::SyncClaim, Claim("first", 5)), IsOk());
  ASSERT_THAT(Call(&Stub::SyncClaim, Claim("second", 8)), IsOk());
  for (int64_t left = 4; left >= 0; --left) {
    clock_.Advance(absl::Hours(1));
    v1::SyncClaimRequest less = Claim("first", left, 6 - left);
    less.mutable_claim()->add_returns()->set_machine(absl::StrCat("m", left + 1));
    less.mutable_claim()->mutable_returns(0)->set_reason(v1::MachineReturn::REASON_RELEASED);
    ASSERT_THAT(Call(&Stub::SyncClaim, less), IsOk());
  }
  const auto claim = Call(&Stub::SyncClaim, Claim("third", 2));
  ASSERT_THAT(claim, IsOk());
  EXPECT_EQ(claim->queue().place(), 2);
  EXPECT_EQ(claim->queue().nodes_ahead(), 3);
  ASSERT_TRUE(claim->queue().has_wait());
  EXPECT_GT(claim->queue().wait().latest().seconds(), claim->queue().wait().earliest().seconds());
  v1::GetClaimRequest get;
  get.set_name("claims/third");
  EXPECT_EQ(Call(&Stub::GetClaim, get)->SerializeAsString(), claim->SerializeAsString());
  v1::ExplainClaimRequest explain;
  explain.set_name("claims/third");
  EXPECT_THAT(
      CodesOf(*Call(&Stub::ExplainClaim, explain)),
      ElementsAre(v1::ClaimObstacle::CODE_QUEUED_BEHIND, v1::ClaimObstacle::CODE_HELD_BY_OTHERS));
  const auto batch = [&] {
    v1::BatchSyncClaimsRequest request;
    *request.add_claims() = Claim("third", 2).claim();
    return Call(&Stub::BatchSyncClaims, request);
  }();
  ASSERT_THAT(batch, IsOk());
  EXPECT_EQ(batch->results(0).claim().queue().SerializeAsString(),
            claim->queue().SerializeAsString());
  // A day later, in which none came, it looks longer.
  clock_.Advance(absl::Hours(24));
  EXPECT_GT(Call(&Stub::GetClaim, get)->queue().wait().earliest().seconds(),
            claim->queue().wait().earliest().seconds());
}

TEST_F(CapacityQuestionsTest, TheFinderRanksZonesAndRecommendsOne) {
  AddCatalogue();
  v1::UpdateZoneRequest other = Zone();
  other.mutable_zone()->set_name("zones/US-WEST-01A");
  ASSERT_THAT(Call(&Stub::UpdateZone, other), IsOk());
  v1::BatchRegisterMachinesRequest machines = Machines({"m1", "m2", "m3", "m4"});
  machines.mutable_machines(0)->set_zone("US-WEST-01A");
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, machines), IsOk());
  v1::SyncClaimRequest spot = Claim("spot", 1);
  spot.mutable_claim()->set_compute_class(type::v1::COMPUTE_CLASS_SPOT);
  ASSERT_THAT(Call(&Stub::SyncClaim, spot), IsOk());

  v1::FindPlacementsRequest request;
  request.add_requests()->set_instance_type(kType);
  request.mutable_requests(0)->set_nodes(3);
  const int64_t revision = service_->lane().revision();
  const auto found = Call(&Stub::FindPlacements, request);
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->revision(), revision);
  EXPECT_EQ(found->recommended_zone(), kZone);
  ASSERT_EQ(found->zones_size(), 2);
  EXPECT_EQ(found->zones(0).availability(), v1::AVAILABILITY_POSSIBLY);
  EXPECT_EQ(found->zones(0).placements(0).free(), 2);
  EXPECT_EQ(found->zones(0).placements(0).reclaimable(), 1);
  EXPECT_EQ(found->zones(0).placements(0).in_service(), 3);
  EXPECT_EQ(found->zones(1).zone(), "US-WEST-01A");
  EXPECT_EQ(found->zones(1).availability(), v1::AVAILABILITY_LIMITED);
  request.mutable_requests(0)->set_nodes(9);
  request.add_zones("US-WEST-01A");
  request.mutable_requests(0)->set_compute_class(type::v1::COMPUTE_CLASS_SPOT);
  const auto limited = Call(&Stub::FindPlacements, request);
  ASSERT_THAT(limited, IsOk());
  ASSERT_EQ(limited->zones_size(), 1);
  EXPECT_EQ(limited->recommended_zone(), "US-WEST-01A");
  ASSERT_THAT(Call(&Stub::SyncClaim,
                   [] {
                     auto all = Claim("all", 1);
                     all.mutable_claim()->set_zone("US-WEST-01A");
                     return all;
                   }()),
              IsOk());
  const auto none = Call(&Stub::FindPlacements, request);
  ASSERT_THAT(none, IsOk());
  EXPECT_EQ(none->zones(0).availability(), v1::AVAILABILITY_NOT_AVAILABLE);
  EXPECT_EQ(none->recommended_zone(), "");
}

TEST_F(CapacityQuestionsTest, MachinesAreListedByStateAndHolder) {
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1", "m2", "m3", "m4", "m5"})), IsOk());
  ASSERT_THAT(Call(&Stub::SyncClaim, Claim("p", 3)), IsOk());
  v1::ListMachinesRequest list;
  list.set_claim("p");
  list.set_page_size(2);
  auto page = Call(&Stub::ListMachines, list);
  ASSERT_THAT(page, IsOk());
  ASSERT_EQ(page->machines_size(), 2);
  EXPECT_EQ(page->machines(1).name(), "machines/m2");
  EXPECT_EQ(page->machines(1).compute_class(), type::v1::COMPUTE_CLASS_DEFAULT);
  list.set_page_token(page->next_page_token());
  page = Call(&Stub::ListMachines, list);
  ASSERT_EQ(page->machines_size(), 1);
  EXPECT_EQ(page->machines(0).name(), "machines/m3");
  EXPECT_EQ(page->next_page_token(), "");
  list.set_claim("q");
  EXPECT_THAT(Call(&Stub::ListMachines, list), HasFieldViolation("page_token"));
  list.Clear();
  list.set_state(v1::Machine::STATE_FREE);
  list.set_page_size(2);  // both, and no more to come
  page = Call(&Stub::ListMachines, list);
  ASSERT_EQ(page->machines_size(), 2);
  EXPECT_EQ(page->machines(0).name(), "machines/m4");
  EXPECT_EQ(page->next_page_token(), "");
}

// Keys do not tell where machines and claims are.
TEST_F(CapacityQuestionsTest, AWatchOfAZoneTellsOfNoOther) {
  constexpr char kWest[] = "US-WEST-01A";
  AddCatalogue();
  v1::UpdateZoneRequest zone = Zone();
  zone.mutable_zone()->set_name(absl::StrCat("zones/", kWest));
  ASSERT_THAT(Call(&Stub::UpdateZone, zone), IsOk());
  v1::BatchRegisterMachinesRequest machines = Machines({"e1", "w1"});
  machines.mutable_machines(1)->set_zone(kWest);
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, machines), IsOk());
  v1::SyncClaimRequest claim = Claim("west", 1);
  claim.mutable_claim()->set_zone(kWest);
  ASSERT_THAT(Call(&Stub::SyncClaim, claim), IsOk());

  grpc::ClientContext context;
  v1::WatchCapacityRequest request;
  request.set_zone(kZone);
  const auto stream = stub_->WatchCapacity(&context, request);
  EXPECT_THAT(testing::SnapshotKeys(*stream),
              UnorderedElementsAre(absl::StrCat("zones/", kZone),
                                   absl::StrCat("instanceTypes/", kType), "machines/e1"));
  grpc::ClientContext of_claims;
  v1::WatchClaimsRequest only;
  only.set_zone(kZone);
  const auto claims = stub_->WatchClaims(&of_claims, only);
  EXPECT_THAT(testing::SnapshotKeys(*claims), IsEmpty());
  claim.mutable_claim()->set_generation(2);
  claim.mutable_claim()->set_nodes(3);
  ASSERT_THAT(Call(&Stub::SyncClaim, claim), IsOk());
  ASSERT_THAT(Call(&Stub::SyncClaim, Claim("east", 2)), IsOk());
  EXPECT_EQ(testing::NextChange(*claims).key(), "claims/east");
  context.TryCancel();
  of_claims.TryCancel();
}

TEST_F(CapacityQuestionsTest, AWatchOfClaimsShowsClaimsOnly) {
  AddCatalogue();
  ASSERT_THAT(Call(&Stub::SyncClaim, Claim("p", 1)), IsOk());
  grpc::ClientContext context;
  const auto stream = stub_->WatchClaims(&context, {});
  v1::WatchClaimsResponse message;
  const auto next = [&] {
    do {
      if (!stream->Read(&message)) return type::v1::WATCH_EVENT_TYPE_UNSPECIFIED;
    } while (message.type() == type::v1::WATCH_EVENT_TYPE_PROGRESS);
    return message.type();
  };
  ASSERT_EQ(next(), type::v1::WATCH_EVENT_TYPE_SNAPSHOT);
  EXPECT_EQ(message.key(), "claims/p");
  EXPECT_EQ(message.claim().outstanding(), 1);
  ASSERT_EQ(next(), type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END);
  ASSERT_THAT(Call(&Stub::BatchRegisterMachines, Machines({"m1"})), IsOk());
  ASSERT_EQ(next(), type::v1::WATCH_EVENT_TYPE_CHANGED);
  EXPECT_EQ(message.claim().outstanding(), 0);
  EXPECT_FALSE(message.claim().has_queue());
  v1::SyncClaimRequest release = Claim("p", 0, 2);
  release.mutable_claim()->set_release(true);
  release.mutable_claim()->add_returns()->set_machine("m1");
  release.mutable_claim()->mutable_returns(0)->set_reason(v1::MachineReturn::REASON_RELEASED);
  ASSERT_THAT(Call(&Stub::SyncClaim, release), IsOk());
  ASSERT_EQ(next(), type::v1::WATCH_EVENT_TYPE_DELETED);
  EXPECT_EQ(message.key(), "claims/p");
  EXPECT_FALSE(message.has_claim());
  context.TryCancel();
}

}  // namespace
}  // namespace muster::capacity
