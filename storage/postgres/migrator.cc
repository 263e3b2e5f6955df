#include "storage/postgres/migrator.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "services/common/cause.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"
#include "storage/postgres/connection_pool.h"
#include "storage/postgres/sql_types.h"
#include "storage/postgres/transaction.h"
#include "storage/postgres/transaction_runner.h"

namespace muster::storage {
namespace {

// A migration may rewrite a table.
constexpr absl::Duration kStatementTimeout = absl::Hours(6);
constexpr absl::Duration kIdleTimeout = absl::Minutes(5);

// Schemas, names and checksums were checked character by character when the files were read, so
// that they can stand in SQL as they are: identifiers cannot be parameters. $S is the schema, $R
// the role of its service.
std::string ForSchema(absl::string_view sql, const std::string& schema) {
  return absl::StrReplaceAll(sql, {{"$S", schema}, {"$R", ServiceRole(schema)}});
}

constexpr char kLock[] = "SELECT pg_advisory_xact_lock(hashtextextended('muster schema $S', 0))";

constexpr char kHasTable[] = R"(
SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = '$S' AND c.relname = 'schema_migration'))";

// The last column came later: a row, or a table, that is without it means its own version.
constexpr char kReadApplied[] = R"(
SELECT version, name, checksum, applied_time, coalesce((to_jsonb(m) ->> 'servers_from')::integer, version)
FROM $S.schema_migration AS m ORDER BY version)";

// After the first file, which makes the schema. No ALTER where there is nothing to alter: it would
// wait for whoever reads the table.
constexpr char kCreateTable[] = R"(
CREATE TABLE IF NOT EXISTS $S.schema_migration (
  version integer NOT NULL,
  name text NOT NULL,
  checksum text NOT NULL,
  applied_time timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT schema_migration_pk PRIMARY KEY (version),
  CONSTRAINT schema_migration_version_positive CHECK (version > 0)
);
DO $do$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_attribute
                 WHERE attrelid = '$S.schema_migration'::regclass AND attname = 'servers_from') THEN
    ALTER TABLE $S.schema_migration ADD COLUMN servers_from integer;
  END IF;
END
$do$)";

// Roles belong to the cluster, and advisory locks to a database: two migrators may meet here.
// Whoever comes second finds the role, or its setting, as it should be.
constexpr char kEnsureRole[] = R"(
DO $do$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = '$R') THEN
    BEGIN
      CREATE ROLE $R LOGIN;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END;
  END IF;
  IF NOT EXISTS (SELECT 1 FROM pg_catalog.pg_roles
                 WHERE rolname = '$R' AND 'search_path=$S' = ANY (rolconfig)) THEN
    BEGIN
      ALTER ROLE $R SET search_path TO $S;
    EXCEPTION WHEN internal_error OR unique_violation THEN NULL;  -- tuple concurrently updated
    END;
  END IF;
END
$do$)";

constexpr char kGrant[] = R"(
GRANT USAGE ON SCHEMA $S TO $R;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA $S TO $R;
GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA $S TO $R;
REVOKE INSERT, UPDATE, DELETE ON $S.schema_migration FROM $R)";

// The oldest transactions first. The start of another role's transaction is not shown to every
// role.
constexpr char kHolders[] = R"(
SELECT coalesce(string_agg(who, '; '), 'they have gone by now') FROM (
  SELECT format('process %s (%s of %s), in a transaction since %s', pid, application_name, usename,
                coalesce(date_trunc('second', xact_start)::text, 'nobody says when')) AS who
  FROM pg_catalog.pg_stat_activity
  WHERE pid <> pg_backend_pid() AND pid IN (
    SELECT l.pid FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_class c ON c.oid = l.relation
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = '$S' AND l.granted
      AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()))
  ORDER BY xact_start LIMIT 5) AS holders)";

constexpr char kNewHistory[] = R"(
UPDATE $S.journal_head SET incarnation = replace(gen_random_uuid()::text, '-', '') RETURNING incarnation)";

// A connection with the runner over it.
struct Session {
  explicit Session(const std::string& conninfo,
                   std::shared_ptr<WritableHost> host = std::make_shared<WritableHost>(),
                   absl::Duration statement_timeout = kStatementTimeout)
      : pool({.conninfo = conninfo,
              .writable_host = std::move(host),
              .schema = "pg_catalog",
              .application_name = "muster-migrate",
              .statement_timeout = statement_timeout,
              .idle_in_transaction_timeout = kIdleTimeout,
              .plans_freely = true},
             1),
        runner(&pool, {}) {}

  ConnectionPool pool;
  TransactionRunner runner;
};

