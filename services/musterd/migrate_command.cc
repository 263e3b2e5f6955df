#include "services/musterd/migrate_command.h"

#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/musterd/options.h"
#include "storage/postgres/migrator.h"

ABSL_FLAG(bool, dry_run, false, "migrate: show what would be applied, change nothing.");
ABSL_FLAG(bool, status, false,
          "migrate: show what is applied and what is pending, change nothing.");

ABSL_FLAG(bool, new_history, false,
          "migrate: after a restore, or whenever the database lost commits, name the history of "
          "every schema (or of "
          "those in --schemas) anew, so that servers that run load it and watches begin with a "
          "snapshot.");
ABSL_FLAG(std::vector<std::string>, schemas, {},
          "migrate --new_history: the schemas that were restored; empty: all.");

namespace muster::musterd {
namespace {

absl::Status RunNewHistory(const std::string& conninfo, std::ostream& out) {
  const storage::Migrator migrator({.conninfo = conninfo,
                                    .dir = MigrationsDirFromFlags(),
                                    .schemas = absl::GetFlag(FLAGS_schemas)});
  ASSIGN_OR_RETURN(const auto names, migrator.NewHistory());
  for (const auto& [schema, name] : names) out << schema << " begins history " << name << "\n";
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckMigrateFlags() {
  if (absl::GetFlag(FLAGS_dry_run) && absl::GetFlag(FLAGS_status)) {
    return error::InvalidField("--dry_run", "cannot be given together with --status.");
  }
  if (absl::GetFlag(FLAGS_new_history) &&
      (absl::GetFlag(FLAGS_dry_run) || absl::GetFlag(FLAGS_status))) {
    return error::InvalidField("--new_history",
                               "cannot be given together with --dry_run or --status.");
  }
  if (!absl::GetFlag(FLAGS_new_history) && !absl::GetFlag(FLAGS_schemas).empty())
    return error::InvalidField("--schemas", "is for --new_history only.");
  return absl::OkStatus();
}

absl::Status RunMigrate(std::ostream& out) {
  RETURN_IF_ERROR(CheckMigrateFlags());
  ASSIGN_OR_RETURN(const std::string conninfo, ConninfoFromFlags());
  if (conninfo.empty())
    return error::InvalidField("--db_conninfo", "or --db_conninfo_file is required.");
  RETURN_IF_ERROR(CheckConninfoOfFlags(conninfo));
  if (absl::GetFlag(FLAGS_new_history)) return RunNewHistory(conninfo, out);
  const storage::Migrator migrator({.conninfo = conninfo, .dir = MigrationsDirFromFlags()});
  const auto rows = absl::GetFlag(FLAGS_status)    ? migrator.Status()
                    : absl::GetFlag(FLAGS_dry_run) ? migrator.DryRun()
                                                   : migrator.Migrate();
  RETURN_IF_ERROR(rows.status());
  out << storage::RenderMigrations(*rows);
  return absl::OkStatus();
}

}  // namespace muster::musterd
