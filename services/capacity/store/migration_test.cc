#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "services/capacity/wire/capacity_wire.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::storage {
namespace {

using ::muster::testing::IsOk;
using ::muster::testing::RunSql;

// A machine as the first version knew it: row and last change.
void InsertMachine(const testing::EmptyDatabase& database, int64_t revision, const std::string& id,
                   const std::string& claim) {
  capacity::MachineRow machine{.id = id, .zone = "Z-A", .instance_type = "t", .claim = claim};
  machine.state = claim.empty() ? capacity::MachineState::kFree : capacity::MachineState::kHeld;
  capacity::v1::Machine change = ToProto(machine);
  change.clear_compute_class();
  RunSql(database.conninfo(),
         absl::StrCat("INSERT INTO capacity.machine VALUES ('", id, "', 'Z-A', 't', '', '', 0, ",
                      "'{}', '{}', '", claim.empty() ? "FREE" : "HELD", "', 'epoch', ",
                      claim.empty() ? "NULL, NULL, " : absl::StrCat("'", claim, "', 'epoch', "),
                      revision, "); INSERT INTO capacity.journal VALUES (", revision,
                      ", 'b', 'machine', 'machines/", id, "', '\\x",
                      absl::BytesToHexString(change.SerializeAsString()), "')"));
}

// Table and journal tell one story, and the right one.
TEST(CapacityMigration, MachinesTakeTheClassOfTheirClaim) {
  const testing::EmptyDatabase database;
  database.Migrate("capacity", 1);
  RunSql(database.conninfo(),
         "INSERT INTO capacity.zone VALUES ('Z-A', 'general', '{t}', 1);"
         "INSERT INTO capacity.instance_type VALUES ('t', 0, '', 1, 1, 0, 'amd64', 1, false, 0, "
         "false, 2)");
  for (const char* name : {"default", "spot"}) {
    RunSql(database.conninfo(),
           absl::StrCat("INSERT INTO capacity.claim VALUES ('", name, "', 1, 'Z-A', 't', '", name,
                        "', 1, 0, '', '{}', '{}', 0, 3)"));
  }
  const std::pair<std::string, std::string> machines[] = {
      {"m1", ""}, {"m2", "default"}, {"m3", "spot"}};
  for (int64_t i = 0; i < 3; ++i)
    InsertMachine(database, 4 + i, machines[i].first, machines[i].second);
  database.Migrate("capacity");

  for (const auto& [id, claim] : machines) {
    const auto row = database.Query(absl::StrCat(
        "SELECT compute_class, change FROM capacity.machine JOIN capacity.journal USING (revision) "
        "WHERE id = '",
        id, "'"));
    ASSERT_EQ(row.size(), 1u);
    EXPECT_EQ(row[0][0].value_or(""), claim);
    capacity::v1::Machine change;
    ASSERT_TRUE(change.ParseFromString(absl::HexStringToBytes(row[0][1].value().substr(2))));
    const auto machine = capacity::FromProto(change);
    ASSERT_THAT(machine, IsOk());
    EXPECT_EQ(machine->claim, claim);
    EXPECT_EQ(machine->compute_class == capacity::ComputeClass::kSpot, claim == "spot");
  }
}

// A claim of the version before: row and last change.
TEST(CapacityMigration, ClaimsAreOfTheOrganizationOfTheirPool) {
  const testing::EmptyDatabase database;
  database.Migrate("capacity", 3);
  const std::pair<std::string, std::string> pools[] = {
      {"p1", "organizations/acme-2/clusters/c/nodePools/train"}, {"p2", "train"}, {"p3", ""}};
  for (int64_t i = 0; i < 3; ++i) {
    const auto& [uid, pool] = pools[i];
    capacity::ClaimRow claim{.pool_uid = uid, .generation = 1, .pool = pool};
    RunSql(database.conninfo(),
           absl::StrCat("INSERT INTO capacity.claim (pool_uid, generation, zone, instance_type, "
                        "compute_class, nodes, priority, pool, part_times, part_nodes, "
                        "returns_digest, revision) VALUES ('",
                        uid, "', 1, 'Z-A', 't', 'default', 1, 0, '", pool, "', '{}', '{}', 0, ",
                        i + 1, "); INSERT INTO capacity.journal VALUES (", i + 1,
                        ", 'b', 'claim', 'claims/", uid, "', '\\x",
                        absl::BytesToHexString(ToProto(claim).SerializeAsString()), "')"));
  }
  database.Migrate("capacity");

  const std::map<std::string, std::string> organizations = {
      {"p1", "acme-2"}, {"p2", ""}, {"p3", ""}};
  for (const auto& [uid, organization] : organizations) {
    const auto row = database.Query(absl::StrCat(
        "SELECT organization, change FROM capacity.claim JOIN capacity.journal USING (revision) "
        "WHERE pool_uid = '",
        uid, "'"));
    ASSERT_EQ(row.size(), 1u);
    EXPECT_EQ(row[0][0].value_or("none"), organization);
    capacity::v1::Claim change;
    ASSERT_TRUE(change.ParseFromString(absl::HexStringToBytes(row[0][1].value().substr(2))));
    EXPECT_EQ(change.organization(), organization);
  }
}

}  // namespace
}  // namespace muster::storage