std::vector<AppliedMigration> ReadApplied(Transaction& tx, const std::string& schema) {
  std::vector<AppliedMigration> applied;
  if (!tx.Exec(ForSchema(kHasTable, schema))[0][0].as<bool>()) return applied;
  for (const pqxx::row& row : tx.Exec(ForSchema(kReadApplied, schema))) {
    applied.push_back({.version = row[0].as<int>(),
                       .name = row[1].as<std::string>(),
                       .checksum = row[2].as<std::string>(),
                       .applied_time = FromSqlTime(row[3].c_str()),
                       .servers_from = row[4].as<int>()});
  }
  return applied;
}

void Apply(Transaction& tx, const Migration& file) {
  tx.Exec(ForSchema("SET LOCAL search_path TO $S", file.schema));
  tx.Exec(file.sql);
  tx.Exec(ForSchema(kCreateTable, file.schema));
  tx.Exec(absl::StrCat("INSERT INTO ", file.schema,
                       ".schema_migration (version, name, checksum, servers_from) VALUES (",
                       file.version, ", '", file.name, "', '", file.checksum, "', ",
                       file.servers_from, ")"));
}

absl::StatusOr<std::vector<AppliedMigration>> ReadAndCompare(Session& session,
                                                             const std::string& schema,
                                                             absl::Span<const Migration> files) {
  std::vector<AppliedMigration> applied;
  RETURN_IF_ERROR(session.runner.Run([&](Transaction& tx) {
    applied = ReadApplied(tx, schema);
    return CompareMigrations(schema, files, applied).status();
  }));
  return applied;
}

// MIGRATION_BLOCKED: `file` was not applied, because of locks that others hold.
absl::Status Blocked(Session& session, const Migration& file) {
  std::string holders;
  RETURN_IF_ERROR(session.runner.Run([&](Transaction& tx) {
    holders = tx.Exec(ForSchema(kHolders, file.schema))[0][0].as<std::string>();
    return absl::OkStatus();
  }));
  return error::FailedPrecondition(
      "MIGRATION_BLOCKED", file.path,
      absl::StrCat(file.path, " waits for a table, and nothing of it was applied. Tables of ",
                   file.schema, " are held by: ", holders,
                   ". Run the migration again when they are through."));
}

bool IsBlocked(const absl::Status& status) {
  return error::ReasonOf(status) == "MIGRATION_BLOCKED";
}

// Applies the first pending file, or only renews the grants when none pends. Returns the file, or
// null. The lock is taken before the table is read, so that of two migrators the second sees what
// the first has done.
absl::StatusOr<const Migration*> ApplyNext(Session& session, const std::string& schema,
                                           absl::Span<const Migration> files,
                                           absl::Duration lock_timeout) {
  const Migration* next = nullptr;
  const auto body = [&](Transaction& tx) -> absl::Status {
    next = nullptr;
    tx.Exec(ForSchema(kLock, schema));
    ASSIGN_OR_RETURN(const size_t done, CompareMigrations(schema, files, ReadApplied(tx, schema)));
    if (done < files.size()) {
      next = &files[done];
      tx.Exec(absl::StrCat("SET LOCAL lock_timeout = ", absl::ToInt64Milliseconds(lock_timeout)));
      Apply(tx, *next);
    }
    tx.Exec(ForSchema(kGrant, schema));
    return absl::OkStatus();
  };
  const auto settle = [&](Transaction& tx) -> absl::StatusOr<bool> {
    const std::vector<AppliedMigration> applied = ReadApplied(tx, schema);
    return next == nullptr || (!applied.empty() && applied.back().version >= next->version);
  };
  const absl::Status status = session.runner.Run(body, settle);
  if (status.ok()) return next;
  if (next != nullptr && WaitedForLock(status)) return Blocked(session, *next);
  if (next == nullptr || status.code() != absl::StatusCode::kInternal) return status;
  return error::FailedPrecondition(
      "MIGRATION_FAILED", next->path,
      absl::StrCat(next->path, " failed and nothing of it was applied: ",
                   error::ForOperators(status), " Mend it and run the migration again."));
}

// ApplyNext, again and again while others hold a table that the file wants.
absl::StatusOr<const Migration*> ApplyNextPatiently(Session& session, const std::string& schema,
                                                    absl::Span<const Migration> files,
                                                    const Migrator::Options& options) {
  std::optional<std::chrono::steady_clock::time_point> give_up;
  for (;;) {
    absl::StatusOr<const Migration*> applied =
        ApplyNext(session, schema, files, options.lock_timeout);
    if (!IsBlocked(applied.status())) return applied;
    const auto now = std::chrono::steady_clock::now();
    if (!give_up) {
      log::Warn("a migration waits for a table, and is tried again",
                {{"error", applied.status()}, {"for", options.lock_patience}});
      give_up = now + absl::ToChronoNanoseconds(options.lock_patience);
    }
    if (now >= *give_up) return applied;
    absl::SleepFor(options.lock_pause);
  }
}

