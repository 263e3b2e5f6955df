#include "services/musterd/check_config_command.h"

#include "absl/status/status.h"
#include "services/access/policy_file.h"
#include "services/common/clock.h"
#include "services/common/error.h"
#include "services/daemon/daemon.h"
#include "services/daemon/findings.h"
#include "services/daemon/flag_file.h"
#include "services/daemon/flags.h"
#include "services/musterd/migrate_command.h"
#include "services/musterd/options.h"
#include "services/tls/certificate_files.h"
#include "services/tokens/token_checker.h"
#include "storage/postgres/migrator.h"

namespace muster::musterd {
namespace {

using daemon::Findings;

void CheckMigrations(const std::string& schema, Findings& findings) {
  findings.Add("--migrations_dir",
               storage::ReadMigrations(MigrationsDirFromFlags(), schema).status());
}

absl::Status CheckServe() {
  Findings findings;
  const auto of_daemon = daemon::OptionsFromFlags();
  findings.Add("--log_level", of_daemon.status());
  if (of_daemon.ok()) findings.Add("--log_file", daemon::CheckFiles(*of_daemon));
  const auto options = ServeOptionsFromFlags();
  findings.Add("--services", options.status());
  if (!options.ok()) return findings.status();
  findings.Add("--port_file", daemon::CheckReplaceable("--port_file", options->port_file));
  findings.Add("--db_conninfo", CheckConninfoOfFlags(options->conninfo));
  for (const std::string& service : options->services) CheckMigrations(service, findings);
  findings.Add("--tls_cert_file", tls::CertificateFiles::CreateIfAny(options->tls).status());
  if (!options->policy_file.empty())
    findings.Add("--policy_file", access::ReadPolicy(options->policy_file).status());
  const SystemClock clock;
  if (options->tokens)
    findings.Add("--token_keys_file",
                 tokens::TokenChecker::Create(*options->tokens, &clock).status());
  return findings.status();
}

absl::Status CheckMigrate() {
  Findings findings;
  findings.Add("--new_history", CheckMigrateFlags());
  const auto conninfo = ConninfoFromFlags();
  findings.Add("--db_conninfo_file", conninfo.status());
  if (conninfo.ok() && conninfo->empty()) {
    findings.Add("--db_conninfo",
                 error::InvalidField("--db_conninfo", "or --db_conninfo_file is required."));
  } else if (conninfo.ok()) {
    findings.Add("--db_conninfo", CheckConninfoOfFlags(*conninfo));
  }
  for (const absl::string_view service : kAllServices)
    CheckMigrations(std::string(service), findings);
  return findings.status();
}

}  // namespace

int RunCheckConfig(const std::vector<std::string>& words, std::ostream& out) {
  const bool is_said = !words.empty() && (words[0] == "serve" || words[0] == "migrate");
  const bool migrate = is_said && words[0] == "migrate";
  return daemon::CheckConfig({words.begin() + (is_said ? 1 : 0), words.end()},
                             migrate ? CheckMigrate : CheckServe, out);
}

}  // namespace muster::musterd
