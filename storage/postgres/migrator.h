#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "storage/postgres/writable_host.h"

// Brings the schemas of a database up to what the tree's migrations say. Forward only: what was
// applied is never undone, and a file that was applied is never edited. Files:
// <dir>/<schema>/NNNN_verb_object.sql, numbered from 0001 without gaps; the first creates the
// schema; `search_path` is the schema while a file runs. What was applied stands in
// <schema>.schema_migration.
//
// A file may say, each in a line of its own:
//   -- servers_from: N   servers whose last known file is N run on what this one leaves (it only
//                        adds what they leave alone); else only those that know it
//   -- optional          servers that know it run without it, too
// So the servers of two releases can work at one database: README.md of migrations/ has the order
// of steps.
//
// Every schema has a role of the service that works with it, muster_<schema>: LOGIN, search_path =
// the schema, SELECT, INSERT, UPDATE, DELETE on its tables and nothing anywhere else. The migrator
// makes it and renews its grants with every file.
//
// Errors are FAILED_PRECONDITION with a reason and a message that names the file and says what to
// do: MIGRATION_FILES_INVALID, MIGRATION_CHANGED, MIGRATION_MISSING, SCHEMA_TOO_NEW,
// SCHEMA_TOO_OLD, MIGRATION_FAILED, MIGRATION_BLOCKED; or what TransactionRunner::Run returns
// (UNAVAILABLE: the database is away).
namespace muster::storage {

// One file.
struct Migration {
  std::string schema = {};
  int version = 0;
  std::string name = {};  // verb_object
  std::string path = {};  // as found
  std::string sql = {};
  std::string checksum = {};  // SHA-256 of the file's bytes, lower-case hex
  int servers_from = 0;       // see above; `version` where the file does not say
  bool optional = false;      // see above
};

// One row of schema_migration.
struct AppliedMigration {
  int version = 0;
  std::string name = {};
  std::string checksum = {};
  absl::Time applied_time = {};
  int servers_from = 0;  // see Migration
};

// A file and when it was applied; nullopt: pending, or (Migrate) applied just now and
// `applied_now`.
struct MigrationRow {
  std::string schema = {};
  int version = 0;
  std::string name = {};
  std::optional<absl::Time> applied_time = {};
  bool applied_now = false;
};

// The folders of `dir` that hold a migration, sorted.
absl::StatusOr<std::vector<std::string>> ListSchemas(const std::string& dir);

// The files of one schema in order. MIGRATION_FILES_INVALID: no folder or file, a gap, a number
// twice, another file name (README.md excepted).
absl::StatusOr<std::vector<Migration>> ReadMigrations(const std::string& dir,
                                                      const std::string& schema);

// SHA-256 over names and contents of the files of `schemas`: says whether two trees migrate alike.
absl::StatusOr<std::string> FingerprintMigrations(const std::string& dir,
                                                  absl::Span<const std::string> schemas);

// Whether `applied` is a beginning of `files`, or goes on after them with what those who know
// `files` can run on: MIGRATION_CHANGED, MIGRATION_MISSING or SCHEMA_TOO_NEW where it is not. Pure.
// Returns how many of `files` are applied.
absl::StatusOr<size_t> CompareMigrations(const std::string& schema,
                                         absl::Span<const Migration> files,
                                         absl::Span<const AppliedMigration> applied);

// A table for people: schema, version, name, state.
std::string RenderMigrations(absl::Span<const MigrationRow> rows);

// The name of the role that a service connects as: muster_<schema>.
std::string ServiceRole(absl::string_view schema);

// Thread-safe; any number of them may run at once, on one machine or many.
class Migrator {
 public:
  struct Options {
    // Of the owner of the database: may create schemas and roles.
    std::string conninfo = {};
    // The folder of the schemas' folders.
    std::string dir = {};
    // Which schemas; empty: all in `dir`.
    std::vector<std::string> schemas = {};
    // How long a file waits for a table that others hold (short, as whoever writes that table waits
    // behind the file); ...
    absl::Duration lock_timeout = absl::Seconds(2);
    // ... how long it then lets them pass ...
    absl::Duration lock_pause = absl::Seconds(3);
    // ... and for how long it is tried again: then MIGRATION_BLOCKED.
    absl::Duration lock_patience = absl::Minutes(5);
  };

  explicit Migrator(Options options) : options_(std::move(options)) {}

  // Applies what is pending, a transaction a file. Returns all rows, those applied by this call
  // marked. Refuses before it changes anything when any of the schemas does not fit; after a failed
  // file the files before it stay applied.
  absl::StatusOr<std::vector<MigrationRow>> Migrate() const;
  // The rows that Migrate would apply; refuses as it does. Changes nothing.
  absl::StatusOr<std::vector<MigrationRow>> DryRun() const;
  // All rows, applied and pending; refuses as Migrate does. Changes nothing.
  absl::StatusOr<std::vector<MigrationRow>> Status() const;

  // After a restore: gives each of the schemas (Options::schemas, or all) another history, so that
  // servers that know the old one load anew and watches begin again. Migrates first. Returns
  // schema and name. May run under running servers, and twice.
  absl::StatusOr<std::vector<std::pair<std::string, std::string>>> NewHistory() const;

  // For the start of a server: OK when the schema is what `dir` says, but for files of `dir` that
  // are optional and those of later releases that it can run on; else SCHEMA_TOO_OLD (run `musterd
  // migrate`) or as CompareMigrations; DEADLINE_EXCEEDED: somebody holds schema_migration for
  // longer than `patience`, as who restores it does. `conninfo` may be that of the service's role,
  // `host` as of ConnectOptions.
  static absl::Status CheckVersion(
      const std::string& conninfo, const std::string& dir, const std::string& schema,
      std::shared_ptr<WritableHost> host = std::make_shared<WritableHost>(),
      absl::Duration patience = absl::Seconds(15));

 private:
  absl::StatusOr<std::vector<std::string>> Schemas() const;

  const Options options_;
};

}  // namespace muster::storage
