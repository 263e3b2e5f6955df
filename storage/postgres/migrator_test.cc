#include "storage/postgres/migrator.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_database.h"

namespace muster::storage {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::EmptyDatabase;
using ::testing::Field;
using testing::HasReason;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::RunSql;
using ::testing::SizeIs;
using testing::SqlError;
using testing::StatusIs;

constexpr char kCreate[] = R"(CREATE SCHEMA IF NOT EXISTS alpha;
CREATE TABLE item (id integer NOT NULL, CONSTRAINT item_pk PRIMARY KEY (id));
)";
constexpr char kAddColour[] = "ALTER TABLE item ADD COLUMN colour text NOT NULL DEFAULT 'grey';\n";
// Not idempotent: applied twice it would fail, or leave two rows.
constexpr char kInsert[] = "INSERT INTO item (id) SELECT coalesce(max(id), 0) + 1 FROM item;\n";

// A folder of migrations and an empty database.
class MigratorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Write("alpha/0001_create_schema.sql", kCreate);
    Write("alpha/0002_add_colour.sql", kAddColour);
    Write("alpha/0003_insert_item.sql", kInsert);
  }
  void TearDown() override { fs::remove_all(dir_); }

  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((dir_ / path).parent_path());
    std::ofstream(dir_ / path) << text;
  }
  void Remove(const std::string& path) { fs::remove(dir_ / path); }
  Migrator MakeMigrator() const {
    return Migrator({.conninfo = database_.conninfo(), .dir = dir_});
  }
  absl::Status Check() const { return Migrator::CheckVersion(database_.conninfo(), dir_, "alpha"); }
  std::string Count(const std::string& table) const {
    return database_.Query("SELECT count(*) FROM " + table)[0][0].value();
  }
  // A migrator does.
  bool WaitsForATable() const {
    return Count(
               "pg_locks WHERE NOT granted AND locktype = 'relation'"
               " AND relation = 'alpha.item'::regclass") != "0";
  }

  const fs::path dir_ = fs::temp_directory_path() / ("muster-migrator." + std::to_string(getpid()));
  const EmptyDatabase database_;
};

std::string StateOf(const std::string& conninfo, const std::string& sql) {
  try {
    RunSql(conninfo, sql);
    return "";
  } catch (const SqlError& error) {
    return error.state();
  }
}

TEST_F(MigratorTest, AppliesEachFileOnce) {
  EXPECT_THAT(MakeMigrator().DryRun(), IsOkAndHolds(SizeIs(3)));
  EXPECT_THAT(Check(), HasReason("SCHEMA_TOO_OLD"));
  EXPECT_EQ(StateOf(database_.conninfo(), "SELECT * FROM alpha.item"), "42P01");

  EXPECT_THAT(MakeMigrator().Migrate(),
              IsOkAndHolds(Each(Field(&MigrationRow::applied_now, true))));
  EXPECT_THAT(MakeMigrator().Migrate(),
              IsOkAndHolds(Each(Field(&MigrationRow::applied_now, false))));
  EXPECT_EQ(Count("alpha.item"), "1");
  EXPECT_EQ(Count("alpha.schema_migration"), "3");
  EXPECT_THAT(MakeMigrator().DryRun(), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(MakeMigrator().Status(),
              IsOkAndHolds(Each(Field(&MigrationRow::applied_time, ::testing::Ne(std::nullopt)))));
  EXPECT_THAT(Check(), IsOk());
}

TEST_F(MigratorTest, SixAtOnceApplyEachFileOnce) {
  Write("beta/0001_create_schema.sql", "CREATE SCHEMA beta; CREATE TABLE item (id integer);");
  std::vector<absl::StatusOr<std::vector<MigrationRow>>> results(6);
  std::vector<std::thread> threads;
  for (auto& result : results) threads.emplace_back([&] { result = MakeMigrator().Migrate(); });
  for (std::thread& thread : threads) thread.join();
  size_t applied = 0;
  for (const auto& result : results) {
    ASSERT_THAT(result, IsOkAndHolds(SizeIs(4)));
    for (const MigrationRow& row : *result) applied += row.applied_now;
  }
  EXPECT_EQ(applied, 4u);
  EXPECT_EQ(Count("alpha.item"), "1");
}

TEST_F(MigratorTest, RefusesAChangedFile) {
  ASSERT_THAT(MakeMigrator().Migrate(), IsOk());
  Write("alpha/0002_add_colour.sql", "ALTER TABLE item ADD COLUMN colour integer;\n");
  Write("alpha/0004_insert_item.sql", kInsert);
  for (const absl::Status& status :
       {MakeMigrator().Migrate().status(), MakeMigrator().Status().status(), Check()}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr("alpha/0002_add_colour.sql was changed")));
    EXPECT_THAT(status, HasReason("MIGRATION_CHANGED"));
  }
  EXPECT_EQ(Count("alpha.item"), "1");
}

