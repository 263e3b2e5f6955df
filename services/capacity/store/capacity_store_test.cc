#include "services/capacity/store/capacity_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/capacity/core/audit.h"
#include "services/capacity/core/testing/world.h"
#include "storage/postgres/testing/plan_test_base.h"
#include "storage/postgres/testing/schema_test_base.h"
#include "storage/postgres/testing/store_test_base.h"
#include "tests/testing/cause_matchers.h"
#include "tests/testing/kept_requests.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::storage {
namespace {

using capacity::ClaimRow;
using capacity::MachineRow;
using capacity::MachineState;
using capacity::ReturnReason;
using capacity::State;
using capacity::World;
using ::muster::testing::IsOk;
using ::muster::testing::IsRefusedBy;
using ::muster::testing::StatusIs;
using ::testing::IsEmpty;

void Hold(MachineRow& machine) {
  machine.state = MachineState::kHeld;
  machine.claim = "p";
  machine.request_time = absl::UnixEpoch();
  machine.compute_class = capacity::ComputeClass::kSpot;
}

ClaimRow Picky(const std::string& uid) {
  ClaimRow claim{.pool_uid = uid, .generation = 1, .zone = "Z", .instance_type = "t"};
  claim.affinity = {{{{{"disk", capacity::AffinityOperator::kIn, {"nvme", ""}},
                       {"a.b/c", capacity::AffinityOperator::kNotIn, {"x"}}}},
                     {{{"seen", capacity::AffinityOperator::kExists, {}}}}}};
  claim.gang = true;
  claim.reclaim_generation = 7;
  claim.organization = "acme";
  claim.leaving_nodes = 2;
  claim.leaving_generation = 1;
  claim.parts = {{absl::UnixEpoch() + absl::Hours(2), 3}};
  claim.lost = {{absl::UnixEpoch() + absl::Hours(2), absl::UnixEpoch() + absl::Hours(3)}};
  claim.withheld_parts = {{absl::UnixEpoch() + absl::Hours(1), 2}};
  claim.withheld_places = {{absl::UnixEpoch(), "q", 2}};
  claim.places = {{absl::UnixEpoch(), "q", 2}, {absl::UnixEpoch() + absl::Microseconds(1), uid, 1}};
  return claim;
}

class CapacityStoreTest : public StoreTest<State> {
 protected:
  CapacityStoreTest() : StoreTest("capacity", NewCapacityStore()) {}

  // Stores what the last command of world_ changed, and remembers it.
  void StoreChanges() { ASSERT_THAT(Commit(world_.changes()), IsOk()); }
  template <class Command>
  void Do(const Command& command) {
    (void)world_.Do(command);
    world_.Advance(absl::Microseconds(1'000'001));
    StoreChanges();
  }

  void ExpectSame() {
    for (const State& other : {Loaded(), Replayed()}) {
      EXPECT_EQ(ContentsOf(other), ContentsOf(world_.state()));
      EXPECT_TRUE(other.SameIndexes(world_.state()));
      EXPECT_THAT(Audit(other), IsEmpty());
    }
  }
  void AddCatalogue() {
    capacity::InstanceTypeRow type{World::kRackType, 4,   "GB200", 144, 960'000'000, 30'720'000,
                                   "arm64",          110, true,    4,   true};
    Do(capacity::UpdateInstanceType{type});
    Do(capacity::UpdateInstanceType{{World::kType, 0, "", 1, 1, 0, "amd64", 1, false, 0, false}});
    Do(capacity::UpdateZone{
        {World::kZone, capacity::ZoneAccess::kGeneral, {World::kType, World::kRackType}}});
    Do(capacity::UpdateZone{{"US-WEST-01A", capacity::ZoneAccess::kDedicated, {}}});
  }

