#include "tests/testing/test_database.h"

#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "storage/postgres/migrator.h"

namespace muster::testing {
namespace {

std::string NewName() {
  static std::atomic<int> count = 0;
  return absl::StrCat("test_", getpid(), "_", ++count);
}

template <class T>
T OrThrow(absl::StatusOr<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return *std::move(result);
}

// Ends with the name of a database that holds the migrated schemas and is used by nobody. It is
// made under a name of its own and renamed when it is ready: a process that dies meanwhile leaves
// no half-migrated template.
std::string EnsureTemplate(const PostgresCluster& cluster,
                           const std::vector<std::string>& schemas) {
  const std::string dir = MigrationsDir();
  const std::string name = absl::StrCat(
      "template_", OrThrow(storage::FingerprintMigrations(dir, schemas)).substr(0, 16));
  const std::string exists = absl::StrCat("SELECT 1 FROM pg_database WHERE datname = '", name, "'");
  if (!RunSql(cluster.ConnInfo(), exists).empty()) return name;
  const std::string draft = NewName();
  RunSql(cluster.ConnInfo(), "CREATE DATABASE " + draft);
  OrThrow(storage::Migrator({.conninfo = cluster.ConnInfo(draft), .dir = dir, .schemas = schemas})
              .Migrate());
  try {
    RunSql(cluster.ConnInfo(), absl::StrCat("ALTER DATABASE ", draft, " RENAME TO ", name));
  } catch (const SqlError& error) {
    RunSql(cluster.ConnInfo(), absl::StrCat("DROP DATABASE IF EXISTS ", draft, " WITH (FORCE)"));
    // Another process was quicker.
    if (error.state() != "42P04" && error.state() != "23505") throw;
  }
  return name;
}

void Drop(const PostgresCluster& cluster, const std::string& name) {
  try {
    RunSql(cluster.ConnInfo(), absl::StrCat("DROP DATABASE IF EXISTS ", name, " WITH (FORCE)"));
  } catch (const SqlError&) {
    // The cluster is away, in an outage or for good; the database goes with it.
  }
}

}  // namespace

std::string MigrationsDir() {
  const char* dir = getenv("MUSTER_MIGRATIONS");
  return dir != nullptr ? dir : MUSTER_SOURCE_DIR "/migrations";
}

TestDatabase::TestDatabase(std::vector<std::string> schemas, const PostgresCluster& cluster)
    : cluster_(cluster), name_(NewName()) {
  if (schemas.empty()) schemas = OrThrow(storage::ListSchemas(MigrationsDir()));
  const std::string source = EnsureTemplate(cluster_, schemas);
  // Postgres refuses, after waiting for 5 s, while somebody is connected to the template.
  for (int tries = 1;; ++tries) {
    try {
      RunSql(cluster_.ConnInfo(), absl::StrCat("CREATE DATABASE ", name_, " TEMPLATE ", source));
      return;
    } catch (const SqlError& error) {
      if (error.state() != "55006" || tries == 6) throw;
    }
  }
}

TestDatabase::~TestDatabase() { Drop(cluster_, name_); }

std::string TestDatabase::conninfo(absl::string_view service) const {
  return cluster_.ConnInfo(name_, storage::ServiceRole(service));
}

std::string TestDatabase::QueryValue(const std::string& sql) const {
  const SqlRows rows = Query(sql);
  if (rows.size() != 1 || rows[0].size() != 1 || !rows[0][0]) {
    throw std::runtime_error("not one value: " + sql);
  }
  return *rows[0][0];
}

int TestDatabase::TerminateBackends(absl::string_view service) const {
  std::string sql = absl::StrCat(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
      "AND datname = '",
      name_, "'");
  if (!service.empty())
    absl::StrAppend(&sql, " AND usename = '", storage::ServiceRole(service), "'");
  return static_cast<int>(Query(sql).size());
}

EmptyDatabase::EmptyDatabase(const PostgresCluster& cluster) : cluster_(cluster), name_(NewName()) {
  RunSql(cluster_.ConnInfo(), "CREATE DATABASE " + name_);
}

EmptyDatabase::~EmptyDatabase() { Drop(cluster_, name_); }

void EmptyDatabase::Migrate(const std::string& schema, int version) const {
  namespace fs = std::filesystem;
  const fs::path dir = fs::temp_directory_path() / ("muster-migrations." + NewName());
  fs::create_directories(dir / schema);
  for (const storage::Migration& file : OrThrow(storage::ReadMigrations(MigrationsDir(), schema))) {
    if (file.version <= version) fs::copy(file.path, dir / schema);
  }
  const auto migrated =
      storage::Migrator({.conninfo = conninfo(), .dir = dir, .schemas = {schema}}).Migrate();
  fs::remove_all(dir);
  OrThrow(migrated);
}

void EmptyDatabase::Migrate(const std::string& schema) const {
  OrThrow(storage::Migrator({.conninfo = conninfo(), .dir = MigrationsDir(), .schemas = {schema}})
              .Migrate());
}

}  // namespace muster::testing