TEST_F(MigratorTest, RefusesAMissingFile) {
  ASSERT_THAT(MakeMigrator().Migrate(), IsOk());
  Remove("alpha/0002_add_colour.sql");
  EXPECT_THAT(MakeMigrator().Migrate(), HasReason("MIGRATION_FILES_INVALID"));
  EXPECT_THAT(MakeMigrator().Migrate(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("number 0002 was due")));
  Write("alpha/0002_add_size.sql", "ALTER TABLE item ADD COLUMN size integer;\n");
  EXPECT_THAT(MakeMigrator().Migrate(), HasReason("MIGRATION_MISSING"));
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                HasSubstr("alpha/0002_add_colour.sql")));
}

TEST_F(MigratorTest, RefusesANewerSchema) {
  ASSERT_THAT(MakeMigrator().Migrate(), IsOk());
  Remove("alpha/0003_insert_item.sql");
  for (const absl::Status& status : {MakeMigrator().Migrate().status(), Check()}) {
    EXPECT_THAT(status, HasReason("SCHEMA_TOO_NEW"));
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr("alpha/0003_insert_item.sql")));
  }
}

// The servers, and the migrator, of the release before a file that says that they can.
TEST_F(MigratorTest, RunsOnWhatALaterReleaseOnlyAdded) {
  Write("alpha/0004_add_size.sql",
        "-- servers_from: 3\nALTER TABLE item ADD COLUMN size integer;\n");
  Write("alpha/0005_add_weight.sql",
        "-- servers_from: 2\nALTER TABLE item ADD COLUMN weight integer;\n");
  ASSERT_THAT(MakeMigrator().Migrate(), IsOk());
  Remove("alpha/0005_add_weight.sql");
  Remove("alpha/0004_add_size.sql");
  EXPECT_THAT(Check(), IsOk());
  const auto rows = MakeMigrator().Migrate();
  ASSERT_THAT(rows, IsOkAndHolds(SizeIs(5)));
  EXPECT_EQ(rows->back().name, "add_weight");
  EXPECT_TRUE(rows->back().applied_time);
  EXPECT_FALSE(rows->back().applied_now);
  Remove("alpha/0003_insert_item.sql");
  EXPECT_THAT(Check(), HasReason("SCHEMA_TOO_NEW")) << "0003 says nothing of older servers";
}

TEST_F(MigratorTest, RunsWithoutWhatIsOptional) {
  ASSERT_THAT(MakeMigrator().Migrate(), IsOk());
  Write("alpha/0004_drop_colour.sql", "-- optional\nALTER TABLE item DROP COLUMN colour;\n");
  EXPECT_THAT(Check(), IsOk());
  Write("alpha/0005_add_size.sql", "ALTER TABLE item ADD COLUMN size integer;\n");
  EXPECT_THAT(Check(), HasReason("SCHEMA_TOO_OLD"));
  EXPECT_THAT(MakeMigrator().Migrate(), IsOk());
  EXPECT_THAT(Check(), IsOk());
}

