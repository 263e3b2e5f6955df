#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>

#include "absl/strings/string_view.h"
#include "services/common/log.h"
#include "services/common/status_macros.h"
#include "services/daemon/daemon.h"
#include "services/daemon/flags.h"
#include "services/fleetsim/flags.h"
#include "services/tls/flags.h"

namespace {

// Logs what happened since the last such line.
void LogStatistics(muster::fleetsim::Agent& agent, const muster::fleetsim::Cluster* cluster,
                   absl::string_view message) {
  const muster::fleetsim::AgentStats stats = agent.TakeStats();
  muster::log::Info(message, {{"nodes", agent.nodes()},
                              {"messages", stats.messages},
                              {"calls", stats.calls},
                              {"waited", stats.waited},
                              {"accepted", stats.accepted},
                              {"refused", stats.refused},
                              {"lost", stats.lost},
                              {"lag_p50", stats.lag.Quantile(0.5)},
                              {"lag_p99", stats.lag.Quantile(0.99)},
                              {"lag_max", stats.lag.max()},
                              {"streams", stats.streams},
                              {"unknown", stats.unknown},
                              {"registered", stats.registered}});
  if (cluster == nullptr) return;
  const muster::fleetsim::ClusterStats there = cluster->stats();
  muster::log::Info("at the API server", {{"nodes", there.nodes},
                                          {"pods", there.pods},
                                          {"calls", there.calls},
                                          {"failed", there.failed},
                                          {"leases", there.leases.kept},
                                          {"renewals", there.leases.renewals},
                                          {"renewals_failed", there.leases.failed}});
}

// Null if no --kubeconfig is given. Ends the process if the cluster cannot be made.
std::unique_ptr<muster::fleetsim::Cluster> MakeCluster(
    const muster::fleetsim::ClusterOptions& options, const muster::Clock& clock) {
  if (options.kubeconfig.empty()) return nullptr;
  auto cluster = muster::fleetsim::Cluster::Create(options, clock);
  if (!cluster.ok()) {
    std::cerr << "error: --kubeconfig: " << cluster.status().message() << "\n";
    std::exit(2);
  }
  return *std::move(cluster);
}

void Run(const muster::fleetsim::AgentOptions& options, muster::daemon::Daemon& daemon) {
  const muster::SystemClock clock;
  const auto cluster = MakeCluster(options.cluster, clock);
  if (cluster != nullptr) cluster->Start();
  muster::fleetsim::Agent agent(options, clock, cluster.get());
  muster::log::Info("fleetsim runs", {{"server", options.server}, {"seed", options.fleet.seed}});
  std::thread runner([&agent] { agent.Run(); });
  for (int signal = daemon.WaitForSignal(); signal == SIGUSR1 || signal == SIGUSR2;
       signal = daemon.WaitForSignal()) {
    if (signal == SIGUSR1) muster::log::Info("nodes fail", {{"nodes", agent.FailNodes()}});
    if (signal == SIGUSR2) LogStatistics(agent, cluster.get(), "fleetsim statistics");
  }
  agent.Stop();
  runner.join();
  if (cluster != nullptr) cluster->Stop();
  LogStatistics(agent, cluster.get(), "fleetsim stopped");
}

// Null: plain text.
absl::StatusOr<std::unique_ptr<muster::tls::CertificateFiles>> ReadCertificates() {
  ASSIGN_OR_RETURN(const auto files, muster::tls::FilesFromFlags(muster::tls::Use::kClient));
  return muster::tls::CertificateFiles::CreateIfAny(files);
}

int Fail(const absl::Status& status) {
  std::cerr << "error: " << status.message() << "\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  auto options = muster::fleetsim::MakeOptions(muster::fleetsim::ParseFlags(argc, argv));
  if (!options.ok()) return Fail(options.status());
  const auto daemon_options = muster::daemon::OptionsFromFlags();
  if (!daemon_options.ok()) return Fail(daemon_options.status());
  muster::daemon::Daemon::BlockSignals({SIGUSR1, SIGUSR2});
  const auto daemon = muster::daemon::Daemon::Start(*daemon_options);
  if (!daemon.ok()) return Fail(daemon.status());
  const auto certificates = ReadCertificates();
  if (!certificates.ok()) return Fail(certificates.status());
  if (*certificates != nullptr) options->credentials = (*certificates)->ForClient();
  Run(*options, **daemon);
  return 0;
}
