#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/testing/postgres_cluster.h"
#include "tests/testing/sql.h"

namespace muster::testing {

// The migrations of the tree: MUSTER_MIGRATIONS, or the folder of the sources that this was built
// from.
std::string MigrationsDir();

// A database of the test's own, cloned from a template that is migrated once for each cluster and
// each change of a migration. The destructor ends all sessions that are still open; the name is not
// used again. Every function throws when it fails, which fails the test.
class TestDatabase {
 public:
  // `schemas`: which ones are migrated; empty: all of MigrationsDir().
  explicit TestDatabase(std::vector<std::string> schemas = {},
                        const PostgresCluster& cluster = PostgresCluster::Shared());
  ~TestDatabase();
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  const std::string& name() const { return name_; }
  // As superuser.
  std::string conninfo() const { return cluster_.ConnInfo(name_); }
  // As the role of a service: conninfo("quota") connects as muster_quota.
  std::string conninfo(absl::string_view service) const;
  // Without user: what `musterd serve --db-conninfo` takes.
  std::string conninfo_without_user() const { return cluster_.ConnInfo(name_, ""); }

  // As superuser; each as if on a session of its own.
  SqlRows Query(const std::string& sql) const { return session_.Run(sql); }
  void Execute(const std::string& sql) const { session_.Run(sql); }
  OpenTransaction Hold(const std::string& sql) const { return HoldSql(conninfo(), sql); }
  // The one field of the one row; throws unless there is exactly one, and it is not NULL.
  std::string QueryValue(const std::string& sql) const;

  // Ends the sessions of this database as pg_terminate_backend does: all, or those of one service's
  // role. Returns how many.
  int TerminateBackends(absl::string_view service = "") const;

 private:
  const PostgresCluster& cluster_;
  const std::string name_;
  const std::string template_;
  mutable KeptSession session_;
};

// An empty database, for tests of the migrator and of migrations. Otherwise as TestDatabase.
class EmptyDatabase {
 public:
  explicit EmptyDatabase(const PostgresCluster& cluster = PostgresCluster::Shared());
  ~EmptyDatabase();
  EmptyDatabase(const EmptyDatabase&) = delete;
  EmptyDatabase& operator=(const EmptyDatabase&) = delete;

  std::string conninfo(absl::string_view user = "postgres") const {
    return cluster_.ConnInfo(name_, user);
  }
  SqlRows Query(const std::string& sql) const { return RunSql(conninfo(), sql); }
  // Migrates a schema up to `version`: one of its files in MigrationsDir(), and not below where the
  // schema is now.
  void Migrate(const std::string& schema, int version) const;
  // To the newest.
  void Migrate(const std::string& schema) const;

 private:
  const PostgresCluster& cluster_;
  std::string name_ = {};
};

}  // namespace muster::testing
