#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "services/configuration/store/configuration_store.h"
#include "services/configuration/wire/configuration_wire.h"
#include "storage/postgres/connection_pool.h"
#include "storage/postgres/transaction_runner.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::storage {
namespace {

using configuration::PoolConfiguration;
using ::muster::testing::IsOk;
using ::muster::testing::RunSql;

// A pool as the first version knew it: row and last change.
void InsertPool(const testing::EmptyDatabase& database, int64_t revision, const std::string& uid,
                const std::string& problem) {
  const PoolConfiguration pool = {.pool_uid = uid, .generation = 1, .problem = problem};
  RunSql(
      database.conninfo(),
      absl::StrCat("INSERT INTO configuration.pool_configuration VALUES ('", uid,
                   "', 1, '', '', 'stable', '', false, '', 'OnSpecUpdate', NULL, NULL, NULL, '",
                   problem, "', ", revision, "); INSERT INTO configuration.journal VALUES (",
                   revision, ", 'b', 'PoolConfiguration', 'poolConfigurations/", uid, "', '\\x",
                   absl::BytesToHexString(configuration::ToProto(pool).SerializeAsString()), "')"));
}

// Table and journal tell one story: what had a problem had asked for it by its spec.
TEST(ConfigurationMigration, AProblemWasTheSpecs) {
  const testing::EmptyDatabase database;
  database.Migrate("configuration", 1);
  InsertPool(database, 1, "fits", "");
  InsertPool(database, 2, "stuck", "No release.");
  database.Migrate("configuration");

  ConnectionPool connections(
      {.conninfo = database.conninfo("muster_configuration"), .schema = "configuration"}, 1);
  TransactionRunner runner(&connections, {});
  const std::unique_ptr<const Store<configuration::State>> store = NewConfigurationStore();
  int loaded = 0;
  ASSERT_THAT(runner.Run([&](Transaction& tx) {
    store->Load(tx, [&](Revised<configuration::State::Change> row) {
      const auto& pool = *std::get<std::shared_ptr<const PoolConfiguration>>(row.change.row);
      EXPECT_EQ(pool.spec_unmet, pool.pool_uid == "stuck");
      const auto journal = database.Query(
          absl::StrCat("SELECT change FROM configuration.journal WHERE revision = ", row.revision));
      configuration::v1::PoolConfiguration change;
      EXPECT_TRUE(change.ParseFromString(absl::HexStringToBytes(journal[0][0].value().substr(2))));
      EXPECT_EQ(*configuration::FromProto(change), pool);
      ++loaded;
    });
    return absl::OkStatus();
  }),
              IsOk());
  EXPECT_EQ(loaded, 2);
}

}  // namespace
}  // namespace muster::storage
