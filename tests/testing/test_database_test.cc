#include "tests/testing/test_database.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/patience.h"

namespace muster::testing {
namespace {

namespace fs = std::filesystem;

// Two schemas of our own, so that this holds whatever the tree's migrations are.
class TestDatabaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write("alpha/0001_create_schema.sql",
          "CREATE SCHEMA alpha; CREATE TABLE alpha.item (id integer);");
    Write("beta/0001_create_schema.sql",
          "CREATE SCHEMA beta; CREATE TABLE beta.item (id integer);");
    if (const char* old = getenv("MUSTER_MIGRATIONS")) old_ = old;
    setenv("MUSTER_MIGRATIONS", dir_.c_str(), 1);
  }
  void TearDown() override {
    if (old_.empty()) {
      unsetenv("MUSTER_MIGRATIONS");
    } else {
      setenv("MUSTER_MIGRATIONS", old_.c_str(), 1);
    }
    fs::remove_all(dir_);
  }
  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((dir_ / path).parent_path());
    std::ofstream(dir_ / path) << text;
  }

  const fs::path dir_ =
      fs::temp_directory_path() / ("muster-test-database." + std::to_string(getpid()));
  std::string old_ = {};
};

std::string StateOf(const std::function<void()>& run) {
  try {
    run();
    return "";
  } catch (const SqlError& error) {
    return error.state();
  }
}

std::string StateOf(const std::string& conninfo, const std::string& sql) {
  return StateOf([&] { RunSql(conninfo, sql); });
}

TEST_F(TestDatabaseTest, EachTestHasItsOwn) {
  const TestDatabase one;
  const TestDatabase two;
  one.Execute("INSERT INTO alpha.item VALUES (1)");
  EXPECT_EQ(one.QueryValue("SELECT count(*) FROM alpha.item"), "1");
  EXPECT_EQ(two.QueryValue("SELECT count(*) FROM alpha.item"), "0");
  EXPECT_EQ(two.Query("SELECT NULL, 2"), (SqlRows{{std::nullopt, "2"}}));
}

TEST_F(TestDatabaseTest, IsGoneWithTheTest) {
  std::string conninfo;
  {
    const TestDatabase database;
    conninfo = database.conninfo();
  }
  EXPECT_THROW(RunSql(conninfo, "SELECT 1"), SqlError);
}

// Whatever a test did to it, the next one has it new.
TEST_F(TestDatabaseTest, IsNewForEachTest) {
  Write("beta/0002_seed.sql",
        "ALTER TABLE beta.item ADD PRIMARY KEY (id); INSERT INTO beta.item VALUES (7);"
        "CREATE TABLE beta.part (item integer REFERENCES beta.item);"
        "CREATE FUNCTION beta.refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN RAISE 'refused'; END$$;"
        "CREATE TRIGGER refuse BEFORE TRUNCATE ON beta.item EXECUTE FUNCTION beta.refuse();");
  constexpr char kState[] =
      "SELECT concat_ws(' ', (SELECT string_agg(i.id::text, ',') FROM beta.item i),"
      " (SELECT count(*) FROM alpha.item), (SELECT count(*) FROM beta.part),"
      " (SELECT count(*) FROM pg_class WHERE relname = 'extra'),"
      " (SELECT relacl::text FROM pg_class WHERE relname = 'part'),"
      " (SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal AND tgenabled = 'O'),"
      " (SELECT prosrc FROM pg_proc WHERE proname = 'refuse'), current_setting('work_mem'),"
      " current_setting('search_path'))";
  const std::string as_new = TestDatabase().QueryValue(kState);
  for (const std::string sql : {
           "INSERT INTO alpha.item VALUES (1)",
           "INSERT INTO beta.part VALUES (7)",
           "DELETE FROM beta.item",
           "UPDATE beta.item SET id = 8",
           "ALTER TABLE beta.item DISABLE TRIGGER refuse; TRUNCATE beta.item, beta.part;"
           "ALTER TABLE beta.item ENABLE TRIGGER refuse",
           "CREATE TABLE extra ()",
           "CREATE TABLE extra (); DROP TABLE alpha.item; ALTER TABLE extra RENAME TO item;"
           "ALTER TABLE item SET SCHEMA alpha; ALTER TABLE alpha.item ADD COLUMN id integer",
           "ALTER TABLE beta.item DISABLE TRIGGER refuse",
           "CREATE OR REPLACE FUNCTION beta.refuse() RETURNS trigger LANGUAGE plpgsql AS"
           " $$BEGIN RETURN NULL; END$$",
           "GRANT SELECT ON beta.part TO PUBLIC",
           "SET work_mem = '1MB'; SET search_path = alpha",
           "DO $$BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET work_mem = 64'; "
           "END$$",
       }) {
    SCOPED_TRACE(sql);
    {
      const TestDatabase database;
      EXPECT_EQ(database.QueryValue(kState), as_new);
      database.Execute(sql);
    }
    EXPECT_EQ(TestDatabase().QueryValue(kState), as_new);
  }
}