// A database of before it was written down from which servers on a file is meant.
TEST_F(MigratorTest, ReadsATableThatDoesNotSayForWhichServers) {
  ASSERT_THAT(MakeMigrator().Migrate(), IsOk());
  ASSERT_EQ(
      StateOf(database_.conninfo(), "ALTER TABLE alpha.schema_migration DROP COLUMN servers_from"),
      "");
  EXPECT_THAT(Check(), IsOk());
  Remove("alpha/0003_insert_item.sql");
  EXPECT_THAT(Check(), HasReason("SCHEMA_TOO_NEW"));
  Write("alpha/0003_insert_item.sql", kInsert);
  Write("alpha/0004_insert_item.sql", kInsert);
  EXPECT_THAT(MakeMigrator().Migrate(), IsOk());
}

TEST_F(MigratorTest, ANumberThatNoServerCanMeanIsRefused) {
  for (const char* from : {"0", "5", "x", ""}) {
    Write("alpha/0004_insert_item.sql", std::string("-- servers_from: ") + from + "\n" + kInsert);
    EXPECT_THAT(MakeMigrator().Migrate(), HasReason("MIGRATION_FILES_INVALID")) << from;
  }
}

TEST_F(MigratorTest, ChangesNothingWhenAnySchemaDoesNotFit) {
  ASSERT_THAT(MakeMigrator().Migrate(), IsOk());
  Write("alpha/0004_insert_item.sql", kInsert);
  Write("beta/0001_create_schema.sql", "CREATE SCHEMA beta;");
  Write("beta/0003_too_far.sql", "SELECT 1;");
  EXPECT_THAT(MakeMigrator().Migrate(), HasReason("MIGRATION_FILES_INVALID"));
  EXPECT_EQ(Count("alpha.item"), "1");
}

TEST_F(MigratorTest, AFailedFileLeavesNothingBehind) {
  Write("alpha/0004_break_things.sql", "INSERT INTO item (id) VALUES (77); SELECT nonsense;\n");
  const absl::Status status = MakeMigrator().Migrate().status();
  EXPECT_THAT(status, HasReason("MIGRATION_FAILED"));
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("0004_break_things.sql")));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("nonsense")));
  EXPECT_EQ(Count("alpha.item"), "1");
  EXPECT_EQ(Count("alpha.schema_migration"), "3");
  Write("alpha/0004_break_things.sql", "INSERT INTO item (id) VALUES (77);\n");
  EXPECT_THAT(MakeMigrator().Migrate(), IsOk());
  EXPECT_EQ(Count("alpha.item"), "2");
}

// A backup, say, reads a table that a file wants to alter: whoever writes it does not wait for the
// reader.
TEST_F(MigratorTest, AFileThatWaitsForAReaderLetsWritersPass) {
  ASSERT_THAT(MakeMigrator().Migrate(), IsOk());
  Write("alpha/0004_add_size.sql", "ALTER TABLE item ADD COLUMN size integer;\n");
  testing::OpenTransaction reader =
      testing::HoldSql(database_.conninfo(), "SELECT FROM alpha.item");
  auto migrated = std::async(std::launch::async, [&] {
    return Migrator({.conninfo = database_.conninfo(),
                     .dir = dir_,
                     .lock_timeout = absl::Milliseconds(100),
                     .lock_pause = absl::Milliseconds(20)})
        .Migrate();
  });
  for (int i = 10; i < 15; ++i) {
    testing::Until([&] { return WaitsForATable(); }, "the migration to wait");
    EXPECT_EQ(
        StateOf(database_.conninfo(), "SET lock_timeout = '30s'; INSERT INTO alpha.item VALUES (" +
                                          std::to_string(i) + ")"),
        "");
  }
  reader.reset();
  EXPECT_THAT(testing::Await(std::move(migrated), "the migration"), IsOkAndHolds(SizeIs(4)));
  EXPECT_THAT(Check(), IsOk());
}

