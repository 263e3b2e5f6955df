#include "tests/testing/test_database.h"

#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/postgres/migrator.h"
#include "tests/testing/original.h"

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

std::vector<std::string> AllIfNone(std::vector<std::string> schemas) {
  return schemas.empty() ? OrThrow(storage::ListSchemas(MigrationsDir())) : schemas;
}

std::string TemplateOf(const std::vector<std::string>& schemas) {
  return absl::StrCat(
      "template_", OrThrow(storage::FingerprintMigrations(MigrationsDir(), schemas)).substr(0, 16));
}

// Sees to it that there is a database `name` that has the migrated schemas and that nobody uses. It
// is made under another name and renamed when it is ready: a process that dies meanwhile leaves no
// half-migrated template.
void EnsureTemplate(const PostgresCluster& cluster, const std::string& name,
                    const std::vector<std::string>& schemas) {
  const std::string exists = absl::StrCat("SELECT 1 FROM pg_database WHERE datname = '", name, "'");
  if (!RunSql(cluster.ConnInfo(), exists).empty()) return;
  const std::string draft = NewName();
  RunSql(cluster.ConnInfo(), "CREATE DATABASE " + draft);
  OrThrow(storage::Migrator(
              {.conninfo = cluster.ConnInfo(draft), .dir = MigrationsDir(), .schemas = schemas})
              .Migrate());
  try {
    RunSql(cluster.ConnInfo(), absl::StrCat("ALTER DATABASE ", draft, " RENAME TO ", name));
  } catch (const SqlError& error) {
    RunSql(cluster.ConnInfo(), absl::StrCat("DROP DATABASE IF EXISTS ", draft, " WITH (FORCE)"));
    // Another process was quicker.
    if (error.state() != "42P04" && error.state() != "23505") throw;
  }
}

void Clone(const PostgresCluster& cluster, const std::string& source, const std::string& name) {
  // Postgres refuses, after waiting for 5 s, while somebody is connected to the template.
  for (int tries = 1;; ++tries) {
    try {
      RunSql(cluster.ConnInfo(), absl::StrCat("CREATE DATABASE ", name, " TEMPLATE ", source));
      return;
    } catch (const SqlError& error) {
      if (error.state() != "55006" || tries == 6) throw;
    }
  }
}

void Drop(const PostgresCluster& cluster, const std::string& name) {
  try {
    RunSql(cluster.ConnInfo(), absl::StrCat("DROP DATABASE IF EXISTS ", name, " WITH (FORCE)"));
  } catch (const SqlError&) {
    // The cluster is away, in an outage or for good; the database goes with it.
  }
}

// Databases of the shared cluster that earlier tests of this process no longer need, each as good
// as new: to make a new one costs a tenth of a test's time, and more where the disk is busy.
class Spares {
 public:
  static Spares& Shared() {
    static Spares spares(PostgresCluster::Shared());
    return spares;
  }
  ~Spares() {
    for (const auto& [source, names] : names_) {
      for (const std::string& name : names) Drop(cluster_, name);
    }
  }

  // Gives one that was made from `source` the name `name`, if there is one.
  bool Take(const std::string& source, const std::string& name) {
    const std::lock_guard lock(mutex_);
    std::vector<std::string>& names = names_[source];
    if (names.empty()) return false;
    const std::string spare = std::move(names.back());
    names.pop_back();
    Rename(spare, name);
    return true;
  }

  // Remembers what a new clone of `source` contains; `session` is connected to one.
  void Learn(const std::string& source, KeptSession& session) {
    const std::lock_guard lock(mutex_);
    originals_.try_emplace(source, session);
  }

  // False: what the test did to it cannot be undone.
  bool Keep(const std::string& source, const std::string& name, KeptSession& session) {
    const std::lock_guard lock(mutex_);
    try {
      if (!originals_.at(source).Restore(session)) return false;
      session.Close();
      AwaitNobody(name);
      // Fails if a client that does not know of the test's end has connected again.
      const std::string spare = NewName();
      Rename(name, spare);
      names_[source].push_back(spare);
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  }

 private:
  explicit Spares(const PostgresCluster& cluster) : cluster_(cluster), admin_(cluster.ConnInfo()) {}

  // Where Postgres still sees a session that ends it waits for a tenth of a second. A session that
  // stays is left to it.
  void AwaitNobody(const std::string& name) {
    const std::string sessions =
        absl::StrCat("SELECT 1 FROM pg_stat_activity WHERE datname = '", name, "'");
    for (int looks = 0; looks < 1'000 && !admin_.Run(sessions).empty(); ++looks)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void Rename(const std::string& from, const std::string& to) {
    admin_.Run(absl::StrCat("ALTER DATABASE ", from, " RENAME TO ", to));
  }

  const PostgresCluster& cluster_;
  std::mutex mutex_;
  KeptSession admin_;
  std::map<std::string, Original> originals_;              // by template
  std::map<std::string, std::vector<std::string>> names_;  // by template
};

}  // namespace

std::string MigrationsDir() {
  const char* dir = getenv("MUSTER_MIGRATIONS");
  return dir != nullptr ? dir : MUSTER_SOURCE_DIR "/migrations";
}

TestDatabase::TestDatabase(std::vector<std::string> schemas, const PostgresCluster& cluster)
    : cluster_(cluster),
      name_(NewName()),
      template_(TemplateOf(schemas = AllIfNone(std::move(schemas)))),
      session_(conninfo()) {
  if (cluster_.is_shared() && Spares::Shared().Take(template_, name_)) return;
  EnsureTemplate(cluster_, template_, schemas);
  Clone(cluster_, template_, name_);
  if (cluster_.is_shared()) Spares::Shared().Learn(template_, session_);
}

TestDatabase::~TestDatabase() {
  if (cluster_.is_shared() && Spares::Shared().Keep(template_, name_, session_)) return;
  session_.Close();
  Drop(cluster_, name_);
}

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
  return EndOtherSessions(
      session_,
      service.empty() ? "true" : absl::StrCat("usename = '", storage::ServiceRole(service), "'"));
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
