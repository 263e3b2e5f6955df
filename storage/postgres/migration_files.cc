#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/common/error.h"
#include "services/common/read_file.h"
#include "services/common/sha256.h"
#include "services/common/status_macros.h"
#include "storage/postgres/migrator.h"

// The pure half of the migrator, and its files.
namespace muster::storage {
namespace {

namespace fs = std::filesystem;

absl::Status Invalid(absl::string_view path, absl::string_view what) {
  return error::FailedPrecondition("MIGRATION_FILES_INVALID", path, absl::StrCat(path, ": ", what));
}

bool IsIdentifier(absl::string_view text) {
  return !text.empty() && absl::ascii_islower(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           const auto u = static_cast<unsigned char>(c);
           return absl::ascii_islower(u) || absl::ascii_isdigit(u) || c == '_';
         });
}

// `NNNN_verb_object.sql` taken apart.
absl::StatusOr<Migration> ParseName(const std::string& schema, const fs::path& path) {
  const std::string file = path.filename().string();
  absl::string_view rest = file;
  Migration migration = {.schema = schema, .path = path.string()};
  const bool fits =
      absl::ConsumeSuffix(&rest, ".sql") && rest.size() > 5 && rest[4] == '_' &&
      std::all_of(rest.begin(), rest.begin() + 4,
                  [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }) &&
      absl::SimpleAtoi(rest.substr(0, 4), &migration.version) && IsIdentifier(rest.substr(5));
  if (!fits) {
    return Invalid(path.string(),
                   "a migration is called NNNN_verb_object.sql; rename or remove it.");
  }
  migration.name = std::string(rest.substr(5));
  return migration;
}

// Reads what the file says about servers of other releases (migrator.h).
absl::Status ReadMarks(Migration& migration) {
  migration.servers_from = migration.version;
  for (absl::string_view line : absl::StrSplit(migration.sql, '\n')) {
    if (line == "-- optional") migration.optional = true;
    if (!absl::ConsumePrefix(&line, "-- servers_from:")) continue;
    int& from = migration.servers_from;
    if (!absl::SimpleAtoi(line, &from) || from < 1 || from > migration.version)
      return Invalid(migration.path, "servers_from is the number of a file up to this one.");
  }
  return absl::OkStatus();
}

absl::Status ReadContent(Migration& migration) {
  std::optional<std::string> sql = ReadFile(migration.path);
  if (!sql) return Invalid(migration.path, "cannot be read.");
  migration.sql = *std::move(sql);
  migration.checksum = Sha256Hex(migration.sql);
  return ReadMarks(migration);
}

absl::StatusOr<std::vector<fs::directory_entry>> EntriesOf(const fs::path& folder) {
  std::vector<fs::directory_entry> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; at != end; at.increment(error))
    entries.push_back(*at);
  if (!error) return entries;
  return Invalid(folder.string(), absl::StrCat("cannot be read: ", error.message(), "."));
}

std::string Label(const std::string& schema, int version, absl::string_view name) {
  return absl::StrFormat("%s/%04d_%s.sql", schema, version, name);
}

}  // namespace

std::string ServiceRole(absl::string_view schema) { return absl::StrCat("muster_", schema); }

absl::StatusOr<std::vector<std::string>> ListSchemas(const std::string& dir) {
  std::vector<std::string> schemas;
  ASSIGN_OR_RETURN(const std::vector<fs::directory_entry> entries, EntriesOf(dir));
  for (const fs::directory_entry& entry : entries) {
    std::error_code ignored;
    if (!entry.is_directory(ignored)) continue;
    ASSIGN_OR_RETURN(const std::vector<fs::directory_entry> files, EntriesOf(entry.path()));
    const bool is_schema = std::any_of(files.begin(), files.end(), [](const auto& file) {
      return file.path().extension() == ".sql";
    });
    if (is_schema) schemas.push_back(entry.path().filename().string());
  }
  if (schemas.empty()) return Invalid(dir, "holds no migrations; is --migrations-dir right?");
  std::sort(schemas.begin(), schemas.end());
  return schemas;
}

