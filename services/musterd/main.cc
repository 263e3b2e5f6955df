#include <pthread.h>

#include <csignal>
#include <iostream>
#include <vector>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/synchronization/mutex.h"
#include "services/common/cause.h"
#include "services/common/log.h"
#include "services/common/open_files.h"
#include "services/musterd/migrate_command.h"
#include "services/musterd/options.h"
#include "services/musterd/process.h"

namespace {

int Fail(const absl::Status& status) {
  std::cerr << "musterd: " << muster::error::ForOperators(status) << "\n";
  return 1;
}

int Serve(const sigset_t& signals) {
  const muster::FileLimit files = muster::RaiseFileLimit();
  muster::log::Info("the limit of open files", {{"was", files.before}, {"is", files.now}});
  const auto options = muster::musterd::ServeOptionsFromFlags();
  if (!options.ok()) return Fail(options.status());
  const auto process = muster::musterd::Process::Start(*options);
  if (!process.ok()) return Fail(process.status());
  int signal = 0;
  sigwait(&signals, &signal);
  const std::string failure = (*process)->failure();
  (*process)->Shutdown();
  if (failure.empty()) return 0;
  std::cerr << "musterd: " << failure << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  // Blocked before any thread starts, so that only sigwait sees them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  absl::SetProgramUsageMessage(
      "Muster's server: musterd serve --services=... | musterd migrate "
      "[--dry_run|--status|--new_history [--schemas=...]]");
  const std::vector<char*> words = absl::ParseCommandLine(argc, argv);
  const absl::string_view verb = words.size() == 2 ? words[1] : "";
  if (verb == "serve") return Serve(signals);
  if (verb == "migrate") {
    const absl::Status status = muster::musterd::RunMigrate(std::cout);
    return status.ok() ? 0 : Fail(status);
  }
  std::cerr << absl::ProgramUsageMessage() << "\nmusterd --help shows all flags.\n";
  return 2;
}