  World world_;
};

TEST_F(CapacityStoreTest, TablesAndJournalGiveBackTheState) {
  AddCatalogue();
  ExpectSame();
  MachineRow labelled = World::Machine("m1", "f1", "r1", 3);
  labelled.labels = {{"a.example.com/b", "c"}, {"empty", ""}, {"z", "y.z"}};
  MachineRow one_empty_label = World::Machine("m2");
  one_empty_label.labels = {{"empty", ""}};
  Do(capacity::RegisterMachines{{labelled, one_empty_label, World::Machine("m3")}});
  capacity::SyncClaim spot = world_.Want("p", 5);
  spot.compute_class = capacity::ComputeClass::kSpot;
  spot.priority = -7;
  spot.pool = "pool \"a\", with {odd} \\ letters, é";
  Do(spot);
  Do(world_.Want("p", 9));
  ExpectSame();
  Do(world_.Want("p", 8, {{"m1", ReturnReason::kBroken}, {"m3", ReturnReason::kReleased}}));
  Do(world_.Want("other", 1));
  Do(capacity::SetMachineState{"m1", MachineState::kRetired});
  ExpectSame();
  capacity::SyncClaim release = world_.Want("p", 0);
  for (const std::string& id : world_.MachinesOf("p"))
    release.returns.push_back({id, ReturnReason::kReleased});
  release.release = true;
  Do(release);
  ExpectSame();
  EXPECT_EQ(world_.state().FindClaim("p"), nullptr);
  EXPECT_EQ(world_.state().table<MachineRow>().size(), 3u);
  const ReleasedPool released = *FindReleased(world_.state(), "p");
  EXPECT_EQ(released.generation, release.generation);
  EXPECT_EQ(*FindReleased(Loaded(), "p"), released);
  ASSERT_THAT(Write({{State::Change{"p", std::shared_ptr<const ReleasedPool>()}, 100}}), IsOk());
  EXPECT_EQ(FindReleased(Loaded(), "p"), nullptr);
}

TEST_F(CapacityStoreTest, KeptAnswersComeBack) {
  AddCatalogue();
  for (const KeptRequest& kept : testing::OddKeptRequests("zones/US-WEST-01A")) {
    world_.Change([&](auto& staged) { staged.Put(kept); });
    StoreChanges();
  }
  ExpectSame();
  EXPECT_EQ(Loaded().kept().ids().size(), 4u);
  world_.Change([](auto& staged) { staged.template Delete<KeptRequest>("gone"); });
  StoreChanges();
  ExpectSame();
  EXPECT_EQ(Loaded().kept().ids().size(), 3u);
  EXPECT_TRUE(Loaded().kept() == world_.state().kept());
}

TEST_F(CapacityStoreTest, ArrivalsComeBack) {
  AddCatalogue();
  capacity::ArrivalsRow arrivals{World::kZone, World::kType, capacity::ComputeClass::kSpot};
  arrivals.bursts = {{absl::UnixEpoch(), 0},
                     {absl::UnixEpoch() + absl::Microseconds(1), 1},
                     {absl::UnixEpoch() + absl::Hours(1'000'000), 1'000'000'000'000}};
  for (const auto one : {capacity::ComputeClass::kDefault, capacity::ComputeClass::kSpot}) {
    arrivals.compute_class = one;
    world_.Change([&](auto& staged) { staged.Put(arrivals); });
    StoreChanges();
  }
  ExpectSame();
  EXPECT_EQ(Loaded().table<capacity::ArrivalsRow>().size(), 2u);
  world_.Change([&](auto& staged) {
    staged.template Delete<capacity::ArrivalsRow>(
        capacity::ArrivalsName(World::kZone, World::kType, "default"));
  });
  StoreChanges();
  ExpectSame();
  EXPECT_EQ(*Loaded().FindArrivals({World::kZone, World::kType}, capacity::ComputeClass::kSpot),
            arrivals);
}

TEST_F(CapacityStoreTest, EveryMachineStateComesBack) {
  AddCatalogue();
  Do(world_.Want("p", 1));
  std::vector<Revised<State::Change>> changes;
  for (const MachineState state :
       {MachineState::kFree, MachineState::kHeld, MachineState::kReclaiming,
        MachineState::kInRepair, MachineState::kRetired}) {
    MachineRow machine = World::Machine(absl::StrCat("m", static_cast<int>(state)));
    machine.state = state;
    machine.state_time = world_.now();
    if (state == MachineState::kHeld || state == MachineState::kReclaiming) {
      machine.claim = "p";
      machine.request_time = world_.now() - absl::Microseconds(1);
      machine.compute_class = capacity::ComputeClass::kSpot;
    }
    if (state == MachineState::kReclaiming) {
      machine.reclaim_time = world_.now() + absl::Microseconds(1);
      machine.earmark = "q";
      machine.place_time = world_.now() - absl::Microseconds(7);
    }
    changes.push_back(
        {State::Change{machine.Key(), std::make_shared<const MachineRow>(machine)}, 100});
  }
  ASSERT_THAT(Write(changes), IsOk());
  const State loaded = Loaded();
  for (const auto& change : changes) {
    const auto& written = *std::get<std::shared_ptr<const MachineRow>>(change.change.row);
    ASSERT_NE(loaded.FindMachine(written.id), nullptr);
    EXPECT_EQ(*loaded.FindMachine(written.id), written);
  }
}

TEST_F(CapacityStoreTest, WhatAClaimAsksForComesBackAndCanBeRead) {
  const ClaimRow picky = Picky("p");
  ClaimRow easy{.pool_uid = "q", .generation = 1, .zone = "Z", .instance_type = "t"};
  ASSERT_THAT(Write({{State::Change{picky.Key(), std::make_shared<const ClaimRow>(picky)}, 1},
                     {State::Change{easy.Key(), std::make_shared<const ClaimRow>(easy)}, 2}}),
              IsOk());
  EXPECT_EQ(*Loaded().FindClaim("p"), picky);
  EXPECT_EQ(*Loaded().FindClaim("q"), easy);
  EXPECT_EQ(database_.QueryValue("SELECT affinity #>> '{terms,0,expressions,1,operator}' FROM "
                                 "capacity.claim WHERE affinity IS NOT NULL"),
            "OPERATOR_NOT_IN");
  easy = picky;
  easy.affinity = {};
  easy.gang = false;
  ASSERT_THAT(Write({{State::Change{easy.Key(), std::make_shared<const ClaimRow>(easy)}, 3}}),
              IsOk());
  EXPECT_EQ(*Loaded().FindClaim("p"), easy);
}

TEST_F(CapacityStoreTest, TheTablesAreASecondFence) {
  AddCatalogue();
  struct Case {
    std::string constraint = {};
    std::function<void(MachineRow&)> spoil = {};
  };
  const Case machines[] = {
      {"machine_held_by_a_claim", [](MachineRow& m) { m.state = MachineState::kHeld; }},
      {"machine_held_by_a_claim",
       [](MachineRow& m) {
         m.claim = "p";
         m.request_time = absl::UnixEpoch();
       }},
      {"machine_request_time_of_a_claim",
       [](MachineRow& m) {
         m.state = MachineState::kHeld;
         m.claim = "p";
       }},
      {"machine_reclaimed_since",
       [](MachineRow& m) {
         Hold(m);
         m.state = MachineState::kReclaiming;
       }},
      {"machine_reclaimed_since", [](MachineRow& m) { m.reclaim_time = absl::UnixEpoch(); }},
      {"machine_reclaimed_from_spot",
       [](MachineRow& m) {
         Hold(m);
         m.compute_class = capacity::ComputeClass::kDefault;
         m.state = MachineState::kReclaiming;
         m.reclaim_time = absl::UnixEpoch();
       }},
      {"machine_earmark_while_reclaimed",
       [](MachineRow& m) {
         Hold(m);
         m.earmark = "q";
       }},
      {"machine_zone_fkey", [](MachineRow& m) { m.zone = "NOWHERE"; }},
      {"machine_instance_type_fkey", [](MachineRow& m) { m.instance_type = "nothing"; }},
      {"machine_slot_not_negative", [](MachineRow& m) { m.slot = -1; }},
  };
  for (const Case& c : machines) {
    MachineRow machine = World::Machine("m");
    c.spoil(machine);
    EXPECT_THAT(
        Write({{State::Change{machine.Key(), std::make_shared<const MachineRow>(machine)}, 9}}),
        IsRefusedBy(c.constraint));
  }
  ClaimRow claim{.pool_uid = "p", .generation = 1, .nodes = 1'000'001};
  EXPECT_THAT(Write({{State::Change{claim.Key(), std::make_shared<const ClaimRow>(claim)}, 9}}),
              IsRefusedBy("claim_nodes_in_range"));
  claim = {.pool_uid = "p", .generation = 0};
  EXPECT_THAT(Write({{State::Change{claim.Key(), std::make_shared<const ClaimRow>(claim)}, 9}}),
              IsRefusedBy("claim_generation_positive"));
  claim = {.pool_uid = "p", .generation = 1, .reclaim_generation = -1};
  EXPECT_THAT(Write({{State::Change{claim.Key(), std::make_shared<const ClaimRow>(claim)}, 9}}),
              IsRefusedBy("claim_reclaim_generation_not_negative"));
  claim = Picky("p");
  claim.affinity = capacity::Affinity::Terms(17);
  EXPECT_THAT(Write({{State::Change{claim.Key(), std::make_shared<const ClaimRow>(claim)}, 9}}),
              IsRefusedBy("claim_affinity_has_terms"));
  claim = {.pool_uid = "p", .generation = 1, .parts = {{world_.now(), 0}}};
  EXPECT_THAT(Write({{State::Change{claim.Key(), std::make_shared<const ClaimRow>(claim)}, 9}}),
              IsRefusedBy("claim_parts_positive"));
  // One machine, one row, and so one holder.
  const MachineRow machine = World::Machine("m");
  const Revised<State::Change> change{
      State::Change{machine.Key(), std::make_shared<const MachineRow>(machine)}, 9};
  EXPECT_THAT(Write({change, change}), StatusIs(absl::StatusCode::kInternal));
  ASSERT_THAT(Write({change}), IsOk());
  EXPECT_THROW(database_.Execute("INSERT INTO capacity.machine SELECT * FROM capacity.machine"),
               testing::SqlError);
  EXPECT_EQ(database_.QueryValue("SELECT count(*) FROM capacity.machine"), "1");
  EXPECT_EQ(database_.QueryValue("SELECT count(*) FROM capacity.claim"), "0");
}

TEST_F(CapacityStoreTest, UnknownJournalEntriesAreInternalErrors) {
  const std::string garbage = "\xff\xff";
  for (const char* kind :
       {"zone", "instance_type", "machine", "claim", capacity::ArrivalsRow::kKind,
        ReleasedPool::kKind, KeptRequest::kKind, "castle"}) {
    EXPECT_THAT(store_->Decode(kind, "x", &garbage), StatusIs(absl::StatusCode::kInternal));
  }
  EXPECT_THAT(store_->Decode("castle", "x", nullptr), StatusIs(absl::StatusCode::kInternal));
}

TEST(CapacitySchema, IsWhatTheTablesAreDescribedAs) {
  ExpectDescribesSchema(*NewCapacityStore(), "capacity");
}

TEST(CapacitySchema, RowsAreWrittenByIndex) {
  ExpectWritesByIndex(*NewCapacityStore(), "capacity");
}

// Arrivals are few: at most two of a type in a zone.
TEST(CapacitySchema, WhoIsReferredToGoesByIndex) {
  EXPECT_THAT(ReferencesWithoutIndex("capacity"),
              ::testing::ElementsAre("arrivals_instance_type_fkey"));
}

}  // namespace
}  // namespace muster::storage