absl::StatusOr<std::vector<Migration>> ReadMigrations(const std::string& dir,
                                                      const std::string& schema) {
  const fs::path folder = fs::path(dir) / schema;
  if (!IsIdentifier(schema)) return Invalid(folder.string(), "is no name of a schema.");
  std::vector<Migration> files;
  ASSIGN_OR_RETURN(const std::vector<fs::directory_entry> entries, EntriesOf(folder));
  for (const fs::directory_entry& entry : entries) {
    if (entry.path().filename() == "README.md") continue;
    ASSIGN_OR_RETURN(Migration migration, ParseName(schema, entry.path()));
    files.push_back(std::move(migration));
  }
  if (files.empty()) {
    return Invalid(folder.string(), "holds no migrations; is --migrations-dir right?");
  }
  std::sort(files.begin(), files.end(),
            [](const Migration& a, const Migration& b) { return a.path < b.path; });
  int expected = 1;
  for (Migration& migration : files) {
    if (migration.version != expected) {
      return Invalid(
          migration.path,
          absl::StrFormat("number %04d was due here; numbers run from 0001 without gaps.",
                          expected));
    }
    ++expected;
    RETURN_IF_ERROR(ReadContent(migration));
  }
  return files;
}

absl::StatusOr<std::string> FingerprintMigrations(const std::string& dir,
                                                  absl::Span<const std::string> schemas) {
  std::string sum;
  for (const std::string& schema : schemas) {
    ASSIGN_OR_RETURN(const std::vector<Migration> files, ReadMigrations(dir, schema));
    for (const Migration& file : files) {
      absl::StrAppend(&sum, Label(schema, file.version, file.name), " ", file.checksum, "\n");
    }
  }
  return Sha256Hex(sum);
}

absl::StatusOr<size_t> CompareMigrations(const std::string& schema,
                                         absl::Span<const Migration> files,
                                         absl::Span<const AppliedMigration> applied) {
  const int known = files.empty() ? 0 : files.back().version;
  for (size_t i = 0; i < applied.size(); ++i) {
    const AppliedMigration& row = applied[i];
    const std::string label = Label(schema, row.version, row.name);
    if (row.version > known && row.servers_from <= known) continue;
    if (row.version > known) {
      return error::FailedPrecondition(
          "SCHEMA_TOO_NEW", label,
          absl::StrCat("Schema ", schema, " is newer than this release: ", label,
                       " was applied and wants servers that know migration ", row.servers_from,
                       " (last known here: ", known, "). Run a release that has it."));
    }
    if (i >= files.size() || files[i].version != row.version || files[i].name != row.name) {
      return error::FailedPrecondition(
          "MIGRATION_MISSING", label,
          absl::StrCat(label,
                       " was applied to this database and is missing from the migrations. "
                       "Put the file back; a migration is never removed or renamed."));
    }
    if (files[i].checksum != row.checksum) {
      return error::FailedPrecondition(
          "MIGRATION_CHANGED", label,
          absl::StrCat(label, " was changed after it was applied (", row.checksum.substr(0, 12),
                       " then, ", files[i].checksum.substr(0, 12),
                       " now). Restore the file and write a new migration."));
    }
  }
  return std::min(applied.size(), files.size());
}

std::string RenderMigrations(absl::Span<const MigrationRow> rows) {
  std::string text = absl::StrFormat("%-14s %-8s %-36s %s\n", "SCHEMA", "VERSION", "NAME", "STATE");
  for (const MigrationRow& row : rows) {
    const std::string state =
        !row.applied_time ? "pending"
                          : absl::StrCat(row.applied_now ? "applied now " : "applied ",
                                         absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", *row.applied_time,
                                                          absl::UTCTimeZone()));
    absl::StrAppendFormat(&text, "%-14s %04d     %-36s %s\n", row.schema, row.version, row.name,
                          state);
  }
  return text;
}

}  // namespace muster::storage