TEST_F(MigratorTest, AFileThatWaitsInVainNamesWhomItWaitsFor) {
  ASSERT_THAT(MakeMigrator().Migrate(), IsOk());
  Write("alpha/0004_add_size.sql", "ALTER TABLE item ADD COLUMN size integer;\n");
  const Migrator migrator({.conninfo = database_.conninfo(),
                           .dir = dir_,
                           .lock_timeout = absl::Milliseconds(10),
                           .lock_pause = absl::Milliseconds(1),
                           .lock_patience = absl::Milliseconds(30)});
  testing::OpenTransaction reader =
      testing::HoldSql(database_.conninfo() + " application_name=backup", "SELECT FROM alpha.item");
  const absl::Status status = migrator.Migrate().status();
  EXPECT_THAT(status, HasReason("MIGRATION_BLOCKED"));
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       ::testing::ContainsRegex(
                           "0004_add_size.sql .*process [0-9]+ \\(backup of postgres\\), in a "
                           "transaction since 20")));
  EXPECT_EQ(Count("alpha.schema_migration"), "3");
  reader.reset();
  EXPECT_THAT(MakeMigrator().Migrate(), IsOk());
}

TEST_F(MigratorTest, WhoReadsWhatWasAppliedHoldsUpNoFile) {
  ASSERT_THAT(MakeMigrator().Migrate(), IsOk());
  Write("alpha/0004_create_box.sql", "CREATE TABLE box (id integer);");
  const testing::OpenTransaction reader =
      testing::HoldSql(database_.conninfo(), "SELECT FROM alpha.schema_migration, alpha.item");
  EXPECT_THAT(
      Migrator(
          {.conninfo = database_.conninfo(), .dir = dir_, .lock_patience = absl::ZeroDuration()})
          .Migrate(),
      IsOkAndHolds(SizeIs(4)));
}