TEST_F(TestDatabaseTest, ASessionIsNewForEachStatement) {
  const TestDatabase database;
  database.Execute("SET search_path = alpha; SELECT pg_advisory_lock(1)");
  EXPECT_EQ(StateOf([&] { database.Execute("SELECT * FROM item"); }), "42P01");
  EXPECT_EQ(StateOf(database.conninfo(), "SELECT pg_advisory_lock(1)"), "");
  database.Execute("BEGIN; LOCK TABLE alpha.item");
  database.Execute("BEGIN; LOCK TABLE alpha.item NOWAIT; COMMIT");
  EXPECT_THROW(database.Execute(kLoseConnection), SqlError);
  EXPECT_EQ(database.QueryValue("SELECT 1"), "1");
  // Its own is left alone; where others end it, the next one is a new one.
  EXPECT_EQ(database.TerminateBackends(), 0);
  RunSql(
      PostgresCluster::Shared().ConnInfo(),
      absl::StrCat("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '",
                   database.name(), "'"));
  EXPECT_EQ(database.QueryValue("SELECT 1"), "1");
}

TEST_F(TestDatabaseTest, RolesReachTheirOwnSchemaOnly) {
  const TestDatabase database;
  EXPECT_EQ(StateOf(database.conninfo("alpha"), "INSERT INTO item VALUES (1)"), "");
  EXPECT_EQ(StateOf(database.conninfo("alpha"), "SELECT * FROM beta.item"), "42501");
  EXPECT_EQ(StateOf(database.conninfo("alpha"), "DROP TABLE alpha.item"), "42501");
}

// Databases of one template have the same oids, and the server shows everybody's sessions: the end
// of one transaction must not be another's.
TEST_F(TestDatabaseTest, HoldsLocksOfItsOwn) {
  const TestDatabase one, two;
  constexpr char kLock[] = "LOCK TABLE alpha.item IN EXCLUSIVE MODE";
  constexpr char kTry[] = "BEGIN; LOCK TABLE alpha.item IN EXCLUSIVE MODE NOWAIT";
  OpenTransaction of_one = one.Hold(kLock);
  EXPECT_EQ(StateOf(one.conninfo(), kTry), "55P03");
  EXPECT_EQ(StateOf(two.conninfo(), kTry), "");
  const OpenTransaction of_two = two.Hold(kLock);
  of_one.reset();
  Until([&] { return StateOf(one.conninfo(), kTry).empty(); }, "the lock's end");
  EXPECT_EQ(StateOf(two.conninfo(), kTry), "55P03");
  EXPECT_THROW(one.Hold("SELECT * FROM alpha.nothing"), SqlError);
}

TEST_F(TestDatabaseTest, AChangedMigrationMakesANewTemplate) {
  { const TestDatabase before({"alpha"}); }
  Write("alpha/0002_add_colour.sql", "ALTER TABLE alpha.item ADD COLUMN colour text;");
  const TestDatabase after({"alpha"});
  EXPECT_EQ(after.QueryValue("SELECT count(colour) FROM alpha.item"), "0");
  EXPECT_EQ(StateOf(after.conninfo(), "SELECT * FROM beta.item"), "42P01");
}

TEST_F(TestDatabaseTest, ManyAreMadeAtOnce) {
  Write("alpha/0002_add_size.sql", "ALTER TABLE alpha.item ADD COLUMN size text;");
  std::vector<std::string> counts(4);
  std::vector<std::thread> threads;
  for (std::string& count : counts) {
    threads.emplace_back([&count] {
      const TestDatabase database;
      count = database.QueryValue("SELECT count(size) FROM alpha.item");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(counts, ::testing::Each("0"));
}

TEST_F(TestDatabaseTest, OwnClusterGoesAndComesBack) {
  const auto cluster = PostgresCluster::StartOwn();
  const TestDatabase database({"alpha"}, *cluster);
  database.Execute("INSERT INTO alpha.item VALUES (1)");
  for (const auto mode :
       {PostgresCluster::StopMode::kFast, PostgresCluster::StopMode::kImmediate}) {
    cluster->Stop(mode);
    EXPECT_THROW(database.Execute("SELECT 1"), SqlError);
    cluster->Start();
    EXPECT_EQ(database.QueryValue("SELECT count(*) FROM alpha.item"), "1");
  }
  EXPECT_EQ(database.QueryValue("SHOW fsync"), "on");
}

// Each time from a backup of its own, on a timeline that begins there.
TEST_F(TestDatabaseTest, AClusterGoesBackToAMoment) {
  const auto cluster = PostgresCluster::StartOwn();
  const TestDatabase database({}, *cluster);
  const auto ids = [&] {
    return database.QueryValue("SELECT coalesce(string_agg(id::text, ' '), '') FROM alpha.item");
  };
  EXPECT_THROW(cluster->RestoreTo("before_any_backup"), std::runtime_error);
  for (const std::string id : {"1", "2"}) {
    cluster->BackUp();
    database.Execute(absl::StrCat("INSERT INTO alpha.item VALUES (", id, ")"));
    const std::string then = ids();
    (void)database.QueryValue(absl::StrCat("SELECT pg_create_restore_point('moment_", id, "')"));
    database.Execute("INSERT INTO alpha.item VALUES (100)");
    cluster->RestoreTo(absl::StrCat("moment_", id));
    EXPECT_EQ(ids(), then);
  }
  EXPECT_EQ(ids(), "1 2");
  EXPECT_EQ(database.QueryValue("SELECT pg_is_in_recovery()::text"), "false");
}

}  // namespace
}  // namespace muster::testing
