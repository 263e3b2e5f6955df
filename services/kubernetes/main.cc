#include <pthread.h>

#include <csignal>
#include <iostream>
#include <thread>
#include <vector>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "services/daemon/daemon.h"
#include "services/daemon/flag_file.h"
#include "services/daemon/flags.h"
#include "services/kubernetes/options.h"
#include "services/kubernetes/process.h"

namespace {

constexpr char kUsage[] =
    R"(Mirrors one cluster's NodePools, Nodes and Pods to Muster and Muster's answers back.

  muster-kubernetes --organization=... --cluster=... --zone=... --server=... [--kubeconfig=...]
                                     ends with 1 when it loses its lease: run it under something that restarts it
  muster-kubernetes check-config FILE...  says all that is wrong with files of flags; exit code 0 or 1
  muster-kubernetes version          release, commit and build
)";

int Fail(const absl::Status& status) {
  std::cerr << "muster-kubernetes: " << status.message() << "\n";
  return 1;
}

int Run(muster::daemon::Daemon& daemon) {
  const auto options = muster::kubernetes::OptionsFromFlags();
  if (!options.ok()) return Fail(options.status());
  const auto process = muster::kubernetes::Process::Start(*options);
  if (!process.ok()) return Fail(process.status());
  std::thread waiter([&] {
    daemon.WaitForSignal();
    (*process)->Stop();
  });
  const absl::Status status = (*process)->Run();
  // Its own end, without a signal: let the waiter go too.
  if (!status.ok()) pthread_kill(waiter.native_handle(), SIGTERM);
  waiter.join();
  return status.ok() ? 0 : Fail(status);
}

}  // namespace

int main(int argc, char** argv) {
  muster::daemon::Daemon::BlockSignals();
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  absl::SetProgramUsageMessage(absl::StrCat(
      kUsage, muster::daemon::FilesAndEnvironment("/etc/muster/muster-kubernetes.flags"),
      "In a Pod without --kubeconfig: KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT.\n"));
  muster::daemon::ShowInHelp("services/kubernetes/");
  const std::vector<char*> words = absl::ParseCommandLine(argc, argv);
  const absl::string_view verb = words.size() > 1 ? words[1] : "";
  if (verb == "version" && words.size() == 2) {
    std::cout << muster::daemon::VersionText();
    return 0;
  }
  if (verb == "check-config")
    return muster::daemon::CheckConfig({words.begin() + 2, words.end()},
                                       muster::kubernetes::CheckFlags, std::cout);
  if (words.size() > 1) {
    std::cerr << kUsage << "\nmuster-kubernetes --help shows all flags.\n";
    return 2;
  }
  const auto options = muster::daemon::OptionsFromFlags();
  if (!options.ok()) return Fail(options.status());
  const auto daemon = muster::daemon::Daemon::Start(*options);
  if (!daemon.ok()) return Fail(daemon.status());
  return Run(**daemon);
}
