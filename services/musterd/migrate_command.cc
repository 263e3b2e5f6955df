#include "services/musterd/migrate_command.h"

#include "absl/flags/flag.h"
#include "services/common/error.h"
#include "services/common/status_macros.h"
#include "services/musterd/options.h"
#include "storage/postgres/migrator.h"

ABSL_FLAG(bool, dry_run, false, "migrate: show what would be applied, change nothing.");
ABSL_FLAG(bool, status, false,
          "migrate: show what is applied and what is pending, change nothing.");

namespace muster::musterd {

absl::Status RunMigrate(std::ostream& out) {
  if (absl::GetFlag(FLAGS_dry_run) && absl::GetFlag(FLAGS_status)) {
    return error::InvalidField("--dry_run", "cannot be given together with --status.");
  }
  ASSIGN_OR_RETURN(const std::string conninfo, ConninfoFromFlags());
  if (conninfo.empty())
    return error::InvalidField("--db_conninfo", "or --db_conninfo_file is required.");
  const storage::Migrator migrator({.conninfo = conninfo, .dir = MigrationsDirFromFlags()});
  const auto rows = absl::GetFlag(FLAGS_status)    ? migrator.Status()
                    : absl::GetFlag(FLAGS_dry_run) ? migrator.DryRun()
                                                   : migrator.Migrate();
  RETURN_IF_ERROR(rows.status());
  out << storage::RenderMigrations(*rows);
  return absl::OkStatus();
}

}  // namespace muster::musterd
