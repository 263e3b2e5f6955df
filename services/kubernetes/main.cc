#include <pthread.h>

#include <csignal>
#include <iostream>
#include <thread>
#include <vector>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/synchronization/mutex.h"
#include "services/daemon/daemon.h"
#include "services/daemon/flags.h"
#include "services/kubernetes/options.h"
#include "services/kubernetes/process.h"

namespace {

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
  absl::SetProgramUsageMessage(
      "Mirrors one cluster's NodePools, Nodes and Pods to Muster and Muster's answers back: "
      "muster-kubernetes --organization=... --cluster=... --zone=... --server=... "
      "[--kubeconfig=...]. Ends with 1 when it loses its lease: run it under something that "
      "restarts it.");
  muster::daemon::ShowInHelp("services/kubernetes/");
  if (absl::ParseCommandLine(argc, argv).size() > 1) {
    std::cerr << absl::ProgramUsageMessage() << "\nmuster-kubernetes --help shows all flags.\n";
    return 2;
  }
  const auto options = muster::daemon::OptionsFromFlags();
  if (!options.ok()) return Fail(options.status());
  const auto daemon = muster::daemon::Daemon::Start(*options);
  if (!daemon.ok()) return Fail(daemon.status());
  return Run(**daemon);
}