void AppendRows(absl::Span<const Migration> files, absl::Span<const AppliedMigration> applied,
                const std::set<int>& now, std::vector<MigrationRow>& rows) {
  for (size_t i = 0; i < files.size(); ++i) {
    MigrationRow row = {
        .schema = files[i].schema, .version = files[i].version, .name = files[i].name};
    if (i < applied.size()) row.applied_time = applied[i].applied_time;
    row.applied_now = now.contains(row.version);
    rows.push_back(std::move(row));
  }
  // Of a later release.
  for (size_t i = files.size(); i < applied.size(); ++i) {
    rows.push_back({.schema = files.front().schema,
                    .version = applied[i].version,
                    .name = applied[i].name,
                    .applied_time = applied[i].applied_time});
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> Migrator::Schemas() const {
  if (!options_.schemas.empty()) return options_.schemas;
  return ListSchemas(options_.dir);
}

absl::StatusOr<std::vector<MigrationRow>> Migrator::Migrate() const {
  RETURN_IF_ERROR(Status().status());
  ASSIGN_OR_RETURN(const std::vector<std::string> schemas, Schemas());
  Session session(options_.conninfo);
  std::vector<MigrationRow> rows;
  for (const std::string& schema : schemas) {
    ASSIGN_OR_RETURN(const std::vector<Migration> files, ReadMigrations(options_.dir, schema));
    RETURN_IF_ERROR(session.runner.Run([&](Transaction& tx) {
      tx.Exec(ForSchema(kEnsureRole, schema));
      return absl::OkStatus();
    }));
    std::set<int> now;
    for (;;) {
      ASSIGN_OR_RETURN(const Migration* applied,
                       ApplyNextPatiently(session, schema, files, options_));
      if (applied == nullptr) break;
      now.insert(applied->version);
    }
    ASSIGN_OR_RETURN(const std::vector<AppliedMigration> applied,
                     ReadAndCompare(session, schema, files));
    AppendRows(files, applied, now, rows);
  }
  return rows;
}

absl::StatusOr<std::vector<MigrationRow>> Migrator::Status() const {
  ASSIGN_OR_RETURN(const std::vector<std::string> schemas, Schemas());
  Session session(options_.conninfo);
  std::vector<MigrationRow> rows;
  for (const std::string& schema : schemas) {
    ASSIGN_OR_RETURN(const std::vector<Migration> files, ReadMigrations(options_.dir, schema));
    ASSIGN_OR_RETURN(const std::vector<AppliedMigration> applied,
                     ReadAndCompare(session, schema, files));
    AppendRows(files, applied, {}, rows);
  }
  return rows;
}

absl::StatusOr<std::vector<MigrationRow>> Migrator::DryRun() const {
  ASSIGN_OR_RETURN(std::vector<MigrationRow> rows, Status());
  std::erase_if(rows, [](const MigrationRow& row) { return row.applied_time.has_value(); });
  return rows;
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> Migrator::NewHistory() const {
  RETURN_IF_ERROR(Migrate().status());
  ASSIGN_OR_RETURN(const std::vector<std::string> schemas, Schemas());
  Session session(options_.conninfo);
  std::vector<std::pair<std::string, std::string>> names;
  for (const std::string& schema : schemas) {
    std::string name;
    RETURN_IF_ERROR(session.runner.Run(
        [&](Transaction& tx) {
          name = tx.Exec(ForSchema(kNewHistory, schema))[0][0].as<std::string>();
          return absl::OkStatus();
        },
        // If in doubt, tried again: a new history given twice is as good as one given once.
        [](Transaction&) -> absl::StatusOr<bool> { return false; }));
    names.emplace_back(schema, std::move(name));
  }
  return names;
}

absl::Status Migrator::CheckVersion(const std::string& conninfo, const std::string& dir,
                                    const std::string& schema, std::shared_ptr<WritableHost> host,
                                    absl::Duration patience) {
  ASSIGN_OR_RETURN(const std::vector<Migration> files, ReadMigrations(dir, schema));
  Session session(conninfo, std::move(host), patience);
  ASSIGN_OR_RETURN(const std::vector<AppliedMigration> applied,
                   ReadAndCompare(session, schema, files));
  const auto pending = absl::MakeConstSpan(files).subspan(std::min(applied.size(), files.size()));
  const bool runs = std::all_of(pending.begin(), pending.end(),
                                [](const Migration& file) { return file.optional; });
  if (runs) return absl::OkStatus();
  return error::FailedPrecondition(
      "SCHEMA_TOO_OLD", schema,
      absl::StrCat("Schema ", schema, " has ", applied.size(), " of ", files.size(),
                   " migrations. Run `musterd migrate` first."));
}

}  // namespace muster::storage
