#include <iostream>
#include <vector>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "services/common/cause.h"
#include "services/common/error.h"
#include "services/common/log.h"
#include "services/common/open_files.h"
#include "services/daemon/daemon.h"
#include "services/daemon/flags.h"
#include "services/musterd/check_config_command.h"
#include "services/musterd/check_policy_command.h"
#include "services/musterd/migrate_command.h"
#include "services/musterd/options.h"
#include "services/musterd/process.h"

namespace {

constexpr char kUsage[] = R"(Muster's server.

  musterd serve --services=...               serves, until SIGTERM; SIGHUP: reads files again
  musterd migrate                            brings the database's schemas up to --migrations_dir
      [--dry_run|--status|--new_history [--schemas=...]]
  musterd check-config [serve|migrate] FILE...
                                             says all that is wrong with files of flags; exit code 0 or 1
  musterd check-policy FILE [PRINCIPAL ...]  what callers may do by a policy file
  musterd version                            release, commit and build
)";

int Fail(const absl::Status& status) {
  std::cerr << "musterd: " << muster::error::ForOperators(status) << "\n";
  return 1;
}

int Serve(muster::daemon::Daemon& daemon) {
  const muster::FileLimit files = muster::RaiseFileLimit();
  muster::log::Info("the limit of open files", {{"was", files.before}, {"is", files.now}});
  const auto options = muster::musterd::ServeOptionsFromFlags();
  if (!options.ok()) return Fail(options.status());
  const absl::Status sound = muster::musterd::CheckConninfoOfFlags(options->conninfo);
  if (!sound.ok()) return Fail(sound);
  const auto process = muster::musterd::Process::Start(*options);
  if (!process.ok()) return Fail(process.status());
  daemon.OnReload("db_conninfo_file", [&] { return (*process)->ReloadConninfo(); });
  daemon.OnReload("TLS files", [&] { return (*process)->ReloadCertificates(); });
  daemon.OnReload("token_keys_file", [&] { return (*process)->ReloadTokenKeys(); });
  daemon.OnReload("policy_file", [&] { return (*process)->ReloadPolicy(); });
  daemon.WaitForSignal();
  const std::string failure = (*process)->failure();
  (*process)->Shutdown();
  if (failure.empty()) return 0;
  std::cerr << "musterd: " << failure << "\n";
  return 1;
}

int Serve() {
  const auto options = muster::daemon::OptionsFromFlags();
  if (!options.ok()) return Fail(options.status());
  const auto daemon = muster::daemon::Daemon::Start(*options);
  if (!daemon.ok()) return Fail(daemon.status());
  return Serve(**daemon);
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  absl::SetProgramUsageMessage(
      absl::StrCat(kUsage, muster::daemon::FilesAndEnvironment("/etc/muster/*.flags")));
  muster::daemon::ShowInHelp("services/musterd/");
  const std::vector<char*> words = absl::ParseCommandLine(argc, argv);
  if (words.size() >= 3 && absl::string_view(words[1]) == "check-policy") {
    const absl::Status status =
        muster::musterd::RunCheckPolicy(words[2], {words.begin() + 3, words.end()}, std::cout);
    return status.ok() ? 0 : Fail(status);
  }
  if (words.size() >= 2 && absl::string_view(words[1]) == "check-config")
    return muster::musterd::RunCheckConfig({words.begin() + 2, words.end()}, std::cout);
  const absl::string_view verb = words.size() == 2 ? words[1] : "";
  if (verb == "version") {
    std::cout << muster::daemon::VersionText();
    return 0;
  }
  if (verb == "serve") {
    muster::daemon::Daemon::BlockSignals();
    return Serve();
  }
  if (verb == "migrate") {
    const absl::Status status = muster::musterd::RunMigrate(std::cout);
    return status.ok() ? 0 : Fail(status);
  }
  std::cerr << kUsage << "\nmusterd --help shows all flags.\n";
  return 2;
}
