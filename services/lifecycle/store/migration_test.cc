#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "services/lifecycle/store/lifecycle_store.h"
#include "services/lifecycle/wire/lifecycle_wire.h"
#include "storage/postgres/connection_pool.h"
#include "storage/postgres/transaction_runner.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::storage {
namespace {

using lifecycle::Pool;
using ::muster::testing::IsOk;
using ::muster::testing::RunSql;

constexpr char kMigratedPool[] = "organizations/acme/clusters/c1/nodePools/train";

// A pool as `version` knew it: row and last change.
Pool InsertPool(const testing::EmptyDatabase& database, int version) {
  Pool pool = {.name = kMigratedPool, .uid = "u", .zone = "US-EAST-04A", .generation = 3};
  pool.create_time = absl::FromUnixSeconds(1'750'000'000);
  pool.spec.instance_type = "t";
  pool.spec.target_nodes = 2;
  RunSql(
      database.conninfo(),
      absl::StrCat(
          "INSERT INTO lifecycle.cluster VALUES ('organizations/acme/clusters/c1', "
          "'US-EAST-04A', '', now(), 1);"
          "INSERT INTO lifecycle.node_pool VALUES ('",
          kMigratedPool,
          "', 'organizations/acme/clusters/c1', 'u', 'US-EAST-04A', 3, "
          "to_timestamp(1750000000), NULL, 't', 2, '{\"instanceType\": \"t\", \"targetNodes\": "
          "\"2\"}', '{}', 1, 0, 0, 0, 2",
          version == 1 ? "" : ", '{}'",
          "); INSERT INTO lifecycle.journal VALUES (2, 'b', 'node_pool', '", kMigratedPool,
          "', '\\x", absl::BytesToHexString(lifecycle::ToProto(pool).SerializeAsString()), "')"));
  return pool;
}

// Table and journal tell one story: no pool from before is known to come from an object.
TEST(LifecycleMigration, PoolsOfEveryOlderVersionCameFromNoObject) {
  for (const int version : {1, 2}) {
    SCOPED_TRACE(version);
    const testing::EmptyDatabase database;
    database.Migrate("lifecycle", version);
    const Pool before = InsertPool(database, version);
    ASSERT_EQ(before.object_generation, 0);
    database.Migrate("lifecycle");

    ConnectionPool connections(
        {.conninfo = database.conninfo("muster_lifecycle"), .schema = "lifecycle"}, 1);
    TransactionRunner runner(&connections, {});
    const std::unique_ptr<const Store<lifecycle::State>> store = NewLifecycleStore();
    int pools = 0;
    int clusters = 0;
    ASSERT_THAT(runner.Run([&](Transaction& tx) {
      store->Load(tx, [&](Revised<lifecycle::State::Change> row) {
        if (const auto* cluster =
                std::get_if<std::shared_ptr<const lifecycle::Cluster>>(&row.change.row)) {
          EXPECT_EQ((*cluster)->kubernetes_uid, "") << "nobody has said which it is";
          EXPECT_EQ((*cluster)->allowance, lifecycle::Cluster::Allowance());
          ++clusters;
        }
        const auto* pool = std::get_if<std::shared_ptr<const Pool>>(&row.change.row);
        if (pool == nullptr) return;
        EXPECT_EQ(**pool, before);
        ++pools;
      });
      return absl::OkStatus();
    }),
                IsOk());
    EXPECT_EQ(pools, 1);
    EXPECT_EQ(clusters, 1);
  }
}

}  // namespace
}  // namespace muster::storage