// Else it would begin hours later, without a word until then.
TEST_F(MigratorTest, AServerDoesNotWaitForWhoRestoresItsSchema) {
  ASSERT_THAT(MakeMigrator().Migrate(), IsOk());
  testing::OpenTransaction restore =
      testing::HoldSql(database_.conninfo(), "LOCK TABLE alpha.schema_migration");
  EXPECT_THAT(Migrator::CheckVersion(database_.conninfo(), dir_, "alpha",
                                     std::make_shared<WritableHost>(), absl::Seconds(1)),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  restore.reset();
  EXPECT_THAT(Check(), IsOk());
}

TEST_F(MigratorTest, OddNamesAreRefused) {
  for (const char* name :
       {"0004-add.sql", "4_add_x.sql", "0004_Add.sql", "0004_add.sql.orig", "0004_.sql"}) {
    SCOPED_TRACE(name);
    Write(std::string("alpha/") + name, "SELECT 1;");
    EXPECT_THAT(MakeMigrator().DryRun(), HasReason("MIGRATION_FILES_INVALID"));
    Remove(std::string("alpha/") + name);
  }
  Write("alpha/README.md", "about");
  EXPECT_THAT(MakeMigrator().DryRun(), IsOk());
  EXPECT_THAT(ReadMigrations(dir_, "nowhere"), HasReason("MIGRATION_FILES_INVALID"));
  EXPECT_THAT(Migrator({.conninfo = database_.conninfo(), .dir = dir_ / "nowhere"}).Migrate(),
              HasReason("MIGRATION_FILES_INVALID"));
}

TEST_F(MigratorTest, NoDatabaseIsUnavailable) {
  EXPECT_THAT(Migrator({.conninfo = "host=/nonexistent user=postgres", .dir = dir_}).Migrate(),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(MigratorTest, ARoleReachesItsOwnSchemaOnly) {
  Write("beta/0001_create_schema.sql",
        "CREATE SCHEMA beta; CREATE TABLE item (id serial, size integer);");
  ASSERT_THAT(MakeMigrator().Migrate(), IsOk());
  const std::string alpha = database_.conninfo(ServiceRole("alpha"));
  const std::string beta = database_.conninfo(ServiceRole("beta"));
  EXPECT_EQ(StateOf(alpha,
                    "INSERT INTO item (id) VALUES (9); UPDATE item SET id = 8 WHERE id = 9; DELETE "
                    "FROM item"),
            "");
  EXPECT_EQ(StateOf(beta, "INSERT INTO item (size) VALUES (9)"), "") << "uses a sequence";
  for (const char* sql :
       {"SELECT * FROM beta.item", "INSERT INTO beta.item VALUES (1)",
        "SELECT * FROM beta.schema_migration", "DELETE FROM alpha.schema_migration",
        "CREATE TABLE alpha.mine (id integer)", "DROP TABLE alpha.item",
        "CREATE TABLE public.mine (id integer)", "CREATE SCHEMA mine"}) {
    EXPECT_EQ(StateOf(alpha, sql), "42501") << sql;
  }
  EXPECT_THAT(Migrator::CheckVersion(alpha, dir_, "alpha"), IsOk());
}

TEST_F(MigratorTest, GrantsReachTablesOfLaterFiles) {
  ASSERT_THAT(MakeMigrator().Migrate(), IsOk());
  Write("alpha/0004_create_box.sql", "CREATE TABLE box (id integer);");
  ASSERT_THAT(MakeMigrator().Migrate(), IsOk());
  EXPECT_EQ(StateOf(database_.conninfo(ServiceRole("alpha")), "INSERT INTO box VALUES (1)"), "");
}

TEST_F(MigratorTest, RendersATable) {
  ASSERT_THAT(MakeMigrator().Migrate(), IsOk());
  Write("alpha/0004_insert_item.sql", kInsert);
  const auto rows = MakeMigrator().Status();
  ASSERT_THAT(rows, IsOkAndHolds(SizeIs(4)));
  EXPECT_THAT(RenderMigrations(*rows),
              ::testing::ContainsRegex("alpha +0003 +insert_item +applied 20.*Z\n"
                                       "alpha +0004 +insert_item +pending\n$"));
}

// The tree's own migrations: from every older version on, one by one.
TEST(TreeMigrations, ApplyFromEveryOlderVersion) {
  const auto schemas = ListSchemas(testing::MigrationsDir());
  ASSERT_THAT(schemas, IsOk());
  const fs::path dir = fs::temp_directory_path() / ("muster-older." + std::to_string(getpid()));
  for (const std::string& schema : *schemas) {
    const auto files = ReadMigrations(testing::MigrationsDir(), schema);
    ASSERT_THAT(files, IsOk());
    for (size_t older = 1; older <= files->size(); ++older) {
      SCOPED_TRACE(schema + " from " + std::to_string(older));
      fs::remove_all(dir);
      fs::create_directories(dir / schema);
      for (size_t i = 0; i < older; ++i) fs::copy((*files)[i].path, dir / schema);
      const EmptyDatabase database;
      EXPECT_THAT(Migrator({.conninfo = database.conninfo(), .dir = dir}).Migrate(),
                  IsOkAndHolds(SizeIs(older)));
      EXPECT_THAT(Migrator({.conninfo = database.conninfo(),
                            .dir = testing::MigrationsDir(),
                            .schemas = {schema}})
                      .Migrate(),
                  IsOkAndHolds(SizeIs(files->size())));
      EXPECT_THAT(Migrator::CheckVersion(database.conninfo(ServiceRole(schema)),
                                         testing::MigrationsDir(), schema),
                  IsOk());
    }
  }
  fs::remove_all(dir);
}

}  // namespace
}  // namespace muster::storage
